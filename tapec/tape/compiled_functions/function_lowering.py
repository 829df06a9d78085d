"""A function lowered over the arguments of a call: a program, and the call of it as Python."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tapec.backend import printer
from tapec.backend.callee_text import callees_text
from tapec.backend.jit import compile_function
from tapec.backend.program import Program
from tapec.errors import LoweringError, TapecError, TypeMismatch, UnsupportedFunction, UnsupportedSyntax
from tapec.frontend.arrays.copies_of_views import refuse_shared
from tapec.frontend.calls.inlining import call_function
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode, Frame, Raised
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import Complex, Items, Static, Sym, Tup, Value
from tapec.frontend.full_evaluator import FullEvaluator
from tapec.frontend.iteration.coroutines import close
from tapec.frontend.lower import Lowered
from tapec.frontend.operations.complex_arithmetic import parts
from tapec.frontend.source.function_source import FunctionSource, parameters, source_of
from tapec.optimise import prepare
from tapec.optimise.simplify.dead_code import drop_dead_code
from tapec.options import Options
from tapec.syntax.core import Atom, Block, Const, Function, Name, Raise, Return, Store, walk
from tapec.tape.block.merged_objects import check_claims
from tapec.tape.compiled_functions.caller_effects import changes_structure, effects
from tapec.tape.compiled_functions.compiled_call import Outcome
from tapec.tape.compiled_functions.first_calls import LONG, FirstCalls, first_calls
from tapec.tape.objects.block_inputs import InputLeaf, Restart, Shared
from tapec.tape.objects.live_objects import LiveObjects
from tapec.tape.plan.plan_checks import CaughtChecks, Checks, SameExtents, plan_checks
from tapec.tape.run.branch_decisions import Decisions
from tapec.tape.run.compiled_derivative import tidied
from tapec.tape.run.packed_inputs import taking_inputs_of
from tapec.transforms.packed_columns import Rerolled
from tapec.transforms.rerolled_loops import rerolled_wholly
from tapec_runtime.variables import Variable

_RESTARTS = 200


@dataclass(frozen=True)
class CompiledBody:
    """One specialisation.

    enter      fetches the inputs from the arguments, then objects that are returned as they are; gives
               None where their structure differs
    checks     tells where a decision falls another way than it did; None if there are none
    leaves     the inputs
    call       inputs, objects that are returned as they are -> what the function returns
    source     the generated text
    iterations of loops that were unrolled
    first      what `call` runs in the place of the compiled program, which is made later, if it is needed
    """

    enter: Any
    checks: Checks | CaughtChecks | SameExtents | None
    leaves: tuple[InputLeaf, ...]
    call: Any
    source: str
    iterations: int
    first: FirstCalls | None = None


Found = tuple[CompiledBody, tuple[Any, ...], tuple[Any, ...]]


def lowered_call(f: types.FunctionType, arguments: dict[str, Any], options: Options, compiles: bool) -> Found:
    """A specialisation; its inputs; objects that it returns.

    compiles  whether it is a compiled one in any case

    Integers are inputs, if that is not enough structure; at last every decision is taken beforehand.
    """
    first: TapecError | None = None
    for pin, decide in ((False, False), (True, False), (True, True)):
        if decide and not isinstance(first, LoweringError | UnsupportedSyntax | UnsupportedFunction | TypeMismatch):
            break
        shared = Shared(dict(arguments), None, pin=pin, decide=decide, overlays=False, packs=options.fast)
        try:
            found = None if compiles or not options.fast else _restarted(f, arguments, shared, options, False)
            found = found or _restarted(f, arguments, shared, options, True)
            assert found is not None
            return found
        except TapecError as error:
            # what the later attempts cannot do either is best told by the first that knows the structure, unless that
            # stops at syntax which the last one has passed
            syntax = isinstance(first, UnsupportedSyntax) and first.message.startswith("cannot differentiate ")
            first = error if not decide or (syntax and first is not None and error.span != first.span) else first
    assert first is not None
    raise first


def _restarted(
    f: types.FunctionType, arguments: dict[str, Any], shared: Shared, options: Options, compiles: bool
) -> Found | None:
    source = source_of(f)
    for _ in range(_RESTARTS):
        ev = FullEvaluator()
        live = LiveObjects(ev, shared)
        if shared.decide:
            ev.decider = Decisions(ev, live)
        try:
            return _attempt(ev, live, f, source, arguments, options, compiles)
        except Restart as restart:
            shared.preload += restart.chain
        except _WrittenInputs:
            shared.packs = False
        finally:
            close(ev)
            live.release()
    raise LoweringError(f"`{f.__name__}` reaches too much mutable structure below its loops and branches")


def _attempt(
    ev: Evaluator,
    live: LiveObjects,
    f: types.FunctionType,
    source: FunctionSource,
    arguments: dict[str, Any],
    options: Options,
    compiles: bool,
) -> Found | None:
    """A specialisation, compiled or for first calls; None where those are not worth it."""
    ev.prepare = prepare if options.fast and compiles else None
    # what is met again is reached from it
    live.guards.root(f)
    live.reach_preloaded()
    ev.span = source.span(source.node)
    # that of the caller, which has no variables
    ev.frame = Frame(source, lambda ident: None)
    result = _called(ev, f, arguments)
    options = options.with_checks(ev.boundscheck)
    check_claims(live.claims, ev.root)
    outcome = Outcome(ev, live)
    text, changes = outcome.text(result), effects(outcome)
    assigned = _assigned(ev, live)
    block: Block = (*freeze(ev.root), Return((*outcome.atoms, *assigned.values())))
    block = refuse_shared(ev, tuple(ev.fixed), block)
    leaves = tuple(live.leaves)
    name = f.__name__ if f.__name__.isidentifier() else "function"
    core = Function(name, tuple(leaf.name for leaf in leaves), block, ev.types)
    stored = frozenset(root for s in walk(block) if isinstance(s, Store) for root in ev.roots.get(s.array, ()))
    callees = tuple(c.function for c in ev.callees.made if c.function is not None)
    rolled = _rolled(ev, live, core, stored) if live.packs else None
    core = core if rolled is None else rolled.function
    first = None
    if compiles:
        program = _program(ev, core, callees, options)
        run, source_text = compile_function(program), program.text
    else:
        once = not live.guards.complete or changes_structure(outcome)
        if not callees and (once or sum(1 for _ in walk(core.body)) > LONG):
            first = first_calls(core, ev.constants, options)
        if first is None:
            return None
        run, source_text = first, first.source
    run = taking_inputs_of(rolled, tuple(leaf.name for leaf in leaves), run)
    enter = None
    if live.guards.complete:
        places = [leaf.slot for leaf in leaves]
        enter = live.guards.finish(places, outcome.slots, bool(live.objects.written))
    live.check_writes(stored)
    live.check_callees()
    written = tuple(k for k, leaf in enumerate(leaves) if leaf.name in stored)
    body = CompiledBody(
        enter,
        SameExtents.of(live.extents, live.leaves, plan_checks(ev, callees, options)),
        tuple(replace(leaf, obj=None) for leaf in leaves),
        outcome.caller(text, changes, run, assigned, written),
        source_text,
        ev.iterations,
        first,
    )
    return body, tuple(leaf.obj for leaf in leaves), tuple(outcome.objects)


def _rolled(ev: Evaluator, live: LiveObjects, core: Function, stored: frozenset[str]) -> Rerolled | None:
    """The program with loops over inputs that are packed.

    stored  the arrays that it writes into
    """
    if live.packed and not stored.isdisjoint(core.params):
        raise _WrittenInputs
    packable = live.packed_by_derivatives() if stored.isdisjoint(core.params) else frozenset()
    # what a derivative has computed anew would be a loop that nobody needs
    needed = drop_dead_code(core, frozenset(ev.constants))
    return rerolled_wholly(needed, packable, live.packed, frozenset(live.adjoints))


def _program(ev: Evaluator, core: Function, callees: tuple[Function, ...], options: Options) -> Program:
    """A program made fast, as text."""
    fast = core if ev.prepare is None else ev.prepare(core, frozenset(ev.constants))
    final = tidied(fast, ev.constants, options)
    lowered = Lowered(core, None, ev.constants, ev.roots, callees=callees)
    text = printer.function(final, True)
    program = Program(core.name, text, ev.constants, final, lowered, core.params, options=options)
    return replace(program, prelude=callees_text(program, lowered, options)) if callees else program


class _WrittenInputs(Exception):
    """A function writes into an input, and takes inputs packed, which are copies."""


def _called(ev: Evaluator, f: types.FunctionType, arguments: dict[str, Any]) -> Value:
    """Lower the call; what it returns."""
    positional: list[Value] = []
    named: dict[str, Value] = {}
    for parameter in taken_parameters(f).values():
        value = ev.wrap(arguments[parameter.name], None, ("name", parameter.name))
        if parameter.kind is parameter.VAR_POSITIONAL and isinstance(value, Tup):
            positional += value.items
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            positional.append(value)
    try:
        return call_function(ev, f, positional, named, None)
    except DeadCode:
        pass
    except Raised as error:
        # every decision is taken: the program does nothing else
        message = (Const(str(error.value)),) if error.value is not None else ()
        ev.root.append(Raise(error.cls.__name__, message, ev.span))
    return Static(None)


def _assigned(ev: Evaluator, live: LiveObjects) -> dict[int, Atom]:
    """Variables that end with another value than they had: position among the leaves -> new value."""
    found: dict[int, Atom] = {}
    for position, leaf in enumerate(live.leaves):
        symbol = live.values.get(id(leaf.obj)) if isinstance(leaf.obj, Variable) else None
        if symbol is None:
            continue
        if leaf.part == "imag":
            continue
        contents = ev.heap[symbol.cell]  # type: ignore[attr-defined]
        assert isinstance(contents, Items) and isinstance(contents.values[0], Sym | Complex)
        atoms = [part.atom for part in parts(contents.values[0])]
        # of a complex variable both parts, whose inputs follow one another
        if atoms != [Name(one.name) for one in live.leaves[position : position + len(atoms)]]:
            found.update(enumerate(atoms, position))
    return found


def taken_parameters(f: types.FunctionType) -> Mapping[str, inspect.Parameter]:
    """The parameters of `f`; of a wrapper that hands on arguments by name, those of what it wraps."""
    return parameters(inspect.unwrap(f) if f.__code__.co_flags & inspect.CO_VARKEYWORDS else f)
