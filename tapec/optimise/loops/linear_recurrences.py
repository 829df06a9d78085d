"""What an iteration of a recurrence computes from the value before, as a weight and a rest.

    t = 0.5 * c                               w = 0.5 if near else 0.0
    s = t if near else 0.0        ->          r = a[i] + z
    u = a[i] + s                              u = r if w == 0.0 else r + w * c
    v = u + z

Neither weight nor rest needs `c`, so that they can be computed for all iterations before, side by side, and from
iteration to iteration there are one product and one sum.  Where a branch does not choose `c`, it must not come in as 0
times infinity: such a weight is compared with zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tapec.errors import Span
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Assign, Atom, Const, Name, Op, Stmt, names_in, substitute
from tapec.syntax.types import FLOAT64, Scalar

_ZERO, _ONE = Const(0.0), Const(1.0)
# what takes no longer than a load or two
_CHEAP = frozenset({"load", "neg"})


class WeightedPart:
    """A part of a loop's body in a loop of its own: what some of its values need, under names of its own.

    body    the definitions that it may take, one per name
    known   what stands for names that are not defined there, such as the loop's variable
    """

    def __init__(self, body: Iterable[Stmt], known: dict[str, Atom], fresh: Fresh) -> None:
        self.definitions = {stmt.target: stmt for stmt in body if isinstance(stmt, Assign)}
        self.known = dict(known)
        self.fresh = fresh
        self.stmts: list[Stmt] = []

    def value(self, atom: Atom) -> Atom:
        """The atom as this part has it, computed if it has not been."""
        if isinstance(atom, Const):
            return atom
        made = self.definitions.get(atom.id)
        if atom.id not in self.known and made is not None:
            mine = {name: self.value(Name(name)) for name in names_in(made.value)}
            name = self.fresh(atom.id, self.fresh.types[atom.id])
            self.stmts.append(Assign(name, substitute(made.value, dict(mine)), made.span))
            self.known[atom.id] = Name(name)
        return self.known.get(atom.id, atom)

    def computed(self, fn: str, *args: Atom, span: Span | None) -> Atom:
        """A number of this part's own."""
        name = self.fresh("t", FLOAT64)
        self.stmts.append(Assign(name, Op(fn, args), span))
        return Name(name)

    def is_cheap(self, atom: Atom) -> bool:
        """Whether an atom of this part costs a load at most: it had better be computed again than kept."""
        mine = {stmt.target: stmt.value for stmt in self.stmts if isinstance(stmt, Assign)}
        pending = [atom]
        while pending:
            one = pending.pop()
            made = mine.get(one.id) if isinstance(one, Name) else None
            if made is None:
                continue
            assert isinstance(one, Name)
            type_ = self.fresh.types[one.id]
            whole = isinstance(type_, Scalar) and not type_.is_float
            if not whole and not (isinstance(made, Op) and made.fn in _CHEAP):
                return False
            pending += [Name(name) for name in names_in(made)]
        return True


@dataclass(frozen=True)
class LinearForm:
    """A number as `weight * c + rest`; None is zero.  If `chosen`, a weight of zero may mean that `c` is not used."""

    weight: Atom | None
    rest: Atom | None
    chosen: bool = False


class Weights:
    """Writes numbers as lines in `carried`, in a part of the loop that runs before."""

    def __init__(self, part: WeightedPart, carried: str, depends: Callable[[str], bool]) -> None:
        self.part = part
        self.carried = carried
        self.depends = depends
        self._lines: dict[str, LinearForm | None] = {}

    def line(self, atom: Atom) -> LinearForm | None:
        """An atom of the loop's body as such a line; None if it is none."""
        if isinstance(atom, Const):
            return LinearForm(None, None if atom == _ZERO else atom)
        if atom.id == self.carried:
            return LinearForm(_ONE, None)
        if not self.depends(atom.id):
            return LinearForm(None, self.part.value(atom))
        if atom.id not in self._lines:
            made = self.part.definitions[atom.id]
            self._lines[atom.id] = self.of(made) if self.part.fresh.types[atom.id] == FLOAT64 else None
        return self._lines[atom.id]

    def of(self, made: Assign) -> LinearForm | None:
        value, span = made.value, made.span
        if isinstance(value, Name | Const):
            return self.line(value)
        if any(isinstance(arg, Op) for arg in value.args):
            return None
        args = [arg for arg in value.args if isinstance(arg, Name | Const)]
        match value.fn, args:
            case "ifelse", [test, first, second]:
                if isinstance(test, Name) and self.depends(test.id):
                    return None
                one, other = self.line(first), self.line(second)
                return None if one is None or other is None else self.either(self.part.value(test), one, other, span)
            case "neg", [first]:
                one = self.line(first)
                return None if one is None else self.scaled(one, "*", Const(-1.0), span)
            case "+" | "-", [first, second]:
                one, other = self.line(first), self.line(second)
                return None if one is None or other is None else self.both(value.fn, one, other, span)
            case "*" | "/", [first, second]:
                one, other = self.line(first), self.line(second)
                if one is None or other is None:
                    return None
                if value.fn == "*" and one.weight is None:
                    one, other = other, one
                factor = other.rest
                return None if other.weight is not None or factor is None else self.scaled(one, value.fn, factor, span)
        return None

    def either(self, test: Atom, one: LinearForm, other: LinearForm, span: Span | None) -> LinearForm:
        def choice(first: Atom | None, second: Atom | None) -> Atom | None:
            if first == second:
                return first
            return self.part.computed("ifelse", test, first or _ZERO, second or _ZERO, span=span)

        chosen = one.chosen or other.chosen or (one.weight is None) != (other.weight is None)
        return LinearForm(choice(one.weight, other.weight), choice(one.rest, other.rest), chosen)

    def both(self, sign: str, one: LinearForm, other: LinearForm, span: Span | None) -> LinearForm:
        def sum_of(first: Atom | None, second: Atom | None) -> Atom | None:
            if second is None:
                return first
            if first is None:
                return second if sign == "+" else self.times(second, "*", Const(-1.0), span)
            return self.part.computed(sign, first, second, span=span)

        chosen = all(line.chosen or line.weight is None for line in (one, other))
        return LinearForm(sum_of(one.weight, other.weight), sum_of(one.rest, other.rest), chosen)

    def scaled(self, line: LinearForm, fn: str, factor: Atom, span: Span | None) -> LinearForm:
        weight = None if line.weight is None else self.times(line.weight, fn, factor, span)
        rest = None if line.rest is None else self.times(line.rest, fn, factor, span)
        return LinearForm(weight, rest, line.chosen)

    def times(self, atom: Atom, fn: str, factor: Atom, span: Span | None) -> Atom:
        if isinstance(atom, Const) and isinstance(factor, Const) and fn == "*":
            assert isinstance(atom.value, int | float) and isinstance(factor.value, int | float)
            return Const(float(atom.value * factor.value))
        if factor == Const(-1.0):
            return self.part.computed("neg", atom, span=span)
        if atom == _ONE and fn == "*" and isinstance(factor, Name) and self.part.fresh.types[factor.id] == FLOAT64:
            return factor
        return self.part.computed(fn, atom, factor, span=span)
