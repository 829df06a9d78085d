"""Which loops over elements may be axes of whole arrays: their iterations run side by side, statement by statement.

    for i in range(n):              t = x[:n] * y[:n]
        t = x[i] * y[i]        ->   z[:n] = t
        z[i] = t                    total = total + np.sum(t)
        total = total + t

No iteration may touch an element that another one stores, unless all add to it; and what an iteration hands to the
next one may only be a sum, a maximum or a minimum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tapec.analyses.aliases import origins
from tapec.analyses.iterations import Iterations
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    names_in,
    reads,
    walk,
    written_in,
)
from tapec.syntax.types import FLOATS, Array, Scalar, Type

# what a reduction's operation is called, and what it starts with
REDUCTIONS = {"+": ("np.sum", "0.0"), "np.maximum": ("np.max", "-np.inf"), "np.minimum": ("np.min", "np.inf")}
# names in a sum
_TERMS = 4
_WHOLE = (*FLOATS, "int64", "bool")
# integers that are int64 once they are loaded, as the results of their operations are
SHORT = ("int8", "int16", "int32", "uint8", "uint16", "uint32")


@dataclass(frozen=True)
class IndexSum:
    """A subscript or bound: a sum of names, in their order, and a number."""

    names: tuple[str, ...] = ()
    number: int = 0

    def plus(self, other: IndexSum) -> IndexSum:
        return IndexSum(tuple(sorted((*self.names, *other.names))), self.number + other.number)

    def minus(self, other: IndexSum) -> IndexSum | None:
        """The difference, where it is such a sum."""
        names = list(self.names)
        for name in other.names:
            if name not in names:
                return None
            names.remove(name)
        return IndexSum(tuple(names), self.number - other.number)

    def __str__(self) -> str:
        text = " + ".join(self.names)
        if not self.names:
            return str(self.number)
        return f"{text} {'+' if self.number > 0 else '-'} {abs(self.number)}" if self.number else text


class ArrayAxes:
    """Questions about the loops of one function."""

    def __init__(self, function: Function) -> None:
        self.types: Mapping[str, Type] = function.types
        self._origins = origins(function.body, function.types)
        self._shared = function.shared
        self._iterations = Iterations(function)
        self.definitions: dict[str, list[Stmt]] = {}
        self.reads: Counter[str] = Counter()
        for stmt in walk(function.body):
            self.reads.update(reads(stmt))
            if isinstance(stmt, Assign):
                self.definitions.setdefault(stmt.target, []).append(stmt)

    def place(self, atom: Expr) -> IndexSum | None:
        """A subscript or bound, by its definition."""
        match atom:
            case Const(value=int(number)) if not isinstance(number, bool):
                return IndexSum((), number)
            case Name(id=name):
                match self.definitions.get(name, ()):
                    case [Assign(value=Op(fn="+" | "-" as sign, args=(first, second)))]:
                        # a merge name may be another number by now
                        one, two = (self.place(one) if self._is_kept(one) else None for one in (first, second))
                        found = one and two and (one.plus(two) if sign == "+" else one.minus(two))
                        return IndexSum((name,)) if found is None or len(found.names) > _TERMS else found
                return IndexSum((name,))
        return None

    def is_extent(self, place: IndexSum) -> bool:
        """Whether a sum is not below zero, since all in it is an extent."""
        return place.number >= 0 and all(map(self._never_negative, place.names))

    def _never_negative(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a name stands for an extent, or for a sum, product or part of extents."""
        found = self.definitions.get(name, ())
        if name in seen or not found:
            return False
        return all(isinstance(stmt, Assign) and self._extent(stmt.value, seen | {name}) for stmt in found)

    def _extent(self, value: Expr, seen: frozenset[str]) -> bool:
        match value:
            case Const(value=int(number)):
                return number >= 0
            case Name(id=name):
                return self._never_negative(name, seen)
            case Op(fn="dim"):
                return True
            case Op(fn="+" | "*" | "//", args=args):
                return all(self._extent(arg, seen) for arg in args)
            case Op(fn="max", args=args):
                return any(self._extent(arg, seen) for arg in args)
        return False

    def _is_kept(self, operand: Expr) -> bool:
        """Whether an operand has one value as long as its iteration runs: it is not a merge name."""
        return not isinstance(operand, Name) or len(self.definitions.get(operand.id, ())) <= 1

    def reduced(self, loop: For) -> dict[str, str] | None:
        """If a loop may be an axis, what its iterations hand on, and by which operation it is gathered."""
        if loop.parallel or loop.slots is not None or loop.step not in (Const(1), Const(-1)):
            return None
        if not self._is_plain(loop.body) or not self._is_independent(loop):
            return None
        body = list(walk(loop.body))
        inside = Counter(stmt.target for stmt in body if isinstance(stmt, Assign))
        read = Counter(name for stmt in body for name in reads(stmt))
        found: dict[str, str] = {}
        for name, count in inside.items():
            if len(self.definitions[name]) > count or self.reads[name] > read[name]:
                kind = self._reduction(name, body)
                if kind is None:
                    return None
                found[name] = kind
        return found

    def _is_plain(self, block: Block) -> bool:
        """Whether statements are about numbers that NumPy has arrays of, alone."""
        for stmt in walk(block):
            match stmt:
                case Assign(target=target, value=Op(fn="empty" | "zeros")) if self._is_whole(target):
                    # each iteration has one of its own
                    if self.memory(target) != {target}:
                        return False
                case Assign(target=target, value=value):
                    if not self._is_whole_number(target, value):
                        return False
                    arrays = [name for name in names_in(value) if isinstance(self.types.get(name), Array)]
                    is_load = isinstance(value, Op) and value.fn == "load"
                    if len(arrays) > is_load:
                        return False
                    if is_load and not self._is_whole(arrays[0]):
                        return False
                case Store(array=array, accumulate=adds):
                    if not self._is_whole(array) or (adds and self.is_short(array)):
                        return False
        return True

    def is_short(self, array: str) -> bool:
        """Whether an array has integers that are int64 once they are loaded."""
        return getattr(self.types[array], "dtype", "") in SHORT

    def _is_whole(self, array: str) -> bool:
        type_ = self.types[array]
        return isinstance(type_, Array) and type_.dtype in (*_WHOLE, *SHORT)

    def _is_whole_number(self, name: str, value: Expr) -> bool:
        """Whether NumPy's arrays of such values have the type that a name has in compiled code."""
        type_ = self.types[name]
        if not isinstance(type_, Scalar):
            return False
        is_read = isinstance(value, Name) or (isinstance(value, Op) and (value.fn == "load" or "cast." in value.fn))
        return type_.dtype in _WHOLE or (type_.dtype in SHORT and is_read)

    def memory(self, array: str) -> frozenset[str]:
        """The names under which the memory that an array may stand for was made or came in."""
        found = self._origins.get(array, frozenset({array}))
        return found.union(*(group for group in self._shared if not group.isdisjoint(found)))

    def _is_independent(self, loop: For) -> bool:
        """Whether no iteration touches an element that another one stores, unless all that is done is to add to it."""
        touched: list[tuple[str, tuple[Expr, ...], str]] = []
        own_arrays = {stmt.target for stmt in walk(loop.body) if isinstance(stmt, Assign)}
        for stmt in walk(loop.body):
            match stmt:
                case Store(array=array, index=index, accumulate=adds):
                    touched.append((array, index, "adds" if adds else "stores"))
                case Assign(value=Op(fn="load", args=(Name(id=array), *subs))):
                    touched.append((array, tuple(subs), "loads"))
        for written in {array for array, _, way in touched if way != "loads"} - own_arrays:
            memory = self.memory(written)
            own = [one for one in touched if not memory.isdisjoint(self.memory(one[0]))]
            if any(way != "adds" for _, _, way in own) and not self._told_apart(own, loop):
                return self._iterations.conflict(loop) is None
        return True

    def _told_apart(self, own: list[tuple[str, tuple[Expr, ...], str]], loop: For) -> bool:
        """Whether all accesses are to one array, and have the loop's variable plus one sum in one place."""
        if len({array for array, _, _ in own}) > 1:
            return False
        inside = {loop.var, *written_in(loop.body)}
        for subs in zip(*(subs for _, subs, _ in own), strict=True):
            places = {self.place(sub) for sub in subs}
            only = next(iter(places)) if len(places) == 1 else None
            if only is not None and [name for name in only.names if name in inside] == [loop.var]:
                return self._counts_up(loop, only)
        return False

    def _counts_up(self, loop: For, sub: IndexSum) -> bool:
        """Whether a subscript is never below zero, where it would stand for an element at the end."""
        first = self.place(loop.start if loop.step == Const(1) else loop.stop)
        rest = sub.minus(IndexSum((loop.var,)))
        if first is None or rest is None:
            return False
        return self.is_extent(first.plus(rest).plus(IndexSum((), int(loop.step != Const(1)))))

    def _reduction(self, name: str, body: list[Stmt]) -> str | None:
        """The operation by which iterations gather a value that nothing else in them reads."""
        type_ = self.types[name]
        if not isinstance(type_, Scalar) or type_.dtype == "bool":
            return None
        chain, kinds, before = {name}, set[str](), 0
        while len(chain) > before:
            before = len(chain)
            for stmt in body:
                if isinstance(stmt, Assign) and stmt.target not in chain and not chain.isdisjoint(reads(stmt)):
                    chain.add(stmt.target)
                    if len(chain) > 32:
                        return None
        for stmt in body:
            found = [one for one in reads(stmt) if one in chain]
            if not found and not (isinstance(stmt, Assign) and stmt.target in chain):
                continue
            match stmt:
                case Assign(target=target, value=Name(id=source)) if target in chain and source in chain:
                    pass
                case Assign(value=Op(fn="+" | "np.maximum" | "np.minimum" as fn)) if len(found) == 1:
                    kinds.add(fn)
                case Assign(value=Op(fn="-", args=(Name(id=source), _))) if found == [source]:
                    kinds.add("+")
                case _:
                    return None
        if len(kinds) != 1:
            return None
        kind = kinds.pop()
        return kind if kind == "+" or type_.is_float else None
