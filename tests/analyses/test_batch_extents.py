"""Sizes in a program for a batch, compared with runs for two examples and for three."""

from __future__ import annotations

import numpy as np

from tapec.analyses.batch_extents import BatchExtents, of_several
from tapec.analyses.scopes import scopes
from tapec.backend import printer
from tapec.syntax.core import Assign, Const, Name, Op, walk
from tests.optimise.reading import read

SIZES = """
def f(A, B, a, n, c):
    n_1 = A.shape[0]
    n_2 = B.shape[0]
    n_3 = A.shape[1]
    n_4 = n_1
    n_5 = 7
    A_1 = np.zeros((n_1, n_3))
    n_6 = A_1.shape[0]
    n_7 = A_1.shape[1]
    A_2 = A_1.T
    n_8 = A_2.shape[1]
    A_3 = np.dot(A, B)
    n_9 = A_3.shape[0]
    n_10 = A_3.shape[1]
    A_4 = A_1.reshape((n_3, n_1))
    n_11 = A_4.shape[1]
    A_5 = A_1.copy()
    n_12 = A_5.shape[0]
    a_1 = np.dot(A, a)
    n_13 = a_1.shape[0]
    if c:
        n_14 = n_1
        A_6 = A_1
        n_15 = n_1
    else:
        n_14 = n_4
        A_6 = A_5
        n_15 = 1
    n_16 = A_6.shape[0]
    n_17 = A.shape[0] + 1
    if c:
        A_9 = A
    else:
        A_9 = np.zeros((1, n_3))
    n_21 = A_9.shape[0]
    A_7 = A[1:]
    n_18 = A_7.shape[0]
    A_8 = A
    for i in range(n):
        n_19 = A_8.shape[0]
        A_8 = A_7
    a_2 = np.dot(a, A)
    n_20 = a_2.shape[0]
    return n
"""
FUNCTION = read(SIZES)
SCOPES = scopes(FUNCTION)
FOUND = BatchExtents(FUNCTION, ("A",), SCOPES)
EXAMPLES = {"n_1", "n_4", "n_6", "n_8", "n_9", "n_11", "n_12", "n_13", "n_14", "n_16"}


def test_sizes_that_are_not_one():
    names = {f"n_{k}" for k in range(1, 22)}
    assert {name for name in names if FOUND.not_one(Name(name), frozenset())} == EXAMPLES | {"n_5"}
    assert FOUND.not_one(Const(2), frozenset()) and not FOUND.not_one(Const(1), frozenset())


def test_they_are_the_number_of_examples_in_a_run():
    scope: dict = {"np": np}
    before, _, _ = SIZES.partition("    a_2 =")
    exec(f"{before}    return locals()", scope)
    for batch, c in ((2, True), (2, False), (3, True)):
        sizes = scope["f"](np.ones((batch, 2)), np.ones((2, 1)), np.ones(2), 2, c)
        assert all(sizes[name] == batch for name in EXAMPLES)


def test_sizes_that_are_known_to_be_equal():
    def extent(name: str) -> object:
        return FOUND.extent(Name(name))

    rows, columns = (Op("dim", (Name("A"), Const(axis))) for axis in (0, 1))
    assert all(extent(name) == rows for name in EXAMPLES - {"n_14"})
    assert extent("n_3") == extent("n_7") == extent("n_20") == columns
    assert extent("n_10") == Op("dim", (Name("B"), Const(1)))
    assert extent("n_5") == Const(7)
    # one that changes, and one of which nothing is known
    assert extent("n_15") is None
    assert extent("n_18") == Op("dim", (Name("A_7"), Const(0)))
    assert extent("n_17") == Name("n_17")


def test_arrays():
    assert (FOUND.rank("A"), FOUND.rank("a"), FOUND.rank("n")) == (2, 1, 0)
    assert FOUND.c_order("A") and not FOUND.c_order("n")
    assert FOUND.definition("n_4") == Name("n_1") and FOUND.definition("n_15") is None
    assert FOUND.values("n_15") == [Name("n_1"), Const(1)] and FOUND.values("i") == []


def test_questions_whether_there_is_one_example_are_answered():
    text = """
    def f(A, a, n):
        n_1 = A.shape[0]
        n_2 = a.shape[0]
        c = n_1 == 1
        c_1 = 1 != n_1
        c_2 = n_2 == 1
        c_3 = n_1 == 2
        c_4 = n_1 < 1
        if c_2:
            c_5 = n_1 == 1
        return n
    """
    function = of_several(read(text), ("A",))
    made = [stmt for stmt in walk(function.body) if isinstance(stmt, Assign) and isinstance(stmt.value, Const)]
    assert {stmt.target: stmt.value.value for stmt in made} == {"c": False, "c_1": True, "c_5": False}
    assert printer.function(of_several(function, ("A",)), False) == printer.function(function, False)
    # of one example, nothing is said
    assert of_several(read(text), ()).body == read(text).body
