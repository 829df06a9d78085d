"""A tape as lowered code sees it: what it records, what it watches, and its gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tapec.errors import LoweringError, UnknownKeyword, UsageError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import (
    NONE,
    Complex,
    Dct,
    Func,
    Instance,
    Items,
    Lst,
    Record,
    Static,
    Sym,
    Tup,
    Value,
    describe,
)
from tapec.frontend.operations.complex_arithmetic import parts
from tapec.frontend.structures import dicts
from tapec.frontend.structures.sparse_matrices import is_sparse
from tapec.options import Keywords
from tapec.syntax.core import Assign, Block, Name, Op, Store, reads, walk, writes, written_in
from tapec.tape.block.gradients_in_block import answer
from tapec.tape.block.merged_objects import Meetings
from tapec.tape.block.watched_copies import duplicate, held_values, list_elements, original, replace_everywhere
from tapec.tape.derivatives.block_derivative import GradientRequest, connections
from tapec.tape.derivatives.branch_connectivity import depends_on_the_way, straightened
from tapec.tape.objects.class_lookup import check_constructor
from tapec.tape.objects.live_objects import LiveObjects
from tapec.tape.objects.variable_versions import VariablePair, VariableSym
from tapec_runtime.variables import Variable


class Ended(Exception):
    """The block of a tape that was entered by hand ends here."""

    def __init__(self, region: TapeRegion) -> None:
        self.region = region
        super().__init__()


class TapeRegion:
    """One tape in the code being lowered; its methods are called by name from that code.

    kind         the class of the tape
    start, end   the recorded statements of `block`
    watched      names that are watched, in order
    inherited    those that are so because an earlier block recorded them
    stopped      copies behind which this tape sees constants
    native       whether this is the tape whose block is lowered
    pauses       the state where it is asked for gradients while it is stopped; `mark` makes one
    """

    def __init__(self, persistent: bool = False, automatic: bool = True, kind: type | None = None) -> None:
        self.kind = kind
        self.persistent = persistent
        self.automatic = automatic
        self.block: list[Any] = []
        self.start = 0
        self.end: int | None = None
        self.entered = False
        self.paused = False
        self.used = False
        self.watched: dict[str, None] = {}
        self.inherited: set[str] = set()
        self.stopped: set[str] = set()
        self.variables: dict[int, None] = {}
        self.was_reset = False
        self.paused_at = 0
        self.native = False
        # whether no other tape of a compiled function can be asked about what this one records
        self.alone = False
        self.pauses: list[Any] = []
        self.mark: Callable[[], Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            return _Bound(self, name)
        raise AttributeError(name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The tape's class, for `isinstance`."""
        return self.kind or TapeRegion

    def __tapec_has__(self, name: str) -> bool:
        """Whether the tape has an attribute."""
        return hasattr(self.kind() if self.kind is not None else self, name)

    def as_watched(self, watched: tuple[str, ...]) -> TapeRegion:
        """This tape as it was when it watched these names."""
        made = TapeRegion(self.persistent, self.automatic, self.kind)
        made.watched, made.inherited, made.stopped = dict.fromkeys(watched), self.inherited, self.stopped
        return made

    # entering and leaving

    def begin(self, ev: Evaluator) -> None:
        self.block, self.start, self.end, self.entered = ev.block, len(ev.block), None, True
        if isinstance(ev.live, LiveObjects):
            self.alone = not ev.live.overlays and not self.persistent
            self.alone = self.alone and all(one.used and not one.persistent for one in ev.live.begun)
            for other in ev.live.scopes:
                other.alone = False
            ev.live.begun.append(self)
            ev.live.scopes.append(self)

    def finish(self, ev: Evaluator) -> None:
        if ev.block is self.block:
            self.end = len(self.block)
        else:
            # a branch that never goes on was left: the rest stands inside the other one
            self.end = -1
        if isinstance(ev.live, LiveObjects) and self in ev.live.scopes:
            ev.live.scopes.remove(self)

    def __tapec_enter__(self, ev: Evaluator, node: Any) -> None:
        if not self.entered:
            self.begin(ev)
            return
        if self.end is None:
            ev.fails(ValueError, "a tape is entered while it is recording", node, refusal=UsageError)
        if self.end == -1 or ev.block is not self.block:
            ev.fail(LoweringError, "a tape is entered again inside another branch or loop", node)
        # recording goes on; what was computed since it was left is constant
        left, self.end = self.end, None
        if isinstance(ev.live, LiveObjects):
            ev.live.scopes.append(self)
        self.leave_out(ev, left, node)

    def leave_out(self, ev: Evaluator, place: int, node: Any) -> None:
        """What was computed since `place` is constant for this tape."""
        inside = freeze(self.block[place:])
        defined = written_in(inside)
        for stmt in walk(inside):
            if isinstance(stmt, Store) and not ev.roots.get(stmt.array, frozenset()) <= defined:
                ev.fail(LoweringError, "an array is written in place while recording is stopped", node)
        for name in _chosen(inside, defined):
            known = name in self.watched or self._is_of_variable(ev, name)
            if known or (ev.types[name].is_float and self._is_tracked(ev, name, node)):
                ev.fail(
                    LoweringError,
                    "a branch or loop chooses a recorded value while recording is stopped",
                    node,
                    reason="behind it, one way leaves the recorded value, and another a constant",
                    hint="choose it before recording is stopped",
                )
        self.stop(ev, defined - set(self.watched), node)

    def _is_of_variable(self, ev: Evaluator, name: str) -> bool:
        """Whether a value is that of a variable whose reads are recorded."""
        versions = ev.live.versions.values() if isinstance(ev.live, LiveObjects) else ()
        return any(name in names and self._records(variable) for variable, names in versions)

    def _records(self, variable: Variable) -> bool:
        return self.automatic and variable.trainable or id(variable) in self.variables

    def __tapec_exit__(self, ev: Evaluator, node: Any) -> None:
        self.finish(ev)

    @property
    def recording(self) -> bool:
        return self.entered and self.end is None and not self.paused

    def recorded(self) -> Block:
        return freeze(self.block[self.start : self.paused_at if self.paused else self.end])

    def behind(self) -> list[Any]:
        """What has been written since recording ended, or was stopped."""
        if self.paused:
            return self.block[self.paused_at :]
        return [] if self.end is None else self.block[self.end :]

    # watching

    def read(self, variable: Variable, current: Sym | Complex) -> None:
        """A variable was read: watched if it is trainable, or if the block has watched it, whatever it is assigned."""
        if not self.recording or not self._records(variable):
            return
        self.variables[id(variable)] = None
        for part in parts(current):
            if isinstance(part.atom, Name):
                self.watched.setdefault(part.atom.id, None)

    def watch_all(self, ev: Evaluator, value: Value, node: Any) -> None:
        """Watch a value, or every value in a structure."""
        match value:
            case VariableSym() | VariablePair():
                self.variables[id(value.variable)] = None
                assert isinstance(ev.live, LiveObjects)
                for part in parts(ev.live.version(value.cell)):
                    self._watch_number(ev, part, node)
            case Sym(type=type_) if type_.is_float:
                self._watch_number(ev, value, node)
            case Complex(re=re, im=im):
                for one in (re, im):
                    self._watch_number(ev, one, node)
            case Sym():
                pass
            case Tup(items=items):
                for item in items:
                    self.watch_all(ev, item, node)
            case Record() if is_sparse(value):
                self.watch_all(ev, value.items[0], node)
            case Lst():
                contents = ev.heap[value]
                for item in contents.values if isinstance(contents, Items) else (contents.buffer,):
                    self.watch_all(ev, item, node)
            case Dct():
                for key in dicts.keys_of(ev, value, node):
                    self.watch_all(ev, dicts.get(ev, value, key, node), node)
            case Static(obj=dict() as obj):
                for key in obj:
                    self.watch_all(ev, ev.wrap(obj[key], None, ("item", obj, key)), node)
            case Static() | Func() | Instance():
                ev.fail(UsageError, f"only numbers, arrays and variables can be watched, not {describe(value)}", node)
            case _:
                ev.fail(LoweringError, f"{describe(value)} cannot be watched", node)

    def _watch_number(self, ev: Evaluator, value: Sym, node: Any) -> None:
        name = value.atom.id if isinstance(value.atom, Name) else ""
        if name in self.watched:
            self.inherited.discard(name)
            return
        self._check_place(ev, node)
        self._check_merged(ev, name, node)
        if ev.list_memory and name in list_elements(ev, freeze(ev.root)):
            ev.fail(
                LoweringError,
                "a watch of an element of a list that a loop or branch fills",
                node,
                hint="watch it where it is computed",
            )
        in_pause = self.paused and self._made_in_pause(name)
        if name and not in_pause and self._is_tracked(ev, name, node):
            return
        inside = [stmt for stmt in walk(self.recorded())]
        if name and not in_pause and not any(name in writes(s) or name in reads(s) for s in inside):
            self.watched[name] = None
            return
        copied = duplicate(ev, value)
        assert isinstance(copied.atom, Name)
        if in_pause:
            self.stopped.add(copied.atom.id)
        if name:
            ev.copies[copied.atom.id] = name
            replace_everywhere(ev, {name: copied})
        else:
            self._replace_literal(ev, value, copied, node)
        self.watched[copied.atom.id] = None

    def _made_in_pause(self, name: str) -> bool:
        inside = walk(freeze(self.block[self.paused_at :]))
        return any(name in writes(stmt) for stmt in inside)

    def _check_place(self, ev: Evaluator, node: Any) -> None:
        """Inside a branch or loop a watch would hold on some ways only."""
        if ev.block is not self.block:
            ev.fail(LoweringError, "a watch inside a branch or loop", node, hint="watch the value before it")

    def _is_tracked(self, ev: Evaluator, name: str, node: Any) -> bool:
        """Whether a value was computed from watched ones, so that all its uses are recorded anyway."""
        request = GradientRequest(
            straightened(self.recorded()),
            ev.types,
            frozenset(),
            (Name(name),),
            (tuple(self.watched),),
            frozenset(self.watched),
            frozenset(self.stopped),
        )
        if depends_on_the_way(request):
            ev.fail(
                LoweringError,
                "a watch of a value that a branch has or has not computed from watched ones",
                node,
                hint="watch it before the branch, or what it is computed from",
            )
        return connections(request)[0]

    def _check_merged(self, ev: Evaluator, name: str, node: Any) -> None:
        """Behind a branch or loop a variable may still be another value that is known by itself."""
        known = {value.atom.id for value in held_values(ev) if isinstance(value.atom, Name)}
        if isinstance(ev.live, LiveObjects):
            known |= {leaf.name for leaf in ev.live.leaves}
        # a reset gives values other names, which say nothing of what a loop has done before
        name, known = original(ev.copies, name), {original(ev.copies, one) for one in known}
        meetings = Meetings(freeze(ev.root))
        if any(one != name and meetings.may_be(name, one) for one in sorted(known)):
            ev.fail(
                LoweringError,
                "a watch of a variable that a branch or loop may have left as another value",
                node,
                hint="watch it before, or give it a value of its own, for example by adding zero",
            )

    def _replace_literal(self, ev: Evaluator, value: Sym, copied: Sym, node: Any) -> None:
        """A literal has no identity but that of the one variable that holds it."""
        holders = [key for key, held in ev.frame.env.items() if held == value]
        if len(holders) != 1:
            ev.fail(
                LoweringError,
                f"the number {value.constant!r} is not told apart from others of the same value",
                node,
                hint="make it with tapec.constant",
            )
        ev.frame.env[holders[0]] = copied

    # pausing

    def pause(self, ev: Evaluator, node: Any) -> Static:
        return Static(_Stop(self))

    def restart(self, ev: Evaluator, node: Any) -> None:
        """Everything so far becomes constant for this tape."""
        if not self.recording:
            ev.fail(LoweringError, "reset of a tape that is not recording", node)
        defined = written_in(self.recorded())
        self.stop(ev, defined | set(self.watched), node)
        self.watched.clear()
        self.variables.clear()
        self.was_reset = True

    def stop(self, ev: Evaluator, names: set[str], node: Any) -> None:
        """Make the values of these names constant from here on, for this tape alone."""
        if ev.block is not self.block:
            ev.fail(LoweringError, "a tape is stopped or reset inside a branch or loop", node)
        held: dict[str, Sym] = {}
        for value in held_values(ev):
            if isinstance(value.atom, Name) and value.atom.id in names and value.type.is_float:
                held.setdefault(value.atom.id, value)
        replacements: dict[str, Sym] = {}
        for name, value in held.items():
            copied = duplicate(ev, value)
            assert isinstance(copied.atom, Name)
            self.stopped.add(copied.atom.id)
            ev.copies[copied.atom.id] = name
            replacements[name] = copied
        replace_everywhere(ev, replacements)

    # gradients

    def ask(self, ev: Evaluator, node: Any) -> None:
        """Whether the tape answers where the program is."""
        if self.recording:
            message, hint = "a tape's gradient while it is recording", "ask after the block"
            ev.fails(RuntimeError, message, node, hint, LoweringError)
        if not self.entered:
            ev.fails(RuntimeError, "the gradient of a tape that was never entered", node, refusal=LoweringError)
        if self.used and not self.persistent:
            ev.fails(RuntimeError, "a second gradient of a tape that is not persistent", node, refusal=LoweringError)
        if self.mark is not None:
            self.pauses.append(self.mark())
        if self.end == -1 or ev.block is not self.block:
            ev.fail(
                LoweringError,
                "a gradient inside another branch or loop than the tape's block",
                node,
                hint="ask for it where the tape's block stands",
            )


_METHODS = frozenset(
    {
        "watch", "watched_variables", "gradient", "jacobian", "batch_jacobian", "stop_recording", "reset",
        "__enter__", "__exit__",
    }
)  # fmt: skip


class _Bound:
    """A method of a tape, called in lowered code."""

    def __init__(self, region: TapeRegion, name: str) -> None:
        self.region, self.name = region, name

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        region = self.region
        args = [ev.materialise(arg) for arg in args]
        if self.name == "watch":
            if not region.entered or region.end is not None:
                return NONE
            for value in (*args, *kwargs.values()):
                region.watch_all(ev, value, node)
            return NONE
        if self.name == "reset":
            region.restart(ev, node)
            return NONE
        if self.name == "stop_recording":
            return region.pause(ev, node)
        if self.name == "watched_variables":
            assert isinstance(ev.live, LiveObjects)
            found = sorted((ev.live.symbols[key] for key in region.variables), key=lambda one: one.variable._serial)
            return Tup(tuple(found))
        if self.name == "__enter__":
            region.__tapec_enter__(ev, node)
            return Static(region)
        if self.name == "__exit__":
            region.finish(ev)
            if region.native:
                raise Ended(region)
            return NONE
        return answer(region, self.name, ev, args, kwargs, node)


def _chosen(block: Block, defined: set[str]) -> list[str]:
    """The values from before a block that a branch or loop in it may leave under another name."""
    counts = Counter(name for stmt in walk(block) for name in writes(stmt))
    found: dict[str, None] = {}
    for stmt in walk(block):
        match stmt:
            case Assign(target=target, value=Name(id=name)) if counts[target] > 1 and name not in defined:
                found[name] = None
            case Assign(value=Op(fn="ifelse", args=(_, *sides))):
                found.update({side.id: None for side in sides if isinstance(side, Name) and side.id not in defined})
    return [*found]


class _Stop:
    """The context that `stop_recording()` gives."""

    def __init__(self, region: TapeRegion) -> None:
        self.region = region
        self.place = 0

    def __tapec_enter__(self, ev: Evaluator, node: Any) -> None:
        if not self.region.recording:
            ev.fail(LoweringError, "stop_recording of a tape that is not recording", node)
        self.region.paused = True
        self.place = self.region.paused_at = len(self.region.block)

    def __tapec_exit__(self, ev: Evaluator, node: Any) -> None:
        region = self.region
        region.paused = False
        region.leave_out(ev, self.place, node)


_FLAGS = "persistent", "watch_accessed_variables"


def make_tape(ev: Evaluator, kind: type, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`GradientTape(...)` in lowered code; `kind` is the class."""
    check_constructor(ev, kind, args, kwargs, node)
    unknown = kwargs.keys() - {*_FLAGS, "jit", *Keywords.__annotations__}
    if unknown:
        message = f"GradientTape.__init__() got an unexpected keyword argument {min(unknown)!r}"
        ev.fails(TypeError, message, node, refusal=UnknownKeyword)
    # of the options, those of the tape or function around it count
    kwargs = {key: value for key, value in kwargs.items() if key not in ("jit", *Keywords.__annotations__)}
    given = dict(zip(_FLAGS, args, strict=False)) | kwargs
    flags: dict[str, bool] = {}
    for key, value in given.items():
        known = value.constant if isinstance(value, Sym) else None
        if not isinstance(known, bool):
            ev.fail(LoweringError, f"`{key}` of a tape must be True or False", node)
        flags[key] = known
    return Static(TapeRegion(flags.get("persistent", False), flags.get("watch_accessed_variables", True), kind))
