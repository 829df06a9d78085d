"""Arrays that are copied into larger ones: what grows, and after which statement it does not any more."""

from __future__ import annotations

import pytest

from tapec.analyses.array_growth import Growths, growth
from tapec.syntax.core import Assign, For, If, walk
from tests.optimise.reading import read

PROGRAM = """
def f(x, n, c, w_stack):
    a_0 = np.empty(4)
    a = a_0
    k = 0
    {before}
    for i in range(n):
        n_a = a.shape[0]
        c_1 = {test}
        if c_1:
            n_2 = {size}
            {beside}
            a_new = np.empty(n_2)
            for j in range({stop}):
                y = a[j]
                {copy}
                {more}
            a_1 = a_new
        else:
            a_1 = {kept}
        {after}
        a_1[k] = x
        k_1 = k + 1
        a = a_1
        k = k_1
    {behind}
    z = a[0]
    return {result}
"""
PLAIN = {
    "before": "pass",
    "test": "k == n_a",
    "size": "2 * k",
    "beside": "w = x * 2.0",
    "stop": "k",
    "copy": "a_new[j] = y",
    "more": "pass",
    "kept": "a",
    "after": "pass",
    "behind": "pass",
    "result": "z",
}


def growths(**parts: str) -> Growths:
    return Growths(read(PROGRAM.format(**(PLAIN | parts))))


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"test": "n_a == k"},
        {"stop": "n_a"},
        {"size": "k + 1"},
        {"size": "max(k, n)"},
        {"size": "n_a * 3"},
    ],
)
def test_a_branch_lets_an_array_grow(parts):
    (found,) = growths(**parts).found.values()
    assert (found.targets, found.sources, found.rooms) == (("a_1",), ("a",), ("a_new",))


@pytest.mark.parametrize(
    "parts",
    [
        # it may lose elements
        {"test": "k > n_a"},
        {"test": "k == n"},
        {"stop": "n"},
        {"size": "k - 1"},
        {"size": "n * 2"},
        {"size": "k * n"},
        {"size": "min(k, n)"},
        {"size": "k * 0"},
        # it is no copy
        {"copy": "a_new[0] = y"},
        {"copy": "a_new[j] += y"},
        {"copy": "a_new[j] = x"},
        {"copy": "pass"},
        {"more": "a[j] = x"},
        {"more": "print(y)"},
        {"beside": "w = w_stack.pop()"},
        {"beside": "w = np.random.rand()"},
        {"beside": "a[0] = x"},
        {"kept": "a_0"},
        {"kept": "np.empty(4)"},
    ],
)
def test_others_do_not(parts):
    assert not growths(**parts).found


def test_statements_that_are_no_such_branches():
    function = read(PROGRAM.format(**PLAIN))
    assert not any(growth(stmt, function.types, {}) for stmt in walk(function.body) if not isinstance(stmt, If))
    # what the test and the sizes are has to be known
    assert not any(growth(stmt, function.types, {}) for stmt in walk(function.body))


def last(**parts: str) -> tuple[str, str] | None:
    (family,) = growths(**parts).all()
    found = family.last()
    assert found is None or (family.made is not None and family.made.target == "a_0")
    return found and (type(found[0]).__name__, found[1])


def test_the_last_of_a_family():
    (family,) = growths().all()
    assert family.names == {"a_0", "a", "a_1"}
    assert last() == ("For", "a")
    grown = [family.grows(stmt) for stmt in walk(family.growths.function.body)]
    assert [one for one in grown if one is not None] == [("a_1", "a")]
    inside = [stmt for stmt in family.growths.stmts if isinstance(stmt, For)]
    assert [stmt.var for stmt in inside] == ["i"]


@pytest.mark.parametrize(
    "parts",
    [
        {"after": "y_1 = a_1[0]"},
        {"after": "n_1 = a_1.shape[0]"},
        {"after": "if c: a_1[0] = x"},
        {"behind": "for i_1 in range(n): z_1 = a[i_1]"},
        {"behind": "a_v = a[1:]"},
        {"before": "y_1 = a[0]"},
    ],
)
def test_elements_and_extents_are_asked_for(parts):
    assert last(**parts) == ("For", "a")


@pytest.mark.parametrize(
    "parts",
    [
        # after a larger one has taken its place
        {"after": "y_1 = a[0]"},
        {"after": "a[0] = x"},
        {"after": "y_1 = a_0[0]"},
        {"after": "a = a_1; a = a_0; y_1 = a[0]"},
        {"behind": "z_1 = a_0[0]"},
        {"before": "a_2 = a", "behind": "z_1 = a_2[0]"},
        # for more, as long as it grows
        {"after": "a_v = a_1[1:]"},
        {"after": "y_1 = np.sum(a_1)"},
        # by somebody else
        {"result": "a"},
        {"behind": "z_1 = a_new[0]"},
        {"after": "y_1 = n_2 * 1"},
        # of another array
        {"before": "a = np.empty(5)"},
    ],
)
def test_arrays_that_are_asked_for_later_are_no_family(parts):
    assert last(**parts) is None


def test_ways_out_and_errors():
    assert last(after="if c: raise ValueError()") == ("For", "a")
    assert last(after="if c:\n            a = a_1\n            break") == ("For", "a")
    # `a` has been copied into a larger one
    assert last(after="if c: break") is None


def test_a_parameter_is_no_family():
    text = PROGRAM.format(**PLAIN).replace("f(x", "f(a_0, x").replace("    a_0 = np.empty(4)\n", "")
    (family,) = Growths(read(text)).all()
    assert family.last() is None
    made = [stmt for stmt in read(text).body if isinstance(stmt, Assign)]
    assert made[0].target == "a"
