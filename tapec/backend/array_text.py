"""A program as Python text over whole arrays: statements of NumPy in place of loops over elements.

    for i in range(n):
        for j in range(8):                        t_81 = t_77[:n, :8] + x_1[:8]
            t_79 = t_77[i, j]              ->     t_78[:n, :8] = t_81
            t_80 = x_1[j]
            t_81 = t_79 + t_80
            t_78[i, j] = t_81

It is slower than machine code, and made in a hundredth of the time.  Each loop of a nest has an axis of its own, the
outermost the first one, and values that do not depend on a loop have one element there.  Loops that are no axes
(`array_axes.py`) stay loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tapec.backend import printer
from tapec.backend.array_axes import REDUCTIONS, Axes, IndexSum, longest_nest
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Note,
    Op,
    Raise,
    Stmt,
    Store,
    ends_in_error,
    literal_range,
    reads,
    walk,
)
from tapec.syntax.types import Scalar

INDENT = "    "
# elements of an array that the program itself does not have
_LARGEST = 1 << 22
_NONE: frozenset[int] = frozenset()
_SIGNS = frozenset({"+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "neg", "pos", "~"})
_LOGIC = {"and": "np.logical_and", "or": "np.logical_or", "not": "np.logical_not"}


class NoWholeArrays(Exception):
    """A loop is no axis, or a statement has no form over whole arrays."""


@dataclass(frozen=True)
class WholeArrays:
    """The text of a program over whole arrays.

    iterations  how often loops that are left run, at most; None if that is not known
    """

    text: str
    iterations: int | None


@dataclass(frozen=True)
class _Value:
    """The text of a value, and the axes on which its elements differ."""

    text: str
    axes: frozenset[int] = _NONE

    @property
    def operand(self) -> str:
        return self.text if self.text.isidentifier() or not self.axes and _is_number(self.text) else f"({self.text})"


@dataclass
class _Axis:
    """An axis: the positions `low` to `high` of a loop's variable."""

    var: str
    low: IndexSum
    high: IndexSum
    extent: str
    line: int
    is_used: bool = False


@dataclass
class _Nest:
    """The state of a nest: its axes, how many it has at most, and what stands for a name."""

    rank: int
    axes: list[_Axis] = field(default_factory=list)
    values: dict[str, _Value] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    stored: frozenset[str] = frozenset()
    mask: _Value | None = None
    made: list[str] = field(default_factory=list)
    # how many axes an array has before its own, as each iteration has one of its own
    private: dict[str, int] = field(default_factory=dict)
    # sets of axes that values have, and arrays
    formed: set[frozenset[int]] = field(default_factory=set)
    covered: set[frozenset[int]] = field(default_factory=set)
    # how many branches and loops of Python's the statement stands in
    inside: int = 0


def whole_arrays(function: Function) -> WholeArrays:
    """The text of a program in the form that `simple` gives it."""
    writer = _Writer(function)
    head = f"def {function.name}({', '.join(function.params)}):"
    writer.block(function.body)
    lines = [head, *(line for line in writer.lines if line is not None)]
    return WholeArrays("\n".join(lines) + "\n", writer.iterations)


class _Writer:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.axes = Axes(function)
        self.lines: list[str | None] = []
        self.depth = 1
        self.iterations: int | None = 0
        self.taken = set(function.types)
        self.nest = _Nest(0)

    def line(self, text: str) -> None:
        self.lines.append(INDENT * self.depth + text)

    @contextmanager
    def indented(self, head: str) -> Iterator[None]:
        self.line(head)
        self.depth += 1
        start = len(self.lines)
        yield
        if not any(line is not None for line in self.lines[start:]):
            self.line("pass")
        self.depth -= 1

    def fresh(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    # outside nests

    def block(self, block: Block) -> None:
        for stmt in block:
            match stmt:
                case For():
                    self.whole_or_loop(stmt)
                case If(test=test, body=body, orelse=orelse):
                    with self.indented(f"if {printer.expression(test)}:"):
                        self.block(body)
                    if orelse:
                        with self.indented("else:"):
                            self.block(orelse)
                case Loop(body=body):
                    self.iterations = None
                    with self.indented("while True:"):
                        self.block(body)
                case Note():
                    pass
                case _:
                    self.lines += printer.statements((stmt,), self.depth, False)

    def whole_or_loop(self, loop: For) -> None:
        lines, iterations, depth = len(self.lines), self.iterations, self.depth
        stored = [self.axes.memory(stmt.array) for stmt in walk(loop.body) if isinstance(stmt, Store)]
        self.nest = _Nest(1 + longest_nest(loop.body), stored=frozenset[str]().union(*stored))
        try:
            self.as_axis(loop)
        except NoWholeArrays:
            del self.lines[lines:]
            self.iterations, self.depth = iterations, depth
        else:
            self.forget(loop)
            return
        before, self.iterations = self.iterations, 0
        (head,) = printer.statements((_without_body(loop),), 0, False)[:1]
        with self.indented(head):
            self.block(loop.body)
        self.iterations = _times(loop, before, self.iterations)

    def forget(self, loop: For) -> None:
        """Let go of arrays that only the nest reads."""
        outside = self.read_outside(loop)
        inner = [name for name in dict.fromkeys(self.nest.made) if name not in outside]
        if inner:
            self.line(f"del {', '.join(inner)}")

    def read_outside(self, loop: For) -> set[str]:
        """The names that are read outside a loop."""
        inside = Counter(reads_of(loop.body))
        return {name for name, count in self.axes.reads.items() if count > inside[name]}

    # loops of a nest

    def loop(self, loop: For) -> None:
        state = len(self.lines), self.iterations, self.depth
        nest = self.nest
        kept = dict(nest.values), dict(nest.renamed), list(nest.made), len(nest.axes), nest.inside
        try:
            self.as_axis(loop)
        except NoWholeArrays:
            del self.lines[state[0] :]
            self.iterations, self.depth = state[1:]
            nest.values, nest.renamed, nest.made = kept[:3]
            del nest.axes[kept[3] :]
            nest.inside = kept[4]
            self.in_turn(loop)

    def as_axis(self, loop: For) -> None:
        reduced = self.axes.reduced(loop)
        if reduced is None:
            raise NoWholeArrays
        nest, number = self.nest, len(self.nest.axes)
        axis = self.axis(loop)
        nest.axes.append(axis)
        # for the positions, and for a test of the size
        self.lines += [None, None]
        starts: dict[str, _Value] = {}
        outer = dict(nest.renamed)
        for name, kind in reduced.items():
            starts[name] = self.value(Name(name))
            start = REDUCTIONS[kind][1]
            nest.values[name] = _Value("0" if self.is_integer(name) else start)
            nest.renamed[name] = self.fresh(f"{name}_each")
        self.inner(loop.body)
        for name, kind in reduced.items():
            each = nest.values[name]
            nest.renamed = outer
            self.bind(name, self.gathered(starts[name], each, kind, number))
        if axis.is_used:
            self.lines[axis.line] = f"{INDENT * self.depth}{loop.var} = {self.positions(axis, number)}"
        self.bound_size(axis, number)
        nest.axes.pop()

    def bound_size(self, axis: _Axis, number: int) -> None:
        """Make no arrays that are much larger than those of the program."""
        nest = self.nest
        large = {axes for axes in nest.formed if number in axes and not any(axes <= one for one in nest.covered)}
        if large:
            _, axes = max((len(axes), sorted(axes)) for axes in large)
            pad, size = INDENT * self.depth, " * ".join(nest.axes[one].extent for one in axes)
            self.lines[axis.line + 1] = f'{pad}if {size} > {_LARGEST}:\n{pad}{INDENT}raise MemoryError("large arrays")'
        nest.formed = {axes for axes in nest.formed if number not in axes}
        nest.covered = {axes - {number} for axes in nest.covered}

    def axis(self, loop: For) -> _Axis:
        """The axis of a loop, whose bounds must be the same in the whole nest."""
        for bound in (loop.start, loop.stop):
            if self.value(bound).axes:
                raise NoWholeArrays
        first, last = self.axes.place(loop.start), self.axes.place(loop.stop)
        if first is None or last is None:
            raise NoWholeArrays
        one = IndexSum((), 1)
        low, high = (first, last) if loop.step == Const(1) else (last.plus(one), first.plus(one))
        count = high.minus(low)
        if count is None or not self.axes.is_extent(count):
            # a slice may not end before it begins
            name = self.fresh(f"{loop.var}_end")
            self.line(f"{name} = max({high}, {low})")
            high, count = IndexSum((name,)), None if low != IndexSum() else IndexSum((name,))
        extent = f"({high} - {low})" if count is None else str(count) if len(count.names) < 2 else f"({count})"
        return _Axis(loop.var, low, high, extent, len(self.lines))

    def positions(self, axis: _Axis, number: int) -> str:
        low = "" if axis.low == IndexSum() else f"{axis.low}, "
        return f"np.arange({low}{axis.high})" + self.nones(self.nest.rank - 1 - number)

    def nones(self, count: int) -> str:
        return f"[:{', None' * count}]" if count else ""

    def gathered(self, start: _Value, each: _Value, kind: str, number: int) -> _Value:
        """What all iterations of an axis make of a value."""
        if number in each.axes:
            each = self.summed(each, {number}, REDUCTIONS[kind])
        elif kind == "+":
            each = _Value(f"{each.operand} * {self.nest.axes[number].extent}", each.axes)
        else:
            raise NoWholeArrays
        axes = start.axes | each.axes
        if kind == "+":
            text = each.text if start.text in ("0", "0.0") else f"{start.operand} + {each.text}"
            return _Value(text, axes)
        return _Value(f"{kind}({start.text}, {each.text})", axes)

    def summed(self, value: _Value, over: set[int], by: tuple[str, str] = REDUCTIONS["+"]) -> _Value:
        function, start = by
        initial = "" if function == "np.sum" else f", initial={start}"
        left = value.axes - over
        if not left:
            return _Value(f"{function}({value.text}{initial})")
        numbers = sorted(number - self.nest.rank for number in over)
        axis = str(numbers[0]) if len(numbers) == 1 else str(tuple(numbers))
        return _Value(f"{function}({value.text}, axis={axis}, keepdims=True{initial})", left)

    def in_turn(self, loop: For) -> None:
        """A loop whose iterations run one after the other, each of them over whole arrays."""
        nest = self.nest
        if self.value(loop.start).axes or self.value(loop.stop).axes or not isinstance(loop.step, Const):
            raise NoWholeArrays
        body = list(walk(loop.body))
        inside = {stmt.target for stmt in body if isinstance(stmt, Assign)}
        carried = [
            name for name in dict.fromkeys(stmt.target for stmt in body if isinstance(stmt, Assign))
            if sum(1 for stmt in body if isinstance(stmt, Assign) and stmt.target == name)
            < len(self.axes.definitions[name])
        ]
        outside = self.read_outside(loop)
        if any(name in outside and name not in carried for name in inside) or any(
            name in nest.renamed for name in inside
        ):
            raise NoWholeArrays
        # what an iteration hands on has all axes from the beginning
        everywhere = frozenset(range(len(nest.axes)))
        for name in carried:
            self.bind(name, self.everywhere(self.value(Name(name))))
        before, self.iterations = self.iterations, 0
        nest.values[loop.var] = _Value(loop.var)
        (head,) = printer.statements((_without_body(loop),), 0, False)[:1]
        nest.inside += 1
        with self.indented(head):
            self.inner(loop.body, frozenset(carried))
        nest.inside -= 1
        for name in carried:
            nest.values[name] = _Value(name, everywhere)
        self.iterations = _times(loop, before, self.iterations)

    def everywhere(self, value: _Value) -> _Value:
        nest = self.nest
        everywhere = frozenset(range(len(nest.axes)))
        if value.axes == everywhere:
            return value
        extents = [axis.extent for axis in nest.axes] + ["1"] * (nest.rank - len(nest.axes))
        return _Value(f"np.broadcast_to({value.text}, ({', '.join(extents)},))", everywhere)

    # statements of a nest

    def inner(self, block: Block, carried: frozenset[str] = frozenset()) -> None:
        for stmt in block:
            match stmt:
                case Note():
                    pass
                case Assign(target=target) if self.number(Name(target)) is not None:
                    # a subscript, written where it is used
                    pass
                case Assign(target=target, value=Op(fn="empty" | "zeros" as fn, args=(dtype, *extents))):
                    self.allocate(target, fn, dtype, extents)
                case Assign(target=target, value=value):
                    found = self.value(value)
                    self.bind(target, self.everywhere(found) if target in carried else found)
                case Store():
                    self.store(stmt)
                case For():
                    self.loop(stmt)
                case If():
                    self.branch(stmt)
                case _:
                    raise NoWholeArrays

    def allocate(self, target: str, fn: str, dtype: Expr, extents: Sequence[Expr]) -> None:
        """An array for each iteration."""
        nest, found = self.nest, [self.value(extent) for extent in extents]
        if nest.mask is not None or any(one.axes for one in found):
            raise NoWholeArrays
        shape = [Name(one) for one in (*(axis.extent for axis in nest.axes), *(one.text for one in found))]
        self.line(f"{target} = {printer.expression(Op(fn, (dtype, *shape)))}")
        nest.private[target] = len(nest.axes)

    def bind(self, target: str, value: _Value) -> None:
        nest = self.nest
        name = nest.renamed.get(target, target)
        self.line(f"{name} = {value.text}")
        nest.values[target] = _Value(name, value.axes)
        nest.formed.add(value.axes)
        if value.axes and not nest.inside:
            nest.made.append(name)

    def branch(self, stmt: If) -> None:
        nest, test = self.nest, self.value(stmt.test)
        if ends_in_error(stmt.body) and len(stmt.body) == 1 and not stmt.orelse:
            self.error(stmt.body[0], test)
            return
        if not test.axes:
            self.one_way(stmt, test)
            return
        outer, before = nest.mask, dict(nest.values)
        assigned = [{s.target for s in walk(block) if isinstance(s, Assign)} for block in (stmt.body, stmt.orelse)]
        merged = [name for name in dict.fromkeys((*assigned[0], *assigned[1])) if self.is_needed(name, stmt)]
        found = []
        for block, mask, word in ((stmt.body, test, "then"), (stmt.orelse, _opposite(test), "else")):
            nest.mask = mask if outer is None else _both(outer, mask)
            nest.values = dict(before)
            renamed = dict(nest.renamed)
            for name in merged:
                nest.renamed[name] = self.fresh(f"{name}_{word}")
            self.inner(block)
            nest.renamed = renamed
            found.append(nest.values)
        nest.mask, nest.values = outer, before
        for name in sorted(merged):
            first, second = (values.get(name) for values in found)
            if first is None or second is None:
                raise NoWholeArrays
            self.bind(name, _chosen(test, first, second))

    def one_way(self, stmt: If, test: _Value) -> None:
        """A branch that all elements take."""
        nest, before = self.nest, dict(self.nest.values)
        found = []
        nest.inside += 1
        for block, head in ((stmt.body, f"if {test.text}:"), (stmt.orelse, "else:")):
            nest.values = dict(before)
            if block or block is stmt.body:
                with self.indented(head):
                    self.inner(block)
            found.append(nest.values)
        nest.inside -= 1
        nest.values = before
        for name in sorted({s.target for s in walk((stmt,)) if isinstance(s, Assign)}):
            first, second = (values.get(name) for values in found)
            if first is not None and first == second:
                nest.values[name] = first
            elif self.is_needed(name, stmt):
                raise NoWholeArrays

    def is_needed(self, name: str, stmt: If) -> bool:
        """Whether a name that a branch assigns is read behind it."""
        inside = sum(1 for one in reads_of((stmt,)) if one == name)
        return self.axes.reads[name] > inside or name in self.nest.renamed

    def error(self, stmt: Stmt, test: _Value) -> None:
        if not isinstance(stmt, Raise) or not all(isinstance(arg, Const) for arg in stmt.args):
            raise NoWholeArrays
        test = test if self.nest.mask is None else _both(self.nest.mask, test)
        with self.indented(f"if np.any({test.text}):" if test.axes else f"if {test.text}:"):
            self.lines += printer.statements((stmt,), self.depth, False)

    def store(self, stmt: Store) -> None:
        nest, value = self.nest, self.value(stmt.value)
        axes = self.axes_of(stmt.index, stmt.array)
        missing = set(range(len(nest.axes))) - axes
        if missing and not stmt.accumulate:
            raise NoWholeArrays
        if nest.mask is not None and stmt.accumulate:
            value = _chosen(nest.mask, value, _Value("0" if self.is_whole_number(stmt.array) else "0.0"))
        for number in sorted(missing - value.axes):
            value = _Value(f"{value.operand} * {nest.axes[number].extent}", value.axes)
        if over := missing & value.axes:
            value = self.summed(value, over)
        place = self.element(stmt.array, stmt.index, full=True)
        sign = "+=" if stmt.accumulate else "="
        if place is not None:
            nest.covered.add(axes)
            if nest.mask is not None and not stmt.accumulate:
                value = _chosen(nest.mask, value, _Value(place, axes))
            self.line(f"{place} {sign} {value.text}")
            return
        where = self.subscripts(stmt.array, stmt.index)
        if nest.mask is not None:
            raise NoWholeArrays
        if stmt.accumulate:
            self.line(f"np.add.at({stmt.array}, ({where},), {value.text})")
        else:
            self.line(f"{stmt.array}[{where}] = {value.text}")

    # values

    def is_integer(self, name: str) -> bool:
        return self.function.types[name] == Scalar("int64")

    def is_whole_number(self, array: str) -> bool:
        return getattr(self.function.types[array], "dtype", "") == "int64"

    def value(self, expr: Expr) -> _Value:
        nest = self.nest
        match expr:
            case Const():
                return _Value(printer.expression(expr))
            case Name(id=name):
                number = self.number(expr)
                if number is None:
                    return nest.values.get(name, _Value(name))
                nest.axes[number].is_used = True
                return _Value(str(self.axes.place(expr)), frozenset({number}))
            case Op(fn="load", args=(Name(id=array), *subs)):
                return self.load(array, subs)
            case Op(fn=fn, args=args):
                return self.operation(fn, [self.value(arg) for arg in args], args)

    def load(self, array: str, subs: Sequence[Expr]) -> _Value:
        nest = self.nest
        if nest.mask is not None:
            # elements that are not asked for may not be there
            raise NoWholeArrays
        place, axes = self.element(array, subs), self.axes_of(subs, array)
        if place is not None:
            nest.covered.add(axes)
        if place is None:
            return _Value(f"{array}[{self.subscripts(array, subs)}]", axes)
        copied = ".copy()" if axes and not self.axes.memory(array).isdisjoint(nest.stored) else ""
        return _Value(place + copied, axes)

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

    def operation(self, fn: str, args: list[_Value], exprs: Sequence[Expr]) -> _Value:
        axes = frozenset[int]().union(*(arg.axes for arg in args))
        if not axes:
            names = [Name(arg.operand) for arg in args]
            return _Value(printer.expression(Op(fn, tuple(names))))
        if fn in ("stop_gradient", "known"):
            return args[0]
        if fn == "+" and isinstance(exprs[0], Name) and args[0].text in ("0", "0.0"):
            # what a sum starts with
            return args[1]
        if fn == "strong":
            product = _Value(f"{args[0].operand} * {args[1].operand}", axes)
            return _chosen(_Value(f"{args[0].operand} != 0.0", args[0].axes), product, args[0])
        if fn == "ifelse":
            return _chosen(*args)
        texts = ", ".join(arg.text for arg in args)
        if fn in _LOGIC:
            return _Value(f"{_LOGIC[fn]}({texts})", axes)
        if fn == "abs":
            return _Value(f"np.abs({texts})", axes)
        if fn in ("cast.float64", "cast.int64", "cast.bool"):
            return _Value(f"np.{fn.removeprefix('cast.').replace('bool', 'bool_')}({texts})", axes)
        if fn == "**" and self.is_float(exprs[0]):
            return _Value(printer.expression(Op(fn, tuple(Name(arg.operand) for arg in args))), axes)
        if fn in _SIGNS:
            return _Value(printer.expression(Op(fn, tuple(Name(arg.operand) for arg in args))), axes)
        if fn.startswith("np.") and isinstance(getattr(np, fn.removeprefix("np."), None), np.ufunc):
            return _Value(f"{fn}({texts})", axes)
        raise NoWholeArrays

    def is_float(self, expr: Expr) -> bool:
        return isinstance(expr, Name) and getattr(self.function.types.get(expr.id), "dtype", "") == "float64"


def _chosen(test: _Value, first: _Value, second: _Value) -> _Value:
    if not test.axes and first.axes == second.axes:
        return _Value(f"{first.operand} if {test.operand} else {second.operand}", first.axes | second.axes)
    return _Value(f"np.where({test.text}, {first.text}, {second.text})", test.axes | first.axes | second.axes)


def _opposite(test: _Value) -> _Value:
    return _Value(f"np.logical_not({test.text})", test.axes)


def _both(one: _Value, two: _Value) -> _Value:
    return _Value(f"np.logical_and({one.text}, {two.text})", one.axes | two.axes)


def _is_number(text: str) -> bool:
    return text.replace(".", "").isalnum()


def _without_body(loop: For) -> Any:
    return For(loop.var, loop.start, loop.stop, loop.step, ())


def reads_of(block: Block) -> list[str]:
    """The names that a block reads, as often as it reads them."""
    return [name for stmt in walk(block) for name in reads(stmt)]


def _times(loop: For, before: int | None, inner: int | None) -> int | None:
    """How many iterations there are with those of a loop that is left."""
    known = literal_range(loop)
    if before is None or inner is None or known is None:
        return None
    return before + len(known) * max(inner, 1)
