"""Distributions of `scipy.stats`: what is known of the standardised variable, from which their methods are made.

A row names the shape parameters and gives functions of the standardised variable and the shapes: the logarithm of the
density, which holds from `low` to `high`; the distribution function and its complement; and its inverse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tapec_runtime

LOG_SQRT_TWO_PI = 0.9189385332046727
LN2 = 0.6931471805599453


@dataclass(frozen=True)
class Distribution:
    """A distribution of `scipy.stats`.

    shapes       names of its parameters, before `loc` and `scale`
    log_density  of a standardised variable and the shapes; of a discrete distribution of a whole number
    cdf, sf, ppf the distribution function, what is left to 1, and the inverse of the first, where there are such rules
    low, high    between which the density is not 0: numbers, or functions of the shapes
    discrete     whether the variable is a whole number, and there is no scale
    """

    shapes: tuple[str, ...]
    log_density: Callable[..., Any]
    cdf: Callable[..., Any] | None = None
    sf: Callable[..., Any] | None = None
    ppf: Callable[..., Any] | None = None
    low: Any = -np.inf
    high: Any = np.inf
    discrete: bool = False


def norm_log_density(z):
    return -0.5 * z * z - LOG_SQRT_TWO_PI


def norm_cdf(z):
    return tapec_runtime.scipy_special.ndtr(z)


def norm_sf(z):
    return tapec_runtime.scipy_special.ndtr(-z)


def norm_ppf(p):
    return tapec_runtime.scipy_special.ndtri(p)


def expon_log_density(z):
    return -z


def expon_cdf(z):
    return -np.expm1(-z)


def expon_sf(z):
    return np.exp(-z)


def expon_ppf(p):
    return -np.log1p(-p)


def gamma_log_density(z, a):
    return tapec_runtime.scipy_special.xlogy(a - 1.0, z) - z - tapec_runtime.scipy_special.gammaln(a)


def gamma_cdf(z, a):
    return tapec_runtime.scipy_special.gammainc(a, z)


def gamma_sf(z, a):
    return tapec_runtime.scipy_special.gammaincc(a, z)


def gamma_ppf(p, a):
    return tapec_runtime.scipy_special.gammaincinv(a, p)


def beta_log_density(z, a, b):
    ends = tapec_runtime.scipy_special.xlog1py(b - 1.0, -z) + tapec_runtime.scipy_special.xlogy(a - 1.0, z)
    return ends - tapec_runtime.scipy_special.betaln(a, b)


def beta_cdf(z, a, b):
    return tapec_runtime.scipy_special.betainc(a, b, z)


def beta_sf(z, a, b):
    return tapec_runtime.scipy_special.betaincc(a, b, z)


def beta_ppf(p, a, b):
    return tapec_runtime.scipy_special.betaincinv(a, b, p)


def t_log_density(z, df):
    half = tapec_runtime.scipy_special.gammaln(0.5 * (df + 1.0)) - tapec_runtime.scipy_special.gammaln(0.5 * df)
    return half - 0.5 * np.log(np.pi * df) - 0.5 * (df + 1.0) * np.log1p(z * z / df)


def t_cdf(z, df):
    return tapec_runtime.scipy_special.stdtr(df, z)


def t_sf(z, df):
    return tapec_runtime.scipy_special.stdtr(df, -z)


def t_ppf(p, df):
    return tapec_runtime.scipy_special.stdtrit(df, p)


def laplace_log_density(z):
    return -np.abs(z) - LN2


def laplace_cdf(z):
    return np.where(z > 0, 1.0 - 0.5 * np.exp(-z), 0.5 * np.exp(z))


def laplace_sf(z):
    return np.where(z > 0, 0.5 * np.exp(-z), 1.0 - 0.5 * np.exp(z))


def laplace_ppf(p):
    return np.where(p > 0.5, -np.log(2.0 * (1.0 - p)), np.log(2.0 * p))


def logistic_log_density(z):
    return -np.abs(z) - 2.0 * np.log1p(np.exp(-np.abs(z)))


def logistic_cdf(z):
    return tapec_runtime.scipy_special.expit(z)


def logistic_sf(z):
    return tapec_runtime.scipy_special.expit(-z)


def logistic_ppf(p):
    return tapec_runtime.scipy_special.logit(p)


def lognorm_log_density(z, s):
    return -0.5 * (np.log(z) / s) ** 2 - np.log(s * z) - LOG_SQRT_TWO_PI


def lognorm_cdf(z, s):
    return tapec_runtime.scipy_special.ndtr(np.log(z) / s)


def lognorm_sf(z, s):
    return tapec_runtime.scipy_special.ndtr(-np.log(z) / s)


def lognorm_ppf(p, s):
    return np.exp(s * tapec_runtime.scipy_special.ndtri(p))


def uniform_log_density(z):
    return 0.0 * z


def uniform_cdf(z):
    return z


def uniform_sf(z):
    return 1.0 - z


def uniform_ppf(p):
    return p


def cauchy_log_density(z):
    return -np.log(np.pi) - np.log1p(z * z)


def cauchy_cdf(z):
    return np.arctan2(1.0, -z) / np.pi


def cauchy_sf(z):
    return np.arctan2(1.0, z) / np.pi


def cauchy_ppf(p):
    return np.tan(np.pi * (p - 0.5))


def chi2_log_density(z, df):
    power = tapec_runtime.scipy_special.xlogy(0.5 * df - 1.0, z)
    return power - 0.5 * z - tapec_runtime.scipy_special.gammaln(0.5 * df) - 0.5 * LN2 * df


def chi2_cdf(z, df):
    return tapec_runtime.scipy_special.chdtr(df, z)


def chi2_sf(z, df):
    return tapec_runtime.scipy_special.chdtrc(df, z)


def chi2_ppf(p, df):
    return 2.0 * tapec_runtime.scipy_special.gammaincinv(0.5 * df, p)


def f_log_density(z, dfn, dfd):
    ends = 0.5 * dfd * np.log(dfd) + 0.5 * dfn * np.log(dfn) + tapec_runtime.scipy_special.xlogy(0.5 * dfn - 1.0, z)
    return ends - 0.5 * (dfn + dfd) * np.log(dfd + dfn * z) - tapec_runtime.scipy_special.betaln(0.5 * dfn, 0.5 * dfd)


def f_cdf(z, dfn, dfd):
    return tapec_runtime.scipy_special.fdtr(dfn, dfd, z)


def f_sf(z, dfn, dfd):
    return tapec_runtime.scipy_special.fdtrc(dfn, dfd, z)


def f_ppf(p, dfn, dfd):
    return tapec_runtime.scipy_special.fdtri(dfn, dfd, p)


def halfnorm_log_density(z):
    return -0.5 * z * z - LOG_SQRT_TWO_PI + LN2


def halfnorm_cdf(z):
    return tapec_runtime.scipy_special.ndtr(z) - tapec_runtime.scipy_special.ndtr(-z)


def halfnorm_sf(z):
    return 2.0 * tapec_runtime.scipy_special.ndtr(-z)


def halfnorm_ppf(p):
    return tapec_runtime.scipy_special.ndtri(0.5 * (1.0 + p))


def halfcauchy_log_density(z):
    return np.log(2.0 / np.pi) - np.log1p(z * z)


def halfcauchy_cdf(z):
    return 2.0 / np.pi * np.arctan(z)


def halfcauchy_sf(z):
    return 2.0 / np.pi * np.arctan2(1.0, z)


def halfcauchy_ppf(p):
    return np.tan(0.5 * np.pi * p)


def invgamma_log_density(z, a):
    return -(a + 1.0) * np.log(z) - tapec_runtime.scipy_special.gammaln(a) - 1.0 / z


def invgamma_cdf(z, a):
    return tapec_runtime.scipy_special.gammaincc(a, 1.0 / z)


def invgamma_sf(z, a):
    return tapec_runtime.scipy_special.gammainc(a, 1.0 / z)


def invgamma_ppf(p, a):
    return 1.0 / tapec_runtime.scipy_special.gammainccinv(a, p)


def weibull_min_log_density(z, c):
    return np.log(c) + tapec_runtime.scipy_special.xlogy(c - 1.0, z) - z**c


def weibull_min_cdf(z, c):
    return -np.expm1(-(z**c))


def weibull_min_sf(z, c):
    return np.exp(-(z**c))


def weibull_min_ppf(p, c):
    return (-np.log1p(-p)) ** (1.0 / c)


def pareto_log_density(z, b):
    return np.log(b) - (b + 1.0) * np.log(z)


def pareto_cdf(z, b):
    return 1.0 - z ** (-b)


def pareto_sf(z, b):
    return z ** (-b)


def pareto_ppf(p, b):
    return (1.0 - p) ** (-1.0 / b)


def rayleigh_log_density(z):
    return np.log(z) - 0.5 * z * z


def rayleigh_cdf(z):
    return -np.expm1(-0.5 * z * z)


def rayleigh_sf(z):
    return np.exp(-0.5 * z * z)


def rayleigh_ppf(p):
    return np.sqrt(-2.0 * np.log1p(-p))


def gumbel_r_log_density(z):
    return -z - np.exp(-z)


def gumbel_r_cdf(z):
    return np.exp(-np.exp(-z))


def gumbel_r_sf(z):
    return -np.expm1(-np.exp(-z))


def gumbel_r_ppf(p):
    return -np.log(-np.log(p))


def gumbel_l_log_density(z):
    return z - np.exp(z)


def gumbel_l_cdf(z):
    return -np.expm1(-np.exp(z))


def gumbel_l_sf(z):
    return np.exp(-np.exp(z))


def gumbel_l_ppf(p):
    return np.log(-np.log1p(-p))


def invgauss_log_density(z, mu):
    return -0.5 * np.log(2.0 * np.pi) - 1.5 * np.log(z) - ((z - mu) / mu) ** 2 / (2.0 * z)


def vonmises_log_density(z, kappa):
    return kappa * np.cos(z) - kappa - np.log(2.0 * np.pi * tapec_runtime.scipy_special.i0e(kappa))


def _log_mass(a, b):
    """The logarithm of the normal probability between two numbers, without cancellation in the tails."""
    turned = np.where(a > 0, 1.0, 0.0) > 0
    low = np.where(turned, -b, a)
    high = np.where(turned, -a, b)
    top = tapec_runtime.scipy_special.log_ndtr(high)
    return top + np.log1p(-np.exp(tapec_runtime.scipy_special.log_ndtr(low) - top))


def truncnorm_log_density(z, a, b):
    return norm_log_density(z) - _log_mass(a * 1.0, b * 1.0)


def poisson_log_density(k, mu):
    return tapec_runtime.scipy_special.xlogy(k, mu) - tapec_runtime.scipy_special.gammaln(k + 1.0) - mu


def poisson_cdf(k, mu):
    return tapec_runtime.scipy_special.pdtr(k, mu)


def poisson_sf(k, mu):
    return tapec_runtime.scipy_special.pdtrc(k, mu)


def binom_log_density(k, n, p):
    ways = tapec_runtime.scipy_special.gammaln(n + 1.0) - tapec_runtime.scipy_special.gammaln(k + 1.0)
    ways = ways - tapec_runtime.scipy_special.gammaln(n - k + 1.0)
    return ways + tapec_runtime.scipy_special.xlogy(k, p) + tapec_runtime.scipy_special.xlog1py(n - k, -p)


def binom_cdf(k, n, p):
    return tapec_runtime.scipy_special.bdtr(k, n, p)


def binom_sf(k, n, p):
    return tapec_runtime.scipy_special.bdtrc(k, n, p)


def bernoulli_log_density(k, p):
    return tapec_runtime.scipy_special.xlogy(k, p) + tapec_runtime.scipy_special.xlog1py(1.0 - k, -p)


def geom_log_density(k, p):
    return np.log(p) + tapec_runtime.scipy_special.xlog1py(k - 1.0, -p)


def geom_cdf(k, p):
    return -np.expm1(np.log1p(-p) * np.floor(k))


def geom_sf(k, p):
    return np.exp(np.log1p(-p) * np.floor(k))


def nbinom_log_density(k, n, p):
    ways = tapec_runtime.scipy_special.gammaln(n + k) - tapec_runtime.scipy_special.gammaln(k + 1.0)
    ways = ways - tapec_runtime.scipy_special.gammaln(n)
    return ways + n * np.log(p) + tapec_runtime.scipy_special.xlog1py(k, -p)


def nbinom_cdf(k, n, p):
    return tapec_runtime.scipy_special.nbdtr(k, n, p)


def nbinom_sf(k, n, p):
    return tapec_runtime.scipy_special.nbdtrc(k, n, p)


def _first(a, *rest):
    return a


def _second(a, b):
    return b


DISTRIBUTIONS: dict[str, Distribution] = {
    "norm": Distribution((), norm_log_density, norm_cdf, norm_sf, norm_ppf),
    "expon": Distribution((), expon_log_density, expon_cdf, expon_sf, expon_ppf, 0.0),
    "gamma": Distribution(("a",), gamma_log_density, gamma_cdf, gamma_sf, gamma_ppf, 0.0),
    "beta": Distribution(("a", "b"), beta_log_density, beta_cdf, beta_sf, beta_ppf, 0.0, 1.0),
    "t": Distribution(("df",), t_log_density, t_cdf, t_sf, t_ppf),
    "laplace": Distribution((), laplace_log_density, laplace_cdf, laplace_sf, laplace_ppf),
    "logistic": Distribution((), logistic_log_density, logistic_cdf, logistic_sf, logistic_ppf),
    "lognorm": Distribution(("s",), lognorm_log_density, lognorm_cdf, lognorm_sf, lognorm_ppf, 0.0),
    "uniform": Distribution((), uniform_log_density, uniform_cdf, uniform_sf, uniform_ppf, 0.0, 1.0),
    "cauchy": Distribution((), cauchy_log_density, cauchy_cdf, cauchy_sf, cauchy_ppf),
    "chi2": Distribution(("df",), chi2_log_density, chi2_cdf, chi2_sf, chi2_ppf, 0.0),
    "f": Distribution(("dfn", "dfd"), f_log_density, f_cdf, f_sf, f_ppf, 0.0),
    "halfnorm": Distribution((), halfnorm_log_density, halfnorm_cdf, halfnorm_sf, halfnorm_ppf, 0.0),
    "halfcauchy": Distribution((), halfcauchy_log_density, halfcauchy_cdf, halfcauchy_sf, halfcauchy_ppf, 0.0),
    "invgamma": Distribution(("a",), invgamma_log_density, invgamma_cdf, invgamma_sf, invgamma_ppf, 0.0),
    "weibull_min": Distribution(
        ("c",), weibull_min_log_density, weibull_min_cdf, weibull_min_sf, weibull_min_ppf, 0.0
    ),
    "pareto": Distribution(("b",), pareto_log_density, pareto_cdf, pareto_sf, pareto_ppf, 1.0),
    "rayleigh": Distribution((), rayleigh_log_density, rayleigh_cdf, rayleigh_sf, rayleigh_ppf, 0.0),
    "gumbel_r": Distribution((), gumbel_r_log_density, gumbel_r_cdf, gumbel_r_sf, gumbel_r_ppf),
    "gumbel_l": Distribution((), gumbel_l_log_density, gumbel_l_cdf, gumbel_l_sf, gumbel_l_ppf),
    "invgauss": Distribution(("mu",), invgauss_log_density, low=0.0),
    "vonmises": Distribution(("kappa",), vonmises_log_density),
    "truncnorm": Distribution(("a", "b"), truncnorm_log_density, low=_first, high=_second),
    "poisson": Distribution(("mu",), poisson_log_density, poisson_cdf, poisson_sf, low=0.0, discrete=True),
    "binom": Distribution(
        ("n", "p"), binom_log_density, binom_cdf, binom_sf, low=0.0, high=_first, discrete=True
    ),
    "bernoulli": Distribution(("p",), bernoulli_log_density, low=0.0, high=1.0, discrete=True),
    "geom": Distribution(("p",), geom_log_density, geom_cdf, geom_sf, low=1.0, discrete=True),
    "nbinom": Distribution(("n", "p"), nbinom_log_density, nbinom_cdf, nbinom_sf, low=0.0, discrete=True),
}


def _end(end, shapes):
    return end if isinstance(end, float) else end(*shapes)


def log_density(row, x, loc, scale, *shapes):
    """`logpdf`: -inf where the density is 0."""
    z = (x - loc) / scale
    inside = (z >= _end(row.low, shapes)) & (z <= _end(row.high, shapes))
    return np.where(inside, row.log_density(z, *shapes) - np.log(scale), np.where(z == z, -np.inf, z))


def log_mass(row, x, loc, *shapes):
    """`logpmf`: -inf for numbers that are not whole, or cannot be."""
    k = x - loc
    possible = (np.floor(k) == k) & (k >= _end(row.low, shapes)) & (k <= _end(row.high, shapes))
    return np.where(possible, row.log_density(k, *shapes), np.where(k == k, -np.inf, k))


def density(row, x, loc, scale, *shapes):
    """`pdf`."""
    return np.exp(log_density(row, x, loc, scale, *shapes))


def mass(row, x, loc, *shapes):
    """`pmf`."""
    return np.exp(log_mass(row, x, loc, *shapes))


def cumulative(row, x, loc, scale, *shapes):
    """`cdf`: 0 below what can be, 1 above it."""
    z = (x - loc) / scale
    low = _end(row.low, shapes)
    return np.where(z < low, 0.0, np.where(z > _end(row.high, shapes), 1.0, row.cdf(z, *shapes)))


def survival(row, x, loc, scale, *shapes):
    """`sf`: 1 below what can be, 0 above it."""
    z = (x - loc) / scale
    low = _end(row.low, shapes)
    return np.where(z < low, 1.0, np.where(z > _end(row.high, shapes), 0.0, row.sf(z, *shapes)))


def log_cumulative(row, x, loc, scale, *shapes):
    """`logcdf`."""
    if row.log_density is norm_log_density:
        return tapec_runtime.scipy_special.log_ndtr((x - loc) / scale)
    return np.log(cumulative(row, x, loc, scale, *shapes))


def log_survival(row, x, loc, scale, *shapes):
    """`logsf`."""
    if row.log_density is norm_log_density:
        return tapec_runtime.scipy_special.log_ndtr((loc - x) / scale)
    return np.log(survival(row, x, loc, scale, *shapes))


def inverse(row, p, loc, scale, *shapes):
    """`ppf`."""
    return row.ppf(p, *shapes) * scale + loc


METHODS: dict[str, Callable[..., Any]] = {
    "logpdf": log_density,
    "pdf": density,
    "cdf": cumulative,
    "sf": survival,
    "logcdf": log_cumulative,
    "logsf": log_survival,
    "ppf": inverse,
}
DISCRETE: dict[str, Callable[..., Any]] = {
    "logpmf": log_mass,
    "pmf": mass,
    "cdf": cumulative,
    "sf": survival,
    "logcdf": log_cumulative,
    "logsf": log_survival,
}


def multivariate_normal_logpdf(x, mean=None, cov=1):
    """The logarithm of the density of normal variables, of each row of `x`, whose covariance is positive definite."""
    if np.ndim(cov) == 0 and (mean is None or np.ndim(mean) == 0):
        # of one variable
        apart = (np.asarray(x) - (0.0 if mean is None else mean)) / np.sqrt(cov)
        return -0.5 * apart * apart - LOG_SQRT_TWO_PI - 0.5 * np.log(cov)
    points = np.asarray(x)
    count = np.shape(cov)[0] if mean is None else np.shape(mean)[0]
    if points.shape[-1] != count:
        raise ValueError("the last axis of x is not as long as the mean")
    centre = np.zeros(count) if mean is None else np.asarray(mean)
    matrix = np.eye(count) * cov if np.ndim(cov) == 0 else np.asarray(cov)
    if matrix.ndim == 1:
        matrix = np.diag(matrix)
    factor = np.linalg.cholesky(matrix)
    size = 2.0 * np.sum(np.log(np.diag(factor))) + 2.0 * LOG_SQRT_TWO_PI * count
    apart = points - centre
    if apart.ndim == 1:
        whitened = np.linalg.solve(factor, apart)
        return -0.5 * (np.sum(whitened * whitened) + size)
    rows = np.reshape(apart, (apart.size // count, count))
    whitened = np.linalg.solve(factor, rows.T)
    return np.reshape(-0.5 * (np.sum(whitened * whitened, 0) + size), apart.shape[:-1])


def multivariate_normal_pdf(x, mean=None, cov=1):
    """The density of normal variables, of each row of `x`, whose covariance is positive definite."""
    return np.exp(multivariate_normal_logpdf(x, mean, cov))


def dirichlet_logpdf(x, alpha):
    """The logarithm of the density of shares that make 1."""
    shares = np.asarray(x)
    weights = np.asarray(alpha)
    if weights.size == shares.shape[0] + 1:
        shares = np.append(shares, 1.0 - np.sum(shares))
    norm = tapec_runtime.scipy_special.gammaln(np.sum(weights)) - np.sum(tapec_runtime.scipy_special.gammaln(weights))
    return norm + np.sum(tapec_runtime.scipy_special.xlogy(weights - 1.0, shares))


def dirichlet_pdf(x, alpha):
    """The density of shares that make 1."""
    return np.exp(dirichlet_logpdf(x, alpha))


# functions of distributions of several variables
SEVERAL: dict[tuple[str, str], Callable[..., Any]] = {
    ("multivariate_normal", "logpdf"): multivariate_normal_logpdf,
    ("multivariate_normal", "pdf"): multivariate_normal_pdf,
    ("dirichlet", "logpdf"): dirichlet_logpdf,
    ("dirichlet", "pdf"): dirichlet_pdf,
}
