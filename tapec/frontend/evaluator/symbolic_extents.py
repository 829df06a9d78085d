"""What is known of extents by integers as sums: of `x[i:]`, `x[1:n + 1]`, `image[a:a + h]`.

Slices with the same bounds of axes that are equally long are equally long, whatever the bounds are.  Slices with other
bounds may have the same *nominal* extent, that of slices which no array cuts short: `n` for `u[1:n + 1]` and
`u[2:n + 2]`, `h` for `image[a:a + h]`.  Their extents differ only where an array ends before its slice does.

A part of an extent (`h = b.shape[0] // 4`, for gates that stand one behind the other) is an integer by itself, of which
there are four at least on the axis.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from tapec.syntax.core import Atom, Const, Name
from tapec.syntax.linear import Sum

# an axis of an array
Axis = tuple[str, int]
# beyond that many names, a sum is a name of its own
_MOST = 4


class ExtentPart(NamedTuple):
    """A parameter's extent, divided by a number and rounded down."""

    parameter: str
    axis: int
    divisor: int = 1

    @property
    def name(self) -> str:
        """What sums call it."""
        whole = f"{self.parameter}.shape[{self.axis}]"
        return whole if self.divisor == 1 else f"{whole}//{self.divisor}"


class AssumedExtents:
    """Extents of parameters that are taken to be others, or sums of others (`w.shape[1]` of `3 * w.shape[0]`).

    sums     what an extent is taken to be, by name
    parts    what a name in sums is
    settled  whether nothing has been added since that was set
    certain  whether operands are equally long wherever they are in the program without what is taken
    """

    def __init__(self) -> None:
        self.sums: dict[str, Sum] = {}
        self.parts: dict[str, ExtentPart] = {}
        self.settled = True
        self.certain = True

    def extent(self, part: ExtentPart) -> Sum:
        """An extent, or a part of one, by its name."""
        self.parts[part.name] = part
        return Sum.of(part.name)

    def of(self, sum_: Sum) -> Sum:
        """A sum of extents that are taken to be nothing else."""
        while sum_.names() & self.sums.keys():
            sum_ = sum_.with_(self.sums)
        return sum_

    def unify(self, one: Sum, other: Sum, numbers: bool = False) -> None:
        """Take two sums to be equal, if one of the extents is a sum of the others then, or a number where `numbers`."""
        rest = self.of(one).plus(self.of(other), -1)
        # the later operand's extent before the earlier one's
        found = [
            (name, Sum.of(name).plus(rest, -sign))
            for sign in (-1, 1)
            for name, own in rest.terms
            if own == sign and self.parts[name].divisor == 1
        ]
        # nothing is subtracted where that can be: of such sums more is certain
        found.sort(key=lambda taken: taken[1].number < 0 or any(factor < 0 for _, factor in taken[1].terms))
        for name, sum_ in found:
            if sum_.terms or (numbers and sum_.number > 0):
                self.sums[name] = sum_
                self.settled = False
                return

    def bears_on(self, part: ExtentPart) -> bool:
        """Whether another extent is taken to be a sum with this one."""
        own = self.extent(part).names()
        return any(own & self.of(sum_).names() for sum_ in self.sums.values())


class ExtentSums:
    """What integers are sums of, by name, and the nominal extents of arrays' axes.

    assumed   extents of parameters that are taken to be equal; None where none is
    own_axes  of which parameter's axis a name is the extent, or a part of it
    counts    names of extents, of whatever array: none of them is negative
    """

    def __init__(self) -> None:
        self.assumed: AssumedExtents | None = None
        self.own_axes: dict[str, ExtentPart] = {}
        self.counts: set[str] = set()
        self._sums: dict[str, Sum] = {}
        # products of several names, as terms of sums are written (`h*n*w`)
        self._products: dict[str, Sum] = {}
        self._nominal: dict[tuple[str, int], Sum] = {}
        # names of extents: nominally
        self._meant: dict[str, Sum] = {}

    def note(self, name: str, fn: str, operands: tuple[Atom, ...]) -> None:
        """Remember that an operation on integers sets a name."""
        if fn == "//":
            self._note_part(name, *operands)
        if fn not in ("+", "-", "*") or len(operands) != 2:
            return
        first, second = map(self.sum, operands)
        if fn != "*":
            made = first.plus(second, 1 if fn == "+" else -1)
        elif second.terms and first.terms:
            self._note_product(name, *operands)
            return
        else:
            one, factor = (first, second) if first.terms else (second, first)
            made = one.times(factor.number)
        if len(made.terms) <= _MOST:
            self._sums[name] = made

    def _note_part(self, name: str, dividend: Atom, divisor: Atom) -> None:
        """Remember a part of an extent; of a sum that can be divided without a rest, what is left."""
        whole, by = self.sum(dividend), self.sum(divisor)
        if by.terms or by.number < 2:
            return
        if all(factor % by.number == 0 for factor in (whole.number, *(factor for _, factor in whole.terms))):
            terms = tuple((one, factor // by.number) for one, factor in whole.terms)
            self._sums[name] = Sum(terms, whole.number // by.number)
            return
        (one, factor), *others = whole.terms or (("", 0),)
        part = self.own_axes.get(one)
        if part is not None and part.divisor == factor == 1 and not others and whole.number == 0:
            self.own_axes[name] = part._replace(divisor=by.number)

    def _note_product(self, name: str, one: Atom, other: Atom) -> None:
        made = self._product(one).product(self._product(other))
        if len(made.names()) <= _MOST and len(made.terms) == 1 and made.number == 0:
            self._products[name] = made

    def _product(self, atom: Atom) -> Sum:
        """An integer as a product, if it is known as one."""
        known = self._products.get(atom.id) if isinstance(atom, Name) else None
        return known or self.sum(atom).with_(self._products)

    def quotient(self, dividend: Atom, divisor: Atom) -> tuple[int, tuple[str, ...]] | None:
        """A product divided by some of its factors, which are not zero: a number, and names; None for what has others.

        >>> sums = ExtentSums()
        >>> sums.note("t", "*", (Name("n"), Name("h")))
        >>> sums.note("size", "*", (Name("t"), Const(8)))
        >>> sums.quotient(Name("size"), Name("t")), sums.quotient(Name("size"), Name("h"))
        ((8, ()), (8, ('n',)))
        """
        whole, by = _factors(self._product(dividend)), _factors(self._product(divisor))
        if whole is None or by is None or whole[0] % by[0]:
            return None
        rest = Counter(whole[1])
        rest.subtract(by[1])
        if any(count < 0 for count in rest.values()):
            return None
        return whole[0] // by[0], tuple(rest.elements())

    def never_negative(self, sum_: Sum) -> bool:
        """Whether a sum of extents and parts of them is none of the negative numbers, whatever the extents are."""
        # what is left of a whole once parts have been taken from it
        rests: set[str] = set()
        for name, factor in sum_.terms:
            part = self.own_axes.get(name)
            if factor > 0 or part is None or part.divisor == 1:
                continue
            for whole, _ in sum_.terms:
                if self.own_axes.get(whole) == part._replace(divisor=1):
                    rests.add(rest := f"{whole}-{name}")
                    sum_ = sum_.with_({whole: Sum.of(name).times(part.divisor).plus(Sum.of(rest))})
        known = rests.union(self.own_axes)
        return sum_.number >= 0 and all(factor > 0 and name in known for name, factor in sum_.terms)

    def is_count(self, atom: Atom) -> bool:
        """Whether an integer is surely not negative: a sum of products of extents is none."""
        sum_ = self.sum(atom).with_(self._products)
        if sum_.number >= 0 and all(
            factor > 0 and all(name in self.counts or name in self.own_axes for name in product.split("*"))
            for product, factor in sum_.terms
        ):
            return True
        return self.never_negative(sum_)

    def note_extent(self, name: str, array: str, axis: int) -> None:
        """Remember that a name is the extent of an array's axis."""
        self.counts.add(name)
        if (array, axis) in self._nominal:
            self._meant[name] = self._nominal[array, axis]

    def note_slice(self, view: str, axis: int, owner: Sum | None, low: Sum, high: Sum | None) -> None:
        """Remember the nominal extent of a slice of an axis that has one itself."""
        behind = owner if high is None else high
        if behind is not None and _is_from_front(low) and (high is None or _is_from_front(high)):
            self._nominal[view, axis] = self.meant(behind).plus(self.meant(low), -1)

    def forget(self, name: str) -> None:
        """Forget a name: it is given to something else."""
        self._sums.pop(name, None)
        self._products.pop(name, None)
        self._meant.pop(name, None)
        self.own_axes.pop(name, None)
        self.counts.discard(name)
        axis = 0
        while self._nominal.pop((name, axis), None) is not None:
            axis += 1

    def rename(self, old: str, new: str) -> None:
        """What is known of `old` holds for `new`."""
        tables: tuple[dict[str, Any], ...] = (self._sums, self._products, self._meant, self.own_axes)
        for table in tables:
            if old in table:
                table[new] = table.pop(old)
        if old in self.counts:
            self.counts.remove(old)
            self.counts.add(new)
        for array, axis in [key for key in self._nominal if key[0] == old]:
            self._nominal[new, axis] = self._nominal.pop((array, axis))

    def sum(self, atom: Atom) -> Sum:
        """An integer as a sum that it is."""
        if isinstance(atom, Const):
            value: Any = atom.value
            return Sum(number=value)
        return self._sums.get(atom.id) or Sum.of(atom.id)

    def meant(self, sum_: Sum) -> Sum:
        """A sum with nominal extents in place of extents."""
        made = Sum(number=sum_.number)
        for name, factor in sum_.terms:
            made = made.plus(self._meant.get(name) or Sum.of(name), factor)
        return made

    def is_slice(self, array: str, axis: int) -> bool:
        """Whether an axis is what a slice has taken."""
        return (array, axis) in self._nominal

    def nominal(self, array: str, axis: int, extent: Atom | None) -> Sum | None:
        """The nominal extent of an axis, which has an extent if that has been asked for; None if it is not known."""
        known = self._nominal.get((array, axis))
        return known if known is not None or extent is None else self.meant(self.sum(extent))


def _factors(product: Sum) -> tuple[int, list[str]] | None:
    """The number and the names of a product other than zero; None for a sum."""
    if not product.terms:
        return (product.number, []) if product.number else None
    if product.number or len(product.terms) > 1:
        return None
    ((names, factor),) = product.terms
    return factor, names.split("*")


def _is_from_front(bound: Sum) -> bool:
    """Whether a bound of a slice is not counted from the end, as far as its text says."""
    return bool(bound.terms) or bound.number >= 0
