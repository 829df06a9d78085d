"""What is proved of integers: which are never negative, and which are never equal.

An integer is a sum of loops' variables, extents and other names with factors, and a loop says between which bounds its
variable is while an iteration runs.  That there is an iteration tells that its bounds are apart.

    for i in range(n):                  n is at least 1 here, so that
        y[i] = -y[n + i]                n + i is not i, nor the i of another iteration
        z[3 * i] = z[3 * i + 1]         nor is a multiple of 3 one more than a multiple of 3
        for j in range(n):
            w[n * i + j] = 0.0          the j of two iterations are less than n apart

In steps of `s`, variables of two iterations are a multiple of `s` apart that is not 0.  Everything is taken from the
loops and definitions of the names that occur: a name that has a value has it because they have run.  A name that a loop
carries (`half` in `half = 2 * half`) has one value in the iteration in which it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import cached_property
from math import gcd

from tapec.analyses.inequalities import contradict
from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, Const, Expr, For, If, Name, Op, Stmt
from tapec.syntax.linear import Sum

_ZERO, _ONE = Sum(), Sum(number=1)
# of a sum's names, beyond which it is an integer of its own; of names to look at for what is known of a question
_TERMS, _NAMES = 6, 16
# by how many steps the later iteration of a loop is ahead, in a question
_AHEAD = "ahead'"


class Integers:
    """Questions about the integers of one function."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self.loops: dict[str, For] = {
            name: defs[0]
            for name, defs in scopes.defs.items()
            if len(defs) == 1 and isinstance(defs[0], For) and name not in scopes.params
        }
        self._sums: dict[str, Sum | None] = {}
        self._carried: dict[str, tuple[Scope, ...] | None] = {}
        self._answers: dict[tuple[object, ...], bool] = {}
        self._facts: dict[str, list[Sum]] = {}

    # questions

    def never_negative(
        self, number: Sum | None, here: Scope | None = None, beside: Sum = _ZERO, given: tuple[Sum, ...] = ()
    ) -> bool:
        """Whether an integer is proved not to be below zero.

        here    where it is used, if that is known
        beside  another integer that has a value then
        given   integers that are not below zero then
        """
        if number is None or not self.defined_once(number, here) or not self.defined_once(beside, here):
            return False
        if not number.terms:
            return number.number >= 0
        key = ("least", number, here, beside, given)
        if key not in self._answers and number.number >= 0 and (number.number or len(number.terms) > 1):
            parts = (factor > 0 and self.never_negative(Sum.of(name), here) for name, factor in number.terms)
            if all(parts):
                self._answers[key] = True
        if key not in self._answers:
            less = number.times(-1).plus(_ONE, -1)
            known = [*given, *self.known([number, beside, *given], here)]
            self._answers[key] = contradict([less, *_with_products(less, known)])
        return self._answers[key]

    def different(self, first: Sum | None, second: Sum | None, here: Scope | None = None) -> bool:
        """Whether two integers are never equal, names having one value each."""
        if first is None or second is None or not self.defined_once(first, here) or not self.defined_once(second, here):
            return False
        apart = first.plus(second, -1)
        key = ("different", first, second, here)
        if key not in self._answers:
            self._answers[key] = _never_zero(apart, self.known([first, second], here))
        return self._answers[key]

    def never_equal(self, first: Sum | None, second: Sum | None, around: list[Scope]) -> bool:
        """Whether two integers are never equal in one iteration of each of the loops `around`, innermost first.

        Names that are set in other loops may be those of any iteration.
        """
        here = around[0] if around else self.scopes.root
        if first is None or second is None or not self.defined_once(first, here) or not self.defined_once(second, here):
            return False
        key = ("meet", first, second, here)
        if key not in self._answers:
            facts = self.known([second], here)
            names = {name for sum_ in (second, *facts) for name in sum_.names()}
            values = {name: Sum.of(f"{name}'") for name in names if not self._shared(name, here)}
            apart = second.with_(values).plus(first, -1)
            known = [*self.known([first], here), *(fact.with_(values) for fact in facts)]
            self._answers[key] = _never_zero(apart, known)
        return self._answers[key]

    def _shared(self, name: str, here: Scope) -> bool:
        """Whether a name has one value while an iteration of the loops around a region runs."""
        scope = self.scopes.scope_of.get(name)
        return scope is None or all(here.inside(loop) for loop in scope.loops())

    def _set_in(self, name: str, body: Scope) -> bool:
        """Whether a name may be another one in another iteration of a loop."""
        scope = self.scopes.scope_of.get(name)
        scopes = (self.scopes.of[made.key] for made in self.scopes.defs.get(name, ()))
        return scope is not None and (scope.inside(body) or any(region.inside(body) for region in scopes))

    def disjoint(self, first: Sum | None, second: Sum | None, loop: For, later: bool = False) -> bool:
        """Whether two integers are never equal in two different iterations of a loop, or the second one in a later
        iteration.
        """
        body = self.scopes.body.get(loop.key)
        step = self.bound(loop.step, loop)
        if first is None or second is None or step is None or body is None:
            return False
        (here,) = body
        if not all(self.defined_once(sum_, here) for sum_ in (first, second, step)):
            return False
        key = ("apart", first, second, here, later)
        if key not in self._answers:
            self._answers[key] = self._disjoint(first, second, loop, step, here, later)
        return self._answers[key]

    def _disjoint(self, one: Sum, other: Sum, loop: For, step: Sum, here: Scope, later: bool) -> bool:
        ahead = Sum.of(_AHEAD)

        def in_another(names: Set[str]) -> dict[str, Sum]:
            values = {name: Sum.of(f"{name}'") for name in names if self._set_in(name, here)}
            values[loop.var] = Sum.of(loop.var).plus(step.product(ahead))
            return values

        apart = other.with_(in_another(other.names())).plus(one, -1)
        if apart.number == 0 and apart.names() <= {_AHEAD} and len(apart.terms) <= 1:
            # a multiple of how far one iteration is from the other, or nothing
            return bool(apart.terms)
        facts = self.known([other, step], here)
        second = in_another({name for sum_ in (other, *facts) for name in sum_.names()})
        known = [*self.known([one, step], here), *(fact.with_(second) for fact in facts)]
        ways = [ahead.plus(_ONE, -1)] if later else [ahead.plus(_ONE, -1), ahead.times(-1).plus(_ONE, -1)]
        return all(_never_zero(apart, [*known, way]) for way in ways)

    # what is known

    def sum(self, number: Expr) -> Sum | None:
        """An integer as a sum of names that are not sums themselves; None if its name has several values at a time."""
        if isinstance(number, Const):
            return Sum(number=number.value) if type(number.value) is int else None
        if not isinstance(number, Name):
            return None
        if number.id not in self._sums:
            self._sums[number.id] = self._made(number.id)
        return self._sums[number.id]

    def _made(self, name: str) -> Sum | None:
        defs = self.scopes.defs.get(name, [])
        if (len(defs) > 1 or (defs and name in self.scopes.params)) and self.carriers(name) is None:
            return None
        if len(defs) != 1 or not isinstance(defs[0], Assign):
            return Sum.of(name)
        return self._value(defs[0]) or Sum.of(name)

    def _value(self, made: Assign) -> Sum | None:
        """What computes a name, as a sum of others; None if it is not one."""
        value = made.value
        if isinstance(value, Name | Const):
            return self.bound(value, made)
        if not isinstance(value, Op) or value.fn not in ("+", "-", "*", "neg"):
            return None
        parts = [self.bound(arg, made) for arg in value.args]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        if value.fn == "neg":
            return known[0].times(-1)
        first, second = known
        if value.fn == "*":
            found = first.product(second)
        else:
            found = first.plus(second, 1 if value.fn == "+" else -1)
        return found if len(found.terms) <= _TERMS else None

    def bound(self, number: Expr, reader: Stmt) -> Sum | None:
        """A number that a statement reads, as a sum; None if one of its names may be another one later."""
        sum_ = self.sum(number)
        return sum_ if sum_ is not None and self.defined_once(sum_, self.scopes.of.get(reader.key)) else None

    def defined_once(self, sum_: Sum, here: Scope | None) -> bool:
        """Whether the names of a sum have one value from where they are read to the end of an iteration."""
        for name in sum_.names():
            carriers = self.carriers(name)
            if carriers is None or (carriers and (here is None or not all(here.inside(one) for one in carriers))):
                return False
        return True

    def carriers(self, name: str) -> tuple[Scope, ...] | None:
        """The bodies of the loops that carry a name; None if it is set in another way than once, or in two branches."""
        defs = self.scopes.defs.get(name, [])
        if len(defs) < 2 and not (defs and name in self.scopes.params):
            return ()
        if name not in self._carried:
            self._carried[name] = None if name in self.scopes.params else self._carriers(defs)
        return self._carried[name]

    def _carriers(self, defs: list[Stmt]) -> tuple[Scope, ...] | None:
        first, *others = (self.scopes.of[made.key] for made in defs)
        found = [self._ends(made, first) for made in defs[1:]]
        if None not in found and isinstance(defs[0], Assign):
            return tuple(dict.fromkeys(region for region in found if region is not None))
        (other, *more) = others
        two_ways = isinstance(first.owner, If) and first.owner is other.owner and first is not other and not more
        return () if two_ways and all(map(_is_last, defs, (first, other))) else None

    def _ends(self, made: Stmt, outside: Scope) -> Scope | None:
        """The body of the loop, inside a region, of which a copy ends an iteration."""
        here = self.scopes.of[made.key]
        while here is not outside and here.parent is not None and here.inside(outside) and _is_last(made, here):
            if here.is_loop:
                return here
            if here.owner is None:
                break
            made, here = here.owner, here.parent
        return None

    def known(self, sums: Iterable[Sum], here: Scope | None) -> list[Sum]:
        """Sums that are zero or more: about the names of others, those that they depend on, and the loops around."""
        around = [] if here is None else [loop.owner.var for loop in here.loops() if isinstance(loop.owner, For)]
        pending = [*around, *sorted({name for sum_ in sums for name in sum_.names()})]
        seen: set[str] = set()
        found: list[Sum] = []
        stepping: list[For] = []
        while pending and len(seen) < _NAMES:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            facts = self._facts.get(name)
            if facts is None:
                facts = self._facts[name] = self.of_name(name)
            loop = self.loops.get(name)
            if loop is not None and not isinstance(loop.step, Const):
                stepping.append(loop)
            for fact in facts:
                if self.defined_once(fact, here):
                    found.append(fact)
                    pending += sorted(fact.names() - seen)
        for loop in stepping:
            found += self._stepping(loop, found, here)
        return found

    def of_name(self, name: str) -> list[Sum]:
        """What the loop or the definition of a name says of it: sums that are zero or more."""
        loop = self.loops.get(name)
        itself = Sum.of(name)
        if loop is not None:
            step = loop.step.value if isinstance(loop.step, Const) else None
            return self._within(loop, Sum(number=step), step > 0) if isinstance(step, int) and step else []
        defs = self.scopes.defs.get(name, [])
        if len(defs) != 1 or not isinstance(defs[0], Assign) or not isinstance(defs[0].value, Op):
            return []
        value = defs[0].value
        args = [self.bound(arg, defs[0]) for arg in value.args if isinstance(arg, Name | Const)]
        match value.fn:
            case "dim":
                return [itself]
            case "load":
                return self._looked_up(value, defs[0])
            case "max":
                return [itself.plus(arg, -1) for arg in args if arg is not None]
            case "min":
                return [arg.plus(itself, -1) for arg in args if arg is not None]
            case "//" | "%" if len(args) == 2 and args[0] is not None and args[1] is not None:
                if not args[1].terms and args[1].number > 0:
                    rest = args[0].plus(itself, -args[1].number) if value.fn == "//" else itself
                    return [rest, Sum(number=args[1].number - 1).plus(rest, -1)]
        return []

    def _looked_up(self, load: Op, made: Assign) -> list[Sum]:
        """The same of a place that is looked up in a row of a parameter, where those of its rows are known."""
        array, *index = load.args
        below = self.scopes.below.get(array.id) if isinstance(array, Name) else None
        row = self.bound(index[0], made) if below is not None else None
        if below is None or not self.never_negative(row, self.scopes.of[made.key]):
            return []
        assert row is not None
        itself = Sum.of(made.target)
        least = row.plus(Sum(number=below.number - 1)).plus(itself, -1)
        for parameter, axis, factor in below.extents:
            extent = self._extents.get((parameter, axis))
            if extent is None:
                return [itself]
            least = least.plus(Sum.of(extent), factor)
        return [itself, least]

    @cached_property
    def _extents(self) -> dict[tuple[str, int], str]:
        """Names of extents of parameters."""
        found: dict[tuple[str, int], str] = {}
        for name, defs in self.scopes.defs.items():
            match defs:
                case [Assign(value=Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))))]:
                    if array in self.scopes.params:
                        found.setdefault((array, axis), name)
        return found

    def _within(self, loop: For, step: Sum, up: bool) -> list[Sum]:
        """Between which bounds a loop's variable is in its iterations, which count up or down."""
        itself, sign = Sum.of(loop.var), 1 if up else -1
        first, behind = self.bound(loop.start, loop), self.bound(loop.stop, loop)
        found = [] if first is None else [itself.plus(first, -1).times(sign)]
        if behind is not None:
            # where the bounds are whole steps apart, the last iteration is a step before the end
            whole = first is not None and _divides(step, behind.plus(first, -1))
            last = behind.plus(step if whole else Sum(number=sign), -1)
            found.append(last.plus(itself, -1).times(sign))
        return found

    def _stepping(self, loop: For, known: list[Sum], here: Scope | None) -> list[Sum]:
        """The same of a loop whose step is known to be positive, or negative."""
        step = self.bound(loop.step, loop)
        if step is None:
            return []
        for sign in (1, -1):
            # less than one
            if contradict([step.times(-sign), *known]):
                return [fact for fact in self._within(loop, step, sign > 0) if self.defined_once(fact, here)]
        return []


def _never_zero(sum_: Sum, known: list[Sum]) -> bool:
    """Whether a sum is never zero while others are zero or more."""
    if not sum_.terms:
        return sum_.number != 0
    if sum_.number % gcd(*(factor for _, factor in sum_.terms)):
        return True
    return contradict([sum_, sum_.times(-1), *_with_products(sum_, known)])


def _with_products(sum_: Sum, known: list[Sum]) -> list[Sum]:
    """What is known, and what follows from it for the products of names in a sum: bounds times what is not negative."""
    products = {tuple(name.split("*")) for one in (sum_, *known) for name, _ in one.terms if "*" in name}
    found = list(dict.fromkeys(known))
    for product in sorted(products):
        for place, name in enumerate(product):
            others = [*product[:place], *product[place + 1 :]]
            if all(contradict([Sum.of(other).times(-1).plus(_ONE, -1), *known]) for other in others):
                times = Sum.of("*".join(others))
                found += [one.product(times) for one in known if one.factor(name)]
    return found


def _divides(step: Sum, sum_: Sum) -> bool:
    """Whether a sum is a multiple of a step, which is a number, or a product of names with a factor."""
    if not step.terms:
        factors = (sum_.number, *(factor for _, factor in sum_.terms))
        return step.number != 0 and all(factor % step.number == 0 for factor in factors)
    ((name, factor), *more) = step.terms
    if more or step.number or sum_.number:
        return False
    for product, times in sum_.terms:
        rest = product.split("*")
        for part in name.split("*"):
            if part not in rest:
                return False
            rest.remove(part)
        if times % factor:
            return False
    return True


def _is_last(stmt: Stmt, region: Scope) -> bool:
    """Whether nothing but copies follow a statement in a block."""
    block = region.block
    place = next(k for k, one in enumerate(block) if one is stmt)
    return all(isinstance(one, Assign) and isinstance(one.value, Name | Const) for one in block[place + 1 :])
