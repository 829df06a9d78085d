"""What the derivatives are compared with: each function again, in mpmath, and where to sample it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath as mp

Point = dict[str, Any]  # in the order of the parameters


def _one(*numbers: float) -> list[Point]:
    return [{"x": number} for number in numbers]


def _two(*pairs: tuple[float, float]) -> list[Point]:
    return [{"x": x, "z": z} for x, z in pairs]


def _floor_mod(x: Any, z: Any) -> Any:
    return x - z * mp.floor(x / z)


def _trunc_mod(x: Any, z: Any) -> Any:
    return x - z * (mp.floor(x / z) if x / z > 0 else mp.ceil(x / z))


def _sinc(x: Any) -> Any:
    return mp.sincpi(x)


def _polygamma(n: int, x: Any) -> Any:
    return mp.polygamma(n, x)


def _sinc_derivative(n: int, x: Any) -> Any:
    # by its power series, which has no removable singularity; 60 terms are far more than |x| < 4 needs
    z, scale = mp.pi * x, mp.pi**n
    first = (n + 1) // 2
    terms = ((-1) ** k * z ** (2 * k - n) / (mp.factorial(2 * k - n) * (2 * k + 1)) for k in range(first, first + 60))
    return scale * mp.fsum(terms)


ALL = _one(-7.3, -1.2, -0.4, 0.3, 0.9, 2.1, 11.7)
POSITIVE = _one(1e-3, 0.4, 1.0, 1.7, 23.0)
PAIRS = _two((0.3, 1.2), (-1.7, 0.6), (2.5, -0.9), (-0.8, -2.2), (12.0, 5.3))

# heading -> (the function, its sample points)
REFERENCES: dict[str, tuple[Callable[..., Any], list[Point]]] = {
    "x + z": (lambda x, z: x + z, PAIRS),
    "x - z": (lambda x, z: x - z, PAIRS),
    "x * z": (lambda x, z: x * z, PAIRS),
    "x / z": (lambda x, z: x / z, PAIRS),
    "-x": (lambda x: -x, ALL),
    "+x": (lambda x: x, ALL),
    "x % z": (_floor_mod, PAIRS),
    "fmod(x, z)": (_trunc_mod, PAIRS),
    "x ** z": (lambda x, z: x**z, _two((0.3, 1.2), (1.7, -2.6), (5.0, 0.5), (2.0, 3.0), (1.5, 0.0), (0.7, 1.0))),
    "square(x)": (lambda x: x * x, ALL),
    "reciprocal(x)": (lambda x: 1 / x, ALL),
    "sqrt(x)": (mp.sqrt, POSITIVE),
    "cbrt(x)": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), ALL),
    "hypot(x, z)": (mp.hypot, PAIRS),
    "ldexp(x, n)": (lambda x, n: x * 2**n, [{"x": 1.3, "n": 3}, {"x": -0.2, "n": -7}]),
    "exp(x)": (mp.exp, ALL),
    "exp2(x)": (lambda x: mp.mpf(2) ** x, ALL),
    "expm1(x)": (mp.expm1, [*ALL, {"x": -40.0}]),
    "log(x)": (mp.log, POSITIVE),
    "log2(x)": (lambda x: mp.log(x, 2), POSITIVE),
    "log10(x)": (mp.log10, POSITIVE),
    "log1p(x)": (mp.log1p, [*POSITIVE, {"x": -0.7}]),
    "logaddexp(x, z)": (lambda x, z: mp.log(mp.exp(x) + mp.exp(z)), [*PAIRS, *_two((1.0, 1.0), (700.0, 701.0))]),
    "logaddexp2(x, z)": (lambda x, z: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** z, 2), [*PAIRS, *_two((1.0, 1.0))]),
    "sin(x)": (mp.sin, ALL),
    "cos(x)": (mp.cos, ALL),
    "tan(x)": (mp.tan, ALL),
    "arcsin(x)": (mp.asin, _one(-0.999999, -0.3, 0.2, 0.9)),
    "arccos(x)": (mp.acos, _one(-0.999999, -0.3, 0.2, 0.9)),
    "arctan(x)": (mp.atan, ALL),
    "arctan2(x, z)": (mp.atan2, PAIRS),
    "sinh(x)": (mp.sinh, ALL),
    "cosh(x)": (mp.cosh, ALL),
    "tanh(x)": (mp.tanh, _one(-1.2, -0.4, 0.3, 2.1)),
    "arcsinh(x)": (mp.asinh, ALL),
    "arccosh(x)": (mp.acosh, _one(1.000001, 1.5, 30.0)),
    "arctanh(x)": (mp.atanh, _one(-0.999999, -0.3, 0.2, 0.9)),
    "deg2rad(x)": (mp.radians, ALL),
    "rad2deg(x)": (mp.degrees, ALL),
    "sinc(x)": (_sinc, [*ALL, *_one(1e-9, 0.05, 0.31, 0.32, 1.0)]),
    "sinc_derivative(n, x)": (_sinc_derivative, [{"n": n, "x": x} for n in (0, 1, 4) for x in (0.02, -0.7, 3.3)]),
    "abs(x)": (abs, ALL),
    "copysign(x, z)": (lambda x, z: abs(x) * mp.sign(z), PAIRS),
    "maximum(x, z)": (max, PAIRS),
    "minimum(x, z)": (min, PAIRS),
    "fmax(x, z)": (max, PAIRS),
    "fmin(x, z)": (min, PAIRS),
    "max(x, z)": (max, PAIRS),
    "min(x, z)": (min, PAIRS),
    "x if c else z": (lambda c, x, z: x if c else z, [{"c": c, "x": 0.3, "z": 0.7} for c in (True, False)]),
    "nan_to_num(x)": (lambda x: x, ALL),
    "known(x, z)": (lambda x, z: z, PAIRS),
    "strong(x, z)": (lambda x, z: x * z, PAIRS),
    "nextafter(x, z)": (lambda x, z: x, PAIRS),
    "cast.float64(x)": (lambda x: x, ALL),
    "erf(x)": (mp.erf, ALL),
    "erfc(x)": (mp.erfc, ALL),
    "gamma(x)": (mp.gamma, ALL),
    "lgamma(x)": (lambda x: mp.log(abs(mp.gamma(x))), ALL),
    "lambert_w(k, x)": (
        lambda k, x: mp.re(mp.lambertw(x, k)),
        [{"k": 0, "x": x} for x in (-0.36, -0.2, 0.0, 0.7, 30.0, 1e200)] + [{"k": -1, "x": x} for x in (-0.36, -0.01)],
    ),
    "polygamma(n, x)": (_polygamma, [{"n": n, "x": x} for n in (0, 1, 4) for x in (0.2, 1.46, 7.0, -0.6)]),
}


def along(function: Callable[..., Any], point: Point, directions: dict[str, float], order: int) -> float:
    """The derivative of some order of `function` at `point` along `directions`."""
    return _along(function, tuple((value, directions.get(name)) for name, value in point.items()), order)


@cache  # rows of one heading ask for the same
def _along(function: Callable[..., Any], point: tuple[tuple[Any, float | None], ...], order: int) -> float:
    def line(t: Any) -> Any:
        moved = [value if speed is None else mp.mpf(value) + t * mp.mpf(speed) for value, speed in point]
        return function(*moved)

    with mp.workdps(40):
        return float(mp.diff(line, 0, order, h=mp.mpf(10) ** -12))
