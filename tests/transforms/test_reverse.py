"""Reverse mode as a whole: what it returns, what it takes, and what its ways change."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.syntax.core import Call, For, Name, walk
from tapec.transforms.reverse import kept_by_loops, reverse, reverse_callee, reverse_iteration, targets_of
from tests.optimise.comparison import run
from tests.optimise.reading import read
from tests.transforms.reversals import check, lines, swept

TEXT = """
def f(x, a, n):
    s = x
    for i in range(n):
        t = a[i]
        u = s * t
        a[i] = u
        s = u
    y = s * x
    return y, s, n
"""
A = np.array([0.5, -1.5])


def test_results_come_with_adjoints_of_the_sources_in_their_order():
    made = swept(TEXT, ("x", "a"))
    assert made.seeds == ("y_seed", "s_seed") and made.params == ("x", "a", "n")
    # a variable that the reverse sweep brings back to earlier values is returned under a name of its own
    assert made.values == (Name("y"), Name("result"), Name("n")) and len(made.adjoints) == 2
    assert run(made.function("g"), (2.0, A, 2, 1.0, 0.0))[1].shape == (2,)
    for n in (0, 1, 2):
        for fuse in (False, True):
            check(TEXT, ("x", "a"), 2.0, A, n, fuse=fuse)
            check(TEXT, ("a",), 2.0, A, n, fuse=fuse)


def test_with_a_unit_seed_the_first_result_alone_counts():
    unit, seeded = swept(TEXT, unit_seed=True), swept(TEXT)
    assert unit.seeds == () and "y_bar += 1.0" in lines(unit, unit.backward)
    first = run(unit.function("g"), (2.0, A, 2))[0]
    assert first == run(seeded.function("g"), (2.0, A, 2, 1.0, 0.0))[0]


def test_with_shared_shadows_those_of_the_caller_are_added_to():
    made = swept(TEXT, ("x", "a"), shared=True)
    assert made.seeds == ("y_seed", "s_seed", "a_bar") and len(made.adjoints) == 1
    # what the function leaves in the array is a result, too: its adjoint is what the caller's shadow holds
    function = read(TEXT)
    assert targets_of(function, True, None) == {"y", "s", "n", "a"}
    assert targets_of(function, False, None) == {"y", "s", "n"}
    assert targets_of(function, False, None, unit_seed=True) == {"y"}
    assert targets_of(function, True, frozenset()) == {"y", "s", "n"}
    *_, shadow = run(made.function("g"), (2.0, A, 1, 0.0, 0.0, np.array([1.0, 10.0])))
    # a[0] = x * a[0]
    assert shadow.tolist() == [2.0, 10.0]


def test_sources_that_nothing_depends_on_have_zeros():
    made = reverse(read("def f(x, a, z):\n    y = z * 2.0\n    return y"), ("x", "a"))
    assert [np.sum(one) for one in run(made.function("g"), (1.0, A, 3.0, 1.0))[:2]] == [0.0, 0.0]


def test_the_input_is_left_alone():
    function = read(TEXT)
    before = repr(function)
    reverse(function, ("x", "a"), fuse=True)
    assert repr(function) == before


def test_a_result_may_be_returned_twice_and_be_a_parameter_or_a_literal():
    text = "def f(x):\n    y = x * x\n    return y, x, y, 2.0"
    made = swept(text)
    assert len(made.seeds) == 4
    assert run(made.function("g"), (3.0, 1.0, 10.0, 100.0, 5.0))[0] == 6.0 + 10.0 + 600.0


def test_a_write_outside_an_array_raises_before_an_adjoint_is_written():
    made = swept("def f(x, a, n):\n    a[n] = x\n    y = a[0]\n    return y", ("x", "a"))
    assert run(made.function("g"), (1.0, A, 0, 1.0))[0] == 1.0
    assert run(made.function("g"), (1.0, A, 2, 1.0)) == (IndexError,)


def test_the_adjoint_of_a_recursive_function_calls_itself():
    function = read("def f(x, n, a):\n    y = g(x, n)\n    z = y * x\n    return z")
    (call, *rest) = function.body
    function = type(function)(
        "f", function.params, (Call(("y",), "f", (Name("x"), Name("n"), Name("a"))), *rest), function.types
    )
    made = reverse_callee(function, frozenset())
    assert made.name == "f_adjoint" and made.params == ("x", "n", "a", "z_seed", "a_bar")
    calls = {stmt.function: stmt for stmt in walk(made.body) if isinstance(stmt, Call)}
    assert calls.keys() == {"f", "f_adjoint"} and call.target == "y"  # type: ignore[union-attr]
    # it writes into the shadow
    assert calls["f_adjoint"].changes == (len(calls["f_adjoint"].args) - 1,)


def test_an_iteration_is_reversed_without_stores_that_nobody_reads():
    function = read("def f(x, a, i):\n    t = a[i]\n    u = t * x\n    a[i] = u\n    return u")
    for unread, stored in ((frozenset(), True), (frozenset({"a"}), False)):
        made = reverse_iteration(function, ("x", "a"), frozenset({"a"}), unread)
        assert made.params == ("x", "a", "i", "u_seed", "a_bar")
        a = A.copy()
        result = run(made, (3.0, a, 0, 1.0, np.array([2.0, 0.0])))
        assert result[0] == 3.0 * 0.5 and result[-1].tolist() == [9.0, 0.0]
        assert (result[2].tolist() == [1.5, -1.5]) is stored


@pytest.mark.parametrize(
    ("inner", "expected"), [("u = np.sin(s)", {"s_store", "u_store"}), ("u = s * 2.0", {"u_store"}), ("u = x", set())]
)
def test_what_loops_keep(inner: str, expected: set[str]):
    text = f"""
    def f(x, n):
        s = x
        for i in range(n):
            {inner}
            v = u * u
            s = v
        return s
    """
    kept = kept_by_loops(read(text), ("x",), frozenset(), True, False)
    assert all(isinstance(loop, For) and loop.var == "i" for loop, _ in kept)
    assert {slot.name for _, slots in kept for slot, _ in slots} == expected
