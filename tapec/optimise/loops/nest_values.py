"""What stands for the numbers of a nest's iterations where the nest becomes statements over whole arrays.

A number that differs from iteration to iteration is an array with an axis for each loop that it differs on; parts of
arrays that a nest reads or stores are views, with their axes in the order of the loops.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from tapec.analyses.array_axes import ArrayAxes, IndexSum
from tapec.optimise.name_origins import Fresh
from tapec.optimise.shapes.known_extents import KnownExtents
from tapec.optimise.simplify.renest import elementwise
from tapec.syntax.core import Const, Expr, Function, Name, Op, Stmt, reads, walk, writes
from tapec.syntax.types import Array, Scalar, Type

ALL = Op("slice", (Const(None), Const(None), Const(None)))
_NONE = Const(None)
_LOGIC = {"and": "np.logical_and", "or": "np.logical_or", "not": "np.logical_not"}
DTYPES = ("float64", "bool")


class NotWhole(Exception):
    """A loop has no form over whole arrays."""


@dataclass(frozen=True)
class NestValue:
    """A value of each iteration: an expression, and the axes of the nest on which its elements differ, in order.

    fresh  whether nothing else has the array that it stands for
    """

    expr: Expr
    axes: tuple[int, ...] = ()
    fresh: bool = False


@dataclass(frozen=True)
class NestAxis:
    """A loop of a nest: its variable, and the bounds of its positions."""

    var: str
    low: IndexSum
    high: IndexSum


@dataclass
class NestFacts:
    """What is known inside a nest.

    values   what stands for the names of iterations
    stored   the memory that the nest stores into and that a name that it reads may stand for
    stores   how many statements store into an array
    covered  the axes of arrays that are read or stored
    formed   the axes of the values that get names
    waiting  what the nest may make unnecessary: its place in the block
    dropped  what it makes unnecessary
    handed   fresh arrays that have a second name
    private  arrays that each iteration has for itself: how many loops are around, and the loops that fill it
    sums     what names are sums of, along one axis
    """

    stored: frozenset[str]
    stores: Counter[str]
    waiting: dict[str, int]
    out: list[Stmt | None]
    axes: list[NestAxis] = field(default_factory=list)
    values: dict[str, NestValue] = field(default_factory=dict)
    covered: set[frozenset[int]] = field(default_factory=set)
    formed: set[frozenset[int]] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    handed: set[str] = field(default_factory=set)
    private: dict[str, tuple[int, tuple[NestAxis, ...] | None]] = field(default_factory=dict)
    sums: dict[str, Expr] = field(default_factory=dict)

    def mentions(self, name: str) -> bool:
        """Whether the statements so far mention a name."""
        return any(name in (*reads(one), *writes(one)) for one in self.out if one is not None)


class NestValues:
    """The values of a nest, of which `nest` says what is known so far."""

    def __init__(self, function: Function) -> None:
        self.types: dict[str, Type] = function.types
        self.axes = ArrayAxes(function)
        self.fresh = Fresh(function.types)
        self.extents = KnownExtents(function, self.axes)
        self.reads: Counter[str] = Counter(name for stmt in walk(function.body) for name in reads(stmt))
        self.nest = NestFacts(frozenset(), Counter(), {}, [])

    def private(self, array: str, subs: tuple[Expr, ...]) -> NestValue:
        """An element of such an array."""
        nest, (before, filled) = self.nest, self.nest.private[array]
        inner = tuple(nest.axes[before:])
        plain = [self.position(sub) for sub in subs] == [(before + k, IndexSum()) for k in range(len(inner))]
        if filled is None or not plain or [(one.low, one.high) for one in inner] != [
            (one.low, one.high) for one in filled
        ]:
            raise NotWhole
        return nest.values[array]

    # places

    def position(self, sub: Expr) -> tuple[int, IndexSum] | None:
        """The axis whose position a subscript is, and how far it is from it."""
        place = self.axes.place(sub)
        if place is None:
            return None
        for number, axis in enumerate(self.nest.axes):
            if place.names.count(axis.var) == 1:
                rest = place.minus(IndexSum((axis.var,))) or IndexSum()
                if any(name in self.nest.values for name in rest.names) or any(
                    other.var in rest.names for other in self.nest.axes
                ):
                    return None
                return number, rest
        return None

    def place(self, array: str, subs: tuple[Expr, ...]) -> tuple[tuple[Expr, ...] | None, list[int], bool]:
        """Subscripts of the part of an array that a nest sees, its axes in their order, whether it is the whole."""
        type_ = self.types[array]
        if not isinstance(type_, Array) or len(subs) != type_.ndim:
            raise NotWhole
        found: list[Expr] = []
        order: list[int] = []
        is_whole = True
        for axis, sub in enumerate(subs):
            at = self.position(sub)
            if at is None:
                value = self.value(sub)
                if value.axes or not isinstance(value.expr, Name | Const):
                    return None, [], False
                found.append(value.expr)
                is_whole = False
                continue
            number, rest = at
            if number in order:
                return None, [], False
            order.append(number)
            low, high = self.nest.axes[number].low.plus(rest), self.nest.axes[number].high.plus(rest)
            if not self.axes.is_extent(low):
                return None, [], False
            first = low == IndexSum()
            last = self.extents.ends(array, axis, high)
            if first and last:
                found.append(ALL)
            else:
                bounds = (_NONE if first else self.expression(low), _NONE if last else self.expression(high), _NONE)
                found.append(Op("slice", bounds))
                is_whole = False
        return tuple(found), order, is_whole

    def expression(self, place: IndexSum) -> Expr:
        found: Expr | None = None
        for name in place.names:
            found = Name(name) if found is None else Op("+", (found, Name(name)))
        if found is None:
            return Const(place.number)
        if place.number:
            sign = "+" if place.number > 0 else "-"
            found = Op(sign, (found, Const(abs(place.number))))
        return found

    # values

    def dtype(self, name: str) -> str:
        type_ = self.types.get(name)
        return type_.dtype if isinstance(type_, Scalar) else ""

    def value_dtype(self, atom: Expr) -> str:
        if isinstance(atom, Op):
            return self.value_dtype(atom.args[0])
        if isinstance(atom, Const):
            return "float64" if isinstance(atom.value, float) else "bool" if isinstance(atom.value, bool) else ""
        return self.dtype(atom.id) if isinstance(atom, Name) else ""

    def value(self, expr: Expr, target: str = "") -> NestValue:
        nest = self.nest
        match expr:
            case Const():
                return NestValue(expr)
            case Name(id=name):
                if any(name == axis.var for axis in nest.axes) or self.position(expr) is not None:
                    raise NotWhole
                return nest.values.get(name, NestValue(expr))
            case Op(fn="load", args=(Name(id=array), *subs)):
                return self.load(array, tuple(subs))
            case Op(fn="stop_gradient" | "known", args=(arg,)):
                return self.value(arg)
            case Op(fn=fn, args=args):
                return self.operation(fn, [self.value(arg) for arg in args], target)

    def load(self, array: str, subs: tuple[Expr, ...]) -> NestValue:
        nest = self.nest
        if array in nest.private:
            return self.private(array, subs)
        where, order, is_whole = self.place(array, subs)
        if where is None or getattr(self.types[array], "dtype", "") not in DTYPES:
            raise NotWhole
        if not order:
            # an iteration that does not run reads nothing
            raise NotWhole
        nest.covered.add(frozenset(order))
        found: Expr = Name(array) if is_whole else Op("view", (Name(array), *where))
        axes = tuple(sorted(order))
        if tuple(order) != axes:
            if len(order) != 2:
                raise NotWhole
            found = Op("transpose", (found,))
        if array in nest.stores or not self.axes.memory(array).isdisjoint(nest.stored):
            return NestValue(Op("copy", (found,)), axes, True)
        return NestValue(found, axes)

    def operation(self, fn: str, args: list[NestValue], target: str) -> NestValue:
        axes = tuple(sorted(set().union(*(arg.axes for arg in args))))
        if not axes:
            return NestValue(Op(fn, tuple(arg.expr for arg in args)))
        if fn == "+" and args[0].expr == Const(0.0):
            # what a sum starts with
            return args[1]
        texts = tuple(self.aligned(arg, axes).expr for arg in args)
        if fn == "ifelse":
            return NestValue(Op("np.where", texts), axes, True)
        if fn == "strong":
            zero = Op("!=", (texts[0], Const(0.0)))
            return NestValue(Op("np.where", (zero, Op("*", texts), texts[0])), axes, True)
        if fn in _LOGIC:
            return NestValue(Op(_LOGIC[fn], texts), axes, True)
        if fn == "abs":
            return NestValue(Op("np.abs", texts), axes, True)
        if elementwise(fn):
            return NestValue(Op(fn, texts), axes, True)
        raise NotWhole

    def aligned(self, value: NestValue, axes: tuple[int, ...]) -> NestValue:
        """A value whose elements meet those of an array with some axes, as NumPy broadcasts."""
        own = value.axes
        if not own or own == axes[len(axes) - len(own) :]:
            return value
        first = axes.index(own[0])
        subs = [ALL if number in own else _NONE for number in axes[first:]]
        return replace(value, expr=Op("view", (value.expr, *subs)), fresh=False)

    def summed(self, value: NestValue, number: int) -> NestValue:
        rest = tuple(one for one in value.axes if one != number)
        if not rest and isinstance(value.expr, Name) and value.expr.id in self.nest.sums:
            # the sum of all elements, whichever way
            return NestValue(Op("np.sum", (self.nest.sums[value.expr.id],)))
        if not rest:
            return NestValue(Op("np.sum", (value.expr,)))
        return NestValue(Op("np.sum;axis=", (value.expr, Const(value.axes.index(number)))), rest, True)
