"""What iterations in lanes store for later has the axis of the iterations last."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.vectors.lane_buffers import with_lanes_last
from tests.optimise.reading import read
from tests.oracles import interpreted
from tests.programs.inference import hmm_forward
from tests.programs.spectra import contour_integral

PROGRAM = """
def f(a, a1, n, n1, s):
    Q = np.empty((n, n1))
    for i in range(n):
        for j in range(n1):
            Q[{row}, {column}] = s
            {inside}
        {behind}
    for i1 in range(n):
        for j1 in range(n1):
            x = Q[i1, j1]
            s += x
    {after}
    return s
"""


def program(row="i", column="j", inside="pass", behind="pass", after="pass"):
    text = PROGRAM.format(row=row, column=column, inside=inside, behind=behind, after=after)
    return read("\n".join(line for line in text.splitlines() if line.strip() != "pass"))


def after_turning(found):
    """Whether loops run in lanes: those of a function whose matrix is turned."""
    return lambda loop, iterations, fresh: ("Q_columns" in iterations.types) == found


def test_a_matrix_is_turned_where_all_its_loops_run_in_lanes_by_that():
    turned = printer.function(with_lanes_last(program(), after_turning(True)), quote=False)
    assert "Q_columns = np.empty((n1, n))" in turned
    assert "Q_columns[j, i] = s" in turned and "x = Q_columns[j1, i1]" in turned


@pytest.mark.parametrize("runs", [lambda *loop: False, lambda *loop: True, after_turning(False)])
def test_nothing_is_turned_for_nothing(runs):
    function = program()
    assert with_lanes_last(function, runs) is function


@pytest.mark.parametrize(
    "parts",
    [
        {"row": "j", "column": "i"},
        {"row": "i", "column": "i"},
        {"row": "n1"},
        {"behind": "Q[i, 0] = s"},
        {"after": "a = Q[0, :]"},
        {"after": "B = np.dot(Q, Q)"},
    ],
)
def test_what_stays(parts):
    function = program(**parts)
    assert with_lanes_last(function, after_turning(True)) is function


@pytest.mark.slow
def test_derivatives_are_right(rng: np.random.Generator):
    args = rng.normal(size=5) + 1j * rng.normal(size=5), 0.3 - 0.2j, 0.8, 70
    source = tapec.emit(contour_integral, (0, 1, 2), signature="c16[:], c16, f8, i8", opt_level=2)
    assert "value_re_store_columns" in source and "range(lanes)" in source
    with interpreted():
        one, other = (tapec.value_and_grad(contour_integral, (0, 1, 2), opt_level=level)(*args) for level in (1, 2))
    assert one[0] == pytest.approx(other[0], rel=1e-12)
    for mine, wanted in zip(other[1], one[1], strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_arrays_of_matrices_are_turned_within_each(rng: np.random.Generator):
    args = (*(rng.normal(size=shape) for shape in (66, (66, 66), (66, 2))), np.array([0, 1]))
    source = tapec.emit(hmm_forward, (0, 1, 2), signature="f8[:], f8[:, :], f8[:, :], i8[:]", opt_level=2)
    assert "_store_columns[t - 1, i, " in source and "range(lanes)" in source
    with interpreted():
        one, other = (tapec.value_and_grad(hmm_forward, (0, 1, 2), opt_level=level)(*args) for level in (1, 2))
    assert one[0] == pytest.approx(other[0], rel=1e-12)
    for mine, wanted in zip(other[1], one[1], strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-10, atol=1e-12)
