"""Numbers that may be left out of the result: their adjoints may be exactly zero, whatever they are themselves.

    e = exp(x)
    t = e / (1.0 + e)
    y = ifelse(x < 0.0, t, s)       e and t are such numbers, y is another

A number is one if each of its uses leaves it out at times: a choice by a condition, a branch that it does not stand in,
an element that is read alone from where it was stored, or an operation whose result is such a number.
Maxima and minima are none of these: guards cost a tenth of the time of payoffs such as `maximum(s0 * exp(z) - k, 0)`.
"""

from __future__ import annotations

from collections.abc import Iterable

from tapec.syntax.core import Assign, Const, Expr, Function, If, Name, Op, Stmt, Store, blocks, reads

_TESTS = frozenset({"<", "<=", ">", ">=", "==", "!=", "not", "and", "or", "isnan", "isfinite", "isinf", "signbit"})


def masked_values(function: Function, results: Iterable[str] = ()) -> frozenset[str]:
    """The numbers of a program that may be left out.

    results  names whose adjoints come from outside
    """
    uses = _Uses()
    uses.of_block(function.body, ())
    for name in (*function.params, *results):
        uses.use(name, None, ())
    makers: dict[str | None, list[str]] = {}
    for name, made in uses.made_of.items():
        for result in made:
            makers.setdefault(result, []).append(name)
    # what makes a number that may not be left out may not be, either
    never, new = set[str](), [*makers.get(None, ()), *(name for name in uses.made_of if name not in uses.branches)]
    while new:
        name = new.pop()
        if name not in never:
            never.add(name)
            new += makers.get(name, ())
    return frozenset(uses.branches.keys() - never)


class _Uses:
    """What is made of each name."""

    def __init__(self) -> None:
        # None for what may not be left out
        self.made_of: dict[str, set[str | None]] = {}
        # the branches that each name's only assignment, or first one, stands in
        self.branches: dict[str, tuple[int, ...]] = {}

    def of_block(self, block: Iterable[Stmt], branches: tuple[int, ...]) -> None:
        for stmt in block:
            self.of_statement(stmt, branches)
            for k, inner in enumerate(blocks(stmt)):
                self.of_block(inner, (*branches, 2 * stmt.key + k) if isinstance(stmt, If) else branches)

    def of_statement(self, stmt: Stmt, branches: tuple[int, ...]) -> None:
        match stmt:
            case Assign(target=target, value=Op(fn="load", args=(Name(id=array), *index))):
                self.branches.setdefault(target, branches)
                if not all(isinstance(one, Const) for one in index):
                    self.use(array, target, branches)
            case Assign(target=target, value=Op(fn="view", args=(Name(id=array), *subs))):
                self.branches.setdefault(target, branches)
                if not any(map(_leaves_out, subs)):
                    self.use(array, target, branches)
            case Assign(target=target, value=value):
                self.branches.setdefault(target, branches)
                self.of_value(value, target, branches)
            case Store(array=array, value=Name(id=name)):
                self.use(name, array, branches)
            case _ if not blocks(stmt):
                for name in reads(stmt):
                    self.use(name, None, branches)

    def of_value(self, value: Expr, target: str, branches: tuple[int, ...]) -> None:
        match value:
            case Name(id=name):
                self.use(name, target, branches)
            case Op(fn=fn, args=args) if fn not in ("dim", "ifelse") and fn.rpartition(".")[2] not in _TESTS:
                for arg in args:
                    self.of_value(arg, target, branches)

    def use(self, name: str, result: str | None, branches: tuple[int, ...]) -> None:
        own = self.branches.get(name, branches)
        # a branch that is not taken leaves out what stands before it
        if branches[: len(own)] == own and len(branches) > len(own):
            return
        self.made_of.setdefault(name, set()).add(result)


def _leaves_out(sub: Expr) -> bool:
    """Whether a subscript of a view is a place, or a slice that has a bound."""
    match sub:
        case Op(fn="slice", args=(low, high, *_)):
            return low != Const(None) or high != Const(None)
    return isinstance(sub, Const)
