"""Where two ways of a branch meet: the partial derivatives beside numbers there, and of what the ways have stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from tapec.syntax.core import Atom, Const, Expr, Name, zero_of
from tapec.syntax.types import INT64, Array, Scalar, Type
from tapec.transforms.emitter import Emitter


@dataclass(frozen=True, eq=False)
class Read:
    """A place in the program that reads an element of a source; `column` is its number, where that is asked for."""

    column: Atom = Const(0)


# the partial derivatives beside a number, by the reads that it depends on
Partials = dict[Read, Expr]


@dataclass(frozen=True)
class Stored:
    """What is stored in an element of a result; what a result is that is a number, without subscripts."""

    array: str
    index: tuple[Atom, ...]
    partials: Partials
    accumulate: bool = False


@dataclass(frozen=True)
class Meeting:
    """The point where two ways of a branch meet.

    only_reads  whether the partial derivatives themselves are not asked for
    joined  whether both ways count: then reads stay what they are; else one of each way are one behind the branch
    """

    types: dict[str, Type]
    only_reads: bool
    first: Emitter
    second: Emitter
    joined: bool
    pairs: dict[tuple[Read | None, Read | None], Read] = field(default_factory=dict)

    def partials(self, name: str, first: Partials, second: Partials) -> Partials:
        type_ = self.types[name]
        assert isinstance(type_, Scalar)
        # of both ways, or of no way
        same = {one: None for one in (*first, *second) if self.joined or (one in first and one in second)}
        found = {one: self.value(first.get(one), second.get(one), type_) for one in same}
        own, others = ([one for one in part if one not in same] for part in (first, second))
        for pair in zip_longest(own, others):
            if pair not in self.pairs:
                self.pairs[pair] = Read(self.column(*pair))
            one, other = pair
            found[self.pairs[pair]] = self.value(first.get(one), second.get(other), type_)
        return found

    def stored(self, first: list[Stored], second: list[Stored]) -> Iterator[Stored]:
        """What the ways store: zeros where the other one has been taken."""
        others = list(second)
        for one in first:
            same = (other for other in others if (other.array, other.index) == (one.array, one.index))
            match = next(same, None)
            if match is not None and not one.accumulate and not match.accumulate:
                others.remove(match)
                yield self.merged(one, one.partials, match.partials)
            else:
                yield self.merged(one, one.partials, {})
        for other in others:
            yield self.merged(other, {}, other.partials)

    def merged(self, stored: Stored, first: Partials, second: Partials) -> Stored:
        type_ = self.types[stored.array]
        assert isinstance(type_, Array)
        together = {one: self.value(first.get(one), second.get(one), type_.element) for one in (*first, *second)}
        return replace(stored, partials=together)

    def value(self, first: Expr | None, second: Expr | None, type_: Scalar) -> Expr:
        """A number that is one or the other."""
        if first == second and first is not None:
            return first
        if self.only_reads:
            return Const(0.0)
        made = self.first.fresh("partial", type_)
        for way, value in ((self.first, first), (self.second, second)):
            way.assign(made, zero_of(type_) if value is None else way.atom(value, type_))
        return Name(made)

    def column(self, first: Read | None, second: Read | None) -> Atom:
        columns = [Const(0) if one is None else one.column for one in (first, second)]
        if not self.only_reads:
            return Const(0)
        made = self.first.fresh("column", INT64)
        for way, value in zip((self.first, self.second), columns, strict=True):
            way.assign(made, value)
        return Name(made)
