"""Make the polynomials of the runtime's elementary functions: `python -m tools.coefficients [NAME ...]`.

Each is the polynomial of its degree with the least largest error, found by Remez's exchange in many
digits (Muller, Elementary Functions, chapter 3), its coefficients then rounded to float64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import mpmath as mp

_DIGITS = 50
_ROUNDS = 12
# the error's extremes are looked for on so many points per node
_DENSITY = 12
_LEVEL = "1.001"

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Target:
    """A function to approximate.

    function  by mpmath; called near 0 too, where it must not cancel
    weight    what an error of the polynomial does to the result, relative to the result
    low, high the interval, as functions of no argument, as they need the digits
    count     of coefficients
    """

    function: Function
    weight: Function
    low: Callable[[], Any]
    high: Callable[[], Any]
    count: int


def _of_square(odd: Function, first: Callable[[], Any], terms: Callable[[Any], Any]) -> Function:
    """`(odd(x) / x - first) / x**2` as a function of x**2, by its series where that cancels."""

    def function(square: Any) -> Any:
        if square < mp.mpf("1e-12"):
            return terms(square)
        x = mp.sqrt(square)
        return (odd(x) / x - first()) / square

    return function


def _exponential(r: Any) -> Any:
    if abs(r) < mp.mpf("1e-8"):
        return mp.mpf(1) / 2 + r / 6 + r * r / 24
    return (mp.expm1(r) - r) / r**2


def _cosine(square: Any) -> Any:
    if square < mp.mpf("1e-10"):
        return mp.mpf(1) / 24 - square / 720
    return (mp.cos(mp.sqrt(square)) - 1 + square / 2) / square**2


def _sine_rest(square: Any) -> Any:
    """What the sine has beside its first two terms, the second with -1/6 rounded to float64."""
    if square < mp.mpf("1e-10"):
        return mp.mpf(1) / 120 - square / 5040
    x = mp.sqrt(square)
    return ((mp.sin(x) / x - 1) / square + mp.mpf(1 / 6)) / square


def _hyperbolic_cosine(square: Any) -> Any:
    if square < mp.mpf("1e-10"):
        return mp.mpf(1) / 2 + square / 24
    return (mp.cosh(mp.sqrt(square)) - 1) / square


def _log_rest(square: Any) -> Any:
    if square < mp.mpf("1e-9"):
        return mp.mpf(2) / 5 + 2 * square / 7 + 2 * square**2 / 9
    s = mp.sqrt(square)
    return ((2 * mp.atanh(s) / s - 2) / square - mp.mpf(2) / 3) / square


def _erf_near(square: Any) -> Any:
    if square < mp.mpf("1e-20"):
        return 2 / mp.sqrt(mp.pi) - 1
    return mp.erf(mp.sqrt(square)) / mp.sqrt(square) - 1


def _lgamma_at_two(t: Any) -> Any:
    if abs(t) < mp.mpf("1e-12"):
        return mp.psi(1, 2) / 2 + t * mp.psi(2, 2) / 6
    return (mp.loggamma(2 + t) / t - mp.psi(0, 2)) / t


def _stirling(square: Any) -> Any:
    """What Stirling's formula lacks, times x, as a function of 1 / x**2."""
    if square < mp.mpf("1e-10"):
        return mp.mpf(1) / 12 - square / 360 + square**2 / 1260
    x = 1 / mp.sqrt(square)
    return x * (mp.loggamma(x) - (x - mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


@functools.cache
def _digamma_zero(_digits: int) -> Any:
    """The positive zero of digamma, less 3/2, to so many digits."""
    return mp.findroot(lambda x: mp.psi(0, x), 1.46) - mp.mpf(3) / 2


def _digamma_slope(t: Any) -> Any:
    """digamma(3/2 + t), divided by how far that is from the zero."""
    zero = _digamma_zero(mp.mp.dps)
    close = abs(t - zero) < mp.mpf("1e-20")
    return mp.psi(1, zero + mp.mpf(3) / 2) if close else mp.psi(0, mp.mpf(3) / 2 + t) / (t - zero)


@functools.cache
def _digamma_slope_at_zero(_digits: int) -> Any:
    return _digamma_slope(mp.mpf(0))


def _digamma_around(t: Any) -> Any:
    if abs(t) <= mp.mpf("1e-20"):
        return mp.diff(_digamma_slope, 0)
    return (_digamma_slope(t) - _digamma_slope_at_zero(mp.mp.dps)) / t


def _digamma_beyond(square: Any) -> Any:
    """log(x) - 1 / (2 x) - digamma(x), times x**2, as a function of 1 / x**2."""
    if square < mp.mpf("1e-10"):
        return mp.mpf(1) / 12 - square / 120 + square**2 / 252
    x = 1 / mp.sqrt(square)
    return (mp.log(x) - 1 / (2 * x) - mp.psi(0, x)) / square


def _just_above_zero() -> Any:
    return mp.mpf("1e-14")


def _half_log_two() -> Any:
    return mp.log(2) / 2 * mp.mpf("1.0001")


def _largest_s() -> Any:
    return (3 - mp.sqrt(8)) ** 2 * mp.mpf("1.0001")


def _half_log_two_squared() -> Any:
    return _half_log_two() ** 2


def _quarter_pi() -> Any:
    return (mp.pi / 4 * mp.mpf("1.0001")) ** 2


TARGETS = {
    "exp_log.EXP": Target(
        # the constant keeps the weight from vanishing
        _exponential, lambda r: r**2 + mp.mpf(1) / 200, lambda: -_half_log_two(), _half_log_two, 10
    ),
    "exp_log.LOG": Target(
        _of_square(lambda s: 2 * mp.atanh(s), lambda: 2, lambda z: mp.mpf(2) / 3 + 2 * z / 5),
        lambda z: z, _just_above_zero, _largest_s, 7,
    ),
    "powers.LOG_REST": Target(_log_rest, lambda z: z * z / 2, _just_above_zero, _largest_s, 8),
    "trigonometric.SIN_OF_HALF": Target(
        _sine_rest, lambda z: z**2 * mp.sqrt(z) / mp.sin(mp.sqrt(z)), _just_above_zero, lambda: 4 * _quarter_pi(), 7
    ),
    "trigonometric.SIN": Target(
        _of_square(mp.sin, lambda: 1, lambda z: -mp.mpf(1) / 6 + z / 120),
        lambda z: z, _just_above_zero, _quarter_pi, 6,
    ),
    "trigonometric.COS": Target(
        _cosine, lambda z: z**2 / mp.cos(mp.sqrt(z)), _just_above_zero, _quarter_pi, 6
    ),
    "trigonometric.ARCTAN": Target(
        _of_square(mp.atan, lambda: 1, lambda z: -mp.mpf(1) / 3 + z / 5),
        lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)), _just_above_zero, lambda: mp.mpf("0.391"), 14,
    ),
    "hyperbolic.SINH": Target(
        _of_square(mp.sinh, lambda: 1, lambda z: mp.mpf(1) / 6 + z / 120),
        lambda z: z, _just_above_zero, _half_log_two_squared, 5,
    ),
    "hyperbolic.COSH": Target(_hyperbolic_cosine, lambda z: z, _just_above_zero, _half_log_two_squared, 5),
    "error_function.NEAR": Target(_erf_near, lambda z: mp.mpf(1), _just_above_zero, lambda: mp.mpf(1), 12),
    "error_function.FAR": Target(
        lambda t: -mp.log(mp.erfc(1 + t)), lambda t: mp.erfc(1 + t) / mp.erf(1 + t),
        lambda: mp.mpf(0), lambda: mp.mpf("4.95"), 17,
    ),
    "gamma_function.AT_TWO": Target(
        _lgamma_at_two, lambda t: abs(t) + mp.mpf(1) / 10, lambda: -mp.mpf("0.5"), lambda: mp.mpf("0.5"), 17
    ),
    "gamma_function.STIRLING": Target(
        # a hundredth of the result, which is above 9, counts
        _stirling, lambda z: mp.mpf(1) / 70, _just_above_zero, lambda: 1 / mp.mpf("8.5") ** 2, 6
    ),
    "gamma_function.AROUND_ZERO": Target(
        _digamma_around, lambda t: abs(t) + mp.mpf(1) / 10, lambda: -mp.mpf("0.5"), lambda: mp.mpf("0.5"), 21
    ),
    "gamma_function.BEYOND": Target(
        _digamma_beyond, lambda z: mp.mpf(1) / 100, _just_above_zero, lambda: 1 / mp.mpf("8.5") ** 2, 6
    ),
}  # fmt: skip


def coefficients(target: Target) -> tuple[list[float], float]:
    """The coefficients, lowest power first, and the largest weighted error as a power of two."""
    with mp.workdps(_DIGITS):
        low, high = target.low(), target.high()
        middle, half = (low + high) / 2, (high - low) / 2

        def function(s: Any) -> Any:
            return target.function(middle + half * s)

        def weight(s: Any) -> Any:
            return target.weight(middle + half * s)

        found, error = _remez(function, weight, target.count)
        # from s = (t - middle) / half back to t
        shifted = [mp.mpf(0)] * target.count
        for k, coefficient in enumerate(found):
            for j in range(k + 1):
                shifted[j] += coefficient * mp.binomial(k, j) * (-middle) ** (k - j) / half**k
        return [float(one) for one in shifted], float(mp.log(error, 2))


def _remez(function: Function, weight: Function, count: int) -> tuple[list[Any], Any]:
    """The best polynomial on [-1, 1] with so many coefficients, and its largest weighted error."""
    nodes = [-mp.cos(mp.pi * (k + mp.mpf(1) / 2) / (count + 1)) for k in range(count + 1)]
    for _ in range(_ROUNDS):
        found = _levelled(function, weight, nodes, count)

        def error(s: Any, found: list[Any] = found) -> Any:
            return weight(s) * (function(s) - _value(found, s))

        peaks = _alternating(_peaks(error, _DENSITY * (count + 1)), count + 1)
        if len(peaks) < count + 1:
            break
        nodes = [s for s, _ in peaks]
        sizes = [abs(height) for _, height in peaks]
        if max(sizes) < min(sizes) * mp.mpf(_LEVEL):
            break
    return found, max(abs(height) for _, height in _peaks(error, _DENSITY * (count + 1)))


def _value(polynomial: list[Any], s: Any) -> Any:
    """By Horner's rule."""
    total = mp.mpf(0)
    for coefficient in reversed(polynomial):
        total = total * s + coefficient
    return total


def _levelled(function: Function, weight: Function, nodes: list[Any], count: int) -> list[Any]:
    """The polynomial whose weighted errors at the nodes are equal in size and alternate in sign."""
    matrix = mp.matrix(count + 1, count + 1)
    right = mp.matrix(count + 1, 1)
    for i, s in enumerate(nodes):
        for k in range(count):
            matrix[i, k] = s**k
        matrix[i, count] = (-1) ** i / weight(s)
        right[i, 0] = function(s)
    solution = mp.lu_solve(matrix, right)
    return [solution[k] for k in range(count)]


def _peaks(error: Function, steps: int) -> list[tuple[Any, Any]]:
    """Where the error is largest, by sign: extremes on a grid, moved to the tops of parabolas."""
    grid = [-mp.cos(mp.pi * k / steps) for k in range(steps + 1)]
    values = [error(s) for s in grid]
    found = []
    for k in range(steps + 1):
        sign = 1 if values[k] > 0 else -1
        around = [values[j] for j in (k - 1, k + 1) if 0 <= j <= steps]
        if all(sign * values[k] >= sign * other for other in around):
            top = _top(grid[k - 1 : k + 2], values[k - 1 : k + 2]) if 0 < k < steps else None
            found.append((grid[k], values[k]) if top is None else (top, error(top)))
    return found


def _top(x: list[Any], y: list[Any]) -> Any:
    """The extreme of the parabola through three points, if it lies between them."""
    first = (y[1] - y[0]) / (x[1] - x[0])
    second = ((y[2] - y[1]) / (x[2] - x[1]) - first) / (x[2] - x[0])
    if second == 0:
        return None
    top = (x[0] + x[1]) / 2 - first / (2 * second)
    return top if x[0] < top < x[2] else None


def _alternating(peaks: list[tuple[Any, Any]], count: int) -> list[tuple[Any, Any]]:
    """The largest peaks of alternating sign, `count` of them if there are as many."""
    found: list[tuple[Any, Any]] = []
    for peak in peaks:
        if not found or (found[-1][1] > 0) != (peak[1] > 0):
            found.append(peak)
        elif abs(peak[1]) > abs(found[-1][1]):
            found[-1] = peak
    while len(found) > count:
        found.pop(0 if abs(found[0][1]) < abs(found[-1][1]) else -1)
    return found


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(TARGETS)))
def main(names: tuple[str, ...]) -> None:
    """Print the polynomials as the runtime has them."""
    for name in names or TARGETS:
        found, error = coefficients(TARGETS[name])
        click.echo(f"# {name}: before rounding 2**{error:.1f}")
        click.echo("\n".join(["(", *(f"    {one!r}," for one in found), ")"]))


if __name__ == "__main__":
    main()
