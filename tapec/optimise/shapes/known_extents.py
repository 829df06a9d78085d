"""Whether a bound is the extent of an array, by where the array comes from and by what is known to be equal.

Extents are equal that a product multiplies over, and those that a version of the program asks for at its start: others
go to another version.
"""

from __future__ import annotations

from collections import Counter

from tapec.analyses.aliases import ALLOCATIONS
from tapec.analyses.array_axes import ArrayAxes, IndexSum
from tapec.analyses.facts import facts
from tapec.analyses.merged_extents import EqualExtents, pushed_on_lists
from tapec.optimise.shapes.versions import OTHER_VERSION
from tapec.syntax.core import Assign, Const, Expr, Function, If, Name, Op, Raise, walk, writes


class KnownExtents:
    """Answers for the arrays of a function, whose loops are those of `axes`."""

    def __init__(self, function: Function, axes: ArrayAxes) -> None:
        self.axes = axes
        self.extents = EqualExtents(function.types, facts(function).scopes, *pushed_on_lists(function))
        self.sets: Counter[str] = Counter(name for stmt in walk(function.body) for name in writes(stmt))
        self.sets.update(function.params)
        # of two keys that are equal, one by the other
        self.same: dict[object, object] = {}
        for stmt in function.body:
            match stmt:
                case If(test=test, body=(), orelse=(Raise(exception=exception),)) if exception == OTHER_VERSION:
                    self._hold(test)
                case Assign(value=Op(fn="np.dot", args=(Name(id=left), Name(id=right)))):
                    last = Op("dim", (Name(left), Const(self.extents.rank(left) - 1)))
                    self._hold(Op("==", (last, Op("dim", (Name(right), Const(0))))))

    def ends(self, array: str, axis: int, high: IndexSum) -> bool:
        """Whether a bound is the extent of an axis."""
        extent = self.extent(array, axis)
        if high.number == 0 and len(high.names) == 1:
            return self._root(self._key(Name(high.names[0]))) == self._root(self._key(extent))
        return not high.names and extent == Const(high.number)

    def extent(self, array: str, axis: int) -> Expr:
        """The extent of an axis, by where the array comes from."""
        seen: set[tuple[str, int]] = set()
        while (array, axis) not in seen:
            seen.add((array, axis))
            found = self.extents.extent(array, axis)
            if found is not None:
                return found
            match self.axes.definitions.get(array, ()):
                case [Assign(value=Op(fn=fn, args=args))] if fn in ALLOCATIONS and self.sets[array] == 1:
                    return args[axis + 1]
                case [Assign(value=value)] if (source := self.extents.source(value, axis)) is not None:
                    array, axis = source
        return Op("dim", (Name(array), Const(axis)))

    def _hold(self, test: Expr) -> None:
        """Note the equal extents of a condition that holds."""
        match test:
            case Name(id=name):
                match self.axes.definitions.get(name, ()):
                    case [Assign(value=value)]:
                        self._hold(value)
            case Op(fn="and", args=args):
                for arg in args:
                    self._hold(arg)
            case Op(fn="==", args=(first, second)):
                one, two = self._root(self._key(first)), self._root(self._key(second))
                if one != two:
                    self.same[one] = two

    def _key(self, extent: Expr) -> object:
        """What an extent is known by: the array and axis that it was asked of, or its name."""
        match extent:
            case Name(id=name) | Op(fn="dim", args=(Name(id=name), _)) if self.sets[name] > 1:
                # another one by now, perhaps
                return object()
            case Name(id=name):
                match self.axes.definitions.get(name, ()):
                    case [Assign(value=Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))))]:
                        asked = self.extent(array, axis)
                        return name if asked == extent else self._key(asked)
                return name
            case Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))):
                asked = self.extent(array, axis)
                return (array, axis) if asked == extent else self._key(asked)
            case Const(value=number):
                return number
        return extent

    def _root(self, key: object) -> object:
        while key in self.same:
            key = self.same[key]
        return key
