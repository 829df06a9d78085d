"""Formulas: Python expressions that state a derivative, read into core form.

In a formula for `y = f(x, z)` the names are the parameters `x` and `z`, the result `y`, and the
tangents `dx` and `dz`, in which the formula is linear: that is proved on loading.  Forward mode
emits the formula.  Reverse mode needs, per parameter, what the adjoint `y_bar` contributes to it:
the formula with one d-name replaced by `y_bar` and the others by zero, simplified.

>>> tangent = parse("(dx - y*dz) / z", ("x", "z"))
>>> show(contribution(tangent, "z", ("x", "z")))
'-(y * y_bar) / z'
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable, Iterable

from tapec.errors import UsageError
from tapec.syntax.core import Const, Expr, Name, Op, substitute

RESULT = "y"
ADJOINT = "y_bar"

CONSTANTS = {
    "PI": math.pi,
    "LN2": math.log(2.0),
    "LN10": math.log(10.0),
    "DEGREE": math.pi / 180.0,
    "RADIAN": 180.0 / math.pi,
    "TWO_BY_SQRT_PI": 2.0 / math.sqrt(math.pi),
    "SQRT_PI": math.sqrt(math.pi),
    "SQRT_TWO": math.sqrt(2.0),
    "SQRT_TWO_PI": math.sqrt(2.0 * math.pi),
    # the smallest number: it changes zero only, by which it turns 0 / 0 into 0, and leaves 1 / 0 infinite
    "TINY": 5e-324,
}

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.And: "and",
    ast.Or: "or",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Invert: "~",
    ast.Not: "not",
}

# homes of the functions that a formula names without a module; the others are builtins or NumPy's
SCIPY = "tapec_runtime.scipy_special"
# functions whose addresses compiled code asks Python for
ASKED_FOR = (SCIPY, "tapec_runtime.dft", "tapec_runtime.real_dft", "tapec_runtime.real_inverse")
HOMES = {
    "erf": "math",
    "erfc": "math",
    "gamma": "math",
    "lgamma": "math",
    "exponent": "tapec_runtime",
    "lambert_w": "tapec_runtime",
    "polygamma": "tapec_runtime",
    "sinc_derivative": "tapec_runtime",
}
# SciPy's special functions in formulas of others
_SCIPY_NAMES = (
    "_betainc_slope_a _betainc_slope_b _gammainc_slope _kolmogp _smirnovp _spherical_in _spherical_jn _spherical_kn"
    " _spherical_yn _zeta agm airy_0 airy_1 airy_2 airy_3 airye_0 airye_1 airye_2 airye_3 bei beip ber berp besselpoly"
    " betaln cosdg ellipj_0 ellipj_1 ellipj_2 elliprd elliprf eval_chebys eval_chebyu eval_gegenbauer eval_genlaguerre"
    " eval_hermite eval_hermitenorm eval_jacobi eval_sh_chebyu eval_sh_jacobi expit expn exprel gammaln hyp0f1 hyp1f1"
    " hyp2f1 hyperu i0 i0e i1 i1e iv ive j0 j1 jv jve k0 k0e k1 k1e kei keip ker kerp kv kve log_wright_bessel lpmv"
    " modstruve ndtri pbdv_0 pbdv_1 pbvv_0 pbvv_1 pbwa_0 pbwa_1 psi rgamma sindg struve wofz_0 wofz_1 wright_bessel"
    " xlog1py xlogy y0 y1 yv yve"
)
HOMES |= dict.fromkeys(_SCIPY_NAMES.split(), SCIPY)

# arguments that are integers, so that their literals are too
INTEGERS = {
    *{("**", 1), ("np.ldexp", 1), ("tapec_runtime.polygamma", 0), ("tapec_runtime.sinc_derivative", 0)},
    ("tapec_runtime.lambert_w", 0),
    *{("round", 1), ("np.round", 1), ("np.around", 1)},
}

# linear in the first argument where the others have no tangent in them
LINEAR_IN_FIRST = frozenset({"neg", "pos", "np.ldexp", "/"})


def tangent_name(param: str) -> str:
    """The name of a parameter's tangent in a formula."""
    return f"d{param}"


def function_key(name: str) -> str:
    """The operation that a function's name in a formula stands for: `sin` is `np.sin`."""
    if "." in name:
        return name
    if name in HOMES:
        return f"{HOMES[name]}.{name}"
    if hasattr(builtins, name) or name in ("stop_gradient", "known", "strong"):
        return name
    return f"np.{name}"


def parse(text: str, params: Iterable[str]) -> Expr:
    """Read a formula.

    text     a Python expression: operators, conditional expressions, function calls
    params   the parameters; they, their tangents, `y` and the names in CONSTANTS may occur
    returns  a core expression; literals are floats, and ints where an integer belongs
    raises   UsageError for other syntax and other names
    """
    params = tuple(params)
    known = {*params, *map(tangent_name, params), RESULT}
    return _Reader(text, known).read(ast.parse(text.strip(), mode="eval").body)


class _Reader:
    def __init__(self, text: str, known: set[str]):
        self.text = text
        self.known = known

    def read(self, node: ast.expr, integer: bool = False) -> Expr:
        match node:
            case ast.Constant(value=bool(flag)):
                return Const(flag)
            case ast.Constant(value=int() | float() as number):
                return Const(number if integer else float(number))
            case ast.Name(id=ident) if ident in self.known:
                return Name(ident)
            case ast.Name(id=ident) if ident in CONSTANTS:
                return Const(CONSTANTS[ident])
            case ast.Name(id=ident):
                raise UsageError(f"`{ident}` is not a name of the formula `{self.text}`")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGNS:
                return self.op(SIGNS[type(op)], (left, right), integer)
            case ast.UnaryOp(op=op, operand=operand):
                return self.op(SIGNS[type(op)], (operand,), integer)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SIGNS:
                return self.op(SIGNS[type(op)], (left, right), integer)
            case ast.BoolOp(op=op, values=[*firsts, last]):
                result = self.read(last, integer)
                for value in reversed(firsts):
                    result = Op(SIGNS[type(op)], (self.read(value, integer), result))
                return result
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.op("ifelse", (test, body, orelse), integer)
            case ast.Call(func=func, args=args, keywords=[]):
                return self.op(function_key(ast.unparse(func)), tuple(args), integer)
        raise UsageError(f"`{ast.unparse(node)}` cannot stand in the formula `{self.text}`")

    def op(self, fn: str, args: tuple[ast.expr, ...], integer: bool) -> Op:
        return Op(fn, tuple(self.read(arg, integer or (fn, k) in INTEGERS) for k, arg in enumerate(args)))


def check_linear(expr: Expr, tangents: Iterable[str]) -> None:
    """Prove that `expr` is linear in `tangents`; raises UsageError if it is not evident."""
    names = frozenset(tangents)
    if _degree(expr, names) == 0:
        raise UsageError(f"`{show(expr)}` is not linear in {', '.join(sorted(names))}: a term has none of them")


def _degree(expr: Expr, names: frozenset[str]) -> int | None:
    """0: free of `names`.  1: linear in them.  None: zero, which counts as either."""
    match expr:
        case Name(id=ident):
            return int(ident in names)
        case Const(value=value):
            return None if value == 0 else 0
        case Op(fn="+" | "-", args=args):
            return _common(expr, [_degree(arg, names) for arg in args], names)
        case Op(fn="ifelse", args=(test, *sides)) if _degree(test, names) != 1:
            return _common(expr, [_degree(side, names) for side in sides], names)
        case Op(fn="*" | "strong", args=args):
            degrees = [_degree(arg, names) for arg in args]
            if None in degrees:
                return None
            if degrees.count(1) <= 1:
                return degrees.count(1)
        case Op(fn=fn, args=(first, *rest)) if not any(_degree(arg, names) for arg in rest):
            if fn in LINEAR_IN_FIRST or fn.startswith("cast.float"):
                return _degree(first, names)
            if _degree(first, names) != 1:
                return 0
    raise UsageError(f"`{show(expr)}` is not linear in {', '.join(sorted(names))}")


def _common(expr: Op, degrees: list[int | None], names: frozenset[str]) -> int | None:
    known = {degree for degree in degrees if degree is not None}
    if len(known) > 1:
        raise UsageError(f"`{show(expr)}` is not linear in {', '.join(sorted(names))}: a term has none of them")
    return known.pop() if known else None


def contribution(tangent: Expr, param: str, params: Iterable[str]) -> Expr | None:
    """What `y_bar` adds to the adjoint of `param`, given the tangent formula; None for nothing."""
    values: dict[str, Expr] = {tangent_name(other): Const(0.0) for other in params}
    values[tangent_name(param)] = Name(ADJOINT)
    result = simplify(substitute(tangent, values))
    return None if result == Const(0.0) else result


# `a`, `b` stand for any expression.  All are exact in floating point, except that a zero
# factor wins over an infinite or undefined one: the zeros of a formula are absent tangents
_IDENTITIES = """
    a + 0 = a                  0 + a = a                 a + -b = a - b            -a + b = b - a
    a - 0 = a                  0 - a = -a                a - -b = a + b            --a = a
    a * 1 = a                  1 * a = a                 a * 0 = 0                 0 * a = 0
    a * -1 = -a                -1 * a = -a               a * -b = -(a * b)         -a * b = -(a * b)
    a / 1 = a                  0 / a = 0                 a / -1 = -a               +a = a
    a ** 1 = a                 a ** 0 = 1
    a if True else b = a       a if False else b = b     a if c else a = a         not not a = a
    True and a = a             False and a = False       a and True = a            a and False = False
    True or a = True           False or a = a            a or True = True          a or False = a
    ldexp(0, a) = 0            strong(0, a) = 0          strong(a, 0) = 0          strong(1, a) = a
"""

_CONSTANT_FOLDING: dict[str, Callable[..., int | float | bool]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": operator.neg,
    "not": operator.not_,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "np.isnan": math.isnan,
    "np.isfinite": math.isfinite,
}


def simplify(expr: Expr) -> Expr:
    """Simplify an expression of float arithmetic by algebraic identities, innermost first.

    Nothing is reordered or reassociated.  The operands count as floats: `1.0 * n` gives `n`.
    """
    if not isinstance(expr, Op):
        return expr
    folded = Op(expr.fn, tuple(simplify(arg) for arg in expr.args))
    literal = _evaluate(folded)
    if literal is not None:
        return literal
    for pattern, result in _TABLE.get(folded.fn, ()):
        bound: dict[str, Expr] = {}
        if _matches(pattern, folded, bound):
            return simplify(substitute(result, bound))
    return folded


def _evaluate(expr: Op) -> Const | None:
    function = _CONSTANT_FOLDING.get(expr.fn)
    values = [arg.value for arg in expr.args if isinstance(arg, Const) and isinstance(arg.value, int | float)]
    if function is None or len(values) < len(expr.args) or (expr.fn == "/" and values[1] == 0):
        return None
    return Const(function(*values))


def _matches(pattern: Expr, expr: Expr, bound: dict[str, Expr]) -> bool:
    if isinstance(pattern, Name):
        return bound.setdefault(pattern.id, expr) == expr
    if isinstance(pattern, Const):
        # 0 and 0.0 are both zero; True is not 1
        alike = isinstance(expr, Const) and isinstance(expr.value, bool) == isinstance(pattern.value, bool)
        return alike and isinstance(expr, Const) and expr.value == pattern.value
    if not isinstance(expr, Op) or (expr.fn, len(expr.args)) != (pattern.fn, len(pattern.args)):
        return False
    return all(_matches(part, arg, bound) for part, arg in zip(pattern.args, expr.args, strict=True))


def _read_identities(text: str) -> dict[str, tuple[tuple[Expr, Expr], ...]]:
    table: dict[str, tuple[tuple[Expr, Expr], ...]] = {}
    for cell in text.replace("\n", "  ").split("  "):
        if cell.strip():
            left, right = (_literal(parse(side, "abc")) for side in cell.split(" = "))
            assert isinstance(left, Op)
            table[left.fn] = (*table.get(left.fn, ()), (left, right))
    return table


def _literal(expr: Expr) -> Expr:
    """A negated literal as the one literal that folding has made of it."""
    if isinstance(expr, Op):
        args = tuple(_literal(arg) for arg in expr.args)
        if expr.fn == "neg" and isinstance(args[0], Const) and isinstance(args[0].value, float):
            return Const(-args[0].value)
        return Op(expr.fn, args)
    return expr


_TABLE = _read_identities(_IDENTITIES)

_TERNARY, _UNARY, _ATOM = 0, 12, 20
_PRECEDENCE = {
    **dict.fromkeys(["or"], 1),
    **dict.fromkeys(["and"], 2),
    **dict.fromkeys(["not"], 3),
    **dict.fromkeys(["<", "<=", ">", ">=", "==", "!="], 4),
    **dict.fromkeys(["|"], 5),
    **dict.fromkeys(["^"], 6),
    **dict.fromkeys(["&"], 7),
    **dict.fromkeys(["<<", ">>"], 8),
    **dict.fromkeys(["+", "-"], 9),
    **dict.fromkeys(["*", "/", "//", "%"], 10),
    "**": 13,
}
_PREFIX = {"neg": ("-", _UNARY), "pos": ("+", _UNARY), "~": ("~", _UNARY), "not": ("not ", 3)}


def show(expr: Expr | None) -> str:
    """A formula as Python text; an absent one is zero."""
    return "0.0" if expr is None else _show(expr)[0]


def _show(expr: Expr) -> tuple[str, int]:
    match expr:
        case Name(id=ident):
            return ident, _ATOM
        case Const(value=value):
            negative = isinstance(value, int | float) and value < 0
            return repr(value), _UNARY if negative else _ATOM
        case Op(fn="ifelse", args=(test, body, orelse)):
            return f"{_part(body, 1)} if {_part(test, 1)} else {_part(orelse, _TERNARY)}", _TERNARY
        case Op(fn=fn, args=(operand,)) if fn in _PREFIX:
            sign, level = _PREFIX[fn]
            return sign + _part(operand, level), level
        case Op(fn=fn, args=(left, right)) if fn in _PRECEDENCE:
            level = _PRECEDENCE[fn]
            # comparisons do not chain, and powers group to the right
            left_level = level + 1 if fn == "**" or level == _PRECEDENCE["<"] else level
            right_level = _UNARY if fn == "**" else level + 1
            return f"{_part(left, left_level)} {fn} {_part(right, right_level)}", level
        case Op(fn=fn, args=args):
            return f"{fn}({', '.join(_part(arg, _TERNARY) for arg in args)})", _ATOM


def _part(expr: Expr, level: int) -> str:
    text, own = _show(expr)
    return text if own >= level else f"({text})"
