"""Arrays that grow are lists, which grow where they are.

    t = np.empty(4)                             t = [0.0] * 4
    while ...:                                  while ...:
        if count == t.shape[0]:                     if count == len(t):
            room = np.empty(2 * count + 4)              for k in range(len(t), 2 * count + 4):
            for k in range(count):         ->               t.append(0.0)
                room[k] = t[k]                      t[count] = x
        else:
            room = t
        room[count] = x
        t = room

A name that may stand for another array makes Numba count references in every iteration, and keeps the array's extents
and address out of registers: a stack of six numbers took 12 times its primal, and 3.5 as lists.  That is for arrays of
which only elements and extents are asked; of others there are copies, and views.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.array_growth import Family, Growth, Growths
from tapec.optimise.rewriter import Rewriter
from tapec.optimise.thread_flags import has_threads
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Push,
    Stmt,
    Store,
    map_blocks,
    names_in,
    substitute,
)
from tapec.syntax.types import INT64, Array, Scalar, Stack

# what a new element is, by dtype; others would need a constant of their own type
_ZERO: dict[str, float | int | bool] = {"float64": 0.0, "int64": 0, "bool": False}


def grow_in_place(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with lists in place of arrays that grow; see the module."""
    growths = Growths(function)
    if not growths.found or has_threads(function):
        return function
    families = [one for one in growths.all() if _is_list(one, function)]
    while True:
        names = {name for one in families for name in one.names}
        # a branch that lets other arrays grow, too, stays as it is
        mixed = {
            target
            for growth in growths.found.values()
            if not names.issuperset(growth.targets)
            for target in growth.targets
        }
        kept = [one for one in families if mixed.isdisjoint(one.names)]
        if len(kept) == len(families):
            break
        families = kept
    return _Writer(growths, families).rewritten() if families else function


def _is_list(family: Family, function: Function) -> bool:
    """Whether arrays can be a list."""
    dtypes = {type_.dtype for name in family.names if isinstance(type_ := function.types[name], Array)}
    return dtypes <= _ZERO.keys() and family.last() is not None and family.plain(function.body)


class _Writer(Rewriter):
    def __init__(self, growths: Growths, families: list[Family]) -> None:
        super().__init__(growths.function)
        self.growths = {at: one for at, one in growths.found.items() if any(f.grows(one.stmt) for f in families)}
        # the list that a name stands for
        self.lists: dict[str, Name] = {}
        for family in families:
            assert family.made is not None
            name = family.made.target
            self.lists |= dict.fromkeys(family.names, Name(name))
            type_ = self.function.types[name]
            assert isinstance(type_, Array)
            self.fresh.types[name] = Stack(Scalar(type_.dtype))
            last = family.last()
            if last is not None:
                why = "names for one array or another would count references in every iteration"
                span = getattr(last[0], "span", None)
                remark(span, "grown_lists", "`{0}` is a list", why, Named(last[1]))

    def statement(self, stmt: Stmt) -> list[Stmt]:
        growth = self.growths.get(stmt.key)
        if growth is not None:
            return [self.grown(growth)]
        match stmt:
            case Assign(target=target, value=value) if target in self.lists:
                if isinstance(value, Name):
                    return []
                assert isinstance(value, Op)
                return [Assign(target, Op("room", value.args), stmt.span)]
            case Assign(value=value):
                return [replace(stmt, value=self.expr(value))]
            case Store(array=array) if array in self.lists:
                return [replace(stmt, array=self.lists[array].id)]
        return [map_blocks(stmt, self.block)]

    def expr(self, value: Expr) -> Expr:
        if self.lists.keys().isdisjoint(names_in(value)):
            return value
        match value:
            case Op(fn="dim", args=(Name(id=array), _)) if array in self.lists:
                return Op("len", (self.lists[array],))
        return substitute(value, dict(self.lists))

    def grown(self, growth: Growth) -> If:
        """The branch with lists that grow in place."""
        stmt = growth.stmt
        source = dict(zip(growth.rooms, growth.sources, strict=True))
        out: list[Stmt] = []
        for one in stmt.body:
            match one:
                case Assign(target=room, value=Op(fn="empty", args=(Const(value=dtype), size))):
                    name = self.lists[source[room]]
                    held, place = self.fresh("held", INT64), self.fresh("k", INT64)
                    zero = Const(_ZERO[str(dtype)])
                    assert isinstance(size, Name | Const)
                    out += [
                        Assign(held, Op("len", (name,)), one.span),
                        For(place, Name(held), size, Const(1), (Push(name.id, zero, one.span),), span=one.span),
                    ]
                case Assign(value=value) if not isinstance(value, Name):
                    out.append(replace(one, value=self.expr(value)))
        return If(stmt.test, tuple(out), (), stmt.span)
