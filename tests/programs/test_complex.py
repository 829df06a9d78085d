"""Complex arguments and results of compiled derivatives: layouts, aliases, structures, calls from jitted code."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import pytest

import tapec
from tapec.build.boundary_values import Foreign, form_of
from tests.oracles import check
from tests.programs import random_complex
from tests.sampling import sampled

Z = np.array([1.0 + 2j, -0.5 + 0.3j, 0.7 - 1.1j, 2.0 + 0.1j])


def shifted(z, w):
    z[1:] = z[:-1] * w[1:]
    z.imag[0] = 2.0
    return np.sum(np.abs(z) ** 2) + (z[1] / w[0]).real


def weighted(z):
    total = 0.0
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            total += (z[i, j] * (i + 2j * j)).imag ** 2
    return total


class Pair(NamedTuple):
    size: float
    z: complex


def of_a_pair(pair, values):
    return abs(pair.z * pair.size - values[1][0])


def values_and_arrays(z, x):
    return z * x, (np.sum(z), x), z.real


def with_default(z, factor=2.0 - 1j):
    return abs(z * factor) ** 2


@pytest.mark.slow
def test_writes_into_an_argument_reach_the_caller():
    check(shifted, (Z.copy(), Z[::-1].copy()), original=numba.njit(shifted))


@pytest.mark.slow
def test_the_same_array_twice_is_one_array():
    z = Z.copy()
    wanted = Z.copy()
    value = shifted(wanted, wanted)
    got, gradient = tapec.value_and_grad(shifted)(z, z)
    np.testing.assert_allclose(got, value)
    np.testing.assert_allclose(z, wanted)
    one = tapec.grad(lambda z: shifted(z, z))(Z.copy())
    np.testing.assert_allclose(gradient, one)


@pytest.mark.slow
def test_arguments_that_overlap_are_refused():
    with pytest.raises(tapec.errors.ArgumentOverlap, match="`z` and `w` share memory"):
        tapec.grad(shifted)(Z[1:], Z[:-1])


@pytest.mark.slow
def test_layouts_and_read_only_arrays():
    rng = np.random.default_rng(3)
    z = rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4))
    wanted = tapec.grad(weighted)(z)
    fixed = z.copy()
    fixed.setflags(write=False)
    for other in (np.asfortranarray(z), np.repeat(z, 2, axis=1)[:, ::2], z[::-1, ::-1].copy()[::-1, ::-1], fixed):
        np.testing.assert_allclose(tapec.grad(weighted)(other), wanted)
    assert tapec.grad(weighted)(np.empty((0, 4), np.complex128)).shape == (0, 4)


@pytest.mark.slow
def test_structures():
    args = (Pair(2.0, 1.5 - 0.5j), (np.arange(2.0), Z[:2]))
    value, (pair, values) = tapec.value_and_grad(of_a_pair, (0, 1))(*args)
    assert value == pytest.approx(of_a_pair(*args))
    inner = args[0].z * 2.0 - Z[0]
    assert isinstance(pair, Pair)
    np.testing.assert_allclose(pair.z, 2.0 * inner / abs(inner))
    np.testing.assert_allclose(values[1], [-inner / abs(inner), 0])


@pytest.mark.slow
def test_results_of_every_kind():
    check(values_and_arrays, (Z, np.arange(4.0)), original=numba.njit(values_and_arrays))


def test_defaults():
    np.testing.assert_allclose(tapec.grad(with_default)(1.0 + 1j), 10.0 + 10j)
    np.testing.assert_allclose(tapec.grad(with_default)(1.0 + 1j, 1j), 2.0 + 2j)


@pytest.mark.slow
def test_derivatives_in_jitted_code():
    derivative = tapec.value_and_grad(weighted)

    @numba.njit
    def step(z):
        value, gradient = derivative(z)
        return value, z - 0.1 * gradient

    z = Z.reshape(2, 2)
    value, moved = step(z)
    assert value == pytest.approx(weighted(z))
    np.testing.assert_allclose(moved, z - 0.1 * tapec.grad(weighted)(z))


@pytest.mark.slow
@pytest.mark.generated
def test_hessian_vector_products():
    def curved(z):
        return np.sum(np.abs(z * z - 1.0) ** 2)

    direction = np.array([1j, 0.5, 0.0, 1.0 - 1j])
    step = 1e-6
    ahead, behind = (tapec.grad(curved)(Z + sign * step * direction) for sign in (1, -1))
    np.testing.assert_allclose(tapec.hvp(curved)(Z, direction), (ahead - behind) / (2 * step), rtol=1e-7, atol=1e-7)
    tapec.check_grads(curved, (Z,), order=2)


@pytest.mark.slow
@pytest.mark.generated
def test_jacobians_of_complex_results_by_real_arguments():
    x = np.array([0.3, 1.2])
    wave = tapec.jacobian(lambda x: np.exp(1j * x))
    np.testing.assert_allclose(wave(x), np.diag(1j * np.exp(1j * x)))
    by_two = tapec.jacfwd(lambda x, y: (x * np.exp(2j * y), abs(y)), (0, 1))
    (by_x, by_y), (zero, one) = by_two(0.5, 0.7)
    np.testing.assert_allclose([by_x, by_y], [np.exp(1.4j), 1j * np.exp(1.4j)])
    assert (zero, one) == (0.0, 1.0)
    np.testing.assert_allclose(tapec.hessian(lambda x: np.exp(1j * x))(0.4), -np.exp(0.4j))


@pytest.mark.generated
def test_derivatives_within_derivatives():
    def slope(z):
        return abs(tapec.grad(lambda w: (w**3).real)(z)) ** 2

    z = 0.8 - 0.6j
    # |3 z**2|**2 = 9 |z|**4
    np.testing.assert_allclose(tapec.grad(slope)(z), 36.0 * abs(z) ** 2 * z)


@pytest.mark.slow
@pytest.mark.generated
def test_pullbacks_keep_what_they_need():
    z = Z.copy()
    value, pullback = tapec.vjp(lambda z: z * z, z)
    z[:] = 0
    np.testing.assert_allclose(value, Z * Z)
    np.testing.assert_allclose(pullback(np.full(4, 1j))[0], 1j * np.conj(2 * Z))


# some of them have found mistakes
@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled([0, 1, 1015, 2, 1032, 3, 1037, 4, 5], 9, default=2))
def test_random_programs(seed):
    random_complex.run(seed)


def test_signatures_as_text():
    assert "z_re = z.real" in tapec.emit(weighted, signature="complex128[:, :]", opt_level=2)
    assert "z_re = z.real" in tapec.emit(with_default, signature="c16", opt_level=2)


def test_builds_have_no_form_for_them():
    assert form_of(numba.complex128) == Foreign("complex128")
