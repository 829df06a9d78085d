"""Let the iterations of a loop take turns at two arrays, where each would make one and hand it to the next.

                                          turns = np.empty((2, n))
    for t in range(steps):                for t in range(steps):
        new = np.empty(n)                     new = turns[t & 1]
        for i in range(n):        ->          for i in range(n):
            new[i] = old[i] + x[i]                new[i] = old[i] + x[i]
        old = new                             old = new

What an iteration has made lasts as long as the next iteration: the one after that can have its memory.

Needs one name alone that hands the array on, set once in every iteration, to what that iteration has made or to what
was there before the loop.  No other name for the memory lives longer than the iteration that sets it, and neither a
list nor the caller gets it.  The extents are known before the loop, and are not negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tapec.analyses.aliases import ALLOCATIONS, is_memory
from tapec.analyses.facts import facts
from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    Call,
    Const,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Push,
    Return,
    Stmt,
    Store,
    map_blocks,
    names_in,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.types import INT64, Array


def use_ping_pong_buffers(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such pairs of arrays; see the module."""
    return _Turns(function).rewritten()


@dataclass(frozen=True)
class _Pair:
    """An array that an iteration makes and hands on."""

    made: Assign
    extents: tuple[Name | Const, ...]


class _Turns(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.types = function.types
        self.iterations = Iterations(function)
        self.scopes = self.iterations.scopes
        self.facts = facts(function)

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        if not isinstance(stmt, For):
            yield map_blocks(stmt, self.block)
            return
        instead: dict[int, Block] = {}
        for pair in self.pairs(stmt):
            before, instead[pair.made.key] = self.written(stmt, pair)
            yield from before
        yield replace(stmt, body=self.block(_exchanged(stmt.body, instead)))

    def written(self, loop: For, pair: _Pair) -> tuple[Block, Block]:
        """What makes the two arrays, and what takes one of them."""
        made, name = pair.made, pair.made.target
        type_ = self.types[name]
        assert isinstance(type_, Array) and isinstance(made.value, Op)
        why = "an iteration of {1} hands it to the next one, no further"
        about = Named(name, made.span), loop.span
        remark(made.span, "ping_pong", "two arrays take turns at `{0}`", why, *about)
        turns = self.fresh(f"{name}_turns", type_)
        pages, whole, room, both = (self.fresh(one, INT64) for one in ("n", "n", "room", "n"))
        turn, first, last = (self.fresh(one, INT64) for one in ("turn", "first", "n"))
        (extent,) = pair.extents
        before: Block = (
            Assign(pages, Op("//", (extent, Const(costs.PAGE_ELEMENTS))), made.span),
            Assign(whole, Op("*", (Name(pages), Const(costs.PAGE_ELEMENTS))), made.span),
            Assign(room, Op("+", (Name(whole), Const(costs.PAGE_ELEMENTS + costs.PAGE_ELEMENTS // 2))), made.span),
            Assign(both, Op("+", (Name(room), extent)), made.span),
            Assign(turns, Op("empty", (made.value.args[0], Name(both))), made.span),
        )
        part = Op("slice", (Name(first), Name(last), Const(None)))
        taken: Block = (
            Assign(turn, Op("&", (Name(loop.var), Const(1))), made.span),
            Assign(first, Op("*", (Name(turn), Name(room))), made.span),
            Assign(last, Op("+", (Name(first), extent)), made.span),
            replace(made, value=Op("view", (Name(turns), part))),
        )
        if made.value.fn == "zeros":
            index = tuple(Name(self.fresh("i", INT64)) for _ in pair.extents)
            zeros: Block = (Store(name, index, Const(0.0), False, made.span),)
            for var, extent in reversed(list(zip(index, pair.extents, strict=True))):
                zeros = (For(var.id, Const(0), extent, Const(1), zeros, span=made.span),)
            taken += zeros
        return before, taken

    # which arrays

    def pairs(self, loop: For) -> Iterator[_Pair]:
        """The arrays of a loop's iterations that two can take turns at."""
        if loop.parallel or loop.slots is not None or loop.step not in (Const(1), Const(-1)):
            return
        inside = written_in(loop.body)
        if loop.var in inside:
            return
        for stmt in _outside_loops(loop.body):
            match stmt:
                case Assign(target=target, value=Op(fn=fn, args=(_, *extents))) if fn in ALLOCATIONS:
                    type_ = self.types[target]
                    known = all(isinstance(one, Name) and inside.isdisjoint(names_in(one)) for one in extents)
                    vector = isinstance(type_, Array) and type_.ndim == 1 and (fn == "empty" or type_.is_float)
                    if known and vector and self.last_an_iteration(loop, stmt):
                        yield _Pair(stmt, tuple(extents))  # type: ignore[arg-type]

    def last_an_iteration(self, loop: For, made: Assign) -> bool:
        """Whether what an iteration makes is handed to the next iteration, and no further."""
        assert isinstance(made.value, Op)
        extents = made.value.args[1:]
        if not all(self.iterations.never_negative(one, made) for one in extents):
            return False
        members = self.facts.members[self.iterations.aliases.find(made.target)]
        if not all(self.types[name] == self.types[made.target] or self.is_view(name) for name in members):
            return False
        if any(self.gets_away(stmt, members) for stmt in walk(self.facts.function.body)):
            return False
        statements = list(walk(loop.body))
        inside = {stmt.key for stmt in statements}
        setting = {name: [one for one in self.scopes.defs.get(name, ()) if one.key in inside] for name in members}
        of_iterations = [one for defs in setting.values() for one in defs if _makes(one)]
        handed = [
            name for name, defs in setting.items() if defs and len(defs) < len(self.scopes.defs.get(name, ()))
        ]
        if len(of_iterations) != 1 or of_iterations[0] is not made or len(handed) != 1:
            return False
        (handed_on,) = handed
        if not self.set_once(loop, handed_on, made, setting):
            return False
        if not all(_knows_what_is_apart(one) for one in statements if isinstance(one, For) and _mentions(one, members)):
            return False
        short = [name for name, defs in setting.items() if defs and name != handed_on]
        return all(self.ends_with_iteration(name, setting[name], inside) for name in short)

    def is_view(self, name: str) -> bool:
        """Whether a name is nothing but a view."""
        value = self.iterations.definition(Name(name))
        return isinstance(self.types[name], Array) and isinstance(value, Op) and value.fn not in ALLOCATIONS

    def gets_away(self, stmt: Stmt, members: set[str]) -> bool:
        """Whether a statement gives one of these arrays to a list, to the caller or to a function that may keep it."""
        match stmt:
            case Push() | Return():
                return not members.isdisjoint((*reads(stmt), *writes(stmt)))
            case Call(targets=targets, args=args):
                arrays = [name for name in targets if is_memory(self.types.get(name))]
                return bool(arrays) and any(isinstance(arg, Name) and arg.id in members for arg in args)
        return False

    def set_once(self, loop: For, name: str, made: Assign, setting: dict[str, list[Stmt]]) -> bool:
        """Whether every iteration sets what is handed on once, to what it has made or to what was there before."""
        defs = setting[name]
        if len(defs) != 1 or not any(stmt is defs[0] for stmt in loop.body):
            return False
        if defs[0] is made:
            return True
        (last,) = defs
        if not isinstance(last, Assign) or not isinstance(last.value, Name):
            return False
        if self.scopes.place[last.key] < self.scopes.place[made.key]:
            return False
        sources = setting.get(last.value.id, [])
        return bool(sources) and all(
            one is made
            or (isinstance(one, Assign) and isinstance(one.value, Name) and self.was_there(one.value.id, made, setting))
            for one in sources
        )

    def was_there(self, name: str, made: Assign, setting: dict[str, list[Stmt]]) -> bool:
        """Whether a name is what an iteration has made, or no iteration sets it."""
        defs = setting.get(name, [])
        return all(one is made for one in defs)

    def ends_with_iteration(self, name: str, defs: list[Stmt], inside: set[int]) -> bool:
        """Whether whoever reads a name does so in the iteration that has set it, and behind that."""
        if len(defs) != len(self.scopes.defs.get(name, ())):
            return False
        readers = self.facts.readers.get(name, ())
        return all(reader.key in inside and self.comes_behind(reader, name, defs) for reader in readers)

    def comes_behind(self, reader: Stmt, name: str, defs: list[Stmt]) -> bool:
        """Whether a statement runs only where one of some others has set a name in the same iteration."""
        here, place = self.scopes.of[reader.key], self.scopes.place
        before = [one for one in defs if place[one.key] < place[reader.key]]
        if any(here.inside(self.scopes.of[one.key]) for one in before):
            return True
        # both sides of a branch
        owners = [self.scopes.of[one.key].owner for one in before]
        return any(
            isinstance(owner, If)
            and all(any(one is stmt for stmt in side for one in before) for side in (owner.body, owner.orelse))
            and here.inside(self.scopes.of[owner.key])
            for owner in owners
        )


def _makes(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in ALLOCATIONS


def _mentions(loop: For, members: set[str]) -> bool:
    """Whether a loop is an innermost one, and uses one of some arrays."""
    inner = list(walk(loop.body))
    innermost = not any(isinstance(stmt, For | Loop) for stmt in inner)
    return innermost and not all(members.isdisjoint((*reads(stmt), *writes(stmt))) for stmt in inner)


def _knows_what_is_apart(loop: For) -> bool:
    """Whether LLVM loses nothing in a loop when two arrays become parts of one: it is told, or there is no vector."""
    copies = len(loop.body) <= costs.COPYING_STATEMENTS
    return loop.independent or copies or any(isinstance(stmt, If) for stmt in loop.body)


def _outside_loops(block: Block) -> Iterator[Stmt]:
    """The statements of a block and its branches."""
    for stmt in block:
        yield stmt
        if isinstance(stmt, If):
            yield from _outside_loops(stmt.body)
            yield from _outside_loops(stmt.orelse)


def _exchanged(block: Block, instead: dict[int, Block]) -> Block:
    """The block with others in the place of some statements, outside loops inside."""
    out: list[Stmt] = []
    for stmt in block:
        if stmt.key in instead:
            out += instead[stmt.key]
        elif isinstance(stmt, If):
            sides = (_exchanged(side, instead) for side in (stmt.body, stmt.orelse))
            out.append(replace(stmt, body=next(sides), orelse=next(sides)))
        else:
            out.append(stmt)
    return tuple(out)
