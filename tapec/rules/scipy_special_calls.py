"""Functions of `scipy.special` that have several results, or are made of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime
from tapec.rules.arrays_common import complex_of
from tapec_runtime.lambert import lambert_w


def _number(x):
    return x if np.ndim(x) == 0 else np.asarray(x)


def sici(x):
    """Sine and cosine integrals."""
    x = _number(x)
    return tapec_runtime.scipy_special.sici_0(x), tapec_runtime.scipy_special.sici_1(x)


def shichi(x):
    """Hyperbolic sine and cosine integrals."""
    x = _number(x)
    return tapec_runtime.scipy_special.shichi_0(x), tapec_runtime.scipy_special.shichi_1(x)


def fresnel(x):
    """Fresnel's integrals."""
    x = _number(x)
    return tapec_runtime.scipy_special.fresnel_0(x), tapec_runtime.scipy_special.fresnel_1(x)


def airy(x):
    """Airy functions of both kinds and their derivatives."""
    x = _number(x)
    first = tapec_runtime.scipy_special.airy_0(x), tapec_runtime.scipy_special.airy_1(x)
    return first + (tapec_runtime.scipy_special.airy_2(x), tapec_runtime.scipy_special.airy_3(x))


def ellipj(u, m):
    """Jacobi's elliptic functions sn, cn, dn, and the amplitude."""
    u = _number(u)
    m = _number(m)
    first = tapec_runtime.scipy_special.ellipj_0(u, m), tapec_runtime.scipy_special.ellipj_1(u, m)
    return first + (tapec_runtime.scipy_special.ellipj_2(u, m), tapec_runtime.scipy_special.ellipj_3(u, m))


def itj0y0(x):
    """Integrals from 0 of the Bessel functions of order 0."""
    x = _number(x)
    return tapec_runtime.scipy_special.itj0y0_0(x), tapec_runtime.scipy_special.itj0y0_1(x)


def iti0k0(x):
    """Integrals from 0 of the modified Bessel functions of order 0."""
    x = _number(x)
    return tapec_runtime.scipy_special.iti0k0_0(x), tapec_runtime.scipy_special.iti0k0_1(x)


def wofz(z):
    """The Faddeeva function."""
    z = _number(z)
    re, im = np.real(z), np.imag(z)
    return complex_of(tapec_runtime.scipy_special.wofz_0(re, im), tapec_runtime.scipy_special.wofz_1(re, im))


def hankel1(v, z):
    """Hankel function of the first kind, of real numbers."""
    z = _number(z)
    return complex_of(tapec_runtime.scipy_special.jv(v, z), tapec_runtime.scipy_special.yv(v, z))


def hankel2(v, z):
    """Hankel function of the second kind, of real numbers."""
    z = _number(z)
    return complex_of(tapec_runtime.scipy_special.jv(v, z), -tapec_runtime.scipy_special.yv(v, z))


def hankel1e(v, z):
    """`hankel1(v, z) * exp(-1j * z)`, of real numbers."""
    z = _number(z)
    first, second = tapec_runtime.scipy_special.jv(v, z), tapec_runtime.scipy_special.yv(v, z)
    return complex_of(first * np.cos(z) + second * np.sin(z), second * np.cos(z) - first * np.sin(z))


def hankel2e(v, z):
    """`hankel2(v, z) * exp(1j * z)`, of real numbers."""
    z = _number(z)
    first, second = tapec_runtime.scipy_special.jv(v, z), tapec_runtime.scipy_special.yv(v, z)
    return complex_of(first * np.cos(z) + second * np.sin(z), first * np.sin(z) - second * np.cos(z))


def airye(z):
    """Airy functions of both kinds and their derivatives, times exponentials."""
    z = _number(z)
    first = tapec_runtime.scipy_special.airye_0(z), tapec_runtime.scipy_special.airye_1(z)
    return first + (tapec_runtime.scipy_special.airye_2(z), tapec_runtime.scipy_special.airye_3(z))


def itairy(x):
    """Integrals from 0 of the Airy functions of both kinds, up to `x` and down to `-x`."""
    x = _number(x)
    first = tapec_runtime.scipy_special.itairy_0(x), tapec_runtime.scipy_special.itairy_1(x)
    return first + (tapec_runtime.scipy_special.itairy_2(x), tapec_runtime.scipy_special.itairy_3(x))


def it2j0y0(x):
    """Integrals of `(1 - j0(t)) / t` from 0, and of `y0(t) / t` to infinity."""
    x = _number(x)
    return tapec_runtime.scipy_special.it2j0y0_0(x), tapec_runtime.scipy_special.it2j0y0_1(x)


def it2i0k0(x):
    """Integrals of `(i0(t) - 1) / t` from 0, and of `k0(t) / t` to infinity."""
    x = _number(x)
    return tapec_runtime.scipy_special.it2i0k0_0(x), tapec_runtime.scipy_special.it2i0k0_1(x)


def kelvin(x):
    """Kelvin functions and their derivatives, as complex numbers."""
    x = _number(x)
    first = complex_of(tapec_runtime.scipy_special.ber(x), tapec_runtime.scipy_special.bei(x))
    second = complex_of(tapec_runtime.scipy_special.ker(x), tapec_runtime.scipy_special.kei(x))
    slope = complex_of(tapec_runtime.scipy_special.berp(x), tapec_runtime.scipy_special.beip(x))
    return first, second, slope, complex_of(tapec_runtime.scipy_special.kerp(x), tapec_runtime.scipy_special.keip(x))


def pbdv(v, x):
    """Parabolic cylinder function D, and its derivative by `x`."""
    x = _number(x)
    return tapec_runtime.scipy_special.pbdv_0(v, x), tapec_runtime.scipy_special.pbdv_1(v, x)


def pbvv(v, x):
    """Parabolic cylinder function V, and its derivative by `x`."""
    x = _number(x)
    return tapec_runtime.scipy_special.pbvv_0(v, x), tapec_runtime.scipy_special.pbvv_1(v, x)


def pbwa(a, x):
    """Parabolic cylinder function W, and its derivative by `x`."""
    x = _number(x)
    return tapec_runtime.scipy_special.pbwa_0(a, x), tapec_runtime.scipy_special.pbwa_1(a, x)


def assoc_laguerre(x, n, k=0.0):
    """Generalised Laguerre polynomial."""
    return tapec_runtime.scipy_special.eval_genlaguerre(n, k, _number(x))


def legendre_p(n, z, *, diff_n=0):
    """Legendre polynomial of a whole degree."""
    if diff_n != 0:
        raise ValueError("legendre_p is taken with diff_n=0")
    return tapec_runtime.scipy_special.eval_legendre(n, _number(z))


def sph_legendre_p(n, m, theta, *, diff_n=0):
    """Spherical Legendre function, of whole numbers `n` and `m`: DLMF 14.10.3."""
    if diff_n != 0:
        raise ValueError("sph_legendre_p is taken with diff_n=0")
    theta = _number(theta)
    order = abs(m)
    x, s = np.cos(theta), np.sin(theta)
    before, found = 0.0 * theta, 0.0 * theta + np.sqrt(0.25 / np.pi)
    if n < order:
        return before
    for k in range(1, order + 1):
        found = -found * s * np.sqrt((2.0 * k + 1.0) / (2.0 * k))
    for k in range(order + 1, n + 1):
        over = np.sqrt((2.0 * k + 1.0) / ((k - order) * 1.0 * (k + order)))
        back = np.sqrt((k - 1.0 - order) * (k - 1.0 + order) / max(2.0 * k - 3.0, 1.0))
        before, found = found, over * (x * np.sqrt(2.0 * k - 1.0) * found - back * before)
    return found if m >= 0 or m % 2 == 0 else -found


def sph_harm_y(n, m, theta, phi, *, diff_n=0):
    """Spherical harmonics of whole degree and order, at a polar angle and an azimuth."""
    if diff_n != 0:
        raise ValueError("sph_harm_y is taken with diff_n=0")
    phi = _number(phi)
    size = sph_legendre_p(n, m, theta)
    return complex_of(size * np.cos(m * phi), size * np.sin(m * phi))


def lambertw(z, k=0, tol=1e-8):
    """Lambert's W of real numbers, on the branches 0 and -1, as complex numbers; nan where it is not real."""
    z = _number(z)
    if k != 0 and k != -1:
        raise ValueError("the branches of lambertw that are real are 0 and -1")
    found = lambert_w(k, z)
    return complex_of(found, 0.0 * found)


def zeta(x, q=None):
    """Riemann's zeta function, or Hurwitz's."""
    if q is None:
        return tapec_runtime.scipy_special._riemann_zeta(_number(x))
    return tapec_runtime.scipy_special._zeta(_number(x), _number(q))


def spherical_jn(n, z, derivative=False):
    """Spherical Bessel function of the first kind, of real numbers, or its derivative."""
    z = _number(z)
    if derivative:
        return _derived(tapec_runtime.scipy_special._spherical_jn, n, z, -1.0)
    return tapec_runtime.scipy_special._spherical_jn(n, z)


def spherical_yn(n, z, derivative=False):
    """Spherical Bessel function of the second kind, of real numbers, or its derivative."""
    z = _number(z)
    if derivative:
        return _derived(tapec_runtime.scipy_special._spherical_yn, n, z, -1.0)
    return tapec_runtime.scipy_special._spherical_yn(n, z)


def spherical_in(n, z, derivative=False):
    """Modified spherical Bessel function of the first kind, of real numbers, or its derivative."""
    z = _number(z)
    if derivative:
        return _derived(tapec_runtime.scipy_special._spherical_in, n, z, 1.0)
    return tapec_runtime.scipy_special._spherical_in(n, z)


def spherical_kn(n, z, derivative=False):
    """Modified spherical Bessel function of the second kind, of real numbers, or its derivative."""
    z = _number(z)
    if derivative:
        return -_derived(tapec_runtime.scipy_special._spherical_kn, n, z, 1.0)
    return tapec_runtime.scipy_special._spherical_kn(n, z)


def _derived(function, n, z, sign):
    """`(n * f[n - 1] + sign * (n + 1) * f[n + 1]) / (2 * n + 1)`: DLMF 10.51.2 and 10.51.5."""
    before = function(np.maximum(n - 1, 0), z)
    return (n * before + sign * (n + 1) * function(n + 1, z)) / (2.0 * n + 1.0)


def _ladder(function, v, z, n, sign):
    """The n-th derivative of a Bessel function: DLMF 10.6.7 and 10.29.5."""
    total = 0.0 * z
    count = 1.0
    for k in range(n + 1):
        total = total + count * function(v - n + 2 * k, z)
        count = sign * count * (n - k) / (k + 1)
    return total / 2.0**n


def jvp(v, z, n=1):
    """Derivatives of the Bessel function of the first kind."""
    return _ladder(tapec_runtime.scipy_special.jv, v, _number(z), n, -1.0)


def yvp(v, z, n=1):
    """Derivatives of the Bessel function of the second kind."""
    return _ladder(tapec_runtime.scipy_special.yv, v, _number(z), n, -1.0)


def ivp(v, z, n=1):
    """Derivatives of the modified Bessel function of the first kind."""
    return _ladder(tapec_runtime.scipy_special.iv, v, _number(z), n, 1.0)


def kvp(v, z, n=1):
    """Derivatives of the modified Bessel function of the second kind."""
    return (-1.0) ** n * _ladder(tapec_runtime.scipy_special.kv, v, _number(z), n, 1.0)


def h1vp(v, z, n=1):
    """Derivatives of the Hankel function of the first kind, of real numbers."""
    return complex_of(jvp(v, z, n), yvp(v, z, n))


def h2vp(v, z, n=1):
    """Derivatives of the Hankel function of the second kind, of real numbers."""
    return complex_of(jvp(v, z, n), -yvp(v, z, n))


def comb(N, k, *, exact=False, repetition=False):
    """How many ways there are to choose `k` of `N` things, also for numbers that are not whole."""
    if exact:
        raise ValueError("comb is taken with exact=False")
    count = _number(N)
    taken = _number(k)
    if repetition:
        return comb(count + taken - 1, taken)
    found = tapec_runtime.scipy_special.binom(count, taken)
    return np.where((taken <= count) & (count >= 0) & (taken >= 0), found, 0.0)


def perm(N, k, exact=False):
    """How many ways there are to take `k` of `N` things in order."""
    if exact:
        raise ValueError("perm is taken with exact=False")
    count = _number(N)
    taken = _number(k)
    found = tapec_runtime.scipy_special.poch(count - taken + 1, taken)
    return np.where((taken <= count) & (count >= 0) & (taken >= 0), found, 0.0)


def factorial(n, exact=False, extend="zero"):
    """`gamma(n + 1)`, and 0 for negative numbers."""
    if exact or extend != "zero":
        raise ValueError("factorial is taken with exact=False and extend='zero'")
    n = _number(n)
    return np.where(n < 0, 0.0, tapec_runtime.scipy_special.gamma(n + 1.0))


def softplus(x):
    """`log(1 + exp(x))`."""
    return np.logaddexp(_number(x), 0.0)


def radian(d, m, s):
    """Degrees, minutes and seconds in radians."""
    return np.deg2rad(_number(d) + _number(m) / 60.0 + _number(s) / 3600.0)


def rint(x):
    """Numbers rounded to whole ones."""
    return np.rint(x)


def gammasgn(x):
    """The sign of the gamma function."""
    x = _number(x) * 1.0
    whole = np.floor(x)
    below = np.where(whole == x, np.nan, np.where(whole % 2.0 != 0, -1.0, 1.0))
    return np.where(x > 0, 1.0, np.where(x == 0, np.copysign(1.0, x), below))


def diric(x, n):
    """Dirichlet's function, `sin(n * x / 2) / (n * sin(x / 2))`, for whole numbers `n` and `x` between its zeros."""
    x = _number(x)
    low = np.sin(0.5 * x)
    whole = np.abs(low) < 1e-9
    return np.where(whole, (-1.0) ** (np.rint(x / (2 * np.pi)) * (n - 1)), np.sin(0.5 * n * x) / (n * low))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        function.__name__: function
        for function in (
            *(airy, airye, assoc_laguerre, comb, diric, ellipj, factorial, fresnel, gammasgn, h1vp, h2vp, hankel1),
            *(hankel1e, hankel2),
            *(hankel2e, it2i0k0, it2j0y0, itairy, iti0k0, itj0y0, ivp, jvp, kelvin, kvp, lambertw, legendre_p, pbdv),
            *(pbvv, pbwa, perm, radian, shichi, sici, softplus, sph_harm_y, sph_legendre_p, spherical_in),
            *(spherical_jn, spherical_kn, spherical_yn, wofz, yvp, zeta),
        )
    },
    "round": rint,
}
