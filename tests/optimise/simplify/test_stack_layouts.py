"""The layout of a list of arrays: one that every array on it may stand for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapec.optimise.simplify.stack_layouts import join_stack_layouts
from tapec.syntax.core import Assign, Const, Function, Op, walk
from tapec.syntax.types import Array, Stack
from tests.optimise.reading import read

LIST = """
def f(A, B, n):
    A_stack = stack()
    for i in range(n):
        A_stack.append(A)
        A_stack.append(B)
    C = A_stack.pop()
    return C
"""


def program(**types: Array) -> Function:
    """The list with arrays of other types, and its beginning as lowering writes it."""
    function = read(LIST)
    begun, *rest = function.body
    assert isinstance(begun, Assign)
    begun = replace(begun, value=Op("stack", (Const("float64"), Const(2), Const("C"))))
    return replace(function, body=(begun, *rest), types={**function.types, **types})


C, F = Array("float64", 2), Array("float64", 2, "F")
READ_ONLY = replace(C, readonly=True)


@pytest.mark.parametrize(
    ("first", "second", "layout", "element"),
    [
        (C, F, "A", replace(C, layout="A")),
        (F, C, "A", replace(C, layout="A")),
        # two of one layout that is not the list's
        (F, F, "A", replace(C, layout="A")),
        (C, READ_ONLY, "read-only", replace(C, layout="A", readonly=True)),
        (F, READ_ONLY, "read-only", replace(C, layout="A", readonly=True)),
    ],
    ids=str,
)
def test_what_several_layouts_are_pushed_on_is_of_any_layout(first, second, layout, element):
    changed = join_stack_layouts(program(A=first, B=second))
    (begun,) = (stmt.value for stmt in walk(changed.body) if isinstance(stmt, Assign) and stmt.target == "A_stack")
    assert isinstance(begun, Op) and begun.args[2] == Const(layout)
    assert changed.types["A_stack"] == Stack(element)
    again = join_stack_layouts(changed)
    assert (again, again.types) == (changed, changed.types)


def test_a_list_of_one_layout_stays():
    function = program()
    assert join_stack_layouts(function) is function


def test_a_list_of_numbers_stays():
    function = read("def f(x):\n    x_stack = stack()\n    x_stack.append(x)\n    y = x_stack.pop()\n    return y\n")
    assert join_stack_layouts(function) is function
