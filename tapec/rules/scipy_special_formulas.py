"""SciPy's special functions (`scipy.special`), by the C functions that SciPy has for them.

Parameters that a function has no closed derivative by are `refused`: an error says which argument that is.
DLMF is the NIST Digital Library of Mathematical Functions, dlmf.nist.gov.
"""

from __future__ import annotations

from tapec.rules.formula import SCIPY
from tapec.rules.scipy_special_distributions import DISTRIBUTIONS, weighted_exponential
from tapec.rules.table import Row, join, rule, table

_ORDER = "there is no closed form of the derivative by the order"
_MODULUS = "the closed form of the derivative by the parameter cancels"
_EQUAL = "nan where two of the numbers are equal"
_GEGENBAUER = "DLMF 18.9.19"
_POWER = "DLMF 13.4.1"


def _row(heading: str, formula: str, **more: str) -> Row:
    """A row of a function of `scipy.special`."""
    return rule(f"{SCIPY}.{heading}", formula, **more)  # type: ignore[arg-type]


_FUNCTIONS = table(
    # the error function and its kin
    _row("erfcx(x)", "(2*x*y - TWO_BY_SQRT_PI)*dx", source="DLMF 7.10.1", note="for large x terms cancel"),
    _row("erfi(x)", "TWO_BY_SQRT_PI*exp(x*x)*dx", source="DLMF 7.2.1"),
    _row("dawsn(x)", "(1 - 2*x*y)*dx", source="DLMF 7.10.3"),
    _row("erfinv(x)", "exp(y*y)/TWO_BY_SQRT_PI*dx", source="DLMF 7.17.1"),
    _row("erfcinv(x)", "-exp(y*y)/TWO_BY_SQRT_PI*dx", source="DLMF 7.17.1"),
    _row("ndtr(x)", "exp(-0.5*x*x)/SQRT_TWO_PI*dx", source="DLMF 7.2.2"),
    _row("log_ndtr(x)", "exp(-0.5*x*x - y)/SQRT_TWO_PI*dx", source="DLMF 7.2.2"),
    _row("ndtri(x)", "SQRT_TWO_PI*exp(0.5*y*y)*dx"),
    _row("ndtri_exp(x)", "SQRT_TWO_PI*exp(x + 0.5*y*y)*dx"),
    _row(
        "owens_t(x, a)",
        "exp(-0.5*x*x*(1 + a*a))/(2*PI*(1 + a*a))*da - 0.5*erf(a*x/SQRT_TWO)*exp(-0.5*x*x)/SQRT_TWO_PI*dx",
        source="Owen, Ann. Math. Stat. 27 (1956) 1075",
    ),
    # the gamma function and its kin
    _row("gamma(x)", "y*psi(x)*dx", source="DLMF 5.2.2", note="at poles nan"),
    _row("gammaln(x)", "psi(x)*dx", source="DLMF 5.2.2"),
    _row("loggamma(x)", "psi(x)*dx", source="DLMF 5.2.2"),
    _row("rgamma(x)", "-y*psi(x)*dx", source="DLMF 5.2.2", note="nan at the poles of gamma"),
    _row("psi(x)", "polygamma(1, x)*dx", source="DLMF 5.15.1"),
    _row("beta(a, b)", "y*((psi(a) - psi(a + b))*da + (psi(b) - psi(a + b))*db)", source="DLMF 5.12.1"),
    _row("betaln(a, b)", "(psi(a) - psi(a + b))*da + (psi(b) - psi(a + b))*db", source="DLMF 5.12.1"),
    _row("poch(x, m)", "y*((psi(x + m) - psi(x))*dx + psi(x + m)*dm)", source="DLMF 5.2.5"),
    _row(
        "binom(n, k)",
        "y*((psi(n + 1) - psi(n - k + 1))*dn + (psi(n - k + 1) - psi(k + 1))*dk)",
        source="DLMF 5.2.2",
        note="nan where n or k is a negative integer",
    ),
    _row(
        "voigt_profile(x, s, g)",
        "-2*(x*wofz_0(x/(s*SQRT_TWO), g/(s*SQRT_TWO)) - g*wofz_1(x/(s*SQRT_TWO), g/(s*SQRT_TWO)))"
        "/(2*s*s*s*SQRT_TWO_PI)*(dx - x/s*ds)"
        " + 2*(x*wofz_1(x/(s*SQRT_TWO), g/(s*SQRT_TWO)) + g*wofz_0(x/(s*SQRT_TWO), g/(s*SQRT_TWO))"
        " - s/SQRT_PI*SQRT_TWO)/(2*s*s*s*SQRT_TWO_PI)*(dg - g/s*ds) - y/s*ds",
        note="by s for large x terms cancel",
        source="DLMF 7.10.2",
    ),
    # logarithms and entropies
    _row("expit(x)", "y*expit(-x)*dx"),
    _row("log_expit(x)", "expit(-x)*dx"),
    _row("logit(x)", "dx/(x*(1 - x))"),
    _row("xlogy(x, z)", "log(z)*dx + (0 if x == 0 and z == 0 else x/z)*dz", note="by z it is 0 where both are 0"),
    _row(
        "xlog1py(x, z)",
        "log1p(z)*dx + (0 if x == 0 and 1 + z == 0 else x/(1 + z))*dz",
        note="by z it is 0 where x is 0 and z is -1",
    ),
    _row("entr(x)", "-(log(x) + 1)*dx"),
    _row("rel_entr(x, z)", "(log(x/z) + 1)*dx - x/z*dz"),
    _row("kl_div(x, z)", "log(x/z)*dx + (1 - x/z)*dz"),
    _row("huber(d, x)", "maximum(-d, minimum(x, d))*dx + maximum(abs(x) - d, 0)*dd"),
    _row(
        "pseudo_huber(d, x)",
        "x/hypot(1, x/d)*dx + (x/d)*(x/d)*(x/d)*(x/d)*d/(hypot(1, x/d)*(1 + hypot(1, x/d))*(1 + hypot(1, x/d)))*dd",
    ),
    # what an exponent adds is the integral of `t * exp(u * t)` from 0 to 1, times a square
    _row("boxcox(x, p)", f"x**(p - 1)*dx + 0.5*log(x)*log(x)*{weighted_exponential('p*log(x)')}*dp", source=_POWER),
    _row(
        "boxcox1p(x, p)",
        f"(1 + x)**(p - 1)*dx + 0.5*log1p(x)*log1p(x)*{weighted_exponential('p*log1p(x)')}*dp",
        source=_POWER,
    ),
    _row(
        "inv_boxcox(x, p)",
        f"y**(1 - p)*(dx - 0.5*log(y)*log(y)*{weighted_exponential('p*log(y)')}*dp)",
        source=_POWER,
    ),
    _row(
        "inv_boxcox1p(x, p)",
        f"(1 + y)**(1 - p)*(dx - 0.5*log1p(y)*log1p(y)*{weighted_exponential('p*log1p(y)')}*dp)",
        source=_POWER,
    ),
    _row("exp10(x)", "y*LN10*dx"),
    _row("spence(x)", "-dx/exprel(log(x))", source="DLMF 25.12.2"),
    _row("exp1(x)", "-exp(-x)/x*dx", source="DLMF 6.2.1"),
    _row("expi(x)", "exp(x)/x*dx", source="DLMF 6.2.5"),
    _row("wrightomega(x)", "y/(1 + y)*dx", source="Corless and Jeffrey, 2002"),
    # trigonometry
    _row("cosm1(x)", "-sin(x)*dx"),
    _row("sindg(x)", "DEGREE*cosdg(x)*dx"),
    _row("cosdg(x)", "-DEGREE*sindg(x)*dx"),
    _row("tandg(x)", "DEGREE*(1 + y*y)*dx"),
    _row("cotdg(x)", "-DEGREE*(1 + y*y)*dx"),
    # Bessel functions
    _row("j0(x)", "-j1(x)*dx", source="DLMF 10.6.3"),
    _row("j1(x)", "0.5*(j0(x) - jv(2, x))*dx", source="DLMF 10.6.1"),
    _row("y0(x)", "-y1(x)*dx", source="DLMF 10.6.3"),
    _row("y1(x)", "(y0(x) - y/x)*dx", source="DLMF 10.6.2"),
    _row("i0(x)", "i1(x)*dx", source="DLMF 10.29.3"),
    _row("i1(x)", "0.5*(i0(x) + iv(2, x))*dx", source="DLMF 10.29.1"),
    _row("k0(x)", "-k1(x)*dx", source="DLMF 10.29.3"),
    _row("k1(x)", "-(k0(x) + y/x)*dx", source="DLMF 10.29.2"),
    _row("i0e(x)", "(i1e(x) - sign(x)*y)*dx", source="DLMF 10.29.3", note="for large x terms cancel"),
    _row("i1e(x)", "(0.5*(i0e(x) + ive(2, x)) - sign(x)*y)*dx", source="DLMF 10.29.1", note="for large x terms cancel"),
    _row("k0e(x)", "(y - k1e(x))*dx", source="DLMF 10.29.3", note="for large x terms cancel"),
    _row("k1e(x)", "(y - k0e(x) - y/x)*dx", source="DLMF 10.29.2", note="for large x terms cancel"),
    _row("jv(v, x)", "0.5*(jv(v - 1, x) - jv(v + 1, x))*dx", source="DLMF 10.6.1", refused="v", note=_ORDER),
    _row("jve(v, x)", "0.5*(jve(v - 1, x) - jve(v + 1, x))*dx", source="DLMF 10.6.1", refused="v", note=_ORDER),
    _row("yv(v, x)", "0.5*(yv(v - 1, x) - yv(v + 1, x))*dx", source="DLMF 10.6.1", refused="v", note=_ORDER),
    _row("yve(v, x)", "0.5*(yve(v - 1, x) - yve(v + 1, x))*dx", source="DLMF 10.6.1", refused="v", note=_ORDER),
    _row("iv(v, x)", "0.5*(iv(v - 1, x) + iv(v + 1, x))*dx", source="DLMF 10.29.1", refused="v", note=_ORDER),
    _row("kv(v, x)", "-0.5*(kv(v - 1, x) + kv(v + 1, x))*dx", source="DLMF 10.29.1", refused="v", note=_ORDER),
    _row(
        "ive(v, x)",
        "(0.5*(ive(v - 1, x) + ive(v + 1, x)) - sign(x)*y)*dx",
        source="DLMF 10.29.1",
        refused="v",
        note=_ORDER,
    ),
    _row(
        "kve(v, x)",
        "(y - 0.5*(kve(v - 1, x) + kve(v + 1, x)))*dx",
        source="DLMF 10.29.1",
        refused="v",
        note=_ORDER,
    ),
    _row("ber(x)", "berp(x)*dx", source="DLMF 10.61.1"),
    _row("bei(x)", "beip(x)*dx", source="DLMF 10.61.1"),
    _row("ker(x)", "kerp(x)*dx", source="DLMF 10.61.2"),
    _row("kei(x)", "keip(x)*dx", source="DLMF 10.61.2"),
    _row("berp(x)", "-(bei(x) + y/x)*dx", source="DLMF 10.61.3"),
    _row("beip(x)", "(ber(x) - y/x)*dx", source="DLMF 10.61.3"),
    _row("kerp(x)", "-(kei(x) + y/x)*dx", source="DLMF 10.61.3"),
    _row("keip(x)", "(ker(x) - y/x)*dx", source="DLMF 10.61.3"),
    _row(
        "struve(v, x)",
        "0.5*(struve(v - 1, x) - struve(v + 1, x) + (0.5*x)**v*rgamma(v + 1.5)/SQRT_PI)*dx",
        source="DLMF 11.4.27",
        refused="v",
        note=_ORDER,
    ),
    _row(
        "modstruve(v, x)",
        "0.5*(modstruve(v - 1, x) + modstruve(v + 1, x) + (0.5*x)**v*rgamma(v + 1.5)/SQRT_PI)*dx",
        source="DLMF 11.4.29",
        refused="v",
        note=_ORDER,
    ),
    _row("kn(n, x)", "-0.5*(kv(n - 1, x) + kv(n + 1, x))*dx", source="DLMF 10.29.1", refused="n", note=_ORDER),
    _row("yn(n, x)", "0.5*(yv(n - 1, x) - yv(n + 1, x))*dx", source="DLMF 10.6.1", refused="n", note=_ORDER),
    _row(
        "expn(n, x)",
        "-(expn(n - 1, x) if n > 0.5 else exp(-x)/x*(1 + 1/x))*dx",
        source="DLMF 8.19.13",
        refused="n",
        note=_ORDER,
    ),
    _row(
        "log_wright_bessel(a, b, x)",
        "exp(log_wright_bessel(a, a + b, x) - y)*dx",
        refused="a b",
        note=_ORDER,
    ),
    _row("wright_bessel(a, b, x)", "wright_bessel(a, a + b, x)*dx", refused="a b", note=_ORDER),
    # elliptic integrals; E and K differ by a symmetric integral, without cancellation
    _row("ellipk(m)", "(y - elliprd(0, 1 - m, 1)/3)/(2*(1 - m))*dm", source="DLMF 19.4.1, 19.25.1"),
    _row("ellipkm1(p)", "-(y - elliprd(0, p, 1)/3)/(2*p)*dp", source="DLMF 19.4.1, 19.25.1"),
    _row("ellipe(m)", "-elliprd(0, 1 - m, 1)/6*dm", source="DLMF 19.4.2, 19.25.1"),
    _row(
        "ellipkinc(x, m)",
        "dx/sqrt(1 - m*sin(x)*sin(x)) + (2*rint(x/PI)*elliprd(0, 1, 1 - m) + sin(x - PI*rint(x/PI))**3"
        "*elliprd(cos(x)*cos(x), 1, 1 - m*sin(x)*sin(x)))/6*dm",
        source="DLMF 19.4.1, 19.25.5",
    ),
    _row(
        "ellipeinc(x, m)",
        "sqrt(1 - m*sin(x)*sin(x))*dx - (2*rint(x/PI)*elliprd(0, 1 - m, 1) + sin(x - PI*rint(x/PI))**3"
        "*elliprd(cos(x)*cos(x), 1 - m*sin(x)*sin(x), 1))/6*dm",
        source="DLMF 19.4.2, 19.25.9",
    ),
    _row("elliprc(x, z)", "-elliprd(z, z, x)/6*dx - elliprd(x, z, z)/3*dz", source="DLMF 19.18.1"),
    _row(
        "elliprf(x, z, w)",
        "-(elliprd(z, w, x)*dx + elliprd(x, w, z)*dz + elliprd(x, z, w)*dw)/6",
        source="DLMF 19.18.1",
    ),
    _row(
        "elliprd(x, z, w)",
        "0.5*(elliprd(z, w, x) - y)/(x - w)*dx + 0.5*(elliprd(x, w, z) - y)/(z - w)*dz - (1.5*y"
        " + 0.5*x*(elliprd(z, w, x) - y)/(x - w) + 0.5*z*(elliprd(x, w, z) - y)/(z - w))/w*dw",
        note=_EQUAL,
        source="DLMF 19.18.1, 19.18.14",
    ),
    _row(
        "elliprg(x, z, w)",
        "0.25*((elliprf(x, z, w) - x*elliprd(z, w, x)/3)*dx + (elliprf(x, z, w) - z*elliprd(x, w, z)/3)*dz"
        " + (elliprf(x, z, w) - w*elliprd(x, z, w)/3)*dw)",
        source="DLMF 19.18.2",
    ),
    _row(
        "agm(a, b)",
        "2*y*y/(3*PI)*(abs(a)*elliprd(0, b*b, a*a)*da + abs(b)*elliprd(0, a*a, b*b)*db)",
        source="DLMF 19.8.5",
    ),
    _row("ellipj_0(u, m)", "ellipj_1(u, m)*ellipj_2(u, m)*du", source="DLMF 22.13.1", refused="m", note=_MODULUS),
    _row("ellipj_1(u, m)", "-ellipj_0(u, m)*ellipj_2(u, m)*du", source="DLMF 22.13.2", refused="m", note=_MODULUS),
    _row("ellipj_2(u, m)", "-m*ellipj_0(u, m)*ellipj_1(u, m)*du", source="DLMF 22.13.3", refused="m", note=_MODULUS),
    _row("ellipj_3(u, m)", "ellipj_2(u, m)*du", source="DLMF 22.16.3", refused="m", note=_MODULUS),
    # integrals of elementary functions
    _row("sici_0(x)", "sinc(x/PI)*dx", source="DLMF 6.2.9"),
    _row("sici_1(x)", "cos(x)/x*dx", source="DLMF 6.2.11"),
    _row("shichi_0(x)", "0.5*(exprel(x) + exprel(-x))*dx", source="DLMF 6.2.15"),
    _row("shichi_1(x)", "cosh(x)/x*dx", source="DLMF 6.2.16"),
    _row("fresnel_0(x)", "sin(0.5*PI*x*x)*dx", source="DLMF 7.2.8"),
    _row("fresnel_1(x)", "cos(0.5*PI*x*x)*dx", source="DLMF 7.2.7"),
    _row("exprel(x)", f"0.5*{weighted_exponential('x')}*dx", source="DLMF 13.3.15"),
    _row("powm1(x, p)", "p*x**(p - 1)*dx + (y + 1)*log(x)*dp"),
    _row(
        "wofz_0(x, z)",
        "-2*((x*y - z*wofz_1(x, z))*dx) + 2*(x*wofz_1(x, z) + z*y - 0.5*TWO_BY_SQRT_PI)*dz",
        source="DLMF 7.10.2",
    ),
    _row(
        "wofz_1(x, z)",
        "-2*((x*y + z*wofz_0(x, z) - 0.5*TWO_BY_SQRT_PI)*dx) - 2*(x*wofz_0(x, z) - z*y)*dz",
        source="DLMF 7.10.2",
    ),
    # Airy functions
    _row("airy_0(x)", "airy_1(x)*dx", source="DLMF 9.2.1"),
    _row("airy_1(x)", "x*airy_0(x)*dx", source="DLMF 9.2.1"),
    _row("airy_2(x)", "airy_3(x)*dx", source="DLMF 9.2.1"),
    _row("airy_3(x)", "x*airy_2(x)*dx", source="DLMF 9.2.1"),
    # those times `exp(2/3 * x**1.5)`, or its inverse
    _row("airye_0(x)", "(airye_1(x) + sqrt(maximum(x, 0))*y)*dx", source="DLMF 9.2.1"),
    _row("airye_1(x)", "(x*airye_0(x) + sqrt(maximum(x, 0))*y)*dx", source="DLMF 9.2.1"),
    _row("airye_2(x)", "(airye_3(x) - sqrt(maximum(x, 0))*y)*dx", source="DLMF 9.2.1"),
    _row("airye_3(x)", "(x*airye_2(x) - sqrt(maximum(x, 0))*y)*dx", source="DLMF 9.2.1"),
    _row("itairy_0(x)", "airy_0(x)*dx"),
    _row("itairy_1(x)", "airy_2(x)*dx"),
    _row("itairy_2(x)", "airy_0(-x)*dx"),
    _row("itairy_3(x)", "airy_2(-x)*dx"),
    # parabolic cylinder functions
    _row("pbdv_0(v, x)", "pbdv_1(v, x)*dx", refused="v", note=_ORDER),
    _row("pbdv_1(v, x)", "(0.25*x*x - v - 0.5)*pbdv_0(v, x)*dx", source="DLMF 12.2.4", refused="v", note=_ORDER),
    _row("pbvv_0(v, x)", "pbvv_1(v, x)*dx", refused="v", note=_ORDER),
    _row("pbvv_1(v, x)", "(0.25*x*x - v - 0.5)*pbvv_0(v, x)*dx", source="DLMF 12.2.4", refused="v", note=_ORDER),
    _row("pbwa_0(a, x)", "pbwa_1(a, x)*dx", refused="a", note=_ORDER),
    _row("pbwa_1(a, x)", "(a - 0.25*x*x)*pbwa_0(a, x)*dx", source="DLMF 12.14.1", refused="a", note=_ORDER),
    # integrals of Bessel and Struve functions
    _row("itj0y0_0(x)", "j0(x)*dx"),
    _row("itj0y0_1(x)", "y0(x)*dx"),
    _row("iti0k0_0(x)", "i0(x)*dx"),
    _row("iti0k0_1(x)", "k0(x)*dx"),
    _row("it2j0y0_0(x)", "(1 - j0(x))/x*dx"),
    _row("it2j0y0_1(x)", "-y0(x)/x*dx"),
    _row("it2i0k0_0(x)", "(i0(x) - 1)/x*dx"),
    _row("it2i0k0_1(x)", "-k0(x)/x*dx"),
    _row("itstruve0(x)", "struve(0, x)*dx"),
    _row("itmodstruve0(x)", "modstruve(0, x)*dx"),
    _row("it2struve0(x)", "-struve(0, x)/x*dx"),
    _row(
        "besselpoly(a, l, v)",
        "(-2*besselpoly(a, l + 1, 1) if v == 0 else besselpoly(a, l + 1, v - 1) - besselpoly(a, l + 1, v + 1))*da",
        source="DLMF 10.6.1",
        refused="l v",
        note=_ORDER,
    ),
    # spherical Bessel functions
    _row(
        "_spherical_jn(n, x)",
        "(n*_spherical_jn(n - 1 if n > 0.5 else 0, x) - (n + 1)*_spherical_jn(n + 1, x))/(2*n + 1)*dx",
        source="DLMF 10.51.2",
        refused="n",
        note=_ORDER,
    ),
    _row(
        "_spherical_yn(n, x)",
        "(n*_spherical_yn(n - 1 if n > 0.5 else 0, x) - (n + 1)*_spherical_yn(n + 1, x))/(2*n + 1)*dx",
        source="DLMF 10.51.2",
        refused="n",
        note=_ORDER,
    ),
    _row(
        "_spherical_in(n, x)",
        "(n*_spherical_in(n - 1 if n > 0.5 else 0, x) + (n + 1)*_spherical_in(n + 1, x))/(2*n + 1)*dx",
        source="DLMF 10.51.5",
        refused="n",
        note=_ORDER,
    ),
    _row(
        "_spherical_kn(n, x)",
        "-(n*_spherical_kn(n - 1 if n > 0.5 else 0, x) + (n + 1)*_spherical_kn(n + 1, x))/(2*n + 1)*dx",
        source="DLMF 10.51.5",
        refused="n",
        note=_ORDER,
    ),
    # zeta functions
    _row("_zeta(x, q)", "-x*_zeta(x + 1, q)*dq", source="DLMF 25.11.17", refused="x", note=_ORDER),
    _row("_riemann_zeta(x)", "0*dx", refused="x", note=_ORDER),
    _row("zetac(x)", "0*dx", refused="x", note=_ORDER),
    # orthogonal polynomials
    _row("eval_legendre(n, x)", "eval_gegenbauer(n - 1, 1.5, x)*dx", source=_GEGENBAUER, refused="n", note=_ORDER),
    _row(
        "eval_sh_legendre(n, x)",
        "2*eval_gegenbauer(n - 1, 1.5, 2*x - 1)*dx",
        source=_GEGENBAUER,
        refused="n",
        note=_ORDER,
    ),
    _row("eval_chebyt(n, x)", "n*eval_chebyu(n - 1, x)*dx", source="DLMF 18.9.21", refused="n", note=_ORDER),
    _row("eval_chebyu(n, x)", "2*eval_gegenbauer(n - 1, 2, x)*dx", source=_GEGENBAUER, refused="n", note=_ORDER),
    _row("eval_chebyc(n, x)", "n*eval_chebys(n - 1, x)*dx", source="DLMF 18.9.21", refused="n", note=_ORDER),
    _row("eval_chebys(n, x)", "eval_gegenbauer(n - 1, 2, 0.5*x)*dx", source=_GEGENBAUER, refused="n", note=_ORDER),
    _row("eval_sh_chebyt(n, x)", "2*n*eval_sh_chebyu(n - 1, x)*dx", source="DLMF 18.9.21", refused="n", note=_ORDER),
    _row(
        "eval_sh_chebyu(n, x)", "4*eval_gegenbauer(n - 1, 2, 2*x - 1)*dx", source=_GEGENBAUER, refused="n", note=_ORDER
    ),
    _row(
        "eval_gegenbauer(n, a, x)",
        "2*a*eval_gegenbauer(n - 1, a + 1, x)*dx",
        source=_GEGENBAUER,
        refused="n a",
        note=_ORDER,
    ),
    _row(
        "eval_jacobi(n, a, b, x)",
        "0.5*(n + a + b + 1)*eval_jacobi(n - 1, a + 1, b + 1, x)*dx",
        source="DLMF 18.9.15",
        refused="n a b",
        note=_ORDER,
    ),
    _row(
        "eval_sh_jacobi(n, p, q, x)",
        "n*eval_sh_jacobi(n - 1 if n > 0.5 else 0, p + 2, q + 1, x)*dx",
        source="DLMF 18.9.15",
        refused="n p q",
        note=_ORDER,
    ),
    _row("eval_laguerre(n, x)", "-eval_genlaguerre(n - 1, 1, x)*dx", source="DLMF 18.9.23", refused="n", note=_ORDER),
    _row(
        "eval_genlaguerre(n, a, x)",
        "-eval_genlaguerre(n - 1, a + 1, x)*dx",
        source="DLMF 18.9.23",
        refused="n a",
        note=_ORDER,
    ),
    _row(
        "eval_hermite(n, x)",
        "2*n*eval_hermite(n - 1 if n > 0.5 else 0, x)*dx",
        source="DLMF 18.9.25",
        refused="n",
        note=_ORDER,
    ),
    _row(
        "eval_hermitenorm(n, x)",
        "n*eval_hermitenorm(n - 1 if n > 0.5 else 0, x)*dx",
        source="DLMF 18.9.27",
        refused="n",
        note=_ORDER,
    ),
    _row(
        "lpmv(m, v, x)",
        "(v*x*y - (v + m)*lpmv(m, v - 1, x))/((x - 1)*(x + 1))*dx",
        source="DLMF 14.10.5",
        refused="m v",
        note=_ORDER,
    ),
    # hypergeometric functions
    _row("hyp0f1(v, x)", "hyp0f1(v + 1, x)/v*dx", source="DLMF 16.3.1", refused="v", note=_ORDER),
    _row("hyp1f1(a, b, x)", "a/b*hyp1f1(a + 1, b + 1, x)*dx", source="DLMF 13.3.15", refused="a b", note=_ORDER),
    _row(
        "hyp2f1(a, b, c, x)",
        "a*b/c*hyp2f1(a + 1, b + 1, c + 1, x)*dx",
        source="DLMF 15.5.1",
        refused="a b c",
        note=_ORDER,
    ),
    _row("hyperu(a, b, x)", "-a*hyperu(a + 1, b + 1, x)*dx", source="DLMF 13.3.22", refused="a b", note=_ORDER),
)

SCIPY_SPECIAL = join(_FUNCTIONS, DISTRIBUTIONS)
