"""Raise IndexError where a derivative would write outside an array.

    for i in range(n):                  if n > x.shape[0]:
        s += x[i] * w[k[i]]      ->         raise tapec_runtime.IndexOutOfRange("`x`", 0, n - 1, x.shape[0], ...)
                                        for i in range(n):
                                            s += x[i] * w[k[i]]

Compiled code reads and writes foreign memory where a subscript is out of range; the derivative of a load adds to an
element, and would write there, too.  A subscript that is proved to be in range needs nothing.  Where one test before
all loops says exactly whether a subscript will be out of range (`index_ranges`), it is made there, as early as what it
asks is known, so that no pass finds it between two loops.  Other subscripts, of stores and of loads whose adjoints are
written, are marked as `open`: once the code is fast, what is written is tested where it is written
(`optimise.simplify.index_tests`).

Asked are elements and rows that a subscript of the user's names; those that lowering takes are in range.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tapec.analyses.activity import Activity
from tapec.analyses.aliases import aliases
from tapec.analyses.index_ranges import IndexRanges, Violation, accesses, implies, may_stop
from tapec.analyses.scopes import Scope
from tapec.errors import Span
from tapec.syntax.core import (
    Assign,
    Atom,
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
    distinct,
    map_blocks,
    walk,
    writes,
)
from tapec.syntax.linear import Sum
from tapec.syntax.types import INT64, Array
from tapec.transforms.emitter import Emitter

ERROR = "tapec_runtime.IndexOutOfRange"
# how much an error shows of the user's line
_WIDTH = 72
# of the adjoint, tangent or sets of a version of an array, or of a part of a complex one
_SUFFIX = re.compile(r"(_\d+|_bar|_dot|_set|_parts)+$")
_PART = re.compile(r"_(?:re|im)$")


def with_guards(function: Function, sources: Iterable[str], targets: set[str], reads: bool = False) -> Function:
    """The function with tests of its subscripts, as far as they can be made before all loops; see the module.

    sources, targets  by which, and of what, a derivative is wanted
    reads             whether loads are tested themselves, since no adjoint of them is written: in forward mode
    """
    if not any(map(_is_asked, walk(function.body))):
        return function
    function = with_lasting_tests(function, sources, targets)
    function = replace(function, body=distinct(function.body))
    active = Activity(function, aliases(function), set(sources), targets)
    ranges = IndexRanges(function)
    guards = Guards(ranges, early=True)
    axes: dict[int, tuple[int, ...]] = {}
    tested = _stored(function, reads)
    for stmt, array, subs in accesses(function):
        if not _is_asked(stmt) or not isinstance(function.types[array], Array):
            continue
        is_written = array in active or stmt.key in tested
        for axis, sub in enumerate(subs):
            if not ranges.is_number(sub):
                continue
            found = ranges.earliest(stmt, array, axis, sub)
            if found is None or any(ranges.scopes.of[one.before.key].loops() for one in found):
                if is_written:
                    axes[stmt.key] = (*axes.get(stmt.key, ()), axis)
                continue
            for one in found:
                guards.add(one, array, axis, stmt.span)
    types = dict(function.types)
    tests = guards.statements(Emitter(types, set(types)))
    extents = tuple(guards.extents.values())
    body = _without(inserted(function.body, tests), {stmt.key for stmt in extents})
    return replace(function, body=(*extents, *_marked(body, axes, tested)), types=types)


def with_lasting_tests(function: Function, sources: Iterable[str], targets: set[str]) -> Function:
    """A derivative that is to be differentiated, with tests of the open subscripts that its own derivative drops.

        x_bar[t] += w[i]          if t >= x_bar.shape[0] or t < -x_bar.shape[0]:
                           ->         raise tapec_runtime.IndexOutOfRange("`x`", 0, t, x_bar.shape[0], ...)
                                  x_bar[t] += w[i]

    So it is of a program that is linear in `x[k[i]]`: nothing by which the adjoint of the element varies is left of
    it, and with it goes the loop.  An error stays, and what it needs.
    """
    if not any(_is_asked(stmt) and _open(stmt) for stmt in walk(function.body)):
        return function
    function = replace(function, body=distinct(function.body))
    types = dict(function.types)
    emitter = Emitter(types, set(types))
    tests: dict[int, Block] = {}
    tested: set[int] = set()
    for accessed in _dropped(function, Activity(function, aliases(function), set(sources), targets)):
        stmt, array, subs = accessed[0]
        for axis in _open(stmt):
            made, place, size, test = outside(emitter.child(), stmt.span, array, axis, subs[axis])
            raised = If(test, (error(stmt.span, array, axis, place, size),), (), stmt.span)
            tests[stmt.key] = (*tests.get(stmt.key, ()), *made, raised)
        tested.update(one.key for one, _, _ in accessed)
    body = inserted(_unasked(function.body, tested), tests)
    return replace(function, body=body, types=types)


def _dropped(function: Function, activity: Activity) -> list[list[tuple[Stmt, str, tuple[Expr, ...]]]]:
    """The accesses that are tested and that a derivative drops, in the order of the program; together by number."""
    found: dict[int, list[tuple[Stmt, str, tuple[Expr, ...]]]] = {}
    kept: set[int] = set()
    # arrays and views that are stored into, and whether anything active is
    stored: dict[str, bool] = {}
    for stmt, array, subs in reversed([*accesses(function)]):
        target = stmt.target if isinstance(stmt, Assign) else ""
        is_written = isinstance(stmt, Store) or target in stored
        moves = stored.get(target, target in activity)
        if isinstance(stmt, Store):
            moves = isinstance(stmt.value, Name) and activity.varies(stmt.value.id) and activity.matters(array)
        if is_written:
            stored[array] = stored.get(array, False) or moves
        number = stmt.span.tested if isinstance(stmt, Assign | Store) and stmt.span is not None else 0
        if _is_asked(stmt) and _open(stmt) and (is_written or number):
            number = number or -stmt.key
            found.setdefault(number, []).insert(0, (stmt, array, subs))
            kept |= {number} if moves else set()
    return [accessed for number, accessed in reversed(found.items()) if number not in kept]


def _open(stmt: Stmt) -> tuple[int, ...]:
    """The axes of an access by subscripts that no test before all loops covers."""
    return stmt.span.open if isinstance(stmt, Assign | Store) and stmt.span is not None else ()


def outside(out: Emitter, span: Span | None, array: str, axis: int, sub: Expr) -> tuple[Block, Atom, Name, Name]:
    """What tests a subscript of which nothing is known; the subscript, the extent, and the result."""
    out.span = span
    place = out.cast(out.atom(sub), INT64)
    size = out.let("size", Op("dim", (Name(array), Const(axis))), INT64)
    test = out.atom(Op("or", (Op(">=", (place, size)), Op("<", (place, Op("neg", (size,)))))))
    assert isinstance(test, Name)
    return tuple(out.out), place, size, test


def _unasked(block: Block, keys: set[int]) -> Block:
    """A block some of whose accesses, by key, are tested already."""
    out: list[Stmt] = []
    for stmt in block:
        if stmt.key in keys:
            assert isinstance(stmt, Assign | Store) and stmt.span is not None
            stmt = replace(stmt, span=replace(stmt.span, asked=False, open=(), tested=0))
        out.append(map_blocks(stmt, lambda inner: _unasked(inner, keys)))
    return tuple(out)


def _is_asked(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign | Store) and stmt.span is not None and stmt.span.asked


def _stored(function: Function, reads: bool) -> dict[int, int]:
    """The stores, and what takes views that are stored into, and loads, by key; each has a number.

    Loads are tested where that is asked for, and where it was when a derivative in here was made.
    """
    found: list[int] = []
    written: set[str] = set()
    for stmt in reversed([*walk(function.body)]):
        match stmt:
            case Store(array=array):
                written.add(array)
                found.append(stmt.key)
            case Assign(target=target, value=Op(fn="view", args=(Name(id=base), *_))) if target in written:
                written.add(base)
                found.append(stmt.key)
            case Assign(value=Op(fn="load" | "view"), span=span) if reads or (span is not None and span.tested):
                found.append(stmt.key)
    return {key: number for number, key in enumerate(found, 1)}


@dataclass(frozen=True)
class Guard:
    """A test of one axis of an array; `place` is the position in its block where it is made."""

    violation: Violation
    array: str
    axis: int
    span: Span | None
    place: int


class Guards:
    """The tests of a function.

    early    whether they are made as soon as what they ask is known, rather than before what they are about
    extents  what sets the extents of parameters that early tests ask for, to stand before all else
    """

    def __init__(self, ranges: IndexRanges, early: bool) -> None:
        self.ranges = ranges
        self.early = early
        self.extents: dict[tuple[str, int], Assign] = {}
        self.scopes: dict[int, Scope] = {}
        self.found: dict[int, list[Guard]] = {}
        self.orders: dict[int, _Order] = {}

    def add(self, violation: Violation, array: str, axis: int, span: Span | None) -> None:
        """Test a subscript before the statement that the violation names."""
        scope = self.ranges.scopes.of[violation.before.key]
        self.scopes[scope.key] = scope
        order = self.order(scope)
        place = order.places[violation.before.key]
        if self.early:
            place = order.earliest(place, self.ranges.operands(violation))
        self.found.setdefault(scope.key, []).append(Guard(violation, array, axis, span, place))

    def order(self, scope: Scope) -> _Order:
        if scope.key not in self.orders:
            self.orders[scope.key] = _Order(scope.block)
        return self.orders[scope.key]

    def statements(self, emitter: Emitter) -> dict[int, list[Stmt]]:
        """The tests by the statements before which they stand."""
        found: dict[int, list[Stmt]] = {}
        for key, guards in self.found.items():
            block = self.scopes[key].block
            alike: dict[tuple[object, ...], list[Guard]] = {}
            for guard in self.needed(guards, self.orders[key]):
                alike.setdefault((guard.place, guard.violation.index, guard.violation.size), []).append(guard)
            for group in alike.values():
                found.setdefault(block[group[0].place].key, []).extend(self.written(group, emitter))
        return found

    def needed(self, guards: list[Guard], order: _Order) -> list[Guard]:
        """The tests of a block without those that another one makes, too, before the access."""
        kept: list[Guard] = []
        for guard in guards:
            if any(self.covers(other, guard, order) for other in kept):
                continue
            kept = [other for other in kept if not self.covers(guard, other, order)]
            kept.append(guard)
        return kept

    def covers(self, first: Guard, second: Guard, order: _Order) -> bool:
        """Whether a test raises an error wherever another one would."""
        one, two = first.violation, second.violation
        if one.size != two.size or first.place > order.places[two.before.key]:
            return False
        # names of which the other test says nothing
        if not one.index.names() <= {name for sum_ in (*two.sums, two.size) for name in sum_.names()}:
            return False
        return implies(two.sums, one.sums, self.ranges.known(two.sums, two.before))

    def written(self, group: list[Guard], emitter: Emitter) -> Block:
        """One test for both ways in which a subscript may be out of range."""
        first = group[0]
        out, inside = emitter.child(), emitter.child()
        out.span = inside.span = first.span
        ways = []
        for guard in group:
            tests = [out.atom(self.is_positive(sum_, emitter)) for sum_ in guard.violation.sums]
            ways.append(functools.reduce(lambda one, two: out.atom(Op("and", (one, two))), tests))
        test = functools.reduce(lambda one, two: out.atom(Op("or", (one, two))), ways)
        sums = (first.violation.index, first.violation.size)
        index, size = (inside.atom(self.sum(sum_.terms, sum_.number, emitter)) for sum_ in sums)
        inside.add(error(first.span, first.array, first.axis, index, size))
        return (*out.out, If(test, tuple(inside.out), (), first.span))

    def is_positive(self, sum_: Sum, emitter: Emitter) -> Op:
        """A sum of integers that is zero or more, as a comparison without minus signs."""
        left = [(name, factor) for name, factor in sum_.terms if factor > 0]
        right = [(name, -factor) for name, factor in sum_.terms if factor < 0]
        number = sum_.number
        if not left:
            sign = "<=" if number == 0 else "<"
            return Op(sign, (self.sum(right, 0, emitter), Const(number + bool(number))))
        if number < 0:
            return Op(">", (self.sum(left, 0, emitter), self.sum(right, -number - 1, emitter)))
        return Op(">=", (self.sum(left, number, emitter), self.sum(right, 0, emitter)))

    def sum(self, terms: Iterable[tuple[str, int]], number: int, emitter: Emitter) -> Expr:
        """Names with factors, and a number, as an expression."""
        found: Expr | None = None
        for name, factor in sorted(terms, key=lambda term: term[1] < 0):
            term = functools.reduce(
                lambda one, two: Op("*", (one, two)), (self.operand(part, emitter) for part in name.split("*"))
            )
            if abs(factor) != 1:
                term = Op("*", (Const(abs(factor)), term))
            if found is None:
                found = term if factor > 0 else Op("neg", (term,))
            else:
                found = Op("+" if factor > 0 else "-", (found, term))
        if found is None:
            return Const(number)
        return found if not number else Op("+" if number > 0 else "-", (found, Const(abs(number))))

    def operand(self, name: str, emitter: Emitter) -> Expr:
        """What a name in a sum stands for."""
        found = self.ranges.operand(name)
        match found:
            case Op(args=(Name(id=array), Const(value=int(axis)))) if self.early and array in self.ranges.scopes.params:
                if (array, axis) not in self.extents:
                    known = self.ranges.extents.get((array, axis))
                    made = self.ranges.scopes.defs[known][0] if known is not None else None
                    fresh = Assign(emitter.fresh("size", INT64), found) if made is None else made
                    assert isinstance(fresh, Assign)
                    self.extents[array, axis] = fresh
                return Name(self.extents[array, axis].target)
        return found


def error(span: Span | None, array: str, axis: int, index: Atom, size: Atom) -> Raise:
    """The error; an array that the user's line does not name is not named."""
    line = "" if span is None else span.text.strip()
    line = line if len(line) <= _WIDTH else line[: _WIDTH - 3] + "..."
    name = _SUFFIX.sub("", array)
    text = span.text if span else ""
    named = (one for one in (name, _PART.sub("", name)) if re.search(rf"\b{re.escape(one)}\b", text))
    called = next((f"`{one}`" for one in named), "an array")
    return Raise(ERROR, (Const(called), Const(axis), index, size, Const(line)), span)


def inserted(block: Block, tests: Mapping[int, Iterable[Stmt]]) -> Block:
    """A block with tests before some of its statements, by key."""
    out: list[Stmt] = []
    for stmt in block:
        out += tests.get(stmt.key, ())
        out.append(map_blocks(stmt, lambda inner: inserted(inner, tests)))
    return tuple(out)


class _Order:
    """The statements of a block in their order.

    places  by their keys
    stops   before each position, the first one behind all that may be seen: errors, texts
    sets    the positions behind the statements that set a name
    """

    def __init__(self, block: Block) -> None:
        self.places = {stmt.key: place for place, stmt in enumerate(block)}
        self.stops = [0]
        self.sets: dict[str, list[int]] = {}
        for place, stmt in enumerate(block, 1):
            self.stops.append(place if may_stop((stmt,)) else self.stops[-1])
            for inner in walk((stmt,)):
                for name in writes(inner):
                    self.sets.setdefault(name, []).append(place)

    def earliest(self, place: int, names: set[str]) -> int:
        """From which position on something may be done that is done at a position, and needs some names."""
        behind = (one for name in names for one in self.sets.get(name, ()) if one <= place)
        return max([self.stops[place], *behind])


def _marked(block: Block, axes: Mapping[int, tuple[int, ...]], tested: Mapping[int, int]) -> Block:
    """A block whose accesses, by key, have open axes, and numbers if they are tested; no axes of others are."""
    out: list[Stmt] = []
    for stmt in block:
        if _is_asked(stmt):
            assert isinstance(stmt, Assign | Store) and stmt.span is not None
            span = replace(stmt.span, open=axes.get(stmt.key, ()), tested=tested.get(stmt.key, 0))
            stmt = replace(stmt, span=span)
        out.append(map_blocks(stmt, lambda inner: _marked(inner, axes, tested)))
    return tuple(out)


def _without(block: Block, keys: set[int]) -> Block:
    """A block without some statements, by key."""
    return tuple(map_blocks(stmt, lambda inner: _without(inner, keys)) for stmt in block if stmt.key not in keys)
