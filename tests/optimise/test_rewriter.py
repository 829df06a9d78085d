"""The driver of passes that replace statements one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tapec.optimise.rewriter import Rewriter
from tapec.syntax.core import Assign, Const, Function, Name, Op, Stmt, Store, map_blocks
from tapec.syntax.types import FLOAT64
from tests.optimise.reading import check, read


class Doubled(Rewriter):
    """Stores twice what was stored, and nothing of zeros."""

    def statement(self, stmt: Stmt, *_: Any) -> Iterator[Stmt]:
        if isinstance(stmt, Store) and stmt.value == Const(0.0):
            return
        if isinstance(stmt, Store):
            name = self.fresh("x", FLOAT64)
            yield Assign(name, Op("*", (stmt.value, Const(2.0))))
            yield Store(stmt.array, stmt.index, Name(name))
            return
        yield map_blocks(stmt, self.block)


BEFORE = """
    def f(a, x, n, c):
        a[0] = 0.0
        for i in range(n):
            if c:
                a[i] = x
            else:
                a[i] = 0.0
        return a
    """


def doubled(function: Function) -> Function:
    return Doubled(function).rewritten()


def test_statements_are_replaced_by_any_number_of_others():
    check(
        doubled,
        before=BEFORE,
        after="""
        def f(a, x, n, c):
            for i in range(n):
                if c:
                    x_1 = x * 2.0
                    a[i] = x_1
            return a
        """,
        again=False,
    )


def test_new_names_have_types_and_the_function_stays_as_it_was():
    function = read(BEFORE)
    body, types = function.body, dict(function.types)
    made = doubled(function)
    assert made.types == {**types, "x_1": FLOAT64}
    assert function.body is body and function.types == types


class Numbered(Rewriter):
    """Says in each store how many blocks it stands in."""

    def statement(self, stmt: Stmt, depth: int) -> Iterator[Stmt]:
        if isinstance(stmt, Store):
            yield Store(stmt.array, (Const(depth),), stmt.value)
        else:
            yield map_blocks(stmt, lambda inner: self.block(inner, depth + 1))


def test_blocks_hand_on_what_is_around_them():
    made = Numbered(read(BEFORE)).rewritten(0)
    first, loop, _ = made.body
    assert first.index == (Const(0),)
    assert {one.index for branch in loop.body for one in (*branch.body, *branch.orelse)} == {(Const(2),)}
