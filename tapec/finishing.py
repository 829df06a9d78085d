"""The last stages for every kind of derivative: optimise, and print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from tapec.backend import printer
from tapec.backend.boundary import Boundary
from tapec.backend.callee_text import kernels_text
from tapec.backend.kernels import with_kernels
from tapec.backend.pairs import grouped
from tapec.backend.program import Program
from tapec.errors import UnsupportedSyntax
from tapec.frontend.lower import Lowered
from tapec.optimise import tidy, used
from tapec.optimise.shapes.versions import OTHER_VERSION, Versions
from tapec.options import Options
from tapec.remarks import heard_by, stage
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
    constants = frozenset(taken).difference(core.params)
    text = partial(_text, returned=returned, structure=structure, labels=labels, taken_apart=taken_apart)

    def program(core: Function, only: int | None, other: str = "") -> Program:
        _check_depth(core.body)
        printed, kernels = with_kernels(core) if options.fast else (core, ())
        if other:
            core, printed = (_handing_on(one, other, labels) for one in (core, printed))
        elif only is None and any(_is_of_another_version(stmt) for stmt in walk(core.body)):
            only = 0
        source = text(printed, options)
        return Program(
            *(core.name, source, {**structure.namespace, **lowered.constants}, core, lowered, labels),
            version=only,
            prelude=kernels_text(kernels, options),
            options=used(options, core),
            kernels=tuple(kernel.name for kernel in kernels),
        )

    if several is not None and several.apart and (found := _apart(several, constants, options)) is not None:
        made: list[Program] = []
        for core in reversed(found):
            made.append(program(core, None, made[-1].name if made else ""))
        *others, first = made
        return replace(first, versions=tuple(others[::-1]))
    return program(tidy(core, constants, options, several, shapes), None if several is None else several.only)


def _apart(several: Versions, constants: frozenset[str], options: Options) -> list[Function] | None:
    """The versions as functions by themselves; None if one of them always raises, and returns nothing to hand on."""
    several, found = several.named(), list[Function]()
    for k, one in enumerate(several.programs):
        with nullcontext() if k == 0 else heard_by(None):  # all remarks are on the first one
            found.append(tidy(one, constants, options, replace(several, only=k)))
    return found if all(isinstance(one.body[-1], Return) for one in found) else None


def _text(
    core: Function,
    options: Options,
    returned: Callable[[tuple[Expr, ...]], str],
    structure: Boundary,
    labels: tuple[str, ...],
    taken_apart: Sequence[str],
) -> str:
    """The text of a function of core with the parameters that the user's has."""
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
        lines += printer.statements(body, 1, options.quote, printer.printed(core, options.whole_arrays))
    if ends:
        lines.append(f"    return {result}")
    return "\n".join(lines) + "\n"


def _is_of_another_version(stmt: Stmt) -> bool:
    return isinstance(stmt, Raise) and stmt.exception == OTHER_VERSION


def _handing_on(core: Function, other: str, labels: tuple[str, ...]) -> Function:
    """A version that returns what another function returns for arguments that are not for it."""
    call = Return((Op(other, tuple(map(Name, labels))),))  # type: ignore[arg-type]

    def handed(stmt: Stmt) -> Stmt:
        return call if _is_of_another_version(stmt) else map_blocks(stmt, lambda block: tuple(map(handed, block)))

    return replace(core, body=tuple(map(handed, core.body)))


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
