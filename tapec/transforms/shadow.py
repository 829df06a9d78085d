"""Adjoint arrays alias as their primals do.

Beside every definition of an active array the definition of its shadow is written, in the same
way: a fresh array gets a fresh shadow of zeros, a view the same view of the shadow, a merge name
a merge name.  Shadows are then ordinary arrays of the program, and whatever decides how a value
reaches the reverse sweep decides for them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tapec.analyses.activity import Activity, is_callee
from tapec.analyses.aliases import ALLOCATIONS, VIEWS
from tapec.analyses.batch_extents import BatchExtents
from tapec.analyses.buffer_rotation import permutation
from tapec.rules.library import PRIMITIVES
from tapec.rules.table import no_rule
from tapec.syntax.core import (
    Assign,
    Block,
    Call,
    Expr,
    For,
    If,
    Loop,
    Name,
    Op,
    Push,
    Stmt,
)
from tapec.syntax.custom_rule import Custom
from tapec.syntax.types import Array, Stack, written
from tapec.transforms.checkpoint_contents import Checkpointed
from tapec.transforms.emitter import Emitter


class Shadows:
    """Names of shadows, and the program with their definitions."""

    def __init__(
        self,
        emitter: Emitter,
        activity: Activity,
        checkpoints: dict[str, Checkpointed],
        sizes: BatchExtents,
        lasts: Mapping[str, str] | None = None,
    ) -> None:
        self.emitter = emitter
        self.sizes = sizes
        self.activity = activity
        self.names: dict[str, str] = {}
        # the memory of shadows that are in the order of columns
        self.rows: set[str] = set()
        self.checkpoints = checkpoints
        # arrays that grow have the shadow of the last of them: see grown_shadows.py
        self.lasts = lasts or {}
        # each iteration of a checkpointed loop hands these on as values: what they hold last has a shadow of its own
        self.values = {name for info in checkpoints.values() for name in info.values}

    def of(self, array: str) -> str:
        """The shadow of an active array or stack."""
        if array not in self.names:
            last = self.lasts.get(array, array)
            made = written(self.emitter.types[array])
            self.names[array] = self.emitter.fresh(f"{array}_bar", made) if last == array else self.of(last)
        return self.names[array]

    def entry(self, names: Iterable[str]) -> Block:
        """Shadows of zeros for parameters and constant arrays."""
        child = self.emitter.child()
        for name in names:
            if name in self.activity and isinstance(self.emitter.types[name], Array):
                self.names[name] = child.zeros_like(f"{name}_bar", name)
        return tuple(child.out)

    def block(self, block: Block) -> Block:
        child = self.emitter.child()
        for stmt in block:
            child.span = getattr(stmt, "span", None)
            self.statement(stmt, child)
        return tuple(child.out)

    def statement(self, stmt: Stmt, out: Emitter) -> None:
        types = self.emitter.types
        match stmt:
            case If(test=test, body=body, orelse=orelse):
                out.add(If(test, self.block(body), self.block(orelse), stmt.span))
            case For(var=var) if var in self.checkpoints:
                self.checkpointed(stmt, self.checkpoints[var], out)
            case For(body=body):
                inner = self.block(body)
                out.add(replace(stmt, body=inner))
            case Loop(body=body):
                out.add(Loop(self.block(body), stmt.span))
            case Assign(target=target) if target in self.values or self.lasts.get(target, target) != target:
                out.add(stmt)
            case Assign(target=target) if target in self.activity and isinstance(types[target], Array | Stack):
                out.add(stmt)
                kind = types[target]
                if not isinstance(kind, Stack) or isinstance(kind.element, Array):
                    self.define(stmt, out)
            case Push(stack=stack, value=Name(id=value)) if stack in self.activity and isinstance(types[value], Array):
                out.add(stmt)
                out.add(Push(self.of(stack), Name(self.of(value)), stmt.span))
            case Call(targets=targets, function=fn) if fn in PRIMITIVES or isinstance(fn, Custom) or is_callee(fn):
                out.add(stmt)
                for target in targets:
                    if target in self.activity and isinstance(types[target], Array):
                        self.names[target] = out.zeros_like(f"{target}_bar", target)
            case _:
                out.add(stmt)

    def checkpointed(self, stmt: For, info: Checkpointed, out: Emitter) -> None:
        """A loop whose iterations have shadows only when they are reversed, apart from buffers that change places."""
        held = permutation(stmt.body)
        turns = out.child()
        turned = [name for name in info.turned if name in self.activity]
        before = {name: turns.let(self.of(name), Name(self.of(name)), self.emitter.types[name]) for name in turned}
        for name in turned:
            turns.assign(self.of(name), before[held[name]])
        out.add(replace(stmt, body=(*stmt.body, *turns.out)))
        for name in info.values:
            if name in self.activity:
                self.names[name] = out.zeros_like(f"{name}_bar", name)

    def define(self, stmt: Assign, out: Emitter) -> None:
        target, value = stmt.target, stmt.value
        if target in self.lasts:
            self.names[target] = out.zeros_like(f"{target}_bar", target)
            return
        if isinstance(value, Name):
            out.assign(self.of(target), Name(self.of(value.id)))
            return
        assert isinstance(value, Op)
        if value.fn in ALLOCATIONS:
            out.assign(self.of(target), Op("zeros", value.args))
        elif value.fn == "stack":
            out.assign(self.of(target), value)
        elif value.fn in VIEWS or value.fn == "pop":
            owner = value.args[0]
            assert isinstance(owner, Name)
            args: tuple[Expr, ...] = (Name(self.of(owner.id)), *value.args[1:])
            out.assign(self.of(target), Op(value.fn, args))
        elif value.fn in PRIMITIVES or value.fn == "copy" or isinstance(value.fn, Custom):
            # extents that follow from operands do not need the array itself, which the reverse sweep may not have
            extents = [self.sizes.extent_of(target, axis) for axis in range(self.sizes.rank(target))]
            self.names[target] = out.zeros_like(f"{target}_bar", target, extents)
            match out.out[-1]:
                case Assign(value=Op(fn="transpose", args=(Name(id=rows),))):
                    self.rows.add(rows)
        else:
            raise no_rule(value.fn, stmt.span)
