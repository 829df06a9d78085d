"""Let an iteration write into the array that the iteration before has dropped, where it would make one.

                                          new = np.empty(n)
    for t in range(steps):                for t in range(steps):
        new = np.zeros(n)                     for i in range(n):
        ...                                       new[i] = 0.0
        old = u                   ->          ...
        u = new                               dropped = old
                                              old = u
                                              u = new
                                              new = dropped

Schemes of several levels in time hand arrays on like that.  The buffers only change places then, and so do their
shadows in the reverse sweep (`analyses/buffer_rotation.py`), which had kept each iteration's on a list.

Needs arrays that begin apart and alike, as the one that an iteration makes, and that have no other names: no view of
them, no list, and nobody else gets them.  Where the next iteration gets no more than what this one made,
`transforms/carried_shadows.py` does as well without.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.buffer_rotation import last_copies, permutation
from tapec.analyses.iterations import Iterations
from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Push,
    Return,
    Stmt,
    Store,
    map_blocks,
    may_leave,
    reads,
    walk,
    zero_of,
)
from tapec.syntax.types import INT64, Array

_MADE = frozenset({"empty", "zeros"})


def reuse_dead_buffers(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such arrays; see the module."""
    worker = _Dropped(function)
    return replace(function, body=worker.block(function.body), types=worker.fresh.types)


@dataclass(frozen=True)
class _Chain:
    """The array that an iteration makes, and the copy that hands it on for the last time: the next iteration's drops
    it.
    """

    made: Assign
    value: Op
    last: Assign


class _Dropped:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.iterations = Iterations(function)
        self.defs = self.iterations.scopes.defs
        self.fresh = Fresh(function.types)
        self.reads = Counter(name for stmt in walk(function.body) for name in reads(stmt))
        find = self.iterations.aliases.find
        self.sharing = Counter(find(name) for name, type_ in function.types.items() if is_memory(type_))
        # what leaves the function, or goes where nobody can follow it
        gone = (stmt for stmt in walk(function.body) if isinstance(stmt, Return | Push | Call))
        self.gone = {find(name) for stmt in gone for name in reads(stmt)} | set(map(find, function.params))

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for place, stmt in enumerate(block):
            chain = self.chain(stmt, block[:place]) if isinstance(stmt, For) else None
            if chain is None:
                out.append(map_blocks(stmt, self.block))
            else:
                assert isinstance(stmt, For)
                out += self.changing_places(stmt, chain)
        return tuple(out)

    # which arrays

    def chain(self, loop: For, before: Block) -> _Chain | None:
        """The array that iterations make, and how they hand it on, if one that is dropped can take its place."""
        if loop.parallel or loop.slots is not None or may_leave(loop.body):
            return None
        held = permutation(loop.body)
        following = {source: target for target, source in held.items()}
        if len(following) < len(held):
            return None
        for stmt in loop.body:
            if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in _MADE:
                names = [stmt.target]
                while names[-1] in following and following[names[-1]] not in names:
                    names.append(following[names[-1]])
                if len(names) > 2 and self.fits(loop, stmt, names, before):
                    (last,) = (one for one in last_copies(loop.body) if one.target == names[-1])
                    return _Chain(stmt, stmt.value, last)
        return None

    def fits(self, loop: For, made: Assign, names: list[str], before: Block) -> bool:
        """Whether nothing else has the arrays, and they begin as different ones of the same extents."""
        new, *others = names
        assert isinstance(made.value, Op)
        copies = {stmt.key for stmt in last_copies(loop.body)}
        type_ = self.function.types[new]
        if len(self.defs[new]) != 1 or not isinstance(type_, Array) or not type_.is_float:
            return False
        begun: list[str] = []
        for name in others:
            starts = [stmt for stmt in self.defs[name] if stmt.key not in copies]
            if len(self.defs[name]) != 2 or len(starts) != 1 or not any(starts[0] is stmt for stmt in before):
                return False
            start = starts[0]
            if not isinstance(start, Assign) or not isinstance(start.value, Name):
                return False
            begun.append(start.value.id)
        if len(set(begun)) < len(begun) or not all(self.like(made.value, name, before) for name in begun):
            return False
        within = Counter(name for stmt in walk(loop.body) for name in reads(stmt))
        earlier = Counter(name for stmt in walk(before) for name in reads(stmt))
        if within[new] < self.reads[new] or any(earlier[name] < self.reads[name] for name in begun):
            return False
        find = self.iterations.aliases.find
        return self.sharing[find(new)] == len({*names, *begun}) and find(new) not in self.gone

    def like(self, made: Op, name: str, before: Block) -> bool:
        """Whether an array is made before the loop, once, with the element type and the extents of another one."""
        for stmt in before:
            if isinstance(stmt, Assign) and stmt.target == name:
                value = stmt.value
                alike = isinstance(value, Op) and value.fn in _MADE and value.args == made.args
                return alike and len(self.defs[name]) == 1 and all(map(self.defined_once, made.args))
        return False

    def defined_once(self, arg: Expr) -> bool:
        """Whether an extent is the same whenever it is read."""
        if not isinstance(arg, Name):
            return isinstance(arg, Const)
        given = arg.id in self.function.params
        return self.iterations.fixed(arg) and not (given and self.defs.get(arg.id))

    # letting them change places

    def changing_places(self, loop: For, chain: _Chain) -> list[Stmt]:
        """The loop whose iterations write into what the one before has dropped, after what makes one array more."""
        made, new = chain.made, chain.made.target
        type_ = self.function.types[new]
        assert isinstance(type_, Array)
        why = "no iteration needs it any more when the next one begins"
        about = Named(new, made.span), Named(chain.last.target, chain.last.span)
        remark(made.span, "dead_buffer_reuse", "`{0}` takes the memory that `{1}` had", why, *about)
        body: list[Stmt] = []
        for stmt in loop.body:
            if stmt is not made:
                body.append(stmt)
            elif chain.value.fn == "zeros":
                body += self.cleared(made, type_, chain.value)
        copies = last_copies(loop.body)
        spare = self.fresh(chain.last.target, type_)
        body = [*body[: -len(copies)], Assign(spare, Name(chain.last.target), made.span), *copies]
        body.append(Assign(new, Name(spare), made.span))
        first = replace(made, value=replace(chain.value, fn="empty"))
        return [first, replace(loop, body=tuple(body))]

    def cleared(self, made: Assign, type_: Array, value: Op) -> Block:
        """The loops that set all elements to zero."""
        extents: list[Atom] = [arg for arg in value.args[1:] if isinstance(arg, Name | Const)]
        index = tuple(Name(self.fresh("i", INT64)) for _ in extents)
        zero = Name(self.fresh("t", type_.element))
        zeros: Block = (Store(made.target, index, zero, False, made.span),)
        for var, extent in reversed(list(zip(index, extents, strict=True))):
            zeros = (For(var.id, Const(0), extent, Const(1), zeros, span=made.span),)
        return (Assign(zero.id, zero_of(type_.element), made.span), *zeros)
