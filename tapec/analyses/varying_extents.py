"""Names that stand for arrays of several extents, and numbers that change and decide extents.

    for k in range(n - 1):
        w = np.empty(v.shape[0] - 1)
        ...
        v = w

Where a function is compiled with `parallel=True`, Numba takes what one name is bound to for arrays of one shape, and
for one number: after `v = w` axes of `n` elements and of `n - 1` are the same to it, and what it gives to threads has
wrong strides.  It is right wherever all that a name stands for has the same extents.  So this is assumed of all names
at first, of what a loop carries, too, and those for which it does not follow from itself are left.

It is right about a name that each branch of an `if` sets once.  So the text must not set it before the `if` and in one
branch again, as it would where a copy in a branch has the name of what it copies (`apart`).

Of the result of a function that it does not know, Numba assumes nothing; so numbers that change can be hidden from it.
"""

from __future__ import annotations

from tapec.analyses.aliases import ALLOCATIONS, PRODUCTS, as_large
from tapec.analyses.scopes import scopes
from tapec.syntax.core import Assign, Const, Expr, For, Function, Name, Op, Push, Stmt, walk, writes
from tapec.syntax.linear import Sum
from tapec.syntax.types import Array, Scalar, Stack

# what an expression is followed through at most
_DEEP = 100


def varying_extents(function: Function) -> str | None:
    """A name because of which Numba takes extents for equal that are not; None if there is none."""
    return VaryingExtents(function).found()


class VaryingExtents:
    """What changes in a function, of extents and integers."""

    def __init__(self, function: Function) -> None:
        self.types = function.types
        self.scopes = scopes(function)
        # what each name may stand for, a list for what was pushed on it; None for what is not known
        self.ways: dict[str, list[Expr | None]] = {}
        for stmt in walk(function.body):
            self.note(stmt)
        for name in function.params:
            if name in self.ways:
                self.ways[name].insert(0, None)
        several = {name for name, ways in self.ways.items() if len(ways) > 1}
        # names that stand for one number, or for arrays of the same extents, unless that is refuted
        self.one = {name for name in several if self.is_array(name) or self.is_integer(name)}
        self.one |= {name for name in self.ways if isinstance(self.types.get(name), Stack)}
        # the numbers of what is no sum, and the names that such a thing depends on
        self.numbers: dict[tuple[object, ...], str] = {}
        self.origins: dict[str, frozenset[str]] = {}
        # answers under the present assumption; what is being asked
        self.known: dict[object, Sum] = {}
        self.asked: set[object] = set()
        self.refuted: set[str] = set()
        while wrong := {name for name in self.one if not self.agree(name)}:
            self.one -= wrong
            self.refuted |= wrong
            self.known.clear()

    def note(self, stmt: Stmt) -> None:
        match stmt:
            case Assign(value=Op(fn="stack")) | For():
                # a list that is empty; each loop has a variable of its own
                pass
            case Assign(target=name, value=value):
                self.ways.setdefault(name, []).append(value)
            case Push(stack=name, value=value):
                self.ways.setdefault(name, []).append(value)
            case _:
                for name in writes(stmt):
                    self.ways.setdefault(name, []).append(None)

    def is_array(self, name: str) -> bool:
        return isinstance(self.types.get(name), Array)

    def is_integer(self, name: str) -> bool:
        type_ = self.types.get(name)
        return isinstance(type_, Scalar) and not type_.is_float and type_.dtype != "bool"

    # what is refuted

    def found(self) -> str | None:
        carried = sorted(name for name in self.refuted if self.carried(name))
        arrays, numbers = list(filter(self.is_array, carried)), list(filter(self.is_integer, carried))
        if arrays or not numbers:
            return arrays[0] if arrays else None
        # without those that are hidden from it
        compared = {_apart_from_number(size) for size in self.compared() if not self.on_carried(size)}
        return next((name for name in numbers if self.joins(name, compared)), None)

    def carried(self, name: str) -> bool:
        return name in self.scopes.scope_of and self.scopes.loop_of(name) is not None

    def on_carried(self, size: Sum) -> bool:
        return any(map(self.carried, self.refuted & self.depends(size)))

    def compared(self) -> list[Sum]:
        """What Numba compares: extents, and bounds of slices."""
        found = [extent for name in self.types if self.is_array(name) for extent in self.extents(name)]
        return found + [part for made in self.numbers for part in made if isinstance(part, Sum)]

    def changing(self, size: Expr) -> bool:
        """Whether a size depends on an integer that a loop changes."""
        return self.on_carried(self.size(size))

    def apart(self) -> list[tuple[str, str]]:
        """Copies in branches that need a name of their own, with what they copy."""
        decide = frozenset().union(*map(self.depends, self.compared()))
        found = []
        for name in sorted(self.refuted):
            if not self.carried(name) and (self.is_array(name) or name in decide):
                values = [made.value for made in self.scopes.defs.get(name, ()) if isinstance(made, Assign)]
                found += [(name, value.id) for value in values if isinstance(value, Name)]
        return found

    def agree(self, name: str) -> bool:
        """Whether all that a name may stand for is alike, if that holds of the names that remain."""
        ways = self.ways[name]
        if None in ways:
            return False
        if self.is_integer(name):
            return len({self.size(way) for way in ways if way is not None}) == 1
        held = self.types[name]
        array = held.element if isinstance(held, Stack) else held
        ndim = array.ndim if isinstance(array, Array) else 0
        return all(len({self.part(way, axis) for way in ways if way is not None}) == 1 for axis in range(ndim))

    def joins(self, name: str, compared: set[Sum | int]) -> bool:
        """Whether Numba takes two extents for one because a number is the one and then the other.

        It knows what it adds fixed numbers to.
        """
        values = {self.size(way) for way in self.ways[name] if way is not None}
        return sum(_apart_from_number(value) in compared for value in values) > 1

    def depends(self, size: Sum) -> frozenset[str]:
        """The names that a number is made of."""
        return frozenset().union(*(self.origins.get(part, frozenset({part})) for part in size.names()))

    # extents and other integers as sums

    def size(self, expr: Expr) -> Sum:
        if isinstance(expr, Const):
            return Sum(number=expr.value) if isinstance(expr.value, int) else self.named("const", repr(expr.value))
        if isinstance(expr, Op):
            return self.computed(expr)
        ways = self.ways.get(expr.id, [])
        only = ways[0] if ways and (len(ways) == 1 or expr.id in self.one) else None
        if only is None or not self.is_integer(expr.id):
            return Sum.of(expr.id)
        return self.remembered(expr.id, only, Sum.of(expr.id))

    def remembered(self, key: object, made: Expr, unknown: Sum, axis: int | None = None) -> Sum:
        """What a name stands for; itself if that is being asked already."""
        if key in self.asked or len(self.asked) > _DEEP:
            return unknown
        if key not in self.known:
            self.asked.add(key)
            self.known[key] = self.size(made) if axis is None else self.part(made, axis)
            self.asked.discard(key)
        return self.known[key]

    def computed(self, op: Op) -> Sum:
        match op:
            case Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))):
                return self.extent(array, axis)
            case Op(fn="+" | "-" as fn, args=(one, other)):
                return self.size(one).plus(self.size(other), 1 if fn == "+" else -1)
            case Op(fn="*", args=(one, other)):
                return self.size(one).product(self.size(other))
            case Op(fn="max" | "min" | "//" | "%" as fn, args=args):
                return self.named(fn, *map(self.size, args))
            case Op(fn="cast.int64", args=(one,)):
                return self.size(one)
            case Op(fn="load" | "tapec_runtime.opaque"):
                return self.unlike()
        return self.unlike(*(self.size(arg) for arg in op.args if isinstance(arg, Name)))

    def named(self, *made: object) -> Sum:
        """What is no sum: the same for the same operation on the same numbers."""
        name = self.numbers.setdefault(made, f"#{len(self.numbers)}")
        parts = [self.depends(part) for part in made if isinstance(part, Sum)]
        self.origins[name] = frozenset().union(*parts)
        return Sum.of(name)

    def unlike(self, *made: Sum) -> Sum:
        """A number of which is only known what it depends on."""
        return self.named(len(self.numbers), *made)

    def extents(self, array: str) -> list[Sum]:
        type_ = self.types[array]
        assert isinstance(type_, Array)
        return [self.extent(array, axis) for axis in range(type_.ndim)]

    def extent(self, name: str, axis: int) -> Sum:
        """An extent of an array, or of those on a list."""
        itself = Sum.of(f"{name}.{axis}")
        ways = self.ways.get(name, [])
        only = ways[0] if ways and (len(ways) == 1 or name in self.one) else None
        return itself if only is None else self.remembered((name, axis), only, itself, axis)

    def part(self, value: Expr, axis: int) -> Sum:
        """An extent of what an expression makes."""
        match value:
            case Name(id=array):
                return self.extent(array, axis)
            case Op(fn=fn, args=(_, *sizes)) if fn in ALLOCATIONS:
                return self.size(sizes[axis])
            case Op(fn="reshape", args=(_, *sizes)) if sizes[axis] != Const(-1):
                return self.size(sizes[axis])
            case Op() as value if (operand := as_large(value)) is not None:
                return self.extent(operand, axis)
            case Op(fn="pop", args=(Name(id=stack),)) if stack in self.one:
                return self.extent(stack, axis)
            case Op(fn="transpose", args=(Name(id=array),)):
                return self.extent(array, self.rank(array) - 1 - axis)
            case Op(fn="permute", args=(Name(id=array), *order)) if isinstance(place := order[axis], Const):
                return self.extent(array, int(str(place.value)))
            case Op(fn=fn, args=(Name(id=left), Name(id=right))) if fn in PRODUCTS:
                first = axis == 0 and self.rank(left) == 2
                return self.extent(left, 0) if first else self.extent(right, self.rank(right) - 1)
            case Op(fn="view", args=(Name(id=array), *subs)):
                return self.sliced(array, subs, axis)
        return self.unlike()

    def rank(self, array: str) -> int:
        type_ = self.types[array]
        assert isinstance(type_, Array)
        return type_.ndim

    def sliced(self, array: str, subs: list[Expr], axis: int) -> Sum:
        """An extent of a view."""
        place = 0
        for sub in subs:
            if sub == Const(None):
                if axis == 0:
                    return Sum(number=1)
                axis -= 1
                continue
            # after nesting, a place may be an expression, too
            if isinstance(sub, Op) and sub.fn == "slice":
                if axis == 0:
                    return self.cut(self.extent(array, place), *sub.args)
                axis -= 1
            place += 1
        return self.extent(array, place + axis)

    def cut(self, whole: Sum, low: Expr, high: Expr, step: Expr) -> Sum:
        """How many elements a slice has; `x[1:]` has as many as `max(n - 1, 0)` says."""
        first = 0 if low == Const(None) else low.value if isinstance(low, Const) else -1
        last = 0 if high == Const(None) else high.value if isinstance(high, Const) else 1
        plain = step in (Const(None), Const(1)) and high != Const(0)
        if plain and isinstance(first, int) and isinstance(last, int) and first >= 0 >= last:
            return self.named("max", whole.plus(Sum(number=last - first)), Sum()) if first or last else whole
        return self.named("slice", whole, *map(self.size, (low, high, step)))


def _apart_from_number(size: Sum) -> Sum | int:
    return Sum(size.terms) if size.terms else size.number
