"""Statements that repeat: runs of keys, and what two statements have in common."""

from __future__ import annotations

import random

import pytest

from tapec.errors import Span
from tapec.syntax.core import Call, Const, For, Name, Stmt
from tapec.transforms.repeated_statements import LEAST, Run, key, longest, ways
from tests.optimise.reading import read


def by_trying(keys: list[int], refused: set[tuple[int, int]]) -> tuple[int, int, int, int] | None:
    """The longest run: its statements, period, begin and end, by looking at all of them."""
    found = []
    for period in range(1, len(keys)):
        for first in range(len(keys)):
            stop = first
            while stop + period < len(keys) and keys[stop] == keys[stop + period]:
                stop += 1
            count = (stop - first) // period + 1
            fresh = first == 0 or first + period > len(keys) or keys[first - 1] != keys[first - 1 + period]
            if stop > first and fresh and count >= LEAST and (first, period) not in refused:
                found.append((-count * period, period, first, stop + period))
    return min(found) if found else None


def test_the_longest_run_is_found():
    draw = random.Random(3)
    for _ in range(300):
        keys = [draw.randrange(3) for _ in range(draw.randrange(1, 5))] * draw.randrange(1, 6)
        keys = [draw.randrange(3) for _ in range(draw.randrange(3))] + keys + [draw.randrange(3)]
        refused: set[tuple[int, int]] = set()
        for _ in range(3):
            run, expected = longest(keys, refused), by_trying(keys, refused)
            assert (run is None) == (expected is None), keys
            if run is None or expected is None:
                break
            assert (run.period, run.first, run.stop) == expected[1:], keys
            refused.add((run.first, run.period))


@pytest.mark.parametrize("keys", [[], [1], [1] * (LEAST - 1), [1, 2] * (LEAST - 1), [1, 2, 3, 4, 5, 6]])
def test_few_iterations_are_none(keys: list[int]):
    assert longest(keys, set()) is None


def test_where_the_iterations_may_begin():
    assert list(ways(Run(2, 3, 15))) == [(2, 4), (3, 4)]
    found = list(ways(Run(0, 2, 11)))
    assert found == [(0, 5), (1, 5), (0, 4), (1, 4)]
    assert all(first + count * 2 <= 11 for first, count in found)


def only(text: str, params: str = "x, y, a, a_2, n, j, c, A") -> Stmt:
    return read(f"def f({params}):\n    {text}\n    return x").body[0]


def alike(first: str, second: str) -> bool:
    function = read(f"def f(x, y, a, a_2, n, j, c, A):\n    {first}\n    {second}\n    return x")
    one, other, _ = function.body
    return key(one, function.types) == key(other, function.types)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("x = y * 2.0", "y = x * x", True),
        ("x = y * 2.0", "x = y * 2", False),
        ("x = y * 2", "x = y * n", True),
        ("x = y * 2.0", "x = y + 2.0", False),
        ("x = y", "n = j", False),
        ("x = a[0]", "y = a_2[j]", True),
        ("x = a[0]", "x = A[0, 0]", False),
        ("a[0] = x", "a[0] += x", False),
        ("a[n] = x", "a_2[1] = 3.0", True),
        ("if c: x = y", "if c: y = x", True),
        ("if c: x = y", "if c: pass", False),
        ("if c: x = y", "x = y", False),
        ("for i in range(n): x = y", "for k in range(0, 3): y = x", True),
        ("for i in range(n): x = y", "for k in range(n): y = 2.0 * x", False),
        ("while True: break", "while True: break", False),
        # what prints or leaves stands alone
        ("print(x)", "print(x)", False),
    ],
)
def test_what_statements_of_one_loop_have_in_common(first: str, second: str, expected: bool):
    assert alike(first, second) is expected


def test_marks_lines_and_functions_are_part_of_it():
    types = read("def f(x, n):\n    return x").types
    loop = For("n", Const(0), Const(2), Const(1), ())
    assert key(loop, types) != key(For("n", Const(0), Const(2), Const(1), (), True), types)
    here, there = (Call(("x",), "g", (Name("x"),), Span("user.py", line, 0, 1, "", "f")) for line in (1, 2))
    assert key(here, types) != key(there, types)
    assert key(here, types) != key(Call(("x",), "h", (Name("x"),), here.span), types)
    assert key(only("x = y * True"), types) != key(only("x = y * False"), types)
