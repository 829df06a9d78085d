"""What names say: which are the user's, which belong together, and new ones."""

from __future__ import annotations

import pytest

import tapec
from tapec.optimise.name_origins import Fresh, Vocabulary, is_adjoint
from tapec.syntax.types import FLOAT64, INT64
from tests.optimise.reading import read


def vocabulary(text: str = "def f(x):\n    y = x\n    return y", words: str = "mid = x * y_2") -> Vocabulary:
    return Vocabulary(read(text, words))


@pytest.mark.parametrize(
    ("name", "split", "stem"),
    [
        ("mid", ("mid", ""), "mid"),
        ("mid_2", ("mid_2", ""), "mid"),
        ("mid_2_1", ("mid_2_1", ""), "mid"),
        ("mid_bar", ("mid", "_bar"), "mid_bar"),
        ("mid_2_bar_1", ("mid_2", "_bar"), "mid_bar"),
        ("mid_bar_store", ("mid", "_bar_store"), "mid_bar_store"),
        ("mid_stack", ("mid", "_stack"), "mid_stack"),
        # the user's own number is none of a version
        ("y_2", ("y_2", ""), "y_2"),
        ("y_2_1", ("y_2_1", ""), "y_2"),
        ("y_2_bar", ("y_2", "_bar"), "y_2_bar"),
        ("_bar", ("_bar", ""), "_bar"),
    ],
)
def test_versions_of_a_variable(name, split, stem):
    found = vocabulary()
    assert found.split(name) == split and found.stem(name) == stem


def test_a_suffix_that_the_user_wrote_is_none():
    found = vocabulary(words="x_bar = x_stack + 1")
    assert found.split("x_bar") == ("x_bar", "") and found.split("x_bar_1") == ("x_bar_1", "")
    assert found.stem("x_bar_1_bar") == "x_bar_bar"
    assert found.is_users("x_stack_2") and found.is_users("x_bar_bar")


@pytest.mark.parametrize(
    ("name", "users"),
    [
        ("x", True),
        ("x_3", True),
        ("x_bar", True),
        ("mid_1_dot", True),
        ("y", False),
        ("y_2", True),
        ("y_3", False),
        ("row", False),
        ("if", False),
        ("t", False),
        ("t_1_bar", False),
        ("size", False),
        ("n", True),
        # what lowering calls the user's variable `t`
        ("t_own", True),
        ("t_own_2_bar", True),
    ],
)
def test_names_of_the_user(name, users):
    assert vocabulary(words="if mid < x: y_2 = t + n").is_users(name) == users


def test_a_variable_with_a_name_of_the_compilers():
    def f(t, x):
        size = 0.0
        for k in range(3):
            size += t * x[k]
        return size

    found = tapec.emit(f, "x", "f8, f8[::1]", opt_level=1)
    assert "size += t * x[k]" in found and "_own" not in found
    words = vocabulary("def f(t):\n    t_1 = t\n    return t_1", "size = t")
    assert words.is_users("t") and not words.is_users("t_1") and words.stem("size_own_2") == "size"


def test_which_of_two_names_says_more():
    found = vocabulary(words="mid = x[0]")
    assert found.tells_more("mid", "t_3") and found.tells_more("mid", "out") and found.tells_more("x0", "t_1")
    assert not found.tells_more("out", "root") and not found.tells_more("t_1", "t_2")
    assert not found.tells_more("mid", "x_2") and not found.tells_more("mid_bar", "t_1")


@pytest.mark.parametrize(
    ("name", "adjoint"),
    [
        ("x_bar", True),
        ("x_dot", True),
        ("x_bar_2", True),
        ("x_bar_parts", True),
        ("x_bar_parts_1", True),
        ("x", False),
        ("bar", False),
        ("x_barrier", False),
        ("x_bar_store", False),
    ],
)
def test_adjoints(name, adjoint):
    assert is_adjoint(name) == adjoint


def test_new_names():
    types = {"x": FLOAT64, "x_2": FLOAT64}
    fresh = Fresh(types)
    assert [fresh("x", INT64) for _ in range(3)] == ["x_1", "x_3", "x_4"]
    assert fresh("y", FLOAT64) == "y" and fresh("y", FLOAT64) == "y_1"
    assert fresh.anew(["x_1", "y"]) == {"x_1": "x_1_1", "y": "y_2"}
    assert fresh.types["x_1_1"] == INT64 and fresh.types["y_2"] == FLOAT64
    assert types == {"x": FLOAT64, "x_2": FLOAT64}
