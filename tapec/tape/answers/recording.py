"""What a tape keeps of a block that ran natively: its plan, its inputs, and the names of the objects it left."""

from __future__ import annotations

import copy
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from tapec.errors import LoweringError
from tapec.syntax.core import Name
from tapec.tape.answers.gradients import request_of
from tapec.tape.answers.object_collectors import collector_for
from tapec.tape.answers.object_names import ObjectNames, atoms_of
from tapec.tape.answers.reentered_tape import joined
from tapec.tape.block.watched_copies import latest
from tapec.tape.block.with_statement import entering_frame, forget_variables
from tapec.tape.derivatives.block_derivative import tracked
from tapec.tape.objects.snapshots import snapshot
from tapec.tape.plan.block_lowering import plan_for
from tapec.tape.plan.tape_plan import UNMADE, TapePlan, known_plan
from tapec_runtime.aliasing import elements_overlap

_UNSET = object()


class Recording:
    """One run of a block.

    plan     the program of all blocks of the tape; `own` that of the last one as far as it went
    entered  the plan of the last block
    holders  its live lists, dicts and objects, until it ends
    objects  the objects that were its inputs at entry
    values   what the inputs were
    left     what the block left, in the order of `own.collector`, where every object is one value
    unnamed  why a value that the block made may have no name; empty if it has one
    """

    left: tuple[Any, ...] | None = None
    unnamed = ""
    pauses = 0
    known: ObjectNames | None = None
    _inputs: dict[str, Any] | None = None
    _no_names: dict[str, str] = {}

    def __init__(self, frame: Any, tape: Any, earlier: Recording | None) -> None:
        found = None
        if earlier is None:
            variables = frame.f_locals
            found = known_plan(frame, tape.kind, variables)
            forget_variables(frame, variables)
        if found is None:
            frame = entering_frame(frame)
            found = plan_for(frame, tape)
        plan, objects, self.holders = found
        self.plan = self.own = self.entered = plan
        self.code, self.objects = frame.f_code, objects
        self.mapping = self._no_names
        self.values = plan.take(objects)
        if earlier is not None:
            self._continue(earlier)
        if plan.written:
            self._check_sharing()

    @property
    def inputs(self) -> dict[str, Any]:
        """The values of the program's inputs at entry."""
        if self._inputs is None:
            self._inputs = dict(zip(self.own.leaf_names, self.values, strict=True))
        return self._inputs

    def input(self, name: str) -> Any:
        """An input of a program that is made of the block's."""
        if name not in self.inputs:
            return self.plan.constants[name]
        value = self.inputs[name]
        # that program writes where the block did
        return snapshot(value) if name in self.plan.written else value

    def _continue(self, earlier: Recording) -> None:
        """The tape was entered before: one program for all its blocks."""
        own = self.own
        self.plan, self.mapping = joined(earlier.plan, earlier.names, own, self.objects)
        # after a reset nothing of the earlier blocks is known
        self.known = ObjectNames(self.plan.order) if own.region.was_reset else earlier.names
        self.known.order = self.plan.order
        self.unnamed = earlier.unnamed
        self._inputs = dict(earlier.inputs)
        for leaf, obj, value in zip(own.leaves, self.objects, self.values, strict=True):
            name = self.mapping[leaf.name]
            if name in self.plan.leaf_names and name not in earlier.plan.leaf_names:
                self.known.leaf(obj, replace(leaf, name=name))
                self._inputs[name] = value

    def _check_sharing(self) -> None:
        """Arrays that are written must not share memory with others: the inputs are copies."""
        for leaf, obj in zip(self.own.leaves, self.objects, strict=True):
            if leaf.name not in self.own.written or not isinstance(obj, np.ndarray):
                continue
            if not obj.flags.forc and elements_overlap(obj):
                raise LoweringError(
                    f"`{leaf.name}` is written in place and overlaps itself: elements of it share memory",
                    hint="copy it before the tape",
                )
            for other in self.objects:
                if other is not obj and isinstance(other, np.ndarray) and np.may_share_memory(obj, other):
                    raise LoweringError(
                        f"`{leaf.name}` is written in place and shares memory with another array of the block",
                        hint="copy one of them before the tape",
                    )

    @property
    def names(self) -> ObjectNames:
        """The names of live objects."""
        if self.known is None:
            known = ObjectNames(self.plan.order)
            atoms = () if self.left is None else self.own.collector.atoms
            known.take(self.own, self.objects, atoms, self.left or ())
            # whole, as other threads see it
            self.known = known
        return self.known

    # the end of the block

    def name_left_objects(self, frame: Any) -> None:
        """Give every object that the block leaves behind its name in the residual program."""
        if frame is None or frame.f_code is not self.code:
            frame = self._own_frame(frame)
        plan = self.own
        if plan.raised or plan.endless:
            raise LoweringError(
                "the tape's block went on where the program that was read from its source raises an exception",
                getattr(plan.block[-1], "span", None) if plan.block else None,
                hint="compute what raises before the tape",
            )
        if plan.uses and self.known is None and frame is not None:
            if plan.collector is UNMADE:
                plan.collector = collector_for(plan)
            if plan.collector is not None:
                variables = frame.f_locals
                self.left = plan.collector.collect(variables, self.objects, self.holders)
                forget_variables(frame, variables)
                if self.left is not None:
                    # names are found when they are asked for
                    self.holders = ()
                    return
        if plan.escapes:
            self.unnamed = "the target was handed out of the tape's block without a name"
            if frame is not None:
                _catch_return(frame, self)
        self._harvest(frame, plan)
        self.holders = ()

    def returned(self, value: Any) -> None:
        """What the block returned."""
        if self.own.result is not None:
            self.names.name_objects(self.own.result, value, self.own.heap, self.mapping)
            self.unnamed = ""

    def broken(self, frame: Any, trace: Any, error: BaseException) -> None:
        """The block ended by an exception: what it did before counts."""
        frame = self._own_frame(frame)
        plan = self.own
        if plan.raised:
            self._harvest(frame, plan)
            return
        while trace is not None and frame is not None and trace.tb_frame is not frame:
            trace = trace.tb_next
        line = trace.tb_lineno if trace is not None else 0
        mark = next((mark for mark in plan.marks if line in mark.lines), None)
        if mark is None or self.plan is not plan:
            raise LoweringError(
                f"the tape's block ended by {type(error).__name__} where its state is not known",
                hint="catch the exception outside the tape's block",
            )
        if not mark.simple:
            self.unnamed = f"the tape's block ended by {type(error).__name__} in line {line}, which may have made it"
        self.plan = self.own = plan.up_to(mark)
        self.names.order = self.plan.order
        self._harvest(frame, self.own)

    def paused(self, frame: Any) -> Recording:
        """What has been recorded so far, for a gradient while recording is stopped."""
        frame = self._own_frame(frame)
        plan = self.own
        if frame is None or self.plan is not plan or self.pauses >= len(plan.pauses):
            raise LoweringError(
                "a gradient inside `stop_recording`, where the state of the block is not known",
                hint="ask for it after the tape's block",
            )
        made = copy.copy(self)
        made.plan = made.own = plan.up_to(plan.pauses[self.pauses])
        self.pauses += 1
        made.known = self.names.copied(made.plan.order)
        made._harvest(frame, made.own)
        return made

    def _own_frame(self, frame: Any) -> Any:
        """The frame that entered the block, at or behind `frame`."""
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back
        return frame

    def _harvest(self, frame: Any, plan: TapePlan) -> None:
        variables = {} if frame is None else frame.f_locals
        module = {} if frame is None else frame.f_globals
        names = self.names
        for name, value in plan.final.items():
            found = variables.get(name, module.get(name, _UNSET))
            if found is not _UNSET:
                names.name_objects(value, found, plan.heap, self.mapping)
        if frame is not None:
            forget_variables(frame, variables)
        held = {slot: obj for (slot, _), obj in zip(self.entered.lists, self.holders, strict=True)}
        for slot, contents in plan.lists:
            names.name_objects(contents, held[slot], plan.heap, self.mapping)

    def tracked(self) -> frozenset[int]:
        """The objects that depend on watched ones."""
        names = tracked(request_of(self.plan, (), ()))
        copies = self.plan.copies
        return frozenset(
            key
            for key, meant in self.names.of.items()
            if any(isinstance(atom, Name) and latest(copies, atom.id) in names for atom in atoms_of(meant))
        )


def _catch_return(frame: Any, recording: Recording) -> None:
    """Tell the recording what its block returns, if that is how the block ends."""
    lines = recording.own.lines
    if sys.getprofile() is not None:
        # somebody else watches the calls of this thread
        return

    def watch(running: Any, event: str, value: Any) -> None:
        if running is frame and event == "return":
            sys.setprofile(None)
            if running.f_lineno in lines:
                recording.returned(value)

    sys.setprofile(watch)
