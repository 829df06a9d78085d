"""Plans: the residual program of a tape's block, kept per place for as long as the structure fits."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tapec.frontend.evaluator.values import Lst, Value
from tapec.options import Options
from tapec.syntax.core import Atom, Block, Function, If, Name, walk, writes, written_in
from tapec.syntax.types import Type
from tapec.tape.block.tape_region import TapeRegion
from tapec.tape.block.watched_copies import canonical, versions_for
from tapec.tape.derivatives.recomputed_values import Again
from tapec.tape.objects.block_inputs import InputLeaf
from tapec.tape.objects.plan_guards import taking
from tapec.tape.objects.snapshots import snapshot
from tapec.tape.plan.plan_checks import CaughtChecks, Checks, RunExtents, SameExtents
from tapec.tape.run.compiled_derivative import CompiledDerivative
from tapec_runtime.locking import compiler_lock

Made = TypeVar("Made", bound=CompiledDerivative | None)

PLANS_PER_PLACE = 64
UNMADE = object()

Found = tuple["TapePlan", tuple[Any, ...], tuple[Any, ...]]
# what an object means in the program: a name or literal, or those of both parts of what is complex
AtomOrPair = Atom | tuple[Atom, Atom]


@dataclass(frozen=True)
class Mark:
    """A point inside the block where it may end, or where a gradient is asked for.

    lines    the lines of the statement that comes next
    length   how much of the residual program comes before it
    final    what the block's variables hold there
    heap     what lists hold there
    lists    the contents of the live lists there
    watched  what the tape watches there
    silent   what has been computed since recording was stopped
    simple   whether the statement that comes next can bind nothing if it raises
    """

    lines: range
    length: int
    final: dict[str, Value]
    heap: dict[Lst, Any]
    lists: list[tuple[Any, Any]]
    watched: tuple[str, ...]
    silent: frozenset[str]
    simple: bool


@dataclass
class TapePlan:
    """A lowered block.

    enter      fetches the leaves again, or gives None where the structure differs
    checks     tells where a decision falls another way than when the block was lowered
    leaves     the inputs, in order
    block      the residual program, with the types of its names and the arrays that are constant
    copies     names of copies that stand for the same object as another name
    callees    recursive functions that the program calls
    versions   for each variable the names of its versions
    heap       what lists hold at the block's end
    final      what the block's variables hold at its end
    lists      the contents of the live lists at the block's end
    collector  how what the block leaves is collected where every object is one value; None if it cannot be
    answers    functions that answer a gradient like one that was asked for; `unknown` counts questions
               that they cannot be made for
    result     what the block returns; None if it returns nothing or a value that a variable holds
    escapes    whether the block hands out values that no variable holds
    marks      where the block may end early, by its statements
    pauses     where gradients are asked for while recording is stopped, in order
    written    the memory that the block writes in place
    raised     whether the block ends by an exception that the program foresees; `endless` whether it never ends
               otherwise than by one, though which one is told when it runs
    lines      the lines of the block
    options    those of the tape
    silent     what is computed while recording is stopped, where the block's end is a question in such a pause
    recomputed names that the derivative of an inner tape computes once more; see recomputed_values.py
    entry      what variables from outside hold, by name, and attributes of objects that they hold, as `name.attribute`
    gathers    names for arrays of which rows are taken: the rows, and their numbers
    branching  by targets and sources, whether it depends on the way through the block what is connected
    merged     names that branches set
    ways       the block on each way through its branches, by the values of the tests
    """

    enter: Any
    checks: Checks | CaughtChecks | SameExtents | RunExtents | None
    leaves: tuple[InputLeaf, ...]
    block: Block
    types: dict[str, Type]
    constants: dict[str, Any]
    copies: dict[str, str]
    callees: tuple[Function, ...]
    versions: tuple[tuple[str, ...], ...]
    region: TapeRegion
    heap: dict[Lst, Any]
    final: dict[str, Value]
    lists: list[tuple[Any, Any]]
    result: Value | None
    escapes: bool
    marks: tuple[Mark, ...]
    pauses: tuple[Mark, ...]
    written: frozenset[str]
    raised: bool
    endless: bool
    lines: range
    recomputed: Again
    entry: dict[str, Value]
    gathers: dict[str, tuple[str, str]]
    options: Options
    silent: frozenset[str] = frozenset()
    uses: int = 0
    compiled: dict[Any, Any] = field(default_factory=dict)
    branching: dict[Any, bool] = field(default_factory=dict)
    ways: dict[tuple[bool, ...], Block] = field(default_factory=dict)
    parts: dict[int, TapePlan] = field(default_factory=dict)
    calls: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.merged = merged(self.block)
        self.leaf_names = tuple(leaf.name for leaf in self.leaves)
        self.leaf_atoms = leaf_atoms(self.leaves)
        # made when the block is met again
        self.collector: Any = UNMADE
        self.answers: tuple[Any, ...] = ()
        self.unknown = 0
        # why values that it leaves in places which loops and branches fill cannot be followed
        self.undecided = ""
        self._take: Any = None
        self.taken_rows: dict[tuple[str, ...], Any] = {}
        self._known: dict[str, str] = {}
        self.as_source: dict[str, tuple[str, ...]] = {}
        self.order = {
            name: place for place, name in enumerate(n for stmt in walk(self.block) for n in writes(stmt))
        }

    def take(self, objects: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values of the inputs, from the objects that are the inputs."""
        if self._take is None:
            if not self.uses:
                return tuple(snapshot(obj, leaf.part) for obj, leaf in zip(objects, self.leaves, strict=True))
            self._take = taking([(leaf.is_variable, self.types[leaf.name], leaf.part) for leaf in self.leaves])
        values: tuple[Any, ...] = self._take(objects)
        return values

    def program(self, key: Any, make: Callable[[], Made]) -> Made:
        """A program that is derived from this one, or None where there is none: made by the first who asks."""
        if key not in self.compiled:
            with compiler_lock:
                # another thread may have been here
                if key not in self.compiled:
                    self.compiled[key] = make()
        made: Made = self.compiled[key]
        return made

    def known_as(self, name: str) -> str:
        """The name that the tape knows a value by; see `canonical`."""
        if name not in self._known:
            self._known[name] = canonical(self.copies, name, self.region.watched)
        return self._known[name]

    def versions_of(self, first: str) -> tuple[str, ...]:
        """The names of the versions of the variable whose first one this is."""
        names = next((names for names in self.versions if names and names[0] == first), ())
        return versions_for(names, self.copies, self.region.watched, self.region.stopped)

    def up_to(self, mark: Mark) -> TapePlan:
        """The plan of the block as far as `mark`."""
        key = id(mark)
        if key not in self.parts:
            block = self.block[: mark.length]
            region = self.region.as_watched(mark.watched)
            defined = written_in(block) | {leaf.name for leaf in self.leaves}
            versions = tuple(tuple(v for v in names if v in defined) for names in self.versions)
            self.parts[key] = replace(
                self, block=block, region=region, final=mark.final, heap=mark.heap, lists=mark.lists,
                versions=versions, silent=mark.silent, result=None, escapes=False,
                compiled={}, branching={}, ways={}, parts={}, calls={},
            )
        return self.parts[key]


# by the place where a tape is entered and its kind, latest first; equal code is one place
_plans: dict[tuple[types.CodeType, int, Any], list[TapePlan]] = {}
# the same by the identity of the code, whose hash takes as long as the rest of entering a tape;
# the code is held, so that nothing else gets its identity
_ready: dict[tuple[int, int, Any], tuple[types.CodeType, list[TapePlan]]] = {}
_PLACES = 4096
# what a warning was given for
_crowded: set[tuple[str, int]] = set()


def known_plan(frame: types.FrameType, kind: Any, variables: Any) -> Found | None:
    """A plan that fits the frame's state, the leaves, and the live lists; None if there is none."""
    code = frame.f_code
    place = _ready.get((id(code), frame.f_lasti, kind))
    if place is None:
        plans = _plans.get((code, frame.f_lasti, kind))
        if plans is None:
            return None
        if len(_ready) > _PLACES:
            _ready.clear()
        place = _ready[id(code), frame.f_lasti, kind] = code, plans
    for plan in place[1]:
        found = plan.enter(variables, frame.f_globals)
        if found is not None and (plan.checks is None or plan.checks.hold(plan.leaves, found[0])):
            plan.uses += 1
            return plan, found[0], found[1]
    return None


def keep_plan(plan: TapePlan, frame: types.FrameType, kind: Any) -> None:
    """Make a plan the first that is tried at its place.  Other threads may be trying those that are there."""
    plans = _plans.setdefault((frame.f_code, frame.f_lasti, kind), [])
    plans.insert(0, plan)
    if len(plans) > PLANS_PER_PLACE:
        del plans[PLANS_PER_PLACE:]
        warn_of_many("the block of this tape", frame.f_code, frame.f_lineno, PLANS_PER_PLACE)


def warn_of_many(what: str, code: types.CodeType, line: int, count: int) -> None:
    """Say once per place that something is read again and again, which takes milliseconds each time."""
    place = code.co_filename, line
    if place in _crowded:
        return
    _crowded.add(place)
    warnings.warn_explicit(
        f"tapec has read {what} in more than {count} ways, and reads it anew wherever it goes another way: structure"
        " (lengths, keys, types, strings, numbers that decide about structure) or decisions differ from run to run",
        RuntimeWarning,
        *place,
    )


def leaf_atoms(leaves: tuple[InputLeaf, ...]) -> tuple[AtomOrPair | None, ...]:
    """What the objects of the inputs mean; None for the second input of a complex one."""
    found: list[AtomOrPair | None] = [Name(leaf.name) for leaf in leaves]
    for place, leaf in enumerate(leaves):
        if leaf.part == "imag":
            found[place - 1 : place + 1] = [(Name(leaves[place - 1].name), Name(leaf.name)), None]
    return tuple(found)


def merged(block: Block) -> frozenset[str]:
    """The names that branches set."""
    branches = [stmt for stmt in walk(block) if isinstance(stmt, If)]
    return frozenset(name for branch in branches for stmt in walk((branch,)) for name in writes(stmt))
