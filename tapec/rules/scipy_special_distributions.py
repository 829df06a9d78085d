"""SciPy's special functions that are distributions: the incomplete gamma and beta functions, and what is made of them.

By a parameter the incomplete functions have series of their own (`tapec_runtime/incomplete_functions.py`); an inverse
has the derivatives of the equation that it solves.  DLMF is the NIST Digital Library of Mathematical Functions.
"""

from __future__ import annotations

from tapec.rules.formula import SCIPY
from tapec.rules.table import Row, rule, table

_SHAPE = "there is no closed form of the derivative by a parameter of the distribution"
_WHOLE = "it is a whole number"
_SECOND = "there is no series of the second derivative by a parameter of the distribution"
_DENSITY = "SciPy has no function for the derivative of the density"
_LARGE = "by the number of degrees terms cancel where it is large"
_SERIES = "Moore, Applied Statistics 31 (1982) 330"
_FRACTION = "Boik and Robison-Cox, J. Stat. Software 3 (1998)"


# densities and derivatives by parameters, as texts of formulas


def _gamma(a: str, x: str) -> str:
    return f"exp(xlogy({a} - 1, {x}) - {x} - gammaln({a}))"


def _beta(a: str, b: str, x: str) -> str:
    return f"exp(xlogy({a} - 1, {x}) + xlog1py({b} - 1, -{x}) - betaln({a}, {b}))"


def _f(m: str, n: str, x: str) -> tuple[str, str, str]:
    """Of Fisher's distribution: by its numbers of degrees, and by x."""
    logarithm = f"0.5*{m}*log({m}) + 0.5*{n}*log({n}) + xlogy(0.5*{m} - 1, {x}) - 0.5*({m} + {n})*log({n} + {m}*{x})"
    density = f"exp({logarithm} - betaln(0.5*{m}, 0.5*{n}))"
    place = f"(0.5*{m}, 0.5*{n}, {m}*{x}/({m}*{x} + {n}))"
    first = f"(0.5*_betainc_slope_a{place} + {x}/{m}*{density})"
    return first, f"(0.5*_betainc_slope_b{place} - {x}/{n}*{density})", density


def _t(v: str, x: str) -> tuple[str, str]:
    """Of Student's distribution: by its number of degrees, and by x."""
    density = f"(exp(-0.5*({v} + 1)*log1p({x}*{x}/{v}) - betaln(0.5*{v}, 0.5))/sqrt({v}))"
    tail = f"_betainc_slope_a(0.5*{v}, 0.5, {v}/({v} + {x}*{x}))"
    return f"(-0.25*sign({x})*{tail} - 0.5*{x}/{v}*{density})", density


def _chi2(x: str, v: str, c: str) -> str:
    """Of the noncentral chi-squared distribution; the derivative by `c` is minus that with two more degrees."""
    apart = f"(sqrt({x}) - sqrt({c}))"
    central = f"exp(xlogy(0.5*{v} - 1, 0.5*{x}) - 0.5*{x} - gammaln(0.5*{v}))"
    moved = f"exp(-0.5*{apart}*{apart})*({x}/{c})**(0.25*{v} - 0.5)*ive(0.5*{v} - 1, sqrt({c}*{x}))"
    return f"0.5*({moved} if {c} > 0 else {central})"


def _noncentral_f(c: str, x: str) -> tuple[str, str]:
    """Of the noncentral F distribution: by `c`, and by x."""
    logarithm = f"-0.5*{c} + 0.5*m*log(m) + 0.5*n*log(n) - 0.5*(m + n)*log(n + m*{x}) - betaln(0.5*m, 0.5*n)"
    place = f"0.5*{c}*m*{x}/(m*{x} + n)"
    by_c = f"(-exp({logarithm} + 0.5*m*log({x}))/m*hyp1f1(0.5*(m + n), 0.5*m + 1, {place}))"
    return by_c, f"(exp({logarithm} + xlogy(0.5*m - 1, {x}))*hyp1f1(0.5*(m + n), 0.5*m, {place}))"


def weighted_exponential(z: str) -> str:
    """The integral of `2*t*exp(z*t)` from 0 to 1; SciPy's function does not return where z is huge, and it inf."""
    return f"hyp1f1(2, 3, minimum({z}, 1e3))"


def _row(heading: str, formula: str, **more: str) -> Row:
    """A row of a function of `scipy.special`."""
    return rule(f"{SCIPY}.{heading}", formula, **more)  # type: ignore[arg-type]


def _solved(heading: str, unknown: str, *others: str) -> Row:
    """A row of the solution of an equation: the derivative by it, and pairs of another number and that by it."""
    pairs = zip(others[::2], others[1::2], strict=True)
    terms = " + ".join(f"({slope})*d{name}" for name, slope in pairs)
    return _row(heading, f"-({terms})/({unknown})")


_BINOMIAL = _beta("(n - k)", "(k + 1)", "(1 - p)")
_NEGATIVE = _beta("n", "(k + 1)", "p")

DISTRIBUTIONS = table(
    # the incomplete gamma function
    _row("gammainc(a, x)", f"{_gamma('a', 'x')}*dx + _gammainc_slope(a, x)*da", source=f"DLMF 8.8.13; {_SERIES}"),
    _row("gammaincc(a, x)", f"-({_gamma('a', 'x')}*dx) - _gammainc_slope(a, x)*da", source=f"DLMF 8.8.13; {_SERIES}"),
    _row("gammaincinv(a, p)", f"(dp - _gammainc_slope(a, y)*da)/{_gamma('a', 'y')}", source=_SERIES),
    _row("gammainccinv(a, p)", f"-((dp + _gammainc_slope(a, y)*da)/{_gamma('a', 'y')})", source=_SERIES),
    _row(
        "_gammainc_slope(a, x)",
        f"({_gamma('a', 'x')}*(log(x) - psi(a)) if x > 0 else 0)*dx",
        refused="a",
        note=_SECOND,
    ),
    _row("chdtr(v, x)", f"0.5*({_gamma('0.5*v', '0.5*x')}*dx + _gammainc_slope(0.5*v, 0.5*x)*dv)"),
    _row("chdtrc(v, x)", f"-0.5*({_gamma('0.5*v', '0.5*x')}*dx + _gammainc_slope(0.5*v, 0.5*x)*dv)"),
    _row("chdtri(v, p)", f"-((2*dp + _gammainc_slope(0.5*v, 0.5*y)*dv)/{_gamma('0.5*v', '0.5*y')})"),
    _solved("chdtriv(p, x)", "_gammainc_slope(0.5*y, 0.5*x)", "p", "-2", "x", _gamma("0.5*y", "0.5*x")),
    _row("gdtr(a, b, x)", f"{_gamma('b', '(a*x)')}*(a*dx + x*da) + _gammainc_slope(b, a*x)*db"),
    _row("gdtrc(a, b, x)", f"-({_gamma('b', '(a*x)')}*(a*dx + x*da)) - _gammainc_slope(b, a*x)*db"),
    _row("gdtrix(a, b, p)", f"(dp - _gammainc_slope(b, a*y)*db)/(a*{_gamma('b', '(a*y)')}) - y/a*da"),
    _row("gdtria(p, b, x)", f"(dp - _gammainc_slope(b, y*x)*db)/(x*{_gamma('b', '(y*x)')}) - y/x*dx"),
    _solved(
        "gdtrib(a, p, x)",
        "_gammainc_slope(y, a*x)",
        *("a", f"x*{_gamma('y', '(a*x)')}", "p", "-1", "x", f"a*{_gamma('y', '(a*x)')}"),
    ),
    _row("pdtr(k, m)", f"-({_gamma('(floor(k) + 1)', 'm')}*dm)", note="constant between integers k"),
    _row("pdtrc(k, m)", f"{_gamma('(floor(k) + 1)', 'm')}*dm", note="constant between integers k"),
    _row("pdtri(k, p)", f"-(dp/{_gamma('(floor(k) + 1)', 'y')})", note="constant between integers k"),
    _solved("pdtrik(p, m)", "_gammainc_slope(y + 1, m)", "p", "1", "m", _gamma("(y + 1)", "m")),
    # the incomplete beta function
    _row(
        "betainc(a, b, x)",
        f"{_beta('a', 'b', 'x')}*dx + _betainc_slope_a(a, b, x)*da + _betainc_slope_b(a, b, x)*db",
        source=f"DLMF 8.17.1; {_FRACTION}",
    ),
    _row(
        "betaincc(a, b, x)",
        f"-({_beta('a', 'b', 'x')}*dx) - _betainc_slope_a(a, b, x)*da - _betainc_slope_b(a, b, x)*db",
        source=f"DLMF 8.17.1; {_FRACTION}",
    ),
    _row(
        "betaincinv(a, b, p)",
        f"(dp - _betainc_slope_a(a, b, y)*da - _betainc_slope_b(a, b, y)*db)/{_beta('a', 'b', 'y')}",
        source=_FRACTION,
    ),
    _row(
        "betainccinv(a, b, p)",
        f"-((dp + _betainc_slope_a(a, b, y)*da + _betainc_slope_b(a, b, y)*db)/{_beta('a', 'b', 'y')})",
        source=_FRACTION,
    ),
    _row(
        "_betainc_slope_a(a, b, x)",
        f"({_beta('a', 'b', 'x')}*(log(x) - psi(a) + psi(a + b)) if x > 0 else 0)*dx",
        refused="a b",
        note=_SECOND,
    ),
    _row(
        "_betainc_slope_b(a, b, x)",
        f"({_beta('a', 'b', 'x')}*(log1p(-x) - psi(b) + psi(a + b)) if x < 1 else 0)*dx",
        refused="a b",
        note=_SECOND,
    ),
    _solved(
        "btdtria(p, b, x)",
        "_betainc_slope_a(y, b, x)",
        *("p", "-1", "b", "_betainc_slope_b(y, b, x)", "x", _beta("y", "b", "x")),
    ),
    _solved(
        "btdtrib(a, p, x)",
        "_betainc_slope_b(a, y, x)",
        *("a", "_betainc_slope_a(a, y, x)", "p", "-1", "x", _beta("a", "y", "x")),
    ),
    # of a binomial distribution
    _row("bdtr(k, n, p)", f"-({_BINOMIAL.replace('k', 'floor(k)')}*dp)", refused="n", note=_WHOLE),
    _row("bdtrc(k, n, p)", f"{_BINOMIAL.replace('k', 'floor(k)')}*dp", refused="n", note=_WHOLE),
    _row(
        "bdtri(k, n, p)",
        f"-(dp/{_beta('(n - floor(k))', '(floor(k) + 1)', '(1 - y)')})",
        refused="n",
        note=_WHOLE,
    ),
    _solved(
        "bdtrik(q, n, p)",
        "_betainc_slope_b(n - y, y + 1, 1 - p) - _betainc_slope_a(n - y, y + 1, 1 - p)",
        *("q", "-1", "n", "_betainc_slope_a(n - y, y + 1, 1 - p)"),
        *("p", f"-{_beta('(n - y)', '(y + 1)', '(1 - p)')}"),
    ),
    _solved(
        "bdtrin(k, q, p)",
        "_betainc_slope_a(y - k, k + 1, 1 - p)",
        *("k", "_betainc_slope_b(y - k, k + 1, 1 - p) - _betainc_slope_a(y - k, k + 1, 1 - p)"),
        *("q", "-1", "p", f"-{_beta('(y - k)', '(k + 1)', '(1 - p)')}"),
    ),
    _row(
        "nbdtr(k, n, p)",
        f"{_NEGATIVE.replace('k', 'floor(k)')}*dp + _betainc_slope_a(n, floor(k) + 1, p)*dn",
        note="constant between integers k",
    ),
    _row(
        "nbdtrc(k, n, p)",
        f"-({_NEGATIVE.replace('k', 'floor(k)')}*dp) - _betainc_slope_a(n, floor(k) + 1, p)*dn",
        note="constant between integers k",
    ),
    _row("nbdtri(k, n, p)", f"dp/{_beta('n', '(floor(k) + 1)', 'y')}", refused="n", note=_WHOLE),
    _solved(
        "nbdtrik(q, n, p)",
        "_betainc_slope_b(n, y + 1, p)",
        *("q", "-1", "n", "_betainc_slope_a(n, y + 1, p)", "p", _beta("n", "(y + 1)", "p")),
    ),
    _solved(
        "nbdtrin(k, q, p)",
        "_betainc_slope_a(y, k + 1, p)",
        *("k", "_betainc_slope_b(y, k + 1, p)", "q", "-1", "p", _beta("y", "(k + 1)", "p")),
    ),
    # F and Student's t
    _row("fdtr(m, n, x)", "{}*dm + {}*dn + {}*dx".format(*_f("m", "n", "x")), source=_FRACTION),
    _row("fdtrc(m, n, x)", "-({}*dm + {}*dn + {}*dx)".format(*_f("m", "n", "x")), source=_FRACTION),
    _row("fdtri(m, n, p)", "(dp - {}*dm - {}*dn)/{}".format(*_f("m", "n", "y")), source=_FRACTION),
    _row("fdtridfd(m, p, x)", "(dp - {0}*dm - {2}*dx)/{1}".format(*_f("m", "y", "x")), source=_FRACTION),
    _row("stdtr(v, x)", "{}*dv + {}*dx".format(*_t("v", "x")), note=_LARGE, source=_FRACTION),
    _row("stdtrit(v, p)", "(dp - {}*dv)/{}".format(*_t("v", "y")), note=_LARGE, source=_FRACTION),
    _row("stdtridf(p, x)", "(dp - {1}*dx)/{0}".format(*_t("y", "x")), note=_LARGE, source=_FRACTION),
    # noncentral ones
    _row("chndtr(x, v, c)", f"{_chi2('x', 'v', 'c')}*dx - {_chi2('x', '(v + 2)', 'c')}*dc", refused="v", note=_SHAPE),
    _row(
        "chndtrix(p, v, c)",
        f"(dp + {_chi2('y', '(v + 2)', 'c')}*dc)/({_chi2('y', 'v', 'c')})",
        refused="v",
        note=_SHAPE,
    ),
    _row(
        "chndtrinc(x, v, p)",
        f"({_chi2('x', 'v', 'y')}*dx - dp)/({_chi2('x', '(v + 2)', 'y')})",
        refused="v",
        note=_SHAPE,
    ),
    _row("ncfdtr(m, n, c, x)", "{}*dc + {}*dx".format(*_noncentral_f("c", "x")), refused="m n", note=_SHAPE),
    _row("ncfdtri(m, n, c, p)", "(dp - {}*dc)/{}".format(*_noncentral_f("c", "y")), refused="m n", note=_SHAPE),
    _row("ncfdtrinc(m, n, p, x)", "(dp - {1}*dx)/{0}".format(*_noncentral_f("y", "x")), refused="m n", note=_SHAPE),
    # others
    _row("nrdtrimn(p, s, x)", "dx - ndtri(p)*ds - s*SQRT_TWO_PI*exp(0.5*ndtri(p)*ndtri(p))*dp"),
    _row("nrdtrisd(m, p, x)", "(dx - dm - y*SQRT_TWO_PI*exp(0.5*ndtri(p)*ndtri(p))*dp)/ndtri(p)"),
    _row("kolmogorov(x)", "_kolmogp(x)*dx"),
    _row("kolmogi(p)", "dp/_kolmogp(y)"),
    _row("_kolmogp(x)", "0*dx", refused="x", note=_DENSITY),
    _row("smirnov(n, x)", "_smirnovp(n, x)*dx", refused="n", note=_WHOLE),
    _row("smirnovi(n, p)", "dp/_smirnovp(n, y)", refused="n", note=_WHOLE),
    _row("_smirnovp(n, x)", "0*dx", refused="n x", note=_DENSITY),
    _row(
        "tklmbda(x, l)",
        f"(dx - 0.5*(log(y)*log(y)*{weighted_exponential('l*log(y)')}"
        f" - log1p(-y)*log1p(-y)*{weighted_exponential('l*log1p(-y)')})*dl)"
        "/(y**(l - 1) + (1 - y)**(l - 1)) if y > 0 and y < 1 else 0*dx",
        source="DLMF 13.4.1",
    ),
)
