"""Plans: the residual program of a tape's block, kept per place for as long as the structure fits."""

from __future__ import annotations

import threading
import types
from dataclasses import dataclass, field
from typing import Any

import gast

from tapec.errors import LoweringError, TapecError
from tapec.frontend.evaluator import DeadCode, Evaluator, Frame, freeze
from tapec.frontend.exits import tail_exits
from tapec.frontend.liveness import Liveness, assigned
from tapec.frontend.lower import new_evaluator
from tapec.frontend.values import Items, Lst, Maybe, Static, Sym, Tup, Value
from tapec.syntax.core import Atom, Block, Const, If, Name, Raise, Stmt, Store, walk, writes
from tapec.tape import place as places
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
    shared     (slot, list) for lists whose contents the block may change
    block      the residual program; `ev` knows types, constants and what names stand for
    final      what the block's variables hold at its end
    lists      the contents of the lists at the block's end
    escapes    whether the block hands a value out that no variable holds
    """

    enter: Any
    leaves: tuple[Leaf, ...]
    block: Block
    ev: Evaluator
    live: LiveObjects
    region: Region
    final: dict[str, Value]
    lists: list[tuple[Any, Any]]
    escapes: bool
    written: frozenset[str]
    uses: int = 0
    compiled: dict[Any, Compiled] = field(default_factory=dict)


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
            plan = _attempt(frame, place, tape, shared)
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
        return plan, tuple(leaf.obj for leaf in plan.leaves), tuple(obj for obj, _, _ in plan.live.lists)
    raise LoweringError("the tape's block reaches too much mutable structure below its loops and branches")


def _as_lowering(error: TapecError) -> LoweringError:
    if isinstance(error, LoweringError):
        return error
    return LoweringError(error.message, error.span, error.reason, error.hint)


def _attempt(frame: types.FrameType, place: places.Place, tape: Any, shared: Shared) -> Plan:
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
    final = {name: inner.env[name] for name in sorted(names) if name in inner.env}
    lists = [(slot, ev.heap.get(made)) for _, slot, made in live.lists]
    enter = None
    if live.recipe.complete:
        enter = live.recipe.finish([leaf.slot for leaf in live.leaves], [slot for slot, _ in lists])
    roots = {name for stmt in walk(block) if isinstance(stmt, Store) for name in ev.roots.get(stmt.array, ())}
    return Plan(enter, tuple(live.leaves), block, ev, live, region, final, lists, escapes, frozenset(roots))


def _resolver(ev: Evaluator, shared: Shared, frame: types.FrameType) -> Any:
    def find(ident: str) -> Value | None:
        node = gast.Name(ident, gast.Load(), None, None)
        if shared.globals is None and ident in shared.variables:
            return ev.wrap(shared.variables[ident], node, ("name", ident))
        if ident in frame.f_globals:
            return ev.wrap(frame.f_globals[ident], node, ("module", ident))
        return None

    return find


def straightened(block: Block) -> Block:
    """What follows a branch that never goes on stands behind it, not inside the other branch."""
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, If) and stmt.orelse and _raises(stmt.body):
            out += [If(stmt.test, stmt.body, (), stmt.span), *straightened(stmt.orelse)]
        elif isinstance(stmt, If) and stmt.orelse and _raises(stmt.orelse):
            out += [If(stmt.test, (), stmt.orelse, stmt.span), *straightened(stmt.body)]
        else:
            out.append(stmt)
    return tuple(out)


def _raises(block: Block) -> bool:
    return bool(block) and isinstance(block[-1], Raise)


class Names:
    """Live objects to the names of the residual program, by identity.

    An object that was there at entry keeps its first name.  Python shares floats of equal value
    where they are constants: a float with more than one meaning is told apart by nothing.
    """

    def __init__(self) -> None:
        self.of: dict[int, Atom | None] = {}
        self.held: dict[int, Any] = {}
        self.doubtful: set[int] = set()
        self.objects: dict[Atom, int] = {}
        self.twins: set[int] = set()

    def leaf(self, obj: Any, leaf: Leaf) -> None:
        if id(obj) in self.of and not leaf.ident:
            self.doubtful.add(id(obj))
        self.held[id(obj)] = obj
        self.of.setdefault(id(obj), Name(leaf.name))
        self.objects.setdefault(Name(leaf.name), id(obj))

    def note(self, obj: Any, atom: Atom) -> None:
        key = id(obj)
        known = self.of.get(key, atom)
        if isinstance(obj, float) and known != atom and (isinstance(atom, Const) or isinstance(known, Const)):
            self.doubtful.add(key)
        self.held[key] = obj
        self.of.setdefault(key, atom)
        if isinstance(atom, Name) and self.objects.setdefault(atom, key) != key:
            # another object with the same value and history, such as float(x)
            self.twins.add(key)

    def harvest(self, value: Any, obj: Any, heap: dict[Lst, Any]) -> None:
        """Walk a final value and the object that it stands for side by side."""
        match value:
            case Sym():
                self.note(obj, value.atom)
            case Maybe(value=inner):
                self.harvest(inner, obj, heap)
            case Tup(items=items) if isinstance(obj, tuple) and len(obj) == len(items):
                for item, inner_obj in zip(items, obj, strict=True):
                    self.harvest(item, inner_obj, heap)
            case Lst() if isinstance(obj, list) and value in heap:
                self.harvest(heap[value], obj, heap)
            case Items(values=values) if isinstance(obj, list) and len(obj) == len(values):
                for item, inner_obj in zip(values, obj, strict=True):
                    self.harvest(item, inner_obj, heap)


def defined_in(block: Block) -> set[str]:
    return {name for stmt in walk(block) for name in writes(stmt)}
