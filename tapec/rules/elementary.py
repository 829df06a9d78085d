"""Operators and elementary functions that have a derivative.

The formulas are those of any calculus book, written so that rounding does little harm: what
cancels is factored, and the result `y` is used where that saves work and loses nothing.

Conventions: where the returned operand is chosen (max, min), the derivative goes to the chosen
one, ties split evenly, and nan operands count as chosen when they are returned.  At an edge of
the domain the derivative is the limit from inside, which may be infinite.  Outside it is nan.  Forward mode carries
tangents of zero past an infinite derivative, which reverse mode does not meet where a choice leaves it out.
"""

from __future__ import annotations

from tapec.rules.table import join, rule, table

_TIES = "a tie splits evenly"
_PAIRS = f"{_TIES}; more than two operands are compared pair by pair"

ARITHMETIC = table(
    rule("x + z", "dx + dz", also="np.add"),
    rule("x - z", "dx - dz", also="np.subtract"),
    rule("x * z", "z*dx + x*dz", also="np.multiply"),
    rule("x / z", "(dx - y*dz) / z", also="np.divide np.true_divide"),
    rule("-x", "-dx", also="np.negative"),
    rule("+x", "dx", also="np.positive np.conjugate"),
    rule(
        "x % z",
        "dx - (x // z)*dz",
        also="np.remainder np.mod",
        note="at a jump the derivative of the side that contains it",
    ),
    rule(
        "fmod(x, z)",
        # the quotient that the remainder belongs to; trunc(x / z) may be rounded up to the next one
        "dx - rint((x - y) / z)*dz",
        note="at a jump the derivative of the side that contains it",
    ),
    rule(
        "x ** z",
        "z * x**(0 if z == 0 and x == 0 else z - 1) * dx + y * log(1 if x == 0 and z >= 0 else x) * dz",
        also="np.power np.pow np.float_power math.pow",
        note="at x = 0 the limit from the right: 0 for z = 0, and 0 with respect to z >= 0; "
        "the derivative with respect to z is nan for x < 0, where no neighbouring z has a real power",
    ),
    rule("square(x)", "2*x*dx"),
    rule("reciprocal(x)", "-(y*y)*dx"),
    rule("sqrt(x)", "0.5*dx / y", also="math.sqrt", note="inf at 0, the limit from the right"),
    rule("cbrt(x)", "dx / (3*y*y)", note="inf at 0"),
    rule(
        "hypot(x, z)",
        "x / (1 if y == 0 else y) * dx + z / (1 if y == 0 else y) * dz",
        also="math.hypot",
        note="0 at the origin, as for abs",
    ),
    rule("ldexp(x, n)", "ldexp(dx, n)", also="math.ldexp", note="n is an integer"),
)

EXPONENTIAL = table(
    rule("exp(x)", "y*dx", also="math.exp"),
    rule("exp2(x)", "LN2*y*dx", also="math.exp2"),
    # not y + 1, of which rounding leaves nothing for large negative x
    rule("expm1(x)", "exp(x)*dx", also="math.expm1"),
    rule("log(x)", "dx / x", also="math.log"),
    rule("log2(x)", "dx / (LN2*x)", also="math.log2"),
    rule("log10(x)", "dx / (LN10*x)", also="math.log10"),
    rule("log1p(x)", "dx / (1 + x)", also="math.log1p"),
    rule(
        "logaddexp(x, z)",
        "((1 / (1 + exp(z - x)) if x > z else exp(x - z) / (1 + exp(x - z))) if isfinite(y)"
        " else (0.5 if x == z else (1 if x > z else 0))) * dx"
        " + ((1 / (1 + exp(x - z)) if z > x else exp(z - x) / (1 + exp(z - x))) if isfinite(y)"
        " else (0.5 if x == z else (1 if z > x else 0))) * dz",
        note="where the result is infinite, the derivative of the larger operand is 1; two equal infinities share it",
    ),
    rule(
        "logaddexp2(x, z)",
        "((1 / (1 + exp2(z - x)) if x > z else exp2(x - z) / (1 + exp2(x - z))) if isfinite(y)"
        " else (0.5 if x == z else (1 if x > z else 0))) * dx"
        " + ((1 / (1 + exp2(x - z)) if z > x else exp2(z - x) / (1 + exp2(z - x))) if isfinite(y)"
        " else (0.5 if x == z else (1 if z > x else 0))) * dz",
        note="where the result is infinite, the derivative of the larger operand is 1; two equal infinities share it",
    ),
)

TRIGONOMETRIC = table(
    rule("sin(x)", "cos(x)*dx", also="math.sin"),
    rule("cos(x)", "-sin(x)*dx", also="math.cos"),
    rule("tan(x)", "(1 + y*y)*dx", also="math.tan"),
    rule("arcsin(x)", "dx / sqrt((1 - x)*(1 + x))", also="np.asin math.asin", note="inf at -1 and 1"),
    rule("arccos(x)", "-dx / sqrt((1 - x)*(1 + x))", also="np.acos math.acos", note="-inf at -1 and 1"),
    rule("arctan(x)", "dx / (1 + x*x)", also="np.atan math.atan"),
    rule(
        "arctan2(x, z)",
        "(z / hypot(x, z) * dx - x / hypot(x, z) * dz) / hypot(x, z)",
        also="np.atan2 math.atan2",
        note="nan at the origin, where no limit exists",
    ),
    rule("sinh(x)", "cosh(x)*dx", also="math.sinh"),
    rule("cosh(x)", "sinh(x)*dx", also="math.cosh"),
    rule("tanh(x)", "(1 - y*y)*dx", also="math.tanh", note="exact to rounding of 1, not of the derivative's own size"),
    rule("arcsinh(x)", "dx / (sqrt(x*x + 1) if abs(x) < 1e9 else abs(x))", also="np.asinh math.asinh"),
    rule(
        "arccosh(x)",
        "dx / (sqrt((x - 1)*(x + 1)) if x < 1e9 else x)",
        also="np.acosh math.acosh",
        note="inf at 1",
    ),
    rule("arctanh(x)", "dx / ((1 - x)*(1 + x))", also="np.atanh math.atanh", note="inf at -1 and 1"),
    rule("deg2rad(x)", "DEGREE*dx", also="np.radians math.radians"),
    rule("rad2deg(x)", "RADIAN*dx", also="np.degrees math.degrees"),
)

CHOOSING = table(
    rule("abs(x)", "sign(x)*dx", also="np.abs np.absolute np.fabs math.fabs", note="0 at 0"),
    rule("copysign(x, z)", "sign(x)*copysign(1, z)*dx", also="math.copysign", note="0 at x = 0, and for z"),
    rule("maximum(x, z)", "dx if x > z or isnan(x) else (0.5*(dx + dz) if x == z else dz)", note=_TIES),
    rule("minimum(x, z)", "dx if x < z or isnan(x) else (0.5*(dx + dz) if x == z else dz)", note=_TIES),
    rule("fmax(x, z)", "dx if x > z or isnan(z) else (0.5*(dx + dz) if x == z else dz)", note=_TIES),
    rule("fmin(x, z)", "dx if x < z or isnan(z) else (0.5*(dx + dz) if x == z else dz)", note=_TIES),
    # Python keeps the first operand unless the second one is beyond it
    rule("max(x, z)", "dz if z > x else (0.5*(dx + dz) if x == z else dx)", note=_PAIRS),
    rule("min(x, z)", "dz if z < x else (0.5*(dx + dz) if x == z else dx)", note=_PAIRS),
    rule("x if c else z", "dx if c else dz", note="none with respect to the condition"),
    rule("nan_to_num(x)", "dx if isfinite(x) else 0", note="0 where a value is replaced"),
    rule("nextafter(x, z)", "dx", also="math.nextafter", note="the next number follows x"),
    rule("known(x, z)", "dz", note="what z is known to be: its value is x, its derivative that of z"),
    rule("strong(x, z)", "strong(dx, z) + strong(x, dz)", note="x*z, but 0 where x is 0, whatever z is"),
    rule("cast.float64(x)", "dx", also="cast.float32", note="rounding counts as exact"),
)

ELEMENTARY = join(ARITHMETIC, EXPONENTIAL, TRIGONOMETRIC, CHOOSING)
