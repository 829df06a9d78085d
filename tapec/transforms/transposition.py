"""The other mode of a rule that is linear.

    tangent  t -> J t        its transpose pulls adjoints back         (custom_jvp in reverse mode)
    pullback s -> s J        its transpose pushes tangents forward     (custom_gradient in forward mode)

The transpose of statements that are linear in some names is their own reverse sweep, which does not depend on where it
is taken: at zero.  What is not linear has no transpose; so it is proved first, by the tangents of the statements, which
must not read what depends on those names.  Radul, Paszke, Frostig, Johnson, Maclaurin, You Only Linearize Once (2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tapec.analyses.activity import Activity, reach
from tapec.analyses.aliases import Aliases, aliases, is_memory
from tapec.errors import Span
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Print,
    Return,
    Stmt,
    blocks,
    changed,
    map_blocks,
    operations,
    reads,
    walk,
    writes,
    written_in,
    zero_of,
)
from tapec.syntax.types import Array, Scalar, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.forward import forward
from tapec.transforms.reverse import reverse
from tapec.transforms.splice import spliced


class NotLinear(Exception):
    """Statements are not linear in what they should be; `span` is where they are not, if that is known."""

    def __init__(self, span: Span | None = None) -> None:
        super().__init__()
        self.span = span


def transposed(
    emitter: Emitter,
    types: Mapping[str, Type],
    block: Block,
    inputs: Sequence[tuple[str, Atom]],
    outputs: Sequence[tuple[Name, Atom]],
) -> list[Atom]:
    """Write what adds up the derivatives of outputs times weights, by each of the inputs; these sums.

    block    statements that compute the outputs of the inputs, names that nothing else defines; `types` has their types
    inputs   each with what has its shape
    outputs  each with its weight, a tangent or adjoint, of the same dtype
    raises   NotLinear; NotDifferentiable where something has no derivative
    """
    names = tuple(name for name, _ in inputs)
    function = _function(types, block, names, [output for output, _ in outputs], emitter.span)
    if (found := not_linear(function, names)) is not None:
        raise found
    swept = reverse(function, names)
    bound = dict(zip(swept.seeds, (weight for _, weight in outputs), strict=True))
    for name, like in inputs:
        type_ = types[name]
        if isinstance(type_, Scalar):
            bound[name] = emitter.atom(zero_of(type_))
        else:
            assert isinstance(like, Name)
            bound[name] = Name(emitter.zeros_like("zero", like.id))
    made = swept.function("transposed")
    made = replace(made, types={**made.types, **{name: emitter.type_of(atom) for name, atom in bound.items()}})
    return list(spliced(emitter, made, bound, frozenset(), prints=True))


def _function(
    types: Mapping[str, Type], block: Block, inputs: Sequence[str], outputs: Sequence[Name], span: Span | None
) -> Function:
    """The statements as a function of the inputs, and of all that they read from outside."""
    inside = written_in(block)
    outside = {name for stmt in walk(block) for name in reads(stmt)} | {output.id for output in outputs}
    outside -= {*inside, *inputs}
    own = {name: types[name] for name in (*outside, *inside, *inputs)}
    out = Emitter(own, set(own), span)
    # results have names of their own: one may be returned twice, and an input as well
    for output in outputs:
        type_ = own[output.id]
        value: Expr = output
        if isinstance(type_, Array):
            value, type_ = Op("copy", (output,)), Array(type_.dtype, type_.ndim)
        out.let("result", value, type_)
    results = tuple(Name(stmt.target) for stmt in out.out if isinstance(stmt, Assign))
    body = (*_silent(block), *out.out, Return(results, span))
    return Function("linear", (*inputs, *sorted(outside)), body, own, again=True)


def _silent(block: Block) -> Block:
    """The statements without what prints: adjoints are zero there."""
    return tuple(map_blocks(stmt, _silent) for stmt in block if not isinstance(stmt, Print))


def not_linear(function: Function, inputs: Sequence[str]) -> NotLinear | None:
    """What says that a function is not linear in parameters; None where it is, but for a constant."""
    classes = aliases(function)
    edges = _edges(function, classes)
    found = reach({_key(name, function, classes) for name in inputs}, edges)
    varying = frozenset(name for name in function.types if _key(name, function, classes) in found)
    own = function.types
    if (stopped := _stopped(function, inputs, varying, edges, classes)) is not None:
        return stopped
    made = forward(function, tuple(inputs))

    def reading(stmt: Stmt) -> bool:
        """Whether a statement reads what varies, other than an extent."""
        extents = {op.args[0] for op in operations(stmt) if op.fn == "dim"}
        return any(name in varying and Name(name) not in extents for name in reads(stmt))

    def tangents(block: Block) -> bool:
        return any(not own.keys() >= {*writes(stmt), *changed(stmt)} for stmt in walk(block))

    for stmt in walk(made.body):
        inner = tuple(one for block in blocks(stmt) for one in block)
        if isinstance(stmt, If | For) and reading(stmt) and (tangents(inner) or any(map(_leaves, walk(inner)))):
            return NotLinear(stmt.span)
        if not isinstance(stmt, If | For | Loop | Return) and tangents((stmt,)) and reading(stmt):
            return NotLinear(getattr(stmt, "span", None))
    return None


def _leaves(stmt: Stmt) -> bool:
    return isinstance(stmt, Break)


def _stopped(
    function: Function, inputs: Sequence[str], varying: frozenset[str], edges: dict[str, set[str]], classes: Aliases
) -> NotLinear | None:
    """What says that results depend on parameters in another way than by derivatives: steps, or what is stopped."""
    results = {result.id for result in function.results if isinstance(result, Name)}
    activity = Activity(function, classes, set(inputs), results)
    wanted = {_key(name, function, classes) for name in results}
    for stmt in walk(function.body):
        for name in {*writes(stmt), *changed(stmt)} & varying:
            if not function.types[name].is_float or activity.varies(name):
                continue
            if reach({_key(name, function, classes)}, edges) & wanted:
                return NotLinear(getattr(stmt, "span", None))
    return None


def _key(name: str, function: Function, classes: Aliases) -> str:
    return classes.find(name) if is_memory(function.types.get(name)) else name


def _is_zero(value: Expr | None, made_by: Mapping[str, Expr]) -> bool:
    """Whether a number is zero, of whatever sign, if it is finite times what it is computed from."""
    match made_by.get(value.id, value) if isinstance(value, Name) else value:
        case Const(value=number):
            return number == 0.0
        case Op(fn="*", args=(first, second)):
            return _is_zero(first, made_by) or _is_zero(second, made_by)
        case Op(fn=fn, args=(first, *_)) if fn.startswith("cast.") or fn == "np.copysign":
            return _is_zero(first, made_by)
    return False


def _edges(function: Function, classes: Aliases) -> dict[str, set[str]]:
    """From each name, or class of names that share memory, what depends on it in whatever way, but by its extents."""
    edges: dict[str, set[str]] = {}
    made_by = {stmt.target: stmt.value for stmt in walk(function.body) if isinstance(stmt, Assign)}
    for stmt in walk(function.body):
        if isinstance(stmt, Assign) and isinstance(stmt.value, Op):
            fn, first = stmt.value.fn, stmt.value.args[0] if stmt.value.args else None
            # an extent, or a zero whose sign alone depends on anything, as products of complex numbers have
            if fn == "dim" or (fn == "stop_gradient" and _is_zero(first, made_by)):
                continue
        inner = tuple(one for block in blocks(stmt) for one in block)
        made = {*writes(stmt), *changed(stmt)}
        for one in walk(inner):
            made |= {*writes(one), *changed(one)}
        for name in reads(stmt):
            targets = (_key(one, function, classes) for one in made)
            edges.setdefault(_key(name, function, classes), set()).update(targets)
    return edges
