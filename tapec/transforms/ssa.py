"""Bring generated code back to single assignment, so that it can be differentiated again.

A reverse sweep assigns adjoints many times and recomputes primal names.  Each assignment gets a
name of its own; where ways meet, a merge name takes a copy on each of them, for names that are
read later only.

>>> from tapec.syntax.types import FLOAT64
>>> x = Assign("s", Op("+", (Name("s"), Name("x"))))     # s = s + x, twice
>>> block = (Assign("s", Const(0.0)), x, x, Return((Name("s"),)))
>>> types = {"s": FLOAT64, "x": FLOAT64}
>>> [writes(stmt) for stmt in to_ssa(Function("f", ("x",), block, types)).body]
[('s',), ('s_1',), ()]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tapec.analyses.liveness import Liveness
from tapec.errors import Span
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Call,
    Const,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    map_blocks,
    substitute,
    walk,
    writes,
    written_in,
)
from tapec.syntax.types import Array, Scalar, Stack, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.loop_exits import count_breaks

Env = dict[str, Atom]


@dataclass(frozen=True)
class Binding:
    """What some names of a function are to begin with; the atoms are of another program, which may use the same names.

    types  of the names among the atoms
    """

    values: Mapping[str, Atom]
    types: Mapping[str, Type]


def to_ssa(
    function: Function,
    constants: frozenset[str] = frozenset(),
    avoid: frozenset[str] = frozenset(),
    bound: Binding | None = None,
) -> Function:
    """The same program in single assignment; `avoid` holds names that must not be used."""
    function = replace(function, body=_stacks_first(function.body))
    worker = _Ssa(function, constants, avoid)
    out = worker.emitter.child()
    env: Env = {name: Name(name) for name in (*function.params, *constants)}
    if bound is not None:
        env |= worker.begin(bound, out)
    worker.block(function.body, env, out)
    return replace(function, body=_closed(out), types=worker.types, shared=(), wide=False, few=())


def _stacks_first(block: Block) -> Block:
    """The same program, with the stacks that branches make made before them.

    What one branch pushes, the same branch of the reverse sweep pops.  The stack that both know has adjoints; a merge
    name would be another stack, with adjoints of its own.
    """
    counts = Counter(name for stmt in walk(block) for name in writes(stmt))

    def plain(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            found = branch(stmt, out) if isinstance(stmt, If) else map_blocks(stmt, plain)
            out.append(found)
        return tuple(out)

    def branch(stmt: If, before: list[Stmt]) -> Stmt:
        return map_blocks(stmt, lambda block: tuple(inner for one in block for inner in taken(one, before)))

    def taken(stmt: Stmt, before: list[Stmt]) -> tuple[Stmt, ...]:
        match stmt:
            case Assign(target=target, value=Op(fn="stack")) if counts[target] == 1:
                before.append(stmt)
                return ()
            case If():
                return (branch(stmt, before),)
        return (map_blocks(stmt, plain),)

    return plain(block)


@dataclass
class _OpenIf:
    """An `if` whose sides still grow: what follows a side that leaves is written into the other."""

    test: Atom
    first: Emitter
    second: Emitter
    span: Span | None


def _closed(out: Emitter) -> Block:
    block: list[Stmt] = []
    for stmt in out.out:
        if isinstance(stmt, _OpenIf):
            stmt = If(stmt.test, _closed(stmt.first), _closed(stmt.second), stmt.span)
        block.append(stmt)
    return tuple(block)


class _Ssa:
    def __init__(self, function: Function, constants: frozenset[str], avoid: frozenset[str]) -> None:
        self.types = {name: function.types[name] for name in (*function.params, *constants)}
        self.old = function.types
        self.emitter = Emitter(self.types, set(avoid) | set(self.types))
        self.liveness = Liveness(function)
        self.loops: list[dict[str, str]] = []

    def begin(self, bound: Binding, out: Emitter) -> Env:
        self.types.update(bound.types)
        self.emitter.taken.update(bound.types)
        env: Env = {}
        for name, atom in bound.values.items():
            env[name] = atom
            if not self.plain(atom, name):
                env[name] = out.let(name, atom, self.old[name])
        return env

    def define(self, name: str) -> str:
        return self.emitter.fresh(name, self.old[name])

    def block(self, block: Block, env: Env, out: Emitter) -> tuple[Env | None, Emitter]:
        """Rewrite a block: the variables after it, None if it does not end normally, and where it goes on."""
        current: Env | None = dict(env)
        for stmt in block:
            if current is None:
                break
            out.span = getattr(stmt, "span", None)
            if isinstance(stmt, If):
                current, out = self.branch(stmt, current, out)
            else:
                current = self.statement(stmt, current, out)
        return current, out

    def statement(self, stmt: Stmt, env: Env, out: Emitter) -> Env | None:
        def atom(value: Atom) -> Atom:
            new = substitute(value, dict(env))
            assert isinstance(new, Name | Const)
            return new

        def array(name: str) -> str:
            found = env[name]
            assert isinstance(found, Name)
            return found.id

        match stmt:
            case Assign(target=target, value=value):
                new_value = substitute(value, dict(env))
                if isinstance(new_value, Name | Const) and self.plain(new_value, target):
                    return {**env, target: new_value}
                new = self.define(target)
                out.add(Assign(new, new_value, stmt.span))
                return {**env, target: Name(new)}
            case Store():
                index = tuple(atom(i) for i in stmt.index)
                out.add(Store(array(stmt.array), index, atom(stmt.value), stmt.accumulate, stmt.span))
            case Push():
                out.add(Push(array(stmt.stack), atom(stmt.value), stmt.span))
            case Call():
                targets = tuple(self.define(t) for t in stmt.targets)
                out.add(replace(stmt, targets=targets, args=tuple(atom(a) for a in stmt.args)))
                return env | {old: Name(new) for old, new in zip(stmt.targets, targets, strict=True)}
            case Return():
                out.add(Return(tuple(atom(v) for v in stmt.values), stmt.span))
            case Raise():
                out.add(replace(stmt, args=tuple(atom(a) for a in stmt.args)))
                return None
            case Break():
                self.leave(env, out)
                out.add(stmt)
                return None
            case For() | Loop():
                return self.loop(stmt, env, out)
            case _:
                out.add(stmt)
        return env

    def plain(self, value: Atom, target: str) -> bool:
        """Whether a copy can be replaced by what it copies: one type."""
        return self.emitter.type_of(value) == self.old[target]

    def branch(self, stmt: If, env: Env, out: Emitter) -> tuple[Env | None, Emitter]:
        test = substitute(stmt.test, dict(env))
        assert isinstance(test, Name | Const)
        first, second = out.child(), out.child()
        out.add(_OpenIf(test, first, second, stmt.span))  # type: ignore[arg-type]
        first_env, first_end = self.block(stmt.body, env, first)
        second_env, second_end = self.block(stmt.orelse, env, second)
        if first_env is None and second_env is not None and not count_breaks(stmt.body):
            # the first side raises: what follows is not part of the second one
            out.out[-1] = If(test, _closed(first), (), stmt.span)
            out.extend(second.out)
            return second_env, out if second_end is second else second_end
        if first_env is None or second_env is None:
            return (second_env, second_end) if first_env is None else (first_env, first_end)
        if count_breaks(stmt.body) or count_breaks(stmt.orelse):
            # the end of a loop's body: each way that goes on ends the iteration where it is
            self.leave(first_env, first_end)
            self.leave(second_env, second_end)
            return None, out
        result = dict(env)
        for name in sorted(first_env.keys() | second_env.keys()):
            if not self.liveness.live_after(stmt, name):
                continue
            a, b = first_env.get(name), second_env.get(name)
            if a == b and a is not None:
                result[name] = a
                continue
            merged = self.define(name)
            for end, value in ((first_end, a), (second_end, b)):
                end.assign(merged, value if value is not None else self.blank(name, end))
            result[name] = Name(merged)
        return result, out

    def blank(self, name: str, out: Emitter) -> Atom:
        """A value for a way on which the name is not set; nothing reads it."""
        type_ = self.old[name]
        if isinstance(type_, Scalar):
            zero: Any = False if type_.dtype == "bool" else 0.0 if type_.is_float else 0
            return out.cast(Const(zero), type_) if type_.dtype != "bool" else Const(False)
        if isinstance(type_, Array):
            fresh = Array(type_.dtype, type_.ndim, "C")
            return out.let("t", Op("empty", (Const(type_.dtype), *(Const(0),) * type_.ndim)), fresh)
        assert isinstance(type_, Stack)
        element = type_.element
        args: tuple[Const, ...] = (Const(element.dtype),)
        if isinstance(element, Array):
            args = (*args, Const(element.ndim), Const(element.layout))
        return out.let("t", Op("stack", args), type_)

    def loop(self, stmt: For | Loop, env: Env, out: Emitter) -> Env | None:
        assigned = written_in(stmt.body)
        if isinstance(stmt, For):
            assigned.add(stmt.var)
        carried = {}
        for name in sorted(assigned):
            if not (self.liveness.live_at_head(stmt, name) or self.liveness.live_after(stmt, name)):
                continue
            start = env.get(name)
            if start is None:
                start = self.blank(name, out)
            carried[name] = self.define(name)
            out.assign(carried[name], start)
        bounds = None
        if isinstance(stmt, For):
            bounds = [substitute(bound, dict(env)) for bound in (stmt.start, stmt.stop, stmt.step)]
            slots = None if stmt.slots is None else substitute(stmt.slots, dict(env))
        head: Env = env | {name: Name(new) for name, new in carried.items()}
        body = out.child()
        inner_env = dict(head)
        var = ""
        if isinstance(stmt, For):
            var = self.define(stmt.var)
            inner_env[stmt.var] = Name(var)
        self.loops.append(carried)
        end, tail = self.block(stmt.body, inner_env, body)
        if end is not None:
            self.copies(carried, end, tail)
        self.loops.pop()
        if isinstance(stmt, For):
            assert bounds is not None
            start_atom, stop_atom, step_atom = bounds
            assert isinstance(start_atom, Name | Const)
            assert isinstance(stop_atom, Name | Const) and isinstance(step_atom, Name | Const)
            assert slots is None or isinstance(slots, Name | Const)
            new: Stmt = For(var, start_atom, stop_atom, step_atom, _closed(body), stmt.parallel, stmt.span, slots)
        else:
            new = Loop(_closed(body), stmt.span)
        out.add(new)
        return head

    def leave(self, env: Env, out: Emitter) -> None:
        self.copies(self.loops[-1], env, out)

    def copies(self, carried: dict[str, str], env: Env, out: Emitter) -> None:
        """Set the merge names at the end of an iteration, all at once."""
        pairs = [(new, env[old]) for old, new in carried.items() if env[old] != Name(new)]
        targets = {new for new, _ in pairs}
        ready = []
        for new, value in pairs:
            if isinstance(value, Name) and value.id in targets:
                value = out.let(f"{value.id}_old", value, self.types[value.id])
            ready.append((new, value))
        for new, value in ready:
            out.assign(new, value)
