"""Arrays that grow are lists, which grow where they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapec.optimise.buffers.grown_lists import grow_in_place
from tapec.syntax.core import For
from tests.optimise.comparison import keeps_values
from tests.optimise.reading import check, read, unchanged

GROWS = """
def f(a, c, n, x):
    {before}
    a_1 = {made}
    k = 0
    for i in range(n):
        n1 = a_1.shape[0]
        c1 = {full}
        if c1:
            n2 = 2 * n1
            n3 = {larger}
            a_2 = np.empty(n3)
            for j in range({copied}):
                t = a_1[j]
                a_2[j] = t
            a_3 = a_2
        else:
            a_3 = a_1
        a_3[k] = x
        {use}
        x1 = x * 0.5
        x = x1
        k1 = k + 1
        k = k1
        a_1 = a_3
    {after}
    return {result}
"""
PLAIN = {
    "before": "pass",
    "made": "np.empty(2)",
    "full": "k == n1",
    "larger": "n2 + 1",
    "copied": "k",
    "use": "pass",
    "after": "y = a_1[0]",
    "result": "y",
}


def test_the_branch_appends_what_is_missing():
    check(
        grow_in_place,
        before=GROWS.format(**PLAIN),
        after="""
        def f(a, c, n, x):
            a_1 = [0.0] * 2
            k = 0
            for i in range(n):
                n1 = len(a_1)
                c1 = k == n1
                if c1:
                    n2 = 2 * n1
                    n3 = n2 + 1
                    held = len(a_1)
                    for k_1 in range(held, n3):
                        a_1.append(0.0)
                a_1[k] = x
                x1 = x * 0.5
                x = x1
                k1 = k + 1
                k = k1
            y = a_1[0]
            return y
        """,
    )


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"use": "t1 = a_3[-1]\n        a_3[-1] = x"},
        {"larger": "max(n2, 5)"},
        {"copied": "n1"},
        {"made": "np.zeros(2)", "after": "n4 = a_1.shape[0]\n    y = n4 * x"},
        {"after": "y = 0.0\n    for i1 in range(k):\n        t2 = a_1[i1]\n        y = y + t2"},
    ],
    ids=str,
)
def test_values_stay(other):
    cases = [(np.zeros(1), True, n, 1.0) for n in (1, 2, 3, 9)]
    keeps_values(grow_in_place, GROWS.format(**{**PLAIN, **other}), *cases)


@pytest.mark.parametrize(
    "other",
    [
        # not all is copied, or the array grows where it is not full, or may become smaller
        {"copied": "2"},
        {"full": "k > n1"},
        {"full": "k == 2"},
        {"larger": "n2 - 1"},
        {"larger": "n * 3"},
        # used after another one has taken its place, or for more than its elements and extents
        {"use": "t1 = a_1[0]\n        a_3[0] = t1"},
        {"use": "a_1[0] = x"},
        {"use": "t1 = a_2[0]"},
        {"use": "a_4 = a_3[1:]\n        t1 = a_4[0]"},
        {"use": "print(a_3)"},
        {"after": "y = np.sum(a_1)"},
        {"before": "A_stack = stack()", "use": "A_stack.append(a_3)"},
        # the caller's, or for the caller
        {"made": "a"},
        {"result": "a_1"},
    ],
    ids=str,
)
def test_other_arrays_stay(other):
    unchanged(grow_in_place, GROWS.format(**{**PLAIN, **other}))


def test_elements_without_a_literal_zero_stay():
    function = read(GROWS.format(**PLAIN))
    single = {name: replace(kind, dtype="float32") for name, kind in function.types.items() if name.startswith("a_")}
    function = replace(function, types=function.types | single)
    assert grow_in_place(function) is function


def test_a_program_with_threads_stays():
    function = read(GROWS.format(**PLAIN))
    body = tuple(replace(stmt, parallel=True) if isinstance(stmt, For) else stmt for stmt in function.body)
    threaded = replace(function, body=body)
    assert grow_in_place(threaded) is threaded
