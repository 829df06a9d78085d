"""Nests of three loops whose innermost statements add products of numbers that two of the loops tell apart.

    for i in range(n):
        for j in range(m):
            u = x[i, j] - mean[j]                of i and j
            s = 0.0
            for k in range(j + 1):
                v = w[j, k]                      of j and k
                p = u * v                        a term: its factors share j
                y[i, k] += p                     which is summed over
                q = x[i, k] * v                  a term: its factors share k
                s += q
            z[i, j] = s

`Nest` reads such a nest and says what its terms are.  Refused where anything else happens in it, or where the order of
its iterations may matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tapec.analyses.aliases import is_memory
from tapec.analyses.iterations import Iterations
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Name,
    Op,
    Stmt,
    Store,
    key_field,
    names_in,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.types import FLOATS, Scalar

Counters = frozenset[str]


class Refused(Exception):
    """The nest is not of this kind."""


@dataclass
class Term:
    """A product that is summed over one of the loops.

    first, second    the names of its factors
    over             the variable of the loop
    uses             what is done with it, in order: multiples of it, and additions of those
    """

    made: Assign
    first: str
    second: str
    over: str
    uses: list[Stmt] = field(default_factory=list)
    key: int = key_field()


class Nest:
    """Three loops, one in the other, by their variables `i`, `j`, `k`; what stands around them, and their terms.

    before, after    statements in the second loop, before and after the third one
    counted          for each name, the variables of the loops that tell its values apart
    sums             variables to which the third loop adds, and the multiple of a term that it adds, with its sign
    changed          the memory that the nest stores into
    """

    def __init__(self, loop: For, iterations: Iterations) -> None:
        self.iterations = iterations
        self.outer, self.middle, self.inner = loop, *_inside(loop)
        self.i, self.j, self.k = (one.var for one in (self.outer, self.middle, self.inner))
        self.head: Block = loop.body[:-1]
        place = next(at for at, stmt in enumerate(self.middle.body) if stmt is self.inner)
        self.before: Block = self.middle.body[:place]
        self.after: Block = self.middle.body[place + 1 :]
        self.inside = written_in((loop,))
        self.check_loops()
        self.changed = {iterations.aliases.find(stmt.array) for stmt in walk(loop.body) if isinstance(stmt, Store)}
        self.check_memory()
        self.counted: dict[str, Counters] = {var: frozenset({var}) for var in (self.i, self.j, self.k)}
        self.terms: list[Term] = []
        self.multiples: dict[str, Term] = {}
        self.sums: dict[str, tuple[str, str]] = {}
        for stmt in (*self.head, *self.before):
            self.count(stmt)
        self.read_inner()

    # loops

    def check_loops(self) -> None:
        """Refuse loops that do not count from zero to a fixed number, or the third one to or from the second's."""
        for loop in (self.outer, self.middle, self.inner):
            counts = loop.step == Const(1) and not loop.parallel and loop.slots is None
            if not counts or not self.iterations.is_parallel(loop):
                raise Refused
        for loop in (self.outer, self.middle):
            if loop.start != Const(0) or not self.is_outside(loop.stop):
                raise Refused
        first, last = self.bound(self.inner.start), self.bound(self.inner.stop)
        if first is None or last is None or (first[0] and last[0]) or (first[0] and first[1] < 0):
            raise Refused
        if not first[0] and self.inner.start != Const(0):
            raise Refused
        for stmt in (*self.head, *self.before, *self.inner.body, *self.after):
            if not isinstance(stmt, Assign | Store) or (isinstance(stmt, Assign) and self.is_array(stmt.target)):
                raise Refused
        own = self.inside - {self.outer.var}
        if any(isinstance(stmt, Store) for stmt in self.head) or self.iterations.left_over(self.outer, own):
            raise Refused

    def bound(self, end: Expr) -> tuple[bool, int] | None:
        """Whether the third loop's end follows the second one's variable, and at what distance."""
        if isinstance(end, Name | Const) and self.is_outside(end):
            return False, 0
        found = self.iterations.subscript(end)
        return (True, found.offset) if found is not None and found.base == self.middle.var else None

    @property
    def triangular(self) -> bool:
        """Whether the third loop's iterations depend on the second loop's."""
        return not (self.is_outside(self.inner.start) and self.is_outside(self.inner.stop))

    def is_outside(self, atom: Expr) -> bool:
        return isinstance(atom, Const) or (isinstance(atom, Name) and atom.id not in self.inside)

    def is_array(self, name: str) -> bool:
        return is_memory(self.iterations.types.get(name))

    # memory

    def check_memory(self) -> None:
        """Refuse memory that is read or overwritten in one part of the nest and changed in another one."""
        parts: dict[str, set[tuple[int, str]]] = {}
        for part, block in enumerate(((*self.head, *self.before), self.inner.body, self.after)):
            for access in self.iterations.accesses(block):
                kind = "whole" if access.index is None else access.kind
                parts.setdefault(self.iterations.aliases.find(access.array), set()).add((part, kind))
        for memory in self.changed:
            kinds = {kind for _, kind in parts[memory]}
            where = {part for part, _ in parts[memory]}
            if kinds != {"add"} and ("whole" in kinds or len(where) > 1 or 1 in where):
                raise Refused

    def is_pure(self, stmt: Stmt) -> bool:
        """Whether a statement computes the same wherever in the nest it stands."""
        match stmt:
            case Assign(value=Op(fn="load", args=(Name(id=array), *_))):
                return self.iterations.aliases.find(array) not in self.changed
            case Assign(value=Op(fn=fn, args=args)):
                return fn == "dim" or not any(isinstance(arg, Name) and self.is_array(arg.id) for arg in args)
        return isinstance(stmt, Assign)

    # terms

    def count(self, stmt: Stmt) -> Counters:
        """Note which loops tell the values of what a statement computes apart."""
        found = frozenset[str]().union(*(self.counted.get(name, frozenset()) for name in reads(stmt)))
        for name in writes(stmt):
            self.counted[name] = self.counted.get(name, frozenset()) | found
        return found

    def read_inner(self) -> None:
        """Find what the innermost statements do."""
        body = self.inner.body
        set_there = {name for stmt in body for name in writes(stmt)}
        carried = {stmt.target for stmt in body if isinstance(stmt, Assign) and isinstance(stmt.value, Name)}
        for stmt in body:
            if isinstance(stmt, Store):
                self.read_addition(stmt)
            elif isinstance(stmt, Assign):
                if stmt.target in carried and isinstance(stmt.value, Name):
                    if stmt.value.id not in {made for made, _ in self.sums.values()} or stmt.target not in self.sums:
                        raise Refused
                elif not carried.isdisjoint(reads(stmt)):
                    self.read_sum(stmt, carried)
                elif not self.read_multiple(stmt):
                    self.read_value(stmt)
        if carried != set(self.sums) or not self.terms or not all(term.uses for term in self.terms):
            raise Refused
        # nobody else may read what an iteration computes
        for stmt in self.after:
            if not (set_there - carried).isdisjoint(reads(stmt)):
                raise Refused

    def read_value(self, stmt: Assign) -> None:
        """A number that two loops tell apart, or the product of two such numbers."""
        found = self.count(stmt)
        if found != {self.i, self.j, self.k}:
            if not self.is_pure(stmt):
                raise Refused
            return
        match stmt.value:
            case Op(fn="*", args=(Name(id=first), Name(id=second))):
                one, other = self.counted.get(first, frozenset()), self.counted.get(second, frozenset())
            case _:
                raise Refused
        shared = one & other
        kinds = {self.iterations.types[name] for name in (first, second, stmt.target)}
        (kind, *others) = kinds
        if len(one) != 2 or len(other) != 2 or len(shared) != 1:
            raise Refused
        if others or not isinstance(kind, Scalar) or kind.dtype not in FLOATS:
            raise Refused
        (over,) = shared
        term = Term(stmt, first, second, over)
        self.terms.append(term)
        self.multiples[stmt.target] = term

    def read_multiple(self, stmt: Assign) -> bool:
        """Whether a statement computes a multiple of a term, by what its loop leaves alone."""
        names = [name for name in reads(stmt) if name in self.multiples]
        if not names:
            return False
        match stmt.value:
            case Op(fn="neg", args=(Name(),)):
                rest: list[str] = []
            case Op(fn="*", args=args) if len(names) == 1:
                rest = [name for arg in args for name in names_in(arg) if name not in self.multiples]
            case Op(fn="/", args=(Name(id=divided), divisor)) if names == [divided]:
                rest = list(names_in(divisor))
            case _:
                raise Refused
        term = self.multiples[names[0]]
        if any(term.over in self.counted.get(name, ()) for name in rest):
            raise Refused
        if self.iterations.types[stmt.target] != self.iterations.types[term.made.target]:
            raise Refused
        self.multiples[stmt.target] = term
        term.uses.append(stmt)
        return True

    def read_addition(self, stmt: Store) -> None:
        term = self.multiples.get(stmt.value.id) if isinstance(stmt.value, Name) else None
        places = [name for sub in stmt.index for name in names_in(sub)]
        if term is None or not stmt.accumulate or any(term.over in self.counted.get(name, ()) for name in places):
            raise Refused
        term.uses.append(stmt)

    def read_sum(self, stmt: Assign, carried: set[str]) -> None:
        """A variable, which is set before the third loop, to which that adds multiples of a term."""
        match stmt.value:
            case Op(fn="+", args=(Name(id=total), Name(id=added))) if total in carried:
                sign = "+"
            case Op(fn="+", args=(Name(id=added), Name(id=total))) if total in carried:
                sign = "+"
            case Op(fn="-", args=(Name(id=total), Name(id=added))) if total in carried:
                sign = "-"
            case _:
                raise Refused
        term = self.multiples.get(added)
        set_before = sum(total in writes(one) for one in self.before)
        if term is None or term.over != self.k or total in self.sums or set_before != 1:
            raise Refused
        if (
            len(self.iterations.scopes.defs[total]) != 2
            or self.iterations.types[total] != self.iterations.types[added]
        ):
            raise Refused
        if any(stmt.target in reads(one) and one.target != total for one in self.assignments()):
            raise Refused
        self.sums[total] = stmt.target, sign
        term.uses.append(stmt)

    def assignments(self) -> Iterator[Assign]:
        return (stmt for stmt in self.inner.body if isinstance(stmt, Assign))


def _inside(loop: For) -> tuple[For, For]:
    """The loops inside a loop, which has one, as that has."""
    if not loop.body or not isinstance(middle := loop.body[-1], For):
        raise Refused
    inner = [stmt for stmt in middle.body if isinstance(stmt, For)]
    if len(inner) != 1:
        raise Refused
    return middle, inner[0]
