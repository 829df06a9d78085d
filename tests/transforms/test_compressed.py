"""Runs in the directions of colours: every element of a matrix from the place that it has in what a run gives."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.backend import printer
from tapec.errors import NotDifferentiable
from tapec.syntax.core import Assign, Function, Name, Op, Return
from tapec.syntax.types import FLOAT64, Array
from tapec.transforms.compressed import SPARSE, sparse_program
from tapec.transforms.ssa import to_ssa
from tests.optimise.comparison import run
from tests.optimise.reading import read

BAND = """
def f(a, x, n):
    n_a = a.shape[0]
    a_y = np.zeros(n_a)
    for i in range(1, n_a):
        j = i - 1
        t = a[i]
        u = a[j]
        v = t * u
        w = v * x
        a_y[i] = w
    return a_y
"""
BRANCH = """
def f(a, x, n):
    a_y = np.zeros(2)
    t = a[0]
    c = t > 0.0
    if c:
        for i in range(2):
            u = a[i]
            v = u * t
            a_y[i] = v
    return a_y
"""
A = np.array([0.5, -1.0, 2.0, 3.0, 0.25])


def of(text: str) -> Function:
    return to_ssa(read(text))


def compressed(kind: str, core: Function, sources: tuple[str, ...], width: int) -> Function:
    return sparse_program(kind, core, sources, frozenset(), width, False)[0]


def filled(made: Function, args: tuple, moving: int, given: int, width: int, traces: list[int]) -> tuple:
    """The whole matrix by runs in which each element has a colour of its own, and the digest."""
    strips = -(-moving // width)
    starts, places, targets = [0], [], []
    for strip in range(strips):
        for column in range(strip * width, min((strip + 1) * width, moving)):
            for row in range(given):
                places.append(row * width + column - strip * width)
                targets.append(row * moving + column)
        starts.append(len(places))
    more = (np.arange(moving), *(np.array(one, np.int64) for one in (starts, places, targets)))
    values = np.full(given * moving, 9.0)
    digest, *after = run(made, (*args, *more, values, np.array(traces, np.int64)))
    return digest, after[len(args) + 4].reshape(given, moving)


def known(*args) -> tuple[int, np.ndarray]:
    digest, untouched = filled(*args, [])
    assert (untouched == 9.0).all()
    return filled(*args, [digest])


def jacobian(a: np.ndarray, x: float) -> np.ndarray:
    made = np.zeros((a.size, a.size + 1))
    for i in range(1, a.size):
        made[i, i], made[i, i - 1], made[i, -1] = a[i - 1] * x, a[i] * x, a[i] * a[i - 1]
    return made


@pytest.mark.parametrize("width", [1, 2, 8])
def test_columns(width: int):
    made = compressed("columns", of(BAND), ("a", "x"), width)
    _, matrix = known(made, (A, 3.0, 1), A.size + 1, A.size, width)
    np.testing.assert_allclose(matrix, jacobian(A, 3.0), rtol=1e-15)


@pytest.mark.parametrize("width", [1, 2, 8])
def test_rows(width: int):
    made = compressed("rows", of(BAND), ("a", "x"), width)
    _, matrix = known(made, (A, 3.0, 1), A.size, A.size + 1, width)
    np.testing.assert_allclose(matrix.T, jacobian(A, 3.0), rtol=1e-15)


def test_columns_of_one_colour_are_one_direction():
    made = compressed("columns", of(BAND), ("a",), 2)
    colours, starts = np.array([0, 1, 0, 1, -1]), np.array([0, 2])
    # elements (1, 0) and (2, 1), by the rows in which their colours meet
    given = (A, 3.0, 1, colours, starts, np.array([2, 5]), np.array([0, 1]), np.zeros(2))
    digest = run(made, (*given, np.zeros(0, np.int64)))[0]
    found = run(made, (*given, np.array([7, digest])))[8]
    np.testing.assert_allclose(found, [A[1] * 3.0, A[2] * 3.0])


@pytest.mark.parametrize("kind", ["columns", "rows"])
def test_another_way_through_the_program_leaves_the_values(kind: str):
    made = compressed(kind, of(BRANCH), ("a",), 2)
    a = np.array([2.0, 3.0])
    digest, matrix = known(made, (a, 0.0, 1), 2, 2, 2)
    wanted = np.array([[4.0, 0.0], [3.0, 2.0]])
    np.testing.assert_allclose(matrix if kind == "columns" else matrix.T, wanted)
    other, left = filled(made, (-a, 0.0, 1), 2, 2, 2, [digest])
    assert other != digest and (left == 9.0).all()


def test_integers_that_decide_belong_to_the_digest():
    core = of(BAND.replace("range(1, n_a)", "range(n, n_a)"))
    made = compressed("columns", core, ("a",), 2)
    digests = {filled(made, (A, 3.0, n), A.size, A.size, 2, [])[0] for n in (1, 2, 3)}
    assert len(digests) == 3


def test_hessian():
    core = of("""
        def f(a, n):
            n_a = a.shape[0]
            s = 0.0
            for i in range(1, n_a):
                j = i - 1
                t = a[i]
                u = a[j]
                v = t * u
                w = v * u
                s = s + w
            return s
        """)
    made = compressed("hessian_columns", core, ("a",), 2)
    _, matrix = known(made, (A, 1), A.size, A.size, 2)
    wanted = np.zeros((A.size, A.size))
    for i in range(1, A.size):
        wanted[i - 1, i - 1] += 2.0 * A[i]
        wanted[i, i - 1] += 2.0 * A[i - 1]
        wanted[i - 1, i] += 2.0 * A[i - 1]
    np.testing.assert_allclose(matrix, wanted, rtol=1e-15)


def test_what_is_printed_is_printed_once():
    core = of(BAND.replace("    return", "    print(x)\n    return"))
    for kind in ("columns", "rows"):
        text = printer.function(compressed(kind, core, ("a",), 2), False)
        assert text.count("print(") == 1
        before, _, after = text.partition("print(")
        assert "for strip" in after and "for strip" not in before


@pytest.mark.parametrize(("dtype", "kind"), [("float32", "float32"), ("float64", "float64")])
def test_values_are_single_if_all_sources_are(dtype: str, kind: str):
    core = of(BAND)
    types = {**core.types, "a": Array(dtype, 1)}
    made = compressed("columns", Function("f", core.params, core.body, types), ("a",), 2)
    assert made.types[made.params[-2]] == Array(kind, 1, "C")
    with_number = compressed("columns", Function("f", core.params, core.body, types), ("a", "x"), 2)
    assert with_number.types[with_number.params[-2]] == Array("float64", 1, "C")


@pytest.mark.parametrize("kind", SPARSE)
def test_draws_are_refused(kind: str):
    types = {"x": FLOAT64, "y": FLOAT64, "z": FLOAT64}
    draw = Assign("y", Op("np.random.random", ()))
    body = (draw, Assign("z", Op("*", (Name("x"), Name("y")))), Return((Name("z"),)))
    with pytest.raises(NotDifferentiable, match="calls `np.random.random`"):
        compressed(kind, Function("f", ("x",), body, types), ("x",), 2)
