"""What `tapec.explain` says of the passes that rewrite a program before it is differentiated, and of early exits."""

from __future__ import annotations

import inspect
import math

import numba
import numpy as np
import pytest

import tapec
from tests.sampling import sampled

VECTOR = numba.float64[::1]


def sliced(cam):
    part = cam[3:6]
    return part[0] * part[1] + part[2]


def branches(x, c):
    if c:
        b = np.empty(2)
        b[0] = x[0] * 2.0
        b[1] = x[1]
    else:
        b = np.empty(2)
        b[0] = x[1]
        b[1] = x[0] * x[0]
    return b[0] * b[1]


def product(x):
    a = np.empty((2, 2))
    a[0, 0] = x[0]
    a[0, 1] = x[1]
    a[1, 0] = 1.0
    a[1, 1] = x[0] * x[1]
    b = np.dot(a, a)
    return b[0, 0] * b[1, 1]


def packed(q, x):
    n = x.shape[0]
    p = 0
    total = 0.0
    for c in range(n):
        for r in range(c + 1, n):
            total += q[p] * x[c] * x[r]
            p += 1
    return total


def differences(x, m):
    n = x.shape[0]
    diff = np.empty(n)
    s = 0.0
    for c in range(n):
        diff[c] = x[c] - m[c]
        s += diff[c] * diff[c]
    t = 0.0
    for _ in range(n):
        t += diff[_] * s
    return t


def shifted(m, x):
    y = (x - m) @ x.T
    return (y * y).sum()


def softmax(x):
    top = x.max()
    e = np.exp(x - top)
    return (e * e).sum() / e.sum() ** 2


def alike(x):
    s = x.T @ x
    return (s * s).sum()


def components(m, x):
    total = 0.0
    for _ in range(3):
        y = (x - m) @ x[:3].T
        total += (y * y).sum()
    return total


def peaks(x, n):
    total = 0.0
    for t in range(n):
        total += (x * t).max()
    return total


def gram(x):
    c = np.zeros((x.shape[1], x.shape[1]))
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[1]):
                c[j, k] += x[i, j] * x[i, k]
    return (c @ c).sum()


def crossed(x, p):
    total = 0.0
    axis = np.array([x[0], 1.0, x[1]])
    for i in range(p.shape[0]):
        q = p[i] + np.cross(axis, p[i])
        total += q[0] * q[1]
    return total


def largest(x):
    top = x[0]
    for i in range(1, x.shape[0]):
        if x[i] > top:
            top = x[i]
    return top


def neighbours(x):
    right = x[1:]
    return (right * x[:-1]).sum()


def ring(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i - 1]
    return total


def mirrored(x):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            y[i] = np.exp(-x[i])
        else:
            y[i] = np.exp(x[i])
    return (y * y).sum()


def discounted(x, n):
    total = 0.0
    for i in range(n):
        for k in range(n):
            total += math.exp(-x * (i + k)) * i
    return total


def decayed(x, n):
    total = 0.0
    for k in range(n):
        w = np.empty(n)
        for i in range(n):
            w[i] = math.exp(-x[0] * i)
        for i in range(n):
            total += w[i] * (i + k)
    return total


def whitened(x, n):
    total = 0.0
    for k in range(n):
        s = 0.0
        for i in range(n):
            s += x[i] * x[i]
        total += s * k
    return total


def stretched(x, y):
    t = x * y
    return np.sum(t * t)


def looked_up(values, knots, x):
    total = 0.0
    for i in range(x.shape[0]):
        total += values[np.searchsorted(knots, x[i])] * x[i]
    return total


def log_sum(x):
    return np.log(np.sum(np.exp(x)))


CASES = (
    (stretched, (VECTOR, VECTOR), "t =", "broadcast_versions", "the gradient has two versions: one for `y.shape[0] =="),
    (
        looked_up,
        (VECTOR, VECTOR, VECTOR),
        "total +=",
        "branchless_search",
        "`knots` is searched before the loop: every iteration of",
    ),
    (log_sum, (VECTOR,), "return", "buffer_reuse", "`x_bar` takes the memory of an array that is read for the last"),
    (
        whitened,
        (VECTOR, numba.int64),
        "for i",
        "value_hoisting",
        "`s` is computed once, before the loop: every iteration of",
    ),
    (decayed, (VECTOR, numba.int64), "w =", "fill_hoisting", "`w` is filled once, before the loop: every iteration of"),
    (
        discounted,
        (numba.float64, numba.int64),
        "total +=",
        "tabulation",
        "`math.exp` is looked up in a table: iterations of",
    ),
    (sliced, (VECTOR,), "part =", "implied_extents", "`part` has 3 elements: element 2 behind it is asked for"),
    (neighbours, (VECTOR,), "right =", "slice_folding", "loops take elements of slices from `x` itself"),
    (ring, (VECTOR,), "for i", "loop_peeling", "its first and last iterations are loops of their own"),
    (mirrored, (VECTOR,), "for i", "if_conversion", "both sides of its branches are computed"),
    (
        branches,
        (VECTOR, numba.boolean),
        "if c",
        "array_phis",
        "elements of `b` are copied: both sides bring a small array",
    ),
    (product, (VECTOR,), "b =", "small_products", "the product is written out: its arrays are 2 by 2 and 2 by 2"),
    (
        packed,
        (VECTOR, VECTOR),
        "for r",
        "closed_form_counters",
        "`p` is computed from `r`, not carried: every iteration adds 1",
    ),
    (
        differences,
        (VECTOR, VECTOR),
        "for c",
        "buffer_rematerialisation",
        "`diff` is not kept: its elements are computed again",
    ),
    (peaks, (VECTOR, numba.int64), "total +=", "check_hoisting", "checked once: all iterations of"),
    (shifted, (VECTOR, numba.float64[:, ::1]), "y =", "summed_products", "rows are summed before the product"),
    (alike, (numba.float64[:, ::1],), "s =", "transposed_products", "the product is taken in transpose"),
    (alike, (numba.float64[:, ::1],), "s =", "common_factors", "one product is taken of the sum of the factors"),
    (softmax, (VECTOR,), "top =", "shift_invariance", "its number counts as a constant: what follows"),
    (
        components,
        (VECTOR, numba.float64[:, ::1]),
        "for _",
        "tall_matrices",
        "has a second version: matrices of many short rows",
    ),
    (gram, (numba.float64[:, ::1],), "for i", "loop_products", "is left to BLAS: where its loops make many iterations"),
    (
        crossed,
        (VECTOR, numba.float64[:, ::1]),
        "for i",
        "demanded_extents",
        "axis 1 of `p` has 3 elements: with any other",
    ),
    (largest, (VECTOR,), "for i", "early_exit", "the reverse sweep leaves the loop early"),
    (largest, (VECTOR,), "for i", "last_branch", "kept is which iteration took its branch last"),
)


@pytest.mark.parametrize(
    ("function", "signature", "text", "by", "said"), sampled(CASES, 3), ids=[case[3] for case in CASES]
)
def test_a_decision_is_told_with_its_line(function, signature, text, by, said):
    lines, first = inspect.getsourcelines(function)
    (line,) = [first + place for place, one in enumerate(lines) if one.strip().startswith(text)]
    notes = [str(note) for note in tapec.explain(function, 0, signature).notes if (note.line, note.by) == (line, by)]
    assert len(notes) == 1 and notes[0].startswith(said), notes


def test_arrays_of_the_first_form_are_made_in_no_branch():
    made = tapec.explain(stretched, 0, (VECTOR, VECTOR)).memory
    assert made and {one.made for one in made} == {""}
    assert {one.made for one in tapec.explain(log_sum, 0, (VECTOR,)).memory} == {""}


@pytest.mark.slow
@pytest.mark.parametrize("function, signature", [(case[0], case[1]) for case in CASES])
def test_listening_changes_nothing(function, signature):
    told = tapec.explain(function, 0, signature).program.source
    assert told in tapec.emit(function, signature=signature, opt_level=2)
