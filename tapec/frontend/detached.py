"""Copies where NumPy's result shares memory with its argument.

NumPy's `broadcast_to` and `diagonal` give views that cannot be written, and `reshape` gives a view of memory
that happens to be contiguous although its type does not say so.  Here they copy.  Nobody can tell as long as
nothing is stored on one side and read on the other side later; a program in which that may happen is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tapec.errors import Span, UnsupportedSyntax
from tapec.frontend.complexes import joined
from tapec.frontend.elementwise import dim, dim_key
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.merge import note_roots
from tapec.frontend.values import Complex, Sym, Tup, Value
from tapec.syntax.core import Assign, Block, Call, If, Name, Op, Return, Stmt, blocks, changed, reads, writes
from tapec.syntax.types import Array

# functions of the library that copy where NumPy gives views
COPIES = frozenset({"broadcast_to", "broadcast_arrays", "diag", "diagonal"})
# what reads no element of the arrays that it names
_NO_ELEMENTS = frozenset({"view", "transpose", "reshape", "permute", "dim", "stride"})


def detach(ev: Evaluator, made: Value, source: Value, function: str) -> Value:
    """`made`, which copies what the result of NumPy's `function` would share with `source`."""
    if isinstance(made, Tup):
        givers = source.items if isinstance(source, Tup) else (source,) * len(made.items)
        return Tup(tuple(detach(ev, one, giver, function) for one, giver in zip(made.items, givers, strict=True)))
    if isinstance(made, Complex) and isinstance(source, Complex) and made.is_array and source.is_array:
        pairs = ((made.re, source.re), (made.im, source.im))
        return joined(ev, *(ev.sym(detach(ev, part, giver, function)) for part, giver in pairs))
    if not isinstance(made, Sym) or not isinstance(made.type, Array) or not isinstance(made.atom, Name):
        return made
    if not isinstance(source, Sym) or not isinstance(source.atom, Name) or not isinstance(source.type, Array):
        return made
    if function == "np.diag" and source.type.ndim != 2:
        return made
    memory = ev.roots.get(source.atom.id, frozenset())
    # an assignment of its own, where the copy is complete
    result = ev.assign(made.atom, made.type)
    assert isinstance(result.atom, Name)
    note_roots(ev, result.atom.id, made)
    for axis in range(made.type.ndim):
        ev.dims[result.atom.id, axis] = dim(ev, made, axis).atom
        ev.dim_keys[result.atom.id, axis] = dim_key(ev, made, axis)
    ev.detached[result.atom.id] = (memory, function, ev.span)
    return result


def perhaps_contiguous(value: Value) -> bool:
    """Whether an array's memory may be contiguous although its type does not say so: NumPy then makes no copy."""
    return isinstance(value, Sym | Complex) and isinstance(value.type, Array) and value.type.layout == "A"


@dataclass(frozen=True)
class _Place:
    """Where a statement stands: its number in program order, and the blocks around it by their statement and side."""

    number: int
    path: tuple[tuple[int, int], ...]
    loops: frozenset[int]

    def before(self, other: _Place) -> bool:
        """Whether `other` may run later than this, within one trip of the loops around both."""
        for (mine, side), (its, its_side) in zip(self.path, other.path, strict=False):
            if mine != its:
                break
            if side != its_side:
                return False
        return self.number < other.number

    def again(self, other: _Place, apart_from: frozenset[int] = frozenset()) -> bool:
        """Whether `other` may run in a later trip of a loop around both."""
        return bool((self.loops & other.loops) - apart_from)


def refuse_shared(ev: Evaluator, params: tuple[str, ...], body: Block) -> None:
    """Refuse a program in which a store into one side of such a copy may be missed on the other side."""
    if not ev.detached:
        return
    placed = list(_placed(body))
    for copy, (memory, function, span) in ev.detached.items():
        made = next((place for stmt, place in placed if isinstance(stmt, Assign) and stmt.target == copy), None)
        own = ev.roots.get(copy, frozenset())
        if made is not None and own and memory and not own & memory:
            _check(ev, params, placed, made, (own, memory), (function, span))


def _check(
    ev: Evaluator,
    params: tuple[str, ...],
    placed: list[tuple[Stmt, _Place]],
    made: _Place,
    sides: tuple[frozenset[str], frozenset[str]],
    what: tuple[str, Span | None],
) -> None:
    own, memory = sides
    targets = [name for stmt, _ in placed for name in writes(stmt) if ev.roots.get(name, frozenset()) & own]
    # a copy that outlives its trip is met again at the head of the next one
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
                _refuse(what, stmt.span)


def _refuse(what: tuple[str, Span | None], span: Span | None) -> None:
    function, made = what
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
