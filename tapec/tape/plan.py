"""Plans: the residual program of a tape's block, kept per place for as long as the structure fits."""

from __future__ import annotations

import threading
import types
from dataclasses import dataclass, field, replace
from typing import Any

import gast

from tapec.errors import LoweringError, TapecError
from tapec.frontend.evaluator import DeadCode, Evaluator, Frame, freeze
from tapec.frontend.exits import tail_exits
from tapec.frontend.liveness import Liveness, assigned
from tapec.frontend.lower import new_evaluator
from tapec.frontend.values import NONE, Growing, Items, Lst, Maybe, Static, Sym, Tup, Value
from tapec.syntax.core import Block, Function, If, Store, walk, writes
from tapec.syntax.types import Type
from tapec.tape import place as places
from tapec.tape.decide import straightened
from tapec.tape.live import Leaf, LiveObjects, Restart, Shared
from tapec.tape.region import Region
from tapec.tape.run import Compiled

_PLANS_PER_PLACE = 64
_RESTARTS = 200


@dataclass
class Plan:
    """A lowered block.

    enter      fetches the leaves again, or gives None where the structure differs
    leaves     the inputs, in order
    block      the residual program, with the types of its names and the arrays that are constant
    copies     names of copies that stand for the same object as another name
    callees    recursive functions that the program calls
    versions   for each variable the names of its versions
    heap       what lists hold at the block's end
    final      what the block's variables hold at its end
    lists      the contents of the lists at the block's end
    escapes    whether the block hands a value out that no variable holds
    written    the memory that the block writes in place
    branching  by targets and sources, whether it depends on the way through the block what is connected
    merged     names that branches set
    ways       the block on each way through its branches, by the values of the tests
    """

    enter: Any
    leaves: tuple[Leaf, ...]
    block: Block
    types: dict[str, Type]
    constants: dict[str, Any]
    copies: dict[str, str]
    callees: tuple[Function, ...]
    versions: tuple[tuple[str, ...], ...]
    region: Region
    heap: dict[Lst, Any]
    final: dict[str, Value]
    lists: list[tuple[Any, Any]]
    escapes: bool
    written: frozenset[str]
    merged: frozenset[str]
    uses: int = 0
    compiled: dict[Any, Compiled] = field(default_factory=dict)
    branching: dict[Any, bool] = field(default_factory=dict)
    ways: dict[tuple[bool, ...], Block] = field(default_factory=dict)


_plans: dict[tuple[types.CodeType, int, bool, bool], list[Plan]] = {}
_lock = threading.RLock()


def plan_for(frame: types.FrameType, tape: Any) -> tuple[Plan, tuple[Any, ...], tuple[Any, ...]]:
    """A plan that fits the frame's state, the leaves, and the lists; lowers the block if there is none."""
    key = (frame.f_code, frame.f_lasti, tape.persistent, tape.automatic)
    variables, module = frame.f_locals, frame.f_globals
    known = _plans.get(key, ())
    for plan in known:
        found = plan.enter(variables, module)
        if found is not None:
            plan.uses += 1
            return plan, found[0], found[1]
    with _lock:
        plan, objects, lists = _lower(frame, tape)
        if plan.enter is not None:
            _plans[key] = [plan, *_plans.get(key, ())][:_PLANS_PER_PLACE]
    return plan, objects, lists


def _lower(frame: types.FrameType, tape: Any) -> tuple[Plan, tuple[Any, ...], tuple[Any, ...]]:
    place = places.find(frame)
    own_module = frame.f_locals is frame.f_globals or frame.f_code.co_name == "<module>"
    shared = Shared(dict(frame.f_locals), frame.f_globals if own_module else None)
    for _ in range(_RESTARTS):
        try:
            found = _attempt(frame, place, tape, shared)
        except Restart as restart:
            shared.preload += restart.chain
            continue
        except TapecError as error:
            if shared.pin:
                raise _as_lowering(error) from error
            # integers as inputs were not enough: they may be structure
            shared.pin = True
            continue
        except (KeyError, AssertionError, AttributeError, RecursionError) as error:
            raise LoweringError("the tape's block cannot be lowered", reason=f"{type(error).__name__}: {error}") from (
                error
            )
        return found
    raise LoweringError("the tape's block reaches too much mutable structure below its loops and branches")


def _as_lowering(error: TapecError) -> LoweringError:
    if isinstance(error, LoweringError):
        return error
    return LoweringError(error.message, error.span, error.reason, error.hint)


def _attempt(
    frame: types.FrameType, place: places.Place, tape: Any, shared: Shared
) -> tuple[Plan, tuple[Any, ...], tuple[Any, ...]]:
    ev = new_evaluator()
    live = LiveObjects(ev, shared)
    region = Region(tape.persistent, tape.automatic)
    live.tapes[id(tape)] = region
    stmts = places.body(place)
    escapes = places.returns_unnamed(stmts)
    tree = tail_exits(stmts)
    names = assigned(tree)
    liveness = Liveness(tree, names)
    needed = liveness.block(tree, names | liveness.always, None) & names
    inner = Frame(place.source, _resolver(ev, shared, frame))
    inner.liveness = liveness
    is_module = shared.globals is not None
    inner.local_names = frozenset() if is_module else names - shared.variables.keys()
    ev.frame = inner
    ev.frames.append(inner)
    ev.span = place.source.span(place.node)
    for name in sorted(needed):
        if name in shared.variables:
            value = inner.names(name)
            if value is not None:
                inner.env[name] = value
        elif not name.startswith("$"):
            live.recipe.absent(name, is_module)
    target = place.node.items[place.item].optional_vars
    if isinstance(target, gast.Name):
        inner.env[target.id] = Static(region)
    region.begin(ev)
    try:
        ev.statements(tree)
    except DeadCode:
        ev.dead = True
    region.finish(ev)
    block = straightened(freeze(ev.root))
    final = {name: numbers_of(inner.env[name]) for name in sorted(names) if name in inner.env}
    lists = [(slot, numbers_of(ev.heap.get(made))) for _, slot, made in live.lists]
    enter = None
    if live.recipe.complete:
        enter = live.recipe.finish([leaf.slot for leaf in live.leaves], [slot for slot, _ in lists])
    written = frozenset(
        name for stmt in walk(block) if isinstance(stmt, Store) for name in ev.roots.get(stmt.array, ())
    )
    live.check_writes(written)
    live.check_callees()
    plan = Plan(
        enter,
        tuple(replace(leaf, obj=None) for leaf in live.leaves),
        block,
        ev.types,
        ev.constants,
        ev.copies,
        tuple(c.function for c in ev.callees.known.values() if c.function is not None),
        tuple(tuple(names) for _, names in live.versions.values()),
        region,
        {made: numbers_of(contents) for made, contents in ev.heap.items()},
        final,
        lists,
        escapes,
        written,
        _merged(block),
    )
    region.block = []
    # the plan outlives the objects of this run: it keeps names, not objects
    result = plan, tuple(leaf.obj for leaf in live.leaves), tuple(obj for obj, _, _ in live.lists)
    live.release()
    return result


def _resolver(ev: Evaluator, shared: Shared, frame: types.FrameType) -> Any:
    def find(ident: str) -> Value | None:
        node = gast.Name(ident, gast.Load(), None, None)
        if shared.globals is None and ident in shared.variables:
            return ev.wrap(shared.variables[ident], node, ("name", ident))
        if ident in frame.f_globals:
            return ev.wrap(frame.f_globals[ident], node, ("module", ident))
        return None

    return find


def _merged(block: Block) -> frozenset[str]:
    branches = [stmt for stmt in walk(block) if isinstance(stmt, If)]
    return frozenset(name for branch in branches for stmt in walk((branch,)) for name in writes(stmt))


def numbers_of(value: Any) -> Any:
    """A value with nothing but its numbers and arrays: what else it holds is let go."""
    match value:
        case Sym():
            return Sym(value.atom, value.type)
        case Maybe(value=inner, flag=flag, name=name):
            return Maybe(numbers_of(inner), flag, name)
        case Tup(items=items, cls=cls):
            return Tup(tuple(numbers_of(item) for item in items), cls)
        case Items(values=values):
            return Items(tuple(numbers_of(item) for item in values))
        case Lst() | Growing():
            return value
    return NONE
