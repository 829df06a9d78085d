"""Make checks once that every iteration of a loop would make alike.

    for i in range(n):                        c = k == 0
        c = k == 0                            if 0 < n:
        if c:                                     if c:
            raise ValueError()        ->              raise ValueError()
        y[i] = x[i] * k                       for i in range(n):
                                                  y[i] = x[i] * k

The iterations of a loop that may raise cannot run side by side, nor in another order.  Refused where the first
iteration does something before its check that somebody might see, or where anything that the check asks changes from
iteration to iteration.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.iterations import Iterations
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Name,
    Op,
    Raise,
    Stmt,
    Store,
    map_blocks,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.types import BOOL

# operations on numbers that do nothing else, whatever the numbers are
_HARMLESS = frozenset(
    {"+", "-", "*", "neg", "max", "min", "dim", "ifelse", "not", "and", "or", "==", "!=", "<", "<=", ">", ">="}
)
_QUIET = _HARMLESS | {"load", "empty", "zeros", "view", "transpose"}


def hoist_checks(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such checks before their loops; see the module."""
    if not any(isinstance(stmt, Raise) for stmt in walk(function.body)):
        return function
    return _Checks(function).rewritten()


class _Checks(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)
        self.counts = Counter(name for stmt in walk(function.body) for name in writes(stmt))

    def statement(self, stmt: Stmt) -> Block:
        # innermost loops first, so that a check rises as far as it can
        new = map_blocks(stmt, self.block)
        return self.risen(new) if isinstance(new, For) and new.step == Const(1) and new.slots is None else (new,)

    def risen(self, loop: For) -> Block:
        """What a loop's checks need, the checks, and the loop without them."""
        inside = written_in((loop,))
        known: dict[str, Assign] = {}
        checks: list[Stmt] = []
        for stmt in loop.body:
            if isinstance(stmt, If) and self.is_check(stmt, inside - known.keys()):
                checks.append(stmt)
            elif not self.unseen(stmt, loop.body):
                break
            elif isinstance(stmt, Assign) and self.same(stmt, inside - known.keys()):
                known[stmt.target] = stmt
        if not checks:
            return (loop,)
        for check in checks:
            remark(check.span, "check_hoisting", "checked once", "all iterations of {0} ask the same", loop.span)
        needed = self.needed(checks, known)
        moved = {stmt.key for stmt in (*needed, *checks)}
        some = self.fresh("t", BOOL)
        self.counts[some] = 1
        return (
            *needed,
            Assign(some, Op("<", (loop.start, loop.stop)), loop.span),
            If(Name(some), tuple(checks), span=loop.span),
            replace(loop, body=tuple(stmt for stmt in loop.body if stmt.key not in moved)),
        )

    def is_check(self, stmt: If, changing: set[str]) -> bool:
        """Whether all that a branch does is raise, and nothing that it asks changes."""
        changing = changing - written_in(stmt.body)
        if stmt.orelse or not set(reads(stmt)).isdisjoint(changing):
            return False
        return any(isinstance(inner, Raise) for inner in walk(stmt.body)) and all(
            isinstance(inner, Raise | If) and set(reads(inner)).isdisjoint(changing)
            if not isinstance(inner, Assign)
            else self.same(inner, changing)
            for inner in walk(stmt.body)
        )

    def same(self, stmt: Assign, changing: set[str]) -> bool:
        """Whether a number is computed from others that do not change, and from nothing else."""
        match stmt.value:
            case Op(fn=fn, args=args):
                plain = fn in _HARMLESS and all(isinstance(arg, Name | Const) for arg in args)
            case _:
                plain = True
        return plain and self.counts[stmt.target] == 1 and set(reads(stmt)).isdisjoint(changing)

    def unseen(self, stmt: Stmt, body: Block) -> bool:
        """Whether nobody can tell if a statement has run when the program ends after it."""
        match stmt:
            case Assign(value=Op(fn=fn, args=args)):
                numbers = not any(isinstance(arg, Name) and is_memory(self.iterations.types[arg.id]) for arg in args)
                return fn in _QUIET or (numbers and bool(args) and not fn.startswith("np.random"))
            case Assign():
                return True
            case Store(array=array):
                return self.iterations.own(array, body)
            case For(body=inner) | If(body=inner, orelse=()):
                return all(self.unseen(one, body) for one in inner)
        return False

    def needed(self, checks: list[Stmt], known: dict[str, Assign]) -> list[Stmt]:
        """The assignments that give the checks their names, in order."""
        found: set[str] = set()
        pending = [name for stmt in walk(checks) for name in reads(stmt)]
        while pending:
            name = pending.pop()
            if name in known and name not in found:
                found.add(name)
                pending += reads(known[name])
        return [stmt for name, stmt in known.items() if name in found]
