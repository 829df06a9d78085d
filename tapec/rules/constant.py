"""Operations without a derivative: a path through them contributes zero, for the reason given."""

from __future__ import annotations

from tapec.rules.table import rule, table

_STEPS = "piecewise constant: 0, also at the steps"
_LOGICAL = "a truth value"
_INTEGERS = "defined on integers"

CONSTANT = table(
    rule("x // z", also="np.floor_divide", note=_STEPS),
    rule("floor(x)", also="math.floor", note=_STEPS),
    rule("ceil(x)", also="math.ceil", note=_STEPS),
    rule("trunc(x)", also="math.trunc", note=_STEPS),
    rule("rint(x)", note=_STEPS),
    rule("round(x, n)", also="np.round np.around", note=_STEPS, optional=1),
    rule("sign(x)", note=_STEPS),
    rule("spacing(x)", note=_STEPS),
    rule("angle(x)", note="0 or pi for a real number: piecewise constant; of a complex one it has a derivative"),
    rule("imag(x)", note="0 for a real number; of a complex one it has a derivative"),
    rule("exponent(x)", note="the power of two of a number: " + _STEPS),
    rule("x < z", also="np.less", note=_LOGICAL),
    rule("x <= z", also="np.less_equal", note=_LOGICAL),
    rule("x > z", also="np.greater", note=_LOGICAL),
    rule("x >= z", also="np.greater_equal", note=_LOGICAL),
    rule("x == z", also="np.equal", note=_LOGICAL),
    rule("x != z", also="np.not_equal", note=_LOGICAL),
    rule("x and z", also="np.logical_and", note=_LOGICAL),
    rule("x or z", also="np.logical_or", note=_LOGICAL),
    rule("not x", also="np.logical_not", note=_LOGICAL),
    rule("logical_xor(x, z)", note=_LOGICAL),
    rule("isnan(x)", also="math.isnan", note=_LOGICAL),
    rule("isinf(x)", also="math.isinf", note=_LOGICAL),
    rule("isfinite(x)", also="math.isfinite", note=_LOGICAL),
    rule("isposinf(x)", note=_LOGICAL),
    rule("isneginf(x)", note=_LOGICAL),
    rule("isreal(x)", note=_LOGICAL),
    rule("iscomplex(x)", note=_LOGICAL),
    rule("signbit(x)", note=_LOGICAL),
    rule("x << z", also="np.left_shift np.bitwise_left_shift", note=_INTEGERS),
    rule("x >> z", also="np.right_shift np.bitwise_right_shift", note=_INTEGERS),
    rule("x & z", also="np.bitwise_and", note=_INTEGERS),
    rule("x | z", also="np.bitwise_or", note=_INTEGERS),
    rule("x ^ z", also="np.bitwise_xor", note=_INTEGERS),
    rule("~x", also="np.invert np.bitwise_not np.bitwise_invert", note=_INTEGERS),
    rule("gcd(x, z)", also="math.gcd", note=_INTEGERS),
    rule("lcm(x, z)", note=_INTEGERS),
    rule(
        "cast.int64(x)",
        also="cast.int8 cast.int16 cast.int32 cast.uint8 cast.uint16 cast.uint32 cast.uint64 cast.bool",
        note="the value becomes an integer: " + _STEPS,
    ),
    rule("stop_gradient(x)", note="a constant by request"),
)
