"""What `tapec.explain` says of the passes that make generated code fast."""

from __future__ import annotations

import inspect
import math

import numba
import numpy as np
import pytest

import tapec
from tests.explanation.programs import recurrent
from tests.optimise.buffers.test_dead_buffer_reuse import leapfrog
from tests.optimise.buffers.test_row_store_hoisting import eliminated
from tests.optimise.buffers.test_zeroed_elements import recursion
from tests.optimise.loops.test_upward_recurrences import diffused
from tests.optimise.vectors.test_unroll_and_jam import weighted
from tests.programs.inference import viterbi
from tests.programs.objectives import gmm_vectorised
from tests.sampling import sampled

VECTOR = numba.float64[::1]
MATRIX = numba.float64[:, ::1]
INDICES = numba.int64[::1]
COUNT = numba.int64
MIXTURE = (VECTOR, MATRIX, MATRIX, MATRIX, numba.float64, COUNT)


def sine_sum(x):
    y = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = math.sin(x[i]) * x[i]
    total = 0.0
    for i in range(x.shape[0]):
        total += y[i] * y[i]
    return total * y[0]


def deposited(q, k, n):
    grid = np.zeros(n)
    for p in range(k.shape[0]):
        cell = k[p] % n
        grid[cell] += q[p] * q[p]
    return (grid * grid).sum()


def searched(x, tol):
    total = 0.0
    for r in range(x.shape[0]):
        y = x[r]
        while abs(y * y - 2.0) > tol:
            y = 0.5 * (y + 2.0 / y)
        total += y * x[r]
    return total


def looked_up(v, x, rows, columns):
    total = 0.0
    for i in range(rows.shape[0] - 1):
        s = 0.0
        for p in range(rows[i], rows[i + 1]):
            s += v[p] * x[columns[p]]
        total += s * s
    return total


def repeated(w, x):
    total = 0.0
    for j in range(w.shape[0]):
        y = np.tanh(x[: j + 1] @ w[j].T)
        total += y.sum()
    return total


def walked(x, steps):
    total = 0.0
    for t in range(steps):
        for i in range(1, x.shape[0]):
            x[i] = x[i - 1] * 0.5 + math.sin(x[i])
    for i in range(x.shape[0]):
        total += x[i]
    return total


def pairs(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[1]):
            s = 0.1
            for c in range(2):
                s = s * w[c, j] + x[i, c]
            total += math.exp(s) * s
    return total


def shortest(d):
    a = d.copy()
    for k in range(a.shape[0]):
        for i in range(a.shape[0]):
            for j in range(a.shape[0]):
                a[i, j] = min(a[i, j], a[i, k] + a[k, j])
    return a.sum()


def knapsack(v, w, room):
    held = np.zeros(room + 1)
    for i in range(v.shape[0]):
        for c in range(room, w[i] - 1, -1):
            held[c] = max(held[c], held[c - w[i]] + v[i])
    return held[room]


CASES = (
    (
        viterbi,
        (MATRIX, MATRIX),
        "if value > top",
        "zero_skipping",
        "what one side spreads is added on that side alone: on",
    ),
    (sine_sum, (VECTOR,), "for i", "loop_reversal", "the reverse sweep counts upward: no iteration uses"),
    (
        diffused,
        (VECTOR, VECTOR, COUNT),
        "for i",
        "upward_recurrences",
        "the reverse sweep counts upward: what an iteration hands to the",
    ),
    (
        leapfrog,
        (VECTOR, VECTOR, COUNT),
        "new = ",
        "dead_buffer_reuse",
        "`new` takes the memory that `old` had: no iteration needs it",
    ),
    (
        deposited,
        (VECTOR, INDICES, COUNT),
        "grid =",
        "zero_fill",
        "`grid_bar` is not set to zero first: a loop comes to",
    ),
    (recurrent, (MATRIX, VECTOR, COUNT), "for t", "zero_fill_choices", "`h_1_bar` is not set to zero first: a loop"),
    (eliminated, (MATRIX,), "a[i, j] -=", "row_store_hoisting", "kept once, before the loop: every iteration of line"),
    (
        deposited,
        (VECTOR, INDICES, COUNT),
        "cell =",
        "cheap_remainders",
        "the remainder divides only where it has to: most",
    ),
    (
        weighted,
        (MATRIX, MATRIX),
        "for k",
        "unroll_and_jam",
        "four iterations at once: what they share stays in a register",
    ),
    (pairs, (MATRIX, MATRIX), "for c", "short_loop_unrolling", "written out in lanes, 2 times: what it adds up then"),
    (
        searched,
        (VECTOR, numba.float64),
        "for r",
        "positioned_stacks",
        "the list `y_1_stack` keeps its memory: every iteration",
    ),
    (shortest, (MATRIX,), "a[i, j] =", "relaxations", "a branch stores into `a` what is better than the element: an"),
    (
        knapsack,
        (VECTOR, INDICES, COUNT),
        "for i",
        "counted_lists",
        "the list `taken_stack` is an array: the iterations are",
    ),
    (
        recursion,
        (VECTOR,),
        "for i",
        "zeroed_elements",
        "`other_bar` became a number: each iteration spends one element",
    ),
    (
        looked_up,
        (VECTOR, VECTOR, INDICES, INDICES),
        "for p",
        "strided_sums",
        "kept from vectors: elements that are looked",
    ),
    (
        repeated,
        (numba.float64[:, :, ::1], MATRIX),
        "y = np",
        "row_products",
        "a small factor is copied to rows: the second",
    ),
    (
        gmm_vectorised,
        MIXTURE,
        "image =",
        "unit_stride_versions",
        "has a version that can run on vectors: for operands that",
    ),
    (walked, (VECTOR, COUNT), "x[i] =", "unsigned_subscripts", "a subscript is not asked for its sign: it is never"),
    (
        walked,
        (VECTOR, COUNT),
        "for t",
        "outer_vectorisation",
        "its iterations do not run side by side: it is not proved",
    ),
    (searched, (VECTOR, numba.float64), "for r", "outer_vectorisation", "its iterations do not run side by side: line"),
    (
        eliminated,
        (MATRIX,),
        "for j",
        "independence_hints",
        "runs without looking for overlaps of its arrays: no iteration",
    ),
)


@pytest.mark.parametrize(
    ("function", "signature", "text", "by", "said"), sampled(CASES, 3), ids=[case[3] for case in CASES]
)
def test_a_technique_is_told_with_its_line(function, signature, text, by, said):
    lines, first = inspect.getsourcelines(function)
    places = [first + place for place, one in enumerate(lines) if one.strip().startswith(text)]
    floats = [place for place, type_ in enumerate(signature) if "float64" in str(type_)]
    told = tapec.explain(function, floats, signature)
    notes = [str(note) for note in told.notes if note.by == by and note.line in places]
    assert any(note.startswith(said) for note in notes), notes
