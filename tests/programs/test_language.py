"""One small test for each construct of the language."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np
import pytest
from numba import njit, prange

from tests.oracles import Case, Cases, arr, check
from tests.sampling import sampled

cases = Cases()

Point = namedtuple("Point", ["x", "y"])


@cases((1.3, 0.6), compiled="reverse")
def arithmetic(x, y):
    return x + y * x - y / x + (-x) ** 2 + +y + x**3 - y**x + x // 0.4 + x % 0.4 + 7 % y


@cases((1.3, 5, 3), compiled="both")
def integer_arithmetic(x, n, m):
    k = (n & m) + (n | m) * 2 - (n ^ m) + (n << 1) + (n >> 1) + ~m + n // m + n % m + n**m + -n
    return x * k + (n / m) * x


@cases((1.3, 0.2), (0.2, 1.3), (0.5, 0.6))
def chained_comparisons(x, y):
    s = x * y
    if 0.1 < x < y < 2.0:
        s += x * x
    if not (y <= x != 0.4) or x == y:
        s *= 3.0
    return s if 0 < s <= 1 else s * s


@cases((1.3, 0.2), (0.2, 1.3))
def boolean_operators(x, y):
    big = x > 1.0
    both = big and y < 0.5
    either = y > 1.0 or big
    s = 0.0
    if both and not (y > 3.0):
        s += x * y
    if either or both:
        s += x
    return s * (2.0 if both else y)


@cases((1.3,))
def walrus(x):
    if (y := x * x) > 1.0:
        return y + (z := y * 2.0) * z
    return y


@cases((arr(3), 1.5))
def augmented_assignments(a, x):
    x += a[0]
    x -= 2
    x *= a[1]
    x /= a[2]
    x **= 2
    a[0] += x
    a[1] -= a[0]
    a[2] *= x
    a[0] /= 3.0
    a[1:] **= 2
    k = 7
    k //= 2
    k %= 2
    k <<= 3
    return a.sum() * k + x


@cases((1.3, 0.4))
def tuples(x, y):
    a, b = x * y, x + y
    a, b = b, a
    (c, d), e = (a, b), y
    t = (a, b, c) + (d,)
    u = t[1:]
    return t[-1] * u[0] + len(t) * e + sum(t)


@cases((1.3, 0.4))
def starred_unpacking(x, y):
    first, *middle, last = x, y, x * y, 2.0
    return first * middle[0] + middle[1] ** 2 * last + len(middle)


@cases((1.3, 0.4))
def named_tuples(x, y):
    p = Point(x * y, y=x)
    q = Point(p.y, p.x)
    return p.x * q.x + p[1] + q.y**2


@cases((Point(1.3, 0.4),), compiled="reverse")
def named_tuple_argument(p):
    return p.x * p.x * p.y


@cases(((1.3, (0.4, arr(3))), 2.0))
def nested_tuple_argument(t, c):
    x, (y, a) = t
    return c * x * y * a.sum(), (x, a * y)


@cases((arr(2, 3), 1.5))
def for_over_arrays(m, x):
    s = 0.0
    for row in m:
        for v in row:
            s += v * v * x
        s *= row[0]
    return s


@cases((arr(4), arr(3), 1.2))
def enumerate_zip_reversed(a, b, x):
    s = 0.0
    for i, v in enumerate(a):
        s += i * v * x
    for k, (v, w) in enumerate(zip(a, b), 1):
        s += v * w**k
    for v in reversed(b):
        s = s * 0.5 + v
    for i in reversed(range(1, 4)):
        s = s * 0.5 + a[i]
    for v, n in zip((x, s), range(2)):
        s += v * n
    return s


@cases((arr(8),))
def ranges(a):
    s = 1.0
    for i in range(7, -1, -3):
        s = s * a[i] + 1.0
    for i in range(1, 8, 2):
        s += a[i] ** 2
    for i in range(-2, 3, 2):
        s += a[i] * s
    for i in range(3, 3):
        s = a[i]
    return s


@cases((1.2,), compiled="reverse")
def for_over_tuples(x):
    s = 0.0
    for c in (1.0, 2.5, x):
        s += c * x
    for k, c in ((1, x), (2, 3.0)):
        s += c**k
    return s


@cases((arr(4), 2.0), compiled="reverse")
def list_comprehensions_and_append(a, x):
    squares = [v * x for v in a if v > 0.5]
    rows = []
    for i in range(3):
        rows.append(a[i] * a[i + 1])
    rows[1] = rows[0] * x
    s = 0.0
    for v in squares:
        s += v * v
    for i in range(len(rows)):
        s += rows[i] * i
    return s + rows[-1] + sum(squares)


@cases((arr(4),))
def arrays_from_lists(a):
    b = np.array([a[0], 2.0, a[1] * a[2]])
    c = np.array([[a[0], 1.0], [a[1], a[2]]])
    d = np.array((a[3], a[0]))
    e = np.array([v * v for v in a])
    return b * 2.0, c * c, d[0] * d[1], e * 3.0


@cases((1.5, "fast"), (1.5, "slow"))
def inert_strings(x, mode):
    name = "slow"
    if mode == name:
        return x * 2.0
    return x * x


@cases((1.5,))
def methods_of_text(x):
    mode = "Fast"
    s = x * 2.0 if mode.lower() == "fast" else x * x
    return s * s if "slow".startswith("f") else s


@cases((1.5,))
def prints_and_passes(x):
    """A docstring."""
    pass
    ...
    y: float = x * x
    print("value", y, 3)
    return y


@cases((arr(5),), compiled="reverse")
def parallel_range(a):
    out = np.empty(5)
    s = 0.0
    for i in prange(5):
        out[i] = a[i] * a[4 - i]
        s += a[i] ** 2
    return out * s


@cases((1.2, 3), compiled="reverse")
def variable_changes_type(x, n):
    v = n
    v = v * x
    n = np.full(2, v)
    v = n[0] * n[1]
    x = (x, v)
    return x[0] * x[1]


@cases((1.2, 0.7))
def names_like_generated_ones(x, x_bar):
    x_dot = x * x_bar
    y_bar = x_dot * 2.0
    x_bar_1 = y_bar + x
    _x = x_bar_1 * x_bar
    i = x_dot
    for i_0 in range(2):
        i = i * _x + i_0
    return i + y_bar


@cases((1.2, 0.7))
def names_like_builtins(sum, max):
    abs = sum * max
    len = abs * sum
    range_ = len + max
    print_ = range_ * abs
    math = print_
    np = math * len
    return np


@cases((1.2, 0.7))
def names_in_other_alphabets(λ, größe):
    Δt = λ * größe
    return Δt * λ + größe**2


@cases((1.2,))
def multiple_targets(x):
    a = b = x * x
    a += 1.0
    return a * b


@cases((1.2, -2.7))
def inactive_by_nature(x, y):
    return x * int(y) + np.floor(x) * y + (x > y) * x + round(y) * x + math.trunc(x) * x


@cases((2.6, -1.3), compiled="reverse")
def builtins(x, y):
    return abs(y) * max(x, y, 1.0) + min(x, y) + pow(x, 3) + float(x) * sum((x, y)) + bool(x) * x + divmod(x, 0.7)[1]


@cases((1.2, 3.3))
def matching_types(x, y):
    one = type(x)(1)
    return (x + one) * y * np.float64(2) + np.int64(y)


@cases((1.2, 2, -0.4), compiled="reverse")
def scalar_functions(x, n, y):
    s = math.copysign(x, y) + math.radians(x) * np.degrees(y) + math.erf(x) * math.lgamma(x) + math.gamma(x)
    s += math.hypot(x, y) * math.ceil(x) + math.fabs(y) + np.fmod(x, 0.5) + math.pow(x, y) + math.log10(x)
    s += np.log2(x) * np.cbrt(x) + np.arcsin(y) * np.arccos(y) + np.sinh(y) / np.cosh(x) + np.arctan(x)
    if n in (1, 2) and math.isfinite(x) and not np.isnan(y):
        s *= np.sign(y)
    return s * np.float64(n) - (np.inf if math.isinf(x) else 0.0)


@cases((arr(4), 2))
def inert_array_functions(a, n):
    s = a[np.argmax(a)] * a[np.argmin(a)] + a[np.argsort(a)[n]] ** 2
    if np.any(a > 1.0) and not np.all(a > 1.0):
        s *= a[0] * np.count_nonzero(a > 0.9)
    return s * np.searchsorted(np.array([0.0, 1.0]), a[1])


@cases((1.2,))
def deleted_names(x):
    y = x * x
    z = y + 1.0
    del y
    return z * z


@cases((1.2, 0.7))
def empty_blocks_and_dead_code(x, y):
    if x > 100.0:
        pass
    else:
        pass
    unused = math.exp(x) * y
    for _ in range(3):
        pass
    return x * y
    unused += 1.0


def noisy(x):
    np.random.seed(3)
    s = 0.0
    for _ in range(4):
        s += math.exp(x * np.random.normal())
    return s


@pytest.mark.parametrize("case", sampled(cases, 9), ids=str)
def test_language(case: Case):
    case.check()


def test_random_draws_are_constants():
    check(noisy, (0.4,), original=njit(noisy))
