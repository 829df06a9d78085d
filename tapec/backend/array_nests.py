"""Nests of loops over elements as statements over whole arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from tapec.analyses.array_axes import REDUCTIONS, IndexSum
from tapec.backend import printer
from tapec.backend.array_values import ArrayAxis, ArrayValue, ArrayValues, NoWholeArrays, both, chosen, opposite
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Note,
    Op,
    Raise,
    Stmt,
    Store,
    ends_in_error,
    reads,
    walk,
)

INDENT = "    "
# elements of an array that the program itself does not have
_LARGEST = 1 << 22


class ArrayNests(ArrayValues):
    """The lines of nests."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.lines: list[str | None] = []
        self.depth = 1
        self.taken = set(function.types)
        # of loops that stay, counted down
        self.steps = self.fresh("steps")
        self.counts = False

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

    def count(self, body: Block) -> None:
        """Count the statements of an iteration, and give up where there are too many."""
        self.counts = True
        self.line(f"{self.steps} -= {len(body)}")
        self.line(f"if {self.steps} < 0:")
        self.line(f'{INDENT}raise TimeoutError("long loops")')

    def fresh(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def read_outside(self, loop: For, names: Iterable[str]) -> set[str]:
        """Those of some names that are read outside a loop."""
        inside = Counter(reads_of(loop.body))
        return {name for name in names if self.axes.reads[name] > inside[name]}

    # loops of a nest

    def loop(self, loop: For) -> None:
        lines, depth = len(self.lines), self.depth
        nest = self.nest
        kept = dict(nest.values), dict(nest.renamed), list(nest.made), len(nest.axes), nest.inside
        try:
            self.as_axis(loop)
        except NoWholeArrays:
            del self.lines[lines:]
            self.depth = depth
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
        starts: dict[str, ArrayValue] = {}
        outer = dict(nest.renamed)
        for name, kind in reduced.items():
            starts[name] = self.value(Name(name))
            start = REDUCTIONS[kind][1]
            nest.values[name] = ArrayValue("0" if self.is_integer(name) else start)
            nest.renamed[name] = self.fresh(f"{name}_each")
        self.inner(loop.body)
        for name, kind in reduced.items():
            each = nest.values[name]
            nest.renamed = outer
            all_ = self.gathered(starts[name], each, kind, number)
            if not all_.axes and self.dtype(Name(name)) == "float32":
                # an extent may be a number of NumPy's
                all_ = ArrayValue(f"np.float32({all_.text})")
            self.bind(name, all_)
        if axis.is_used:
            self.lines[axis.line] = f"{INDENT * self.depth}{loop.var} = {self.positions(axis, number)}"
        self.bound_size(axis, number)
        nest.axes.pop()

    def bound_size(self, axis: ArrayAxis, number: int) -> None:
        """Make no arrays that are much larger than those of the program."""
        nest = self.nest
        large = {axes for axes in nest.formed if number in axes and not any(axes <= one for one in nest.covered)}
        if large:
            _, axes = max((len(axes), sorted(axes)) for axes in large)
            pad, size = INDENT * self.depth, " * ".join(nest.axes[one].extent for one in axes)
            self.lines[axis.line + 1] = f'{pad}if {size} > {_LARGEST}:\n{pad}{INDENT}raise MemoryError("large arrays")'
        nest.formed = {axes for axes in nest.formed if number not in axes}
        nest.covered = {axes - {number} for axes in nest.covered}

    def axis(self, loop: For) -> ArrayAxis:
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
        return ArrayAxis(loop.var, low, high, extent, len(self.lines))

    def positions(self, axis: ArrayAxis, number: int) -> str:
        low = "" if axis.low == IndexSum() else f"{axis.low}, "
        return f"np.arange({low}{axis.high})" + self.nones(self.nest.rank - 1 - number)

    def nones(self, count: int) -> str:
        return f"[:{', None' * count}]" if count else ""

    def in_turn(self, loop: For) -> None:
        """A loop whose iterations run one after the other, each of them over whole arrays."""
        nest = self.nest
        if self.value(loop.start).axes or self.value(loop.stop).axes or not isinstance(loop.step, Const):
            raise NoWholeArrays
        inside = Counter(stmt.target for stmt in walk(loop.body) if isinstance(stmt, Assign))
        carried = [name for name, count in inside.items() if count < len(self.axes.definitions[name])]
        outside = self.read_outside(loop, inside)
        if any(name not in carried for name in outside) or any(
            name in nest.renamed for name in inside
        ):
            raise NoWholeArrays
        # what an iteration hands on has all axes from the beginning
        everywhere = frozenset(range(len(nest.axes)))
        for name in carried:
            self.bind(name, self.everywhere(self.value(Name(name))))
        nest.values[loop.var] = ArrayValue(loop.var)
        nest.inside += 1
        with self.indented(head_of(loop)):
            self.count(loop.body)
            self.inner(loop.body, frozenset(carried))
        nest.inside -= 1
        for name in carried:
            nest.values[name] = ArrayValue(name, everywhere)

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
                    found = self.value(value, target)
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

    def bind(self, target: str, value: ArrayValue) -> None:
        nest = self.nest
        name = nest.renamed.get(target, target)
        self.line(f"{name} = {value.text}")
        nest.values[target] = ArrayValue(name, value.axes)
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
        for block, mask, word in ((stmt.body, test, "then"), (stmt.orelse, opposite(test), "else")):
            nest.mask = mask if outer is None else both(outer, mask)
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
            self.bind(name, chosen(test, first, second))

    def one_way(self, stmt: If, test: ArrayValue) -> None:
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

    def error(self, stmt: Stmt, test: ArrayValue) -> None:
        if not isinstance(stmt, Raise) or not all(isinstance(arg, Const) for arg in stmt.args):
            raise NoWholeArrays
        test = test if self.nest.mask is None else both(self.nest.mask, test)
        with self.indented(f"if np.any({test.text}):" if test.axes else f"if {test.text}:"):
            self.lines += printer.statements((stmt,), self.depth, False)

    def store(self, stmt: Store) -> None:
        nest, value = self.nest, self.value(stmt.value)
        axes = self.axes_of(stmt.index, stmt.array)
        missing = set(range(len(nest.axes))) - axes
        if missing and not stmt.accumulate:
            raise NoWholeArrays
        if nest.mask is not None and stmt.accumulate:
            value = chosen(nest.mask, value, ArrayValue("0" if self.is_whole_number(stmt.array) else "0.0"))
        for number in sorted(missing - value.axes):
            value = ArrayValue(f"{value.operand} * {nest.axes[number].extent}", value.axes)
        if over := missing & value.axes:
            value = self.summed(value, over)
        place = self.element(stmt.array, stmt.index, full=True)
        sign = "+=" if stmt.accumulate else "="
        if place is not None:
            nest.covered.add(axes)
            if nest.mask is not None and stmt.array not in nest.private:
                self.have_elements(stmt.array, stmt.index, place)
            if nest.mask is not None and not stmt.accumulate:
                value = chosen(nest.mask, value, ArrayValue(place, axes))
            self.line(f"{place} {sign} {value.text}")
            return
        where = self.subscripts(stmt.array, stmt.index)
        if nest.mask is not None:
            raise NoWholeArrays
        if stmt.accumulate:
            self.line(f"np.add.at({stmt.array}, ({where},), {value.text})")
        else:
            self.line(f"{stmt.array}[{where}] = {value.text}")


def head_of(loop: For) -> str:
    """The line that a loop begins with."""
    return printer.statements((For(loop.var, loop.start, loop.stop, loop.step, ()),), 0, False)[0]


def reads_of(block: Block) -> list[str]:
    """The names that a block reads, as often as it reads them."""
    return [name for stmt in walk(block) for name in reads(stmt)]
