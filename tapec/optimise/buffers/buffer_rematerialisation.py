"""Compute again, where it is read, what a scratch array holds between two loops.

    for c in range(d):                        for c in range(d):
        diff[c] = x[i, c] - m[j, c]               s += x[i, c] - m[j, c]
        s += diff[c]                  ->      for c in range(d):
    for c in range(d):                            again = x[i, c] - m[j, c]
        y[c] = diff[c] * w                        y[c] = again * w

A value that costs no more than two loads and two operations is cheaper computed again than kept: reverse mode
would keep the array, and an adjoint for it.  One loop over the whole array must fill it, from arrays that nothing
changes, and later loops of the same block read it by their own variable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Const,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    changed,
    map_blocks,
    reads,
    substitute,
    walk,
)
from tapec.syntax.renaming import replaced

_ARITHMETIC = frozenset({"+", "-", "*", "neg"})


def rematerialise_buffers(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such arrays no longer read; see the module.  What fills them is left to be dropped."""
    worker = _Refill(function)
    return replace(function, body=worker.block(function.body), types=worker.fresh.types)


@dataclass(frozen=True)
class _Filling:
    """The loop that fills an array, and the statements that compute an element."""

    loop: For
    array: str
    made: tuple[Assign, ...]
    value: Atom


class _Refill:
    def __init__(self, function: Function) -> None:
        self.fresh = Fresh(function.types)
        self.iterations = Iterations(function)
        self.aliases = self.iterations.aliases
        self.changed = {self.aliases.find(name) for stmt in walk(function.body) for name in changed(stmt)}
        names = [name for name, type_ in function.types.items() if is_memory(type_)]
        classes = [self.aliases.find(name) for name in names]
        sizes = Counter(classes)
        self.alone = {name for name, own in zip(names, classes, strict=True) if sizes[own] == 1}
        self.uses: dict[str, list[Stmt]] = {}
        for stmt in walk(function.body):
            for name in set(reads(stmt)) & self.alone:
                self.uses.setdefault(name, []).append(stmt)

    def block(self, block: Block) -> Block:
        out = list(block)
        for place, stmt in enumerate(out):
            if isinstance(stmt, For):
                for filling in list(self.fillings(stmt)):
                    later = [self.reading(filling, one) for one in out[place + 1 :]]
                    used = sum(len(found) for found in later if found is not None)
                    # every use must be one of these, and the store
                    if None not in later and used + 1 == len(self.uses[filling.array]) and used:
                        out[place + 1 :] = [self.refilled(filling, one) for one in out[place + 1 :]]
                        self.remark(filling)
        return tuple(map_blocks(stmt, self.block) for stmt in out)

    def remark(self, filling: _Filling) -> None:
        why = "its elements are computed again where they are read"
        about = Named(filling.array, filling.loop.span)
        remark(filling.loop.span, "buffer_rematerialisation", "`{0}` is not kept", why, about)

    def fillings(self, loop: For) -> Iterator[_Filling]:
        """The arrays that a loop fills with what is cheap to compute again."""
        if (loop.start, loop.step) != (Const(0), Const(1)) or any(isinstance(s, Break) for s in walk(loop.body)):
            return
        for stmt in loop.body:
            match stmt:
                case Store(array=array, index=(index,), value=value, accumulate=False) if array in self.alone:
                    made = self.iterations.definition(Name(array))
                    if index != Name(loop.var) or not isinstance(made, Op) or made.fn not in ("empty", "zeros"):
                        continue
                    if made.args[1:] != (loop.stop,) or self.type_of(value) != self.fresh.types[array].element:  # type: ignore[union-attr]
                        continue
                    computing = self.computing(loop, value)
                    if computing is not None:
                        yield _Filling(loop, array, computing, value)

    def type_of(self, atom: Atom) -> object:
        return self.fresh.types.get(atom.id) if isinstance(atom, Name) else None

    def computing(self, loop: For, value: Atom) -> tuple[Assign, ...] | None:
        """The statements of an iteration that compute a value; None if they are many, or may give something else
        later.
        """
        own = {s.target: s for s in loop.body if isinstance(s, Assign)}
        wanted = {value.id} if isinstance(value, Name) else set()
        found: list[Assign] = []
        for stmt in reversed(loop.body):
            if isinstance(stmt, Assign) and stmt.target in wanted:
                found.append(stmt)
                wanted |= set(reads(stmt))
        inside = {stmt.key for stmt in walk(loop.body)}
        for name in wanted - {loop.var}:
            defs = self.iterations.scopes.defs.get(name, [])
            if len(defs) > 1 or (name not in own and any(stmt.key in inside for stmt in defs)):
                return None
        loads = [s for s in found if isinstance(s.value, Op) and s.value.fn == "load"]
        for stmt in found:
            if stmt in loads:
                if self.aliases.find(reads(stmt)[0]) in self.changed:
                    return None
            elif not isinstance(stmt.value, Op) or stmt.value.fn not in _ARITHMETIC:
                return None
        cheap = len(loads) <= costs.CHEAP_LOADS and len(found) - len(loads) <= costs.CHEAP_OPERATIONS
        return tuple(reversed(found)) if cheap and found else None

    def reading(self, filling: _Filling, stmt: Stmt) -> list[Stmt] | None:
        """The loads of an array in a statement; None if they are not those of a loop over all of it."""
        found = [s for s in walk((stmt,)) if filling.array in reads(s)]
        if not found:
            return []
        if not isinstance(stmt, For) or (stmt.start, stmt.stop, stmt.step) != (Const(0), filling.loop.stop, Const(1)):
            return None
        wanted = Op("load", (Name(filling.array), Name(stmt.var)))
        return found if all(isinstance(s, Assign) and s.value == wanted for s in found) else None

    def refilled(self, filling: _Filling, stmt: Stmt) -> Stmt:
        """The statement with the element computed at the beginning of an iteration instead of loaded."""
        if not isinstance(stmt, For) or not self.reading(filling, stmt):
            return stmt
        names: dict[str, Name | Const | Op] = {filling.loop.var: Name(stmt.var)}
        head: list[Stmt] = []
        for made in filling.made:
            new = self.fresh(made.target, self.fresh.types[made.target])
            head.append(replace(made, target=new, value=substitute(made.value, names)))
            names[made.target] = Name(new)
        value = substitute(filling.value, names)
        assert isinstance(value, Name | Const)
        loads = [s for s in walk(stmt.body) if isinstance(s, Assign) and filling.array in reads(s)]
        body = stmt.body
        for load in loads:
            body = without(replaced(body, {load.target: value}), load)
        return replace(stmt, body=(*head, *body))


def without(block: Block, gone: Assign) -> Block:
    """The block without an assignment."""
    return tuple(map_blocks(s, lambda inner: without(inner, gone)) for s in block if s != gone)
