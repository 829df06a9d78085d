"""Fourier transforms, and functions by the loops of ufuncs, in machine code; decompositions to second order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import tapec
import tapec_runtime
from tests.oracles import check, interpreted

RNG = np.random.default_rng(2)


def spectrum(x, z):
    y = np.fft.ifft(np.fft.fft(x) * z)
    half = np.fft.rfft(x, 6)
    return np.sum(y.real**3) + np.sum(np.abs(half) ** 2) + np.sum(np.fft.irfft(half * half, 9) ** 2)


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled_transforms():
    x, z = RNG.normal(size=5), RNG.normal(size=5) + 1j * RNG.normal(size=5)
    check(spectrum, (x, z), compiled="both")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(8,), (5,), (1,), (2, 3, 4), (3, 0, 4)])
def test_transforms_are_those_of_numpy(shape, dtype):
    re, im = (RNG.normal(size=shape).astype(dtype) for _ in range(2))
    z, n = re + 1j * im, shape[-1]
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    for sign, wanted in ((-1, np.fft.fft(z)), (1, np.fft.ifft(z) * n)):
        found = tapec_runtime.dft(re, im, sign)
        assert found[0].dtype == dtype and found[0].shape == shape
        np.testing.assert_allclose(found[0] + 1j * found[1], wanted, **close)
    found = tapec_runtime.real_dft(re)
    np.testing.assert_allclose(found[0] + 1j * found[1], np.fft.rfft(re), **close)
    for count in (2 * n, 2 * n - 1):
        np.testing.assert_allclose(tapec_runtime.real_inverse(re, im, count), np.fft.irfft(z, count) * count, **close)


def test_what_transforms_do_not_take():
    with interpreted():
        with pytest.raises(tapec.errors.NotDifferentiable, match="Invalid number of FFT data points"):
            tapec.grad(lambda x: np.sum(np.fft.fft(x, 0).real))(np.ones(3))
        with pytest.raises(tapec.errors.NotDifferentiable, match="the norm of a Fourier transform"):
            tapec.grad(lambda x: np.sum(np.fft.fft(x, norm="forwards").real))(np.ones(3))


def several(x):
    si, ci = sp.sici(x)
    sn, _, dn, _ = sp.ellipj(x, 0.3)
    w = sp.wofz(x + 0.5j)
    total = si * ci + sp.airy(x)[0] * sn * dn + w.real * w.imag + sp.zeta(2.5, x) * sp.spherical_jn(2, x)
    return total + sp.eval_hermite(3, x) + sp.lambertw(x).real


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled_loops_of_ufuncs():
    with interpreted():
        wanted = tapec.value_and_grad(several)(0.8)
    np.testing.assert_allclose(tapec.value_and_grad(several)(0.8), wanted, rtol=1e-13)
    step = 1e-5
    assert wanted[1] == pytest.approx((several(0.8 + step) - several(0.8 - step)) / (2 * step), rel=1e-8)


SECOND = [
    lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 3),
    lambda a: np.abs(np.linalg.svd(a, full_matrices=False)[0][1, 0]),
    lambda a: np.sum(np.linalg.qr(a)[1] ** 2 * np.arange(4.0).reshape(2, 2)),
    lambda a: np.sum(np.fft.irfft(np.fft.rfft(a[:, 0], 5) ** 2, 5) ** 2),
    lambda a: np.linalg.lstsq(a, a[:, 0] ** 2)[0][1],
]


@pytest.mark.parametrize("f", SECOND, ids=range(len(SECOND)))
def test_to_second_order(f):
    a = RNG.normal(size=(3, 2))
    along = RNG.normal(size=(3, 2))
    with interpreted():
        gradient = tapec.grad(f, opt_level=1)
        found = tapec.hvp(f, opt_level=1)(a, along)
        step = 1e-5
        numeric = (gradient(a + step * along) - gradient(a - step * along)) / (2 * step)
    np.testing.assert_allclose(found, numeric, rtol=1e-6, atol=1e-7)


def test_vectors_of_equal_singular_values_have_no_derivative():
    with interpreted():
        found = tapec.grad(lambda a: np.linalg.svd(a)[0][0, 1], opt_level=1)(np.eye(2) + 0.0)
        sums = tapec.grad(lambda a: np.sum(np.linalg.svd(a, compute_uv=False)), opt_level=1)(np.eye(2) + 0.0)
    assert not np.all(np.isfinite(found))
    np.testing.assert_allclose(sums, np.eye(2), atol=1e-14)
