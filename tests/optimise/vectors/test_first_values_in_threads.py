"""Names that an iteration on threads may read unset, for all Numba knows, have a first value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapec.backend import printer
from tapec.optimise.vectors.first_values_in_threads import initialise_in_threads
from tapec.syntax.types import Array
from tests.optimise.comparison import check_results
from tests.optimise.reading import check, read, unchanged

BEFORE = """
def f(a, A, n, k, x):
    z = x
    for i in numba.prange(n):
        for j in range(k):
            t = A[i, j]
            c = t > 0.0
            if c:
                y = t
                a_1 = np.empty(k)
            if c:
                u = z / y
                a_1[0] = u
                v = a_1[0]
                a[i] = v
    return x
"""


def test_what_a_branch_alone_has_set():
    first = "        y = 0.0\n        a_1 = np.empty(tapec_runtime.opaque(0))\n"
    check(initialise_in_threads, BEFORE, BEFORE.replace("        for j in", f"{first}        for j in"))
    matrix = np.array([[0.5, -1.0], [-1.0, -1.0], [-1.0, 2.0]])
    check_results(
        initialise_in_threads, BEFORE, *((np.ones(3), matrix, n, k, 2.0) for n in (0, 1, 3) for k in (0, 1, 2))
    )


@pytest.mark.parametrize(
    ("body", "first"),
    [
        ("if c:\n    y = x\na[i] += y", ["y = 0.0"]),
        ("if c:\n    k = 2\na[i] += k", ["k = 0"]),
        ("if c:\n    c_1 = x > 0.0\nif c_1:\n    a[i] = x", ["c_1 = False"]),
        ("for j in range(2):\n    y = x\na[i] = y", ["y = 0.0"]),  # no iteration, and none has set it
        ("while True:\n    if c:\n        break\n    y = x\n    break\na[i] = y", ["y = 0.0"]),
        (
            "if c:\n    y_stack = stack()\n    y_stack.append(x)\nif c:\n    y = y_stack.pop()\n    a[i] = y",
            ["y_stack = [0.0][:0]"],
        ),
        # set on all ways, or before the loop, or nobody reads it
        ("if c:\n    y = x\nelse:\n    y = 2.0\na[i] += y", []),
        ("while True:\n    y = x\n    if c:\n        break\na[i] = y", []),
        ("if c:\n    raise ValueError()\nelse:\n    y = x\na[i] = y", []),
        ("a[i] += z", []),
        ("if c:\n    y = x", []),
    ],
)
def test_only_what_may_be_unset(body: str, first: list[str]):
    text = "def f(a, n, x, c):\n    z = x\n    for i in numba.prange(n):\n{}    return x\n"
    lines = body.splitlines()
    before = text.format("".join(f"        {line}\n" for line in lines))
    made = printer.function(initialise_in_threads(read(before)), quote=False)
    loop = made[made.index("prange(n):\n") + 11 :].splitlines()
    assert [line.strip() for line in loop[: len(first)]] == first
    assert "\n".join(loop[len(first) :]) in printer.function(read(before), quote=False)


def test_loops_that_are_not_on_threads_stay():
    unchanged(initialise_in_threads, BEFORE.replace("numba.prange", "range"))


def test_an_array_of_another_layout_begins_with_one_of_that_layout():
    core = read("""
    def f(a, n, c, x):
        for i in numba.prange(n):
            if c:
                A = a
            A[0, 0] = x
        return x
    """)
    for layout, value in (
        ("C", "np.empty((tapec_runtime.opaque(0), tapec_runtime.opaque(0)))"),
        ("F", "np.empty((tapec_runtime.opaque(0), tapec_runtime.opaque(0))).T"),
        ("A", "np.empty((tapec_runtime.opaque(0), tapec_runtime.opaque(0)))[::2, ::2]"),
    ):
        other = replace(core, types={**core.types, "A": Array("float64", 2, layout)})
        assert f"A = {value}\n" in printer.function(initialise_in_threads(other), quote=False)
