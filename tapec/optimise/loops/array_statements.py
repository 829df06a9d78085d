"""Statements over whole arrays in place of loops over their elements, as a person writes them.

    y = np.empty(n)                      y = np.exp(x)
    for i in range(n):                   total = np.sum(y * w)
        t = np.exp(x[i])           ->
        y[i] = t
        total = total + t * w[i]

Only loops that come from statements over whole arrays are such statements again: the user's loops stay.  Which loops
may be axes, `analyses/array_axes.py` says.  An array takes the place of each number of an iteration; no array has
more axes than what the loops read or write.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS, VIEWS
from tapec.analyses.array_axes import IndexSum
from tapec.optimise import costs
from tapec.optimise.loops.nest_values import ALL, DTYPES, NestAxis, NestFacts, NestValue, NestValues, NotWhole
from tapec.optimise.simplify.variable_names import under_names
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    Name,
    Note,
    Op,
    Push,
    Stmt,
    Store,
    map_blocks,
    names_in,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Array, Type

_HARMLESS = frozenset({"+", "-", "*", "neg", "cast.float64", "dim"})


def array_statements(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with statements over whole arrays; see the module."""
    worker = _Statements(function)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types) if body != function.body else function


class _Statements(NestValues):
    # blocks

    def block(self, block: Block) -> Block:
        out: list[Stmt | None] = []
        # fresh arrays, and zeros that sums start with, which nothing has mentioned since
        waiting: dict[str, int] = {}
        # where those arrays are put on lists
        pushed: dict[str, int] = {}
        for stmt in block:
            if isinstance(stmt, For) and not _is_users(stmt) and (found := self.whole(stmt, waiting, out)) is not None:
                out += found.out
                for name in found.dropped:
                    out[waiting.pop(name)] = None
                    if (place := pushed.pop(name, None)) is not None:
                        out.append(out[place])
                        out[place] = None
            else:
                out.append(map_blocks(stmt, self.block))
            match stmt:
                case Assign(target=target, value=value) if _may_go(value):
                    waiting[target] = len(out) - 1
                case Push(stack=stack, value=Name(id=name)) if name in waiting and name not in pushed:
                    waiting = {one: k for one, k in waiting.items() if not self.lies_on(one, pushed, out, {stack})}
                    pushed[name] = len(out) - 1
                case _:
                    mentioned = {name for one in walk((stmt,)) for name in (*reads(one), *writes(one))}
                    waiting = {
                        one: k
                        for one, k in waiting.items()
                        if one not in mentioned and not self.lies_on(one, pushed, out, mentioned)
                    }
        return self.without_copies(self.without_views([stmt for stmt in out if stmt is not None]))

    def lies_on(self, array: str, pushed: dict[str, int], out: list[Stmt | None], lists: set[str]) -> bool:
        """Whether an array has been put on one of some lists."""
        match out[pushed[array]] if array in pushed else None:
            case Push(stack=stack):
                return stack in lists
        return False

    def without_views(self, block: list[Stmt]) -> list[Stmt]:
        """A block that stores into a part of an array in place of a view of it that nothing else mentions."""
        views: dict[str, Stmt] = {}
        out: list[Stmt] = []
        for stmt in block:
            match stmt:
                case Assign(target=view, value=Op(fn="view", args=args)) if self.is_part(view, args):
                    views[view] = stmt
                case Store(array=view, index=index) if view in views and set(index) == {ALL}:
                    made = views[view]
                    assert isinstance(made, Assign) and isinstance(made.value, Op)
                    (array, *subs) = made.value.args
                    out = [one for one in out if one is not made]
                    stmt = replace(stmt, array=array.id, index=(*subs, *index))  # type: ignore[union-attr,arg-type]
            out.append(stmt)
        return out

    def is_part(self, view: str, args: tuple[Expr, ...]) -> bool:
        """Whether a view that is mentioned once, by numbers, can be taken there."""
        names = [name for arg in args for name in names_in(arg)]
        once = self.reads[view] == 1 and all(self.extents.sets[name] <= 1 for name in (view, *names))
        return once and all(map(self.extents.extents.is_number, args[1:]))

    def without_copies(self, block: list[Stmt]) -> Block:
        """A block that reads an array in place of a copy of it, where nobody changes either from then on."""
        done: list[Stmt] = []
        while block:
            stmt, *block = block
            match stmt:
                case Assign(target=target, value=Op(fn="copy", args=(Name(id=source),))) if (
                    self.is_alone(target)
                    and self.is_alone(owner := _viewed(source, done))
                    and (owner in self.types or any(owner in writes(one) for one in done))
                    and _only_read((target, source, owner), block)
                ):
                    block = list(under_names(tuple(block), {target: source}))
                case _:
                    done.append(stmt)
        return tuple(done)

    def is_alone(self, array: str) -> bool:
        """Whether an array is set once, and has memory that no other name stands for."""
        return self.extents.sets[array] <= 1 and self.axes.memory(array) == {array} and not self.is_shared(array)

    def is_shared(self, array: str) -> bool:
        """Whether another name stands for an array's memory."""
        return any(array in self.axes.memory(other) for other in self.types if other != array)

    def whole(self, loop: For, waiting: dict[str, int], before: list[Stmt | None]) -> NestFacts | None:
        """A nest as statements over whole arrays, if it has such a form."""
        every = [stmt.array for stmt in walk(loop.body) if isinstance(stmt, Store)]
        # other names do not stand for memory that has been made just before
        memory = frozenset[str]().union(*(self.axes.memory(array) for array in every if array not in waiting))
        alone = {array for array in every if sum(self.may_share(array, one) for one in every) == 1}
        loop = replace(loop, body=self.adding(loop.body, alone))
        self.nest = nest = NestFacts(memory, Counter(every), waiting, [])
        self.before = before
        types = dict(self.fresh.types)
        try:
            self.loop(loop)
        except NotWhole:
            self.fresh.types = types
            return None
        if any(not any(one <= axes for axes in nest.covered) for one in nest.formed):
            self.fresh.types = types
            return None
        return nest

    def may_share(self, array: str, other: str) -> bool:
        return not self.axes.memory(array).isdisjoint(self.axes.memory(other))

    def adding(self, block: Block, alone: set[str]) -> Block:
        """A block in which `t = x[i]; s = t + e; x[i] = s` says that `e` is added.

        alone  arrays into which no other statement of the nest stores
        """
        found: list[Stmt] = []
        made = {stmt.target: stmt.value for stmt in block if isinstance(stmt, Assign)}
        for stmt in block:
            match stmt:
                case Store(array=array, index=index, value=Name(id=name), accumulate=False) if array in alone:
                    match made.get(name):
                        case Op(fn="+" | "-" as sign, args=(Name(id=old), more)) if (
                            self.reads[name] == self.reads[old] == 1
                            and made.get(old) == Op("load", (Name(array), *index))
                        ):
                            gone = (name, old)
                            found = [one for one in found if not isinstance(one, Assign) or one.target not in gone]
                            added = more if sign == "+" else Op("neg", (more,))
                            stmt = replace(stmt, value=added, accumulate=True)  # type: ignore[arg-type]
            found.append(map_blocks(stmt, lambda inner: self.adding(inner, alone)))
        return tuple(found)

    # loops

    def loop(self, loop: For) -> None:
        nest, number = self.nest, len(self.nest.axes)
        reduced = self.axes.reduced(loop)
        if reduced is None or number == costs.STATEMENT_AXES or any(kind != "+" for kind in reduced.values()):
            raise NotWhole
        nest.axes.append(self.axis(loop))
        starts = {name: self.value(Name(name)) for name in reduced}
        for name in reduced:
            if self.dtype(name) != "float64":
                raise NotWhole
            nest.values[name] = NestValue(Const(0.0))
        for stmt in loop.body:
            self.statement(stmt)
        ended = {name: nest.values[name] for name in reduced}
        nest.axes.pop()
        for name, each in ended.items():
            if number not in each.axes:
                raise NotWhole
            start, total = starts[name], self.summed(each, number)
            if start.expr == Name(name) and self.starts_with_zero(name):
                nest.dropped.add(name)
                start = NestValue(Const(0.0))
            found = total if start.expr == Const(0.0) else self.operation("+", [start, total], name)
            self.bind(name, found, loop)

    def starts_with_zero(self, name: str) -> bool:
        """Whether a sum starts with a zero that nothing else asks for."""
        nest = self.nest
        return name in nest.waiting and name not in nest.dropped and not nest.mentions(name)

    def axis(self, loop: For) -> NestAxis:
        first, last = self.axes.place(loop.start), self.axes.place(loop.stop)
        if first is None or last is None:
            raise NotWhole
        inside = {*self.nest.values, *(one.var for one in self.nest.axes)}
        if not inside.isdisjoint((*first.names, *last.names)):
            raise NotWhole
        one = IndexSum((), 1)
        low, high = (first, last) if loop.step == Const(1) else (last.plus(one), first.plus(one))
        count = high.minus(low)
        if count is None or not self.axes.is_extent(count) or not self.axes.is_extent(low):
            raise NotWhole
        return NestAxis(loop.var, low, high)

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Note():
                pass
            case Assign(target=target) if self.position(Name(target)) is not None:
                # a subscript, written where it is used
                pass
            case Assign(target=target, value=Op(fn=fn, args=(Const(value="float64"), *_))) if fn in ALLOCATIONS:
                if self.axes.memory(target) != {target}:
                    raise NotWhole
                self.nest.private[target] = len(self.nest.axes), None
            case Assign(target=target, value=value):
                self.bind(target, self.value(value, target), stmt)
            case Store(array=array) if array in self.nest.private:
                self.fill(stmt)
            case Store():
                self.store(stmt)
            case For():
                self.loop(stmt)
            case _:
                raise NotWhole

    def bind(self, target: str, value: NestValue, stmt: Stmt) -> None:
        nest = self.nest
        if isinstance(value.expr, Const) or (isinstance(value.expr, Name) and (value.axes or nest.axes)):
            nest.values[target] = value
            return
        if not value.axes:
            if nest.axes and not _is_harmless(value.expr):
                raise NotWhole
            name = target
        else:
            dtype = self.dtype(target)
            if dtype not in DTYPES:
                raise NotWhole
            nest.formed.add(frozenset(value.axes))
            name = self.fresh(target, Array(dtype, len(value.axes)))
        nest.out.append(Assign(name, value.expr, span=stmt.span))
        match value.expr:
            case Op(fn="np.sum;axis=", args=(each, _)):
                nest.sums[name] = each
        nest.values[target] = NestValue(Name(name), value.axes, value.fresh)

    # stores

    def store(self, stmt: Store) -> None:
        nest, value = self.nest, self.value(stmt.value)
        dtype = getattr(self.types[stmt.array], "dtype", "")
        if dtype not in DTYPES or self.value_dtype(stmt.value) != dtype or (dtype == "bool" and stmt.accumulate):
            raise NotWhole
        everywhere = range(len(nest.axes))
        where, order, is_whole = self.place(stmt.array, stmt.index)
        if where is None:
            raise NotWhole
        missing = [number for number in everywhere if number not in order]
        if missing and not stmt.accumulate:
            raise NotWhole
        nest.covered.add(frozenset(order))
        for number in missing:
            if number in value.axes:
                value = self.summed(value, number)
            else:
                axis = nest.axes[number]
                count = self.expression(axis.high.minus(axis.low) or IndexSum())
                value = self.operation("*", [value, NestValue(Op("cast.float64", (count,)))], "")
        turned = value.axes != tuple(number for number in order if number in value.axes)
        if turned:
            if len(value.axes) != 2:
                raise NotWhole
            value = NestValue(Op("transpose", (value.expr,)), value.axes[::-1])
        value = self.aligned(value, tuple(order))
        if is_whole and not turned and self.replaces(stmt, value, order):
            nest.dropped.add(stmt.array)
            nest.out.append(Assign(stmt.array, self.own(value, stmt), span=stmt.span))
            return
        nest.out.append(replace(stmt, index=where, value=value.expr))  # type: ignore[arg-type]

    def replaces(self, stmt: Store, value: NestValue, order: list[int]) -> bool:
        """Whether the value becomes the array, in place of one that has just been made."""
        nest = self.nest
        if stmt.array not in nest.waiting or stmt.array in nest.dropped or len(value.axes) != len(order):
            return False
        made = self.before[nest.waiting[stmt.array]]
        is_zero = isinstance(made, Assign) and isinstance(made.value, Op) and made.value.fn == "zeros"
        if stmt.accumulate and not is_zero:
            return False
        if nest.mentions(stmt.array):
            return False
        # the array's type is that of an allocation: rows one after the other
        return _in_rows(value.expr, self.fresh.types)

    def own(self, value: NestValue, stmt: Store) -> Expr:
        """The value as an array of its own."""
        nest = self.nest
        match value.expr:
            case Name(id=name) if value.fresh and name not in nest.handed and nest.stores[stmt.array] == 1:
                nest.handed.add(name)
                return value.expr
            case Name(id=name) if self.reads[name] == 1 and self.is_made(name):
                return value.expr
            case Name() | Op(fn="view"):
                return Op("copy", (value.expr,))
        return value.expr

    def is_made(self, name: str) -> bool:
        """Whether a name is that of a product that has been made in this block, which nothing else has."""
        made = [one for one in self.before if isinstance(one, Assign) and one.target == name]
        once = self.extents.sets[name] == 1
        return once and any(isinstance(one.value, Op) and one.value.fn == "np.dot" for one in made)

    def fill(self, stmt: Store) -> None:
        """Store into an array that each iteration has for itself: it is a value with more axes."""
        nest, (before, filled) = self.nest, self.nest.private[stmt.array]
        type_, inner = self.types[stmt.array], tuple(nest.axes[self.nest.private[stmt.array][0] :])
        plain = [self.position(sub) for sub in stmt.index] == [(before + k, IndexSum()) for k in range(len(inner))]
        is_full = isinstance(type_, Array) and type_.ndim == len(inner) and all(
            axis.low == IndexSum() and self.extents.ends(stmt.array, k, axis.high) for k, axis in enumerate(inner)
        )
        if filled is not None or not plain or not is_full or stmt.accumulate:
            raise NotWhole
        nest.private[stmt.array] = before, inner
        nest.values[stmt.array] = self.value(stmt.value)

def _is_users(loop: For) -> bool:
    """Whether the user wrote a loop."""
    return (loop.span is not None and loop.span.begins_loop) or loop.parallel or loop.slots is not None


def _may_go(value: Expr) -> bool:
    """Whether a value may give way to what takes its place."""
    return value == Const(0.0) or (isinstance(value, Op) and value.fn in ALLOCATIONS)


def _viewed(name: str, block: list[Stmt]) -> str:
    """The array of which a block makes a view by this name; the name itself if that is none."""
    for stmt in reversed(block):
        match stmt:
            case Assign(target=target, value=Op(fn=fn, args=(Name(id=array), *_))) if target == name and fn in VIEWS:
                return _viewed(array, block)
    return name


def _only_read(arrays: tuple[str, ...], block: list[Stmt]) -> bool:
    """Whether a block reads the elements of arrays, and gives them no other name."""
    for stmt in walk(block):
        match stmt:
            case Assign(value=Op(fn=fn)) if fn != "view":
                pass
            case Store(array=array) if array not in arrays:
                pass
            case _ if any(name in arrays for name in (*reads(stmt), *writes(stmt))):
                return False
    return True


def _is_harmless(expr: Expr) -> bool:
    """Whether an expression of numbers may be computed where no iteration asks for it."""
    return not isinstance(expr, Op) or (expr.fn in _HARMLESS and all(map(_is_harmless, expr.args)))


def _in_rows(expr: Expr, types: dict[str, Type]) -> bool:
    """Whether a value of arrays has its rows one after the other."""
    match expr:
        case Name(id=name):
            type_ = types.get(name)
            return not isinstance(type_, Array) or type_.layout == "C" or type_.ndim < 2
        case Op(fn="transpose"):
            return False
        case Op(args=args):
            return all(_in_rows(arg, types) for arg in args)
    return True
