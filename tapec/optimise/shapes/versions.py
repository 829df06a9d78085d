"""Versions of a program for some of its arguments, and the questions at the start that tell which one is taken.

    n, m = x.shape[0], y.shape[0]             if x.shape[0] != y.shape[0]:
    if n == m:                                    raise tapec_runtime.OtherVersion
        ...                            ->     ...
    else:
        ...

What is asked follows from extents of parameters alone, or of places in them that are looked up (`lookups`).  All
versions are one function with a branch (`either`), or one of them is a function by itself, which raises an error for
arguments of others (`alone`): a call from Python compiles no version but its own, until there is a call
that needs another one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from tapec.optimise.name_origins import Fresh
from tapec.optimise.simplify.variable_names import under_names
from tapec.syntax.core import Assign, Atom, Const, Expr, Function, If, Name, Op, Raise, Return, Stmt, substitute
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array

# what is raised for arguments of another version
OTHER_VERSION = "tapec_runtime.OtherVersion"
# formulas of extents of parameters; the second one is an extent
Equal = tuple[Expr, Expr]


@dataclass(frozen=True)
class Version:
    """A program for some of its arguments.

    equal  what has to be equal for it
    few    extents of parameters that have to be small for it
    below  parameters whose places have to be below others for it, as their types say
    """

    program: Function
    equal: tuple[Equal, ...] = ()
    few: tuple[Expr, ...] = ()
    below: tuple[str, ...] = ()

    def asked_of(self, partners: dict[str, str]) -> Version:
        """The version whose conditions ask other parameters for their extents."""
        names: dict[str, Expr] = {name: Name(partner) for name, partner in partners.items()}
        equal = tuple((substitute(one, names), substitute(extent, names)) for one, extent in self.equal)
        return replace(self, equal=equal, few=tuple(substitute(extent, names) for extent in self.few))

    def conditions(self, most: int) -> list[tuple[str, Expr, Expr]]:
        """What has to hold for it: comparisons of an extent and a formula."""
        limits = [("<=", extent, Const(most)) for extent in self.few]
        return [*(("==", extent, formula) for formula, extent in self.equal), *limits]

    def holds(self, shapes: Mapping[str, tuple[int, ...]], most: int) -> bool:
        """Whether the conditions hold for parameters of these shapes; what is in them is taken to be as it should."""
        return all(
            _COMPARED[sign](_number(one, shapes), _number(two, shapes)) for sign, one, two in self.conditions(most)
        )


@dataclass(frozen=True)
class Versions:
    """Versions of a program.

    special  those of which the first one is taken whose conditions hold
    other    the program for all arguments
    only     the one that is asked for, by its position, where `other` is the last; None for all of them
    apart    whether each is a function by itself, which hands what is not for it to the next one
    """

    special: tuple[Version, ...]
    other: Function
    only: int | None = None
    apart: bool = False

    @property
    def programs(self) -> tuple[Function, ...]:
        """The programs of all versions."""
        return (*(version.program for version in self.special), self.other)

    @property
    def first(self) -> Function:
        """The program of the first version that is asked for."""
        return self.programs[self.only or 0]

    def named(self) -> Versions:
        """The same versions, as functions whose names and descriptions tell which arguments they are for."""
        first, last = self.programs[0], len(self.special)
        found = [first]
        for k, before in enumerate(self.special, 1):
            few = before.few and (k < last or not before.equal and not before.below)
            name, which = ("larger", "larger arrays") if few else ("general", "arrays of any lengths")
            doc = f"The same as `{first.name}`, for {which}."
            found.append(replace(self.programs[k], name=f"{first.name}_{name}", doc=doc))
        given = iter(found)
        return self.of(lambda _: next(given))

    def asks_for(self, position: int) -> bool:
        """Whether a version is asked for."""
        return self.only is None or self.only == position

    def of(self, change: Callable[[Function], Function]) -> Versions:
        """The same versions of what is made of the programs that are asked for."""
        *programs, other = (change(one) if self.asks_for(k) else one for k, one in enumerate(self.programs))
        special = tuple(replace(version, program=one) for version, one in zip(self.special, programs, strict=True))
        return replace(self, special=special, other=other)

    def taken(self, shapes: Mapping[str, tuple[int, ...]], most: int) -> int:
        """The position of the version that is taken for parameters of these shapes; `most` as for `either`."""
        holding = (k for k, version in enumerate(self.special) if version.holds(shapes, most))
        return next(holding, len(self.special))


def either(version: Version, other: Function, most: int, constants: frozenset[str]) -> Function:
    """One function of two, by the conditions of the first one; `constants` are names that it reads and does not set.

    most  the largest of extents that have to be small
    """
    alike = version.program
    last, other_last = alike.body[-1], other.body[-1]
    if not isinstance(last, Return) or not isinstance(other_last, Return):
        return other
    fresh = Fresh({**dict.fromkeys(constants, INT64), **alike.types})
    own = constants.union(other.params)
    names = {name: fresh(name, type_) for name, type_ in other.types.items() if name not in own}
    *other_body, renamed = under_names(other.body, names)
    assert isinstance(renamed, Return)
    asks, test = _questions(version, most, fresh)
    body, results = list(alike.body[:-1]), []
    for one, two in zip(last.values, renamed.values, strict=True):
        if one == two:
            results.append(one)
            continue
        named = next((value.id for value in (one, two) if isinstance(value, Name)), None)
        # numbers that differ are both floats: extents and the like are the same in both versions
        result = fresh(named or "result", fresh.types[named] if named else FLOAT64)
        body.append(Assign(result, one))
        other_body.append(Assign(result, two))
        results.append(Name(result))
    branch = If(Name(test), tuple(body), tuple(other_body))
    types = {**fresh.types, **{name: other.types[name] for name in version.below}}
    return replace(alike, body=(*asks, branch, Return(tuple(results), last.span)), types=types, few=())


def alone(function: Function, version: Version, holds: bool, most: int, constants: frozenset[str]) -> Function:
    """A function that raises an error unless the conditions of a version hold, or unless they do not."""
    fresh = Fresh({**dict.fromkeys(constants, INT64), **function.types})
    asks, test = _questions(version, most, fresh)
    error = (Raise(OTHER_VERSION),)
    branch = If(Name(test), (), error) if holds else If(Name(test), error, ())
    return replace(function, body=(*asks, branch, *function.body), types=fresh.types)


@dataclass(frozen=True)
class GuardResult:
    """Whether all of some comparisons hold, of formulas of extents of parameters, for those that a program is for."""

    questions: tuple[Op, ...]
    holds: bool

    @staticmethod
    def for_shapes(questions: tuple[Op, ...], shapes: Mapping[str, tuple[int, ...]]) -> GuardResult:
        """The answer for parameters of these shapes."""
        numbers = ([_number(arg, shapes) for arg in one.args] for one in questions)
        return GuardResult(
            questions, all(_COMPARED[one.fn](*pair) for one, pair in zip(questions, numbers, strict=True))
        )


def for_answers(function: Function, answers: Iterable[GuardResult], constants: frozenset[str]) -> Function:
    """A function that raises an error for parameters for which there are other answers; `constants` as above."""
    fresh = Fresh({**dict.fromkeys(constants, INT64), **function.types})
    asks: list[Stmt] = []
    for answer in answers:
        test: Atom = Const(True)
        for question in answer.questions:
            name = fresh("alike", BOOL)
            asks.append(Assign(name, Op(question.fn, tuple(flat(arg, asks, fresh) for arg in question.args))))
            if test != Const(True):
                both = fresh("alike", BOOL)
                asks.append(Assign(both, Op("and", (test, Name(name)))))
                name = both
            test = Name(name)
        error = (Raise(OTHER_VERSION),)
        asks.append(If(test, (), error) if answer.holds else If(test, error, ()))
    return replace(function, body=(*asks, *function.body), types=fresh.types)


def _questions(version: Version, most: int, fresh: Fresh) -> tuple[list[Stmt], str]:
    """Statements that ask whether the conditions of a version hold, and the name of the answer."""
    asks: list[Stmt] = []
    test = ""

    def ask(base: str, question: Op) -> None:
        nonlocal test
        before, test = test, fresh(base, BOOL)
        asks.append(Assign(test, question))
        if before:
            both = fresh(base, BOOL)
            asks.append(Assign(both, Op("and", (Name(before), Name(test)))))
            test = both

    for sign, extent, formula in version.conditions(most):
        ask("alike", Op(sign, (flat(extent, asks, fresh), flat(formula, asks, fresh))))
    for array in version.below:
        type_ = version.program.types[array]
        assert isinstance(type_, Array) and type_.below is not None
        first: Expr = Const(type_.below.number)
        for parameter, axis, factor in type_.below.extents:
            extent = Op("dim", (Name(parameter), Const(axis)))
            times = extent if factor == 1 else Op("*", (Const(factor), extent))
            first = times if first == Const(0) else Op("+", (times, first))
        ask("behind", Op("tapec_runtime.lie_behind", (Name(array), flat(first, asks, fresh))))
    return asks, test


_FORMULA: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "max": max,
    "min": min,
}
_COMPARED: dict[str, Callable[[int, int], bool]] = {"==": operator.eq, "<=": operator.le, ">=": operator.ge}
# what extents are made of
FORMULA = frozenset(_FORMULA)


def _number(expr: Expr, shapes: Mapping[str, tuple[int, ...]]) -> int:
    """A formula of extents of parameters of these shapes."""
    match expr:
        case Const(value=int(number)):
            return number
        case Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))):
            return shapes[array][axis]
        case Op(fn=fn, args=(one, other)):
            return _FORMULA[fn](_number(one, shapes), _number(other, shapes))
    raise AssertionError(f"no formula of extents: {expr}")


def flat(expr: Expr, out: list[Stmt], fresh: Fresh, whole: bool = False) -> Expr:
    """A formula as a name, or the `whole` of it as one operation, after statements that compute its parts."""
    if not isinstance(expr, Op):
        return expr
    made = Op(expr.fn, tuple(flat(arg, out, fresh) for arg in expr.args))
    if whole:
        return made
    name = fresh("size", INT64)
    out.append(Assign(name, made))
    return Name(name)
