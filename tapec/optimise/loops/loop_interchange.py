"""Nests of loops whose outer iterations are independent, with the outer loop inside.

    for i in range(n):                        for i in range(n):
        s = 0.0                                   s_rows[i] = 0.0
        for j in range(m):                    for j in range(m):
            s += x[i, j]             ->           for i in range(n):
        y[i] = s                                      s_rows[i] += x[i, j]
                                              for i in range(n):
                                                  y[i] = s_rows[i]

A number that an iteration of the outer loop hands on from one of these loops to the next gets an array.  Requires that
the iterations of the outer loop can be interleaved: that they touch elements of their own, or only add to what they
share.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.iterations import Iterations
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Name,
    Op,
    Stmt,
    Store,
    reads,
    substitute,
    walk,
    writes,
    written_in,
)
from tapec.syntax.types import Array, Scalar


class Interchange:
    """Questions about the nests of one function, and what becomes of them."""

    def __init__(self, iterations: Iterations, fresh: Fresh) -> None:
        self.iterations, self.fresh = iterations, fresh

    def possible(self, outer: For) -> bool:
        """Whether a loop, which has others inside, can be made their innermost one."""
        if (outer.start, outer.step) != (Const(0), Const(1)) or outer.parallel or outer.slots is not None:
            return False
        set_inside = written_in((outer,))
        if not any(isinstance(stmt, For) for stmt in outer.body):
            return False
        for stmt in outer.body:
            if isinstance(stmt, For) and not set_inside.isdisjoint(reads(stmt)):
                return False
            if not all(map(self.plain, stmt.body if isinstance(stmt, For) else (stmt,))):
                return False
        if not self.iterations.is_parallel(outer):
            return False
        sums = self.sums(outer)
        if sums is None:
            return False
        handed = self.handed(outer, sums)
        numbers = all(isinstance(self.iterations.types[name], Scalar) for name in handed)
        return numbers and not self.iterations.left_over(outer, handed)

    def plain(self, stmt: Stmt) -> bool:
        """Whether a statement computes a number or stores one."""
        if isinstance(stmt, Assign):
            return not is_memory(self.iterations.types.get(stmt.target))
        return isinstance(stmt, Store)

    def handed(self, outer: For, sums: dict[str, str]) -> set[str]:
        """What one part of an iteration computes for another, or an iteration of an inner loop for the next one."""
        parts = [_body(part) for part in _parts(outer)]
        inside = {name for part in parts for stmt in part for name in writes(stmt)}
        return {name for part in parts for name in _read_first(part) & inside if name not in sums}

    def sums(self, outer: For) -> dict[str, str] | None:
        """The names of sums over all iterations, and the one that each is known by before and after them.

        None if more than one part of an iteration adds to a sum.
        """
        inside = {stmt.key for stmt in walk((outer,))}
        parts = list(_parts(outer))
        found: dict[str, str] = {}
        for name in sorted({name for part in parts for stmt in _body(part) for name in writes(stmt)}):
            if not self.iterations.left_over(outer, {name}):
                continue
            names = self.iterations.sum_of(name, inside)
            if names is None or not found.keys().isdisjoint(names) or not _is_chain(name, names, parts):
                return None
            found |= dict.fromkeys(names, name)
        return found

    def turned(self, outer: For, original: For) -> Block:
        """The loops that take the place of a nest, whose elements may be found elsewhere than in the original."""
        sums = self.sums(original)
        assert sums is not None
        handed = self.handed(original, sums)
        arrays = {name: self.fresh(f"{name}_rows", self.array(name)) for name in sorted(handed)}
        out: list[Stmt] = []
        for name, array in arrays.items():
            dtype = self.array(name).dtype
            out.append(Assign(array, Op("empty", (Const(dtype), outer.stop)), outer.span))
        for part in _parts(outer):
            plain = tuple(_summing(stmt, sums) for stmt in _body(part) if not _hands_on(stmt, sums))
            if not plain:
                continue
            body = self.part(plain, Name(outer.var), arrays, outer)
            loop = For(outer.var, outer.start, outer.stop, outer.step, body, span=outer.span)
            head = part[0]
            if isinstance(head, For):
                loop = For(head.var, head.start, head.stop, head.step, (loop,), span=head.span)
            out.append(loop)
        return tuple(out)

    def array(self, name: str) -> Array:
        type_ = self.iterations.types[name]
        assert isinstance(type_, Scalar)
        return Array(type_.dtype, 1)

    def part(self, body: Block, var: Name, arrays: dict[str, str], outer: For) -> Block:
        """One part of an iteration, with what other parts hand it and what it hands them in arrays."""
        span = outer.span
        first = sorted(_read_first(body) & arrays.keys())
        last = sorted({name for stmt in body for name in writes(stmt)} & arrays.keys())
        loads = (Assign(name, Op("load", (Name(arrays[name]), var)), span) for name in first)
        stores = (Store(arrays[name], (var,), Name(name), span=span) for name in last)
        return (*loads, *body, *stores)


def _parts(outer: For) -> Iterator[Block]:
    """The loops in a loop's body, and what stands between them."""
    between: list[Stmt] = []
    for stmt in outer.body:
        if not isinstance(stmt, For):
            between.append(stmt)
            continue
        if between:
            yield tuple(between)
            between = []
        yield (stmt,)
    if between:
        yield tuple(between)


def _body(part: Block) -> Block:
    head = part[0]
    return head.body if isinstance(head, For) else part


def _read_first(body: Block) -> set[str]:
    """The names that a block without others inside reads before it sets them."""
    found: set[str] = set()
    known: set[str] = set()
    for stmt in body:
        found.update(name for name in reads(stmt) if name not in known)
        known.update(writes(stmt))
    return found


def _is_chain(name: str, names: set[str], parts: list[Block]) -> bool:
    """Whether a sum has one name at a time, and one part of an iteration alone adds to it."""
    now, adding = name, 0
    for part in parts:
        before = now
        some = [stmt for stmt in _body(part) if not names.isdisjoint((*reads(stmt), *writes(stmt)))]
        for stmt in some:
            if not isinstance(stmt, Assign) or stmt.target not in names or now not in reads(stmt):
                return False
            now = stmt.target
        adding += not all(_hands_on(stmt, names) for stmt in some)
        if isinstance(part[0], For) and now != before:
            return False
    return now == name and adding == 1


def _hands_on(stmt: Stmt, sums: Container[str]) -> bool:
    """Whether a statement only gives a sum another name."""
    return isinstance(stmt, Assign) and stmt.target in sums and isinstance(stmt.value, Name) and stmt.value.id in sums


def _summing(stmt: Stmt, sums: dict[str, str]) -> Stmt:
    """A statement with one name for each sum that it adds to."""
    if not isinstance(stmt, Assign) or not sums:
        return stmt
    names: dict[str, Expr] = {name: Name(whole) for name, whole in sums.items()}
    return replace(stmt, target=sums.get(stmt.target, stmt.target), value=substitute(stmt.value, names))
