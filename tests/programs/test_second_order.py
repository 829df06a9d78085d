"""Derivatives of derivatives of the whole programs: reverse over reverse against differences.

The generated source runs as plain Python here: what is tested is the transformation, and
compiling each of these programs would take a minute.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import numba
import numpy as np
import pytest

import tapec
from tapec.backend.jit import load
from tapec.frontend.evaluator.numba_types import from_numba, type_of_value
from tapec.pipeline import build
from tests.oracles import clone
from tests.oracles import interpreted as without_compiling
from tests.programs import Program
from tests.programs.test_programs import PROGRAMS
from tests.sampling import sampled


def second_order(f: Any, position: int) -> Any:
    """A function whose gradient is the Hessian of `f` times a vector."""
    gradient = tapec.grad(f, position)

    def directional(v: Any, *args: Any) -> float:
        return np.sum(gradient(*args) * v)

    return directional


def interpreted(function: Any, kind: str, wrt: Any, args: tuple[Any, ...]) -> Any:
    types = tuple(from_numba(type_of_value(arg)) for arg in args)
    if any(one is None for one in types):
        pytest.skip("structured arguments")
    program = build(function, types, kind, wrt)
    # Numba takes no empty list from Python, such as recursive functions are handed
    with mock.patch.object(numba.config, "DISABLE_JIT", True):
        return load(program)


@pytest.mark.slow
@pytest.mark.parametrize("program", sampled(PROGRAMS, 2, default=4), ids=str)
def test_hessian_vector_product(program: Program):
    args = program.arguments(program.sizes[0] if program.sizes[0] else program.sizes[-1])
    # asked here: some call jitted functions, which take seconds to compile
    if not isinstance(program.f(*clone(args)), float):
        pytest.skip("returns no single number")
    # by one argument: it takes the whole program for each
    positions = program.wrt if isinstance(program.wrt, tuple) else (program.wrt,)
    position = next(position for position in positions if isinstance(position, int))
    at = args[position]
    v = np.random.default_rng(position).normal(size=np.shape(at)) if np.ndim(at) else 1.0
    first = interpreted(program.f, "grad", position, args)
    hvp = interpreted(second_order(program.f, position), "grad", 1 + position, (v, *args))
    found = hvp(v, *clone(args))

    def shifted(h: float) -> Any:
        moved = list(clone(args))
        moved[position] = moved[position] + h * v
        return np.asarray(first(*moved))

    step = 1e-6
    expected = (shifted(step) - shifted(-step)) / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5 * max(1.0, np.abs(expected).max(initial=0.0)))


def power(a: Any, n: int) -> Any:
    return a[0] if n == 0 else a[0] * power(a, n - 1)


@pytest.mark.slow
def test_second_derivative_of_a_recursion_over_an_array():
    a = np.array([2.0, 1.0])
    np.testing.assert_allclose(tapec.hessian(power)(a, 3), [[48.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(tapec.grad(lambda a: tapec.grad(power)(a, 3)[0])(a), [48.0, 0.0])


def scaled_in_a_branch(a: Any, n: int) -> Any:
    if n > 1:
        for i in range(1, n):
            a[:i] *= a[0]
    return (a * a).sum()


def test_what_a_branch_keeps_on_a_stack_has_adjoints():
    with without_compiling():
        a, v = np.array([0.7, 1.2, 0.9]), np.array([0.3, -0.2, 0.5])
        _, pull = tapec.vjp(tapec.grad(scaled_in_a_branch), a.copy(), 3)
        np.testing.assert_allclose(pull(v)[0], tapec.hvp(scaled_in_a_branch)(a.copy(), 3, v), rtol=1e-12)


def added_to_later_rows(x: Any, iterations: int) -> Any:
    k = 0
    while k < iterations:
        k += 1
        for first in range(1, 3):
            x[3:first] += x[first:1]
    return (x * x).sum()


@pytest.mark.slow
def test_numbers_taken_from_a_list_are_taken_once():
    """The first derivative's list is emptied by its iterations: an iteration that is run again would find it empty."""
    with without_compiling():
        x, v = np.arange(12.0).reshape(4, 3), np.ones((4, 3))
        _, pull = tapec.vjp(tapec.grad(added_to_later_rows), x.copy(), 2)
        np.testing.assert_allclose(pull(v)[0], 2 * v)
