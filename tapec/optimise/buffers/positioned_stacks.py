"""Keep lists of numbers that the iterations of a loop fill and empty, instead of making them in every iteration.

    for r in range(n):                            x_stack = [0.0] * 64
        x_stack = [0.0][:0]                       for r in range(n):
        while ...:                                    height = 0
            x_stack.append(x)                         while ...:
        ...                                               if height == len(x_stack):
        for iteration in range(iterations - 1, -1, -1):                 x_stack.extend(x_stack)
            x = x_stack.pop()              ->             x_stack[height] = x
                                                          height += 1
                                                      ...
                                                      for iteration in range(iterations - 1, -1, -1):
                                                          height -= 1
                                                          x = x_stack[height]

A list that grows from nothing in every iteration, and shrinks again, is moved in memory several times: a tomography
took ten times its primal, and 3.4 with lists that are kept.  (Arrays that grow take 20: Numba counts references to a
name that may stand for another array.)  A list that is made once is as fast with `append` and `pop`.  Lists to which
the same blocks append, and which the same blocks pop, have one height; lists that are used in other ways stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tapec.analyses.scopes import Scopes, scopes
from tapec.errors import Span
from tapec.optimise import costs
from tapec.optimise.buffers.stack_lists import NumberList, number_lists, of_one_height
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Call,
    Const,
    Function,
    If,
    Name,
    Op,
    Push,
    Stmt,
    Store,
    map_blocks,
)
from tapec.syntax.types import INT64, Scalar, Stack, Tuples


def stacks_by_position(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with lists that are filled by position; see the module."""
    found = _groups(function)
    if not found:
        return function
    return _Writer(function, found).rewritten()


@dataclass
class _Group:
    """Lists of one height, and which of a block's statements come before and after all others of theirs."""

    names: tuple[str, ...]
    height: str
    lead: set[int]
    last: set[int]


def _groups(function: Function) -> list[tuple[NumberList, ...]]:
    """The lists that iterations make anew, those of one height together."""
    lists = number_lists(function)
    if not lists:
        return []
    where = scopes(function)
    return of_one_height([one for one in lists if where.of[one.made.key].loops()], where)


class _Writer(Rewriter):
    def __init__(self, function: Function, found: list[tuple[NumberList, ...]]) -> None:
        super().__init__(function)
        self.types = self.fresh.types
        where = scopes(function)
        self.of: dict[str, _Group] = {}
        # lists that are made before a statement, by the statement's id
        self.before: dict[int, list[str]] = {}
        for group in found:
            names = tuple(one.name for one in group)
            lead, last = set[int](), set[int]()
            pushes: list[Stmt] = [stmt for one in group for stmt in one.pushes]
            pops: list[Stmt] = [stmt for one in group for stmt in one.pops]
            for stmts in (pushes, pops):
                blocks: dict[int, list[Stmt]] = {}
                for stmt in sorted(stmts, key=lambda stmt: where.place[stmt.key]):
                    blocks.setdefault(where.of[stmt.key].key, []).append(stmt)
                for block in blocks.values():
                    alone = len(group) == 1
                    lead |= {stmt.key for stmt in (block if alone else block[:1])}
                    last |= {stmt.key for stmt in (block if alone else block[-1:])}
            made = _Group(names, self.fresh("height", INT64), lead, last)
            for one in group:
                self.of[one.name] = made
                self.before.setdefault(_outermost(one.made, where).key, []).append(one.name)

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        for name in self.before.get(stmt.key, ()):
            why = "every iteration fills and empties it"
            remark(_span(stmt), "positioned_stacks", "the list `{0}` keeps its memory", why, Named(name))
            yield Assign(name, self.capacity(name), _span(stmt))
        yield from self.by_position(stmt)

    def by_position(self, stmt: Stmt) -> list[Stmt]:
        match stmt:
            case Assign(target=name, value=Op(fn="stack" | "tuples")) if name in self.of:
                group = self.of[name]
                return [Assign(group.height, Const(0), stmt.span)] if group.names[0] == name else []
            case Push(stack=name, value=value) if name in self.of:
                return self.filled(Store(name, (self.height(name),), value, False, stmt.span), name, stmt)
            case Call(function="list.append", args=(Name(id=name), *values)) if name in self.of:
                put = replace(stmt, function="list.set", args=(Name(name), self.height(name), *values))
                return self.filled(put, name, stmt)
            case Assign(target=target, value=Op(fn="pop", args=(Name(id=name),))) if name in self.of:
                taken = Op("load", (Name(name), self.height(name)))
                return self.emptied(Assign(target, taken, stmt.span), name, stmt)
            case Call(function="list.pop", args=(Name(id=name),)) if name in self.of:
                take = replace(stmt, function="list.get", args=(Name(name), self.height(name)), changes=())
                return self.emptied(take, name, stmt)
        return [map_blocks(stmt, self.block)]

    def capacity(self, name: str) -> Op:
        """The list with some elements."""
        type_ = self.types[name]
        if isinstance(type_, Tuples):
            return Op("tuples.room", (*map(Const, type_.dtypes), Const(costs.STACK_CAPACITY)))
        assert isinstance(type_, Stack) and isinstance(type_.element, Scalar)
        return Op("room", (Const(type_.element.dtype), Const(costs.STACK_CAPACITY)))

    def height(self, name: str) -> Name:
        return Name(self.of[name].height)

    def filled(self, put: Stmt, name: str, stmt: Stmt) -> list[Stmt]:
        """What fills an element in, in place of the statement that appends it."""
        group = self.of[name]
        before = self.reserve(group, stmt) if stmt.key in group.lead else []
        after = self.step(group, "+", stmt) if stmt.key in group.last else []
        return [*before, put, *after]

    def emptied(self, taken: Stmt, name: str, stmt: Stmt) -> list[Stmt]:
        """What reads an element, in place of the statement that takes it from the end."""
        group = self.of[name]
        before = self.step(group, "-", stmt) if stmt.key in group.lead else []
        return [*before, taken]

    def step(self, group: _Group, sign: str, stmt: Stmt) -> list[Stmt]:
        return [Assign(group.height, Op(sign, (Name(group.height), Const(1))), _span(stmt))]

    def reserve(self, group: _Group, stmt: Stmt) -> list[Stmt]:
        """Twice as much room, where lists are full."""
        span = _span(stmt)
        room, full = self.fresh("room", INT64), self.fresh("full", Scalar("bool"))
        doubled = tuple(Call((), "list.extend", (Name(name), Name(name)), span, (0,)) for name in group.names)
        return [
            Assign(room, Op("len", (Name(group.names[0]),)), span),
            Assign(full, Op("==", (Name(group.height), Name(room))), span),
            If(Name(full), doubled, (), span),
        ]


def _outermost(made: Stmt, where: Scopes) -> Stmt:
    """The statement of the function's body that a list is made in."""
    owners = [region.owner for region in where.of[made.key].ancestors() if region.owner is not None]
    return owners[-1] if owners else made


def _span(stmt: Stmt) -> Span | None:
    return getattr(stmt, "span", None)
