"""`custom_gradient`: functions that come with their own derivative."""

from __future__ import annotations

import itertools
import linecache
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gast

from tapec.errors import NotDifferentiable, UnsupportedSyntax, UsageError
from tapec.frontend.evaluator import DeadCode, Evaluator, Frame, freeze
from tapec.frontend.lower import new_evaluator
from tapec.frontend.merge import leaves, rebuild
from tapec.frontend.source import parameters, undecorated
from tapec.frontend.values import Func, Lst, Static, Sym, Tup, Value, describe, is_none
from tapec.syntax.core import Atom, Block, Name, Op
from tapec.syntax.custom import Custom
from tapec.syntax.types import Array, Scalar
from tapec.tape.standins import Refusing
from tapec.transforms.emitter import Emitter
from tapec_runtime.variables import stop_gradient

_serial = itertools.count(1)


def with_gradient(f: Callable[..., Any]) -> Any:
    """A function of the same parameters that returns what `f` returns first; see `custom_gradient`."""
    function = undecorated(f)
    if function is None:
        raise UsageError(f"{f!r} is not a function with Python source")
    names: list[str] = []
    for parameter in parameters(function).values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise UsageError(f"`{function.__name__}` has a parameter `{parameter}`, which custom_gradient cannot take")
        names.append(parameter.name)
    label = function.__name__ if function.__name__.isidentifier() and function.__name__ != "<lambda>" else "function"
    listed = ", ".join(names)
    text = f"def {label}({listed}):\n    return carrier({listed})\n"
    file = f"<tapec custom_gradient {label} {next(_serial)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    carrier = _Carrier(function)
    namespace: dict[str, Any] = {"carrier": carrier, "__name__": function.__module__}
    exec(compile(text, file, "exec"), namespace)
    made: types.FunctionType = namespace[label]
    # calls in lowered code need not go through the text above
    setattr(made, "__tapec_lower__", carrier.__tapec_lower__)  # noqa: B010
    made.__doc__, made.__qualname__, made.__defaults__ = function.__doc__, function.__qualname__, function.__defaults__
    return made


class _Carrier:
    """Calls the user's function, or lowers it where differentiated code calls it.

    function  a Python function, or a function that is known while code is lowered
    """

    def __init__(self, function: types.FunctionType | Func) -> None:
        self.function = function
        self.name = function.node.name if isinstance(function, Func) else function.__name__

    def __call__(self, *args: Any) -> Any:
        assert not isinstance(self.function, Func)
        result = self.function(*args)
        if not isinstance(result, tuple) or len(result) != 2 or not callable(result[1]):
            raise UsageError(
                f"`{self.name}` must return its value and a function, as custom_gradient asks"
            )
        return result[0]

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        args = [ev.materialise(arg) for arg in args]
        function = self.function if isinstance(self.function, Func) else Static(self.function)
        result = ev.apply(function, args, kwargs, node)
        if not isinstance(result, Tup) or len(result.items) != 2 or not isinstance(result.items[1], Func):
            ev.fail(
                UnsupportedSyntax,
                f"`{self.name}` must return its value and a function defined inside it",
                node,
            )
        value, gradient = result.items
        assert isinstance(gradient, Func)
        value = ev.materialise(ev.call_object(stop_gradient, [value], {}, node))
        if not isinstance(value, Sym):
            message = f"a custom gradient of {describe(value)}"
            ev.fail(UnsupportedSyntax, message, node, hint="return one number or array")
        operands = [_operand(ev, arg, node) for arg in args]
        environment = _environment(ev, gradient, node)
        kept = [leaf for item in environment.values() for _, leaf in leaves(item)]
        rule = _Rule(len(operands), self.name, gradient, environment, [k.type for k in kept],
                     [o.type for o in operands], value.type, ev.live is not None)
        arguments = (value.atom, *(o.atom for o in operands), *(k.atom for k in kept))
        made = ev.assign(Op(Custom(f"custom_gradient;{next(_serial)}", rule), arguments), value.type)
        if isinstance(made.type, Array) and isinstance(made.atom, Name):
            ev.roots[made.atom.id] = frozenset({made.atom.id})
        return made


def inner_with_gradient(function: Value) -> Value:
    """`custom_gradient` of a function that is known while code is lowered."""
    if isinstance(function, Func):
        return Static(_Carrier(function))
    if not isinstance(function, Static):
        raise UsageError(f"{describe(function)} is not a function")
    return Static(with_gradient(function.obj))


def _operand(ev: Evaluator, value: Value, node: Any) -> Sym:
    if isinstance(value, Sym):
        return value
    ev.fail(UnsupportedSyntax, f"an argument of a custom gradient is {describe(value)}", node,
            hint="pass numbers and arrays one by one")


def _environment(ev: Evaluator, func: Func, node: Any) -> dict[str, Value]:
    """What the gradient function reads from around it, as it is when the function returns."""
    own = {arg.id for arg in func.node.args.args}
    read = {
        child.id for child in gast.walk(func.node) if isinstance(child, gast.Name) and isinstance(child.ctx, gast.Load)
    }
    found: dict[str, Value] = {}
    for name in sorted(read - own):
        frame: Frame | None = func.frame
        value: Value | None = None
        while frame is not None and value is None:
            value = frame.env.get(name)
            if value is None and frame.parent is None:
                value = frame.names(name)
            frame = frame.parent
        if isinstance(value, Lst):
            ev.fail(UnsupportedSyntax, f"a custom gradient reads the list `{name}`", node, hint="use a tuple or array")
        if value is not None:
            found[name] = value
    return found


@dataclass
class _Rule:
    """A gradient function with the values it reads; `pull_back` writes it into a reverse sweep."""

    operands: int
    label: str
    func: Func
    environment: dict[str, Value]
    kept: list[Any]
    types: list[Any]
    result: Any
    alive: bool

    def pull_back(self, emitter: Emitter, seed: Atom, arguments: tuple[Atom, ...]) -> tuple[Block, list[Atom | None]]:
        """Statements that compute the operands' adjoints, and the adjoints."""
        ev = new_evaluator(frozenset(emitter.taken) | frozenset(emitter.types))
        ev.types = emitter.types
        ev.span = emitter.span
        if self.alive:
            ev.live = Refusing(ev, f"the gradient function of `{self.label}` calls a function")
        atoms = iter(arguments[self.operands :])
        types_ = iter(self.kept)

        def bound(path: Any, leaf: Sym) -> Sym:
            return _symbol(ev, next(atoms), next(types_))

        frame = Frame(self.func.frame.source, lambda ident: None)
        frame.env = {name: rebuild(value, bound) for name, value in self.environment.items()}
        frame.liveness = self.func.frame.liveness
        ev.frame = frame
        ev.frames.append(frame)
        closure = Func(self.func.node, frame, self.func.defaults, self.func.kw_defaults)
        try:
            result = ev.apply(closure, [_symbol(ev, seed, self.result)], {}, None)
        except DeadCode:
            return freeze(ev.root), [None] * self.operands
        given = result.items if isinstance(result, Tup) else (result,)
        if len(given) != self.operands:
            raise NotDifferentiable(
                f"the gradient function of `{self.label}` returns {len(given)} values for {self.operands} arguments",
                emitter.span,
            )
        adjoints = [self._adjoint(ev, ev.materialise(one), type_) for one, type_ in zip(given, self.types, strict=True)]
        emitter.taken |= ev.taken
        return freeze(ev.root), adjoints

    def _adjoint(self, ev: Evaluator, value: Value, type_: Any) -> Atom | None:
        if is_none(value) or not type_.is_float:
            return None
        if isinstance(type_, Scalar):
            return ev.cast(ev.scalar(value), type_).atom
        if not isinstance(value, Sym) or not isinstance(value.type, Array) or value.type.ndim != type_.ndim:
            raise NotDifferentiable(
                f"the gradient function of `{self.label}` returns {describe(value)} for an argument of {type_}", ev.span
            )
        return value.atom


def _symbol(ev: Evaluator, atom: Atom, type_: Any) -> Sym:
    if isinstance(type_, Array) and isinstance(atom, Name):
        ev.roots[atom.id] = frozenset({atom.id})
    return Sym(atom, type_)
