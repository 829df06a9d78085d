"""Search sorted tables without branches, in loops, and for many numbers side by side.

    for i in range(n):                               for i in range(n):
        k = np.searchsorted(knots, x[i] + s)  ->         k = tapec_runtime.searchsorted(knots, x[i] + s)

    for i in range(n):                               found = tapec_runtime.places(knots, x, n, False)
        k = np.searchsorted(knots, x[i])      ->     for i in range(n):
                                                         k = found[i]

Numba's search branches at every step, and the next number is rarely found on the same way.  A search is a chain of
steps that wait for one another; those of other numbers fit in between.  They are searched before the loop if each of
its iterations searches for the element of its number in an array that the loop leaves alone, as it does the table, and
the loop is not inside another one.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Const,
    Expr,
    For,
    Function,
    Loop,
    Name,
    Op,
    Raise,
    Stmt,
    map_blocks,
    may_leave,
    walk,
    written_in,
)
from tapec.syntax.types import FLOAT64, INT64, Array, Type

_LEFT, _RIGHT = "tapec_runtime.searchsorted", "tapec_runtime.searchsorted_right"
SEARCHES = {
    "np.searchsorted": _LEFT,
    "np.searchsorted;side='left'": _LEFT,
    "np.searchsorted;side='right'": _RIGHT,
}


def search_tables(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such searches; see the module."""
    if not any(isinstance(stmt, Assign) and _is_search(stmt.value) for stmt in walk(function.body)):
        return function
    worker = _Searches(function)
    body = worker.block(function.body, inside=False)
    return replace(function, body=body, types=worker.fresh.types)


class _Searches:
    def __init__(self, function: Function) -> None:
        self.iterations = Iterations(function)
        self.fresh = Fresh(function.types)

    def block(self, block: Block, inside: bool) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            match stmt:
                case Assign(target=target, value=value) if inside and self.fresh.types[target] == INT64:
                    out.append(replace(stmt, value=_searched(value, self.fresh.types)))
                case For() | Loop():
                    loop = self.ahead(stmt, out) if isinstance(stmt, For) and not inside else stmt
                    out.append(map_blocks(loop, lambda body: self.block(body, inside=True)))
                case _:
                    out.append(map_blocks(stmt, lambda body: self.block(body, inside)))
        return tuple(out)

    def ahead(self, loop: For, out: list[Stmt]) -> For:
        """The loop without the searches that can be made before it; those go to `out`."""
        if (loop.start, loop.step) != (Const(0), Const(1)) or loop.parallel or may_leave(loop.body, Break, Raise):
            return loop
        set_inside = written_in((loop,))
        changed = {
            self.iterations.aliases.find(access.array)
            for access in self.iterations.accesses(loop.body)
            if access.kind != "load"
        }
        body: list[Stmt] = []
        for stmt in loop.body:
            arrays = self.arrays(stmt, Name(loop.var))
            if arrays is None or any(
                array.id in set_inside or self.iterations.aliases.find(array.id) in changed for array in arrays
            ):
                body.append(stmt)
                continue
            assert isinstance(stmt, Assign) and isinstance(stmt.value, Op)
            why = "every iteration of {1} searches it for another number"
            about = Named(arrays[0].id), loop.span
            remark(stmt.span, "branchless_search", "`{0}` is searched before the loop", why, *about)
            found = self.fresh("found", Array("int64", 1))
            value = Op("tapec_runtime.places", (*arrays, loop.stop, Const(SEARCHES[stmt.value.fn] == _RIGHT)))
            out.append(Assign(found, value, stmt.span))
            body.append(replace(stmt, value=Op("load", (Name(found), Name(loop.var)))))
        return replace(loop, body=tuple(body))

    def arrays(self, stmt: Stmt, iteration: Atom) -> tuple[Name, Name] | None:
        """The table that a statement searches, and the array whose element of the iteration's number it searches
        for.
        """
        if not isinstance(stmt, Assign) or _searched(stmt.value, self.fresh.types) == stmt.value:
            return None
        assert isinstance(stmt.value, Op)
        table, number = stmt.value.args
        match self.iterations.definition(number) if isinstance(number, Name) else None:
            case Op(fn="load", args=(Name() as numbers, sub)) if sub == iteration and isinstance(table, Name):
                return table, numbers
        return None


def _is_search(value: Expr) -> bool:
    return isinstance(value, Op) and value.fn in SEARCHES


def _searched(value: Expr, types: dict[str, Type]) -> Expr:
    """A search by the runtime, if the value is one that it makes; else the value."""
    match value:
        case Op(fn=fn, args=(Name(id=table), Name(id=number))) if fn in SEARCHES:
            type_ = types[table]
            if isinstance(type_, Array) and type_.ndim == 1 and type_.element == types[number] == FLOAT64:
                return Op(SEARCHES[fn], value.args)
    return value
