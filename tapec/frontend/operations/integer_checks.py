"""Integer arithmetic where machines give a number and Python raises, or gives a float.

What Python raises for a division by zero or a negative shift is raised when the program runs.  A negative power of
an integer is a float in Python and zero on machines: of what is surely Python's, such as literals and what counts
iterations, it is the float, else NumPy's exception.
"""

from __future__ import annotations

from typing import Any, NoReturn

import gast

from tapec.errors import TypeMismatch
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode, Raised
from tapec.frontend.evaluator.unfinished_blocks import OpenIf, OpenIteration
from tapec.frontend.evaluator.values import Lazy, Sym, Value, is_array, is_integer, number, static_int
from tapec.rules import internal
from tapec.syntax.core import Atom, Const, Name
from tapec.syntax.types import Array, Scalar

_OF_LITERALS = (gast.Constant, gast.BinOp, gast.UnaryOp, gast.operator, gast.unaryop)
_POWERS = (gast.Pow, gast.LShift)
_ZERO, _NEGATIVE = "==", "<"
# what the second operand must not be
_WRONG: dict[str, tuple[str, type[Exception], str]] = {
    "//": (_ZERO, ZeroDivisionError, "integer division or modulo by zero"),
    "%": (_ZERO, ZeroDivisionError, "integer division or modulo by zero"),
    "<<": (_NEGATIVE, ValueError, "negative shift count"),
    ">>": (_NEGATIVE, ValueError, "negative shift count"),
    "**": (_NEGATIVE, ValueError, "Integers to negative integer powers are not allowed."),
}


def power(ev: Evaluator, left: Value, right: Value, node: Any) -> Sym | None:
    """`left ** right` of known integers, the second one negative: a float.

    So it is in compiled code only where Python works literals out before Numba sees them.
    """
    base, exponent = static_int(left), static_int(right)
    if exponent is not None and exponent < 0 and base is None and ev.frame.jitted is None and _is_pythons(ev, left):
        assert isinstance(left, Sym)
        message = "0.0 cannot be raised to a negative power"
        if not at_least(ev, left, 1):
            refuse(ev, _ZERO, left, ZeroDivisionError, message)
        return ev.op("**", ev.op("cast.float64", left), number(float(exponent)))
    if not base or exponent is None or exponent >= 0:
        return None
    if ev.frame.jitted is not None and not _is_literal(node):
        _fail(ev, node)
    return number(float(base**exponent))


def _is_pythons(ev: Evaluator, value: Value) -> bool:
    """Whether a number is an integer of Python's for sure: it counts iterations, or is made of extents."""
    if not isinstance(value, Sym) or not isinstance(value.atom, Name) or not is_integer(value):
        return False
    return value.atom.id in ev.counters or ev.lengths.is_count(value.atom)


def _is_literal(node: Any) -> bool:
    """Whether an expression is of numbers alone."""
    return all(isinstance(part, _OF_LITERALS) for part in gast.walk(node))


def of_literals(node: Any) -> int | None:
    """The integer of 64 bits that an expression of integers alone is, if its parts may be larger: `2**63 - 1`."""
    if not _is_literal(node):
        return None
    parts = [part.value for part in gast.walk(node) if isinstance(part, gast.Constant)]
    powers = [part.right for part in gast.walk(node) if isinstance(part, gast.BinOp) and isinstance(part.op, _POWERS)]
    small = all(isinstance(power, gast.Constant) and power.value in range(64) for power in powers)
    if not small or not all(type(part) is int for part in parts):
        return None
    try:
        value = eval(compile(gast.gast_to_ast(gast.Expression(node)), "<literal>", "eval"), {})
    except ArithmeticError:
        return None
    return value if type(value) is int and -(2**63) < value < 2**63 else None


def _fail(ev: Evaluator, node: Any) -> NoReturn:
    ev.fail(TypeMismatch, "an integer to a negative power", node, hint="write `float(n) ** -1`")


def check(ev: Evaluator, fn: str, left: Value, right: Value, node: Any) -> None:
    """Raise where Python does, when the program runs, for an operation on two integers."""
    if fn == "/" and ev.deciding and static_int(left) is not None and static_int(right) == 0:
        raise Raised(ZeroDivisionError)
    if fn == "**" and not ev.frame.library and (is_array(left) or is_array(right)):
        _check_powers(ev, left, right, node)
    if fn not in _WRONG or ev.frame.library or not (is_integer(left) and is_integer(right)):
        return
    right = ev.decided(ev.sym(right), node)
    assert isinstance(right.type, Scalar)
    sign, cls, message = _WRONG[fn]
    if sign == _NEGATIVE and (right.type.dtype.startswith("uint") or right.type.dtype == "bool"):
        return
    if at_least(ev, right, 1 if sign == _ZERO else 0):
        return
    if fn == "**" and right.constant is not None and right.constant < 0 and not ev.deciding:
        _fail(ev, node)
    refuse(ev, sign, right, cls, message)


def _check_powers(ev: Evaluator, left: Value, right: Value, node: Any) -> None:
    """NumPy has no negative powers of integers, whole arrays of them or one."""
    for one in (left, right):
        dtype = one.type.dtype if isinstance(one, Sym | Lazy) and isinstance(one.type, Array | Scalar) else ""
        if not dtype.startswith(("int", "uint", "bool")):
            return
    if is_array(right):
        # what is unsigned is not negative
        if dtype.startswith("int"):
            ev.inline_library(internal.no_negative_powers, [right], {}, node)
        return
    if not dtype.startswith("int"):
        return
    exponent = ev.decided(ev.sym(right), node)
    if exponent.constant is not None and exponent.constant < 0 and not ev.deciding:
        _fail(ev, node)
    _, cls, message = _WRONG["**"]
    refuse(ev, _NEGATIVE, exponent, cls, message)


def refuse(ev: Evaluator, sign: str, value: Sym, cls: type[Exception], message: str) -> None:
    """Raise, when the program runs, if a number is what `sign` says of it and zero, or is true for no sign."""
    if value.constant is None:
        _raise_if(ev, sign, value, cls, message)
        return
    wrong = {_ZERO: value.constant == 0, _NEGATIVE: value.constant < 0, "not": not value.constant, "": value.constant}
    if wrong[sign]:
        if ev.deciding:
            raise Raised(cls)
        ev.raise_(cls.__name__, message)
        raise DeadCode


def refuse_negative(ev: Evaluator, value: Sym, message: str) -> None:
    """Raise ValueError, when the program runs, if an integer is negative; nothing where it is proved not to be."""
    assert isinstance(value.type, Scalar)
    unsigned = value.type.dtype.startswith("uint") or value.type.dtype == "bool"
    if not unsigned and not ev.lengths.is_count(value.atom) and not at_least(ev, value, 0):
        refuse(ev, _NEGATIVE, value, ValueError, message)


def at_least(ev: Evaluator, value: Sym, least: int) -> bool:
    """Whether the loops around tell that a number is `least` at least."""
    if not isinstance(value.atom, Name):
        return False

    def counts_up(first: Atom | None, from_: int) -> bool:
        return isinstance(first, Const) and isinstance(first.value, int) and first.value >= from_

    first, _ = ev.counters.get(value.atom.id, (None, None))
    # where an iteration runs, the bound is beyond the start
    return counts_up(first, least) or any(
        iteration.stop.atom == value.atom and counts_up(iteration.start.atom, least - 1)
        for iteration in ev.open_iterations
    )


def _raise_if(ev: Evaluator, sign: str, value: Sym, cls: type[Exception], message: str) -> None:
    """Raise if a number is wrong: before the loops that do not change it, if they have iterations."""
    block, runs = ev.block, list[OpenIteration]()
    for iteration in reversed(ev.open_iterations):
        bounds = [bound for inner in runs for bound in (inner.start, inner.stop)]
        if iteration.body is not block or not all(map(iteration.keeps, (value, *bounds))):
            break
        runs.append(iteration)
        block = iteration.outer
    here = ev.block
    ev.block = runs[-1].before if runs else here
    wrong = ev.op(sign, value, number(0)) if sign in (_ZERO, _NEGATIVE) else ev.op(sign, value) if sign else value
    for iteration in runs:
        wrong = ev.op("and", ev.op("<", iteration.start, iteration.stop), wrong)
    place, ev.block = ev.block, []
    ev.raise_(cls.__name__, message)
    side, ev.block = ev.block, place
    ev.emit(OpenIf(wrong.atom, side, [], ev.span))
    ev.block = here
