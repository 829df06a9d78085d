"""SciPy's special functions: each derivative against mpmath, compiled and not, in both modes."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp

import tapec
import tapec_runtime
from tapec.rules import function_name, scipy_rules
from tapec.rules.formula import SCIPY
from tapec_runtime.scipy_special import LOOPS
from tests.oracles import interpreted
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("mostly_plainly")

ALL = (-2.7, -0.6, 0.3, 1.9)
RIGHT = (0.07, 0.8, 2.3, 11.0)
UNIT = (0.003, 0.2, 0.5, 0.93)


def gammainc(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def betainc(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def ndtr(x):
    return mp.ncdf(x)


def stdtr(v, x):
    z = v / (v + x * x)
    tail = betainc(v / 2, mp.mpf(1) / 2, z) / 2
    return tail if x < 0 else 1 - tail


def inverse(f, low, high):
    """The inverse of an increasing or decreasing function."""
    return lambda p: mp.findroot(lambda t: f(t) - p, (low, high), solver="anderson", tol=1e-28)


def owens_t(x, a):
    return mp.quad(lambda t: mp.exp(-x * x * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi)


def kelvin(f):
    return lambda x: f(0, x)


def power(x, p):
    return (x**p - 1) / p


def wright(a, b, x):
    return mp.nsum(lambda k: x**k / (mp.factorial(k) * mp.gamma(a * k + b)), [0, mp.inf])


def bdtr(k, n, p):
    return betainc(n - k, k + 1, 1 - p)


def voigt(x, s, g):
    return mp.re(faddeeva(mp.mpc(x, g) / (s * mp.sqrt(2)))) / (s * mp.sqrt(2 * mp.pi))


def faddeeva(z):
    return mp.exp(-z * z) * mp.erfc(mp.mpc(0, -1) * z)


def jacobi_function(kind):
    return lambda u, m: mp.ellipfun(kind, u, m=m)


def spherical(f):
    return lambda n, x: mp.sqrt(mp.pi / (2 * x)) * f(n + mp.mpf(1) / 2, x)


def fdtr(m, n, x):
    return betainc(m / 2, n / 2, m * x / (m * x + n))


def gdtr(a, b, x):
    return gammainc(b, a * x)


def slope(f, first, *others):
    """The derivative by a first argument."""
    return mp.diff(lambda at: f(at, *others), first, h=mp.mpf(10) ** -12)


@dataclass(frozen=True)
class Integral:
    """A function that is known by its derivative."""

    slope: Callable[..., Any]


def airy_e(f, order, sign):
    """An Airy function, or its derivative, times an exponential."""
    return lambda x: f(x, derivative=order) * mp.exp(sign * mp.mpf(2) / 3 * mp.re(mp.power(x, 1.5)))


def agm_of_signs(a, b):
    return -mp.agm(-a, -b) if a < 0 else mp.agm(a, b)


def elliprg(x, z, w):
    return (w * mp.elliprf(x, z, w) - (x - w) * (z - w) * mp.elliprd(x, z, w) / 3 + mp.sqrt(x * z / w)) / 2


def chndtr(x, v, c):
    def term(j):
        return mp.exp(-c / 2) * (c / 2) ** j / mp.factorial(j) * gammainc(v / 2 + j, x / 2)

    return sum(term(j) for j in range(60))


def ncfdtr(m, n, c, x):
    def term(j):
        return mp.exp(-c / 2) * (c / 2) ** j / mp.factorial(j) * betainc(m / 2 + j, n / 2, m * x / (m * x + n))

    return sum(term(j) for j in range(60))


def kolmogorov(x):
    return 2 * sum((-1) ** (k - 1) * mp.exp(-2 * k * k * x * x) for k in range(1, 60))


def smirnov(n, x):
    whole = range(int(mp.floor(n * (1 - x))) + 1)
    return x * sum(mp.binomial(n, j) * (x + j / n) ** (j - 1) * (1 - x - j / n) ** (n - j) for j in whole)


def sh_jacobi(n, p, q, x):
    return mp.jacobi(n, p - q, q - 1, 2 * x - 1) / mp.binomial(2 * n + p - 1, n)


def tukey(x, l):
    return inverse(lambda p: (p**l - (1 - p) ** l) / l, 0.3, 0.7)(x)


# name -> the function in mpmath, and its arguments
ONE: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "bei": (kelvin(mp.bei), RIGHT), "ber": (kelvin(mp.ber), RIGHT),
    "kei": (kelvin(mp.kei), RIGHT), "ker": (kelvin(mp.ker), RIGHT),
    "beip": (lambda x: mp.diff(kelvin(mp.bei), x), RIGHT), "berp": (lambda x: mp.diff(kelvin(mp.ber), x), RIGHT),
    "keip": (lambda x: mp.diff(kelvin(mp.kei), x), RIGHT), "kerp": (lambda x: mp.diff(kelvin(mp.ker), x), RIGHT),
    "airye_0": (airy_e(mp.airyai, 0, 1), RIGHT), "airye_1": (airy_e(mp.airyai, 1, 1), RIGHT),
    "airye_2": (airy_e(mp.airybi, 0, -1), (*RIGHT, -1.3)), "airye_3": (airy_e(mp.airybi, 1, -1), (*RIGHT, -1.3)),
    "itairy_0": (Integral(mp.airyai), ALL), "itairy_1": (Integral(mp.airybi), ALL),
    "itairy_2": (Integral(lambda t: mp.airyai(-t)), ALL), "itairy_3": (Integral(lambda t: mp.airybi(-t)), ALL),
    "it2j0y0_0": (Integral(lambda t: (1 - mp.j0(t)) / t), RIGHT),
    "it2j0y0_1": (Integral(lambda t: -mp.bessely(0, t) / t), RIGHT),
    "it2i0k0_0": (Integral(lambda t: (mp.besseli(0, t) - 1) / t), RIGHT),
    "it2i0k0_1": (Integral(lambda t: -mp.besselk(0, t) / t), RIGHT),
    "itstruve0": (Integral(lambda t: mp.struveh(0, t)), RIGHT),
    "itmodstruve0": (Integral(lambda t: mp.struvel(0, t)), RIGHT),
    "it2struve0": (Integral(lambda t: -mp.struveh(0, t) / t), RIGHT),
    "kolmogorov": (kolmogorov, (0.5, 0.9, 1.7)),
    "kolmogi": (lambda p: inverse(kolmogorov, 0.6, 1.2)(p), (0.3, 0.7)),
    "cosdg": (lambda x: mp.cos(x * mp.pi / 180), (-500.0, 12.0, 75.0)), "cosm1": (lambda x: mp.cos(x) - 1, ALL),
    "sindg": (lambda x: mp.sin(x * mp.pi / 180), (-500.0, 12.0, 75.0)),
    "tandg": (lambda x: mp.tan(x * mp.pi / 180), (-500.0, 12.0, 75.0)),
    "cotdg": (lambda x: mp.cot(x * mp.pi / 180), (-500.0, 12.0, 75.0)),
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), ALL),
    "ellipe": (mp.ellipe, (-3.0, -1e-9, 1e-12, 0.4, 0.999)), "ellipk": (mp.ellipk, (-3.0, -1e-9, 1e-12, 0.4, 0.999)),
    "ellipkm1": (lambda p: mp.ellipk(1 - p), (1e-12, 0.3, 0.999999, 4.0)), "entr": (lambda x: -x * mp.log(x), RIGHT),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), ALL), "erfi": (mp.erfi, ALL),
    "erfcinv": (lambda x: mp.erfinv(1 - x), UNIT), "erfinv": (mp.erfinv, (-0.98, -0.1, 0.0, 0.7)),
    "exp1": (mp.e1, RIGHT), "exp10": (lambda x: mp.mpf(10) ** x, ALL), "expi": (mp.ei, ALL),
    "expit": (lambda x: 1 / (1 + mp.exp(-x)), (-800.0, -40.0, -1.0, 3.0, 40.0, 700.0)),
    "log_expit": (lambda x: -mp.log(1 + mp.exp(-x)), (-800.0, -40.0, -1.0, 3.0, 40.0)),
    "logit": (lambda x: mp.log(x / (1 - x)), (1e-200, 0.3, 0.999)),
    "gamma": (mp.gamma, (-2.7, -0.6, 0.3, 9.9)), "gammaln": (lambda x: mp.log(abs(mp.gamma(x))), (-2.7, 0.3, 1e5)),
    "loggamma": (mp.loggamma, (0.3, 1.9, 1e5)), "rgamma": (mp.rgamma, (-2.7, -0.6, 0.3, 9.9)),
    "psi": (mp.digamma, (-2.7, -0.6, 0.3, 1e5)),
    "i0": (lambda x: mp.besseli(0, x), ALL), "i1": (lambda x: mp.besseli(1, x), (*ALL, 0.0)),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), ALL),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), ALL),
    "j0": (lambda x: mp.besselj(0, x), ALL), "j1": (lambda x: mp.besselj(1, x), (*ALL, 0.0)),
    "y0": (lambda x: mp.bessely(0, x), RIGHT), "y1": (lambda x: mp.bessely(1, x), RIGHT),
    "k0": (lambda x: mp.besselk(0, x), RIGHT), "k1": (lambda x: mp.besselk(1, x), RIGHT),
    "k0e": (lambda x: mp.besselk(0, x) * mp.exp(x), RIGHT), "k1e": (lambda x: mp.besselk(1, x) * mp.exp(x), RIGHT),
    "ndtr": (ndtr, (-30.0, -1.0, 0.0, 2.5)), "log_ndtr": (lambda x: mp.log(ndtr(x)), (-100.0, -30.0, -1.0, 2.5)),
    "ndtri": (lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), UNIT),
    "ndtri_exp": (lambda q: mp.sqrt(2) * mp.erfinv(2 * mp.exp(q) - 1), (-9.0, -1.0, -0.1)),
    "spence": (lambda x: mp.polylog(2, 1 - x), (1e-3, 0.4, 1.0, 1.7)),
    "wrightomega": (lambda x: mp.lambertw(mp.exp(x)).real, ALL),
    "sici_0": (mp.si, (*ALL, 0.0)), "sici_1": (mp.ci, RIGHT), "shichi_0": (mp.shi, (*ALL, 0.0)),
    "shichi_1": (mp.chi, RIGHT),
    "fresnel_0": (mp.fresnels, ALL), "fresnel_1": (mp.fresnelc, ALL),
    "airy_0": (mp.airyai, ALL), "airy_1": (lambda x: mp.airyai(x, derivative=1), ALL),
    "airy_2": (mp.airybi, ALL), "airy_3": (lambda x: mp.airybi(x, derivative=1), ALL),
    "itj0y0_0": (Integral(mp.j0), RIGHT[:3]),
    "itj0y0_1": (Integral(lambda t: mp.bessely(0, t)), RIGHT[1:3]),
    "iti0k0_0": (Integral(lambda t: mp.besseli(0, t)), RIGHT[:3]),
    "iti0k0_1": (Integral(lambda t: mp.besselk(0, t)), RIGHT[1:3]),
    "exprel": (lambda x: mp.expm1(x) / x, (-700.0, -30.0, *ALL, 1e-9, 30.0)),
}  # fmt: skip

# name -> the function in mpmath, points, and the positions of what it is differentiated by
MORE: dict[str, tuple[Callable[..., Any], list[tuple[float, ...]], tuple[int, ...]]] = {
    "beta": (mp.beta, [(0.3, 1.7), (4.0, 2.5)], (0, 1)),
    "betaln": (lambda a, b: mp.log(mp.beta(a, b)), [(0.3, 1.7), (40.0, 2.5)], (0, 1)),
    "binom": (mp.binomial, [(5.5, 2.3), (0.7, 0.2)], (0, 1)), "poch": (mp.rf, [(1.3, 2.5), (4.0, 0.2)], (0, 1)),
    "boxcox": (power, [(0.4, 1.5), (3.0, -0.5)], (0, 1)),
    "boxcox1p": (lambda x, p: power(1 + x, p), [(0.4, 1.5), (3.0, -0.5)], (0, 1)),
    "inv_boxcox": (lambda y, p: (1 + p * y) ** (1 / p), [(0.4, 1.5), (1.0, -0.5)], (0, 1)),
    "inv_boxcox1p": (lambda y, p: (1 + p * y) ** (1 / p) - 1, [(0.4, 1.5), (1.0, -0.5)], (0, 1)),
    "xlogy": (lambda x, z: x * mp.log(z), [(1.3, 0.4), (0.0, 2.0)], (0, 1)),
    "xlog1py": (lambda x, z: x * mp.log(1 + z), [(1.3, 0.4), (0.0, 2.0)], (0, 1)),
    "rel_entr": (lambda x, z: x * mp.log(x / z), [(1.3, 0.4)], (0, 1)),
    "kl_div": (lambda x, z: x * mp.log(x / z) - x + z, [(1.3, 0.4)], (0, 1)),
    "huber": (lambda d, x: x * x / 2 if abs(x) <= d else d * (abs(x) - d / 2), [(1.2, 0.5), (1.2, -2.5)], (0, 1)),
    "pseudo_huber": (lambda d, x: d * d * (mp.sqrt(1 + (x / d) ** 2) - 1), [(1.2, 1e-5), (1.2, -2.5)], (0, 1)),
    "owens_t": (owens_t, [(0.7, 0.4), (-1.2, 2.0)], (0, 1)),
    "chdtr": (lambda v, x: gammainc(v / 2, x / 2), [(3.0, 1.7)], (0, 1)),
    "chdtrc": (lambda v, x: 1 - gammainc(v / 2, x / 2), [(3.0, 1.7)], (0, 1)),
    "chdtri": (lambda v, p: inverse(lambda x: 1 - gammainc(v / 2, x / 2), 0.5, 5.0)(p), [(3.0, 0.4)], (0, 1)),
    "gammainc": (gammainc, [(0.4, 0.01), (3.0, 1.7), (30.0, 25.0)], (0, 1)),
    "gammaincc": (lambda a, x: 1 - gammainc(a, x), [(0.4, 0.01), (3.0, 1.7)], (0, 1)),
    "gammaincinv": (lambda a, p: inverse(lambda x: gammainc(a, x), 0.5, 5.0)(p), [(3.0, 0.4)], (0, 1)),
    "gammainccinv": (lambda a, p: inverse(lambda x: 1 - gammainc(a, x), 0.5, 5.0)(p), [(3.0, 0.4)], (0, 1)),
    "hyp0f1": (mp.hyp0f1, [(1.3, -2.0), (2.5, 1.0)], (1,)),
    "iv": (mp.besseli, [(1.5, 0.8), (0.3, 2.2)], (1,)), "jv": (mp.besselj, [(1.5, 0.8), (0.3, 12.2)], (1,)),
    "ive": (lambda v, x: mp.besseli(v, x) * mp.exp(-x), [(1.5, 0.8)], (1,)), "jve": (mp.besselj, [(1.5, 0.8)], (1,)),
    "kv": (mp.besselk, [(1.5, 0.8), (0.3, 2.2)], (1,)), "yv": (mp.bessely, [(1.5, 0.8), (0.3, 2.2)], (1,)),
    "kve": (lambda v, x: mp.besselk(v, x) * mp.exp(x), [(1.5, 0.8)], (1,)), "yve": (mp.bessely, [(1.5, 0.8)], (1,)),
    "kn": (mp.besselk, [(2.0, 0.8), (0.0, 2.2)], (1,)), "yn": (mp.bessely, [(2.0, 0.8), (0.0, 2.2)], (1,)),
    "expn": (mp.expint, [(3.0, 0.8), (1.0, 2.2), (0.0, 1.1)], (1,)),
    "pdtr": (lambda k, m: 1 - gammainc(mp.floor(k) + 1, m), [(2.0, 1.3), (0.0, 0.2)], (1,)),
    "pdtrc": (lambda k, m: gammainc(mp.floor(k) + 1, m), [(2.0, 1.3), (0.0, 0.2)], (1,)),
    "stdtr": (stdtr, [(3.0, 0.7), (2.5, -1.2)], (0, 1)),
    "stdtrit": (lambda v, p: inverse(lambda x: stdtr(v, x), -2.0, 2.0)(p), [(3.0, 0.7)], (0, 1)),
    "struve": (mp.struveh, [(1.5, 0.8)], (1,)), "modstruve": (mp.struvel, [(1.5, 0.8)], (1,)),
    "betainc": (betainc, [(0.4, 1.7, 0.01), (3.0, 2.0, 0.6)], (0, 1, 2)),
    "betaincc": (lambda a, b, x: 1 - betainc(a, b, x), [(3.0, 2.0, 0.6)], (0, 1, 2)),
    "betaincinv": (lambda a, b, p: inverse(lambda x: betainc(a, b, x), 0.3, 0.8)(p), [(3.0, 2.0, 0.6)], (0, 1, 2)),
    "betainccinv": (lambda a, b, p: inverse(lambda x: 1 - betainc(a, b, x), 0.3, 0.8)(p), [(3.0, 2.0, 0.6)], (0, 1, 2)),
    "fdtr": (lambda m, n, x: betainc(m / 2, n / 2, m * x / (m * x + n)), [(3.0, 5.0, 0.7)], (0, 1, 2)),
    "fdtrc": (lambda m, n, x: 1 - betainc(m / 2, n / 2, m * x / (m * x + n)), [(3.0, 5.0, 0.7)], (0, 1, 2)),
    "gdtr": (lambda a, b, x: gammainc(b, a * x), [(1.3, 2.5, 0.7)], (0, 1, 2)),
    "gdtrc": (lambda a, b, x: 1 - gammainc(b, a * x), [(1.3, 2.5, 0.7)], (0, 1, 2)),
    "nbdtr": (lambda k, n, p: betainc(n, mp.floor(k) + 1, p), [(2.0, 3.0, 0.4)], (1, 2)),
    "nbdtrc": (lambda k, n, p: 1 - betainc(n, mp.floor(k) + 1, p), [(2.0, 3.0, 0.4)], (1, 2)),
    "bdtr": (bdtr, [(2.0, 5.0, 0.4), (0.0, 3.0, 0.7)], (2,)),
    "bdtrc": (lambda k, n, p: 1 - bdtr(k, n, p), [(2.0, 5.0, 0.4)], (2,)),
    "bdtri": (lambda k, n, p: inverse(lambda q: bdtr(k, n, q), 0.2, 0.8)(p), [(2.0, 5.0, 0.4)], (2,)),
    "pdtri": (lambda k, p: inverse(lambda m: 1 - gammainc(k + 1, m), 0.5, 5.0)(p), [(2.0, 0.4)], (1,)),
    "nbdtri": (lambda k, n, p: inverse(lambda q: betainc(n, k + 1, q), 0.2, 0.8)(p), [(2.0, 5.0, 0.4)], (2,)),
    "fdtri": (lambda m, n, p: inverse(lambda x: fdtr(m, n, x), 0.3, 3.0)(p), [(3.0, 5.0, 0.4)], (0, 1, 2)),
    "gdtrix": (lambda a, b, p: inverse(lambda x: gdtr(a, b, x), 0.5, 3.0)(p), [(1.3, 2.5, 0.4)], (0, 1, 2)),
    "voigt_profile": (voigt, [(0.7, 0.4, 0.3), (-2.0, 1.1, 0.2), (0.0, 0.5, 0.5)], (0, 1, 2)),
    "wofz_0": (lambda x, z: mp.re(faddeeva(mp.mpc(x, z))), [(0.7, 0.4), (-2.0, 1.1), (0.0, 0.5)], (0, 1)),
    "wofz_1": (lambda x, z: mp.im(faddeeva(mp.mpc(x, z))), [(0.7, 0.4), (-2.0, 1.1), (0.3, 0.0)], (0, 1)),
    "powm1": (lambda x, p: x**p - 1, [(0.4, 1.5), (3.0, -0.5), (1.0, 0.0)], (0, 1)),
    "ellipkinc": (mp.ellipf, [(0.4, 0.3), (4.0, 0.6), (-2.0, -1.5), (1.2, 1e-9), (7.9, 0.999)], (0, 1)),
    "ellipeinc": (mp.ellipe, [(0.4, 0.3), (4.0, 0.6), (-2.0, -1.5), (1.2, 1e-9), (7.9, 0.999)], (0, 1)),
    "elliprc": (mp.elliprc, [(0.4, 1.3), (2.0, 0.3)], (0, 1)),
    "elliprf": (mp.elliprf, [(0.4, 1.3, 2.0), (2.0, 0.3, 0.3)], (0, 1, 2)),
    "ellipj_0": (jacobi_function("sn"), [(0.7, 0.4), (3.1, 0.9)], (0,)),
    "ellipj_1": (jacobi_function("cn"), [(0.7, 0.4), (3.1, 0.9)], (0,)),
    "ellipj_2": (jacobi_function("dn"), [(0.7, 0.4), (3.1, 0.9)], (0,)),
    "ellipj_3": (lambda u, m: mp.asin(mp.ellipfun("sn", u, m=m)), [(0.7, 0.4)], (0,)),
    "_spherical_jn": (spherical(mp.besselj), [(0.0, 0.8), (2.0, 0.1), (3.0, 12.0)], (1,)),
    "_spherical_yn": (spherical(mp.bessely), [(0.0, 0.8), (2.0, 0.7)], (1,)),
    "_spherical_in": (spherical(mp.besseli), [(0.0, 0.8), (2.0, 0.7)], (1,)),
    "_spherical_kn": (spherical(mp.besselk), [(0.0, 0.8), (2.0, 0.7)], (1,)),
    "_zeta": (mp.zeta, [(2.5, 0.7), (1.1, 3.0)], (1,)),
    "eval_legendre": (mp.legendre, [(3.0, 0.3), (0.0, 0.5), (3.0, 1.0), (2.5, 0.2)], (1,)),
    "eval_sh_legendre": (lambda n, x: mp.legendre(n, 2 * x - 1), [(3.0, 0.3), (0.0, 0.5)], (1,)),
    "eval_chebyt": (mp.chebyt, [(3.0, 0.3), (0.0, 0.5), (3.0, 1.4)], (1,)),
    "eval_chebyu": (mp.chebyu, [(3.0, 0.3), (0.0, 0.5)], (1,)),
    "eval_chebyc": (lambda n, x: 2 * mp.chebyt(n, x / 2), [(3.0, 0.3), (0.0, 0.5)], (1,)),
    "eval_chebys": (lambda n, x: mp.chebyu(n, x / 2), [(3.0, 0.3), (0.0, 0.5)], (1,)),
    "eval_sh_chebyt": (lambda n, x: mp.chebyt(n, 2 * x - 1), [(3.0, 0.3), (0.0, 0.5)], (1,)),
    "eval_sh_chebyu": (lambda n, x: mp.chebyu(n, 2 * x - 1), [(3.0, 0.3), (0.0, 0.5)], (1,)),
    "eval_gegenbauer": (mp.gegenbauer, [(3.0, 0.7, 0.3), (0.0, 0.7, 0.5)], (2,)),
    "eval_jacobi": (mp.jacobi, [(3.0, 0.7, 1.2, 0.3), (0.0, 0.7, 0.4, 0.5)], (3,)),
    "eval_laguerre": (lambda n, x: mp.laguerre(n, 0, x), [(3.0, 0.3), (0.0, 0.5)], (1,)),
    "eval_genlaguerre": (mp.laguerre, [(3.0, 0.7, 0.3), (0.0, 0.7, 0.5)], (2,)),
    "eval_hermite": (mp.hermite, [(3.0, 0.3), (0.0, 0.5)], (1,)),
    "eval_hermitenorm": (lambda n, x: 2 ** (-n / 2) * mp.hermite(n, x / mp.sqrt(2)), [(3.0, 0.3), (0.0, 0.5)], (1,)),
    "lpmv": (lambda m, v, x: mp.legenp(v, m, x), [(1.0, 2.0, 0.3), (0.0, 3.0, -0.6)], (2,)),
    "log_wright_bessel": (lambda a, b, x: mp.log(wright(a, b, x)), [(1.2, 0.7, 0.9)], (2,)),
    "chdtriv": (lambda p, x: inverse(lambda v: gammainc(v / 2, x / 2), 2.0, 9.0)(p), [(0.4, 3.0)], (0, 1)),
    "gdtria": (lambda p, b, x: inverse(lambda a: gdtr(a, b, x), 0.2, 2.0)(p), [(0.4, 2.5, 3.0)], (0, 1, 2)),
    "gdtrib": (lambda a, p, x: inverse(lambda b: gdtr(a, b, x), 1.0, 6.0)(p), [(1.1, 0.4, 3.0)], (0, 1, 2)),
    "btdtria": (lambda p, b, x: inverse(lambda a: betainc(a, b, x), 0.5, 5.0)(p), [(0.4, 2.5, 0.3)], (0, 1, 2)),
    "btdtrib": (lambda a, p, x: inverse(lambda b: betainc(a, b, x), 0.5, 5.0)(p), [(1.3, 0.4, 0.3)], (0, 1, 2)),
    "pdtrik": (lambda p, m: inverse(lambda k: 1 - gammainc(k + 1, m), 0.5, 5.0)(p), [(0.4, 3.0)], (0, 1)),
    "bdtrik": (lambda q, n, p: inverse(lambda k: bdtr(k, n, p), 1.0, 5.0)(q), [(0.4, 7.0, 0.4)], (0, 1, 2)),
    "bdtrin": (lambda k, q, p: inverse(lambda n: bdtr(k, n, p), 3.5, 8.0)(q), [(2.0, 0.4, 0.4)], (0, 1, 2)),
    "nbdtrik": (lambda q, n, p: inverse(lambda k: betainc(n, k + 1, p), 1.0, 6.0)(q), [(0.4, 3.0, 0.5)], (0, 1, 2)),
    "nbdtrin": (lambda k, q, p: inverse(lambda n: betainc(n, k + 1, p), 1.0, 6.0)(q), [(2.0, 0.4, 0.5)], (0, 1, 2)),
    "fdtridfd": (lambda m, p, x: inverse(lambda n: fdtr(m, n, x), 1.0, 9.0)(p), [(3.0, 0.55, 1.1)], (0, 1, 2)),
    "stdtridf": (lambda p, x: inverse(lambda v: stdtr(v, x), 1.0, 9.0)(p), [(0.8, 0.95)], (0, 1)),
    "chndtr": (chndtr, [(2.5, 3.0, 1.2), (6.0, 1.5, 4.0)], (0, 2)),
    "chndtrix": (lambda p, v, c: inverse(lambda x: chndtr(x, v, c), 1.0, 6.0)(p), [(0.4, 3.0, 1.2)], (0, 2)),
    "chndtrinc": (lambda x, v, p: inverse(lambda c: chndtr(x, v, c), 0.5, 4.0)(p), [(4.0, 3.0, 0.4)], (0, 2)),
    "ncfdtr": (ncfdtr, [(3.0, 5.0, 1.2, 0.8), (4.0, 3.0, 2.5, 2.0)], (2, 3)),
    "ncfdtri": (lambda m, n, c, p: inverse(lambda x: ncfdtr(m, n, c, x), 0.5, 3.0)(p), [(3.0, 5.0, 1.2, 0.4)], (2, 3)),
    "ncfdtrinc": (
        lambda m, n, p, x: inverse(lambda c: ncfdtr(m, n, c, x), 0.5, 4.0)(p),
        [(3.0, 5.0, 0.4, 1.1)],
        (2, 3),
    ),
    "nrdtrimn": (lambda p, s, x: x - s * mp.sqrt(2) * mp.erfinv(2 * p - 1), [(0.3, 1.5, 0.4)], (0, 1, 2)),
    "nrdtrisd": (lambda m, p, x: (x - m) / (mp.sqrt(2) * mp.erfinv(2 * p - 1)), [(0.3, 0.8, 1.4)], (0, 1, 2)),
    "smirnov": (smirnov, [(5.0, 0.3), (1.0, 0.6)], (1,)),
    "smirnovi": (lambda n, p: inverse(lambda x: smirnov(n, x), 0.25, 0.35)(p), [(5.0, 0.35)], (1,)),
    "tklmbda": (tukey, [(0.4, 0.3), (-1.0, -0.5)], (0, 1)),
    "agm": (agm_of_signs, [(0.4, 1.7), (2.0, 0.1), (-0.4, -1.7)], (0, 1)),
    "elliprd": (mp.elliprd, [(0.4, 1.3, 2.0), (2.0, 0.3, 0.5)], (0, 1, 2)),
    "elliprg": (elliprg, [(0.4, 1.3, 2.0), (2.0, 0.3, 0.3)], (0, 1, 2)),
    "pbdv_0": (mp.pcfd, [(0.7, 0.4), (-1.3, 1.9)], (1,)),
    "pbdv_1": (lambda v, x: mp.diff(lambda t: mp.pcfd(v, t), x), [(0.7, 0.4)], (1,)),
    "pbvv_0": (lambda v, x: mp.pcfv(-v - mp.mpf(1) / 2, x), [(0.7, 0.4), (-1.3, 1.9)], (1,)),
    "pbvv_1": (lambda v, x: mp.diff(lambda t: mp.pcfv(-v - mp.mpf(1) / 2, t), x), [(0.7, 0.4)], (1,)),
    "pbwa_0": (mp.pcfw, [(0.7, 0.4), (1.3, 1.9)], (1,)),
    "pbwa_1": (lambda a, x: mp.diff(lambda t: mp.pcfw(a, t), x), [(0.7, 0.4)], (1,)),
    "besselpoly": (
        lambda a, l, v: mp.quad(lambda t: t**l * mp.besselj(v, 2 * a * t), [0, 1]),
        [(0.7, 1.0, 0.0), (1.2, 0.5, 1.5)],
        (0,),
    ),
    "eval_sh_jacobi": (sh_jacobi, [(3.0, 1.7, 1.2, 0.3), (0.0, 1.7, 1.4, 0.5)], (3,)),
    "_gammainc_slope": (lambda a, x: slope(gammainc, a, x), [(1.3, 0.7), (2.0, 9.0)], (1,)),
    "_betainc_slope_a": (lambda a, b, x: slope(betainc, a, b, x), [(1.3, 0.7, 0.4), (2.0, 9.0, 0.6)], (2,)),
    "_betainc_slope_b": (lambda a, b, x: slope(lambda b: betainc(a, b, x), b), [(1.3, 0.7, 0.4)], (2,)),
    "hyp1f1": (mp.hyp1f1, [(0.4, 1.7, 0.9)], (2,)), "hyperu": (mp.hyperu, [(0.4, 1.7, 0.9)], (2,)),
    "hyp2f1": (mp.hyp2f1, [(0.4, 1.7, 2.2, 0.6)], (3,)),
    "wright_bessel": (wright, [(1.2, 0.7, 0.9)], (2,)),
}  # fmt: skip
# next to cancellation, and where SciPy's own values are less accurate
LOOSE = {"wright_bessel": 1e-9, "k0e": 1e-11, "k1e": 1e-11, "keip": 1e-8, "kerp": 1e-8, "beip": 1e-9, "berp": 1e-9}
LOOSE |= {"kei": 1e-8, "ker": 1e-8, "bei": 1e-9, "ber": 1e-9, "ndtri_exp": 1e-11, "stdtrit": 1e-11, "spence": 1e-11}
LOOSE |= {"bdtri": 1e-10, "pdtri": 1e-10, "nbdtri": 1e-10, "fdtri": 1e-10, "gdtrix": 1e-10, "lpmv": 1e-11}
LOOSE |= {"log_wright_bessel": 1e-9}
LOOSE |= {"kolmogorov": 1e-8, "kolmogi": 1e-8, "nbdtrik": 1e-11, "ncfdtrinc": 1e-4}
LOOSE |= {"gammaincinv": 1e-10, "gammainccinv": 1e-10, "betaincinv": 1e-10, "betainccinv": 1e-10, "chdtri": 1e-10}


def names() -> list[str]:
    # those without a derivative have no reference
    return [fn.removeprefix(f"{SCIPY}.") for fn, one in scipy_rules().items() if len(one.params) > len(one.refused)]


def points(name: str) -> list[tuple[tuple[float, ...], int]]:
    if name in ONE:
        return [((x,), 0) for x in ONE[name][1]]
    _, given, places = MORE[name]
    return [(point, place) for point in given for place in places]


def expected(name: str, point: tuple[float, ...], place: int) -> float:
    function = ONE[name][0] if name in ONE else MORE[name][0]
    with mp.workdps(40):
        numbers = [mp.mpf(one) for one in point]
        if isinstance(function, Integral):
            return float(function.slope(*numbers))

        def along(x: Any) -> Any:
            return function(*numbers[:place], x, *numbers[place + 1 :])

        step = min(abs(numbers[place]) or 1, 1) * mp.mpf(10) ** -12
        return float(mp.re(mp.diff(along, numbers[place], h=step)))


def test_every_row_has_a_reference():
    assert set(names()) == {*ONE, *MORE}


@pytest.mark.parametrize("name", sampled(names(), 9))
def test_derivatives(name: str):
    ours = name in LOOPS or not hasattr(sp, name)
    function = getattr(tapec_runtime.scipy_special if ours else sp, name)
    taken = len(re.findall(r"\w+", scipy_rules()[f"{SCIPY}.{name}"].heading.partition("(")[2]))
    parameters = ", ".join(f"x{k}" for k in range(taken))
    space: dict[str, Any] = {"function": function}
    text = f"def called({parameters}):\n    return function({parameters})\n"
    exec(compile(text, f"<special {name}>", "exec"), space)
    linecache.cache[f"<special {name}>"] = (len(text), None, text.splitlines(True), f"<special {name}>")
    with interpreted():
        for point, place in points(name):
            wanted = expected(name, point, place)
            found = tapec.grad(space["called"], wrt=place)(*point)
            np.testing.assert_allclose(found, wanted, rtol=LOOSE.get(name, 1e-12), atol=1e-300)
            if place == len(point) - 1:
                fixed, rule = point[:-1], space["called"]
                _, tangent = tapec.jvp(lambda x, fixed=fixed, rule=rule: rule(*fixed, x), (point[-1],), (2.0,))
                np.testing.assert_allclose(tangent, 2 * found, rtol=1e-14)


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled_they_are_the_same():
    def several(x, n):
        s = 0.0
        for i in range(n):
            s += sp.jv(0.5, x[i]) * sp.gammaln(x[i]) + sp.expit(x[i]) * sp.betainc(1.5, 2.5, 0.1 * x[i])
        return s

    x = np.linspace(0.3, 4.0, 7)
    with interpreted():
        plain = tapec.value_and_grad(several)(x, 7)
    found = tapec.value_and_grad(several)(x, 7)
    np.testing.assert_allclose(found[0], plain[0], rtol=1e-13)
    np.testing.assert_allclose(found[1], plain[1], rtol=1e-12)
    assert np.isclose(tapec.jvp(lambda x: sp.psi(x), (0.7,), (2.0,))[1], 2 * sp.polygamma(1, 0.7))
    assert tapec.grad(lambda x: np.sum(sp.expit(x)))(x.astype(np.float32)).dtype == np.float32


@pytest.mark.slow
@pytest.mark.compiled
def test_to_second_order():
    found = tapec.hessian(lambda x: sp.gammaln(x[0]) * sp.jv(1, x[1]))(np.array([1.3, 0.7]))
    mixed = sp.psi(1.3) * sp.jvp(1, 0.7)
    wanted = [[sp.polygamma(1, 1.3) * sp.jv(1, 0.7), mixed], [mixed, sp.gammaln(1.3) * sp.jvp(1, 0.7, 2)]]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_by_other_parameters_there_is_an_error():
    with pytest.raises(tapec.errors.NotDifferentiable, match="jv` has no derivative by its argument `v`"):
        tapec.grad(lambda v: sp.jv(v, 1.0))(0.5)
    with pytest.raises(tapec.errors.NotDifferentiable, match="chndtr` has no derivative by its argument `v`"):
        tapec.jvp(lambda v: sp.chndtr(1.0, v, 0.5), (0.5,), (1.0,))
    assert tapec.grad(lambda v: sp.jv(tapec.stop_gradient(v), 1.0) * v)(0.5) == sp.jv(0.5, 1.0)


def test_other_functions_of_the_same_name_have_no_rule():
    own = np.frompyfunc(lambda x: x, 1, 1)
    assert function_name(own) is None
    assert function_name(sp.digamma) == f"{SCIPY}.psi"
    assert function_name(tapec_runtime.scipy_special.jv) == f"{SCIPY}.jv"


FUNCTIONS = [
    (lambda x: sp.logsumexp(x), sp.softmax),
    (lambda x: sp.logsumexp(x, axis=0, b=np.array([1.0, 2.0, 3.0])), None),
    (lambda x: np.sum(sp.softmax(x) ** 2), None),
    (lambda x: sp.log_softmax(x)[1], None),
    (lambda x: sp.multigammaln(x[0] + 3.0, 3), None),
    (lambda x: sp.polygamma(1, x[1]) + np.sum(sp.logsumexp(np.outer(x, x), axis=1)), None),
]


@pytest.mark.parametrize(("f", "gradient"), FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_functions_in_python(f: Callable[..., Any], gradient: Callable[..., Any] | None):
    x = np.array([0.3, 1.2, -0.5])
    with interpreted():
        tapec.check_grads(f, (x,))
        if gradient is not None:
            np.testing.assert_allclose(tapec.grad(f)(x), gradient(x), rtol=1e-13)
            np.testing.assert_allclose(tapec.grad(f)(x + 1e4), gradient(x), rtol=1e-10)
