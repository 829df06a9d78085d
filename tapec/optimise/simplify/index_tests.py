"""Test the subscripts of adjoints that no test before all loops covers.

    t = k[i]                            t = k[i]
    x_bar[t] += w[i]           ->       if t >= x_bar.shape[0] or t < -x_bar.shape[0]:
                                            raise tapec_runtime.IndexOutOfRange("`x`", 0, t, x_bar.shape[0], ...)
                                        x_bar[t] += w[i]

They come from accesses that `transforms.index_guards` has marked as open: stores are tested themselves, and in forward
mode loads.  Where such an access has been dropped, since nobody asks for what it stores or loads, the loads of its
adjoint or tangent are tested.  Done last: no pass has to know of tests in
loops.  A test stands before the outermost loop for which it says exactly whether a subscript is out of range, and
otherwise before the statement that writes.  A loop on threads notes what is out of range, and does not write it; the
error is raised behind it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tapec.analyses.index_ranges import IndexRanges, accesses, may_stop
from tapec.optimise.name_origins import is_adjoint
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Stmt,
    Store,
    distinct,
    literal_range,
    map_blocks,
    names_in,
    walk,
    zero_of,
)
from tapec.syntax.types import INT64, Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.index_guards import Guards, error, inserted, outside


def add_index_tests(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such tests; see the module."""
    if not any(stmt.span is not None and stmt.span.open for stmt in walk(function.body)):
        return function
    function = replace(function, body=distinct(function.body))
    worker = _Tests(function)
    kept = {
        stmt.span.tested
        for stmt, array, _ in accesses(function)
        if stmt.span is not None and stmt.span.tested and not is_adjoint(array)
    }
    for stmt, array, subs in accesses(function):
        if not isinstance(function.types[array], Array):
            # a list by now, which tells by itself
            continue
        if is_open(stmt) or _is_left(stmt, array, kept):
            worker.access(stmt, array, subs)
    tests = worker.guards.statements(worker.emitter)
    for key, more in worker.directly.items():
        tests.setdefault(key, []).extend(more)
    body = worker.noted(inserted(function.body, tests))
    return replace(function, body=body, types=worker.types)


def is_open(stmt: Stmt) -> bool:
    """Whether a statement writes an element, or takes a row that is written, by a subscript that is open.

    So does, in forward mode, one that loads an element.  Values of a load are stored in its place, too: their
    subscripts are in range, which is proved for most.
    """
    match stmt:
        case Store(span=span):
            return span is not None and bool(span.open)
        case Assign(value=Op(fn="view", args=(Name(id=array), *_)), span=span):
            return span is not None and bool(span.open) and (bool(span.tested) or is_adjoint(array))
        case Assign(value=Op(fn="load", args=(Name(id=array), *_)), span=span):
            return span is not None and bool(span.open and span.tested) and not is_adjoint(array)
    return False


def _is_left(stmt: Stmt, array: str, kept: set[int]) -> bool:
    """Whether a statement loads an adjoint or tangent for an access that, by its number, has been dropped."""
    match stmt:
        case Assign(value=Op(fn="load"), span=span):
            dropped = span is not None and span.open and span.tested and span.tested not in kept
            return bool(dropped) and is_adjoint(array)
    return False


class _Tests:
    """The tests of one function.

    directly  those of subscripts of which nothing is known, by the statements before which they stand
    wrong     in loops on threads: the tests of a store, and what is to be done for each where it fails
    behind    what raises the errors behind those loops, and what it takes before them
    """

    def __init__(self, function: Function) -> None:
        self.ranges = IndexRanges(function)
        self.types = dict(function.types)
        self.emitter = Emitter(self.types, set(self.types))
        self.guards = Guards(self.ranges, early=False)
        self.directly: dict[int, list[Stmt]] = {}
        self.wrong: dict[int, list[tuple[Block, Name, Block]]] = {}
        self.behind: dict[int, list[tuple[Stmt, Block]]] = {}

    def access(self, stmt: Stmt, array: str, subs: tuple[Expr, ...]) -> None:
        assert isinstance(stmt, Assign | Store) and stmt.span is not None
        threads = self.threads(stmt)
        for axis in stmt.span.open:
            if axis >= len(subs):
                continue
            found = self.ranges.earliest(stmt, array, axis, subs[axis])
            if threads is not None and (found is None or any(self.threads(one.before) for one in found)):
                self.on_threads(stmt, array, axis, subs[axis], threads)
            elif found is None:
                out, place, size, test = outside(self.emitter.child(), stmt.span, array, axis, subs[axis])
                raised = If(test, (error(stmt.span, array, axis, place, size),), (), stmt.span)
                self.directly.setdefault(self.outside(stmt, array, subs[axis]).key, []).extend([*out, raised])
            else:
                for one in found:
                    self.guards.add(one, array, axis, stmt.span)

    def outside(self, stmt: Stmt, array: str, sub: Expr) -> Stmt:
        """The statement before which a test stands: the outermost loop that surely asks the same, as one over lanes.

        That is one of a known number of iterations, in which nothing stops before, and nothing that is asked is set.
        """
        names, scopes = (array, *names_in(sub)), self.ranges.scopes
        while True:
            region = scopes.of[stmt.key]
            loop = region.owner
            if not isinstance(loop, For) or loop.parallel or not literal_range(loop):
                return stmt
            before = tuple(one for one in region.block if scopes.place[one.key] < scopes.place[stmt.key])
            made = (one for name in names for one in scopes.defs.get(name, ()))
            if loop.var in names or may_stop(before) or any(scopes.of[one.key].inside(region) for one in made):
                return stmt
            stmt = loop

    def threads(self, stmt: Stmt) -> For | None:
        """The loop on threads that a statement is in."""
        loops = (scope.owner for scope in self.ranges.scopes.of[stmt.key].loops())
        return next((loop for loop in loops if isinstance(loop, For) and loop.parallel), None)

    def on_threads(self, stmt: Stmt, array: str, axis: int, sub: Expr, loop: For) -> None:
        """No error comes out of threads: they note that there is one, and it is raised behind the loop."""
        found = self.emitter.fresh("outside", Array("int64", 1))
        out, place, size, test = outside(self.emitter.child(), stmt.span, array, axis, sub)
        noted = tuple(Store(found, (Const(k),), one, False, stmt.span) for k, one in enumerate((Const(1), place, size)))
        self.wrong.setdefault(stmt.key, []).append((out, test, noted))
        last = self.emitter.child()
        last.span = stmt.span
        flag, index, extent = (
            last.let("t", Op("load", (Name(found), Const(k))), INT64) for k in range(len(noted))
        )
        raised = last.atom(Op("!=", (flag, Const(0))))
        # of an array with a row for each chunk, the first axis is none of the user's
        shown = axis - 1 if re.search(r"_parts(_\d+)*$", array) else axis
        last.add(If(raised, (error(stmt.span, array, shown, index, extent),), (), stmt.span))
        begin = Assign(found, Op("zeros", (Const("int64"), Const(len(noted)))), stmt.span)
        self.behind.setdefault(loop.key, []).append((begin, tuple(last.out)))

    def noted(self, block: Block) -> Block:
        """A block with the tests of loops on threads."""
        out: list[Stmt] = []
        for stmt in block:
            behind = self.behind.get(stmt.key, ())
            new = map_blocks(stmt, self.noted)
            for tests, test, noted in self.wrong.get(stmt.key, ()):
                if isinstance(stmt, Assign) and isinstance(kind := self.types[stmt.target], Scalar):
                    noted = (*noted, replace(stmt, value=zero_of(kind)))
                new = If(test, noted, (new,), new.span)
                out += tests
            out += [*(begin for begin, _ in behind), new, *(one for _, last in behind for one in last)]
        return tuple(out)
