"""Sources of which nothing but elements is read: their tangents may be unit vectors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapec.syntax.types import Array
from tapec.transforms.unit_directions import only_read
from tests.optimise.reading import read

PROGRAM = """
def f(a, a_2, n, c):
    x = a[0]
    a_v = a[1:]
    a_w = a_v
    m = a_w.shape[0]
    y = a_w[0]
    z = x * y
    {more}
    return {result}
"""


def found(more: str = "pass", result: str = "z", sources: tuple[str, ...] = ("a", "a_2")) -> set[str]:
    return set(only_read(read(PROGRAM.format(more=more, result=result)), sources))


def test_elements_and_extents_of_sources_and_of_views_of_them():
    assert found() == {"a", "a_v", "a_w", "a_2"}
    assert found(sources=("a",)) == {"a", "a_v", "a_w"}
    assert found(sources=("n",)) == found(sources=()) == set()


@pytest.mark.parametrize(
    ("more", "result"),
    [
        ("a[0] = 1.0", "z"),
        ("a_w[0] += z", "z"),
        ("a_c = a_v.copy()", "z"),
        ("t = np.dot(a_w, a_2)", "t"),
        ("pass", "a"),
        ("pass", "(z, a_w)"),
        ("s_stack.append(a_v)", "z"),
        ("a_b = a if c else a_2", "z"),
        # one name for the source or for other memory
        ("a_b = a_2; a_b = a", "z"),
        ("a_b = np.zeros(n); a_b = a", "z"),
    ],
)
def test_what_else_is_done_with_memory_of_a_source(more: str, result: str):
    assert not found(more, result) & {"a", "a_v", "a_w"}


def test_the_other_source_keeps_its_own():
    assert found("a[0] = 1.0") == {"a_2"}
    assert found("a_2[0] = 1.0") == {"a", "a_v", "a_w"}


def test_sources_that_may_share_memory_are_two():
    function = replace(read(PROGRAM.format(more="pass", result="z")), shared=(frozenset({"a", "a_2"}),))
    assert not only_read(function, ("a",))


def test_arrays_in_the_order_of_columns_are_not():
    function = read("def f(A):\n    x = A[0, 1]\n    return x")
    assert only_read(function, ("A",)) == {"A"}
    turned = replace(function, types={**function.types, "A": Array("float64", 2, "F")})
    assert not only_read(turned, ("A",))
