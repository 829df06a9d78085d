"""Keep LLVM from sums over many strided elements, or elements that are looked up, on vectors.

    for b in range(n):                        for b in range(n):
        s = 0.0                                   here = tapec_runtime.opaque(b)
        for c in range(4):                        s = 0.0
            s += m[b, c] * v[c]       ->          for c in range(4):
        total += w[b] * s                             s += m[here, c] * v[c]
                                                  total += w[here] * s

Where sums may be reordered, LLVM writes the inner loop out and takes several `b` at a time.  It then gathers elements
that are rows apart, which takes three times as long as one `b` after the other, whose elements stand side by side.
A loop is kept from that if it loads four elements or more of other rows in each iteration, and does little else with
them.

    for p in range(n, m):                     for p in range(n, m):
        s += v[p] * x[k[p]]           ->          s += v[p] * x[tapec_runtime.opaque(k[p])]

Elements that are looked up are gathered, too: at no time faster than one by one, and five times as slow on processors
that make gathering safe.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.optimise import costs
from tapec.optimise.rewriter import Rewriter
from tapec.optimise.vector_operations import operation_cost
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Block,
    Expr,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    literal_range,
    map_blocks,
    names_in,
    walk,
    writes,
    written_in,
)
from tapec.syntax.renaming import replaced
from tapec.syntax.types import INT64, Type


def keep_scalar_sums(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops kept from vectors; see the module."""
    return _Strided(function).rewritten()


class _Strided(Rewriter):
    def statement(self, stmt: Stmt) -> tuple[Stmt, ...]:
        return (self.hidden(map_blocks(stmt, self.block)),)

    def hidden(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For):
            return stmt
        if not self.gathers(stmt):
            place = self.looked_up(stmt)
            if place is None:
                return stmt
            self.remark(stmt, "elements that are looked up would be gathered, slower than one by one")
            return self.index_hidden(stmt, place)
        self.remark(stmt, "elements that are rows apart would be gathered, slower than one by one")
        here = self.fresh("here", INT64)
        hidden = Assign(here, Op("tapec_runtime.opaque", (Name(stmt.var),)), stmt.span)
        return replace(stmt, body=(hidden, *replaced(stmt.body, {stmt.var: Name(here)})))

    def remark(self, loop: For, why: str) -> None:
        remark(loop.span, "strided_sums", "kept from vectors", why)

    def gathers(self, loop: For) -> bool:
        """Whether a loop is a sum over many elements of other rows, with little to do for each."""
        counted = literal_range(loop)
        runs = list(_runs(loop.body))
        few = counted is not None and len(counted) <= costs.UNROLLED_ITERATIONS
        if few or None in runs or not sums(loop, self.fresh.types):
            return False
        rows, work = 0, 0
        for run in runs:
            assert run is not None
            stmt, times = run
            match stmt:
                case Assign(value=Op(fn="load", args=(_, *subs))):
                    rows += times * (Name(loop.var) in subs[:-1])
                case Assign(value=Op(fn=fn)):
                    work += times * operation_cost(fn)
        return rows >= costs.STRIDED_ROWS and work <= costs.STRIDED_WORK * rows

    def looked_up(self, loop: For) -> int | None:
        """Where the index of an element is loaded in a loop that sums such elements, with little to do for each."""
        if not all(isinstance(stmt, Assign | Store) for stmt in loop.body) or not sums(loop, self.fresh.types):
            return None
        loaded: dict[str, int] = {}
        found: list[int] = []
        moving = written_in((loop,))
        work = 0
        for place, stmt in enumerate(loop.body):
            match stmt:
                case Assign(target=target, value=Op(fn="load", args=(_, *subs))):
                    found += [loaded[sub.id] for sub in subs if isinstance(sub, Name) and sub.id in loaded]
                    if not self.fresh.types[target].is_float and any(_moves(sub, moving) for sub in subs):
                        loaded[target] = place
                case Assign(value=Op(fn=fn)):
                    work += operation_cost(fn)
        return found[0] if found and work <= costs.STRIDED_WORK * len(found) else None

    def index_hidden(self, loop: For, place: int) -> For:
        """The loop with the index that is loaded at a place of it hidden."""
        load = loop.body[place]
        assert isinstance(load, Assign)
        seen = self.fresh(load.target, self.fresh.types[load.target])
        hidden = replace(load, value=Op("tapec_runtime.opaque", (Name(seen),)))
        return replace(loop, body=(*loop.body[:place], replace(load, target=seen), hidden, *loop.body[place + 1 :]))


def sums(loop: For, types: dict[str, Type]) -> bool:
    """Whether an iteration hands floats on to the next one."""
    first: dict[str, bool] = {}
    for stmt in walk(loop.body):
        if isinstance(stmt, Assign):
            for name in _names(stmt):
                first.setdefault(name, True)
        for name in writes(stmt):
            first.setdefault(name, False)
    written = written_in(loop.body)
    return any(first[name] and types[name].is_float for name in written)


def _moves(sub: Expr, moving: set[str]) -> bool:
    """Whether a subscript is another one in other iterations."""
    return not moving.isdisjoint(names_in(sub))


def _names(stmt: Assign) -> Iterator[str]:
    args = stmt.value.args if isinstance(stmt.value, Op) else (stmt.value,)
    for arg in args:
        if isinstance(arg, Name):
            yield arg.id


def _runs(block: Block, times: int = 1) -> Iterator[tuple[Assign | Store, int] | None]:
    """The statements of a block and how often each runs; None for what is not counted."""
    for stmt in block:
        if isinstance(stmt, Assign | Store):
            yield stmt, times
        elif isinstance(stmt, For) and (counted := literal_range(stmt)) and len(counted) <= costs.UNROLLED_ITERATIONS:
            yield from _runs(stmt.body, times * len(counted))
        else:
            yield None
