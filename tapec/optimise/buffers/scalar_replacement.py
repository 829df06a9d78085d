"""Turn small arrays into numbers.

    k = np.empty(2)
    k[0] = x * y                 k_0 = x * y
    k[1] = x - y        ->       k_1 = x - y
    z = k[0] + k[1]              z = k_0 + k_1

An array qualifies if its extents are known, nothing but its own elements is used, and every subscript
is a number.  No allocation is left in a loop then, and reverse mode keeps numbers instead of arrays.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from tapec.analyses.facts import facts
from tapec.optimise import costs
from tapec.optimise.name_origins import Vocabulary
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    reads,
    walk,
    writes,
    zero_of,
)
from tapec.syntax.types import FLOAT64, INT64, Array, Scalar, Type

Place = tuple[int, ...]


def small_arrays(function: Function, largest: int = costs.SMALL_ARRAY) -> dict[str, Place]:
    """The extents of the arrays that are small, known by one name alone and used element by element."""
    known = facts(function)
    found: dict[str, Place] = {}
    for stmt in walk(function.body):
        if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in ("empty", "zeros"):
            extents = [arg.value for arg in stmt.value.args[1:] if isinstance(arg, Const)]
            shape = tuple(extent for extent in extents if isinstance(extent, int))
            complete = len(shape) == len(stmt.value.args) - 1
            alone = len(known.members[known.aliases.find(stmt.target)]) == 1
            if complete and alone and 0 < math.prod(shape) <= largest:
                found[stmt.target] = shape
    for stmt in walk(function.body):
        for name in _used_whole(stmt):
            found.pop(name, None)
    made = [name for stmt in walk(function.body) for name in writes(stmt) if name in found]
    return {name: shape for name, shape in found.items() if made.count(name) == 1}


def _used_whole(stmt: Stmt) -> Iterator[str]:
    match stmt:
        case Store(index=index, value=value):
            for one in (*index, value):
                if isinstance(one, Name):
                    yield one.id
        case Assign(value=Op(fn="load" | "dim")):
            pass
        case _:
            yield from reads(stmt)


def replace_small_arrays(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with numbers for arrays; see the module.  Afterwards a name may have several values."""
    shapes = small_arrays(function)
    for stmt in walk(function.body):
        for name, index in _accesses(stmt):
            if name in shapes and _place(index, shapes[name]) is None:
                del shapes[name]
    if not shapes:
        return function
    for stmt in walk(function.body):
        if isinstance(stmt, Assign) and stmt.target in shapes:
            about = Named(stmt.target, stmt.span), math.prod(shapes[stmt.target])
            remark(stmt.span, "scalar_replacement", "`{0}` became {1} numbers", "", *about)
    return _Scalars(function, shapes).rewritten()


def _accesses(stmt: Stmt) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    match stmt:
        case Store(array=array, index=index):
            yield array, index
        case Assign(value=Op(fn="load", args=(Name(id=array), *index))):
            yield array, tuple(index)


def _place(index: tuple[Expr, ...], shape: Place) -> Place | None:
    """A subscript as numbers that count from the front; None if it is not known, or outside."""
    out = []
    for sub, extent in zip(index, shape, strict=True):
        number = sub.value if isinstance(sub, Const) else None
        if not isinstance(number, int) or not -extent <= number < extent:
            return None
        out.append(number % extent)
    return tuple(out)


class _Scalars(Rewriter):
    def __init__(self, function: Function, shapes: dict[str, Place]) -> None:
        super().__init__(function)
        self.shapes = shapes
        self.names: dict[tuple[str, Place], str] = {}
        words = Vocabulary(function)
        for array, shape in shapes.items():
            type_ = self.fresh.types[array]
            assert isinstance(type_, Array)
            stem = words.stem(array)
            for place in itertools.product(*map(range, shape)):
                label = stem + ("" if max(place, default=0) < 10 else "x").join(map(str, place))
                self.names[array, place] = self.fresh(label, type_.element)

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        match stmt:
            case If() | For() | Loop():
                yield map_blocks(stmt, self.block)
            case Assign(target=target) if target in self.shapes:
                # an element that is read before it is written has no value to keep
                for (array, _), name in self.names.items():
                    type_ = self.fresh.types[name]
                    if array == target and isinstance(type_, Scalar):
                        yield Assign(name, zero_of(type_), stmt.span)
            case Assign(target=target, value=Op(fn="load", args=(Name(id=array), *index))) if array in self.shapes:
                yield Assign(target, Name(self.name(array, tuple(index))), stmt.span)
            case Assign(target=target, value=Op(fn="dim", args=(Name(id=array), Const(value=int() as axis)))) if (
                array in self.shapes
            ):
                yield Assign(target, Const(self.shapes[array][axis]), stmt.span)
            case Store(array=array) if array in self.shapes:
                name = self.name(array, stmt.index)
                type_ = self.fresh.types[name]
                value: Expr = stmt.value
                if self.type_of(stmt.value) != type_:
                    converted = self.fresh("t", type_)
                    yield Assign(converted, Op(f"cast.{type_}", (stmt.value,)), stmt.span)
                    value = Name(converted)
                yield Assign(name, Op("+", (Name(name), value)) if stmt.accumulate else value, stmt.span)
            case _:
                yield stmt

    def name(self, array: str, index: tuple[Expr, ...]) -> str:
        place = _place(index, self.shapes[array])
        assert place is not None
        return self.names[array, place]

    def type_of(self, atom: Expr) -> Type | None:
        if isinstance(atom, Name):
            return self.fresh.types.get(atom.id)
        if isinstance(atom, Const) and isinstance(atom.value, bool):
            return Scalar("bool")
        return FLOAT64 if isinstance(atom, Const) and isinstance(atom.value, float) else INT64
