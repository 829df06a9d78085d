"""Give a loop whose subscripts have factors of 1 or 0 a version without them, for the case that all are 1.

    step = 1 if n == m else 0                 step = 1 if n == m else 0
    for i in range(n):                        if step == 1:
        s += x[i * step] * y[i]                   for i in range(n):
                                       ->             s += x[i] * y[i]
                                              else:
                                                  for i in range(n):
                                                      s += x[i * step] * y[i]

Operands of a loop that may have to be broadcast are read like this.  They seldom have to, and LLVM does not run such a
loop on vectors.  Done where all arrays of the loop are contiguous.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.facts import facts
from tapec.analyses.scopes import Scopes
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Note,
    Op,
    Stmt,
    Store,
    map_blocks,
    reads,
    substitute,
    walk,
)
from tapec.syntax.types import BOOL, Array

_EITHER = (Const(1), Const(0))


def with_unit_strides(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops; see the module."""
    return _Unstepped(function).rewritten()


class _Unstepped(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.scopes: Scopes = facts(function).scopes
        self.readers: dict[str, list[int]] = {}
        for stmt in walk(function.body):
            for name in reads(stmt):
                self.readers.setdefault(name, []).append(stmt.key)

    def statement(self, stmt: Stmt) -> list[Stmt]:
        steps = self.steps(stmt) if isinstance(stmt, For) else []
        if isinstance(stmt, For) and steps:
            return self.either(stmt, steps)
        return [stmt if isinstance(stmt, If) and self.has_both(stmt) else map_blocks(stmt, self.block)]

    def steps(self, loop: For) -> list[str]:
        """The factors of an innermost loop's variable that are 1 or 0."""
        if not all(isinstance(stmt, Assign | Store | Note) and self.in_line(stmt) for stmt in loop.body):
            return []
        found: dict[str, None] = {}
        for stmt in loop.body:
            factor = self.factor(stmt, loop.var)
            if factor is not None:
                found[factor] = None
        return list(found)

    def has_both(self, choice: If) -> bool:
        """Whether a branch is the choice between a loop's two versions."""
        match choice.orelse:
            case (For() as loop,):
                steps = self.steps(loop)
                return bool(steps) and self.tested(choice.test).issuperset(steps)
        return False

    def tested(self, test: Expr) -> set[str]:
        """The factors that are 1 where a test succeeds."""
        defs = self.scopes.defs.get(test.id, []) if isinstance(test, Name) else []
        match defs[0] if len(defs) == 1 else None:
            case Assign(value=Op(fn="==", args=(Name(id=step), Const(value=1)))):
                return {step}
            case Assign(value=Op(fn="and", args=tests)):
                return {step for one in tests for step in self.tested(one)}
        return set()

    def in_line(self, stmt: Stmt) -> bool:
        """Whether the arrays of a statement are contiguous: others would be gathered, which gains nothing."""
        types = (self.fresh.types.get(name) for name in reads(stmt))
        return all(type_.layout == "C" for type_ in types if isinstance(type_, Array))

    def factor(self, stmt: Stmt, var: str) -> str | None:
        match stmt:
            case Assign(value=Op(fn="*", args=(Name(id=first), Name(id=step)))) if first == var:
                defs = self.scopes.defs.get(step, [])
                made = defs[0].value if len(defs) == 1 and isinstance(defs[0], Assign) else None
                if isinstance(made, Op) and made.fn == "ifelse" and made.args[1:] == _EITHER:
                    return step
        return None

    def either(self, loop: For, steps: list[str]) -> list[Stmt]:
        """The loop in both versions, and the test between them."""
        out: list[Stmt] = []
        test: Name | None = None
        for step in steps:
            one = self.fresh("t", BOOL)
            out.append(Assign(one, Op("==", (Name(step), Const(1))), loop.span))
            if test is None:
                test = Name(one)
                continue
            both = self.fresh("t", BOOL)
            out.append(Assign(both, Op("and", (test, Name(one))), loop.span))
            test = Name(both)
        assert test is not None
        why = "for operands that need not be stretched"
        remark(loop.span, "unit_stride_versions", "has a version that can run on vectors", why)
        return [*out, If(test, (self.plain(loop),), (loop,), loop.span)]

    def plain(self, loop: For) -> For:
        """The loop without steps, with names of its own for what each iteration computes for itself."""
        inside = {one.key for one in loop.body}
        var = self.fresh(loop.var, self.fresh.types[loop.var])
        values: dict[str, Expr] = {loop.var: Name(var)}
        body: list[Stmt] = []
        for stmt in loop.body:
            if isinstance(stmt, Store):
                body.append(_store(stmt, values))
                continue
            if not isinstance(stmt, Assign):
                body.append(stmt)
                continue
            own = len(self.scopes.defs[stmt.target]) == 1 and inside.issuperset(self.readers.get(stmt.target, ()))
            if own and self.factor(stmt, loop.var) is not None:
                values[stmt.target] = Name(var)
                continue
            value = substitute(stmt.value, values)
            target = stmt.target
            if own:
                target = self.fresh(target, self.fresh.types[target])
                values[stmt.target] = Name(target)
            body.append(replace(stmt, target=target, value=value))
        return replace(loop, var=var, body=tuple(body))


def _store(stmt: Store, values: dict[str, Expr]) -> Store:
    index = tuple(substitute(sub, values) for sub in stmt.index)
    value = substitute(stmt.value, values)
    assert isinstance(value, Name | Const) and all(isinstance(sub, Name | Const) for sub in index)
    return replace(stmt, index=index, value=value)  # type: ignore[arg-type]
