"""Names for arrays of several extents, and numbers that decide extents."""

from __future__ import annotations

import pytest

from tapec.analyses.varying_extents import VaryingExtents, varying_extents
from tapec.syntax.core import Name
from tests.optimise.reading import read

LOOP = """
def f(a, a_o, A, n, n_0, c):
    a_c = {first}
    n_c = n_0
    for k in range(n):
        n_1 = a_c.shape[0]
        {body}
        a_c = {following}
        n_c = {number}
    return a_c
"""
PLAIN = {"first": "a", "body": "pass", "following": "a_c", "number": "n_0"}


def found(**parts: str) -> str | None:
    return varying_extents(read(LOOP.format(**(PLAIN | parts))))


@pytest.mark.parametrize(
    "parts",
    [
        {},
        # the same extents under another name, in an iteration and before
        {"body": "a_1 = np.zeros(n_1)", "following": "a_1"},
        {"body": "a_1 = a_c.copy()", "following": "a_1"},
        {"body": "a_1 = a_c[:]", "following": "a_1"},
        {"body": "a_2 = a_c[1:]; n_2 = a_2.shape[0]; a_1 = np.zeros(n_1)", "following": "a_1"},
        {"first": "a[1:]", "body": "a_1 = a[1:]", "following": "a_1"},
        {"first": "np.zeros(n)", "body": "n_2 = n_1 + 1; n_3 = n_2 - 1; a_1 = np.zeros(n_3)", "following": "a_1"},
        {"first": "A[0]", "body": "a_1 = A[k]", "following": "a_1"},
        {"first": "A[:, 0]", "body": "A_1 = A.T; a_1 = A_1[k]", "following": "a_1"},
        {"first": "np.zeros(n)", "body": "a_1 = np.zeros(n_c)", "following": "a_c", "number": "n_0"},
        # a number that changes and decides no extent
        {"number": "n_c + 1"},
        {"body": "n_2 = n_c * 2", "number": "n_2"},
    ],
)
def test_one_extent(parts):
    assert found(**parts) is None


@pytest.mark.parametrize(
    "parts",
    [
        {"body": "n_2 = n_1 - 1; a_1 = np.zeros(n_2)", "following": "a_1"},
        {"body": "a_1 = a_c[1:]", "following": "a_1"},
        {"body": "a_1 = a_c[:k]", "following": "a_1"},
        {"body": "a_1 = a_c[::2]", "following": "a_1"},
        {"following": "a_o"},
        {"body": "a_1 = np.zeros(n)", "following": "a_1"},
        {"first": "A[0]", "body": "a_1 = A[:, 0]", "following": "a_1"},
        {"first": "A[0]", "body": "a_1 = A[0, 1:]", "following": "a_1"},
        {"body": "a_1 = a_c\n        if c: a_1 = np.zeros(n)", "following": "a_1"},
    ],
)
def test_several(parts):
    assert found(**parts) == "a_c"


@pytest.mark.parametrize(
    ("size", "following", "name"),
    [("n_2", "n_2", "n_c"), ("n_1", "n_2", None), ("n_2", "n_1", None), ("n_1", "n_3", "n_c")],
)
def test_a_number_is_one_extent_and_then_another(size, following, name):
    text = f"""
    def f(a, n):
        n_1 = a.shape[0]
        n_2 = 2 * n
        n_3 = n_1 - 1
        a_1 = np.zeros({size})
        n_c = n_1
        for k in range(n):
            n_c = {following}
        return n
    """
    assert varying_extents(read(text)) == name


def test_a_parameter_comes_with_an_extent_of_its_own():
    text = "def f(a, a_o, n):\n    for k in range(n):\n        a = {}\n    return n"
    assert varying_extents(read(text.format("a_o"))) == "a"
    assert varying_extents(read(text.format("a_o").replace("a = a_o", "a_1 = a_o"))) is None


def test_sizes_that_change_with_a_loop():
    known = VaryingExtents(read(LOOP.format(**(PLAIN | {"body": "n_2 = n_c + 1; n_3 = n + 1", "number": "n_2"}))))
    assert known.changing(Name("n_c")) and known.changing(Name("n_2"))
    assert not known.changing(Name("n_3")) and not known.changing(Name("n_1"))


def test_copies_in_branches_need_a_name_of_their_own():
    text = "def f(a, a_o, c):\n    if c:\n        a_1 = a\n    else:\n        a_1 = a_o\n    return a_1"
    known = VaryingExtents(read(text))
    assert known.apart() == [("a_1", "a"), ("a_1", "a_o")]
    # Numba knows branches
    assert known.found() is None
    assert VaryingExtents(read(text.replace("a_o", "a"))).apart() == []


def test_arrays_on_a_list():
    loop = "for k in range(n): A_stack.append(A)"
    text = f"def f(A, B, n):\n    A_stack = stack()\n    {loop}\n    C = A_stack.pop()\n"
    same = VaryingExtents(read(text + "    n_1 = C.shape[0]\n    n_2 = A.shape[0]\n    return n"))
    assert same.size(Name("n_1")) == same.size(Name("n_2"))
    other = VaryingExtents(read(text + "    A_stack.append(B)\n    n_1 = C.shape[0]\n    return n"))
    assert "A_stack" in other.refuted
