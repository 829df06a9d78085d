"""Algebraic identities that hold for every number: nan, infinities and signed zeros included.

One row is not exact, and is used for adjoints alone: `0.0 + a` gives `a`, although for a negative
zero the sum is a positive one.  Every adjoint begins with such a sum.

Patterns are pairs of texts in a table; `a` stands for any operand, of the type that the row says.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from tapec.analyses.aliases import PRODUCTS
from tapec.rules.formula import SIGNS
from tapec.syntax.core import Atom, Const, Expr, Name, Op, substitute
from tapec.syntax.types import FLOAT64, INT64, Array, Scalar, Type

_ROWS = """
float   1.0 * a = a       a * 1.0 = a       a / 1.0 = a        a - 0.0 = a
float   -(-a) = a         1 * a = a          a * 1 = a
float   a * -1.0 = -a     -1.0 * a = -a
adjoint 0.0 + a = a       a + 0.0 = a
int     0 + a = a         a + 0 = a         a - 0 = a          0 - a = -a
int     1 * a = a         a * 1 = a         0 * a = 0          a * 0 = 0
int     a // 1 = a        -(-a) = a         a - a = 0
"""
_FLOAT32 = Scalar("float32")
_NEGATED = {"==": "!=", "!=": "=="}
_FOLDS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "neg": operator.neg,
    "max": max,
    "min": min,
}
_COMPARISONS: dict[str, Callable[..., Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_LARGEST_INT = 2**63 - 1


class OperandFacts(Protocol):
    """What folding asks about the program."""

    def type_of(self, atom: Atom) -> Type | None: ...

    def definition(self, atom: Atom) -> Expr | None:
        """The operation that gave a name its only value."""


@dataclass(frozen=True)
class _Row:
    pattern: Op
    result: Expr
    kind: str

    @property
    def wanted(self) -> Scalar:
        return INT64 if self.kind == "int" else FLOAT64

    @cached_property
    def literal(self) -> int | None:
        """The place of the operand that must be a number of the pattern's."""
        return next((place for place, arg in enumerate(self.pattern.args) if isinstance(arg, Const)), None)

    def possible(self, op: Op) -> bool:
        """Whether that operand is the number."""
        place = self.literal
        return place is None or op.args[place] == self.pattern.args[place]


def _read_table(text: str) -> dict[str, tuple[_Row, ...]]:
    table: dict[str, tuple[_Row, ...]] = {}
    for line in text.strip().splitlines():
        kind, _, cells = line.partition(" ")
        for cell in cells.split("  "):
            if cell.strip():
                left, right = (_read(ast.parse(side.strip(), mode="eval").body) for side in cell.split(" = "))
                assert isinstance(left, Op)
                table[left.fn] = (*table.get(left.fn, ()), _Row(left, right, kind))
    return table


def _read(node: ast.expr) -> Expr:
    match node:
        case ast.Constant(value=int() | float() as value):
            return Const(value)
        case ast.Name(id=ident):
            return Name(ident)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return Const(-value)
        case ast.UnaryOp(op=op, operand=operand):
            return Op(SIGNS[type(op)], (_read(operand),))
        case ast.BinOp(left=left, op=op, right=right):
            return Op(SIGNS[type(op)], (_read(left), _read(right)))
    raise ValueError(f"`{ast.unparse(node)}` cannot stand in an identity")


_TABLE = _read_table(_ROWS)
# most operations have no literal operand, and then few rows come into question
_OF_NAMES = {fn: tuple(row for row in rows if row.literal is None) for fn, rows in _TABLE.items()}
_SINGLE_ZERO = Op("cast.float32", (Const(0.0),))


def fold(op: Op, facts: OperandFacts, adjoint: bool = False) -> Expr:
    """`op`, or something simpler that has the same value and type; `adjoint` says what it is for."""
    literal_operand = False
    for arg in op.args:
        if type(arg) is Op:
            return op
        literal_operand = literal_operand or type(arg) is Const
    literal = _constant(op) if literal_operand else None
    if literal is not None:
        return literal
    if op.fn.startswith("cast."):
        return _cast(op, facts)
    if op.fn in ("not", "and", "or", "ifelse"):
        return _choice(op, facts)
    if op.fn == "dim":
        return _extent(op, facts)
    if op.fn == "transpose":
        made = facts.definition(op.args[0]) if isinstance(op.args[0], Name) else None
        return made.args[0] if isinstance(made, Op) and made.fn == "transpose" else op
    if op.fn in ("max", "min") and len(op.args) == 2:
        return _extreme(op, facts)
    if op.fn in _COMPARISONS and op.args[0] == op.args[1] and _typed(op.args[0], INT64, facts):
        return Const(bool(_COMPARISONS[op.fn](0, 0)))
    if op.fn in ("+", "-"):
        shifted = _shift(op, facts)
        if shifted is not None:
            return shifted
    if adjoint and op.fn == "+":
        for zero, other in ((op.args[0], op.args[1]), (op.args[1], op.args[0])):
            if _is_single_zero(zero, facts) and _typed(other, _FLOAT32, facts):
                return other
    for row in (_TABLE if literal_operand else _OF_NAMES).get(op.fn, ()):
        if (row.kind == "adjoint" and not adjoint) or not row.possible(op):
            continue
        bound: dict[str, Expr] = {}
        if _matches(row.pattern, op, bound, facts) and all(_typed(e, row.wanted, facts) for e in bound.values()):
            result = substitute(row.result, bound)
            return fold(result, facts, adjoint) if isinstance(result, Op) else result
    return op


def _is_single_zero(expr: Expr, facts: OperandFacts) -> bool:
    made = facts.definition(expr) if isinstance(expr, Name) else None
    return made == _SINGLE_ZERO


def _typed(expr: Expr, wanted: Scalar, facts: OperandFacts) -> bool:
    return isinstance(expr, Name | Const) and facts.type_of(expr) == wanted


def _matches(pattern: Expr, expr: Expr, bound: dict[str, Expr], facts: OperandFacts) -> bool:
    if isinstance(pattern, Name):
        return bound.setdefault(pattern.id, expr) == expr
    if isinstance(pattern, Const):
        return expr == pattern
    found: Expr | None = expr
    if isinstance(expr, Name):
        found = facts.definition(expr)
    if not isinstance(found, Op) or (found.fn, len(found.args)) != (pattern.fn, len(pattern.args)):
        return False
    return all(_matches(part, arg, bound, facts) for part, arg in zip(pattern.args, found.args, strict=True))


def _constant(op: Op) -> Const | None:
    """An operation on literals, where it is exact on every machine."""
    if not op.args or not all(isinstance(arg, Const) for arg in op.args):
        return None
    values = [arg.value for arg in op.args if isinstance(arg, Const)]
    kinds = {type(value) for value in values}
    if op.fn in _COMPARISONS and kinds <= {int, float}:
        return Const(bool(_COMPARISONS[op.fn](*values)))
    if kinds == {int} and op.fn in _FOLDS:
        result = _FOLDS[op.fn](*values)
        # machines drop what is beyond 64 bits; Python would not, where it works out a literal
        return Const((result + 2**63) % 2**64 - 2**63)
    if kinds == {float} and op.fn == "neg":
        return Const(-values[0])  # type: ignore[operator]
    if kinds == {float} and op.fn in ("+", "-", "*"):
        # Numba drops branches by such tests, with all that they set
        found = _FOLDS[op.fn](*values)
        return Const(found) if math.isfinite(found) else None
    if op.fn == "cast.float64" and kinds <= {int, float, bool}:
        (value,) = values
        return Const(float(value))  # type: ignore[arg-type]
    if op.fn == "cast.int64" and kinds <= {int, bool}:
        (value,) = values
        return Const(int(value))  # type: ignore[arg-type]
    if op.fn == "not" and kinds == {bool}:
        return Const(not values[0])
    return None


def _cast(op: Op, facts: OperandFacts) -> Expr:
    """A conversion to the type that the operand has."""
    (arg,) = op.args
    assert isinstance(arg, Name | Const)
    return arg if facts.type_of(arg) == Scalar(op.fn.removeprefix("cast.")) else op


def _choice(op: Op, facts: OperandFacts) -> Expr:
    """Boolean operations and `a if c else b` with a side that is known."""
    args = op.args
    if op.fn == "not":
        inner = facts.definition(args[0]) if isinstance(args[0], Name) else None
        if isinstance(inner, Op) and inner.fn == "not" and _typed(inner.args[0], Scalar("bool"), facts):
            return inner.args[0]
        if isinstance(inner, Op) and inner.fn in _NEGATED:
            return Op(_NEGATED[inner.fn], inner.args)
        return op
    if op.fn == "ifelse":
        test, first, second = args
        if isinstance(test, Const):
            return first if test.value else second
        return first if first == second else op
    neutral = Const(op.fn == "and")
    if not all(_typed(arg, Scalar("bool"), facts) for arg in args) or len(args) != 2:
        return op
    if neutral in args:
        return args[1] if args[0] == neutral else args[0]
    if Const(op.fn == "or") in args:
        return Const(op.fn == "or")
    return args[0] if args[0] == args[1] else op


def _extent(op: Op, facts: OperandFacts) -> Expr:
    """The extent of an array made or viewed here."""
    array, axis = op.args
    made = facts.definition(array) if isinstance(array, Name) else None
    if not isinstance(made, Op) or not isinstance(axis, Const) or not isinstance(axis.value, int):
        return op
    if made.fn in ("empty", "zeros"):
        return made.args[1 + axis.value]
    owner = made.args[0] if made.args else None
    type_ = facts.type_of(owner) if isinstance(owner, Name) else None
    if isinstance(type_, Array):
        assert owner is not None
        if made.fn in PRODUCTS:
            return _extent_of_product(made, axis.value, type_, facts)
        if made.fn == "transpose":
            return fold(Op("dim", (owner, Const(type_.ndim - 1 - axis.value))), facts)
        if made.fn == "copy":
            return fold(Op("dim", (owner, axis)), facts)
    return op


def _extent_of_product(product: Op, axis: int, type_: Array, facts: OperandFacts) -> Expr:
    """The extent of a product whose first factor has a type: its rows, or the second factor's columns."""
    first, second = product.args
    rows = type_.ndim - 1
    other = facts.type_of(second) if isinstance(second, Name) else None
    if axis < rows:
        return fold(Op("dim", (first, Const(axis))), facts)
    # the second factor has lost its axis before the last, if it has two
    last = other.ndim - 1 if isinstance(other, Array) else 0
    return fold(Op("dim", (second, Const(last))), facts)


def _extreme(op: Op, facts: OperandFacts) -> Expr:
    """`max(0, n)` of an extent; of equal integers."""
    first, second = op.args
    if first == second and _typed(first, INT64, facts):
        return first
    if op.fn == "max":
        for one, other in ((first, second), (second, first)):
            if one == Const(0) and nonnegative(other, facts):
                return other
    return op


def nonnegative(expr: Expr, facts: OperandFacts, depth: int = 0) -> bool:
    """Whether an integer is known to be zero or more."""
    if isinstance(expr, Const):
        return isinstance(expr.value, int) and expr.value >= 0
    if isinstance(expr, Name):
        made = facts.definition(expr)
        return made is not None and depth < 8 and nonnegative(made, facts, depth + 1)
    if expr.fn == "dim":
        return True
    if expr.fn == "max":
        return any(nonnegative(arg, facts, depth + 1) for arg in expr.args)
    if expr.fn in ("+", "*", "min"):
        return all(nonnegative(arg, facts, depth + 1) for arg in expr.args)
    if expr.fn in ("//", "%"):
        first, second = expr.args
        positive = isinstance(second, Const) and isinstance(second.value, int) and second.value > 0
        rest = expr.fn == "%" and _typed(first, INT64, facts)
        return positive and (rest or nonnegative(first, facts, depth + 1))
    return False


def _shift(op: Op, facts: OperandFacts) -> Expr | None:
    """`(i + 1) - 1` as `i`: integers, where wrapping round does no harm either."""
    first, second = op.args
    if not (isinstance(first, Name) and isinstance(second, Const) and isinstance(second.value, int)):
        return None
    inner = facts.definition(first)
    if isinstance(second.value, bool) or not isinstance(inner, Op) or inner.fn not in ("+", "-"):
        return None
    base, offset = inner.args
    if not isinstance(offset, Const) or not isinstance(offset.value, int) or not _typed(base, INT64, facts):
        return None
    total = (offset.value if inner.fn == "+" else -offset.value) + (second.value if op.fn == "+" else -second.value)
    if total == 0:
        return base
    if abs(total) > _LARGEST_INT:
        # a literal that no machine integer is
        return None
    return Op("+", (base, Const(total))) if total > 0 else Op("-", (base, Const(-total)))
