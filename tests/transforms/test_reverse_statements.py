"""Questions to the statements of a reverse sweep."""

from __future__ import annotations

import pytest

from tapec.analyses.scopes import Scope
from tapec.errors import Span
from tapec.syntax.core import Assign, Const, For, If, Name, Note, Op, Return, Stmt, Store
from tapec.transforms.reverse_statements import (
    adds_element,
    adds_to,
    asks_extent,
    at,
    blocks_of,
    clears,
    flat,
    sets,
    statements,
)
from tapec.transforms.sweep import RevBlock, RevIf, RevLoop
from tests.optimise.reading import read

LINE = Span("user.py", 3, 0, 4, "", "f")


def stmt(text: str) -> Stmt:
    """The one statement of some text."""
    function = read(f"def f(x, a, i, x_bar):\n    {text}\n    return x")
    return function.body[0]


def reversed_loop() -> RevLoop:
    """A loop with a branch, each with a statement of its own."""
    region = Scope((), None, None, 0)
    branch = RevIf(
        If(Name("c"), (), (), LINE),
        RevBlock(region, [stmt("x_bar = 0.0")]),
        RevBlock(region, [stmt("for i in range(3):\n        a[i] += x")]),
    )
    body = RevBlock(region, [stmt("t = x * 2.0"), branch])
    return RevLoop(For("k", Const(0), Const(4), Const(1), (), False, LINE), body)


def test_all_statements_of_a_reversed_one():
    loop = reversed_loop()
    assert [type(one) for one in flat(loop)] == [Assign, Assign, For, Store]
    assert list(statements(loop.body)) == list(flat(loop))
    assert [type(one) for one in flat(stmt("for i in range(3):\n        a[i] += x"))] == [For, Store]
    assert blocks_of(loop) == (loop.body,) and len(blocks_of(loop.body.items[1])) == 2  # type: ignore[arg-type]


def test_the_line_is_that_of_the_statement_before_it_was_reversed():
    loop = reversed_loop()
    assert at(loop) == at(loop.body.items[1]) == LINE
    assert at(Note("reverse sweep")) is None and at(stmt("x_bar = 0.0")).line == 1  # type: ignore[union-attr]


def test_a_reversed_statement_sets_what_any_of_its_statements_sets():
    loop = reversed_loop()
    assert all(sets(loop, name) for name in ("t", "x_bar", "i"))
    # elements are no names, and the reversed loop's own variable is not set by what is in it
    assert not any(sets(loop, name) for name in ("a", "x", "k"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x_bar = 0.0", True),
        ("x_bar = 0", False),
        ("x_bar = -0.0", False),
        ("x_bar = 1.0", False),
        ("x_bar = x", False),
        ("a[i] = 0.0", False),
    ],
)
def test_what_sets_an_adjoint_to_zero(text: str, expected: bool):
    assert clears(stmt(text)) is expected


def test_numbers_without_literals_are_cleared_by_a_conversion():
    zero, one = (Assign("x_bar", Op("cast.float32", (Const(value),))) for value in (0.0, 1.0))
    assert clears(zero) and not clears(one)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x_bar = x_bar + x", True),
        ("x_bar = x_bar + 1.0", True),
        ("x_bar = x_bar + x_bar", False),
        ("x_bar = x + x_bar", False),
        ("x_bar = x_bar - x", False),
        ("x = x_bar + x", False),
        ("x = x + x_bar", False),
        ("a[i] += x_bar", False),
    ],
)
def test_what_only_adds_to_a_number(text: str, expected: bool):
    assert adds_to(stmt(text), "x_bar") is expected


def test_what_only_adds_to_an_element():
    assert adds_element(stmt("a[i] += x"), "a")
    assert not any(adds_element(stmt(text), "a") for text in ("a[i] = x", "a_2[i] += x", "x = a[i]"))


def test_what_asks_for_an_extent():
    assert asks_extent(stmt("n = a.shape[0]"))
    assert not any(asks_extent(one) for one in (stmt("x = a[0]"), stmt("n = i"), Return((Name("x"),))))
    assert not asks_extent(Assign("x", Op("+", (Op("dim", (Name("a"), Const(0))), Const(1)))))
