"""The last stages for every kind of derivative: optimise, and print."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tapec.backend import printer
from tapec.backend.boundary import Boundary
from tapec.backend.callee_text import kernels_text
from tapec.backend.kernels import with_kernels
from tapec.backend.pairs import grouped
from tapec.backend.program import Program
from tapec.errors import UnsupportedSyntax
from tapec.frontend.lower import Lowered
from tapec.optimise import tidy
from tapec.optimise.shapes.versions import OTHER_VERSION, Versions
from tapec.options import Options
from tapec.remarks import stage
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Expr,
    Function,
    If,
    Name,
    Op,
    Raise,
    Return,
    Stmt,
    blocks,
    map_blocks,
    walk,
)
from tapec.syntax.types import Type

# CO_MAXBLOCKS of Python's compiler, and the deepest indentation of its tokenizer, less the function's own
_LOOPS, _DEPTH = 20, 98


def finish(
    core: Function,
    returned: Callable[[tuple[Expr, ...]], str],
    lowered: Lowered,
    structure: Boundary,
    options: Options,
    seeds: tuple[str, ...] = (),
    several: Versions | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> Program:
    """Optimise and print; `returned` gives the text of the result from what the last statement returns.

    several  the versions of which `core` is the first one
    shapes   those of parameters, where the version for them may be made alone
    """
    stage("optimising")
    seeds, taken_apart = grouped(seeds, _complex_results(lowered) if seeds else [], core.types)
    labels = (*structure.labels, *seeds)
    taken = (*lowered.constants, *structure.namespace, *labels, *(pair.whole for pair in structure.pairs()))
    partners = {pair.im: pair.re for pair in structure.pairs() if pair.re in core.params}
    core = replace(core, body=_same_extents(core.body, partners))
    if several is not None:
        several = several.of(lambda program: replace(program, body=_same_extents(program.body, partners)))
        several = replace(several, special=tuple(version.asked_of(partners) for version in several.special))
    core = tidy(core, frozenset(taken).difference(core.params), options, several, shapes)
    _check_depth(core.body)
    whole = core
    core, kernels = with_kernels(core) if options.fast else (core, ())
    # a function that always raises returns nothing
    ends = isinstance(core.body[-1], Return)
    # for the classes of named tuples, whose names are taken
    result = returned(core.results) if ends else None
    lines = [f"def {core.name}({', '.join(labels)}):", f'    """{core.doc}"""']
    lines += [f"    {line}" for line in (*structure.unpack, *taken_apart)]
    if core.wide:
        lines.append(f"    {printer.WIDE}")
    body = core.body[:-1] if ends else core.body
    if body:
        lines += printer.statements(body, 1, options.quote)
    if ends:
        lines.append(f"    return {result}")
    text = "\n".join(lines) + "\n"
    namespace = {**structure.namespace, **lowered.constants}
    only = None if several is None else several.only
    if only is None and any(isinstance(stmt, Raise) and stmt.exception == OTHER_VERSION for stmt in walk(core.body)):
        only = 0
    return Program(
        *(core.name, text, namespace, whole, lowered, labels),
        version=only,
        prelude=kernels_text(kernels, options),
        kernels=tuple(kernel.name for kernel in kernels),
    )


def _same_extents(block: Block, partners: dict[str, str]) -> Block:
    """A block that asks for the extents of real parts in place of those of imaginary parts, `partners`."""
    if not partners:
        return block

    def same(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(value=Op(fn="dim", args=(Name(id=array), axis))) if array in partners:
                return replace(stmt, value=Op("dim", (Name(partners[array]), axis)))
        return map_blocks(stmt, lambda inner: _same_extents(inner, partners))

    return tuple(same(stmt) for stmt in block)


def _complex_results(lowered: Lowered) -> list[tuple[int, int]]:
    """The positions of the parts of each complex result, among the results that are floats."""
    floats = [is_float(value, lowered.function.types) for value in lowered.function.results]
    found: list[tuple[int, int]] = []

    def visit(tree: Any) -> None:
        if tree is not None and tree[0] == "complex":
            first = sum(floats[: tree[2][0][0]])
            found.append((first, first + 1))
        elif tree is not None and tree[0] in ("tuple", "list"):
            for item in tree[2]:
                visit(item)

    visit(lowered.result)
    return found


def is_float(value: Atom, types_: dict[str, Type]) -> bool:
    if isinstance(value, Name):
        return types_[value.id].is_float
    return isinstance(value.value, float)


def _check_depth(block: Block, loops: int = 0, depth: int = 1) -> None:
    """Refuse what Python's own compiler does not take: many loops inside each other, and very deep indentation."""
    for stmt in block:
        inside = loops + (not isinstance(stmt, If))
        inner = blocks(stmt)
        if inner and (inside > _LOOPS or depth > _DEPTH):
            raise UnsupportedSyntax(
                f"the derivative has {inside} loops inside each other, {depth} levels deep",
                stmt.span,
                reason=f"Python compiles {_LOOPS} loops inside each other, and {_DEPTH} levels",
                hint="run over several indices in one loop, with divmod",
            )
        for block_ in inner:
            _check_depth(block_, inside, depth + 1)
