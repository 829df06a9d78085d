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
from dataclasses import dataclass, field, replace

from tapec.analyses.aliases import ALLOCATIONS
from tapec.analyses.array_axes import ArrayAxes, IndexSum
from tapec.optimise import costs
from tapec.optimise.name_origins import Fresh
from tapec.optimise.shapes.known_extents import KnownExtents
from tapec.optimise.simplify.renest import elementwise
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
    Stmt,
    Store,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Array, Scalar, Type

_ALL = Op("slice", (Const(None), Const(None), Const(None)))
_NONE = Const(None)
_LOGIC = {"and": "np.logical_and", "or": "np.logical_or", "not": "np.logical_not"}
_HARMLESS = frozenset({"+", "-", "*", "neg", "cast.float64", "dim"})
_DTYPES = ("float64", "bool")


def array_statements(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with statements over whole arrays; see the module."""
    worker = _Statements(function)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types) if body != function.body else function


class _NotWhole(Exception):
    """A loop has no form over whole arrays."""


@dataclass(frozen=True)
class _Value:
    """A value of each iteration: an expression, and the axes of the nest on which its elements differ, in order.

    fresh  whether nothing else has the array that it stands for
    """

    expr: Expr
    axes: tuple[int, ...] = ()
    fresh: bool = False


@dataclass(frozen=True)
class _Axis:
    """A loop of a nest: its variable, and the bounds of its positions."""

    var: str
    low: IndexSum
    high: IndexSum


@dataclass
class _Nest:
    """What is known inside a nest.

    values   what stands for the names of iterations
    stored   the memory that the nest stores into
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
    axes: list[_Axis] = field(default_factory=list)
    values: dict[str, _Value] = field(default_factory=dict)
    covered: set[frozenset[int]] = field(default_factory=set)
    formed: set[frozenset[int]] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    handed: set[str] = field(default_factory=set)
    private: dict[str, tuple[int, tuple[_Axis, ...] | None]] = field(default_factory=dict)
    sums: dict[str, Expr] = field(default_factory=dict)

    def mentions(self, name: str) -> bool:
        """Whether the statements so far mention a name."""
        return any(name in (*reads(one), *writes(one)) for one in self.out if one is not None)


class _Statements:
    def __init__(self, function: Function) -> None:
        self.types: dict[str, Type] = function.types
        self.axes = ArrayAxes(function)
        self.fresh = Fresh(function.types)
        self.extents = KnownExtents(function, self.axes)
        self.reads: Counter[str] = Counter(name for stmt in walk(function.body) for name in reads(stmt))
        self.nest = _Nest(frozenset(), Counter(), {}, [])

    # blocks

    def block(self, block: Block) -> Block:
        out: list[Stmt | None] = []
        # fresh arrays, and zeros that sums start with, which nothing has mentioned since
        waiting: dict[str, int] = {}
        for stmt in block:
            if isinstance(stmt, For) and not _is_users(stmt) and (found := self.whole(stmt, waiting, out)) is not None:
                for name in found.dropped:
                    out[waiting.pop(name)] = None
                out += found.out
            else:
                out.append(map_blocks(stmt, self.block))
            if isinstance(stmt, Assign) and _may_go(stmt.value):
                waiting[stmt.target] = len(out) - 1
            else:
                for inner in walk((stmt,)):
                    for name in (*reads(inner), *writes(inner)):
                        waiting.pop(name, None)
        return tuple(stmt for stmt in out if stmt is not None)

    def whole(self, loop: For, waiting: dict[str, int], before: list[Stmt | None]) -> _Nest | None:
        """A nest as statements over whole arrays, if it has such a form."""
        every = [stmt.array for stmt in walk(loop.body) if isinstance(stmt, Store)]
        memory = frozenset[str]().union(*map(self.axes.memory, every))
        alone = {array for array in every if sum(self.may_share(array, one) for one in every) == 1}
        loop = replace(loop, body=self.adding(loop.body, alone))
        self.nest = nest = _Nest(memory, Counter(every), waiting, [])
        self.before = before
        types = dict(self.fresh.types)
        try:
            self.loop(loop)
        except _NotWhole:
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
            raise _NotWhole
        nest.axes.append(self.axis(loop))
        starts = {name: self.value(Name(name)) for name in reduced}
        for name in reduced:
            if self.dtype(name) != "float64":
                raise _NotWhole
            nest.values[name] = _Value(Const(0.0))
        for stmt in loop.body:
            self.statement(stmt)
        ended = {name: nest.values[name] for name in reduced}
        nest.axes.pop()
        for name, each in ended.items():
            if number not in each.axes:
                raise _NotWhole
            start, total = starts[name], self.summed(each, number)
            if start.expr == Name(name) and self.starts_with_zero(name):
                nest.dropped.add(name)
                start = _Value(Const(0.0))
            found = total if start.expr == Const(0.0) else self.operation("+", [start, total], name)
            self.bind(name, found, loop)

    def starts_with_zero(self, name: str) -> bool:
        """Whether a sum starts with a zero that nothing else asks for."""
        nest = self.nest
        return name in nest.waiting and name not in nest.dropped and not nest.mentions(name)

    def axis(self, loop: For) -> _Axis:
        first, last = self.axes.place(loop.start), self.axes.place(loop.stop)
        if first is None or last is None:
            raise _NotWhole
        inside = {*self.nest.values, *(one.var for one in self.nest.axes)}
        if not inside.isdisjoint((*first.names, *last.names)):
            raise _NotWhole
        one = IndexSum((), 1)
        low, high = (first, last) if loop.step == Const(1) else (last.plus(one), first.plus(one))
        count = high.minus(low)
        if count is None or not self.axes.is_extent(count) or not self.axes.is_extent(low):
            raise _NotWhole
        return _Axis(loop.var, low, high)

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Note():
                pass
            case Assign(target=target) if self.position(Name(target)) is not None:
                # a subscript, written where it is used
                pass
            case Assign(target=target, value=Op(fn=fn, args=(Const(value="float64"), *_))) if fn in ALLOCATIONS:
                if self.axes.memory(target) != {target}:
                    raise _NotWhole
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
                raise _NotWhole

    def bind(self, target: str, value: _Value, stmt: Stmt) -> None:
        nest = self.nest
        if isinstance(value.expr, Const) or (isinstance(value.expr, Name) and (value.axes or nest.axes)):
            nest.values[target] = value
            return
        if not value.axes:
            if nest.axes and not _is_harmless(value.expr):
                raise _NotWhole
            name = target
        else:
            dtype = self.dtype(target)
            if dtype not in _DTYPES:
                raise _NotWhole
            nest.formed.add(frozenset(value.axes))
            name = self.fresh(target, Array(dtype, len(value.axes)))
        nest.out.append(Assign(name, value.expr, span=stmt.span))
        match value.expr:
            case Op(fn="np.sum;axis=", args=(each, _)):
                nest.sums[name] = each
        nest.values[target] = _Value(Name(name), value.axes, value.fresh)

    # stores

    def store(self, stmt: Store) -> None:
        nest, value = self.nest, self.value(stmt.value)
        dtype = getattr(self.types[stmt.array], "dtype", "")
        if dtype not in _DTYPES or self.value_dtype(stmt.value) != dtype or (dtype == "bool" and stmt.accumulate):
            raise _NotWhole
        everywhere = range(len(nest.axes))
        where, order, is_whole = self.place(stmt.array, stmt.index)
        if where is None:
            raise _NotWhole
        missing = [number for number in everywhere if number not in order]
        if missing and not stmt.accumulate:
            raise _NotWhole
        nest.covered.add(frozenset(order))
        for number in missing:
            if number in value.axes:
                value = self.summed(value, number)
            else:
                axis = nest.axes[number]
                count = self.expression(axis.high.minus(axis.low) or IndexSum())
                value = self.operation("*", [value, _Value(Op("cast.float64", (count,)))], "")
        turned = value.axes != tuple(number for number in order if number in value.axes)
        if turned:
            if len(value.axes) != 2:
                raise _NotWhole
            value = _Value(Op("transpose", (value.expr,)), value.axes[::-1])
        value = self.aligned(value, tuple(order))
        if is_whole and not turned and self.replaces(stmt, value, order):
            nest.dropped.add(stmt.array)
            nest.out.append(Assign(stmt.array, self.own(value, stmt), span=stmt.span))
            return
        nest.out.append(replace(stmt, index=where, value=value.expr))  # type: ignore[arg-type]

    def replaces(self, stmt: Store, value: _Value, order: list[int]) -> bool:
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

    def own(self, value: _Value, stmt: Store) -> Expr:
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
            raise _NotWhole
        nest.private[stmt.array] = before, inner
        nest.values[stmt.array] = self.value(stmt.value)

    def private(self, array: str, subs: tuple[Expr, ...]) -> _Value:
        """An element of such an array."""
        nest, (before, filled) = self.nest, self.nest.private[array]
        inner = tuple(nest.axes[before:])
        plain = [self.position(sub) for sub in subs] == [(before + k, IndexSum()) for k in range(len(inner))]
        if filled is None or not plain or [(one.low, one.high) for one in inner] != [
            (one.low, one.high) for one in filled
        ]:
            raise _NotWhole
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
            raise _NotWhole
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
                found.append(_ALL)
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

    def value(self, expr: Expr, target: str = "") -> _Value:
        nest = self.nest
        match expr:
            case Const():
                return _Value(expr)
            case Name(id=name):
                if any(name == axis.var for axis in nest.axes) or self.position(expr) is not None:
                    raise _NotWhole
                return nest.values.get(name, _Value(expr))
            case Op(fn="load", args=(Name(id=array), *subs)):
                return self.load(array, tuple(subs))
            case Op(fn="stop_gradient" | "known", args=(arg,)):
                return self.value(arg)
            case Op(fn=fn, args=args):
                return self.operation(fn, [self.value(arg) for arg in args], target)

    def load(self, array: str, subs: tuple[Expr, ...]) -> _Value:
        nest = self.nest
        if array in nest.private:
            return self.private(array, subs)
        where, order, is_whole = self.place(array, subs)
        if where is None or getattr(self.types[array], "dtype", "") not in _DTYPES:
            raise _NotWhole
        if not order:
            # an iteration that does not run reads nothing
            raise _NotWhole
        nest.covered.add(frozenset(order))
        found: Expr = Name(array) if is_whole else Op("view", (Name(array), *where))
        axes = tuple(sorted(order))
        if tuple(order) != axes:
            if len(order) != 2:
                raise _NotWhole
            found = Op("transpose", (found,))
        if not self.axes.memory(array).isdisjoint(nest.stored):
            return _Value(Op("copy", (found,)), axes, True)
        return _Value(found, axes)

    def operation(self, fn: str, args: list[_Value], target: str) -> _Value:
        axes = tuple(sorted(set().union(*(arg.axes for arg in args))))
        if not axes:
            return _Value(Op(fn, tuple(arg.expr for arg in args)))
        if fn == "+" and args[0].expr == Const(0.0):
            # what a sum starts with
            return args[1]
        texts = tuple(self.aligned(arg, axes).expr for arg in args)
        if fn == "ifelse":
            return _Value(Op("np.where", texts), axes, True)
        if fn == "strong":
            zero = Op("!=", (texts[0], Const(0.0)))
            return _Value(Op("np.where", (zero, Op("*", texts), texts[0])), axes, True)
        if fn in _LOGIC:
            return _Value(Op(_LOGIC[fn], texts), axes, True)
        if fn == "abs":
            return _Value(Op("np.abs", texts), axes, True)
        if elementwise(fn):
            return _Value(Op(fn, texts), axes, True)
        raise _NotWhole

    def aligned(self, value: _Value, axes: tuple[int, ...]) -> _Value:
        """A value whose elements meet those of an array with some axes, as NumPy broadcasts."""
        own = value.axes
        if not own or own == axes[len(axes) - len(own) :]:
            return value
        first = axes.index(own[0])
        subs = [_ALL if number in own else _NONE for number in axes[first:]]
        return replace(value, expr=Op("view", (value.expr, *subs)), fresh=False)

    def summed(self, value: _Value, number: int) -> _Value:
        rest = tuple(one for one in value.axes if one != number)
        if not rest and isinstance(value.expr, Name) and value.expr.id in self.nest.sums:
            # the sum of all elements, whichever way
            return _Value(Op("np.sum", (self.nest.sums[value.expr.id],)))
        if not rest:
            return _Value(Op("np.sum", (value.expr,)))
        return _Value(Op("np.sum;axis=", (value.expr, Const(value.axes.index(number)))), rest, True)


def _is_users(loop: For) -> bool:
    """Whether the user wrote a loop."""
    text = "" if loop.span is None else loop.span.text.lstrip()
    return text.startswith(("for ", "while ")) or loop.parallel or loop.slots is not None


def _may_go(value: Expr) -> bool:
    """Whether a value may give way to what takes its place."""
    return value == Const(0.0) or (isinstance(value, Op) and value.fn in ALLOCATIONS)


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
