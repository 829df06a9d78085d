"""Copies where NumPy's result shares memory with its argument.

NumPy's `broadcast_to` and `diagonal` give views that cannot be written, and `reshape` gives a view of memory
that happens to be contiguous although its type does not say so.  Here they copy.  Nobody can tell as long as
nothing is stored on one side and read on the other side later; a program in which that may happen is refused.
Where NumPy copies all memory that is not contiguous, the program itself finds out which one it has, and raises.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tapec.errors import Span, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import CopyOfView, Evaluator
from tapec.frontend.evaluator.unfinished_blocks import OpenIf, freeze
from tapec.frontend.evaluator.values import Complex, Sym, Tup, Value, number
from tapec.frontend.operations.allocation import dim, renamed
from tapec.frontend.operations.complex_arithmetic import joined
from tapec.frontend.operations.memory_order import may_have_gaps
from tapec.syntax.core import (
    Assign,
    Block,
    Call,
    Const,
    If,
    Name,
    Op,
    Return,
    Stmt,
    blocks,
    changed,
    map_blocks,
    reads,
    writes,
)
from tapec.syntax.types import INT64, Array

# functions of the library that copy where NumPy gives views
COPIES = frozenset({"broadcast_to", "broadcast_arrays", "diag", "diagonal", "linalg_diagonal"})
# what reads no element of the arrays that it names
_NO_ELEMENTS = frozenset({"view", "transpose", "reshape", "permute", "dim", "stride"})


# functions that copy whatever is not contiguous
_CONTIGUOUS = frozenset({"ravel", "astype", "np.asarray", "np.ascontiguousarray", "np.asfortranarray"})


def copy_of_view(ev: Evaluator, made: Value, source: Value, function: str, part: bool = False) -> Value:
    """`made`, which copies what the result of NumPy's `function` would share with `source`."""
    if isinstance(made, Tup):
        givers = source.items if isinstance(source, Tup) else (source,) * len(made.items)
        return Tup(tuple(copy_of_view(ev, one, giver, function) for one, giver in zip(made.items, givers, strict=True)))
    if isinstance(made, Complex) and isinstance(source, Complex) and made.is_array and source.is_array:
        pairs = ((made.re, source.re), (made.im, source.im))
        return joined(ev, *(ev.sym(copy_of_view(ev, one, giver, function, True)) for one, giver in pairs))
    if not isinstance(made, Sym) or not isinstance(made.type, Array) or not isinstance(made.atom, Name):
        return made
    if not isinstance(source, Sym) or not isinstance(source.atom, Name) or not isinstance(source.type, Array):
        return made
    if function == "np.diag" and source.type.ndim != 2:
        return made
    memory = ev.roots.get(source.atom.id, frozenset())
    # a copy of a copy shares the memory of the first one, too
    for other, known in ev.copies_of_views.items():
        if ev.roots.get(other, frozenset()) & memory:
            memory |= known.memory
    # an assignment of its own, where the copy is complete
    result = renamed(ev, made)
    assert isinstance(result.atom, Name)
    # an array in columns of which NumPy makes a vector without a copy has one column, or one row
    as_vector = function == "reshape" and made.type.ndim == 1 and source.type.layout == "F"
    by_contiguity = as_vector or function in _CONTIGUOUS
    # nor does the program know what NumPy does with memory that may have another order there
    is_asked = by_contiguity and not part and not memory & ev.in_columns
    guard = _guard(ev, source, function) if is_asked else ()
    ev.copies_of_views[result.atom.id] = CopyOfView(memory, function, ev.span, guard)
    return result


def shared_copy(ev: Evaluator, made: Sym, memory: frozenset[str], function: str) -> Sym:
    """An array that the recursive `function` returned as a copy, and that shares `memory` in Python."""
    result = renamed(ev, made)
    assert isinstance(result.atom, Name)
    ev.copies_of_views[result.atom.id] = CopyOfView(memory, function, ev.span)
    return result


def _guard(ev: Evaluator, source: Sym, function: str) -> Block:
    """What raises where an array is contiguous, so that NumPy makes no copy."""
    assert isinstance(source.type, Array)
    extents = [dim(ev, source, axis) for axis in range(source.type.ndim)]
    outer, ev.block = ev.block, []
    width, contiguous = number(np.dtype(source.type.dtype).itemsize), number(True)
    for axis, extent in reversed(tuple(enumerate(extents))):
        stride = ev.assign(Op("stride", (source.atom, Const(axis))), INT64)
        fits = ev.op("or", ev.op("<=", extent, number(1)), ev.op("==", stride, width))
        contiguous, width = ev.op("and", contiguous, fits), ev.op("*", width, extent)
    shared = ev.op("and", contiguous, ev.op(">", width, number(0)))
    test, ev.block = ev.block, []
    ev.raise_("ValueError", f"`{function}` of a contiguous array makes no copy, and its memory is stored into")
    test.append(OpenIf(shared.atom, ev.block, [], ev.span))
    ev.block = outer
    return freeze(test)


def is_unclear(ev: Evaluator, value: Value, parts: bool = True) -> bool:
    """Whether an array's memory may be contiguous although its type does not say so, or the other way round.

    NumPy then makes no copy, or makes one.  `parts`: whether those of complex arrays are unclear.
    """
    if not isinstance(value, Sym | Complex) or not isinstance(value.type, Array):
        return False
    # an array in columns is contiguous in rows, too, where all extents but one are 1
    return value.type.layout != "C" or (not ev.frame.library and may_have_gaps(ev, value, parts))


@dataclass(frozen=True)
class _Place:
    """Where a statement stands: its number in program order, and the blocks around it by their statement and side."""

    number: int
    path: tuple[tuple[int, int], ...]
    loops: frozenset[int]

    def before(self, other: _Place) -> bool:
        """Whether `other` may run later than this, within one iteration of the loops around both."""
        for (mine, side), (its, its_side) in zip(self.path, other.path, strict=False):
            if mine != its:
                break
            if side != its_side:
                return False
        return self.number < other.number

    def again(self, other: _Place, apart_from: frozenset[int] = frozenset()) -> bool:
        """Whether `other` may run in a later iteration of a loop around both."""
        return bool((self.loops & other.loops) - apart_from)


def refuse_shared(ev: Evaluator, params: tuple[str, ...], body: Block) -> Block:
    """The program, unless a store into one side of such a copy may be missed on the other side.

    params  the names whose memory is there after the program
    raises  UnsupportedSyntax, where the program itself cannot find out whether there is a copy in NumPy
    """
    if not ev.copies_of_views:
        return body
    placed = list(_placed(body))
    guards: dict[str, Block] = {}
    for copy, known in ev.copies_of_views.items():
        made = next((place for stmt, place in placed if isinstance(stmt, Assign) and stmt.target == copy), None)
        own = ev.roots.get(copy, frozenset())
        # marks of loops are no memory: what shares only those may be apart
        if made is None or not own or not known.memory or any(root in ev.types for root in own & known.memory):
            continue
        store = _missed(ev, params, placed, made, (own, known.memory))
        if store is None:
            continue
        if not known.guard:
            _refuse(known, store.span)
        guards[copy] = known.guard
    return _guarded(body, guards) if guards else body


def _guarded(block: Block, guards: dict[str, Block]) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        out.append(map_blocks(stmt, lambda inner: _guarded(inner, guards)))
        if isinstance(stmt, Assign):
            out += guards.get(stmt.target, ())
    return tuple(out)


def _missed(
    ev: Evaluator,
    params: tuple[str, ...],
    placed: list[tuple[Stmt, _Place]],
    made: _Place,
    sides: tuple[frozenset[str], frozenset[str]],
) -> Stmt | None:
    """A store into one of two memories after which the other one may be read."""
    own, memory = sides
    targets = [name for stmt, _ in placed for name in writes(stmt) if ev.roots.get(name, frozenset()) & own]
    # a copy that outlives its iteration is met again at the head of the next one
    within: frozenset[int] = frozenset() if len(targets) != len(set(targets)) else made.loops

    def shares(arrays: Iterable[str], memory: frozenset[str]) -> bool:
        return any(ev.roots.get(array, frozenset()) & memory for array in arrays)

    for stored, read in ((memory, own), (own, memory)):
        # where the function ends, its caller reads what it was given
        ends = stored is own and bool(memory & set(params))
        readers = [place for stmt, place in placed if shares(_elements(stmt), read)]
        for stmt, store in placed:
            if not shares(changed(stmt), stored):
                continue
            follows = made.before(store) or (within != made.loops and made.again(store))
            if follows and (ends or any(store.before(place) or store.again(place, within) for place in readers)):
                return stmt
    return None


def _refuse(known: CopyOfView, span: Span | None) -> None:
    function, made = known.function, known.span
    raise UnsupportedSyntax(
        f"an array and what `{function}` made of it share memory in NumPy, and one is stored into here",
        span,
        f"`{function}` in line {made.line} copies" if made is not None else f"`{function}` copies",
        "make a copy yourself, with `.copy()`, before the store",
    )


def _placed(block: Block) -> Iterator[tuple[Stmt, _Place]]:
    numbers = itertools.count()

    def visit(
        block: Block, path: tuple[tuple[int, int], ...], loops: frozenset[int]
    ) -> Iterator[tuple[Stmt, _Place]]:
        for stmt in block:
            here = next(numbers)
            yield stmt, _Place(here, path, loops)
            inside = loops if isinstance(stmt, If) else loops | {here}
            for side, inner in enumerate(blocks(stmt)):
                yield from visit(inner, (*path, (here, side)), inside)

    return visit(block, (), frozenset())


def _elements(stmt: Stmt) -> Iterator[str]:
    """The arrays whose elements a statement may read."""
    match stmt:
        case Assign(value=Op(fn=fn, args=(_, *rest))) if fn in _NO_ELEMENTS:
            for arg in rest:
                if isinstance(arg, Name):
                    yield arg.id
        case Assign(value=Op()) | Return() | Call():
            yield from reads(stmt)
