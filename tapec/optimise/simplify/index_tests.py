"""Test the subscripts of adjoints that no test before all loops covers.

    t = k[i]                            t = k[i]
    x_bar[t] += w[i]           ->       if t >= x_bar.shape[0] or t < -x_bar.shape[0]:
                                            raise tapec_runtime.IndexOutOfRange("`x`", 0, t, x_bar.shape[0], ...)
                                        x_bar[t] += w[i]

They come from loads that `transforms.index_guards` has marked as open.  Done last: no pass has to know of tests in
loops.  A test stands before the outermost loop for which it says exactly whether a subscript is out of range, and
otherwise before the statement that writes.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.index_ranges import IndexRanges, accesses
from tapec.optimise.simplify.name_origins import is_adjoint
from tapec.syntax.core import Assign, Block, Const, Expr, Function, If, Name, Op, Stmt, Store, distinct, walk
from tapec.syntax.types import INT64
from tapec.transforms.emitter import Emitter
from tapec.transforms.index_guards import Guards, error, inserted


def add_index_tests(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such tests; see the module."""
    if not any(map(is_open, walk(function.body))):
        return function
    function = replace(function, body=distinct(function.body))
    ranges = IndexRanges(function)
    types = dict(function.types)
    emitter, guards = Emitter(types, set(types)), Guards(ranges)
    others: dict[int, list[Stmt]] = {}
    for stmt, array, subs in accesses(function):
        if not is_open(stmt):
            continue
        for axis in stmt.span.open:  # type: ignore[union-attr]
            found = ranges.earliest(stmt, array, axis, subs[axis])
            for one in found or ():
                guards.add(one, array, axis, stmt.span, first=False)
            if found is None:
                others.setdefault(stmt.key, []).extend(_any_number(stmt, array, axis, subs[axis], emitter))
    tests = guards.statements(emitter)
    for key, more in others.items():
        tests.setdefault(key, []).extend(more)
    return replace(function, body=inserted(function.body, tests), types=types)


def is_open(stmt: Stmt) -> bool:
    """Whether a statement writes an element of an adjoint, or takes a row of it, by a subscript that is open."""
    match stmt:
        case Store(array=array, span=span) | Assign(value=Op(fn="view", args=(Name(id=array), *_)), span=span):
            return span is not None and bool(span.open) and is_adjoint(array)
    return False


def _any_number(stmt: Stmt, array: str, axis: int, sub: Expr, emitter: Emitter) -> Block:
    """A test of a subscript of which nothing is known."""
    out = emitter.child()
    out.span = stmt.span
    place = out.cast(out.atom(sub), INT64)
    size = out.let("n", Op("dim", (Name(array), Const(axis))), INT64)
    test = out.atom(Op("or", (Op(">=", (place, size)), Op("<", (place, Op("neg", (size,)))))))
    return (*out.out, If(test, (error(stmt.span, array, axis, place, size),), (), stmt.span))
