"""Values of whole arrays: their texts, and the axes on which their elements differ.

Each loop of a nest has an axis of its own, the outermost the first one.  A value that does not depend on a loop has one
element there, or, before the first axis that it depends on, none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tapec.analyses.array_axes import REDUCTIONS, SHORT, ArrayAxes, IndexSum
from tapec.backend import printer
from tapec.syntax.core import Const, Expr, Function, Name, Op
from tapec.syntax.types import FLOATS, Scalar

_SIGNS = frozenset({"+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "neg", "pos", "~"})
_LOGIC = {"and": "np.logical_and", "or": "np.logical_or", "not": "np.logical_not"}


class NoWholeArrays(Exception):
    """A loop is no axis, or a statement has no form over whole arrays."""


@dataclass(frozen=True)
class ArrayValue:
    """The text of a value, and the axes on which its elements differ."""

    text: str
    axes: frozenset[int] = frozenset()

    @property
    def operand(self) -> str:
        return self.text if self.text.isidentifier() or not self.axes and _is_number(self.text) else f"({self.text})"


@dataclass
class ArrayAxis:
    """An axis: the positions `low` to `high` of a loop's variable."""

    var: str
    low: IndexSum
    high: IndexSum
    extent: str
    line: int
    is_used: bool = False


@dataclass
class ArrayNest:
    """The state of a nest: its axes, how many it has at most, and what stands for a name."""

    rank: int
    axes: list[ArrayAxis] = field(default_factory=list)
    values: dict[str, ArrayValue] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    stored: frozenset[str] = frozenset()
    mask: ArrayValue | None = None
    made: list[str] = field(default_factory=list)
    # how many axes an array has before its own, as each iteration has one of its own
    private: dict[str, int] = field(default_factory=dict)
    # sets of axes that values have, and arrays
    formed: set[frozenset[int]] = field(default_factory=set)
    covered: set[frozenset[int]] = field(default_factory=set)
    # how many branches and loops of Python's the statement stands in
    inside: int = 0


class ArrayValues:
    """Expressions of one function in a nest, as texts."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.axes = ArrayAxes(function)
        self.nest = ArrayNest(0)

    def line(self, text: str) -> None:
        """Write a line."""
        raise NotImplementedError

    def is_integer(self, name: str) -> bool:
        return self.function.types[name] == Scalar("int64")

    def is_whole_number(self, array: str) -> bool:
        return getattr(self.function.types[array], "dtype", "") == "int64"

    def value(self, expr: Expr, target: str = "") -> ArrayValue:
        """What an expression stands for, if it is to be the value of a name."""
        nest = self.nest
        match expr:
            case Const():
                return ArrayValue(printer.expression(expr))
            case Name(id=name):
                number = self.number(expr)
                if number is None:
                    return nest.values.get(name, ArrayValue(name))
                nest.axes[number].is_used = True
                return ArrayValue(str(self.axes.place(expr)), frozenset({number}))
            case Op(fn="load", args=(Name(id=array), *subs)):
                return self.load(array, subs)
            case Op(fn=fn, args=args):
                return self.operation(fn, self.operands(fn, args, target), args)

    def operands(self, fn: str, exprs: Sequence[Expr], target: str) -> list[ArrayValue]:
        """The operands of an operation, as wide as Numba has them.

        NumPy takes a literal for a number of the array's type, and the sum of two booleans for one.
        """
        found = [self.value(expr) for expr in exprs]
        wide = self.wide(fn, exprs, target)
        return [
            ArrayValue(f"{wide[expr]}({one.text})", one.axes) if expr in wide else one
            for one, expr in zip(found, exprs, strict=True)
        ]

    def wide(self, fn: str, exprs: Sequence[Expr], target: str) -> dict[Expr, str]:
        """The operands of an operation that Numba has as wider numbers."""
        wanted, dtypes = self.dtype(Name(target)), {expr: self.dtype(expr) for expr in exprs}
        if wanted == "int64" and fn in _SIGNS:
            return {expr: "np.int64" for expr, dtype in dtypes.items() if dtype == "bool"}
        is_same = wanted == "bool" and set(dtypes.values()) == {"float32"}
        if wanted not in ("float64", "bool") or fn.startswith("cast.") or is_same:
            return {}
        return {expr: "np.float64" for expr, dtype in dtypes.items() if dtype == "float32"}

    def dtype(self, expr: Expr) -> str:
        """The type of a number that has a name."""
        type_ = self.function.types.get(expr.id) if isinstance(expr, Name) else None
        return type_.dtype if isinstance(type_, Scalar) else ""

    def load(self, array: str, subs: Sequence[Expr]) -> ArrayValue:
        nest = self.nest
        place, axes = self.element(array, subs), self.axes_of(subs, array)
        if nest.mask is not None:
            self.have_elements(array, subs, place)
        if place is not None:
            nest.covered.add(axes)
        if place is None:
            text = f"{array}[{self.subscripts(array, subs)}]"
            return ArrayValue(f"np.int64({text})" if self.axes.is_short(array) else text, axes)
        if self.axes.is_short(array):
            return ArrayValue(f"np.int64({place})", axes)
        copied = ".copy()" if axes and not self.axes.memory(array).isdisjoint(nest.stored) else ""
        return ArrayValue(place + copied, axes)

    def have_elements(self, array: str, subs: Sequence[Expr], place: str | None) -> None:
        """Give up where an array does not have all elements of which only some are asked for."""
        nest = self.nest
        if place is None or array in nest.private:
            raise NoWholeArrays
        for axis, sub in enumerate(subs):
            number, at = self.number(sub), self.axes.place(sub)
            if number is None or at is None:
                self.line(f"if {array}.shape[{axis}] <= {self.value(sub).text}:")
            else:
                counted = nest.axes[number]
                high = counted.high.plus(at.minus(IndexSum((counted.var,))) or IndexSum())
                self.line(f"if {array}.shape[{axis}] < {high}:")
            self.line('    raise MemoryError("fewer elements")')

    def number(self, sub: Expr) -> int | None:
        """The axis whose position a subscript is, but for what is the same on all axes."""
        place, nest = self.axes.place(sub), self.nest
        names = () if place is None else place.names
        found = [number for number, axis in enumerate(nest.axes) if axis.var in names]
        if len(found) != 1 or names.count(nest.axes[found[0]].var) > 1:
            return None
        others = (name for name in names if name != nest.axes[found[0]].var)
        return None if any(name in nest.values and nest.values[name].axes for name in others) else found[0]

    def axes_of(self, subs: Sequence[Expr], array: str) -> frozenset[int]:
        """The axes on which an element with some subscripts is another one."""
        found = set(range(self.nest.private.get(array, 0)))
        for sub in subs:
            number = self.number(sub)
            found.update(self.value(sub).axes if number is None else (number,))
        return frozenset(found)

    def subscripts(self, array: str, subs: Sequence[Expr]) -> str:
        """Subscripts that are no slices."""
        if array in self.nest.private:
            raise NoWholeArrays
        return ", ".join(self.value(sub).text for sub in subs)

    def element(self, array: str, subs: Sequence[Expr], full: bool = False) -> str | None:
        """The text of a part of an array with its axes in order; None if subscripts are no slices.

        full  whether it has all axes of the nest, and not from the first one on that it needs
        """
        nest = self.nest
        before = range(nest.private.get(array, 0))
        texts: list[tuple[int | None, str]] = [(number, f":{nest.axes[number].extent}") for number in before]
        for sub in subs:
            number, place = self.number(sub), self.axes.place(sub)
            if number is not None and place is not None:
                axis = nest.axes[number]
                more = place.minus(IndexSum((axis.var,))) or IndexSum()
                low, high = axis.low.plus(more), axis.high.plus(more)
                if not self.axes.is_extent(low):
                    return None
                texts.append((number, f"{'' if low == IndexSum() else low}:{high}"))
            else:
                value = self.value(sub)
                if value.axes:
                    return None
                texts.append((None, value.text))
        order = [number for number, _ in texts if number is not None]
        if len(set(order)) < len(order):
            return None
        if not texts:
            return f"{array}[()]"
        if not order:
            return f"{array}[{', '.join(text for _, text in texts)}]"
        first = 0 if full else min(order)
        if order == sorted(order):
            parts, position = [], first
            for number, text in texts:
                if number is not None:
                    parts += ["None"] * (number - position)
                    position = number + 1
                parts.append(text)
            parts += ["None"] * (nest.rank - position)
            return f"{array}[{', '.join(parts)}]"
        turned = tuple(order.index(number) for number in sorted(order))
        parts = [":" if number in order else "None" for number in range(first, nest.rank)]
        return f"np.transpose({array}[{', '.join(text for _, text in texts)}], {turned})[{', '.join(parts)}]"

    def operation(self, fn: str, args: list[ArrayValue], exprs: Sequence[Expr]) -> ArrayValue:
        axes = frozenset[int]().union(*(arg.axes for arg in args))
        if not axes:
            names = [Name(arg.operand) for arg in args]
            return ArrayValue(printer.expression(Op(fn, tuple(names))))
        if fn in ("stop_gradient", "known"):
            return args[0]
        if fn == "+" and isinstance(exprs[0], Name) and args[0].text in ("0", "0.0"):
            # what a sum starts with
            return args[1]
        if fn == "strong":
            product = ArrayValue(f"{args[0].operand} * {args[1].operand}", axes)
            return chosen(ArrayValue(f"{args[0].operand} != 0.0", args[0].axes), product, args[0])
        if fn == "ifelse":
            return chosen(*args)
        texts = ", ".join(arg.text for arg in args)
        if fn in _LOGIC:
            return ArrayValue(f"{_LOGIC[fn]}({texts})", axes)
        if fn == "abs":
            return ArrayValue(f"np.abs({texts})", axes)
        if fn.removeprefix("cast.") in SHORT:
            return ArrayValue(f"np.int64(np.{fn.removeprefix('cast.')}({texts}))", axes)
        if fn in ("cast.float64", "cast.float32", "cast.int64", "cast.bool"):
            return ArrayValue(f"np.{fn.removeprefix('cast.').replace('bool', 'bool_')}({texts})", axes)
        if fn in _SIGNS or (fn == "**" and self.dtype(exprs[0]) in FLOATS):
            return ArrayValue(printer.expression(Op(fn, tuple(Name(arg.operand) for arg in args))), axes)
        if fn.startswith("np.") and isinstance(getattr(np, fn.removeprefix("np."), None), np.ufunc):
            return ArrayValue(f"{fn}({texts})", axes)
        raise NoWholeArrays

    def gathered(self, start: ArrayValue, each: ArrayValue, kind: str, number: int) -> ArrayValue:
        """What all iterations of an axis make of a value."""
        if number in each.axes:
            each = self.summed(each, {number}, REDUCTIONS[kind])
        elif kind == "+":
            each = ArrayValue(f"{each.operand} * {self.nest.axes[number].extent}", each.axes)
        else:
            raise NoWholeArrays
        axes = start.axes | each.axes
        if kind == "+":
            text = each.text if start.text in ("0", "0.0") else f"{start.operand} + {each.text}"
            return ArrayValue(text, axes)
        return ArrayValue(f"{kind}({start.text}, {each.text})", axes)

    def summed(self, value: ArrayValue, over: set[int], by: tuple[str, str] = REDUCTIONS["+"]) -> ArrayValue:
        function, start = by
        initial = "" if function == "np.sum" else f", initial={start}"
        left = value.axes - over
        if not left:
            return ArrayValue(f"{function}({value.text}{initial})")
        numbers = sorted(number - self.nest.rank for number in over)
        axis = str(numbers[0]) if len(numbers) == 1 else str(tuple(numbers))
        return ArrayValue(f"{function}({value.text}, axis={axis}, keepdims=True{initial})", left)

    def everywhere(self, value: ArrayValue) -> ArrayValue:
        nest = self.nest
        everywhere = frozenset(range(len(nest.axes)))
        if value.axes == everywhere:
            return value
        extents = [axis.extent for axis in nest.axes] + ["1"] * (nest.rank - len(nest.axes))
        return ArrayValue(f"np.broadcast_to({value.text}, ({', '.join(extents)},))", everywhere)


def chosen(test: ArrayValue, first: ArrayValue, second: ArrayValue) -> ArrayValue:
    if not test.axes and first.axes == second.axes:
        return ArrayValue(f"{first.operand} if {test.operand} else {second.operand}", first.axes | second.axes)
    return ArrayValue(f"np.where({test.text}, {first.text}, {second.text})", test.axes | first.axes | second.axes)


def opposite(test: ArrayValue) -> ArrayValue:
    return ArrayValue(f"np.logical_not({test.text})", test.axes)


def both(one: ArrayValue, two: ArrayValue) -> ArrayValue:
    return ArrayValue(f"np.logical_and({one.text}, {two.text})", one.axes | two.axes)


def _is_number(text: str) -> bool:
    return text.replace(".", "").isalnum()
