"""`tapec.function`: a function with tapes in its body, compiled as a whole.

Arguments, variables and live objects are inputs, as for a tape's block; at run time no tape exists.
Where a tape is watched, reset or asked in a branch or loop that depends on numbers, the function is
compiled for the way that it goes, and for every other way when it goes there.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tapec.backend import printer
from tapec.backend.callee_text import callees_text
from tapec.backend.derivative_base import remake
from tapec.backend.jit import compile_function
from tapec.backend.program import Program
from tapec.errors import LoweringError, TapecError, TypeMismatch, UnsupportedFunction, UnsupportedSyntax, UsageError
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
from tapec.frontend.source.function_source import FunctionSource, own_signature, parameters, source_of, undecorated
from tapec.frontend.source.numba_decorators import packed
from tapec.frontend.source.pickled_functions import files_of
from tapec.optimise import prepare
from tapec.optimise.simplify.dead_code import drop_dead_code
from tapec.options import DEFAULT, Options
from tapec.syntax.core import Atom, Block, Const, Function, Name, Raise, Return, Store, walk
from tapec.tape.block.merged_objects import check_claims
from tapec.tape.compiled_functions.caller_effects import effects
from tapec.tape.compiled_functions.compiled_call import Outcome
from tapec.tape.objects.block_inputs import InputLeaf, Restart, Shared
from tapec.tape.objects.live_objects import LiveObjects
from tapec.tape.plan.plan_checks import CaughtChecks, Checks, SameExtents, plan_checks
from tapec.tape.plan.tape_plan import PLANS_PER_PLACE, warn_of_many
from tapec.tape.run.branch_decisions import Decisions, warn_of_iterations
from tapec.tape.run.compiled_derivative import tidied
from tapec.tape.run.packed_inputs import taking_inputs_of
from tapec.transforms.rerolled_loops import rerolled_wholly
from tapec_runtime.locking import compiling
from tapec_runtime.variables import Variable

_WAYS = 32
_RESTARTS = 200
# a function's variables are found on other ways
_NO_MODULE: dict[str, Any] = {}


@dataclass(frozen=True)
class CompiledBody:
    """One specialisation.

    enter      fetches the inputs from the arguments, then objects that are returned as they are; gives
               None where their structure differs
    checks     tells where a decision falls another way than it did; None if there are none
    leaves     the inputs
    call       inputs, objects that are returned as they are -> what the function returns
    source     the generated text
    """

    enter: Any
    checks: Checks | CaughtChecks | SameExtents | None
    leaves: tuple[InputLeaf, ...]
    call: Any
    source: str


class CompiledFunction:
    """A function that is compiled for each structure of arguments that it is called with."""

    __qualname__: str

    def __init__(self, function: types.FunctionType, options: Options = DEFAULT) -> None:
        # what is set on the function may have the names of what is set here
        functools.update_wrapper(self, function, updated=())
        # update_wrapper would make other decorators look through to the plain function
        del self.__wrapped__  # type: ignore[attr-defined]
        self.__signature__ = own_signature(function)
        self.py_func, self.options = function, options
        self._plans: list[CompiledBody] = []
        self._bind()

    def _bind(self) -> None:
        """Take arguments as the function does now."""
        self._parameters = _taken(self.py_func)
        self._arguments = _binder(self.py_func, self._parameters)
        # no defaults tell whether there are others now where there are more by name, or a wrapped function has them
        others = self.py_func.__kwdefaults__ or self.py_func.__code__.co_flags & inspect.CO_VARKEYWORDS
        self._defaults: Any = self if others else self.py_func.__defaults__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        f = self.py_func
        plain = f.__defaults__ is self._defaults and f.__kwdefaults__ is None
        if not plain and _taken(f) is not self._parameters:
            self._bind()
        arguments = self._arguments(*args, **kwargs)
        plan, objects, extra = self._known(arguments) or self._specialised(arguments)
        return plan.call(objects, extra)

    def _known(self, arguments: dict[str, Any]) -> _Found | None:
        for plan in self._plans:
            found = plan.enter(arguments, _NO_MODULE)
            if found is not None and (plan.checks is None or plan.checks.hold(plan.leaves, found[0])):
                return plan, *found
        return None

    @compiling
    def _specialised(self, arguments: dict[str, Any]) -> _Found:
        # another thread may have been here
        found = self._known(arguments)
        if found is not None:
            return found
        decided = [getattr(plan.checks, "decided", plan.checks) for plan in self._plans]
        if sum(checks is not None for checks in decided) >= _WAYS:
            raise LoweringError(
                f"`{self.py_func.__name__}` asks its tapes differently in each of {_WAYS} calls",
                reason="it is compiled for every way through the branches and loops that decide about its tapes",
                hint="watch, reset and ask outside of branches and loops",
            )
        found = _lower(self.py_func, arguments, self.options)
        if found[0].enter is not None:
            if len(self._plans) == PLANS_PER_PLACE:
                code = self.py_func.__code__
                warn_of_many(f"`{code.co_name}`", code, code.co_firstlineno, PLANS_PER_PLACE)
            self._plans = [found[0], *self._plans][:PLANS_PER_PLACE]
        return found

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        return ev.call_object(self.py_func, args, kwargs, node)

    def source(self) -> str:
        """The generated source of every specialisation so far."""
        return "\n\n".join(plan.source for plan in self._plans)

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        # by name where the decorated function is found there, as plain functions are pickled
        recipe = compiled_function, self.py_func, self.options
        return self.__qualname__ if found is self else (remake, (files_of(recipe), *packed(recipe)))


def compiled_function(f: Callable[..., Any], options: Options | None = None) -> CompiledFunction:
    """A compiled function from a function, lambda or Numba dispatcher; without options, with those that it has."""
    if isinstance(f, CompiledFunction):
        return f if options in (None, f.options) else CompiledFunction(f.py_func, options or DEFAULT)
    plain = undecorated(f)
    if plain is None:
        raise UsageError(f"{f!r} is not a function with Python source")
    return CompiledFunction(plain, options or DEFAULT)


def _taken(f: types.FunctionType) -> Mapping[str, inspect.Parameter]:
    """The parameters of `f`; of a wrapper that hands on arguments by name, those of what it wraps."""
    return parameters(inspect.unwrap(f) if f.__code__.co_flags & inspect.CO_VARKEYWORDS else f)


def _binder(f: types.FunctionType, own: Mapping[str, inspect.Parameter]) -> Any:
    """A function with the parameters of `f` that returns the arguments by name."""
    namespace: dict[str, Any] = {}
    heads, star = [], False
    for parameter in own.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            raise UsageError(f"`{f.__name__}` takes `**{parameter.name}`, which cannot be compiled")
        text = f"*{parameter.name}" if parameter.kind is parameter.VAR_POSITIONAL else parameter.name
        if parameter.default is not parameter.empty:
            namespace[f"default_{parameter.name}"] = parameter.default
            text += f"=default_{parameter.name}"
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            heads.append("*")
        star = star or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        heads.append(text)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            heads = [p for p in heads if p != "/"] + ["/"]
    names = ", ".join(f"{name!r}: {name}" for name in own)
    name = f.__name__ if f.__name__.isidentifier() else "function"
    exec(f"def {name}({', '.join(heads)}): return {{{names}}}", namespace)
    return namespace[name]


_Found = tuple[CompiledBody, tuple[Any, ...], tuple[Any, ...]]


def _lower(f: types.FunctionType, arguments: dict[str, Any], options: Options) -> _Found:
    """A specialisation; its inputs; objects that it returns.

    Integers are inputs, if that is not enough structure; at last every decision is taken beforehand.
    """
    first: TapecError | None = None
    for pin, decide in ((False, False), (True, False), (True, True)):
        if decide and not isinstance(first, LoweringError | UnsupportedSyntax | UnsupportedFunction | TypeMismatch):
            break
        shared = Shared(dict(arguments), None, pin=pin, decide=decide, overlays=False, packs=options.fast)
        try:
            return _restarted(f, arguments, shared, options)
        except TapecError as error:
            # what the later attempts cannot do either is best told by the first that knows the structure, unless that
            # stops at syntax which the last one has passed
            syntax = isinstance(first, UnsupportedSyntax) and first.message.startswith("cannot differentiate ")
            first = error if not decide or (syntax and first is not None and error.span != first.span) else first
    assert first is not None
    raise first


def _restarted(f: types.FunctionType, arguments: dict[str, Any], shared: Shared, options: Options) -> _Found:
    source = source_of(f)
    for _ in range(_RESTARTS):
        ev = FullEvaluator()
        live = LiveObjects(ev, shared)
        if shared.decide:
            ev.decider = Decisions(ev, live)
        try:
            return _attempt(ev, live, f, source, arguments, options)
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
) -> _Found:
    ev.prepare = prepare if options.fast else None
    # what is met again is reached from it
    live.guards.root(f)
    live.reach_preloaded()
    ev.span = source.span(source.node)
    # that of the caller, which has no variables
    ev.frame = Frame(source, lambda ident: None)
    result = _called(ev, f, arguments)
    options = options.with_checks(ev.boundscheck)
    warn_of_iterations(ev, f"`{f.__name__}`", f.__code__.co_filename, f.__code__.co_firstlineno)
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
    rolled = None
    if live.packs:
        if live.packed and not stored.isdisjoint(core.params):
            raise _WrittenInputs
        packable = live.packed_by_derivatives() if stored.isdisjoint(core.params) else frozenset()
        # what a derivative has computed anew would be a loop that nobody needs
        needed = drop_dead_code(core, frozenset(ev.constants))
        rolled = rerolled_wholly(needed, packable, live.packed, frozenset(live.adjoints))
    core = core if rolled is None else rolled.function
    fast = core if ev.prepare is None else ev.prepare(core, frozenset(ev.constants))
    final = tidied(fast, ev.constants, options)
    callees = tuple(c.function for c in ev.callees.made if c.function is not None)
    lowered = Lowered(core, None, ev.constants, ev.roots, callees=callees)
    source_text = printer.function(final, True)
    program = Program(name, source_text, ev.constants, final, lowered, core.params, options=options)
    if callees:
        program = replace(program, prelude=callees_text(program, lowered, options))
    enter = None
    if live.guards.complete:
        places = [leaf.slot for leaf in leaves]
        enter = live.guards.finish(places, outcome.slots, bool(live.objects.written))
    live.check_writes(stored)
    live.check_callees()
    compiled = CompiledBody(
        enter,
        SameExtents.of(live.extents, live.leaves, plan_checks(ev, callees, options)),
        tuple(replace(leaf, obj=None) for leaf in leaves),
        outcome.caller(
            text,
            changes,
            taking_inputs_of(rolled, tuple(leaf.name for leaf in leaves), compile_function(program)),
            assigned,
            tuple(k for k, leaf in enumerate(leaves) if leaf.name in stored),
        ),
        source_text,
    )
    return compiled, tuple(leaf.obj for leaf in leaves), tuple(outcome.objects)


class _WrittenInputs(Exception):
    """A function writes into an input, and takes inputs packed, which are copies."""


def _called(ev: Evaluator, f: types.FunctionType, arguments: dict[str, Any]) -> Value:
    """Lower the call; what it returns."""
    positional: list[Value] = []
    named: dict[str, Value] = {}
    for parameter in _taken(f).values():
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
