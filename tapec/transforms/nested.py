"""Derivatives inside lowered code: `grad(f)(x)` within a function that is itself differentiated.

The inner function is lowered in place, its statements are differentiated, brought back to single
assignment and written where the call stands.  The outer derivative then sees plain core.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tapec.analyses.aliases import handed_on
from tapec.errors import NotDifferentiable, UnsupportedSyntax
from tapec.frontend.calls.recursion import with_changes
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import (
    Complex,
    Dct,
    Items,
    Lst,
    RebuiltList,
    Record,
    Static,
    Sym,
    Tup,
    Value,
    describe,
)
from tapec.frontend.operations.complex_arithmetic import each, joined, parts
from tapec.frontend.structures.dicts import get, keys_of, new_dict
from tapec.syntax.core import Assign, Atom, Block, Function, Name, Return, reads, walk, writes, written_in
from tapec.syntax.types import Array, Scalar
from tapec.transforms.jacobian import JACOBIANS, blocks_of
from tapec.transforms.nested_memory import separate
from tapec.transforms.reverse import reverse
from tapec.transforms.ssa import to_ssa


@dataclass(frozen=True)
class InnerCall:
    """A call whose derivative is written where it stands.

    result     what it returns
    block      the statements that compute it
    chosen     what it is differentiated by; `single` is one thing alone
    sources    the names of the numbers and arrays in those
    core       the call as a function of names of its own, which reads `constants`
    structure  what rebuilds the result from new leaves
    """

    result: Value
    block: Block
    chosen: list[Value]
    single: bool
    sources: tuple[str, ...]
    core: Function
    constants: frozenset[str]
    structure: Any

    @classmethod
    def of(
        cls, ev: Evaluator, callee: Value, wrt: Any, args: list[Value], kwargs: dict[str, Value], node: Any
    ) -> InnerCall:
        """The call of a function, to be differentiated by arguments in `wrt`."""
        single = not isinstance(wrt, tuple)
        wanted = (wrt,) if single else wrt
        parameters = Parameters(ev, [_pick(ev, one, args, kwargs, callee, node) for one in wanted])
        inner_args, inner_kwargs = parameters.bind_all(callee, args, kwargs)
        chosen = [_pick(ev, one, inner_args, inner_kwargs, callee, node) for one in wanted]
        result, block = parameters.called(callee, inner_args, inner_kwargs, node)
        parameters.check_kept(node)
        sources = tuple(dict.fromkeys(leaf for value in chosen for leaf in leaves(ev, value, node)))
        return cls(result, block, chosen, single, sources, *prepared(ev, parameters, block, result, sources, node))

    def by_sources(self, ev: Evaluator, found: Any) -> Value:
        """Derivatives by source, each a value or again derivatives by source, in the structure of `wrt`."""
        if not isinstance(found, dict):
            assert isinstance(found, Value)
            return found
        bars = {name: self.by_sources(ev, one) for name, one in found.items()}
        gradients = tuple(rebuild(ev, value, bars) for value in self.chosen)
        return gradients[0] if self.single else Tup(gradients)

    def value_and_adjoints(self, ev: Evaluator, values: list[Value]) -> tuple[Value, Value]:
        """Both, of the results of the call and then the adjoints of its sources."""
        count = len(self.core.results)
        adjoints = dict(zip(self.sources, values[count:], strict=True))
        return self.structure(values[:count]), self.by_sources(ev, adjoints)


def call_derivative(
    ev: Evaluator,
    callee: Value,
    kind: str,
    wrt: Any,
    args: list[Value],
    kwargs: dict[str, Value],
    node: Any,
    has_aux: bool = False,
) -> Value:
    """Write the derivative of `callee(*args, **kwargs)` into the current block."""
    args = [ev.materialise(arg) for arg in args]
    kwargs = {key: ev.materialise(value) for key, value in kwargs.items()}
    call = InnerCall.of(ev, callee, wrt, args, kwargs, node)
    result, core, constants = call.result, call.core, call.constants
    result = differentiated(ev, result, has_aux, node)
    if kind in JACOBIANS:
        first: list[Atom] = []
        _flatten(ev, result, first, node)
        blocks, beside = _blocks(ev, call, kind, result, len(first), node)
        made: Value = call.structure([*(call.by_sources(ev, block) for block in blocks), *beside])
        return made
    check_number(ev, result, node)
    swept = reverse(core, call.sources, constants, unit_seed=True, fuse=ev.prepare is not None)
    values = splice(ev, swept.function("inner", (*swept.values, *swept.adjoints)))
    value, gradient = call.value_and_adjoints(ev, values)
    if kind == "grad":
        return Tup((gradient, value.items[1])) if isinstance(value, Tup) else gradient
    return Tup((value, gradient))


def differentiated(ev: Evaluator, result: Value, has_aux: bool, node: Any) -> Value:
    """What is differentiated of a function's result."""
    if not has_aux:
        return result
    if not isinstance(result, Tup) or len(result.items) != 2:
        ev.fail(NotDifferentiable, "with has_aux=True, the function must return a tuple of two items", node)
    return result.items[0]


def _blocks(
    ev: Evaluator, call: InnerCall, kind: str, result: Value, count: int, node: Any
) -> tuple[list[Any], list[Value]]:
    """Write the Jacobians or Hessians of the first `count` results; by source, and for Hessians by source again.

    returns  these, and the other results
    """
    core, sources = call.core, call.sources
    if any(isinstance(value, Complex) for value in (*call.chosen, result)):
        ev.fail(
            NotDifferentiable,
            "a Jacobian by a complex argument, or of a complex result",
            node,
            reason="its blocks would be real ones of the parts",
            hint="take the real and the imaginary part for themselves",
        )
    if not count or not all(_type(core.types, value).is_float for value in core.results[:count]):
        ev.fail(NotDifferentiable, "a Jacobian of a result that is not a float", node, hint="return floats alone")
    others = len(core.results) - count
    made = splice(ev, blocks_of(kind, core, sources, call.constants, ev.prepare is not None, others))
    values = iter(made)

    def block(order: int) -> Any:
        return {source: block(order - 1) for source in sources} if order else next(values)

    found = [block(2 if kind == "hessian" else 1) for _ in core.results[:count]]
    return found, list(values)


def check_number(ev: Evaluator, result: Value, node: Any) -> None:
    """Refuse the gradient of what is no float."""
    if not isinstance(result, Sym) or not isinstance(result.type, Scalar) or not result.type.is_float:
        ev.fail(NotDifferentiable, f"the gradient of {describe(result)}: a float is needed", node)


def with_tangents(
    ev: Evaluator, made: Function, core: Function, sources: tuple[str, ...], vectors: dict[str, str]
) -> Function:
    """`made`, which takes a tangent for each of `sources` behind the parameters of `core`, given those in `vectors`."""
    # names that passes gave to what the function computes, such as `t`, may be those of tangents
    made = to_ssa(made, avoid=frozenset(vectors.values()) - frozenset(made.params))
    dots = made.params[len(core.params) :]
    bound = tuple(
        Assign(dot, Name(vectors[source]), ev.span) for source, dot in zip(sources, dots, strict=True)
    )
    params = (*core.params, *(name for name in vectors.values() if name not in core.params))
    types = {**made.types, **{name: ev.types[name] for name in vectors.values()}}
    return Function(made.name, tuple(dict.fromkeys(params)), (*bound, *made.body), types)


def splice(ev: Evaluator, function: Function) -> list[Value]:
    """Write a function's body into the current block; the values it returns."""
    single = to_ssa(function, avoid=frozenset(ev.taken) | frozenset(ev.types))
    ev.types.update(single.types)
    ev.taken |= set(single.types)
    for stmt in single.body[:-1]:
        ev.emit(stmt)
        note_memory(ev, (stmt,))
    return [Sym(value, _type(ev.types, value)) for value in single.results]


def _type(types: dict[str, Any], atom: Atom) -> Any:
    if isinstance(atom, Name):
        return types[atom.id]
    return Scalar("bool" if isinstance(atom.value, bool) else "int64" if isinstance(atom.value, int) else "float64")


def note_memory(ev: Evaluator, block: Block) -> None:
    """Roots of the arrays that spliced statements define: fresh, or those of what they view."""
    for stmt in walk(block):
        for name in writes(stmt):
            if not isinstance(ev.types.get(name), Array):
                continue
            sources = [r for r in handed_on(stmt.value) if r in ev.roots] if isinstance(stmt, Assign) else []
            known = frozenset().union(*(ev.roots[r] for r in sources)) if sources else frozenset()
            ev.roots[name] = ev.roots.get(name, frozenset()) | (known or frozenset({name}))


class Parameters:
    """Names of their own for the arguments, so that the derivative can be taken by them.

    copies  the statements that define them
    names   the names, with what the user calls the argument that each belongs to
    kept    lists and dicts that the derivative is taken by, with what they held at the call
    """

    def __init__(self, ev: Evaluator, sources: Iterable[Value] = ()) -> None:
        self.ev = ev
        self.sources = tuple(sources)
        self.kept: list[tuple[Value, Any]] = []
        self.copies: list[Assign] = []
        self.names: dict[str, str] = {}

    def bind_all(
        self, callee: Value, args: list[Value], kwargs: dict[str, Value]
    ) -> tuple[list[Value], dict[str, Value]]:
        """Arguments of a call, under names of their own."""
        known, labels = parameter_names(callee), [f"argument_{k}" for k in range(len(args))]
        titles = (*known[: len(args)], *labels[len(known) :])
        own = [self.bind(label, arg, title) for label, arg, title in zip(labels, args, titles, strict=True)]
        return own, {key: self.bind(key, value, key) for key, value in kwargs.items()}

    def bind(self, label: str, value: Value, title: str = "", inside: bool = False) -> Value:
        ev = self.ev
        inside = inside or any(value is one for one in self.sources)
        if isinstance(value, Tup | Record):
            items = (self.bind(f"{label}_{k}", item, f"{title}_{k}", inside) for k, item in enumerate(value.items))
            return type(value)(tuple(items), value.cls)
        if inside and (held := contents(ev, value)) is not None:
            own = {key: self.bind(f"{label}_{key}", item, f"{title}_{key}", inside) for key, item in held.items()}
            made = container(ev, value, own)
            self.kept.append((made, own))
            return made
        if isinstance(value, Complex):
            inner: Value = each(ev, value, lambda part: self.bind(label, part, title))
            return inner
        if not isinstance(value, Sym):
            return value
        base = value.atom.id if isinstance(value.atom, Name) else label
        name = ev.define(base, value.type)
        self.copies.append(Assign(name, value.atom, ev.span))
        self.names[name] = title
        if isinstance(value.type, Array) and isinstance(value.atom, Name):
            ev.roots[name] = ev.roots.get(value.atom.id, frozenset())
        return Sym(Name(name), value.type)


    def check_kept(self, node: Any) -> None:
        """Refuse a function that changes a list or dict that its derivative is taken by."""
        for made, own in self.kept:
            now = contents(self.ev, made)
            if now is None or now.keys() != own.keys() or any(now[key] is not one for key, one in own.items()):
                what = f"a derivative by {describe(made)} that the function changes"
                self.ev.fail(UnsupportedSyntax, what, node, hint="change a copy of it")

    def called(self, callee: Value, args: list[Value], kwargs: dict[str, Value], node: Any) -> tuple[Value, Block]:
        """What a function returns for arguments with these names, and the statements that compute it, apart."""
        ev = self.ev
        outer, dims = ev.block, dict(ev.dims)
        root: list[Any] = []
        ev.block = root
        result = ev.materialise(ev.apply(callee, args, kwargs, node))
        outer.extend(self.copies)
        ev.block, ev.dims = outer, dims
        return result, freeze(root)


def prepared(
    ev: Evaluator, parameters: Parameters, block: Block, result: Value, sources: Iterable[str], node: Any
) -> tuple[Function, frozenset[str], Any]:
    """A call as a function that can be differentiated, its constants, and what rebuilds the result from new leaves.

    sources  the parameters that it is differentiated by
    """
    results: list[Atom] = []
    structure = _flatten(ev, result, results, node)
    core = _function(ev, with_changes(ev, block, node), parameters, tuple(results))
    given = {copy.target: copy.value.id for copy in parameters.copies if isinstance(copy.value, Name)}
    core = separate(ev, core, parameters.names, given, frozenset(sources), node)
    constants = frozenset(ev.constants) & set(core.params)
    return core if ev.prepare is None else ev.prepare(core, constants), constants, structure


def _function(ev: Evaluator, block: Block, parameters: Parameters, results: tuple[Atom, ...]) -> Function:
    """The block as a function of its parameters and of every name it reads from outside."""
    body = (*block, Return(results))
    inside = written_in(block)
    outside = {name for stmt in walk(body) for name in reads(stmt)} - inside - set(parameters.names)
    return Function("inner", (*parameters.names, *sorted(outside)), body, ev.types, again=True)


def _pick(ev: Evaluator, one: Any, args: list[Value], kwargs: dict[str, Value], callee: Value, node: Any) -> Value:
    names = parameter_names(callee)
    if isinstance(one, int) and -len(names) <= one < len(names):
        # a position counts the parameters, given by name or not
        one = names[one]
    if isinstance(one, int):
        if not -len(args) <= one < len(args):
            ev.fail(UnsupportedSyntax, f"there is no argument {one} to differentiate by", node)
        return args[one]
    if one in kwargs:
        return kwargs[one]
    if one not in names or names.index(one) >= len(args):
        ev.fail(UnsupportedSyntax, f"there is no argument `{one}` to differentiate by", node)
    return args[names.index(one)]


def parameter_names(callee: Value) -> list[str]:
    """The names of a function's parameters, those given by name alone last; none where extra arguments may follow."""
    definition = getattr(callee, "node", None)
    if definition is not None:
        own = definition.args
        return [] if own.vararg is not None else [arg.id for arg in (*own.posonlyargs, *own.args, *own.kwonlyargs)]
    if isinstance(callee, Static):
        code = getattr(callee.obj, "__code__", None)
        if code is not None and not code.co_flags & inspect.CO_VARARGS:
            held = getattr(callee.obj, "captured", ())
            return [*held, *code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
    return []


def contents(ev: Evaluator, value: Value) -> dict[Any, Value] | None:
    """What a dict, or a list of known length, holds, by key or position; None for other values."""
    if isinstance(value, Dct) and value.cls is dict:
        return {key: get(ev, value, key) for key in keys_of(ev, value)}
    if not isinstance(value, Lst) or type(value) not in (Lst, RebuiltList):
        return None
    if isinstance(held := ev.heap.get(value), Items):
        return dict(enumerate(held.values))
    return None


def container(ev: Evaluator, like: Value, items: dict[Any, Value]) -> Value:
    """A new dict or list, as `like` is one."""
    if isinstance(like, Dct):
        return new_dict(ev, items)
    made = Lst("list")
    ev.heap[made] = Items(tuple(items.values()))
    return made


def leaves(ev: Evaluator, value: Value, node: Any, inside: bool = False) -> list[str]:
    """The names of the numbers and arrays of a value; `inside`: one that a container holds."""
    if (held := contents(ev, value)) is not None:
        return [leaf for item in held.values() for leaf in leaves(ev, item, node, True)]
    if isinstance(value, Tup | Record):
        return [leaf for item in value.items for leaf in leaves(ev, item, node, True)]
    if isinstance(value, Complex):
        return [leaf for part in parts(value) for leaf in leaves(ev, part, node)]
    if isinstance(value, Sym) and isinstance(value.atom, Name) and value.type.is_float:
        return [value.atom.id]
    if inside and isinstance(value, Static) and not isinstance(value.obj, int | float | complex | str):
        return []  # None or a function among what is differentiated: None stands there in the gradient
    ev.fail(NotDifferentiable, f"{describe(value)} has no derivative", node, hint="pass it as a float")


def _flatten(ev: Evaluator, value: Value, leaves: list[Atom], node: Any) -> Any:
    """Collect the leaves of a result; a function that rebuilds it from new leaves."""
    if isinstance(value, Sym):
        position = len(leaves)
        leaves.append(value.atom)
        return lambda new: new[position]
    if isinstance(value, Complex):
        first, second = (_flatten(ev, part, leaves, node) for part in (value.re, value.im))
        return lambda new: _joined(ev, first(new), second(new))
    if isinstance(value, Tup | Record):
        parts = [_flatten(ev, item, leaves, node) for item in value.items]
        return lambda new: type(value)(tuple(part(new) for part in parts), value.cls)
    if isinstance(value, Lst):
        ev.fail(UnsupportedSyntax, "a derivative of a function that returns a list", node)
    return lambda new: value


def _joined(ev: Evaluator, re: Value, im: Value) -> Value:
    """A complex number or array of its parts."""
    assert isinstance(re, Sym) and isinstance(im, Sym)
    return joined(ev, re, im) if isinstance(re.type, Array) else Complex(re, im)


def rebuild(ev: Evaluator, value: Value, bars: dict[str, Value]) -> Value:
    if (held := contents(ev, value)) is not None:
        return container(ev, value, {key: rebuild(ev, item, bars) for key, item in held.items()})
    if isinstance(value, Tup | Record):
        return type(value)(tuple(rebuild(ev, item, bars) for item in value.items), value.cls)
    if isinstance(value, Complex):
        return _joined(ev, *(rebuild(ev, part, bars) for part in parts(value)))
    if isinstance(value, Static):
        return Static(None)
    assert isinstance(value, Sym) and isinstance(value.atom, Name)
    return bars[value.atom.id]
