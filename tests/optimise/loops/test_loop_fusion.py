"""Loops run together with earlier ones that make what they use."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.loops.loop_fusion import fuse_loops
from tapec.syntax.core import For
from tests import oracles
from tests.optimise.reading import check, read


def test_a_loop_that_reads_what_another_has_made():
    check(
        fuse_loops,
        """
        def f(a, n, y):
            a1 = np.empty(n)
            s = 0.0
            for i in range(n):
                x = a[i]
                a1[i] = x
                s1 = s + x
                s = s1
            z = y * y
            t = z
            for j in range(n):
                u = a1[j]
                t1 = t + u
                t = t1
            return s, t
        """,
        """
        def f(a, n, y):
            a1 = np.empty(n)
            s = 0.0
            z = y * y
            t = z
            for i in range(n):
                x = a[i]
                a1[i] = x
                s1 = s + x
                u = a1[i]
                t1 = t + u
                s = s1
                t = t1
            return s, t
        """,
    )


TWO = """
def f(a, a2, n, k, y, c):
    a1 = np.empty(n)
    for i in range(n):
        x = a[{read}]
        {made}
    {between}
    for j in range({stop}):
        k1 = j + 1
        {used}
    return y
"""
AS_IT_IS = {"read": "i", "made": "a1[i] = x", "between": "z = y * y", "stop": "n", "used": "t = a1[j]"}


def test_these_two_are_joined():
    function = read(TWO.format(**AS_IT_IS))
    assert fuse_loops(function) != function


@pytest.mark.parametrize(
    "other",
    [
        # other iterations, other elements, nothing that is used
        {"stop": "k"},
        {"used": "t = a1[k1]"},
        {"used": "t = a[j]"},
        # what one iteration reads, an earlier or later one would have changed
        {"made": "a1[i] = x\n        a1[0] = x"},
        {"used": "t = a1[j]\n        a[k1] = t"},
        {"used": "t = a1[j]\n        a1[0] = t"},
        # a variable goes from loop to loop
        {"used": "t = a1[j] + x"},
        {"between": "z = x * x"},
        {"between": "x = y * y"},
        # something in between reads or changes elements
        {"between": "z = a1[0]"},
        {"between": "a1[0] = y"},
        {"between": "print(y)"},
        # iterations in their order
        {"made": "a1[i] = x\n        print(x)"},
        # used elsewhere, by the caller, or after the loops
        {"made": "a1[i] = x\n        a2[i] = x"},
        {"used": "t = a1[j]\n    t1 = a1[0]"},
        # exponentials would no longer run on vectors
        {"made": "x1 = np.exp(x)\n        a1[i] = x1", "used": "k2 = k1 * k1\n        t = a1[j]\n        a2[k2] += t"},
    ],
    ids=str,
)
def test_what_stays(other):
    function = read(TWO.format(**(AS_IT_IS | other)))
    assert fuse_loops(function) == function


PARTS = """
def f(a, n, m, y):
    out = {made}
    for i in range(n):
        for j in range(m):
            x = a[i, j]
            out[i, j] = x
    for p in range(n):
        for q in range(m):
            k = q + 1
            z = {read}
            out[{stored}] {how}= z
    t = out[0, 0]
    return t
"""
PUT_TOGETHER = {"made": "np.empty((n, n))", "read": "a[p, k]", "stored": "p, k", "how": ""}


def test_nests_that_copy_parts_of_one_array_are_one_nest_whatever_uses_it():
    check(
        fuse_loops,
        PARTS.format(**PUT_TOGETHER),
        """
        def f(a, n, m, y):
            out = np.empty((n, n))
            for i in range(n):
                for j in range(m):
                    x = a[i, j]
                    out[i, j] = x
                for q in range(m):
                    k = q + 1
                    z = a[i, k]
                    out[i, k] = z
            t = out[0, 0]
            return t
        """,
    )


@pytest.mark.parametrize(
    "other",
    [
        # elements of another row, and what the first nest makes there
        {"stored": "k, p"},
        {"read": "out[k, q]"},
        # more than copies
        {"how": "+"},
        {"read": "a[p, k] * y"},
    ],
    ids=str,
)
def test_parts_that_stay(other):
    function = read(PARTS.format(**(PUT_TOGETHER | other)))
    assert fuse_loops(function) == function


def test_parts_of_an_array_of_the_callers_stay():
    text = PARTS.format(**PUT_TOGETHER).replace("    out = np.empty((n, n))\n", "").replace("f(a,", "f(a, out,")
    function = read(text)
    assert fuse_loops(function) == function


STEPS = """
def f(a, n, k):
    {before}
    for t in range(k):
        a1 = np.empty(n)
        for i in range(n):
            i1 = i - 1
            x = a[i1]
            a1[i] = x
        {within}
        for j in range(n):
            y = a1[j]
            z = {old}[j]
            s = y + z
            a2[j] = s
        {after}
        a = a2
    return a
"""


def test_what_an_iteration_makes_is_other_memory_than_what_it_began_with():
    new = "a2 = np.empty(n)"
    same = {"before": "w = n * n", "within": new, "after": "w2 = n + n", "old": "a"}
    joined = read(STEPS.format(**same))
    assert fuse_loops(joined) != joined
    for other in (
        # from the second iteration on it is what the iteration before has made
        {"before": new, "within": "w3 = n - n"},
        # changed in the iteration
        {"within": f"{new}\n        a = a2"},
    ):
        function = read(STEPS.format(**(same | other)))
        assert fuse_loops(function) == function


def fitted(x, w, y):
    out = np.empty(x.shape[0])
    slopes = np.zeros_like(out)
    for i in range(x.shape[0]):
        slopes[i] = w[0] if x[i] < 0.0 else w[1] * x[i]
        if x[i] < 0.5:
            out[i] = slopes[i] * x[i]
        else:
            out[i] = np.sin(slopes[i])
    off = out - y
    return (off * off).sum() + slopes.max()


@pytest.mark.slow
def test_derivatives_are_the_same():
    rng = np.random.default_rng(3)
    args = rng.normal(size=7), rng.normal(size=2), rng.normal(size=7)
    with oracles.interpreted():
        value, gradients = tapec.value_and_grad(fitted, wrt=(0, 1, 2))(*args)
        plain, wanted = tapec.value_and_grad(fitted, wrt=(0, 1, 2), opt_level=1)(*args)
        with pytest.raises(ValueError):
            tapec.value_and_grad(fitted)(*args[:2], args[2][:3])
    assert value == pytest.approx(plain, rel=1e-14)
    for one, other in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    # nothing is stored for the reverse sweep
    assert "_store" not in tapec.emit(fitted, signature="f8[:], f8[:], f8[:]", opt_level=2)


NEST = """
def f(A, n, k):
    a1 = np.empty(n)
    a2 = np.empty(n)
    for i in range(n):
        s = 0.0
        for j in range(k):
            x = A[i, j]
            s1 = s + x
            s = s1
        a1[i] = s
    for i1 in range(n):
        x1 = a1[i1]
        y = np.log(x1)
        a2[i1] = y
    z = 0.0
    for i2 in range(n):
        x2 = a2[i2]
        z1 = z + x2
        z = z1
    return z
"""


def test_a_logarithm_of_each_sum_is_taken_where_the_sum_is():
    (loop,) = (stmt for stmt in fuse_loops(read(NEST)).body if isinstance(stmt, For))
    assert any(isinstance(stmt, For) for stmt in loop.body)


def test_in_a_loop_logarithms_stay_on_vectors():
    head, _, rest = NEST.strip().partition("a1 = ")
    inner = "\n".join(f"    {line}" for line in f"    a1 = {rest}".replace("return z", "y2 = z").splitlines())
    function = read(f"def f(A, n, k):\n    for n1 in range(k):\n{inner}\n    return k\n")
    (outer,) = (stmt for stmt in fuse_loops(function).body if isinstance(stmt, For))
    assert sum(isinstance(stmt, For) for stmt in outer.body) == 2


ROWS = """
def f(A, B, n, k, k1, y):
    a1 = np.empty(n)
    {first}
    for i in range(n):
        x = a[i]
        z = x * y
        a1[i] = z
    {second}
    for j in range(n):
        x1 = a1[j]
        x2 = {read}
        z1 = x2 - x1
        {store} = z1
    return y
"""
ROW = {"first": "a = A[k]", "second": "a2 = A[k1]", "read": "a2[j]", "store": "a2[j]"}


@pytest.mark.parametrize(
    ("other", "joined"),
    [
        ({}, True),
        ({"second": "a2 = A[k]"}, True),
        # what a column and a row have in common may be anywhere in them
        ({"second": "a2 = A[:, k1]"}, False),
        # a later element, which another iteration reads
        ({"second": "a2 = A[k1, 1:]"}, False),
        ({"first": "a = A[k, 1:]", "second": "a2 = A[k1, 1:]"}, True),
        ({"first": "a = A[k, ::2]", "second": "a2 = A[k1, ::2]"}, True),
        ({"first": "a = A[k, ::2]"}, False),
        # from the end: which iteration comes to an element depends on extents
        ({"first": "a = A[k, ::-1]", "second": "a2 = A[k1, ::-1]"}, False),
        # arrays that may share memory in any way
        ({"first": "B = A\n    a = B[k]"}, False),
        ({"second": "a2 = A[k1]\n    A = B"}, False),
    ],
    ids=str,
)
def test_rows_of_one_array_meet_in_iterations_of_one_number(other, joined):
    function = read(ROWS.format(**(ROW | other)))
    assert (fuse_loops(function) != function) is joined


@pytest.mark.slow
def test_elimination_by_rows_keeps_no_row():
    def triangular(a0):
        a = a0.copy()
        for k in range(a.shape[0]):
            for i in range(k + 1, a.shape[0]):
                a[i] -= a[i, k] / a[k, k] * a[k]
        return np.log(np.abs(np.diag(a))).sum()

    def shifted(a0):
        a = a0.copy()
        for k in range(1, a.shape[0]):
            a[k, 1:] -= 0.5 * a[k - 1, :-1] + a[k, :-1]
            a[k] *= a[k, ::-1]
        return a.sum()

    assert "np.empty(n" not in tapec.emit(triangular, signature="f8[:,:]", opt_level=2)
    a = np.random.default_rng(2).normal(size=(4, 4)) + 3.0 * np.eye(4)
    for f in (triangular, shifted):
        oracles.check(f, (a,), (0,), forward_level=0)
