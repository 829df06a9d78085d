"""Run loops on threads whose iterations can run in any order.

    for i in range(n):                    chunks = ...                         as the extents say
        s = s + f(x[i])                   s_parts = np.empty(chunks)
        x_bar[i] = g(x[i])                w_parts = np.zeros((chunks, w_bar.shape[0]))
        w_bar[k[i]] += h(x[i])     ->     for chunk in numba.prange(chunks):
                                              s_part = 0.0
                                              for i in range(chunk * n // chunks, (chunk + 1) * n // chunks):
                                                  s_part = s_part + f(x[i])
                                                  x_bar[i] = g(x[i])
                                                  w_parts[chunk, k[i]] += h(x[i])
                                              s_parts[chunk] = s_part
                                          for chunk in range(chunks):
                                              s = s + s_parts[chunk]
                                              w_bar += w_parts[chunk]

An innermost loop counts from 0 and works on views, its chunk's parts of the arrays.
What iterations add to, each chunk adds up for itself, and the chunks' sums are added in their order.  Chunks depend on
extents alone, so that the result has the same bits on any number of threads.  The outermost loops that allow it are
taken; `analyses/iterations.py` has the proof, and what it cannot prove stays as it is, `prange` of the source included.
So does all of a function in which loops bind a name to arrays of several extents (`analyses/varying_extents.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tapec.analyses.iterations import Iterations
from tapec.analyses.varying_extents import varying_extents
from tapec.optimise import costs
from tapec.optimise.name_origins import Fresh
from tapec.optimise.simplify.index_tests import is_open
from tapec.remarks import Named, remark
from tapec.rules.formula import ASKED_FOR
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Expr,
    For,
    Function,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    operations,
    substitute,
    walk,
    writes,
    written_in,
    zero_of,
)
from tapec.syntax.custom_rule import Opaque
from tapec.syntax.types import INT64, Array, Scalar


def on_threads(function: Function, in_order: bool = False) -> Function:
    """The function with loops on threads; `in_order`, only those that add nothing up."""
    worker = _Threads(function, in_order)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


@dataclass(frozen=True)
class _Sums:
    """What the iterations of a loop add to: variables, and arrays element by element."""

    names: tuple[str, ...]
    arrays: tuple[str, ...]


class _Threads:
    def __init__(self, function: Function, in_order: bool) -> None:
        self.iterations = Iterations(function)
        self.fresh = Fresh(function.types)
        self.in_order = in_order
        # a name that Numba would take for one array, or number, while it stands for several
        self.rebound = varying_extents(function)
        # why the last loop stays as it is, and what that is about
        self.refusal: tuple[Any, ...] = ()

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if not isinstance(stmt, For):
                out.append(map_blocks(stmt, self.block))
                continue
            sums = self.sums(stmt)
            self.remark(stmt, sums is not None)
            if sums is None:
                out.append(map_blocks(stmt, self.block))
            else:
                out += self.chunked(stmt, sums)
        return tuple(out)

    def remark(self, loop: For, taken: bool) -> None:
        what = "runs on threads" if taken else "does not run on threads"
        remark(loop.span, "parallel_loops", what, *(() if taken else self.refusal))

    def refuse(self, why: str, *about: Any) -> Any:
        """Note why a loop stays as it is; returns None."""
        self.refusal = (why, *about)

    # the proof

    def sums(self, loop: For) -> _Sums | None:
        """What iterations add to, if a loop can run on threads."""
        if self.rebound is not None:
            array = isinstance(self.fresh.types[self.rebound], Array)
            several = "arrays of several extents" if array else "several extents"
            return self.refuse(f"`{{0}}` stands for {several}, which Numba would take for one", Named(self.rebound))
        if loop.step not in (Const(1), Const(-1)):
            return self.refuse("it counts neither up nor down by one")
        if self.few(loop):
            return self.refuse("it is short")
        if not self.iterations.free_of_effects(loop.body):
            return self.refuse("an iteration may raise, leave the loop, print, or call what does not run on threads")
        if any(map(_takes_tested_row, walk(loop.body))):
            return self.refuse("it is tested whether a row is there, and no error comes out of threads")
        if any(map(_asks_python, walk(loop.body))):
            return self.refuse("it calls functions that compiled code asks Python for")
        if not self.iterations.is_parallel(loop):
            return self.refuse("it is not proved that its iterations can run in any order")
        inside = {stmt.key for stmt in walk(loop.body)}
        names = [
            name
            for name in dict.fromkeys(name for stmt in walk(loop.body) for name in writes(stmt))
            if any(stmt.key not in inside for stmt in self.iterations.scopes.defs[name])
        ]
        arrays = self.added(loop)
        if arrays is None:
            return None
        if self.in_order and (names or arrays):
            return self.refuse(
                "its iterations add to `{0}`, and the order of sums is to stay", Named((*names, *arrays)[0])
            )
        if loop.step != Const(1) and (names or arrays):
            return self.refuse("its iterations add up downwards")
        return _Sums(tuple(names), tuple(arrays))

    def few(self, loop: For) -> bool:
        """Whether a loop is known to be too short for threads."""
        if any(isinstance(stmt, For | Loop) for stmt in walk(loop.body)):
            return False
        start, stop = (b.value if isinstance(b, Const) else None for b in (loop.start, loop.stop))
        return isinstance(start, int) and isinstance(stop, int) and abs(stop - start) < 2 * costs.CHUNK_ITERATIONS

    def added(self, loop: For) -> list[str] | None:
        """The arrays to whose elements several iterations may add."""
        found: list[str] = []
        inside = written_in(loop.body)
        for group in self.iterations.groups(loop.body):
            if {access.kind for access in group} != {"add"} or self.iterations.elements_disjoint(loop, group):
                continue
            names = {access.array for access in group}
            if not self.iterations.own(group[0].array, loop.body):
                if len(names) != 1 or names & inside:
                    name = min(names)
                    self.refuse("its iterations add to elements of `{0}` by several names", Named(name))
                    return None
                found += names
        return found

    # the loop in chunks

    def chunked(self, loop: For, sums: _Sums) -> list[Stmt]:
        out: list[Stmt] = []

        def let(base: str, value: Expr, into: list[Stmt]) -> Name:
            name = self.fresh(base, INT64)
            into.append(Assign(name, value, loop.span))
            return Name(name)

        first, stop = loop.start, loop.stop
        if loop.step != Const(1):
            first, stop = let("t", Op("+", (stop, Const(1))), out), let("t", Op("+", (first, Const(1))), out)
        iterations = let("size", Op("max", (let("t", Op("-", (stop, first)), out), Const(0))), out)
        shapes = {name: self.shape(name, loop, out) for name in sums.arrays}
        most = self.most(loop, iterations, shapes, out)
        chunks = let("chunks", Op("max", (let("t", Op("min", (most, Const(costs.CHUNKS))), out), Const(1))), out)
        added = (*sums.names, *sums.arrays)
        parts = {name: self.parts(name, chunks, shapes.get(name, ()), loop, out) for name in added}
        body: list[Stmt] = []
        counter = self.fresh("chunk", INT64)
        # Numba counts chunks without a sign
        chunk = let("part", Op("cast.int64", (Name(counter),)), body)
        low = self.bound(chunk, iterations, chunks, first, loop, body)
        high = self.bound(let("t", Op("+", (chunk, Const(1))), body), iterations, chunks, first, loop, body)
        own = {}
        for name in sums.names:
            type_ = self.fresh.types[name]
            assert isinstance(type_, Scalar)
            own[name] = self.fresh(f"{name}_part", type_)
            body.append(Assign(own[name], zero_of(type_), loop.span))
        rows: dict[str, tuple[str, Atom]] = {name: (parts[name], chunk) for name in sums.arrays}
        views = self.views(loop, low, high, frozenset(sums.arrays), body)
        if views:
            place = self.fresh("k", INT64)
            inside: list[Stmt] = [Assign(loop.var, Op("+", (low, Name(place))), loop.span)]
            inside += _Renamed(own, rows, views, loop.var, place).block(loop.body)
            count = let("t", Op("-", (high, low)), body)
            body.append(For(place, Const(0), count, Const(1), tuple(inside), span=loop.span))
        else:
            renamed = _Renamed(own, rows).block(loop.body)
            body.append(replace(loop, start=low, stop=high, step=Const(1), body=renamed, parallel=False))
        body += [Store(parts[name], (chunk,), Name(own[name]), False, loop.span) for name in sums.names]
        out.append(For(counter, Const(0), chunks, Const(1), tuple(body), True, loop.span))
        if parts:
            out.append(self.joined(loop, sums, parts, shapes, chunks))
        return out

    def views(self, loop: For, low: Atom, high: Atom, summed: frozenset[str], out: list[Stmt]) -> dict[str, str]:
        """A chunk's part of each array of one axis that an innermost loop runs along.

        Only from 0 on does LLVM prove that a subscript is not negative, and run the loop on vectors.  Where it may be
        negative, it is no place in a part.
        """
        found: dict[str, str] = {}
        innermost = not any(isinstance(stmt, For | Loop) for stmt in walk(loop.body))
        if not innermost or not self.iterations.never_negative(Name(loop.var)):
            return found
        inside = written_in(loop.body)
        # a subscript that is tested stays what the user's is
        tested = {stmt.array for stmt in walk(loop.body) if isinstance(stmt, Store) and is_open(stmt)}
        for stmt in walk(loop.body):
            name = _along(stmt, loop.var)
            if name is None or name in found or name in inside or name in summed or name in tested:
                continue
            found[name] = self.fresh(f"{name}_part", self.fresh.types[name])
            part = Op("view", (Name(name), Op("slice", (low, high, Const(None)))))
            out.append(Assign(found[name], part, loop.span))
        return found

    def shape(self, name: str, loop: For, out: list[Stmt]) -> tuple[Atom, ...]:
        type_ = self.fresh.types[name]
        assert isinstance(type_, Array)
        dims = []
        for axis in range(type_.ndim):
            dims.append(self.fresh("size", INT64))
            out.append(Assign(dims[-1], Op("dim", (Name(name), Const(axis))), loop.span))
        return tuple(map(Name, dims))

    def most(self, loop: For, iterations: Atom, shapes: dict[str, tuple[Atom, ...]], out: list[Stmt]) -> Atom:
        """How many chunks are worth their sums and their start."""

        def let(value: Expr) -> Atom:
            name = self.fresh("t", INT64)
            out.append(Assign(name, value, loop.span))
            return Name(name)

        long = any(isinstance(stmt, For | Loop) for stmt in walk(loop.body))
        found = iterations if long else let(Op("//", (iterations, Const(costs.CHUNK_ITERATIONS))))
        work = let(Op("*", (iterations, Const(costs.CHUNK_SUMS)))) if long and shapes else iterations
        for shape in shapes.values():
            size: Atom = Const(1)
            for extent in shape:
                size = let(Op("*", (size, extent)))
            worth = let(Op("//", (work, let(Op("max", (size, Const(1)))))))
            found = let(Op("min", (found, let(Op("+", (worth, Const(1)))))))
        return found

    def parts(self, name: str, chunks: Atom, shape: tuple[Atom, ...], loop: For, out: list[Stmt]) -> str:
        """An array with the sums of each chunk."""
        type_ = self.fresh.types[name]
        assert isinstance(type_, Scalar | Array)
        made = self.fresh(f"{name}_parts", Array(type_.dtype, 1 + len(shape)))
        fn = "zeros" if isinstance(type_, Array) else "empty"
        out.append(Assign(made, Op(fn, (Const(type_.dtype), chunks, *shape)), loop.span))
        return made

    def bound(self, chunk: Atom, iterations: Atom, chunks: Atom, first: Atom, loop: For, out: list[Stmt]) -> Atom:
        """Where a chunk begins."""
        steps = (
            lambda _: Op("*", (chunk, iterations)),
            lambda last: Op("//", (last, chunks)),
            lambda last: Op("+", (first, last)),
        )
        last: Atom = Const(0)
        for step in steps:
            name = self.fresh("t", INT64)
            out.append(Assign(name, step(last), loop.span))
            last = Name(name)
        return last

    def joined(
        self, loop: For, sums: _Sums, parts: dict[str, str], shapes: dict[str, tuple[Atom, ...]], chunks: Atom
    ) -> Stmt:
        """The sums of the chunks, one chunk after the other."""
        chunk = Name(self.fresh("chunk", INT64))
        body: list[Stmt] = []
        for name in sums.names:
            item = self.fresh("t", self.fresh.types[name])
            body.append(Assign(item, Op("load", (Name(parts[name]), chunk)), loop.span))
            body.append(Assign(name, Op("+", (Name(name), Name(item))), loop.span))
        for name in sums.arrays:
            type_ = self.fresh.types[name]
            assert isinstance(type_, Array)
            index = tuple(Name(self.fresh("ijklmn"[axis % 6], INT64)) for axis in range(type_.ndim))
            item = self.fresh("t", type_.element)
            nest: Block = (
                Assign(item, Op("load", (Name(parts[name]), chunk, *index)), loop.span),
                Store(name, index, Name(item), True, loop.span),
            )
            for place, extent in reversed(list(zip(index, shapes[name], strict=True))):
                nest = (For(place.id, Const(0), extent, Const(1), nest, span=loop.span),)
            body += nest
        return For(chunk.id, Const(0), chunks, Const(1), tuple(body), span=loop.span)


def _asks_python(stmt: Stmt) -> bool:
    """Whether a statement calls a function whose address is asked from Python, or one that is called as it is."""
    if isinstance(stmt, Call) and (isinstance(stmt.function, Opaque) or stmt.function.startswith(ASKED_FOR)):
        return True
    return any(op.fn.startswith(ASKED_FOR) or isinstance(op.fn, Opaque) for op in operations(stmt))


def _takes_tested_row(stmt: Stmt) -> bool:
    """Whether a statement takes a row of which it is tested whether it is there."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "view" and is_open(stmt)


def _along(stmt: Stmt, var: str) -> str | None:
    """The array of one axis whose element at `var` a statement loads or stores."""
    match stmt:
        case Store(array=array, index=(Name(id=place),)) if place == var:
            return array
        case Assign(value=Op(fn="load", args=(Name(id=array), Name(id=place)))) if place == var:
            return array
    return None


class _Renamed:
    """A body that adds to what its chunk has: to other variables, and to a row of another array.

    Of arrays with a view, it takes the elements at `var` from there, at `place`.
    """

    def __init__(
        self,
        names: dict[str, str],
        arrays: dict[str, tuple[str, Atom]],
        views: dict[str, str] | None = None,
        var: str = "",
        place: str = "",
    ) -> None:
        self.names = names
        self.arrays = arrays
        self.views = views or {}
        self.var = var
        self.place = Name(place)
        self.values: dict[str, Expr] = {old: Name(new) for old, new in names.items()}

    def block(self, block: Block) -> Block:
        return tuple(self.one(map_blocks(stmt, self.block)) for stmt in block)

    def one(self, stmt: Stmt) -> Stmt:
        part = self.views.get(_along(stmt, self.var) or "")
        if part is not None and isinstance(stmt, Assign):
            stmt = replace(stmt, value=Op("load", (Name(part), self.place)))
        elif part is not None and isinstance(stmt, Store):
            stmt = replace(stmt, array=part, index=(self.place,))
        match stmt:
            case Assign(target=target, value=value):
                return replace(stmt, target=self.names.get(target, target), value=substitute(value, self.values))
            case Store(array=array, index=index) if array in self.arrays:
                parts, chunk = self.arrays[array]
                span = stmt.span and replace(stmt.span, open=tuple(axis + 1 for axis in stmt.span.open))
                return replace(stmt, array=parts, index=(chunk, *index), span=span)
        # sums are read by nothing but what adds to them
        return stmt
