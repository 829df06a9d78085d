"""Count in a loop the divisions by zero that raise, and raise behind it.

    for i in range(n):                                zeros = 0
        d = b[i]                                      for i in range(n):
        c = d == 0.0                                      d = b[i]
        if c:                                             c = d == 0.0
            raise ZeroDivisionError()        ->           zeros_1 = zeros + c
        y[i] = a[i] / d                                   y[i] = a[i] / d
                                                          zeros = zeros_1
                                                      t = zeros > 0
                                                      if t:
                                                          raise ZeroDivisionError()

The iterations of a loop that may raise cannot run side by side; a sum of integers does not hinder them.  A division of
floats gives infinity or nan and goes on, so nobody can tell but by what the loop has written by then, or by another
exception that it raises later.  Refused where the loop prints, and where an integer, which may be an index, a call,
another exception, or the end of another loop follows from a division.  Of a divisor that is never zero nothing is
asked.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from tapec.analyses.aliases import aliases, is_memory
from tapec.analyses.lower_bounds import LowerBounds
from tapec.optimise.name_origins import Fresh
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Print,
    Raise,
    Stmt,
    Store,
    blocks,
    map_blocks,
    mentions,
    names_in,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import BOOL, INT64, Type

# stands for another exception that follows from a division, among names
_RAISED = "$raised"


def sink_checks(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such exceptions behind their loops; see the module."""
    if not any(isinstance(stmt, Raise) and stmt.exception == "ZeroDivisionError" for stmt in walk(function.body)):
        return function
    function = replace(function, body=_needed(function.body, LowerBounds(function), {}))
    worker = _Counting(function)
    return replace(function, body=worker.block(function.body), types=worker.fresh.types)


def _needed(block: Block, bounds: LowerBounds, tests: dict[str, Expr]) -> Block:
    """The statements without checks of floats that are never zero."""
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, Assign):
            tests[stmt.target] = stmt.value
        if isinstance(stmt, If) and is_check(stmt) and isinstance(stmt.test, Name):
            match tests.get(stmt.test.id):
                case Op(fn="==", args=(divisor, Const())) if bounds.is_zero_never(divisor):
                    continue
        out.append(map_blocks(stmt, lambda inner: _needed(inner, bounds, tests)))
    return tuple(out)


def is_check(stmt: Stmt) -> bool:
    """Whether all that a statement does is raise for a divisor that is zero."""
    match stmt:
        case If(body=(Raise(exception="ZeroDivisionError", users=False),), orelse=()):
            return True
    return False


@dataclass
class _Counted:
    """A block whose checks count, and the count when it ends."""

    block: Block
    count: Atom


class _Counting:
    def __init__(self, function: Function) -> None:
        self.types: dict[str, Type] = function.types
        self.fresh = Fresh(function.types)
        self.counts = Counter(name for stmt in walk(function.body) for name in writes(stmt))
        assigned = (stmt for stmt in walk(function.body) if isinstance(stmt, Assign))
        self.values = {stmt.target: stmt.value for stmt in assigned if self.counts[stmt.target] == 1}
        self.aliases = aliases(function)
        self.memory: dict[str, set[str]] = {}
        for name, kind in function.types.items():
            if is_memory(kind):
                self.memory.setdefault(self.aliases.find(name), set()).add(name)

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, For) and any(map(is_check, walk(stmt.body))) and self.goes_on(stmt):
                out += self.behind(stmt)
            else:
                # perhaps loops inside go on
                out.append(map_blocks(stmt, self.block))
        return tuple(out)

    def behind(self, loop: For) -> Block:
        """A loop that counts, and the exception."""
        checks = [stmt for stmt in walk(loop.body) if is_check(stmt)]
        for check in checks:
            told = "checks", "counted, and raised behind the loop", "a division by zero goes on"
            remark(check.span, *told, loop.span)
        before, count = self.loop(loop, Const(0))
        some = self.fresh("t", BOOL)
        raised = next(stmt for stmt in walk(checks) if isinstance(stmt, Raise))
        return (*before, Assign(some, Op(">", (count, Const(0))), loop.span), If(Name(some), (raised,), (), loop.span))

    def loop(self, loop: For, count: Atom) -> tuple[Block, Atom]:
        head = self.fresh("zeros", INT64)
        inner = self.counted(loop.body, Name(head))
        body = (*inner.block, Assign(head, inner.count, loop.span))
        return (Assign(head, count, loop.span), replace(loop, body=body)), Name(head)

    def counted(self, block: Block, count: Atom) -> _Counted:
        """A block that adds what its checks find to `count`."""
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, If) and is_check(stmt):
                more = self.fresh("zeros", INT64)
                out.append(Assign(more, Op("+", (count, stmt.test)), stmt.span))
                count = Name(more)
            elif isinstance(stmt, If | For) and any(map(is_check, walk((stmt,)))):
                if isinstance(stmt, For):
                    made, count = self.loop(stmt, count)
                    out += made
                    continue
                ways = [self.counted(way, count) for way in (stmt.body, stmt.orelse)]
                merged = self.fresh("zeros", INT64)
                body, orelse = ((*way.block, Assign(merged, way.count, stmt.span)) for way in ways)
                out.append(replace(stmt, body=body, orelse=orelse))
                count = Name(merged)
            else:
                out.append(stmt)
        return _Counted(tuple(out), count)

    def goes_on(self, loop: For) -> bool:
        """Whether what a loop does ends, and stays in bounds, whatever its divisions give."""
        if loop.slots is not None:
            return False
        inside = list(walk(loop.body))
        found = self.reached(loop.body)
        if _RAISED in found or any(isinstance(stmt, Print) for stmt in inside):
            return False
        numbers = (self.types[name] for name in found if not is_memory(self.types[name]))
        if not all(kind.is_float or kind == BOOL for kind in numbers):
            return False
        return not any(
            isinstance(inner, Loop | Call) and any(name in found for one in walk((inner,)) for name in reads(one))
            for inner in inside
        )

    def reached(self, body: Block) -> set[str]:
        """The names in a loop that a division may have made wrong, and the arrays that hold such numbers."""
        tests = [stmt.test for stmt in walk(body) if isinstance(stmt, If) and is_check(stmt)]
        asked = [self.asked(test) for test in tests]
        divisors = {name for plain, names in asked if plain for name in names}
        others = {name for plain, names in asked if not plain for name in names}
        found, met = set[str](), set[str]()
        for stmt in walk(body):
            match stmt:
                case Assign(target=target, value=Op(fn="/" | "//" | "%", args=(_, Name(id=divisor)))):
                    if divisor in divisors:
                        found.add(target)
                        met.add(divisor)
            if isinstance(stmt, Assign) and mentions(stmt.value, others):
                found.add(stmt.target)
        for stmt in walk(body) if met != divisors else ():
            # a divisor may have another name where it is asked about
            match stmt:
                case Assign(target=target, value=Op(fn="/" | "//" | "%")):
                    found.add(target)
        before = -1
        while len(found) != before:
            before = len(found)
            self.spread(body, found, False)
        return found

    def asked(self, test: Expr) -> tuple[bool, set[str]]:
        """Whether a test asks if one number is zero, and the numbers that it asks about."""
        if isinstance(test, Name) and self.types[test.id] == BOOL and test.id in self.values:
            return self.asked(self.values[test.id])
        if isinstance(test, Op) and test.fn in ("not", "and", "or"):
            return False, {name for arg in test.args for name in self.asked(arg)[1]}
        return isinstance(test, Op) and test.fn == "==", set(names_in(test))

    def spread(self, block: Block, found: set[str], chosen: bool) -> None:
        """Add to `found` what follows from it; `chosen` says whether the way to a block does."""
        for stmt in block:
            wrong = any(name in found for name in reads(stmt))
            match stmt:
                case Store(array=array) if wrong or chosen:
                    found.update(self.memory[self.aliases.find(array)])
                case Assign(target=target):
                    # what is computed on one way only is right where it is computed
                    if (wrong and not self.tells_extent(stmt)) or (chosen and self.counts[target] > 1):
                        found.add(target)
                case For(var=var) if wrong:
                    found.add(var)
                case Raise() if chosen:
                    found.add(_RAISED)
            for inner in blocks(stmt) if not is_check(stmt) else ():
                self.spread(inner, found, chosen or (wrong and isinstance(stmt, If)))

    def tells_extent(self, stmt: Assign) -> bool:
        return isinstance(stmt.value, Op) and stmt.value.fn in ("dim", "stride")
