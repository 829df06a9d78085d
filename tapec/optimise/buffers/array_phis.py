"""Copy the elements of a small array where two branches bring one each, so that both can become numbers.

    if c:                                     a = np.empty(2)
        a_1 = np.empty(2)                     if c:
        a_1[0] = x                                a_1 = np.empty(2)
        a_1[1] = y                                a_1[0] = x
        a = a_1                                   a_1[1] = y
    else:                         ->              a[0] = a_1[0]
        ...                                       a[1] = a_1[1]
        a = a_2                               else:
                                                  ...
                                                  a[0] = a_2[0]
                                                  a[1] = a_2[1]

A function that returns an array from two places leaves such a pair.  The arrays need the same known extents, and
nothing may use a branch's own array but the branch, nor view it: then nobody can tell the copy from the array.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.aliases import VIEWS
from tapec.optimise import costs
from tapec.optimise.name_origins import Fresh
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import Named, remark
from tapec.syntax.core import Assign, Block, Const, Function, If, Name, Op, Stmt, Store, map_blocks, reads, walk, writes
from tapec.syntax.types import Array


def copy_array_phis(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with elements copied instead; see the module."""
    return _Joined(function).rewritten()


class _Joined(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.writes = Counter(name for stmt in walk(function.body) for name in writes(stmt))
        self.mentions = _mentions(function.body)
        self.shapes: dict[str, tuple[str, tuple[int, ...]]] = {}
        for stmt in walk(function.body):
            match stmt:
                case Assign(
                    target=target, value=Op(fn="empty" | "zeros", args=(Const(value=str() as dtype), *extents))
                ):
                    shape = tuple(n.value for n in extents if isinstance(n, Const) and isinstance(n.value, int))
                    small = len(shape) == len(extents) and 0 < math.prod(shape) <= costs.SMALL_ARRAY
                    if small and self.writes[target] == 1:
                        self.shapes[target] = (dtype, shape)

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        stmt = map_blocks(stmt, self.block)
        if not isinstance(stmt, If):
            yield stmt
            return
        for last in stmt.body:
            if not isinstance(last, Assign) or self.writes[last.target] != 2:
                continue
            extents = self.extents(last.target, stmt)
            if extents is not None:
                made, stmt = joined(stmt, last.target, extents, self.fresh)
                yield made
        yield stmt

    def extents(self, name: str, branch: If) -> tuple[int, ...] | None:
        """Those of a name that takes a small array of its own from either side."""
        if not isinstance(self.fresh.types.get(name), Array):
            return None
        sources = [self.source(name, side) for side in (branch.body, branch.orelse)]
        shapes = {self.shapes.get(source) if source is not None else None for source in sources}
        shape = shapes.pop()
        return None if shapes or shape is None else shape[1]

    def source(self, name: str, side: Block) -> str | None:
        """The array of a side's own that the name takes at its end."""
        copies = [place for place, stmt in enumerate(side) if isinstance(stmt, Assign) and stmt.target == name]
        if len(copies) != 1:
            return None
        value = side[copies[0]].value  # type: ignore[union-attr]
        if not isinstance(value, Name) or not any(value.id in writes(stmt) for stmt in side):
            return None
        inside, after = _mentions(side), _mentions(side[copies[0] + 1 :])
        own = inside[value.id] == self.mentions[value.id] and after[value.id] == 0
        shared = any(stmt is not side[copies[0]] and _hands_on(stmt, value.id) for stmt in walk(side))
        # the side may read what the name stands for since an earlier iteration
        return value.id if own and inside[name] == 1 and not shared else None


def joined(branch: If, target: str, extents: tuple[int, ...], fresh: Fresh) -> tuple[Assign, If]:
    """A small array, and the branch with elements copied into it where `target` took another array's place."""
    type_ = fresh.types[target]
    assert isinstance(type_, Array)
    fresh.types[target] = replace(type_, layout="C")
    about = Named(target, branch.span)
    remark(branch.span, "array_phis", "elements of `{0}` are copied", "both sides bring a small array", about)

    def side(block: Block) -> Block:
        return tuple(new for stmt in block for new in elements(stmt))

    def elements(stmt: Stmt) -> Iterator[Stmt]:
        if not isinstance(stmt, Assign) or stmt.target != target:
            yield stmt
            return
        assert isinstance(stmt.value, Name)
        for place in itertools.product(*map(range, extents)):
            index = tuple(map(Const, place))
            element = fresh("t", type_.element)
            yield Assign(element, Op("load", (stmt.value, *index)), stmt.span)
            yield Store(target, index, Name(element), span=stmt.span)

    made = Assign(target, Op("empty", (Const(type_.dtype), *map(Const, extents))), branch.span)
    return made, replace(branch, body=side(branch.body), orelse=side(branch.orelse))


def _hands_on(stmt: Stmt, array: str) -> bool:
    """Whether a statement gives an array, or a view of it, another name."""
    if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn not in {*VIEWS, "ifelse"}:
        return False
    return not isinstance(stmt, Store) and array in reads(stmt)


def _mentions(block: Block) -> Counter[str]:
    return Counter(name for stmt in walk(block) for name in (*writes(stmt), *reads(stmt)))
