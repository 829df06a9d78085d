"""Adjoint arrays alias as their primals do."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.analyses.activity import Activity
from tapec.analyses.aliases import aliases
from tapec.analyses.batch_extents import BatchExtents
from tapec.analyses.scopes import scopes
from tapec.backend import printer
from tapec.errors import NotDifferentiable
from tapec.syntax.core import Function, Name, Return
from tapec.transforms.emitter import Emitter
from tapec.transforms.shadow import Shadows
from tests.optimise.reading import read
from tests.transforms.reversals import check


def shadows_of(function: Function, source: str) -> tuple[Shadows, Function]:
    """The shadows, and the program with their definitions."""
    types = dict(function.types)
    targets = {value.id for value in function.results if isinstance(value, Name)}
    activity = Activity(function, aliases(function), {source}, targets)
    made = Shadows(Emitter(types, set(types)), activity, {}, BatchExtents(function, (), scopes(function)))
    entry = made.entry(function.params)
    body = made.block(function.body[:-1])
    return made, Function(function.name, function.params, (*entry, *body, function.body[-1]), types)


def beside(statement: str, result: str = "x", params: str = "a, A, n, c") -> list[str]:
    """What stands beside a statement, by its text."""
    text = "\n".join(f"    {line}" for line in statement.splitlines())
    function = read(f"def f({params}):\n{text}\n    return {result}")
    _, program = shadows_of(function, params.split(", ")[0])
    own = printer.function(function, quote=False).splitlines()
    return [line.strip() for line in printer.function(program, quote=False).splitlines() if line not in own]


ENTRY = ["size = a.shape[0]", "a_bar = np.zeros(size)"]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("a_v = a[1:]\nx = a_v[0]", ["a_v_bar = a_bar[1:]"]),
        ("a_o = a\nx = a_o[0]", ["a_o_bar = a_bar"]),
        ("A_r = a.reshape((n, 2))\nx = A_r[0, 0]", ["A_r_bar = a_bar.reshape((n, 2))"]),
        (
            "A_r = a.reshape((n, 2))\nA_t = A_r.T\nx = A_t[0, 0]",
            ["A_r_bar = a_bar.reshape((n, 2))", "A_t_bar = A_r_bar.T"],
        ),
        ("a_y = np.empty(n)\nt = a[1]\na_y[0] = t\nx = a_y[0]", ["a_y_bar = np.zeros(n)"]),
        ("a_c = a.copy()\nx = a_c[0]", ["size_1 = a.shape[0]", "a_c_bar = np.zeros(size_1)"]),
    ],
)
def test_beside_each_array_stands_its_shadow(statement: str, expected: list[str]):
    assert beside(statement) == [*ENTRY, *expected]


def test_a_merge_name_has_a_shadow_on_each_way():
    made = beside("if c:\n    a_y = a\nelse:\n    a_z = a[1:]\n    a_y = a_z\nx = a_y[0]")
    assert made == [*ENTRY, "a_y_bar = a_bar", "a_z_bar = a_bar[1:]", "a_y_bar = a_z_bar"]


def test_loops_hand_on_shadows_as_they_do_arrays():
    made = beside("a_y = a\nfor i in range(n):\n    a_z = a_y[::-1]\n    a_y = a_z\nx = a_y[0]")
    assert made == [*ENTRY, "a_y_bar = a_bar", "a_z_bar = a_y_bar[::-1]", "a_y_bar = a_z_bar"]


def test_lists_of_arrays_have_a_list_of_shadows_and_those_of_numbers_none():
    arrays = "A_stack = stack()\nA_y = A[1:]\nA_stack.append(A_y)\nA_z = A_stack.pop()\nx = A_z[0, 0]"
    made = beside(arrays, params="A, n, c")
    assert made[-4].startswith("A_stack_bar = ")
    assert made[-3:] == ["A_y_bar = A_bar[1:]", "A_stack_bar.append(A_y_bar)", "A_z_bar = A_stack_bar.pop()"]
    numbers = "y_stack = stack()\ny = a[0]\ny_stack.append(y)\nx = y_stack.pop()"
    assert beside(numbers) == ENTRY


def test_what_is_not_active_has_none():
    assert beside("a_y = np.zeros(n)\na_v = a_y[1:]\nx = a[0]\ny = a_v[0]") == ENTRY
    assert beside("a_v = a[1:]\ny = a_v[0]\nx = 2.0") == []


def test_shadows_share_memory_as_their_arrays_do():
    """By running the program: a mark in one shadow shows in another one just where arrays share the element."""
    function = read("""
    def f(a, n, c):
        if c:
            a_1 = np.zeros(n)
            a_y = a_1
        else:
            a_y = a
        a_v = a_y[1:]
        A_r = a_v.reshape((n, 2))
        A_t = A_r.T
        a_c = a_v.copy()
        x = a[0]
        a_y[0] = x
        t = A_t[1, 0]
        s = a_c[0]
        y = t + s
        return y
    """)
    made, program = shadows_of(function, "a")
    names = [*made.names]
    assert set(names) == {"a", "a_1", "a_y", "a_v", "A_r", "A_t", "a_c"}
    for c, n in ((False, 2), (False, 1)):
        found = {}
        for which in ("a", "a_y", "a_v", "A_r", "A_t", "a_c"):
            for label, name in ((which, which), (f"{which} shadow", made.names[which])):
                body = (*program.body[:-1], Return((Name("a"), Name("a_bar"), Name(name))))
                own = Function("f", program.params, body, program.types)
                found[label] = run_alive(own, np.zeros(2 * n + 1), n, c)
        for which in ("a", "a_y", "a_v", "A_r", "A_t", "a_c"):
            memory, shadow, array = found[which]
            other, bar, array_bar = found[f"{which} shadow"]
            assert np.shares_memory(memory, array) == np.shares_memory(bar, array_bar)
            assert memory.shape == other.shape == shadow.shape == bar.shape
            assert array.shape == array_bar.shape and array.strides == array_bar.strides


def run_alive(function: Function, *args):
    """What a function returns, not copied."""
    scope = {"np": np}
    exec(printer.function(function), scope)
    return scope[function.name](*args)


MIXED = """
def f(a, n, c):
    a_y = a
    a_s = a.copy()
    for i in range(n):
        if c:
            a_z = a_y[::-1]
            a_t = a_z
        else:
            a_t = a_s
        x = a_t[i]
        y = x * x
        a_t[i] = y
        a_y = a_t
    s = a_y[0]
    t = a_s[1]
    u = s * t
    return u, a
"""


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_adjoints_by_way_of_shared_memory(c: bool, n: int):
    check(MIXED, ("a",), np.array([0.5, -1.5, 2.0]), n, c)


def test_arrays_that_no_rule_makes_are_refused():
    text = "def f(a):\n    a_y = np.unknown(a)\n    t = a[0]\n    a_y[0] = t\n    x = a_y[0]\n    return x"
    with pytest.raises(NotDifferentiable, match=r"np\.unknown"):
        shadows_of(read(text), "a")
