"""Gradients of tables as rows: of the rows that were taken, without the array of the table's shape.

Where a block takes rows of an array, `table[indices]`, they are read through a name of its own for
the table.  If the block reads the table in no other way, the gradient by the table is that by the
rows, which are values of the block like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.analyses.aliases import aliases
from tapec.errors import LoweringError
from tapec.syntax.core import Assign, Call, Function, Name, Op, Return, Store, reads, walk
from tapec.syntax.types import Array
from tapec.tape.derivatives.block_derivative import DerivedProgram, inputs_of
from tapec.tape.plan.tape_plan import TapePlan
from tapec.tape.run.compiled_derivative import CompiledDerivative, compiled
from tapec_runtime.indexed_slices import IndexedSlices
from tapec_runtime.variables import UnconnectedGradients, Variable

if TYPE_CHECKING:
    from tapec.tape.answers.recording import Recording


@dataclass(frozen=True)
class TakenRows:
    """Rows that the block takes of a table: their name, and that of the array of their numbers."""

    rows: str
    indices: str


def rows_of(plan: TapePlan, versions: tuple[str, ...]) -> tuple[TakenRows, ...]:
    """The rows that the block takes of a table; none if it uses it in another way, or inside a loop or branch."""
    if versions not in plan.taken_rows:
        plan.taken_rows[versions] = _rows_of(plan, versions)
    return plan.taken_rows[versions]


def _rows_of(plan: TapePlan, versions: tuple[str, ...]) -> tuple[TakenRows, ...]:
    at_the_top = {stmt.target: stmt.value for stmt in plan.block if isinstance(stmt, Assign)}
    found: list[TakenRows] = []
    for stmt in walk(plan.block):
        if not set(versions) & set(reads(stmt)):
            continue
        if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "dim":
            continue
        alias = stmt.target if isinstance(stmt, Assign) and isinstance(stmt.value, Name) else ""
        taken = plan.gathers.get(alias)
        if taken is None or alias not in at_the_top or taken[0] not in at_the_top or _overwritten(plan, alias, *taken):
            return ()
        found.append(TakenRows(*taken))
    return tuple(found)


def _overwritten(plan: TapePlan, alias: str, rows: str, indices: str) -> bool:
    """Whether the rows are written again when they have been taken, or the array of their numbers is."""
    classes = aliases(Function("stretch", (), (*plan.block, Return(())), plan.types))
    own, numbers = classes.find(rows), classes.find(indices)
    taken = False
    stores = 0
    for top in plan.block:
        taken = taken or (isinstance(top, Assign) and top.target == alias)
        for stmt in walk((top,)):
            if isinstance(stmt, Call) and {own, numbers} & {classes.find(name) for name in reads(stmt)}:
                return True
            if isinstance(stmt, Store) and classes.find(stmt.array) == own:
                # the first one fills them
                stores += 1
            if isinstance(stmt, Store) and classes.find(stmt.array) == numbers and taken:
                return True
    return stores > 1 or (indices in plan.written and indices in plan.leaf_names)


class TableRows:
    """The sources of a question, some of them as the rows that were taken.

    versions, sources  what is asked for instead: rows stand for tables
    """

    def __init__(
        self, recording: Recording, versions: tuple[tuple[str, ...], ...], sources: list[Any], jit: bool | None
    ) -> None:
        self.tables = sources
        self.taken = [rows_of(recording.plan, own) if _is_table(one) else () for own, one in zip(
            versions, sources, strict=True)] if recording.plan is recording.own else [()] * len(sources)
        names = tuple(dict.fromkeys(one.indices for taken in self.taken for one in taken))
        self.indices = dict(zip(names, _arrays(recording, names, jit), strict=True))
        self.versions: tuple[tuple[str, ...], ...] = ()
        self.sources: list[Any] = []
        for own, source, taken in zip(versions, sources, self.taken, strict=True):
            if not taken:
                self.versions += (own,)
                self.sources.append(source)
            for one in taken:
                self.versions += ((one.rows,),)
                shape = (*self.indices[one.indices].shape, *source.shape[1:])
                # what has the shape of the rows, without their memory
                self.sources.append(np.broadcast_to(np.zeros((), source.dtype), shape))

    def gathered(self, gradients: list[Any], policy: UnconnectedGradients) -> list[Any]:
        """The gradients of the sources, from those by rows."""
        found, following = [], iter(gradients)
        for table, taken in zip(self.tables, self.taken, strict=True):
            if not taken:
                found.append(next(following))
                continue
            parts = [(next(following), self.indices[one.indices]) for one in taken]
            connected = [(values, indices) for values, indices in parts if values is not None]
            found.append(_slices(table, connected) if connected or policy is UnconnectedGradients.ZERO else None)
        return found


def _is_table(source: Any) -> bool:
    return isinstance(source, Variable | np.ndarray) and len(source.shape) > 0


def _slices(table: Any, parts: list[tuple[Any, Any]]) -> IndexedSlices:
    rest = table.shape[1:]
    values = [np.reshape(own, (indices.size, *rest)) for own, indices in parts]
    numbers = [np.ravel(indices) for _, indices in parts]
    flat = np.concatenate([np.zeros(0, np.int64), *numbers])
    rows = np.concatenate([np.zeros((0, *rest), table.dtype), *values])
    return IndexedSlices(rows, np.where(flat < 0, flat + table.shape[0], flat), table.shape)


def _indices(plan: TapePlan, names: tuple[str, ...]) -> CompiledDerivative:
    body = (*plan.block, Return(tuple(Name(name) for name in names)))
    inputs = inputs_of(body)
    made = DerivedProgram(Function("indices", inputs, body, plan.types), inputs, (), (), ())
    return compiled(made, plan.constants, plan.callees, plan.options)


def _arrays(recording: Recording, names: tuple[str, ...], jit: bool | None) -> list[Any]:
    """The values of integer arrays of the block."""
    plan = recording.plan
    computed = tuple(name for name in names if name not in recording.inputs and name not in plan.constants)
    known = {name: recording.inputs.get(name, plan.constants.get(name)) for name in names}
    if computed:
        key = ("indices", computed)
        program = plan.program(key, partial(_indices, plan, computed))
        arguments = [recording.input(name) for name in program.derivative.inputs]
        known.update(zip(computed, program(arguments, jit), strict=True))
    if not all(isinstance(plan.types.get(name), Array) or name in plan.constants for name in names):
        raise LoweringError("rows that are taken by something else than an array")
    return [known[name] for name in names]
