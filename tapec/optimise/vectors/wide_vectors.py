"""Ask for the widest vectors that the processor has, where loops are long.

Where LLVM could take vectors of 512 bits, it takes half of that.  Loops of few iterations lose by the whole width,
since more of their iterations are left over for the loop behind that takes one at a time; long ones gain a fifth.

Long are loops over lanes, and over what has one axis or was given as a number; axes of matrices are coordinates,
states or classes more often than not.  All that may run on vectors must be long, but for loops that run once, those in
a loop of lanes, and the other form of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    blocks,
    literal_range,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Array, Scalar


def use_wide_vectors(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function, which asks for wide vectors if that is worth it; see the module."""
    lengths = list(_Widths(function).lengths(function.body, False))
    if not lengths or not all(long for long, _ in lengths):
        return function
    why = "loops that may run on vectors make many iterations, this one above all"
    remark(lengths[0][1].span, "wide_vectors", "vectors of 512 bits are asked for", why)
    return replace(function, wide=True)


class _Widths:
    def __init__(self, function: Function) -> None:
        self.iterations = Iterations(function)

    def lengths(self, block: Block, repeated: bool) -> Iterator[tuple[bool, Stmt]]:
        """Of the loops that take the time, and may run on vectors, whether they are long."""
        for stmt in block:
            if isinstance(stmt, If) and any(map(self.has_lanes, blocks(stmt))):
                yield True, stmt
            elif not isinstance(stmt, For | Loop):
                for inner in blocks(stmt):
                    yield from self.lengths(inner, repeated)
            elif self.has_lanes((stmt,)):
                yield True, stmt
            elif any(isinstance(inner, For | Loop) for inner in walk(stmt.body)):
                yield from self.lengths(stmt.body, True)
            elif isinstance(stmt, For) and self.computes(stmt) and self.runs_on_vectors(stmt):
                long = all(self.counts_many(bound) for bound in (stmt.start, stmt.stop))
                # one pass over memory is as fast without, unless it takes elementary functions
                if repeated or (long and any(map(_calls_runtime, walk(stmt.body)))):
                    yield long, stmt

    def has_lanes(self, block: Block) -> bool:
        return any(isinstance(stmt, For) and self.is_lanes(stmt.stop) for stmt in walk(block))

    def is_lanes(self, number: Atom) -> bool:
        match self.iterations.definition(number):
            case Op(fn="min", args=(_, Const())):
                return True
        return False

    def computes(self, loop: For) -> bool:
        """Whether a loop does more than set elements, or copy them."""
        return any(
            isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn != "load" and self.is_float(stmt)
            for stmt in walk(loop.body)
        )

    def is_float(self, stmt: Assign) -> bool:
        type_ = self.iterations.types.get(stmt.target)
        return isinstance(type_, Scalar) and type_.is_float

    def runs_on_vectors(self, loop: For) -> bool:
        """Whether LLVM may take several iterations at a time, and does not write them out."""
        iterations = literal_range(loop)
        few = iterations is not None and len(iterations) <= costs.LLVM_UNROLLS
        if few or not self.iterations.free_of_effects(loop.body):
            return False
        inside = {stmt.key for stmt in walk(loop.body)}
        needed: dict[str, set[str]] = {}
        for stmt in walk(loop.body):
            for name in writes(stmt):
                needed.setdefault(name, set()).update(reads(stmt))
        carried = [name for name in needed if any(one.key not in inside for one in self.iterations.scopes.defs[name])]
        return all(self.iterations.sum_of(name, inside) is not None or not _recurs(name, needed) for name in carried)

    def counts_many(self, number: Expr) -> bool:
        """Whether a bound is made of numbers, of parameters and of the extents of vectors."""
        match number:
            case Const():
                return True
            case Op(fn="dim", args=(Name(id=array), _)):
                type_ = self.iterations.types[array]
                return isinstance(type_, Array) and type_.ndim == 1
            case Op(args=args):
                return all(map(self.counts_many, args))
        value = self.iterations.definition(number)
        if value is None:
            return number.id in self.iterations.scopes.params and not self.iterations.scopes.defs.get(number.id)
        return self.counts_many(value)


def _recurs(name: str, needed: dict[str, set[str]]) -> bool:
    """Whether an iteration computes a name from what the iteration before has made of it."""
    pending, seen = list(needed[name]), set[str]()
    while pending:
        one = pending.pop()
        if one == name:
            return True
        if one not in seen:
            seen.add(one)
            pending += needed.get(one, ())
    return False


def _calls_runtime(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn.startswith("tapec_runtime.")
