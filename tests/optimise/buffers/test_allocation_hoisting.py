"""Arrays are allocated once that every iteration of a loop would allocate anew."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.backend import printer
from tapec.optimise.buffers.allocation_hoisting import hoist_allocations
from tests.optimise.comparison import keeps_values
from tests.optimise.reading import check, read, unchanged


def test_an_allocation_leaves_the_loop():
    check(
        hoist_allocations,
        before="""
        def f(a, n, y):
            for k in range(n):
                n_1 = a.shape[0]
                a_1 = np.empty(n_1)
                a_1[0] = y
                t = a_1[0]
                a[k] = t
            return y
        """,
        after="""
        def f(a, n, y):
            n_1 = a.shape[0]
            a_1 = np.empty(n_1)
            for k in range(n):
                a_1[0] = y
                t = a_1[0]
                a[k] = t
            return y
        """,
    )


def test_memory_that_outlives_its_iteration_is_made_anew():
    unchanged(
        hoist_allocations,
        """
        def f(a, n, y):
            a_2 = a
            for k in range(n):
                a_1 = np.empty(3)
                a_1[0] = y
                a_2 = a_1
            return a_2
        """,
    )


def test_an_allocation_that_may_raise_raises_in_the_iteration():
    check(
        hoist_allocations,
        before="""
        def f(a, n, y):
            for k in range(n):
                n_1 = n - 2
                a_1 = np.empty(n_1)
                a_2 = np.empty(n_1)
                a_1[0] = y
                a_2[0] = y
            return y
        """,
        after="""
        def f(a, n, y):
            n_1 = n - 2
            size = max(n_1, 0)
            a_1 = np.empty(size)
            a_2 = np.empty(size)
            for k in range(n):
                t = n_1 < 0
                if t:
                    raise ValueError("negative dimensions not allowed")
                a_1[0] = y
                a_2[0] = y
            return y
        """,
    )


def test_zeros_that_leave_the_loop_are_set_in_the_iteration():
    check(
        hoist_allocations,
        before="""
        def f(a, n, y):
            n_1 = a.shape[0]
            for k in range(n):
                A = np.zeros((n_1, 3))
                A[0, 0] += y
                t = A[0, 1]
                a[k] = t
            return y
        """,
        after="""
        def f(a, n, y):
            n_1 = a.shape[0]
            A = np.empty((n_1, 3))
            for k in range(n):
                for i in range(n_1):
                    for i_1 in range(3):
                        A[i, i_1] = 0.0
                A[0, 0] += y
                t = A[0, 1]
                a[k] = t
            return y
        """,
    )


LOOP = """
def f(a, A, n, k, c, y):
    {before}
    {head}:
        {first}
        a_1 = {made}
        a_1[0] = y
        {last}
    return {result}
"""
PLAIN = {
    "before": "pass",
    "head": "for i in range(n)",
    "first": "pass",
    "made": "np.zeros(3)",
    "last": "t = a_1[0]; y = y + t",
    "result": "y",
}


def changed(**other: str) -> bool:
    before = read(LOOP.format(**{**PLAIN, **other}).replace("; ", "\n        "))
    return printer.function(hoist_allocations(before)) != printer.function(before)


@pytest.mark.parametrize(
    "other",
    [
        {"head": "while True", "last": "y = y + 1.0\n        if c:\n            break"},
        # a view of an iteration's own memory is an iteration's own, too
        {"last": "a_2 = a_1[1:]; t = a_2[0]; y = y + t"},
        {"last": "a_2 = a_1\n        t = a_2[0]"},
        {"made": "np.empty(n_1)", "first": "n_1 = n * k"},
    ],
    ids=str,
)
def test_memory_that_no_iteration_hands_on_is_made_once(other):
    assert changed(**other)


@pytest.mark.parametrize(
    "other",
    [
        # an iteration reads what the one before has made
        {"first": "if c:\n            t = a_2[0]\n            y = y + t", "last": "a_2 = a_1"},
        {"first": "if c:\n            t = a_1[1]\n            y = y + t"},
        {"before": "A_stack = stack()", "last": "A_stack.append(a_1)", "made": "np.zeros((3, 3))"},
        {"before": "a_2 = a", "last": "a_2 = a_1"},
        # extents that an iteration hands on, or that no whole numbers tell
        {"before": "k_1 = k", "made": "np.empty(k_1)", "last": "k_2 = k_1 + 1; k_1 = k_2"},
        {"made": "np.empty(n_1)", "first": "n_1 = math.floor(y)"},
        {"made": "np.empty(n_1)", "first": "if c:\n            n_1 = 3\n        else:\n            n_1 = 4"},
        # made by something else
        {"made": "a[1:]"},
        {"made": "np.copy(a)"},
    ],
    ids=str,
)
def test_other_memory_is_made_in_each_iteration(other):
    assert not changed(**other)


def test_numbers_of_other_types_are_not_set_to_zero():
    function = read(LOOP.format(**PLAIN))
    single = {name: type(kind)("float32", 1) if name == "a_1" else kind for name, kind in function.types.items()}
    assert hoist_allocations(function.__class__("f", function.params, function.body, single)).body == function.body


@pytest.mark.parametrize(("head", "made"), [("i in range(n)", "np.zeros(k)"), ("i in range(n, 0, -2)", "np.zeros(i)")])
def test_values_and_errors_stay(head, made):
    text = LOOP.format(**{**PLAIN, "head": f"for {head}", "made": made}).replace("; ", "\n        ")
    vector, matrix = np.arange(3.0), np.zeros((2, 2))
    keeps_values(hoist_allocations, text, *((vector, matrix, n, k, False, 0.5) for n in (0, 1, 4) for k in (-1, 0, 2)))
