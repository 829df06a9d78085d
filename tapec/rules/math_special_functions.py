"""Special functions of `math`, NumPy and our own runtime; SciPy's are in `scipy_special_formulas.py`.

DLMF is the NIST Digital Library of Mathematical Functions, dlmf.nist.gov."""

from __future__ import annotations

from tapec.rules.table import rule, table

_POLES = "at 0 the limit from the right, at the other poles nan"

SPECIAL = table(
    rule("erf(x)", "TWO_BY_SQRT_PI*exp(-x*x)*dx", source="DLMF 7.2.1"),
    rule("erfc(x)", "-TWO_BY_SQRT_PI*exp(-x*x)*dx", source="DLMF 7.2.2"),
    rule("gamma(x)", "y*polygamma(0, x)*dx", source="DLMF 5.2.2", note=_POLES),
    rule("lgamma(x)", "polygamma(0, x)*dx", source="DLMF 5.2.2", note=_POLES),
    rule("polygamma(n, x)", "polygamma(n + 1, x)*dx", source="DLMF 5.15.1", note="n is an integer, at least 0"),
    rule(
        "lambert_w(k, x)",
        "(exp(-y) if abs(x) < 1e-3 and y > -1 else y/x)/(1 + y)*dx",
        source="DLMF 4.13.4",
        note="k is the branch, 0 or -1; at -1/e infinite",
    ),
    rule("sinc(x)", "sinc_derivative(1, x)*dx"),
    rule("sinc_derivative(n, x)", "sinc_derivative(n + 1, x)*dx", note="n is an integer, at least 0"),
)
