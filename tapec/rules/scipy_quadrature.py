"""Integrals of functions: `quad` and its kin of `scipy.integrate`.

An interval is bisected where Gauss and Kronrod's rules of 10 and 21 points differ, as by QUADPACK (Piessens and others,
1983), to a thousandth of the tolerance.  Which parts there are does not depend on what is differentiated: the sum over
them is, with respect to the limits and to whatever the function depends on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import stop_gradient

# half of the points between -1 and 1, their weights, and those of every second one by Gauss's rule
_PLACES = np.array([
    *(0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508),
    *(0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874),
    *(0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866),
    *(0.14887433898163121088482600112972, 0.0),
])  # fmt: skip
_KRONROD = np.array([
    *(0.011694638867371874278064396062192, 0.03255816230796472747881897245938976, 0.05475589657435199603138130024458),
    *(0.07503967481091995276704314091619, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805),
    *(0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717),
    *(0.147739104901338491374841515972068, 0.149445554002916905664936468389821),
])  # fmt: skip
_GAUSS = np.array([
    *(0.0, 0.066671344308688137593568809893332, 0.0, 0.149451349150580593145863396957658, 0.0),
    *(0.219086362515982043995534934228163, 0.0, 0.269266719309996355091226921569469, 0.0),
    *(0.295524224714752870173815619188769, 0.0),
])  # fmt: skip
_POINTS = np.concatenate((-_PLACES[:10], _PLACES[::-1]))
_WEIGHTS = np.concatenate((_KRONROD[:10], _KRONROD[::-1]))
_APART = _WEIGHTS - np.concatenate((_GAUSS[:10], _GAUSS[::-1]))
# as many parts as a singularity at an end takes
_MOST = 200


def _at(u, a, b):
    """Where a place between 0 and 1 is between limits, and how fast it moves there."""
    if np.isinf(a):
        # from both sides at once
        if np.isinf(b):
            return u / (1.0 - u * u), (1.0 + u * u) / ((1.0 - u * u) * (1.0 - u * u))
        return b - (1.0 - u) / u, 1.0 / (u * u)
    if np.isinf(b):
        return a + (1.0 - u) / u, 1.0 / (u * u)
    return a + u * (b - a), b - a


def _mesh(function, args, a, b, absolute, relative):
    """The ends of the parts, how many there are, and the estimate of the error."""
    lows, highs, values, errors, sizes = np.zeros((5, _MOST))
    lows[0] = -1.0 if np.isinf(a) and np.isinf(b) else 0.0
    highs[0] = 1.0
    count, done, again, error = 1, 0, -1, 0.0
    while True:
        if done == count and again < 0:
            error = np.sum(errors[:count])
            wanted = max(absolute, relative * abs(np.sum(values[:count])))
            # nothing is greater than nan
            if not error > max(1e-3 * wanted, 1e-13 * np.sum(sizes[:count])):
                break
            if count == _MOST:
                raise ValueError("scipy.integrate.quad does not converge: split the interval at singularities")
            again = int(np.argmax(errors[:count]))
            lows[count], highs[count] = 0.5 * (lows[again] + highs[again]), highs[again]
            highs[again] = lows[count]
            count += 1
        if again >= 0:
            part, again = again, -1
        else:
            part = done
            done += 1
        half, middle = 0.5 * (highs[part] - lows[part]), 0.5 * (highs[part] + lows[part])
        value, apart, size = 0.0, 0.0, 0.0
        for k in range(21):
            x, speed = _at(middle + half * _POINTS[k], a, b)
            found = function(x, *args) * speed
            value += _WEIGHTS[k] * found
            apart += _APART[k] * found
            size += _WEIGHTS[k] * abs(found)
        values[part], sizes[part] = half * value, half * size
        errors[part] = abs(half * apart)
        # QUADPACK's estimate
        if 0.0 < errors[part] < sizes[part]:
            errors[part] = sizes[part] * min(1.0, (200.0 * errors[part] / sizes[part]) ** 1.5)
    return lows, highs, count, error


def quad(
    func, a, b, args=(), full_output=0, epsabs=1.49e-8, epsrel=1.49e-8, limit=50,
    points=None, weight=None, wvar=None, wopts=None, maxp1=50, limlst=50, complex_func=False,
):  # fmt: skip
    """The integral of a function of a number, and an estimate of the error, which has no derivative."""
    if full_output or points is not None or weight is not None or complex_func:
        raise ValueError("scipy.integrate.quad is taken without full_output, points, weight and complex_func")
    others = args if isinstance(args, tuple) else (args,)
    low = stop_gradient(a)
    high = stop_gradient(b)
    lows, highs, count, error = _mesh(func, others, low, high, epsabs, epsrel)
    total = 0.0
    for part in range(count):
        half, middle = 0.5 * (highs[part] - lows[part]), 0.5 * (highs[part] + lows[part])
        for k in range(21):
            x, speed = _at(middle + half * _POINTS[k], a, b)
            total += half * _WEIGHTS[k] * func(x, *others) * speed
    return total, stop_gradient(error)


def dblquad(func, a, b, gfun, hfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8):
    """The integral of a function of `y` and `x`, from `gfun(x)` to `hfun(x)`, and an estimate of the error."""

    def inner(x):
        low = gfun(x) if callable(gfun) else gfun
        high = hfun(x) if callable(hfun) else hfun
        return quad(func, low, high, (x,) + args, epsabs=epsabs, epsrel=epsrel)[0]

    return quad(inner, a, b, epsabs=epsabs, epsrel=epsrel)


FUNCTIONS: dict[str, Callable[..., Any]] = {"quad": quad, "dblquad": dblquad}
