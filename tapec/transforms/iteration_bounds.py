"""How many iterations a nest of loops makes at most, as formulas known before the nest begins."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Collection

from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, Const, Expr, For, Name, Op, names_in, substitute
from tapec.syntax.types import Type

# of several upper bounds, so many are compared at run time
_BOUNDS = 4


_INTEGERS: dict[str, Callable[..., int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "neg": operator.neg,
    "max": max,
    "min": min,
}

# the first and the last value of loop variables
Ends = dict[str, tuple[Expr, Expr]]


class IterationBounds:
    """Iteration counts of loops, expressed in names that are set before the outermost loop."""

    def __init__(self, types: dict[str, Type], scopes: Scopes) -> None:
        self.types = types
        self.scopes = scopes

    def of(self, chain: tuple[Scope, ...]) -> tuple[Expr, ...] | None:
        """One extent per loop body of `chain`, outermost first; None if one is not known early."""
        out: list[Expr] = []
        ends: Ends = {}
        for region in chain:
            loop = region.owner
            if not isinstance(loop, For):
                return None
            bounds = [self.early(bound, chain[0], ends) for bound in (loop.start, loop.stop, loop.step)]
            if bounds[1] is None and loop.step == Const(1):
                bounds[1] = self.at_most(loop.stop, chain[0], ends)
            if any(bound is None for bound in bounds):
                return None
            start, stop, step = (bound for bound in bounds if bound is not None)
            iterations = iteration_count(start, stop, step)
            found = [_corners(simpler, ends) for simpler in _bounds(iterations, ends.keys())]
            known = [corners for corners in found if corners is not None]
            if not known:
                return None
            out.append(functools.reduce(lambda one, other: Op("min", (one, other)), known))
            if step == Const(1):
                ends[loop.var] = (start, _minus_one(stop))
            elif step == Const(-1):
                ends[loop.var] = (start, Op("+", (stop, Const(1))))
            elif not set(names_in(start)) & ends.keys() and not set(names_in(stop)) & ends.keys():
                ends[loop.var] = (start, stop)
        return tuple(out)

    def early(self, expr: Expr, outermost: Scope, ends: Ends) -> Expr | None:
        """`expr` in terms of names set before `outermost` and of loop variables in `ends`."""
        if isinstance(expr, Const):
            return expr
        if isinstance(expr, Op):
            args = tuple(self.early(arg, outermost, ends) for arg in expr.args)
            if any(arg is None for arg in args):
                return None
            return Op(expr.fn, tuple(arg for arg in args if arg is not None))
        if expr.id in ends:
            return expr
        scope = self.scopes.scope_of[expr.id]
        loop = self.scopes.loop_of(expr.id) if self.scopes.merged(expr.id) else None
        if not scope.inside(outermost) and loop is not outermost:
            return expr
        defs = self.scopes.defs[expr.id]
        if len(defs) != 1 or not isinstance(defs[0], Assign):
            return None
        value = defs[0].value
        if isinstance(value, Name):
            return self.early(value, outermost, ends)
        if isinstance(value, Const):
            return value
        if value.fn == "dim":
            return self._dim(value, outermost, ends)
        if value.fn in ("+", "-", "*", "max", "min", "neg", "//"):
            return self.early(value, outermost, ends)
        return None

    def _dim(self, value: Op, outermost: Scope, ends: Ends) -> Expr | None:
        array, axis = value.args
        assert isinstance(array, Name) and isinstance(axis, Const)
        if not self.scopes.scope_of[array.id].inside(outermost):
            return None if self.scopes.merged(array.id) else value
        defs = self.scopes.defs[array.id]
        if len(defs) == 1 and isinstance(defs[0], Assign) and isinstance(defs[0].value, Op):
            made = defs[0].value
            if made.fn in ("empty", "zeros") and isinstance(axis.value, int):
                return self.early(made.args[1 + axis.value], outermost, ends)
        return None

    def at_most(self, expr: Expr, outermost: Scope, ends: Ends) -> Expr | None:
        """A bound, known early, of an integer that may be another one in each iteration."""
        found = self._bounds_of(expr, outermost, ends, frozenset())
        return functools.reduce(_larger, found) if found else None

    def _bounds_of(self, expr: Expr, outermost: Scope, ends: Ends, asked: frozenset[Expr]) -> list[Expr] | None:
        """Integers known early, of which one is not below `expr`; None if they are not known.

        asked  what has led here, none of it above `expr`: what an integer was before is no bound of its own
        """
        if expr in asked:
            return []
        known = self.early(expr, outermost, ends)
        if known is not None:
            return [known]
        match expr:
            case Name(id=name):
                values = [stmt.value for stmt in self.scopes.defs[name] if isinstance(stmt, Assign)]
                if len(values) < len(self.scopes.defs[name]):
                    return None
            case Op(fn="ifelse", args=(_, *sides)) | Op(fn="max", args=sides):
                values = list(sides)
            case Op(fn="-", args=(larger, Const(value=int() as less))) if less >= 0:
                values = [larger]
            case Op(fn="dim", args=(Name(id=array), axis)):
                values = self.extents_of(array, axis)
                if not values:
                    return None
            case _:
                return None
        found: list[Expr] = []
        for value in values:
            bounds = self._bounds_of(value, outermost, ends, asked | {expr})
            if bounds is None:
                return None
            found += bounds
        return found

    def extents_of(self, array: str, axis: Expr) -> list[Expr]:
        """What an array's extent may be: that of each array that its name stands for; nothing if that is not known."""
        found: list[Expr] = []
        for stmt in self.scopes.defs[array]:
            match stmt:
                case Assign(value=Name(id=other)):
                    found.append(Op("dim", (Name(other), axis)))
                case Assign(value=Op(fn="empty" | "zeros", args=(_, *dims))) if isinstance(axis, Const):
                    assert isinstance(axis.value, int)
                    found.append(dims[axis.value])
                case _:
                    return []
        return found


def iteration_count(start: Expr, stop: Expr, step: Expr) -> Expr:
    """`len(range(start, stop, step))` as a formula."""
    if step == Const(1):
        return stop if start == Const(0) else Op("-", (stop, start))
    if step == Const(-1):
        return Op("-", (start, stop))
    return Op("neg", (Op("//", (Op("-", (start, stop)), step)),))


def literal(expr: Expr) -> int | None:
    """The integer that a formula without names is."""
    if isinstance(expr, Const):
        return expr.value if isinstance(expr.value, int) else None
    if not isinstance(expr, Op) or expr.fn not in _INTEGERS:
        return None
    args = [literal(arg) for arg in expr.args]
    return None if None in args else _INTEGERS[expr.fn](*args)


def _larger(one: Expr, other: Expr) -> Expr:
    return one if one == other else Op("max", (one, other))


def _minus_one(expr: Expr) -> Expr:
    if isinstance(expr, Const) and isinstance(expr.value, int):
        return Const(expr.value - 1)
    return Op("-", (expr, Const(1)))


def _corners(iterations: Expr, ends: Ends) -> Expr | None:
    """The largest value of `iterations` over the ranges of outer loop variables; None if no corner need have it."""
    free = sorted(set(names_in(iterations)) & ends.keys())
    if not free:
        return Op("max", (iterations, Const(0)))
    if not _convex(iterations, set(free)):
        return None
    best: Expr = Const(0)
    for choice in itertools.product((0, 1), repeat=len(free)):
        value = iterations
        # inner variables first: their ends may contain outer ones
        for name, side in sorted(zip(free, choice, strict=True), reverse=True):
            value = substitute(value, {name: ends[name][side]})
            if not _convex(value, set(names_in(value)) & ends.keys()):
                return None
        while set(names_in(value)) & ends.keys():
            name = sorted(set(names_in(value)) & ends.keys())[-1]
            low = substitute(value, {name: ends[name][0]})
            high = substitute(value, {name: ends[name][1]})
            if not _convex(value, {name}):
                return None
            value = Op("max", (low, high))
        best = Op("max", (best, value))
    return best


def _bounds(expr: Expr, free: Collection[str], up: bool = True) -> list[Expr]:
    """Formulas that are never below another one, or never above if not `up`, and largest (or least) at corners.

    A band `min(n, i + 3) - max(0, i - 2)` has the bounds `n - 0`, `n - (i - 2)`, `i + 3 - 0` and `i + 3 - (i - 2)`.
    """
    if not isinstance(expr, Op) or not set(names_in(expr)) & set(free):
        return [expr]
    match expr.fn, expr.args:
        case "max" | "min", args if (expr.fn == "max") != up:
            return [bound for arg in args for bound in _bounds(arg, free, up)][:_BOUNDS]
        case "+" | "max" | "min", args:
            sides = [_bounds(arg, free, up) for arg in args]
        case "-", (first, second):
            sides = [_bounds(first, free, up), _bounds(second, free, not up)]
        case "neg", (arg,):
            sides = [_bounds(arg, free, not up)]
        case _:
            return [expr]
    bounds: list[Expr] = [Op(expr.fn, choice) for choice in itertools.product(*sides)]
    return bounds[:_BOUNDS]


def _convex(expr: Expr, free: set[str], up: bool = True) -> bool:
    """Whether a formula, or its negative if not `up`, is largest at ends of the ranges of its `free` names.

    `n - max(i, n - i)` is not: it is largest in the middle.
    """
    if isinstance(expr, Name | Const) or not set(names_in(expr)) & free:
        return True
    match expr.fn, expr.args:
        case "+", args:
            return all(_convex(arg, free, up) for arg in args)
        case "-", (first, second):
            return _convex(first, free, up) and _convex(second, free, not up)
        case "neg", (arg,):
            return _convex(arg, free, not up)
        case "max" | "min", args:
            return (expr.fn == "max") == up and all(_convex(arg, free, up) for arg in args)
        case "*", args:
            # the sign of the other factor is not known
            sides = [bool(set(names_in(arg)) & free) for arg in args]
            return sum(sides) == 1 and all(_convex(arg, free, way) for arg in args for way in (True, False))
    return False
