"""Add up in a variable what a loop adds to one element.

    for j in range(n):                        s = 0.0
        w_bar[i] += x[j] * y_bar[j]           for j in range(n):
                                       ->         s += x[j] * y_bar[j]
                                              if n > 0:
                                                  w_bar[i] += s

Refused where something else in the loop may read or overwrite the element.  The test is for the
loop that makes no iteration: its subscripts may lie outside the array.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import Named, remark
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
    literal_range,
    map_blocks,
    written_in,
    zero_of,
)
from tapec.syntax.types import BOOL, Array, Scalar

Element = tuple[str, tuple[Expr, ...]]


def accumulate_in_scalars(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with sums in variables; see the module.  Afterwards a name may have several values."""
    return _Sums(function).rewritten()


class _Sums(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)

    def statement(self, stmt: Stmt) -> list[Stmt]:
        return self.loop(stmt) if isinstance(stmt, For) else [map_blocks(stmt, self.block)]

    def loop(self, loop: For) -> list[Stmt]:
        """The loop, outermost first, with its sums in variables."""
        elements = self.elements(loop)
        names: dict[Element, str] = {}
        before: list[Stmt] = []
        after: list[Stmt] = []
        for (array, index), stores in elements.items():
            type_ = self.iterations.types[array]
            assert isinstance(type_, Array)
            why = "all iterations add to one element of `{0}`"
            remark(loop.span, "scalar_accumulation", "added up in a variable", why, Named(array))
            name = names[array, index] = self.fresh(f"{array}_sum", type_.element)
            before.append(Assign(name, zero_of(type_.element), stores[0].span))
            after.append(Store(array, stores[0].index, Name(name), True, stores[0].span))
        body = self.replaced(loop.body, names) if names else loop.body
        new = replace(loop, body=self.block(body))
        if not names:
            return [new]
        return [*before, new, *self.guarded(loop, elements, tuple(after))]

    def elements(self, loop: For) -> dict[Element, list[Store]]:
        """The elements that a loop only adds to, with the stores that do it."""
        if not self.iterations.free_of_effects(loop.body):
            return {}
        accesses = list(self.iterations.accesses(loop.body))
        inside = written_in((loop,))
        found: dict[Element, list[Store]] = {}
        for access in accesses:
            stmt = access.stmt
            if access.kind != "add" or not isinstance(stmt, Store) or {stmt.array, *_names(stmt)} & inside:
                continue
            type_ = self.iterations.types[stmt.array]
            if not isinstance(type_, Array) or not type_.is_float or self.value_type(stmt) != type_.element:
                continue
            others = (a for a in accesses if self.iterations.may_share(a.array, stmt.array) and a.kind != "add")
            if all(
                a.array == stmt.array
                and a.index is not None
                and not {name for sub in a.index for name in _names_of(sub)} & inside
                and self.iterations.different(a.index, stmt.index)
                for a in others
            ):
                found.setdefault((stmt.array, stmt.index), []).append(stmt)
        return found

    def value_type(self, stmt: Store) -> Scalar | None:
        if isinstance(stmt.value, Name):
            type_ = self.fresh.types[stmt.value.id]
            return type_ if isinstance(type_, Scalar) else None
        return Scalar("float64") if isinstance(stmt.value.value, float) else None

    def replaced(self, block: Block, names: dict[Element, str]) -> Block:
        """The block with additions to variables in place of additions to elements."""
        out: list[Stmt] = []
        for stmt in block:
            match stmt:
                case Store(array=array, index=index, accumulate=True) if (array, index) in names:
                    name = names[array, index]
                    out.append(Assign(name, Op("+", (Name(name), stmt.value)), stmt.span))
                case _:
                    out.append(map_blocks(stmt, lambda inner: self.replaced(inner, names)))
        return tuple(out)

    def guarded(self, loop: For, elements: dict[Element, list[Store]], after: Block) -> list[Stmt]:
        """The final additions, made only if the loop has added."""
        at_top = {stmt.key for stmt in loop.body}
        if all(any(store.key in at_top for store in stores) for stores in elements.values()):
            if literal_range(loop):
                return list(after)
            ordered = (loop.start, loop.stop) if self.upward(loop) else (loop.stop, loop.start)
            if loop.step in (Const(1), Const(-1)):
                test = self.fresh("t", BOOL)
                return [Assign(test, Op("<", ordered), loop.span), If(Name(test), after, (), loop.span)]
        out: list[Stmt] = []
        for stmt in after:
            assert isinstance(stmt, Store)
            test = self.fresh("t", BOOL)
            out.append(Assign(test, Op("!=", (stmt.value, Const(0.0))), loop.span))
            out.append(If(Name(test), (stmt,), (), loop.span))
        return out

    def upward(self, loop: For) -> bool:
        return loop.step == Const(1)


def _names(stmt: Store) -> set[str]:
    return {name for sub in stmt.index for name in _names_of(sub)}


def _names_of(sub: Expr) -> set[str]:
    return {sub.id} if isinstance(sub, Name) else set()
