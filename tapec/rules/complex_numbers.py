"""Functions of complex numbers as formulas on their real and imaginary parts.

Plain Python that the frontend inlines and differentiates as it does user code: `x` and `y` are the parts of the
first operand, `p` and `q` those of the second.  Principal values, with the branch cuts of C99; on a cut the sign
of a zero tells the side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

LN2 = 0.6931471805599453
LN10 = 2.302585092994046


def product(x, y, p, q):
    """The product of two complex numbers."""
    return x * p - y * q, x * q + y * p


def quotient(x, y, p, q):
    """The quotient by Smith's method (CACM 5, 1962), which divides by the larger part first."""
    if abs(p) >= abs(q):
        ratio = q / p
        size = p + q * ratio
        return (x + y * ratio) / size, (y - x * ratio) / size
    ratio = p / q
    size = p * ratio + q
    return (x * ratio + y) / size, (y * ratio - x) / size


def real_quotient(x, p, q):
    """A real number divided by a complex one."""
    if abs(p) >= abs(q):
        ratio = q / p
        size = p + q * ratio
        return x / size, (0.0 - x * ratio) / size
    ratio = p / q
    size = p * ratio + q
    return x * ratio / size, -x / size


def reciprocal(x, y):
    """`1 / z`."""
    return real_quotient(1.0, x, y)


def magnitude(x, y):
    """The absolute value; its gradient at 0 is 0."""
    return np.hypot(x, y)


def angle(x, y):
    """The angle in radians, from -pi to pi."""
    return np.arctan2(y, x)


def exp(x, y):
    size = np.exp(x)
    return size * np.cos(y), size * np.sin(y)


def turn(y):
    """`exp(i y)` of a real number."""
    return np.cos(y), np.sin(y)


def exp2(x, y):
    size = np.exp2(x)
    return size * np.cos(LN2 * y), size * np.sin(LN2 * y)


def expm1(x, y):
    half = np.sin(0.5 * y)
    # exp(x) * cos(y) - 1 without cancellation
    return np.expm1(x) * np.cos(y) - 2.0 * half * half, np.exp(x) * np.sin(y)


def log(x, y):
    return np.log(np.hypot(x, y)), np.arctan2(y, x)


def log2(x, y):
    return np.log(np.hypot(x, y)) / LN2, np.arctan2(y, x) / LN2


def log10(x, y):
    return np.log(np.hypot(x, y)) / LN10, np.arctan2(y, x) / LN10


def log1p(x, y):
    return np.log(np.hypot(x + 1.0, y)), np.arctan2(y, x + 1.0)


def sqrt(x, y):
    """Principal root (CACM algorithm 312, 1967), with the sign of `y` on the cut; no derivative at 0."""
    size = np.hypot(x, y)
    if size == 0.0:
        return np.sqrt(size), y * np.sqrt(size)
    if x >= 0.0:
        root = np.sqrt(0.5 * x + 0.5 * size)
        return root, y / (2.0 * root)
    side = np.copysign(1.0, y)
    root = np.sqrt(0.5 * size - 0.5 * x)
    # not abs(y), which has no derivative on the cut
    return side * y / (2.0 * root), side * root


def sin(x, y):
    return np.sin(x) * np.cosh(y), np.cos(x) * np.sinh(y)


def cos(x, y):
    return np.cos(x) * np.cosh(y), -(np.sin(x) * np.sinh(y))


def sinh(x, y):
    return np.cos(y) * np.sinh(x), np.sin(y) * np.cosh(x)


def cosh(x, y):
    return np.cos(y) * np.cosh(x), np.sin(y) * np.sinh(x)


def tanh(x, y):
    # the real functions of each part: nothing overflows where x is large
    along, across = np.tanh(x), np.tan(y)
    both = along * across
    size = 1.0 + both * both
    narrow = 1.0 / np.cosh(x)
    return along * (1.0 + across * across) / size, across / size * narrow * narrow


def tan(x, y):
    """`-i tanh(i z)`."""
    re, im = tanh(-y, x)
    return im, -re


def arcsinh(x, y):
    """By square roots on each side (Kahan, Branch cuts for complex elementary functions, 1987)."""
    a, b = sqrt(1.0 + y, -x)
    c, d = sqrt(1.0 - y, x)
    return np.arcsinh(a * d - c * b), np.arctan2(y, a * c - b * d)


def arcsin(x, y):
    """`-i arcsinh(i z)`."""
    re, im = arcsinh(-y, x)
    return im, -re


def arccos(x, y):
    a, b = sqrt(1.0 - x, -y)
    c, d = sqrt(1.0 + x, y)
    return 2.0 * np.arctan2(a, c), np.arcsinh(c * b - d * a)


def arccosh(x, y):
    a, b = sqrt(x - 1.0, y)
    c, d = sqrt(x + 1.0, y)
    return np.arcsinh(a * c + b * d), 2.0 * np.arctan2(b, c)


def arctanh(x, y):
    side = np.copysign(1.0, x)
    # arctanh is odd: from here on x >= 0
    x, y = side * x, side * y
    re = 0.25 * np.log1p(4.0 * x / ((1.0 - x) * (1.0 - x) + y * y))
    im = -0.5 * np.arctan2(-2.0 * y, (1.0 - x) * (1.0 + x) - y * y)
    return side * re, side * im


def arctan(x, y):
    """`-i arctanh(i z)`."""
    re, im = arctanh(-y, x)
    return im, -re


def power(x, y, p, q):
    """`z ** w` with the principal logarithm of `z`; at z = 0 the limit for a positive real part of `w`."""
    size = np.hypot(x, y)
    if size == 0.0:
        return _power_of_zero(x, y, size, p, q)
    phase = np.arctan2(y, x)
    length = size**p * np.exp(-(phase * q))
    turned = phase * p + q * np.log(size)
    return length * np.cos(turned), length * np.sin(turned)


def real_power(x, y, p):
    """`z ** p` of a real exponent."""
    size = np.hypot(x, y)
    if size == 0.0:
        return _power_of_zero(x, y, size, p, 0.0)
    length = size**p
    turned = np.arctan2(y, x) * p
    return length * np.cos(turned), length * np.sin(turned)


def _power_of_zero(x, y, size, p, q):
    if p == 1.0 and q == 0.0:
        return x, y
    # 1, 0, or not finite below 0; a phase means nothing where there is no length
    return size**p, 0.0 * size**p


def whole_power(x, y, n):
    """`z ** n` of an integer, by squaring."""
    re, im = 1.0, 0.0
    left = abs(n)
    while left > 0:
        if left % 2 == 1:
            re, im = product(re, im, x, y)
        x, y = product(x, y, x, y)
        left = left // 2
    if n < 0:
        re, im = reciprocal(re, im)
    return re, im


def equal(x, y, p, q):
    return x == p and y == q


def unequal(x, y, p, q):
    return x != p or y != q


def isnan(x, y):
    return np.isnan(x) or np.isnan(y)


def isinf(x, y):
    return np.isinf(x) or np.isinf(y)


def isfinite(x, y):
    return np.isfinite(x) and np.isfinite(y)


def isreal(x, y):
    return y == 0.0


def iscomplex(x, y):
    return y != 0.0


def square(x, y):
    return product(x, y, x, y)


def conjugate(x, y):
    return x, -y


def negative(x, y):
    return -x, -y


def positive(x, y):
    return x, y


Formula = Callable[..., Any]

# of one number, with a complex result: the names of operations
COMPLEX: dict[str, Formula] = {
    "neg": negative,
    "pos": positive,
    "np.negative": negative,
    "np.positive": positive,
    "np.conjugate": conjugate,
    "np.square": square,
    "np.reciprocal": reciprocal,
    **{
        f"np.{function.__name__}": function
        for function in (
            *(exp, exp2, expm1, log, log2, log10, log1p, sqrt),
            *(sin, cos, tan, sinh, cosh, tanh),
            *(arcsin, arccos, arctan, arcsinh, arccosh, arctanh),
        )
    },
}

# of one number, with a real result
REAL: dict[str, Formula] = {"abs": magnitude, "np.angle": angle}

# truth values
LOGICAL: dict[str, Formula] = {
    "==": equal,
    "!=": unequal,
    "np.isnan": isnan,
    "np.isinf": isinf,
    "np.isfinite": isfinite,
    "np.isreal": isreal,
    "np.iscomplex": iscomplex,
}

# other names of operations
SAME: dict[str, str] = {
    "np.add": "+",
    "np.subtract": "-",
    "np.multiply": "*",
    "np.divide": "/",
    "np.true_divide": "/",
    "np.power": "**",
    "np.pow": "**",
    "np.equal": "==",
    "np.not_equal": "!=",
    "np.abs": "abs",
    "np.absolute": "abs",
    **{f"np.a{name}": f"np.arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
