"""`custom_gradient`, `custom_jvp` and `register`: functions that come with their own derivative."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from tapec.backend.carrier import from_text
from tapec.errors import UsageError
from tapec.frontend.evaluator.values import Func, Static, Tup, Value, describe
from tapec.frontend.operations.opaque_calls import OpaqueFunction
from tapec.frontend.operations.registered_derivatives import has_derivative, note_registered
from tapec.frontend.source.function_source import parameters, undecorated
from tapec.tape.custom_derivatives.custom_function_calls import Carrier
from tapec.tape.custom_derivatives.rule_lowering import PULLBACK, TANGENT

_OPTION, _EXTRA = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL


class _Heads:
    """The texts of a function's parameters.

    text      as they stand in its head, without defaults
    passed    what hands on those by position, `named` those by name;  dots  names for their tangents
    """

    def __init__(self, function: Any, found: Iterable[inspect.Parameter], decorator: str) -> None:
        bare = []
        for one in found:
            if one.kind is one.VAR_KEYWORD:
                raise UsageError(f"`{_name_of(function)}` has a parameter `{one}`, which {decorator} cannot take")
            bare.append(one.replace(default=one.empty, annotation=one.empty))
        self.text = str(inspect.Signature(bare))[1:-1]
        self.taken = {one.name for one in bare}
        stars = {one.name: "*" if one.kind is _EXTRA else "" for one in bare}
        by_position = [one.name for one in bare if one.kind is not _OPTION]
        self.passed = [f"{stars[name]}{name}" for name in by_position]
        self.dots = [f"{stars[name]}{self.own(f'{name}_dot')}" for name in by_position]
        self.named = {one.name: f"{one.name}={one.name}" for one in bare if one.kind is _OPTION}

    def own(self, name: str) -> str:
        """A name that no parameter has."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def call(self, accepted: Any = None) -> str:
        """What hands all parameters on; of options those that a function accepts."""
        known = self.named if accepted is None else _accepted(accepted, self.named)
        return ", ".join((*self.passed, *(self.named[name] for name in known)))


def _accepted(function: Any, named: dict[str, str]) -> list[str]:
    found = inspect.signature(function).parameters
    every = any(one.kind is one.VAR_KEYWORD for one in found.values())
    return [name for name in named if every or name in found]


def _tuple(names: list[str]) -> str:
    return f"({', '.join(names)},)" if names else "()"


def _name_of(function: Any) -> str:
    """What a user calls a function."""
    return str(getattr(function, "__name__", type(function).__name__))


def with_gradient(f: Callable[..., Any], decorator: str) -> Any:
    """A function of the same parameters that returns what `f` returns first; see `custom_gradient`, `custom_jvp`."""
    function = undecorated(f)
    if function is None:
        raise UsageError(f"{f!r} is not a function with Python source")
    heads = _Heads(function, parameters(function).values(), decorator)
    plain = function.__name__.isidentifier() and function.__name__ != "<lambda>"
    label, called = heads.own(function.__name__ if plain else "function"), heads.own("carrier")
    carrier = Carrier(function, _ROLES[decorator], decorator)
    text = f"def {label}({heads.text}):\n    return {called}({heads.call()})\n"
    made: Any = from_text(label, text, {called: carrier, "__name__": function.__module__})
    # calls in lowered code need not go through the text above
    made.__tapec_lower__ = carrier.__tapec_lower__
    made.__name__, made.__qualname__, made.__doc__ = label, function.__qualname__, function.__doc__
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__

    made.defjvp = carrier.defjvp
    return made


_ROLES = {"custom_gradient": (PULLBACK,), "custom_jvp": (TANGENT,)}


def registered(function: Any, vjp: Any, jvp: Any, result: Any) -> None:
    """Give a derivative to a function; see `tapec.register`."""
    rules = [one for one in (vjp, jvp) if one is not None]
    if not callable(function) or not rules or not all(map(callable, rules)):
        raise UsageError("tapec.register needs a function, and one that computes adjoints or tangents")
    if has_derivative(function):
        raise UsageError(f"{function!r} has a derivative")
    heads, defaults = _of_registered(function, rules[0])
    names = ("registered", "function", "vjp", "jvp", "gradient", "tangent", "y", "bar")
    own = {name: heads.own(name) for name in names}
    y, bar = own["y"], own["bar"]
    lines = [f"def {own['registered']}({heads.text}):", f"    {y} = {own['function']}({heads.call()})"]
    roles: list[str] = []
    if vjp is not None:
        seed = f"{bar}[0] if len({bar}) == 1 else {bar}"
        lines += [
            f"    def {own['gradient']}(*{bar}):",
            f"        return {own['vjp']}({seed}, {y}, {heads.call(vjp)})",
        ]
        roles.append(PULLBACK)
    if jvp is not None:
        single = len(heads.dots) == 1 and not heads.dots[0].startswith("*")
        dots = heads.dots[0] if single else _tuple(heads.dots)
        lines += [
            f"    def {own['tangent']}({', '.join(heads.dots)}):",
            f"        return {own['jvp']}({dots}, {y}, {heads.call(jvp)})",
        ]
        roles.append(TANGENT)
    functions = [own["gradient" if role == PULLBACK else "tangent"] for role in roles]
    lines.append(f"    return {y}, {', '.join(functions)}")
    space = {own["function"]: OpaqueFunction(function, result), own["vjp"]: vjp, own["jvp"]: jvp}
    made = from_text(own["registered"], "\n".join(lines) + "\n", {**space, "__name__": __name__})
    made.__defaults__, made.__kwdefaults__ = defaults
    title = _name_of(function)
    note_registered(function, Carrier(made, tuple(roles), "register", title, undecorated(rules[0])))


def _of_registered(function: Any, rule: Any) -> tuple[_Heads, tuple[Any, Any]]:
    """The parameters of a function that is registered, and their defaults: its own, or those that its rule has."""
    try:
        every = [one for one in inspect.signature(rule).parameters.values() if one.kind is not one.VAR_KEYWORD]
    except (TypeError, ValueError):
        every = []
    if sum(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in every) < 2:
        raise UsageError(
            f"the rule `{_name_of(rule)}` of `{_name_of(function)}` takes too few arguments",
            hint="it takes the adjoint or tangent, the result, and the arguments of the function",
        )
    behind = every[2:]
    try:
        own = list(inspect.signature(undecorated(function) or function).parameters.values())
    except (TypeError, ValueError):
        own = []
    counts = [sum(one.kind is not _OPTION for one in found) for found in (own, behind)]
    extra = any(one.kind is _EXTRA for one in behind)
    told = bool(own) and not any(one.kind in (_EXTRA, one.VAR_KEYWORD) for one in own)
    found = own if told and (counts[0] == counts[1] or extra) else behind
    defaults = tuple(one.default for one in found if one.kind is not _OPTION and one.default is not one.empty)
    options = {one.name: one.default for one in found if one.kind is _OPTION and one.default is not one.empty}
    return _Heads(function, found, "register"), (defaults or None, options or None)


# in code that is lowered


def inner_with_gradient(args: list[Value], decorator: str) -> Value:
    """`custom_gradient` or `custom_jvp` of a function that is known while code is lowered."""
    if len(args) == 1 and isinstance(args[0], Func):
        return Static(Carrier(args[0], _ROLES[decorator], decorator))
    if len(args) != 1 or not isinstance(args[0], Static):
        given = ", ".join(map(describe, args)) or "nothing"
        raise UsageError(f"tapec.{decorator} takes one function, not {given}")
    return Static(with_gradient(args[0].obj, decorator))


def inner_opaque(args: dict[str, Value]) -> Value:
    """`opaque(f, result)` of a function that is known while code is lowered."""
    known = {name: _known(value) for name, value in args.items()}
    if not callable(known.get("f")):
        hint = "define it outside of what is differentiated"
        raise UsageError("tapec.opaque needs a function that is known", hint=hint)
    return Static(OpaqueFunction(known["f"], known.get("result")))


def _known(value: Value) -> Any:
    if isinstance(value, Tup):
        return tuple(map(_known, value.items))
    return value.obj if isinstance(value, Static) else None
