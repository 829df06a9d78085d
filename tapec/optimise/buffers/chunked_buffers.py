"""Buffers that the iterations of a loop make for themselves are parts of larger ones.

    x_stack = [np.empty(0)][:0]                 x_stack = [np.empty(0)][:0]
    while ...:                                  chunk, filled, place = np.empty(2048), 0, 0
        x_store = np.empty(n)                   while ...:
        x_stack.append(x_store)                     start = filled
        ...                              ->         if start + n > len(chunk):
    for iteration in range(iterations - 1, -1, -1):               x_stack.append(chunk)
        x_store = x_stack.pop()                         chunk = np.empty(max(n, 2048))
        ...                                             start = 0
                                                    places.append(start, or -1 in a new chunk)
                                                    filled = start + n
                                                    x_store = chunk[start:filled]
                                                    ...
                                                for iteration in range(iterations - 1, -1, -1):
                                                    if place < 0:
                                                        chunk = x_stack.pop()
                                                    place = places.pop()
                                                    x_store = chunk[max(place, 0):]
                                                    ...

To make an array, to keep it on a list and to let go of it take as long as some forty operations, and a step of an
adaptive method keeps ten of a few numbers.  Buffers that a block makes with the same extent have one place.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tapec.analyses.scopes import Scopes, scopes
from tapec.optimise import costs
from tapec.optimise.buffers.iteration_rows import IterationRows
from tapec.optimise.buffers.stack_lists import ArrayList, array_lists
from tapec.optimise.rewriter import Rewriter
from tapec.optimise.thread_flags import has_threads
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Const,
    Expr,
    Function,
    If,
    Name,
    Op,
    Push,
    Stmt,
    Store,
    map_blocks,
    names_in,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import BOOL, INT64, Array, Stack


@dataclass(frozen=True)
class _Kept(ArrayList):
    """A list of buffers of one axis."""

    size: Atom
    dtype: str


def chunk_buffers(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with chunks; see the module."""
    stmts = list(walk(function.body))
    if has_threads(function):
        return function
    found = _lists(function, stmts)
    return _Writer(function, found).rewritten() if found else function


def _lists(function: Function, stmts: list[Stmt]) -> list[_Kept]:
    """The lists of buffers of which nothing but elements is asked, and which will not be rows of one array."""
    rows = IterationRows(function)
    sets = Counter(name for stmt in stmts for name in writes(stmt))
    # names that are asked for more than elements
    other: set[str] = set()
    for stmt in stmts:
        match stmt:
            case Assign(value=Op(fn="load", args=(Name(), *places))):
                other.update(name for place in places for name in names_in(place))
            case Store(array=array):
                other.update(name for name in reads(stmt) if name != array)
            case Push():
                pass
            case _:
                other.update(reads(stmt))
    found: list[_Kept] = []
    for one in array_lists(function, rows.where):
        type_ = function.types[one.stack]
        if not isinstance(type_, Stack) or not isinstance(type_.element, Array) or type_.element.ndim != 1:
            continue
        if not other.isdisjoint((one.made.target, one.taken.target)) or rows.loops(one) is not None:
            continue
        assert isinstance(one.made.value, Op)
        _, size = one.made.value.args
        assert isinstance(size, Name | Const)
        if isinstance(size, Const) or sets[size.id] <= 1:
            found.append(_Kept(one.stack, one.begun, one.made, one.put, one.taken, size, type_.element.dtype))
    return found


@dataclass
class _Group:
    """Lists whose buffers one block makes with the same extent, and another one takes back."""

    lists: list[_Kept]
    chunks: dict[str, Name]
    filled: str
    start: str
    place: str
    places: str


class _Writer(Rewriter):
    def __init__(self, function: Function, found: list[_Kept]) -> None:
        super().__init__(function)
        where = scopes(function)
        groups: dict[object, list[_Kept]] = {}
        for one in found:
            groups.setdefault(_shared(one, where), []).append(one)
        # what becomes of a statement, by its id
        self.new: dict[int, list[Stmt]] = {}
        for lists in groups.values():
            self.group(lists, where)
            why = "to make an array and to keep it on a list takes longer than to fill some numbers in"
            remark(lists[0].made.span, "chunked_buffers", "kept in parts of larger arrays", why)

    def group(self, lists: list[_Kept], where: Scopes) -> None:
        types = self.fresh.types
        chunks = {one.stack: Name(self.fresh("chunk", Array(one.dtype, 1))) for one in lists}
        filled, start, place = (self.fresh(name, INT64) for name in ("filled", "start", "place"))
        group = _Group(lists, chunks, filled, start, place, self.fresh("places", Stack(INT64)))
        for one in lists:
            types[one.made.target] = types[one.taken.target] = Array(one.dtype, 1)
            self.new[one.put.key] = []
            self.new[one.made.key] = [self.view(one.made, chunks[one.stack], Name(group.start), Name(group.filled))]
            first = Op("max", (Name(group.place), Const(0)))
            self.new[one.taken.key] = [self.view(one.taken, chunks[one.stack], first, Const(None))]
        begun = max((one.begun for one in lists), key=lambda stmt: where.place[stmt.key])
        self.new[begun.key] = [begun, *self.begin(group)]
        made = min((one.made for one in lists), key=lambda stmt: where.place[stmt.key])
        self.new[made.key][:0] = self.reserve(group, lists[0].size, made)
        taken = min((one.taken for one in lists), key=lambda stmt: where.place[stmt.key])
        self.new[taken.key][:0] = self.step_back(group, taken)

    def view(self, stmt: Assign, chunk: Name, first: Expr, last: Expr) -> Stmt:
        return Assign(stmt.target, Op("view", (chunk, Op("slice", (first, last, Const(None))))), stmt.span)

    def statement(self, stmt: Stmt) -> list[Stmt]:
        new = self.new.get(stmt.key)
        return [map_blocks(stmt, self.block)] if new is None else new

    def begin(self, group: _Group) -> list[Stmt]:
        made = [self.chunk(group, one, Const(costs.CHUNK_ELEMENTS)) for one in group.lists]
        zeros = [Assign(name, Const(0)) for name in (group.filled, group.place)]
        return [*made, *zeros, Assign(group.places, Op("stack", (Const("int64"),)))]

    def chunk(self, group: _Group, one: _Kept, size: Atom) -> Stmt:
        return Assign(group.chunks[one.stack].id, Op("empty", (Const(one.dtype), size)), one.begun.span)

    def reserve(self, group: _Group, size: Atom, stmt: Assign) -> list[Stmt]:
        """New chunks, where an iteration's buffers find no room in those that are there."""
        span = stmt.span
        held, longest = self.fresh("held", INT64), self.fresh("longest", INT64)
        kept, full = self.fresh("kept", INT64), self.fresh("full", BOOL)
        first, *_ = group.chunks.values()
        new: list[Stmt] = [Push(one.stack, group.chunks[one.stack], span) for one in group.lists]
        new.append(Assign(longest, Op("max", (size, Const(costs.CHUNK_ELEMENTS))), span))
        new += [self.chunk(group, one, Name(longest)) for one in group.lists]
        new += [Assign(group.start, Const(0), span), Assign(group.filled, size, span), Assign(kept, Const(-1), span)]
        return [
            Assign(group.start, Name(group.filled), span),
            Assign(kept, Name(group.start), span),
            Assign(group.filled, Op("+", (Name(group.start), size)), span),
            Assign(held, Op("dim", (first, Const(0))), span),
            Assign(full, Op(">", (Name(group.filled), Name(held))), span),
            If(Name(full), tuple(new), (), span),
            Push(group.places, Name(kept), span),
        ]

    def step_back(self, group: _Group, stmt: Assign) -> list[Stmt]:
        """The chunks of an iteration, where the one after it began new ones, and the place in them."""
        begun = self.fresh("begun", BOOL)
        before = [
            Assign(group.chunks[one.stack].id, Op("pop", (Name(one.stack),)), stmt.span) for one in group.lists
        ]
        return [
            Assign(begun, Op("<", (Name(group.place), Const(0))), stmt.span),
            If(Name(begun), tuple(before), (), stmt.span),
            Assign(group.place, Op("pop", (Name(group.places),)), stmt.span),
        ]


def _shared(one: _Kept, where: Scopes) -> object:
    """What lists have in common that have one place."""
    blocks = (where.of[stmt.key] for stmt in (one.begun, one.made, one.taken))
    return one.size, *map(id, blocks)
