"""Compute a number or an array once, before a loop whose iterations would all compute it alike.

    for i in range(n):                      if 0 < n:
        r = x[i] - m                            t = np.linalg.inv(s)
        t = np.linalg.inv(s)        ->      for i in range(n):
        q = np.dot(r, np.dot(t, r))             r = x[i] - m
                                                q = np.dot(r, np.dot(t, r))

LLVM moves arithmetic out of loops itself, but no calls of LAPACK, no products and no loops that add up; and what the
reverse sweep does for them it would do in every iteration.  Arrays that are filled element by element are those of
`fill_hoisting.py`.

Nothing may write into the array, or keep it under another name; and only the value that an iteration ends with is read,
not what it is on its way to that.  A call may come before a check that stood before it: of two errors there may be the
other one.  Expects one name per value, as `number_values` leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.facts import facts
from tapec.analyses.iterations import Iterations
from tapec.analyses.loop_invariance import Invariance, can_be_parted, exchanged, kept, some_iteration
from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Call,
    Const,
    For,
    Function,
    If,
    Name,
    Op,
    Stmt,
    distinct,
    literal_range,
    reads,
    walk,
    writes,
)
from tapec.syntax.renaming import renamed
from tapec.syntax.types import BOOL, Array

_FACTORISATIONS = frozenset({"tapec_runtime.factorised", "tapec_runtime.factorised_lower"})
_DEAR = _FACTORISATIONS | {"np.dot"}
_NOTHING = {"float64": 0.0, "float32": 0.0, "int64": 0, "bool": False}


def hoist_values(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such values computed before the loops; see the module."""
    while any(map(_is_dear, walk(function.body))) and (found := _Values(function).moved()) is not None:
        function = replace(found, body=distinct(found.body))
    return function


def _is_dear(stmt: Stmt) -> bool:
    """Whether a statement is one that LLVM leaves where it is."""
    if isinstance(stmt, Call):
        return stmt.function.startswith("np.linalg.")
    if isinstance(stmt, Assign) and isinstance(stmt.value, Op):
        return stmt.value.fn in _DEAR or stmt.value.fn.startswith("np.linalg.")
    return isinstance(stmt, For)


class _Values:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.iterations = Iterations(function)
        self.readers = facts(function).readers
        self.members = facts(function).members
        self.fresh = Fresh(function.types)

    def moved(self) -> Function | None:
        """The function with one value computed earlier; None if there is none to move."""
        for loop in reversed([stmt for stmt in walk(self.function.body) if isinstance(stmt, For)]):
            if not any(map(_is_dear, walk(loop.body))) or not can_be_parted(self.iterations, loop):
                continue
            known = Invariance(self.iterations, loop)
            for name in dict.fromkeys(self.candidates(loop)):
                if (found := self.computing(name, known)) is not None:
                    changes = {loop.key: self.split(name, loop, found)}
                    return replace(self.function, body=exchanged(self.function.body, changes), types=self.fresh.types)
        return None

    def candidates(self, loop: For) -> Iterator[str]:
        """The names that an iteration sets by what is dear, in order."""
        for stmt in loop.body:
            if any(map(_is_dear, walk((stmt,)))):
                for one in walk((stmt,)):
                    yield from writes(one) if isinstance(one, Assign | Call) else ()

    def computing(self, name: str, known: Invariance) -> set[int] | None:
        """The statements of an iteration that compute a value, by key; None if iterations may compute it
        differently.
        """
        defs = self.iterations.scopes.defs[name]
        type_ = self.function.types[name]
        simple = self.is_kept(name) if isinstance(type_, Array) else str(type_) in _NOTHING
        if not simple or not all(map(known.holds, defs)) or not all(map(known.holds, self.readers.get(name, ()))):
            return None
        beside = {other for stmt in defs for other in writes(stmt)} - {name}
        if any(self.readers.get(other) for other in beside):
            return None
        found = known.needed(defs)
        others = [stmt for stmt in self.readers.get(name, ()) if stmt.key not in found]
        dear = any(_is_dear(stmt) and stmt.key in found for stmt in known.inside)
        if not dear or not others or not known.all_invariant(found) or self.is_on_the_way(name, known, found):
            return None
        complete = max(known.place[stmt.key] for stmt in defs)
        return found if all(known.place[stmt.key] > complete for stmt in others) else None

    def is_on_the_way(self, name: str, known: Invariance, found: set[int]) -> bool:
        """Whether what a value is on its way to becoming is used for something else, which stays in the loop."""
        inside = [stmt for stmt in known.inside if stmt.key in found]
        pending, made = [name], {name}
        while pending:
            value = pending.pop()
            users = [inner for stmt in inside if value in reads(stmt) for inner in walk((stmt,))]
            if not all(stmt.key in found for stmt in users):
                return True
            others = {one for stmt in users for one in writes(stmt)} - made
            pending += others
            made |= others
        return not all(stmt.key in found for one in made - {name} for stmt in self.readers.get(one, ()))

    def is_kept(self, array: str) -> bool:
        """Whether an array is what it is made as, and nothing is another name of all of it."""
        type_ = self.function.types[array]
        names = self.members[self.iterations.aliases.find(array)]
        users = [stmt for name in names for stmt in self.readers.get(name, ())]
        plain = all(isinstance(stmt, Assign) and isinstance(stmt.value, Op) for stmt in users)
        return plain and isinstance(type_, Array) and (type_.layout == "C" or (type_.layout, type_.ndim) == ("F", 2))

    def split(self, name: str, loop: For, found: set[int]) -> tuple[Stmt, ...]:
        """What computes the value, under another name, and the loop without it."""
        defs = self.iterations.scopes.defs[name]
        span = defs[0].span
        about, what = name, "`{0}` is computed once, before the loop"
        match defs:
            case [Assign(value=Op(fn=fn, args=(Name(id=matrix),)))] if fn in _FACTORISATIONS:
                about, what = matrix, "`{0}` is factorised once, before the loop"
        why = "every iteration of {1} would compute the same"
        remark(
            span, "value_hoisting", what, why, Named(about, self.iterations.scopes.line_of(about)), loop.span
        )
        computing = kept(loop.body, found)
        anew = self.fresh.anew(one for stmt in walk(computing) for one in writes(stmt))
        computed = renamed(computing, anew)
        own = anew[name]
        out: list[Stmt] = [*computed]
        if not literal_range(loop):
            own = self.fresh(name, self.fresh.types[name])
            test, some = some_iteration(self.iterations, loop, self.fresh("some", BOOL))
            computed = (*computed, Assign(own, Name(anew[name]), span))
            out = [test, If(some, computed, self.nothing(own), loop.span)]
        body = exchanged(loop.body, {stmt.key: () for stmt in defs})
        return (*out, replace(loop, body=renamed(body, {name: own})))

    def nothing(self, name: str) -> tuple[Stmt, ...]:
        """A value that nobody reads, where there is no iteration."""
        type_ = self.fresh.types[name]
        if not isinstance(type_, Array):
            return (Assign(name, Const(_NOTHING[str(type_)])),)
        made = Op("empty", (Const(type_.dtype), *(Const(0) for _ in range(type_.ndim))))
        if type_.layout == "C":
            return (Assign(name, made),)
        turned = self.fresh("t", replace(type_, layout="C"))
        return (Assign(turned, made), Assign(name, Op("transpose", (Name(turned),))))
