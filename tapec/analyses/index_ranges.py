"""Whether the subscripts of a program are in range, and else the condition under which one is not.

    for i in range(1, n):
        s += x[i - 1] * w[i]        `i` is out of range for `w` where 1 < n and n > w.shape[0]

A subscript from -n to n - 1 is in range for an axis of n elements, as in Python.  What is known of integers comes from
loops, from extents, from the tests around a statement, and from checks before it that raise an error.

A condition is a list of sums that are all zero or more (`Violation`).  It rises from the access to the outermost loop
for which it says exactly whether some iteration is out of range: where the access runs in each iteration, and all sums
that depend on the loop's variable grow with it, or all fall, the last or the first iteration decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tapec.analyses.facts import facts
from tapec.analyses.inequalities import contradict, tight
from tapec.analyses.scopes import Scope
from tapec.errors import Span
from tapec.syntax.core import (
    Assign,
    Block,
    Call,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Print,
    Raise,
    Return,
    Stmt,
    Store,
    leaves,
    may_leave,
    walk,
)
from tapec.syntax.linear import Sum
from tapec.syntax.types import INT64, Array

_ONE = Sum(number=1)
_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
# how far copies and views of an array are followed to what made it
_DEPTH = 8


@dataclass(frozen=True)
class Violation:
    """When a subscript is out of range: where all `sums` are zero or more.

    index   the subscript that is out of range then
    size    the extent of its axis
    before  the statement before which this is decided
    """

    sums: tuple[Sum, ...]
    index: Sum
    size: Sum
    before: Stmt


class IndexRanges:
    """Questions about the subscripts of one function."""

    def __init__(self, function: Function) -> None:
        self.types = function.types
        found = facts(function)
        self.scopes = found.scopes
        self.integers = found.dependence.integers
        # the names of an extent, and what says that they are one number
        self.extents: dict[tuple[str, int], str] = {}
        self.equal: list[Sum] = []
        # extents that have no name in the program
        self.unnamed: dict[str, Op] = {}
        self._checks: dict[int, list[tuple[int, list[Sum]]]] = {}
        for name, defs in self.scopes.defs.items():
            match defs:
                case [Assign(value=Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))))]:
                    first = self.extents.setdefault((array, axis), name)
                    if first != name:
                        apart = Sum.of(name).plus(Sum.of(first), -1)
                        self.equal += [apart, apart.times(-1)]

    # questions

    def violations(self, stmt: Stmt, array: str, axis: int, sub: Expr) -> list[Violation] | None:
        """The ways in which a subscript may be out of range; None if that cannot be told before it is read."""
        here = self.scopes.of[stmt.key]
        index, size = self.subscript(sub, stmt), self.size(array, axis)
        if size is not None and self._is_remainder_by(sub, size):
            return []
        if index is None or size is None:
            return None
        given = tuple(self.given(stmt))
        found = []
        for sum_ in (index.plus(size, -1), index.plus(size).times(-1).plus(_ONE, -1)):
            if not self.integers.never_negative(sum_.times(-1).plus(_ONE, -1), here, given=given):
                found.append(Violation((tight(sum_),), index, size, stmt))
        return found

    def earliest(self, stmt: Stmt, array: str, axis: int, sub: Expr) -> list[Violation] | None:
        """The same, each decided as early as it can be."""
        found = self.violations(stmt, array, axis, sub)
        if found is None:
            return None
        return [early for early in map(self.risen, found) if early is not None]

    def risen(self, violation: Violation) -> Violation | None:
        """The same, decided as early as it can be; None if it turns out never to happen."""
        stmt = violation.before
        region = self.scopes.of[stmt.key]
        while region.owner is not None:
            further = self._around(violation, stmt, region)
            if further is None:
                return violation
            stmt, region = region.owner, self.scopes.of[region.owner.key]
            known = self.known(further.sums, stmt)
            if contradict([*further.sums, *known]):
                return None
            violation = _without_implied(further, known)
        return violation

    def known(self, sums: tuple[Sum, ...], stmt: Stmt) -> list[Sum]:
        """Sums that are zero or more where a statement stands, as far as they tell of others."""
        given = self.given(stmt)
        return [*given, *self.integers.known([*sums, *given], self.scopes.of[stmt.key])]

    def is_number(self, sub: Expr) -> bool:
        """Whether a subscript of a view is a number, not a slice."""
        return not self._is_slice(sub)

    def operands(self, violation: Violation) -> set[str]:
        """The names that have to be set before a violation can be told."""
        found = set()
        for sum_ in (*violation.sums, violation.index, violation.size):
            for name in sum_.names():
                operand = self.operand(name)
                array = operand.args[0] if isinstance(operand, Op) else operand
                assert isinstance(array, Name)
                found.add(array.id)
        return found

    def operand(self, name: str) -> Expr:
        """What a name in a sum stands for: of the name of an extent, the extent."""
        made = self.unnamed.get(name) or self.made(name)
        return made if isinstance(made, Op) and made.fn == "dim" else Name(name)

    def subscript(self, sub: Expr, stmt: Stmt) -> Sum | None:
        """A subscript as a sum of 64-bit integers that have one value where it is read."""
        made = self.made(sub.id) if isinstance(sub, Name) else None
        if isinstance(made, Op) and made.fn in ("cast.uint64", "cast.int64"):
            sub = made.args[0]
        found = self.integers.bound(sub, stmt)
        return found if found is not None and self.is_plain(found) else None

    def is_plain(self, sum_: Sum) -> bool:
        """Whether all names of a sum are 64-bit integers with a sign."""
        return all(name in self.unnamed or self.types.get(name) == INT64 for name in sum_.names())

    def _is_remainder_by(self, sub: Expr, size: Sum) -> bool:
        """Whether a subscript is a remainder by the extent itself, `x[i % n]`: where n is 0, there is none."""
        match self.made(sub.id) if isinstance(sub, Name) else sub:
            case Op(fn="%", args=(_, divisor)):
                return self.integers.sum(divisor) == size
        return False

    def size(self, array: str, axis: int, depth: int = 0) -> Sum | None:
        """The extent of an axis, as a sum; None if it may change."""
        if depth > _DEPTH:
            return None
        known = self.extents.get((array, axis))
        if known is not None and len(self.scopes.defs.get(array, ())) < 2:
            return Sum.of(known)
        made = self.made(array)
        if isinstance(made, Name):
            return self.size(made.id, axis, depth + 1)
        if isinstance(made, Op):
            found = self._made_size(made, axis, depth + 1)
            return self._unnamed(array, axis) if found is None and isinstance(self.types[array], Array) else found
        defs = self.scopes.defs.get(array, [])
        if not defs:
            return self._unnamed(array, axis)
        sizes = {self._made_size(one, axis, depth) for one in self._sources(array)}
        return sizes.pop() if len(sizes) == 1 else None

    def _unnamed(self, array: str, axis: int) -> Sum:
        """An extent that is what it is, and has no name."""
        name = f"{array}.shape[{axis}]"
        self.unnamed[name] = Op("dim", (Name(array), Const(axis)))
        return Sum.of(name)

    def made(self, name: str) -> Expr | None:
        """What computes a name that is set once."""
        match self.scopes.defs.get(name):
            case [Assign(value=value)] if name not in self.scopes.params:
                return value
        return None

    def _sources(self, array: str) -> list[Expr | None]:
        """What makes the arrays that a name stands for, such as buffers that change places."""
        found: list[Expr | None] = []
        pending, seen = [array], {array}
        while pending:
            name = pending.pop()
            defs = self.scopes.defs.get(name, [])
            if name in self.scopes.params or not defs:
                found.append(Name(name))
            for made in defs:
                value = made.value if isinstance(made, Assign) else None
                if not isinstance(value, Name):
                    found.append(value)
                elif value.id not in seen:
                    seen.add(value.id)
                    pending.append(value.id)
        return found

    def _made_size(self, made: Expr | None, axis: int, depth: int) -> Sum | None:
        if isinstance(made, Name):
            return self.size(made.id, axis, depth + 1) if not self.scopes.defs.get(made.id) else None
        if not isinstance(made, Op):
            return None
        base = made.args[0]
        match made.fn:
            case "empty" | "zeros":
                return self._extent(made.args[axis + 1])
            case "reshape" if made.args[axis + 1] != Const(-1):
                return self._extent(made.args[axis + 1])
            case "copy" if isinstance(base, Name):
                return self.size(base.id, axis, depth + 1)
            case "transpose" if isinstance(base, Name):
                kind = self.types[base.id]
                return self.size(base.id, kind.ndim - 1 - axis, depth + 1) if isinstance(kind, Array) else None
            case "view" if isinstance(base, Name):
                return self._view_size(base.id, made.args[1:], axis, depth)
        return None

    def _extent(self, extent: Expr) -> Sum | None:
        """An extent with which an array is made."""
        found = self.integers.sum(extent)
        return found if found is not None and self.is_plain(found) else None

    def _view_size(self, base: str, subs: tuple[Expr, ...], axis: int, depth: int) -> Sum | None:
        """The extent of an axis of a view, which has those axes that no number is a subscript of, and new ones."""
        if Const(None) in subs:
            return None
        slices = [k for k, sub in enumerate(subs) if self._is_slice(sub)]
        if axis >= len(slices):
            return self.size(base, len(subs) + axis - len(slices), depth + 1)
        sub = subs[slices[axis]]
        made = self.made(sub.id) if isinstance(sub, Name) else sub
        whole = isinstance(made, Op) and all(part == Const(None) for part in made.args)
        return self.size(base, slices[axis], depth + 1) if whole else None

    def _is_slice(self, sub: Expr) -> bool:
        made = self.made(sub.id) if isinstance(sub, Name) else sub
        return isinstance(made, Op) and made.fn == "slice"

    # what is known where a statement stands

    def given(self, stmt: Stmt) -> list[Sum]:
        """Sums that are zero or more where a statement stands."""
        found = [*self.equal, *map(Sum.of, self.unnamed)]
        region: Scope | None = self.scopes.of[stmt.key]
        while region is not None:
            place = self.scopes.place[stmt.key]
            for check, holding in self.checks(region):
                if check < place:
                    found += holding
            if isinstance(region.owner, If):
                found += self.condition(region.owner, region)[0]
            if region.owner is None:
                break
            stmt, region = region.owner, region.parent
        return found

    def checks(self, region: Scope) -> list[tuple[int, list[Sum]]]:
        """What holds behind the statements of a block that leave it else, with their places."""
        if region.key not in self._checks:
            found = []
            for stmt in region.block:
                if isinstance(stmt, If) and leaves(stmt.body) != leaves(stmt.orelse):
                    holding, _ = self.holding(stmt.test, leaves(stmt.orelse), stmt)
                    if holding:
                        found.append((self.scopes.place[stmt.key], holding))
            self._checks[region.key] = found
        return self._checks[region.key]

    def condition(self, stmt: If, region: Scope) -> tuple[list[Sum], bool]:
        """What holds in a branch; and whether that is all that it takes."""
        return self.holding(stmt.test, region is self.scopes.body[stmt.key][0], stmt)

    def holding(self, test: Expr, outcome: bool, reader: Stmt) -> tuple[list[Sum], bool]:
        """Sums that are zero or more where a test has an outcome; and whether the test asks nothing else."""
        if isinstance(test, Name):
            match self.scopes.defs.get(test.id):
                case [Assign(value=Op() as value) as made] if test.id not in self.scopes.params:
                    return self.holding(value, outcome, made)
            return [], False
        if not isinstance(test, Op):
            return [], False
        if test.fn == "not":
            return self.holding(test.args[0], not outcome, reader)
        if test.fn in ("and", "or"):
            parts = [self.holding(arg, outcome, reader) for arg in test.args]
            if outcome != (test.fn == "and"):
                return [], False
            return [sum_ for sums, _ in parts for sum_ in sums], all(exact for _, exact in parts)
        if test.fn not in _NEGATED:
            return [], False
        return self._compared(test.fn if outcome else _NEGATED[test.fn], test.args, reader)

    def _compared(self, sign: str, args: tuple[Expr, ...], reader: Stmt) -> tuple[list[Sum], bool]:
        first, second = (self._number(arg, reader) for arg in args)
        if first is None or second is None:
            return [], False
        apart = first.plus(second, -1)
        match sign:
            case "<":
                return [apart.times(-1).plus(_ONE, -1)], True
            case "<=":
                return [apart.times(-1)], True
            case ">":
                return [apart.plus(_ONE, -1)], True
            case ">=":
                return [apart], True
            case "==":
                return [apart, apart.times(-1)], True
        return [], False

    def _number(self, expr: Expr, reader: Stmt) -> Sum | None:
        if isinstance(expr, Op) and expr.fn == "dim":
            array, axis = expr.args
            known = isinstance(array, Name) and isinstance(axis, Const) and isinstance(axis.value, int)
            return self.size(array.id, axis.value) if known else None  # type: ignore[union-attr, arg-type]
        if isinstance(expr, Op):
            return None
        found = self.integers.bound(expr, reader)
        return found if found is not None and self.is_plain(found) else None

    # from inside out

    def _around(self, violation: Violation, stmt: Stmt, region: Scope) -> Violation | None:
        """The violation by some run of the block that holds it; None if that cannot be said exactly."""
        owner = region.owner
        assert owner is not None
        for one in region.block:
            if one is stmt:
                break
            if may_stop((one,)):
                return None
        if isinstance(owner, If):
            sums, exact = self.condition(owner, region)
            if not exact or self._is_set_inside(violation, region):
                return None
            # a branch of another test of the same condition may be all that sets a name
            if not all(self.scopes.is_set_before(name, owner) for name in self.operands(violation)):
                return None
            return Violation((*violation.sums, *sums), violation.index, violation.size, owner)
        return self._any_iteration(violation, owner, region) if isinstance(owner, For) else None

    def _any_iteration(self, violation: Violation, loop: For, body: Scope) -> Violation | None:
        if loop.step not in (Const(1), Const(-1)) or self._is_set_inside(violation, body, loop.var):
            return None
        start, stop = self.integers.bound(loop.start, loop), self.integers.bound(loop.stop, loop)
        if start is None or stop is None or not self.is_plain(start) or not self.is_plain(stop):
            return None
        up = loop.step == Const(1)
        runs = stop.plus(start, -1) if up else start.plus(stop, -1)
        least, most = (start, stop.plus(_ONE, -1)) if up else (stop.plus(_ONE), start)
        factors = [self._factor(sum_, loop.var) for sum_ in violation.sums]
        if None in factors:
            return None
        growing = {factor > 0 for factor in factors if factor}
        if len(growing) > 1:
            return None
        at_the_end = bool(growing) and (True in growing) == up
        if at_the_end and may_stop(loop.body):
            # the last iteration may never run
            return None
        values = {loop.var: most if True in growing else least}
        sums = tuple(sum_.with_(values) for sum_ in violation.sums)
        return Violation((*sums, runs.plus(_ONE, -1)), violation.index.with_(values), violation.size, loop)

    def _factor(self, sum_: Sum, name: str) -> int | None:
        """The factor of a name in a sum; None if the sum has products of it."""
        if any("*" in term and name in term.split("*") for term, _ in sum_.terms):
            return None
        return sum_.factor(name)

    def _is_set_inside(self, violation: Violation, region: Scope, but: str = "") -> bool:
        """Whether something that tells of a violation is set in a block, but for one name."""
        defs = self.scopes.defs
        names = self.operands(violation) - {but}
        return any(self.scopes.of[made.key].inside(region) for name in names for made in defs.get(name, ()))


def may_stop(block: Block) -> bool:
    """Whether a block may end what is around it, or tell anything: an error, a text, a call, the end of a loop."""
    return may_leave(block) or any(isinstance(stmt, Raise | Print | Call | Return) for stmt in walk(block))


def accesses(function: Function) -> Iterator[tuple[Stmt, str, tuple[Expr, ...]]]:
    """The statements that load an element, take a view, or store an element, with the array and the subscripts."""
    for stmt in walk(function.body):
        match stmt:
            case Assign(value=Op(fn="load" | "view", args=(Name(id=array), *subs))):
                # an axis for each, but for new ones
                yield stmt, array, tuple(sub for sub in subs if sub != Const(None))
            case Store(array=array, index=index):
                yield stmt, array, index


def of_viewed(span: Span | None, made: Assign) -> Span | None:
    """The place of an access to a view, with the open axes of the element in the array that is viewed.

    made  the statement that makes the view
    """
    if span is None or made.span is None or not isinstance(made.value, Op):
        return span
    axes: list[int | None] = []
    base = 0
    for sub in made.value.args[1:]:
        if sub == Const(None):
            axes.append(None)
            continue
        if isinstance(sub, Op):
            axes.append(base)
        base += 1
    own = (axes[axis] if axis < len(axes) else base + axis - len(axes) for axis in span.open)
    return replace(span, open=(*made.span.open, *(axis for axis in own if axis is not None)))


def turned(span: Span | None, rank: int) -> Span | None:
    """The place of an access to an array whose last two axes change places, with its open axes."""
    if span is None or not span.open:
        return span
    places = {rank - 1: rank - 2, rank - 2: rank - 1}
    return replace(span, open=tuple(sorted(places.get(axis, axis) for axis in span.open)))


def of_row(span: Span | None) -> Span | None:
    """The place of an access to a row that was one to the whole array, with its open axes: all but the first one."""
    if span is None or not span.open:
        return span
    return replace(span, open=tuple(axis - 1 for axis in span.open if axis))


def implies(first: tuple[Sum, ...], second: tuple[Sum, ...], known: list[Sum]) -> bool:
    """Whether, where all of some sums are zero or more, all of others are."""
    return all(contradict([sum_.times(-1).plus(_ONE, -1), *first, *known]) for sum_ in second)


def _without_implied(violation: Violation, known: list[Sum]) -> Violation:
    """The violation without sums that follow from the others."""
    sums = list(dict.fromkeys(map(tight, violation.sums)))
    for sum_ in reversed(sums[1:]):
        rest = [one for one in sums if one is not sum_]
        if implies(tuple(rest), (sum_,), known):
            sums = rest
    return Violation(tuple(sums), violation.index, violation.size, violation.before)
