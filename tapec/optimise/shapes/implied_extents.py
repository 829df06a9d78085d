"""Give a slice with constant bounds the extent that the elements it is asked for imply.

    cam = cameras[i]                          cam = cameras[i]
    centre = cam[3:6]                         centre = cam[3:6]
    n = centre.shape[0]                       if centre.shape[0] != 3:
    ...                             ->            raise IndexError("index 10 is out of bounds")
    scale = cam[10]                           n = 3
                                              ...
                                              scale = cam[10]

A slice is shorter than its bounds say where its array ends before.  If the block that makes it goes on to an
element of the array at or beyond the slice's end, or to the last element of the slice itself, the array is long
enough, or the program is wrong: Python raises an error for it, and so does what is generated, at once.  Only
elements that are certain to be asked for count: those of the block itself, not of branches and loops in it, nor
behind what the program may raise itself.
What has a known extent can be written out and becomes numbers (`unrolling.py`, `scalar_replacement.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    Function,
    If,
    Name,
    Op,
    Raise,
    Stmt,
    Store,
    map_blocks,
    walk,
    writes,
)
from tapec.syntax.types import BOOL, INT64


def implied_extents(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with the extents of such slices in place; see the module."""
    counts = Counter(name for stmt in walk(function.body) for name in writes(stmt))
    worker = _Extents(function, frozenset(name for name, count in counts.items() if count == 1))
    body = worker.block(function.body)
    if not worker.known:
        return function
    return replace(function, body=worker.settled(body), types=worker.fresh.types)


@dataclass
class _Asked:
    """For each axis of an array, by how many elements it must have: the index that says so, and that number."""

    least: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)

    def add(self, array: str, index: Iterable[Expr]) -> None:
        for axis, sub in enumerate(index):
            if isinstance(sub, Const) and isinstance(sub.value, int) and not isinstance(sub.value, bool):
                needed = sub.value + 1 if sub.value >= 0 else -sub.value
                if needed > self.least.get((array, axis), (0, 0))[1]:
                    self.least[array, axis] = (sub.value, needed)


class _Extents:
    def __init__(self, function: Function, single: frozenset[str]) -> None:
        self.fresh = Fresh(function.types)
        self.single = single.union(function.params)
        # (slice, axis) -> extent
        self.known: dict[tuple[str, int], int] = {}

    def block(self, block: Block) -> Block:
        asked = _Asked()
        out: list[Stmt] = []
        for part in _parts(block):
            for stmt in part:
                match stmt:
                    case Store(array=array, index=index):
                        asked.add(array, index)
                    case Assign(value=Op(fn="load", args=(Name(id=array), *index))):
                        asked.add(array, index)
            out += [new for stmt in part for new in self.statement(stmt, asked)]
        return tuple(out)

    def statement(self, stmt: Stmt, asked: _Asked) -> Iterator[Stmt]:
        yield map_blocks(stmt, self.block)
        if not isinstance(stmt, Assign) or stmt.target not in self.single:
            return
        for axis, width, index in _implied(stmt, asked, self.single):
            self.known[stmt.target, axis] = width
            why = "element {2} behind it is asked for; that it is there is checked when the program runs"
            about = Named(stmt.target, stmt.span), width, index
            remark(stmt.span, "implied_extents", "`{0}` has {1} elements", why, *about)
            extent, differs = self.fresh("size", INT64), self.fresh("t", BOOL)
            yield Assign(extent, Op("dim", (Name(stmt.target), Const(axis))), stmt.span)
            yield Assign(differs, Op("!=", (Name(extent), Const(width))), stmt.span)
            message = Const(f"index {index} is out of bounds")
            yield If(Name(differs), (Raise("IndexError", (message,), stmt.span),), (), stmt.span)

    def settled(self, block: Block) -> Block:
        """The block with numbers for the extents that are known, but where they are checked."""
        out: list[Stmt] = []
        for place, stmt in enumerate(block):
            match stmt:
                case Assign(value=Op(fn="dim", args=(Name(id=array), Const(value=int() as axis)))):
                    if (array, axis) in self.known and not _checked(stmt.target, block[place + 1 : place + 3]):
                        stmt = replace(stmt, value=Const(self.known[array, axis]))
            out.append(map_blocks(stmt, self.settled))
        return tuple(out)


def _parts(block: Block) -> Iterator[Block]:
    """A block, divided behind what the user's code may raise: what stands there is not certain to be reached before."""
    start = 0
    for place, stmt in enumerate(block, 1):
        if any(isinstance(inner, Raise) and inner.users for inner in walk((stmt,))):
            yield block[start:place]
            start = place
    yield block[start:]


def _implied(made: Assign, asked: _Asked, single: frozenset[str]) -> Iterator[tuple[int, int, int]]:
    """The axes of a view that slices with constant bounds make; what is their extent, and which index implies it."""
    match made.value:
        case Op(fn="view", args=(Name(id=array), *subs)) if array in single and Const(None) not in subs:
            axis = 0
            for position, sub in enumerate(subs):
                if not isinstance(sub, Op):
                    continue
                bounds = _bounds(sub)
                if bounds is not None:
                    low, high = bounds
                    index, needed = asked.least.get((array, position), (0, 0))
                    own, last = asked.least.get((made.target, axis), (0, 0))
                    if needed >= high:
                        yield axis, high - low, index
                    elif last >= high - low:
                        yield axis, high - low, own
                axis += 1


def _bounds(sub: Op) -> tuple[int, int] | None:
    """The bounds of a slice of at least one element, both counted from the front."""
    low, high, step = (arg.value if isinstance(arg, Const) else "unknown" for arg in sub.args)
    low = 0 if low is None else low
    if not isinstance(low, int) or not isinstance(high, int) or step not in (None, 1):
        return None
    return (low, high) if 0 <= low < high else None


def _checked(extent: str, following: Block) -> bool:
    """Whether an extent is that of a check."""
    match following:
        case (
            Assign(target=test, value=Op(fn="!=", args=(Name(id=left), Const()))),
            If(test=Name(id=right), body=body),
        ):
            return left == extent and test == right and isinstance(body[0], Raise) and body[0].exception == "IndexError"
    return False
