"""Lower the block of a tape over the objects that are alive when it is entered.

Three attempts, each knowing more of the run: integers are inputs; integers are structure; every
branch is decided and every loop unrolled, so that the program is the very run.
"""

from __future__ import annotations

import types
from dataclasses import replace
from typing import Any

import gast

from tapec.errors import LoweringError, TapecError
from tapec.frontend.arrays.copies_of_views import refuse_shared
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode, Frame, Raised
from tapec.frontend.evaluator.unfinished_blocks import freeze, length_of
from tapec.frontend.evaluator.values import (
    NONE,
    Complex,
    Dct,
    Growing,
    Instance,
    Items,
    Lazy,
    Lst,
    Maybe,
    MaybeNone,
    Poison,
    Record,
    Static,
    Sym,
    Tup,
    Unseen,
    Value,
)
from tapec.frontend.full_evaluator import FullEvaluator
from tapec.frontend.iteration.coroutines import close
from tapec.frontend.source.source_liveness import SourceLiveness, assigned
from tapec.frontend.source.tail_exits import DONE, LEFT, RETURN, tail_exits
from tapec.optimise import prepare
from tapec.syntax.core import For, Loop, Name, Store, walk, written_in
from tapec.tape.block import with_statement as places
from tapec.tape.block.merged_objects import check_claims
from tapec.tape.block.tape_region import Ended, TapeRegion
from tapec.tape.derivatives.block_derivative import other_name
from tapec.tape.derivatives.branch_connectivity import straightened
from tapec.tape.objects.block_inputs import Restart, Shared
from tapec.tape.objects.live_objects import LiveObjects
from tapec.tape.objects.variable_versions import VariablePair, VariableSym, keys_of
from tapec.tape.plan.plan_checks import RunExtents, SameExtents, plan_checks
from tapec.tape.plan.tape_plan import Found, Mark, TapePlan, keep_plan, known_plan
from tapec.tape.run.branch_decisions import Decisions, warn_of_iterations
from tapec_runtime.locking import compiling

_no_cells = types.SimpleNamespace(co_freevars=())
_RESTARTS = 200
_UNROLLED = 4000


@compiling
def plan_for(frame: types.FrameType, tape: Any) -> Found:
    """A plan that fits the frame's state, the leaves, and the live lists; lowers the block if there is none."""
    if tape.known_values() or tape.watched_variables():
        # entered again: what it tracks is part of the program
        return lower_block(frame, tape)
    # another thread may have been here
    variables = frame.f_locals
    found = known_plan(frame, tape.kind, variables)
    places.forget_variables(frame, variables)
    if found is not None:
        return found
    found = lower_block(frame, tape)
    if found[0].enter is not None:
        keep_plan(found[0], frame, tape.kind)
    return found


def lower_block(frame: types.FrameType, tape: Any) -> Found:
    """A plan for the block that `frame` enters, its leaves and its live lists; raises LoweringError."""
    place = places.find(frame)
    known = tape.known_values()
    cells = frozenset((*frame.f_code.co_cellvars, *frame.f_code.co_freevars))
    own_module = frame.f_locals is frame.f_globals or frame.f_code.co_name == "<module>"
    variables = dict(frame.f_locals)
    module = frame.f_globals if own_module else None
    for pin in (False, True):
        try:
            shared = Shared(dict(variables), module, pin=pin, tracked=known, cell_names=cells)
            found = _restarted(frame, place, tape, shared)
        except TapecError:
            # the numbers of the run may be needed
            continue
        if not _keeps_identity(found[0]):
            break
        return found
    else:
        found = None
    try:
        shared = Shared(dict(variables), module, pin=True, decide=True, tracked=known, cell_names=cells)
        decided = _restarted(frame, place, tape, shared)
    except TapecError as error:
        if found is None:
            raise _as_lowering(error) from error.__cause__
        return _undecided(found, f"iteration by iteration the block cannot be read: {error.message}")
    length = len(decided[0].block)
    if found is not None and length > _UNROLLED:
        return _undecided(
            found, f"read iteration by iteration the block has {length} operations, more than {_UNROLLED}"
        )
    return decided


def _undecided(found: Found, why: str) -> Found:
    """A plan for want of a better one: that in which every decision is taken cannot be made for this run."""
    plan, objects, _ = found
    plan.undecided, plan.checks = why, RunExtents.of(objects)
    return found


def _restarted(frame: types.FrameType, place: places.Place, tape: Any, shared: Shared) -> Found:
    for _ in range(_RESTARTS):
        ev = FullEvaluator()
        # what an attempt lets go of, the next one needs
        live = LiveObjects(ev, replace(shared, variables=dict(shared.variables)))
        try:
            return _attempt(ev, live, frame, place, tape, shared)
        except Restart as restart:
            shared.preload += restart.chain
        except (TapecError, RecursionError):
            raise
        except Exception as error:
            # whatever it is, the block itself must run
            raise LoweringError(
                "the tape's block cannot be lowered", reason=f"{type(error).__name__}: {error}"
            ) from error
        finally:
            close(ev)
            live.release()
    raise LoweringError("the tape's block reaches too much mutable structure below its loops and branches")


def _as_lowering(error: TapecError) -> LoweringError:
    if isinstance(error, LoweringError):
        return error
    return LoweringError(error.message, error.span, error.reason, error.hint)


def _attempt(
    ev: Evaluator, live: LiveObjects, frame: types.FrameType, place: places.Place, tape: Any, shared: Shared
) -> Found:
    ev.prepare = prepare if tape.options.fast else None
    ev.decider = Decisions(ev, live) if shared.decide else None
    region = TapeRegion(tape.persistent, tape.automatic, type(tape))
    # those of earlier blocks stay watched, whatever they were or are assigned
    region.variables.update((id(variable), None) for variable in tape.watched_variables())
    live.tapes[id(tape)] = live.own = region
    region.native = True
    live.reach_preloaded()
    stmts = places.body(place)
    tree = tail_exits(stmts)
    names = assigned(tree)
    liveness = SourceLiveness(tree, names)
    needed = liveness.block(tree, names | liveness.always, None) & names
    inner = Frame(place.source, _resolver(ev, shared, frame))
    inner.liveness = liveness
    is_module = shared.globals is not None
    code = frame.f_code
    own_names = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    inner.local_names = frozenset() if is_module else (names & own_names) - shared.variables.keys()
    if not is_module:
        inner.outer = frozenset(name for name in names - own_names if not name.startswith("$"))
        inner.function = types.SimpleNamespace(__code__=_no_cells, __globals__=frame.f_globals)
    ev.frame = inner
    ev.frames.append(inner)
    ev.span = place.source.span(place.node)
    for name in sorted(needed):
        if name in shared.variables:
            value = inner.names(name)
            if value is not None:
                inner.env[name] = value
        elif not name.startswith("$") and name not in inner.outer:
            live.guards.absent(name, is_module)
    places.bind_tape(ev, place, Static(region))
    marks: list[Mark] = []
    raised = left = False
    region.mark = lambda: mark_here(ev, live, region, names)
    region.begin(ev)
    try:
        for stmt in tree:
            if ev.dead:
                break
            _note(ev, live, region, stmt, names, marks)
            ev.statements([stmt])
    except DeadCode:
        ev.dead = True
    except Ended as ended:
        if ended.region is not region or ev.block is not ev.root:
            raise LoweringError("a tape is left inside a branch or loop", ev.span) from None
        left = True
        del ev.frames[1:]
        ev.frame = inner
    except Raised:
        raised = True
        del ev.frames[1:]
        ev.frame = inner
        region.finish(ev)
    else:
        if place.by_hand:
            raise LoweringError(
                "the tape is not left where its block ends",
                ev.span,
                reason="a tape that is entered by hand is left by `__exit__` in the same function and loop",
            )
    region.finish(ev)
    check_claims(live.claims, ev.root)
    block = straightened(freeze(ev.root))
    final = {name: numbers_of(live, inner.env[name]) for name in sorted(names | live.rebound) if name in inner.env}
    result = numbers_of(live, inner.env[RETURN]) if RETURN in inner.env else None
    lists = live.outcome(lambda value: numbers_of(live, value))
    enter = None
    if live.guards.complete:
        places_of = [leaf.slot for leaf in live.leaves], [slot for slot, _ in lists]
        enter = live.guards.finish(*places_of, bool(live.objects.written))
    written = frozenset(
        name for stmt in walk(block) if isinstance(stmt, Store) for name in ev.roots.get(stmt.array, ())
    )
    live.check_writes(written)
    block = refuse_shared(ev, tuple(ev.fixed), block)
    live.check_callees()
    callees = tuple(c.function for c in ev.callees.made if c.function is not None)
    warn_of_iterations(ev.iterations, "the tape's block", frame.f_code.co_filename, place.node.lineno)
    options = tape.options.with_checks(ev.boundscheck)
    plan = TapePlan(
        enter,
        SameExtents.of(live.extents, live.leaves, plan_checks(ev, callees, options)),
        tuple(replace(leaf, obj=None) for leaf in live.leaves),
        block,
        ev.types,
        ev.constants,
        ev.copies,
        callees,
        tuple(tuple(names) for _, names in live.versions.values()),
        region,
        {made: numbers_of(live, contents) for made, contents in ev.heap.items()},
        {name: value for name, value in final.items() if name not in (RETURN, DONE, LEFT)},
        lists,
        result,
        places.returns_unnamed(stmts) and not left,
        tuple(marks),
        tuple(region.pauses),
        written,
        raised,
        ev.dead and not raised,
        _lines([place.node, *stmts]),
        dict(ev.recomputed),
        {path: numbers_of(live, value) for path, value in live.entry_values().items()},
        ev.gathers or {},
        options,
    )
    region.block, region.mark = [], None
    region.variables.clear()
    # the plan outlives the objects of this run: it keeps names, not objects
    return plan, tuple(leaf.obj for leaf in live.leaves), live.holders()


def _note(
    ev: Evaluator, live: LiveObjects, region: TapeRegion, stmt: Any, names: frozenset[str], marks: list[Mark]
) -> None:
    """Where the block is, before a statement: it may raise."""
    mark = mark_here(ev, live, region, names)
    if mark is None:
        return
    simple = isinstance(stmt, gast.Raise) or not any(
        isinstance(n, gast.Call) or hasattr(n, "body") for n in gast.walk(stmt)
    )
    marks.append(replace(mark, lines=_lines([stmt]), simple=simple))


def _lines(stmts: list[Any]) -> range:
    """The lines that statements stand in."""
    nodes = [node for stmt in stmts for node in gast.walk(stmt) if hasattr(node, "lineno")]
    return range(min(node.lineno for node in nodes), max(node.end_lineno or node.lineno for node in nodes) + 1)


def mark_here(ev: Evaluator, live: LiveObjects, region: TapeRegion, names: frozenset[str]) -> Mark | None:
    """The state of the lowering; None inside a branch."""
    if ev.block is not ev.root:
        return None
    env = ev.frames[0].env
    return Mark(
        range(0),
        length_of(ev.root),
        {name: numbers_of(live, env[name]) for name in sorted(names | live.rebound) if name in env},
        {made: numbers_of(live, contents) for made, contents in ev.heap.items()},
        live.outcome(lambda value: numbers_of(live, value)),
        tuple(region.watched),
        frozenset(written_in(freeze(region.behind()))) - region.watched.keys(),
        True,
    )


def _resolver(ev: Evaluator, shared: Shared, frame: types.FrameType) -> Any:
    def find(ident: str) -> Value | None:
        node = gast.Name(ident, gast.Load(), None, None)
        if shared.globals is None and ident in shared.variables:
            return ev.wrap(shared.variables[ident], node, ("name", ident))
        assigned = ev.live.assigned_global(frame.f_globals, ident) if isinstance(ev.live, LiveObjects) else None
        if assigned is not None:
            return assigned
        if ident in frame.f_globals:
            return ev.wrap(frame.f_globals[ident], node, ("module", ident))
        return None

    return find


def numbers_of(live: LiveObjects, value: Any) -> Any:
    """A value with nothing but its numbers and arrays: what else it holds is let go."""

    def of(inner: Any) -> Any:
        return numbers_of(live, inner)

    match value:
        case VariableSym():
            return Sym(Name(live.versions[id(value.variable)][1][0]), value.type)
        case Sym():
            return Sym(value.atom, value.type)
        case VariablePair():
            first, second = (live.versions[key][1][0] for key in keys_of(value.variable))
            return Complex(Sym(Name(first), value.re.type), Sym(Name(second), value.im.type))
        case Complex(re=re, im=im):
            return Complex(Sym(re.atom, re.type), Sym(im.atom, im.type))
        case Maybe(value=inner, flag=flag, name=name):
            return Maybe(of(inner), flag, name)
        case MaybeNone(value=inner, present=flag):
            return MaybeNone(of(inner), flag)
        case Tup(items=items, cls=cls) | Record(items=items, cls=cls):
            return type(value)(tuple(of(item) for item in items), cls)
        case Items(values=values):
            return Items(tuple(of(item) for item in values))
        case Lst() | Growing() | Dct() | Instance() | Poison():
            return value
        case Lazy():
            raise AssertionError("an array that was not written to memory")
    return NONE


def _keeps_identity(plan: TapePlan) -> bool:
    """Whether every object that the block leaves behind has one definition in the program.

    A list that a loop filled has lost its elements; a variable that a loop set may be a value that
    the program uses under another name.
    """
    for contents in plan.heap.values():
        if isinstance(contents, Growing) or (isinstance(contents, Items) and _differs_in_kind(Tup(contents.values))):
            return False
    if any(_differs_in_kind(value) for value in plan.final.values()):
        return False
    leaves = {leaf.name for leaf in plan.leaves if leaf.ident}
    values = [*plan.final.values(), *(spec for _, spec in plan.lists)]
    held = {atom.id for value in values for atom in _atoms(value, plan.heap) if isinstance(atom, Name)}
    loops = [stmt for stmt in walk(plan.block) if isinstance(stmt, For | Loop)]
    in_loops = {name for loop in loops for name in written_in(loop.body)}
    return not any(other_name(name, plan.block, leaves) for name in held & in_loops)


def _differs_in_kind(value: Any) -> bool:
    """Whether a value differs in kind between the ways that meet."""
    differs = isinstance(value, Poison) and not isinstance(value, Unseen)
    return differs or (isinstance(value, Tup | Record) and any(_differs_in_kind(item) for item in value.items))


def _atoms(value: Any, heap: dict[Lst, Any]) -> list[Any]:
    match value:
        case Sym(type=type_) if type_.is_float:
            return [value.atom]
        case Complex(re=re, im=im):
            return [re.atom, im.atom]
        case Tup(items=items) | Record(items=items) | Items(values=items):
            return [atom for item in items for atom in _atoms(item, heap)]
        case Maybe(value=inner) | MaybeNone(value=inner):
            return _atoms(inner, heap)
        case Lst() if value in heap:
            return _atoms(heap[value], heap)
        case Dct() | Instance():
            return [atom for cell in value.cells.values() for atom in _atoms(cell, heap)]
    return []
