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

from tapec.analyses.activity import reach
from tapec.analyses.aliases import aliases, is_memory
from tapec.errors import Span
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Return,
    Stmt,
    blocks,
    changed,
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
    """Statements are not linear; `span` is where they are not."""

    def __init__(self, span: Span | None) -> None:
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
    body = (*block, *out.out, Return(results, span))
    return Function("linear", (*inputs, *sorted(outside)), body, own, again=True)


def not_linear(function: Function, inputs: Sequence[str]) -> NotLinear | None:
    """What says that a function is not linear in parameters; None where it is, but for a constant."""
    varying = _varying(function, inputs)
    own = function.types
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


def _varying(function: Function, inputs: Sequence[str]) -> frozenset[str]:
    """The names that depend on some parameters, in whatever way, but by their extents."""
    classes = aliases(function)

    def key(name: str) -> str:
        return classes.find(name) if is_memory(function.types.get(name)) else name

    edges: dict[str, set[str]] = {}
    for stmt in walk(function.body):
        if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "dim":
            continue
        inner = tuple(one for block in blocks(stmt) for one in block)
        made = {*writes(stmt), *changed(stmt)}
        for one in walk(inner):
            made |= {*writes(one), *changed(one)}
        for name in reads(stmt):
            edges.setdefault(key(name), set()).update(map(key, made))
    found = reach({key(name) for name in inputs}, edges)
    return frozenset(name for name in function.types if key(name) in found)
