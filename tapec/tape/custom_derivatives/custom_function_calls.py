"""What stands for a function with a derivative of its own where differentiated code calls it."""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from tapec.errors import NotDifferentiable, Span, UnsupportedSyntax, UsageError
from tapec.frontend.calls.inlining import bind_arguments
from tapec.frontend.calls.recursion import with_changes
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import (
    Complex,
    Declared,
    Func,
    Instance,
    Lst,
    Method,
    Partial,
    Poison,
    Rebuilt,
    Static,
    Sym,
    Tup,
    Value,
    describe,
)
from tapec.frontend.operations.allocation import dim, dim_key
from tapec.frontend.operations.complex_arithmetic import each, joined
from tapec.frontend.source.function_source import FunctionSource, undecorated
from tapec.frontend.structures.captured_values import Held, taken
from tapec.frontend.structures.rebuilt_containers import gathered, spread
from tapec.syntax.core import (
    Assign,
    Atom,
    Call,
    Name,
    Op,
    written_in,
)
from tapec.syntax.custom_rule import Custom
from tapec.syntax.types import Array
from tapec.tape.custom_derivatives.outside_values import values_from_outside
from tapec.tape.custom_derivatives.rule_application import OwnRule
from tapec.tape.custom_derivatives.rule_lowering import PULLBACK, TANGENT, VARIABLES, leaves_of
from tapec.transforms.nested import parameter_names
from tapec_runtime.variables import stop_gradient

_serial = itertools.count(1)


class Carrier(Held):
    """Calls the user's function, or lowers it where differentiated code calls it.

    function   a Python function, or a function that is known while code is lowered, which returns its value and the
               functions of its rule
    roles      what these are, in their order
    decorator  by which of our functions it was made
    shown      the function whose text errors name, where that is another one
    jvp        what `defjvp` has been given: a function, or one that is known while code is lowered
    """

    def __init__(
        self,
        function: types.FunctionType | Func,
        roles: tuple[str, ...],
        decorator: str,
        name: str = "",
        shown: types.FunctionType | None = None,
    ) -> None:
        self.function, self.roles, self.decorator, self.shown = function, roles, decorator, shown
        node_name = getattr(function.node, "name", "<lambda>") if isinstance(function, Func) else function.__name__
        self.name = name or node_name
        self.jvp: Value | None = None

    @property
    def held(self) -> tuple[Value, ...]:
        return () if not isinstance(self.function, Func) else tuple(one for one in (self.function, self.jvp) if one)

    def holding(self, ev: Evaluator, values: tuple[Value, ...]) -> Carrier:
        if not values:
            return self
        made = copy(self)
        made.function, made.jvp = values[0], values[1] if len(values) > 1 else None  # type: ignore[assignment]
        return made

    @property
    def defjvp(self) -> DefJvp:
        """What says the tangents."""
        return DefJvp(self)

    def say_tangents(self, jvp: Value) -> None:
        """Have tangents from now on that a function of the arguments and their tangents computes, after the value."""
        self.jvp = jvp
        # of `custom_jvp` this is the whole rule: the function returns its value alone
        self.roles = tuple(role for role in self.roles if role != TANGENT)

    @property
    def rule_parts(self) -> tuple[Any, ...]:
        """The functions by which it is told from others."""
        own = () if self.jvp is None else (self.jvp.obj if isinstance(self.jvp, Static) else self.jvp,)
        return self.function, *own

    @property
    def wanted(self) -> str:
        """What its function has to return."""
        return " and ".join(("its value", *(f"a {role}" for role in self.roles)))

    @property
    def _or_else(self) -> str:
        return ", or get its rule by `defjvp`" if self.decorator == "custom_jvp" else ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        assert not isinstance(self.function, Func)
        result = self.function(*args, **kwargs)
        if not self.roles:
            return result
        functions = result[1:] if isinstance(result, tuple) else ()
        if len(functions) != len(self.roles) or not all(map(callable, functions)):
            raise UsageError(f"`{self.name}` must return {self.wanted}, as {self.decorator} asks{self._or_else}")
        return result[0]

    # lowering

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        function = self.function if isinstance(self.function, Func) else Static(self.function)
        positional, options = self._bound(ev, args, kwargs, node)
        # by names of their own they are told from what the function reads from around it
        positional = [_renamed(ev, one) for one in positional]
        block, start, before = ev.block, len(ev.block), dict(ev.written)
        calls_as_is, ev.calls_as_is = ev.calls_as_is, True
        try:
            returned = ev.apply(function, positional, options, node)
        finally:
            ev.calls_as_is = calls_as_is
        returned = ev.materialise(returned)
        returned = returned if self.roles else Tup((returned,))
        functions = returned.items[1:] if isinstance(returned, Tup) else ()
        if len(functions) != len(self.roles) or not all(map(_callable, functions)):
            self._refuse_result(ev, functions)
        assert isinstance(returned, Tup)
        given = tuple(_spread(ev, one) for one in positional)
        self._check_writes(ev, given, before, node)
        value = ev.materialise(returned.items[0])
        if isinstance(value, Lst) and spread(ev, value) is None:
            value = ev.as_array(value, node)
        result = _spread(ev, value)
        values = [one.now for one in leaves_of(result)]
        if not values or not _plain(result):
            message = f"a derivative of its own for a function that returns {describe(value)}"
            ev.fail(UnsupportedSyntax, message, node, hint="return numbers, arrays, and tuples of those")
        region = with_changes(ev, freeze(block[start:]), node)
        operands = [leaf for one in given for leaf in leaves_of(one)]
        outside = values_from_outside(ev, region, values, operands)
        variables = self._variables(ev, functions, outside)
        operands += variables
        outside = [name for name in outside if all(one.atom != Name(name) for one in variables)]
        chosen = [leaf for one in options.values() for leaf in leaves_of(_spread(ev, one)) if leaf.type.is_float]
        outside += [one.atom.id for one in chosen if isinstance(one.atom, Name) and one.atom.id not in outside]
        kept: list[Sym] = []
        source, span = self._place(ev)
        rules = dict(zip(self.roles, functions, strict=True))
        if self.jvp is not None:
            rules[TANGENT] = Static(_Tangents(self.jvp, Tup(tuple(positional)), tuple(options.items())))
        makes = {role: taken(ev, one, kept, span) for role, one in rules.items()}
        if variables:
            makes[VARIABLES] = taken(ev, Tup(tuple(variables)), kept, span)
            given = (*given, Tup(tuple(variables)))
        # a result that a function reads is what the rule differentiates, in second derivatives as well
        computed = written_in(region)
        named = ((k, one.atom) for k, one in enumerate(values))
        places: dict[Atom, int] = {atom: k for k, atom in named if isinstance(atom, Name) and atom.id in computed}
        kinds = [places.get(one.atom, one.type) for one in kept]
        key = self.function.node if isinstance(self.function, Func) else self.function
        rule = OwnRule(
            *(self.name, source, span, key, makes, given, result, len(outside), kinds),
            *(ev.live is not None, ev.constants, [_extents(ev, one) for one in (*values, *operands, *kept)]),
        )
        stopped = [ev.sym(ev.materialise(ev.call_object(stop_gradient, [one], {}, node))) for one in values]
        arguments: list[Atom] = [*(one.atom for one in operands), *map(Name, outside)]
        arguments += [one.atom for one, kind in zip(kept, kinds, strict=True) if not isinstance(kind, int)]
        if key not in ev.finding:
            rule.find_constants(ev, [one.atom for one in stopped], arguments, node)
        operation = Custom(f"{self.decorator};{next(_serial)}", rule)
        made = iter(_assigned(ev, operation, stopped, arguments))
        return _with_leaves(ev, result, made)

    def _bound(
        self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any
    ) -> tuple[list[Value], dict[str, Value]]:
        """The arguments by position, in the order of parameters, and the options."""
        args = [ev.materialise(arg) for arg in args]
        kwargs = {key: ev.materialise(value) for key, value in kwargs.items()}
        function = self.function
        if isinstance(function, Func):
            definition, defaults, named = function.node, function.defaults, function.kw_defaults
        else:
            definition = ev.source_of(function).node
            values = function.__kwdefaults__ or {}
            defaults = tuple(
                ev.wrap(one, None, ("default", function, k)) for k, one in enumerate(function.__defaults__ or ())
            )
            named = tuple(
                ev.wrap(values[one.id], None, ("kwdefault", function, one.id)) if one.id in values else None
                for one in definition.args.kwonlyargs
            )
        spec = definition.args
        if spec.kwarg is not None:
            ev.fail(UnsupportedSyntax, f"`{self.name}` has a parameter `**{spec.kwarg.id}`", node)
        found = bind_arguments(ev, definition, self.name, defaults, named, args, kwargs, node)
        names = [one.id for one in (*spec.posonlyargs, *spec.args)]
        positional = [found[name] for name in names]
        if spec.vararg is not None:
            extra = found[spec.vararg.id]
            assert isinstance(extra, Tup)
            positional += extra.items
        return positional, {one.id: found[one.id] for one in spec.kwonlyargs}

    def _place(self, ev: Evaluator) -> tuple[FunctionSource, Span]:
        """The text that errors name, and where the function is in it."""
        if isinstance(self.function, Func):
            return self.function.frame.source, self.function.frame.source.span(self.function.node)
        source = ev.source_of(self.shown or self.function)
        return source, source.span(source.node)

    def _variables(self, ev: Evaluator, functions: tuple[Value, ...], outside: list[str]) -> list[Sym]:
        """The variables that the function reads, if its gradient function asks for them as TensorFlow's do."""
        if self.roles != (PULLBACK,) or "variables" not in parameter_names(functions[0]) or ev.live is None:
            return []
        return [Sym(Name(name), ev.types[name]) for name in ev.live.variables(outside)]

    def _refuse_result(self, ev: Evaluator, functions: tuple[Value, ...]) -> NoReturn:
        several = next((one for one in functions if isinstance(one, Poison)), None)
        raise UnsupportedSyntax(
            f"`{self.name}` must return {self.wanted}{self._or_else}",
            self._place(ev)[1],
            reason="" if several is None else several.reason,
            hint="" if several is None else "let one function tell the cases apart",
        )

    def _check_writes(self, ev: Evaluator, given: tuple[Any, ...], before: dict[str, int], node: Any) -> None:
        """Refuse a function that writes into its arguments: its rule says nothing of what is left there."""
        for leaf in (leaf for one in given for leaf in leaves_of(one)):
            roots = ev.roots_of(leaf.atom.id) if isinstance(leaf.atom, Name) and leaf.is_array else ()
            if any(ev.written.get(root, 0) != before.get(root, 0) for root in roots):
                ev.fail(
                    UnsupportedSyntax,
                    f"`{self.name}`, which has a derivative of its own, writes into an argument",
                    node,
                    reason="its rule is that of what it returns",
                    hint="write into a copy, and return it",
                )


def _extents(ev: Evaluator, value: Sym) -> tuple[Any, ...]:
    """What identifies the extents of an array: equal ones are equal."""
    if not isinstance(value.type, Array):
        return ()
    return tuple(dim_key(ev, value, axis) for axis in range(value.type.ndim))


class DefJvp:
    """`f.defjvp`: `jvp(primals, tangents)`, a function of two tuples, returns the value and its tangent."""

    def __init__(self, carrier: Carrier) -> None:
        self.carrier = carrier

    def __call__(self, jvp: Any) -> Any:
        if not callable(jvp):
            name = self.carrier.name
            raise UsageError(f"`{name}.defjvp` needs a function of the arguments and of their tangents")
        self.carrier.say_tangents(Static(jvp))
        return jvp

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        if len(args) != 1 or kwargs or not _callable(args[0]) or not isinstance(self.carrier.function, Func):
            message = f"`defjvp` of `{self.carrier.name}`, in differentiated code"
            ev.fail(UnsupportedSyntax, message, node, hint="give it the rule where the function is defined")
        self.carrier.say_tangents(args[0])
        return args[0]


@dataclass(frozen=True, eq=False)
class _Tangents(Held):
    """A function of tangents that computes the tangent of the value by what `defjvp` was given."""

    jvp: Value
    primals: Tup
    options: tuple[tuple[str, Value], ...]

    @property
    def held(self) -> tuple[Value, ...]:
        return (self.jvp, self.primals, *(value for _, value in self.options))

    def holding(self, ev: Evaluator, values: tuple[Value, ...]) -> _Tangents:
        jvp, primals, *options = values
        assert isinstance(primals, Tup)
        names = (name for name, _ in self.options)
        return _Tangents(jvp, primals, tuple(zip(names, options, strict=True)))

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        returned = ev.materialise(ev.apply(self.jvp, [self.primals, Tup(tuple(args))], dict(self.options), node))
        if isinstance(returned, Tup) and len(returned.items) == 2:
            return returned.items[1]
        function = undecorated(self.jvp.obj) if isinstance(self.jvp, Static) else None
        source = ev.source_of(function) if function is not None else getattr(self.jvp, "frame", ev.frame).source
        definition = getattr(self.jvp, "node", source.node)
        raise NotDifferentiable(
            f"`{getattr(definition, 'name', '<lambda>')}` returns {describe(returned)}",
            source.span(definition),
            hint="return the value and its tangent, as defjvp asks",
        )


def _renamed(ev: Evaluator, value: Value) -> Value:
    """A number, an array or a tuple of those under names of their own."""
    if isinstance(value, Tup):
        return replace(value, items=tuple(_renamed(ev, one) for one in value.items))
    if isinstance(value, Complex):
        made: Value = each(ev, value, lambda part: _renamed(ev, part))
        return made
    if not isinstance(value, Sym) or not value.type.is_float:
        return value
    own: Sym = value.now
    if not isinstance(own.atom, Name):
        return value
    name = ev.define(own.atom.id, own.type, temporary=True)
    ev.emit(Assign(name, own.atom, ev.span))
    if isinstance(own.type, Array):
        ev.roots[name] = ev.roots_of(own.atom.id)
        for axis in range(own.type.ndim):
            ev.dim_keys[name, axis] = dim_key(ev, own, axis)
            ev.dims[name, axis] = dim(ev, own, axis).atom
    return Sym(Name(name), own.type)


def _callable(value: Value) -> bool:
    if isinstance(value, Static):
        return callable(value.obj)
    return isinstance(value, Func | Partial | Method | Declared | Instance)


def _spread(ev: Evaluator, value: Value) -> Any:
    """A value whose lists and dicts, of known length, are what they hold; others stay as they are."""
    value = ev.materialise(value)
    found = spread(ev, value)
    return value if found is None else found


def _plain(result: Any) -> bool:
    if isinstance(result, Tup | Rebuilt):
        return all(map(_plain, result.items))
    return isinstance(result, Sym | Complex | Static)


def _assigned(ev: Evaluator, operation: Custom, values: list[Sym], arguments: list[Atom]) -> list[Sym]:
    """The operation, written; its results."""
    atoms = (*(one.atom for one in values), *arguments)
    if len(values) == 1:
        made = [ev.assign(Op(operation, atoms), values[0].type)]
    else:
        made = [Sym(Name(ev.define("t", one.type, temporary=True)), one.type) for one in values]
        ev.emit(Call(tuple(one.atom.id for one in made if isinstance(one.atom, Name)), operation, atoms, ev.span))
    for one, value in zip(made, values, strict=True):
        if isinstance(one.type, Array) and isinstance(one.atom, Name):
            ev.roots[one.atom.id] = frozenset({one.atom.id})
            for axis in range(one.type.ndim):
                ev.dims[one.atom.id, axis] = dim(ev, value, axis).atom
    return made


def _with_leaves(ev: Evaluator, result: Any, leaves: Iterator[Sym]) -> Any:
    """The result of other leaves."""
    if isinstance(result, Sym):
        return next(leaves)
    if isinstance(result, Complex):
        re, im = next(leaves), next(leaves)
        return joined(ev, re, im) if result.is_array else Complex(re, im)
    if isinstance(result, Tup):
        return Tup(tuple(_with_leaves(ev, one, leaves) for one in result.items), result.cls)
    if isinstance(result, Rebuilt):
        return gathered(ev, Rebuilt(result.keys, tuple(_with_leaves(ev, one, leaves) for one in result.items)))
    return result
