"""Make arrays of lists of numbers whose room can be counted beforehand.

    x_stack = [0.0][:0]                       total = 0
    for i in range(n):                        for i in range(n):
        for c in range(w[i], m):                  total += max(m - w[i], 0)
            x_stack.append(x)                 x_stack = np.empty(total)
    ...                                       height = 0
    for i in range(n - 1, -1, -1):      ->    for i in range(n):
        for c in range(m - 1, w[i] - 1, -1):      first = max(height, 0)
            x = x_stack.pop()                     for c in range(w[i], m):
                                                      x_stack[first + (c - w[i])] = x
                                                  height = first + max(m - w[i], 0)
                                              ...

A list moves in memory as it grows, Numba asks of each element whether there is room for it, and a loop that appends
does not run on vectors.  Where each iteration of a loop adds one element, or takes one, its place follows from the
loop's variable, and iterations do not wait for one another; elsewhere it is counted.  That the first place is never
negative, as `max` says, is what later passes ask.

Lists that an iteration of a loop makes anew are kept: see `positioned_stacks.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tapec.analyses.scopes import Scope, Scopes, scopes
from tapec.errors import Span
from tapec.optimise.buffers.capacity import Capacity
from tapec.optimise.buffers.stack_lists import NumberList, number_lists, of_one_height
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Push,
    Stmt,
    Store,
    map_blocks,
    may_leave,
)
from tapec.syntax.types import INT64, Array, Scalar, Stack


def lists_as_arrays(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with arrays for such lists; see the module."""
    lists = number_lists(function)
    if not lists:
        return function
    where = scopes(function)
    lists = [one for one in lists if not where.of[one.made.key].loops()]
    writer = _Writer(function, of_one_height(lists, where), where)
    return writer.rewritten() if writer.of else function


@dataclass
class _Group:
    """Lists of one height, as arrays."""

    lists: tuple[NumberList, ...]
    height: str
    # the loops of which each iteration adds, or takes, one element; the place of the iteration's while they are written
    loops: tuple[For, ...] = ()
    place: Atom | None = None
    # of other blocks, the first statement that takes, or the last that adds
    steps: set[int] = field(default_factory=set)


class _Writer(Rewriter):
    def __init__(self, function: Function, groups: list[tuple[NumberList, ...]], where: Scopes) -> None:
        super().__init__(function)
        self.where = where
        self.capacity = Capacity(function, self.fresh)
        # by name; what stands before a loop, and the groups that one of its iterations adds to or takes from, by key
        self.of: dict[str, _Group] = {}
        self.before: dict[int, list[Stmt]] = {}
        self.inside: dict[int, list[_Group]] = {}
        self.counted: dict[tuple[int, int], Atom] = {}
        for group in groups:
            self.prepare(group)

    def prepare(self, lists: tuple[NumberList, ...]) -> None:
        """Count the room of lists, and note how their elements are found."""
        outermost = self.outermost(lists)
        if outermost is None:
            return
        added = dict.fromkeys(self.where.of[stmt.key] for one in lists for stmt in one.pushes)
        # what is counted for lists that turn out not to be, nobody reads
        made = self.before.setdefault(outermost.key, [])
        room: Atom | None = None
        for body in added:
            iterations = self.iterations(body.loops()[0], outermost, made)
            if iterations is None:
                return
            room = iterations if room is None else self.let(made, Op("+", (room, iterations)), outermost.span)
        assert room is not None
        group = _Group(lists, self.fresh("height", INT64))
        taken = dict.fromkeys(self.where.of[stmt.key] for one in lists for stmt in one.pops)
        group.loops = tuple(
            body.owner for body in (*added, *taken) if _each_iteration(body) and isinstance(body.owner, For)
        )
        if len(added) > 1 or len(taken) > 1 or len(group.loops) < len(added) + len(taken):
            group.loops = ()
            group.steps = self.steps(lists)
        for loop in group.loops:
            self.inside.setdefault(loop.key, []).append(group)
        for one in lists:
            type_ = self.fresh.types[one.name]
            assert isinstance(type_, Stack) and isinstance(type_.element, Scalar)
            self.of[one.name] = group
            self.fresh.types[one.name] = Array(type_.element.dtype, 1)
            made.append(Assign(one.name, Op("empty", (Const(type_.element.dtype), room)), one.made.span))
            what, why = "the list `{0}` is an array", "the iterations are counted before the loop"
            remark(outermost.span, "counted_lists", what, why, Named(one.name))
        made.append(Assign(group.height, Const(0), outermost.span))

    def iterations(self, body: Scope, outermost: For, out: list[Stmt]) -> Atom | None:
        """How many iterations of a loop all iterations of another one make; counted once."""
        key = body.key, outermost.key
        if key not in self.counted:
            found = self.capacity.of(body, outermost)
            if found is None:
                return None
            out += found[0]
            self.counted[key] = found[1]
        return self.counted[key]

    def outermost(self, lists: tuple[NumberList, ...]) -> For | None:
        """The loop beside the place where lists are made, in which all of them are filled."""
        made = {self.where.of[one.made.key] for one in lists}
        owners = set[int | None]()
        found: Stmt | None = None
        for one in lists:
            for stmt in one.pushes:
                around = [region for region in self.where.of[stmt.key].ancestors() if region.parent in made]
                if len(made) > 1 or not around:
                    return None
                found = around[0].owner
                owners.add(around[0].owner_key)
        return found if len(owners) == 1 and isinstance(found, For) else None

    def steps(self, lists: tuple[NumberList, ...]) -> set[int]:
        """The last statement of each block that adds to lists, and the first one that takes from them."""
        found: dict[tuple[int, bool], Stmt] = {}
        for one in lists:
            stmts: tuple[Stmt, ...] = (*one.pushes, *one.pops)
            for stmt in stmts:
                adds = isinstance(stmt, Push)
                key = self.where.of[stmt.key].key, adds
                known = found.get(key)
                if known is None or (self.where.place[stmt.key] > self.where.place[known.key]) == adds:
                    found[key] = stmt
        return {stmt.key for stmt in found.values()}

    # writing

    def statement(self, stmt: Stmt) -> list[Stmt]:
        match stmt:
            case Assign(target=name, value=Op(fn="stack")) if name in self.of:
                return []
            case Push(stack=name, value=value) if name in self.of:
                group = self.of[name]
                after = self.step(group, "+", stmt) if stmt.key in group.steps else []
                return [Store(name, (group.place or Name(group.height),), value, False, stmt.span), *after]
            case Assign(target=target, value=Op(fn="pop", args=(Name(id=name),))) if name in self.of:
                group = self.of[name]
                before = self.step(group, "-", stmt) if stmt.key in group.steps else []
                element = Op("load", (Name(name), group.place or Name(group.height)))
                return [*before, Assign(target, element, stmt.span)]
            case For() if stmt.key in self.inside:
                return [*self.before.get(stmt.key, ()), *self.counting(stmt, self.inside[stmt.key])]
        return [*self.before.get(stmt.key, ()), map_blocks(stmt, self.block)]

    def step(self, group: _Group, sign: str, stmt: Stmt) -> list[Stmt]:
        return [Assign(group.height, Op(sign, (Name(group.height), Const(1))), getattr(stmt, "span", None))]

    def counting(self, loop: For, groups: list[_Group]) -> list[Stmt]:
        """A loop of which each iteration adds an element, or takes one."""
        before: list[Stmt] = []
        after: list[Stmt] = []
        places: list[Stmt] = []
        upward = loop.step == Const(1)
        ends = (loop.stop, loop.start) if upward else (loop.start, loop.stop)
        iterations = self.let(before, Op("max", (self.let(before, Op("-", ends), loop.span), Const(0))), loop.span)
        for group in groups:
            adds = loop is group.loops[0]
            height: Expr = Name(group.height)
            if not adds:
                height = self.let(before, Op("-", (height, iterations)), loop.span)
            first = self.let(before, Op("max", (height, Const(0))), loop.span, "first")
            after.append(Assign(group.height, Op("+", (first, iterations)) if adds else first, loop.span))
            # the last element that was added is the first to be taken
            end: Atom = loop.start
            if not adds:
                end = self.let(before, Op("-" if upward else "+", (loop.stop, Const(1))), loop.span)
            apart = (Name(loop.var), end) if adds == upward else (end, Name(loop.var))
            group.place = self.let(places, Op("+", (first, self.let(places, Op("-", apart), loop.span))), loop.span)
        inner = map_blocks(loop, self.block)
        assert isinstance(inner, For)
        for group in groups:
            group.place = None
        return [*before, replace(inner, body=(*places, *inner.body)), *after]

    def let(self, out: list[Stmt], value: Expr, span: Span | None, base: str = "n") -> Name:
        name = self.fresh(base, INT64)
        out.append(Assign(name, value, span))
        return Name(name)


def _each_iteration(body: Scope) -> bool:
    """Whether a block is the body of a loop that counts one by one, and makes all its iterations."""
    loop = body.owner
    return isinstance(loop, For) and loop.step in (Const(1), Const(-1)) and not may_leave(loop.body)
