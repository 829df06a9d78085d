"""Compute once, in a table, what iterations of a nest compute again and again from a sum of their loops' variables.

    for j in range(m):                        t_set = np.empty(...)
        for i in range(j + 1):                for k in range(...):
            e = i - j                             t_set[k] = x ** (k - (m - 1))
            t = x ** e             ->         for j in range(m):
            ...                                   t_row = t_set[m - 1 - j:]
                                                  for i in range(j + 1):
                                                      t = t_row[i]
                                                      ...

A power, an exponential or the like takes ten times as long as a load, and so does its derivative, of which the reverse
sweep now takes as many as the table has elements.  Before the nest, a loop over the iterations of its outer loop finds
the least and the greatest of the sums that they ask for.  With `2 * i - j` the table has two rows, of even and of odd
sums, so that the inner loop goes along a row.

The inner loop counts up by one, and stands in the outer one's body, as the function in its own; both make all their
iterations.  The function's argument is a line in the sum, with numbers that stay the same in the nest.  Between the
             least
and the greatest sum it is then finite where it is at both ends, and so is its derivative: elements that no iteration
asks for have an adjoint of zero, and do no harm.

Expects one name per value, as `number_values` leaves it; afterwards a name may have several values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tapec.analyses.iterations import Iterations
from tapec.errors import Span
from tapec.optimise import costs
from tapec.optimise.name_origins import Fresh
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Stmt,
    Store,
    literal_range,
    map_blocks,
    may_leave,
    substitute,
    walk,
    written_in,
)
from tapec.syntax.linear import Sum
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array, Type

_NAMES = ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh")
_FUNCTIONS = frozenset(f"{module}.{name}" for module in ("np", "math") for name in _NAMES)
_LINEAR = frozenset({"+", "-", "*", "/", "neg", "cast.float64"})


def tabulate(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such tables; see the module."""
    if not any(_is_wanted(stmt) for stmt in walk(function.body)):
        return function
    return _Tables(function).rewritten()


def _is_wanted(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and (stmt.value.fn in _FUNCTIONS or _is_power(stmt))


def _is_power(stmt: Assign) -> bool:
    return isinstance(stmt.value, Op) and stmt.value.fn == "**" and isinstance(stmt.value.args[1], Name)


@dataclass(frozen=True)
class _Nest:
    """Two loops, what is set in them, and where the inner one begins and ends."""

    outer: For
    inner: For
    inside: frozenset[str]
    start: Sum
    stop: Sum


@dataclass(frozen=True)
class _Line:
    """A number in a nest: the integer in which it is a line, None if it stays the same, and what computes it."""

    of: Expr | None = None
    made: tuple[Assign, ...] = ()


def _joined(parts: list[_Line | None]) -> _Line | None:
    """What is computed of several numbers, of which at most one changes."""
    known = [part for part in parts if part is not None]
    changing = [part.of for part in known if part.of is not None]
    if len(known) < len(parts) or len(changing) > 1:
        return None
    made = dict.fromkeys(stmt for part in known for stmt in part.made)
    return _Line(changing[0] if changing else None, tuple(made))


@dataclass(frozen=True)
class _Plan:
    """A value for the table: the statements that compute it, and what they begin with, an integer name and its sum."""

    made: tuple[Assign, ...]
    name: str
    sum: Sum


class _Tables(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        if not isinstance(stmt, For):
            yield map_blocks(stmt, self.block)
            return
        body: list[Stmt] = []
        for one in stmt.body:
            nest = self.nest(stmt, one)
            if nest is None or not (plans := self.plans(nest)):
                body.append(map_blocks(one, self.block))
                continue
            inner: list[Stmt] = []
            for part in nest.inner.body:
                plan = next((one for one in plans if one.made[-1] is part), None)
                before: list[Stmt] = []
                inner += [part] if plan is None else self.tabled(plan, nest, before, body)
                yield from before
            body.append(replace(nest.inner, body=tuple(inner)))
        yield replace(stmt, body=tuple(body))

    # what can be tabled

    def nest(self, outer: For, inner: Stmt) -> _Nest | None:
        """A loop and one in its body, if the least and the greatest of sums in them can be found before."""
        if not isinstance(inner, For) or inner.step != Const(1):
            return None
        iterations = literal_range(outer)
        if iterations is not None and len(iterations) <= costs.TABLE_FACTOR:
            return None
        if any(loop.parallel or loop.slots is not None or may_leave(loop.body) for loop in (outer, inner)):
            return None
        inside = frozenset({outer.var, *written_in(outer.body)})
        if any(isinstance(bound, Name) and bound.id in inside for bound in (outer.start, outer.stop, outer.step)):
            return None
        free = inside - {outer.var}
        start, stop = self.sum(inner.start, free), self.sum(inner.stop, free)
        return None if start is None or stop is None else _Nest(outer, inner, inside, start, stop)

    def sum(self, number: Expr, unknown: frozenset[str]) -> Sum | None:
        """An integer as a sum of others; None if it depends on unknown ones in another way."""
        if isinstance(number, Const):
            return Sum(number=number.value) if type(number.value) is int else None
        if not isinstance(number, Name) or self.fresh.types[number.id] != INT64:
            return None
        if number.id not in unknown:
            return Sum.of(number.id)
        match self.iterations.definition(number):
            case (Name() | Const()) as copied:
                return self.sum(copied, unknown)
            case Op(fn="+" | "-" as fn, args=(first, second)):
                one, other = self.sum(first, unknown), self.sum(second, unknown)
                return None if one is None or other is None else one.plus(other, 1 if fn == "+" else -1)
            case Op(fn="*", args=(Const(value=int(factor)), one) | (one, Const(value=int(factor)))):
                found = self.sum(one, unknown)
                return None if found is None else found.times(factor)
            case Op(fn="neg", args=(one,)):
                found = self.sum(one, unknown)
                return None if found is None else found.times(-1)
        return None

    def plans(self, nest: _Nest) -> list[_Plan]:
        """The values in the inner loop's body that can be tabled."""
        made = {stmt.target: stmt for stmt in (*nest.outer.body, *nest.inner.body) if isinstance(stmt, Assign)}
        found = (self.plan(stmt, made, nest) for stmt in nest.inner.body if isinstance(stmt, Assign))
        return [plan for plan in found if plan is not None]

    def plan(self, stmt: Assign, made: dict[str, Assign], nest: _Nest) -> _Plan | None:
        """How a value is tabled; None if it depends on more than one sum, or changes too fast with the loops."""
        if (
            not _is_wanted(stmt)
            or self.fresh.types[stmt.target] != FLOAT64
            or not self.iterations.fixed(Name(stmt.target))
        ):
            return None
        assert isinstance(stmt.value, Op)
        *base, argument = stmt.value.args
        parts = [self.line(number, made, nest) for number in base]
        last = _Line(argument) if _is_power(stmt) else self.line(argument, made, nest)
        line = _joined([*parts, last])
        if (
            line is None
            or last is None
            or line.of is None
            or line.of != last.of
            or any(self.type_of(n) != FLOAT64 for n in base)
        ):
            return None
        found = self.sum(line.of, nest.inside - {nest.outer.var, nest.inner.var})
        if found is None or not found.factor(nest.inner.var):
            return None
        moving = Sum()
        for name in (nest.outer.var, nest.inner.var):
            moving = moving.plus(Sum.of(name), found.factor(name))
        if any(abs(factor) > costs.TABLE_FACTOR for _, factor in moving.terms):
            return None
        assert isinstance(line.of, Name)
        return _Plan((*line.made, stmt), line.of.id, moving)

    def line(self, number: Expr, made: dict[str, Assign], nest: _Nest) -> _Line | None:
        """What a number in the inner loop is a line in, and the statements that compute it."""
        if not isinstance(number, Name) or number.id not in nest.inside:
            return _Line()
        if self.fresh.types[number.id] == INT64:
            return _Line(number)
        stmt = made.get(number.id)
        if stmt is None or not isinstance(stmt.value, Op) or self.fresh.types[number.id] != FLOAT64:
            return None
        if stmt.value.fn not in _LINEAR or not self.iterations.fixed(number):
            return None
        parts = [self.line(arg, made, nest) for arg in stmt.value.args]
        found = _joined(parts)
        divisor = parts[-1] if stmt.value.fn == "/" else None
        if found is None or (divisor is not None and divisor.of is not None):
            return None
        return _Line(found.of, (*found.made, stmt))

    def type_of(self, atom: Expr) -> Type | None:
        if isinstance(atom, Const):
            return FLOAT64 if isinstance(atom.value, float) else None
        return self.fresh.types.get(atom.id) if isinstance(atom, Name) else None

    # tables

    def told(self, stmt: Assign, outer: For) -> None:
        why = "iterations of {1} ask for the same numbers again"
        assert isinstance(stmt.value, Op)
        remark(stmt.span, "tabulation", "`{0}` is looked up in a table", why, stmt.value.fn, outer.span)

    def tabled(self, plan: _Plan, nest: _Nest, before: list[Stmt], outside: list[Stmt]) -> list[Stmt]:
        """What takes a value's place; `before` grows by what makes the table, `outside` by what finds an iteration's
        row.
        """
        outer, inner, stmt = nest.outer, nest.inner, plan.made[-1]
        self.told(stmt, outer)
        # counted upwards along the inner loop, whichever way the sum goes
        step = plan.sum.factor(inner.var)
        sign, step = (1, step) if step > 0 else (-1, -step)
        moving = plan.sum.times(sign)
        begun = self.begun(moving, nest)
        let = _Let(self.fresh, before, stmt.span)
        first, last = self.ends(begun, step, nest, let)
        span = let.int("-", last, first)
        width = let.int("+", let.int("//", span, Const(step)), Const(1))
        table = self.fresh("t_set", Array("float64", 1))
        # no iteration, no element
        size = let.int("*", width, Const(step)) if step > 1 else width
        before.append(Assign(table, Op("empty", (Const("float64"), let.int("max", size, Const(0)))), stmt.span))
        before += self.filled(plan, sign, step, (first, span, width), table, nest)
        out = _Let(self.fresh, outside, stmt.span)
        place = out.int("-", out.sum(begun), first)
        if step > 1:
            row = out.int("*", out.int("%", place, Const(step)), width)
            place = out.int("+", row, out.int("//", place, Const(step)))
        along = self.fresh("t_row", Array("float64", 1))
        cut = Op("slice", (place, Const(None), Const(None)))
        outside.append(Assign(along, Op("view", (Name(table), cut)), stmt.span))
        inside: list[Stmt] = []
        at: Atom = Name(inner.var)
        if inner.start != Const(0):
            at = _Let(self.fresh, inside, stmt.span).int("-", at, inner.start)
        return [*inside, replace(stmt, value=Op("load", (Name(along), at)))]

    def begun(self, moving: Sum, nest: _Nest) -> Sum:
        """The sum in the first iteration of the inner loop."""
        step = moving.factor(nest.inner.var)
        return moving.plus(Sum.of(nest.inner.var), -step).plus(nest.start, step)

    def ends(self, begun: Sum, step: int, nest: _Nest, let: _Let) -> tuple[Atom, Atom]:
        """The least and the greatest sum that an iteration asks for; the least is larger if there is no iteration."""
        first, last = (self.fresh("size", INT64) for _ in range(2))
        let.out.extend((Assign(first, Const(0), let.span), Assign(last, Const(-1), let.span)))
        iteration: list[Stmt] = []
        inner = _Let(self.fresh, iteration, let.span)
        var = self.fresh(nest.outer.var, INT64)
        here: dict[str, Atom] = {nest.outer.var: Name(var)}
        more = inner.sum(nest.stop.plus(nest.start, -1).plus(Sum(number=-1)), here)
        low = inner.sum(begun, here)
        high = inner.int("+", low, more if step == 1 else inner.int("*", more, Const(step)))
        none = inner.value(Op("<", (Name(last), Name(first))), BOOL)
        least = inner.value(Op("ifelse", (none, low, inner.int("min", low, Name(first)))), INT64)
        most = inner.value(Op("ifelse", (none, high, inner.int("max", high, Name(last)))), INT64)
        some = inner.value(Op(">=", (more, Const(0))), BOOL)
        iteration.append(If(some, (Assign(first, least, let.span), Assign(last, most, let.span)), span=let.span))
        outer = nest.outer
        let.out.append(For(var, outer.start, outer.stop, outer.step, tuple(iteration), span=let.span))
        return Name(first), Name(last)

    def filled(
        self, plan: _Plan, sign: int, step: int, sizes: tuple[Atom, Atom, Atom], table: str, nest: _Nest
    ) -> list[Stmt]:
        """The loop that computes the table's elements."""
        first, span, width = sizes
        stmt = plan.made[-1]
        out: list[Stmt] = []
        let = _Let(self.fresh, out, stmt.span)
        k, row = (self.fresh("k", INT64) for _ in range(2))
        way: Atom = Name(k)
        if step > 1:
            way = let.int("+", let.int("*", way, Const(step)), Name(row))
        moving = let.int("+", way, first)
        if sign < 0:
            moving = let.value(Op("neg", (moving,)), INT64)
        rest = self.sum(Name(plan.name), nest.inside - {nest.outer.var, nest.inner.var})
        assert rest is not None
        values: dict[str, Expr] = {plan.name: let.sum(rest.plus(plan.sum, -1), {}, moving)}
        for made in plan.made:
            values[made.target] = let.value(substitute(made.value, values), FLOAT64)
        at: Atom = Name(k)
        if step > 1:
            at = let.int("+", let.int("*", Name(row), width), at)
        value = values[stmt.target]
        assert isinstance(value, Name)
        out.append(Store(table, (at,), value, span=stmt.span))
        if step == 1:
            return [For(k, Const(0), width, Const(1), tuple(out), span=stmt.span)]
        count: list[Stmt] = []
        let = _Let(self.fresh, count, stmt.span)
        iterations = let.int("+", let.int("//", let.int("-", span, Name(row)), Const(step)), Const(1))
        count.append(For(k, Const(0), iterations, Const(1), tuple(out), span=stmt.span))
        return [For(row, Const(0), Const(step), Const(1), tuple(count), span=stmt.span)]


@dataclass(frozen=True)
class _Let:
    """Gives names to numbers."""

    fresh: Fresh
    out: list[Stmt]
    span: Span | None

    def value(self, value: Expr, type_: Type) -> Name:
        name = self.fresh("size" if type_ == INT64 else "t", type_)
        self.out.append(Assign(name, value, self.span))
        return Name(name)

    def int(self, fn: str, first: Expr, second: Expr) -> Name:
        return self.value(Op(fn, (first, second)), INT64)

    def sum(self, number: Sum, names: dict[str, Atom] | None = None, begun: Atom | None = None) -> Atom:
        """A sum, added to what it begins with; other names may take the place of its own."""
        total: Atom = Const(number.number) if begun is None else begun
        if begun is not None and number.number:
            total = self.int("+", total, Const(number.number))
        for name, factor in number.terms:
            one: Atom = (names or {}).get(name, Name(name))
            if abs(factor) != 1:
                one = self.int("*", one, Const(abs(factor)))
            if total == Const(0) and factor > 0:
                total = one
            else:
                total = self.int("+" if factor > 0 else "-", total, one)
        return total
