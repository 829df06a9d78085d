"""Inlining: the arguments of a function bound to its parameters, and its body evaluated."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import gast

from tapec.errors import CALLS, Span, TypeMismatch, UnsupportedSyntax
from tapec.frontend.calls import recursion
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode, Frame
from tapec.frontend.evaluator.values import (
    NONE,
    Dct,
    Func,
    Instance,
    Items,
    Lst,
    MaybeNone,
    Poison,
    Record,
    Static,
    Sym,
    Tup,
    Value,
    is_none,
)
from tapec.frontend.expressions import declared_types
from tapec.frontend.expressions.outside_objects import wrap
from tapec.frontend.iteration.generators import Generator, is_generator
from tapec.frontend.iteration.iterators import fresh
from tapec.frontend.operations import python_errors
from tapec.frontend.source.caught_exceptions import without_caught
from tapec.frontend.source.function_source import FunctionSource, source_of
from tapec.frontend.source.numba_decorators import Jitted, declaration_of
from tapec.frontend.source.refused_syntax import refused
from tapec.frontend.source.shared_variables import with_shared_variables
from tapec.frontend.source.source_liveness import SourceLiveness, assigned
from tapec.frontend.source.tail_exits import DONE, RETURN, tail_exits
from tapec.frontend.statements.nonlocal_variables import outer_names
from tapec.frontend.structures.dicts import new_dict
from tapec.syntax.types import Scalar


def plain(ev: Evaluator, args: list[Value]) -> list[Value]:
    """Arguments with lazy ones written to memory."""
    return [ev.materialise(arg) for arg in args]


@dataclass(frozen=True)
class Prepared:
    """A function's tree, ready to be evaluated."""

    body: list[Any]
    liveness: SourceLiveness
    local_names: frozenset[str]


_prepared: dict[tuple[int, bool], tuple[Any, Prepared]] = {}


def prepare(node: Any, followed: bool) -> Prepared:
    """Bring the exits of a function into tail position; once per function, and for tapes, which follow exceptions."""
    known = _prepared.get((id(node), followed))
    if known is not None and known[0] is node:
        return known[1]
    if isinstance(node, gast.Lambda):
        body = [gast.copy_location(gast.Return(node.body), node)]
    else:
        body = list(node.body)
    body = tail_exits(body if followed else without_caught(body))
    liveness = SourceLiveness(body, frozenset({RETURN, DONE}))
    prepared = Prepared(body, liveness, assigned(body))
    _prepared[id(node), followed] = (node, prepared)
    return prepared


def call_function(
    ev: Evaluator,
    function: types.FunctionType,
    args: list[Value],
    kwargs: dict[str, Value],
    node: Any,
    library: bool = False,
    jitted: Jitted | None = None,
) -> Value:
    """Inline a Python function; `jitted` is what is said of it, by default what it carries."""
    source = library_source(function) if library else ev.source_of(function)
    if not library:
        args = plain(ev, args)
        kwargs = {key: ev.materialise(value) for key, value in kwargs.items()}
    defaults = tuple(
        wrap(ev, value, None, ("default", function, k)) for k, value in enumerate(function.__defaults__ or ())
    )
    kw_values = function.__kwdefaults__ or {}
    kw_defaults = tuple(
        wrap(ev, kw_values[arg.id], None, ("kwdefault", function, arg.id)) if arg.id in kw_values else None
        for arg in source.node.args.kwonlyargs
    )
    names = resolver(ev, function)
    # of a closure that is a function of what it holds (`tapec.captured`)
    captured = dict(zip(getattr(function, "captured", ()), args, strict=False))
    args = args[len(captured) :]
    frame = Frame(source, (lambda ident: captured.get(ident) or names(ident)) if captured else names)
    frame.library, frame.function = library, function
    if not library:
        declared_types.enter(ev, frame, jitted or declaration_of(function), source.node, node)
    return run(ev, frame, source.node, defaults, kw_defaults, args, kwargs, node)


_library_sources: dict[Any, FunctionSource] = {}


def library_source(function: types.FunctionType) -> FunctionSource:
    if function not in _library_sources:
        _library_sources[function] = source_of(function)
    return _library_sources[function]


def call_closure(ev: Evaluator, func: Func, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Inline a function that was defined inside the one being lowered."""
    frame = Frame(func.frame.source, func.frame.names, parent=func.frame)
    frame.library = func.frame.library
    if func.jitted is not None:
        declared_types.enter(ev, frame, func.jitted, func.node, node)
    return run(ev, frame, func.node, func.defaults, func.kw_defaults, plain(ev, args), kwargs, node)


def run(
    ev: Evaluator,
    frame: Frame,
    definition: Any,
    defaults: tuple[Value, ...],
    kw_defaults: tuple[Value | None, ...],
    args: list[Value],
    kwargs: dict[str, Value],
    node: Any,
) -> Value:
    """Evaluate a function's body with its parameters bound."""
    if ev.live is None:
        definition = with_shared_variables(definition)
    if not ev.deciding or frame.library:
        _refuse_syntax(ev, frame, definition)
    frame.outer = outer_names(definition)
    title = getattr(definition, "name", "<lambda>")
    # the library's `sum_` is the user's `np.sum`
    title = title.strip("_") if frame.library else title

    def bind() -> dict[str, Value]:
        env = bind_arguments(ev, definition, title, defaults, kw_defaults, args, kwargs, node)
        return declared_types.taken(ev, frame, env, definition, node)

    if (ev.live is None or ev.deciding) and is_generator(definition):
        env = bind()
        return Generator(frame, definition, env, fresh(ev))

    def evaluate(inner: Evaluator, own: Frame, env: dict[str, Value]) -> Value:
        return declared_types.given(inner, own, _evaluate(inner, own, definition, env, node), definition, node)

    if id(definition) in ev.callees.definitions:
        return recursion.call(ev, frame, definition, bind, evaluate, node)
    shape = (id(frame.function), id(frame.parent), *_structure(ev, [*args, *kwargs.values()]))
    if not ev.deciding and _repeats(ev, definition, shape):
        raise recursion.Recursive(definition)
    start, entry, block = len(ev.block), ev.snapshot() if ev.frame is not None else None, ev.block
    depth = len(ev.frames)
    ev.inlining.append((definition, shape))
    try:
        return evaluate(ev, frame, bind())
    except RecursionError:
        # it calls itself further than Python can follow, and each time with arguments of another structure
        if ev.deciding or not any(one is definition for one, _ in ev.inlining[:-1]):
            raise
        raise recursion.Recursive(definition) from None
    except recursion.Recursive as found:
        if found.definition is not definition:
            raise
        # undo the inlining and write a call
        caller = ev.frames[depth - 1] if depth else None
        del ev.frames[depth:]
        del block[start:]
        ev.block, ev.frame, ev.dead = block, caller, False  # type: ignore[assignment]
        if entry is not None and caller is not None:
            ev.restore(entry)
        ev.callees.definitions.add(id(definition))
        if caller is None:
            return _entry_call(ev, frame, definition, bind, evaluate, node)
        return recursion.call(ev, frame, definition, bind, evaluate, node)
    finally:
        ev.inlining.pop()


_DEPTH = 100


def _repeats(ev: Evaluator, definition: Any, shape: tuple[Any, ...]) -> bool:
    """Whether a function calls itself; a model of models, say, calls the same method of other objects."""
    again = [other for one, other in ev.inlining if one is definition]
    return shape in again or len(again) > _DEPTH


def _structure(ev: Evaluator, values: Iterable[Value]) -> list[Any]:
    """What is known of arguments, beside their numbers."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, Lst) and isinstance(contents := ev.heap.get(value), Items):
            found.append(_structure(ev, contents.values))
        elif isinstance(value, Tup | Record):
            found.append(_structure(ev, value.items))
        elif isinstance(value, Static) and not isinstance(value.obj, str):
            found.append(id(value.obj))
        elif isinstance(value, Static):
            found.append(value.obj)
        elif isinstance(value, Instance | Func | Dct):
            found.append(id(value))
        else:
            found.append(None)
    return found


def _entry_call(ev: Evaluator, frame: Frame, definition: Any, bind: Any, evaluate: Any, node: Any) -> Value:
    """The differentiated function itself is recursive."""
    ev.frame = frame.again()
    ev.frames.append(ev.frame)
    result = recursion.call(ev, frame, definition, bind, evaluate, node)
    ev.frames.pop()
    ev.frame = None  # type: ignore[assignment]
    return result


def _refuse_syntax(ev: Evaluator, frame: Frame, definition: Any) -> None:
    inner = refused(definition)
    if inner is not None:
        ev.frame = frame
        ev.refuse(inner)


def _evaluate(ev: Evaluator, frame: Frame, definition: Any, env: dict[str, Value], node: Any) -> Value:
    frame.env = env
    prepared = prepare(definition, ev.live is not None)
    frame.liveness = prepared.liveness
    frame.local_names = prepared.local_names - frame.outer
    outer, span = ev.frame, ev.span
    frame.called_from = _call_of(span) if ev.frames else None
    ev.frames.append(frame)
    ev.frame = frame
    ev.statements(prepared.body)
    result = frame.env.get(RETURN, NONE)
    if not ev.dead:
        result = _checked_result(ev, definition, result, frame.env.get(DONE))
    ev.frames.pop()
    ev.frame, ev.span = outer, span
    if ev.dead:
        raise DeadCode
    return result


def _call_of(span: Span | None) -> Span | None:
    """The line of a call; of a recursion that is inlined not the whole chain."""
    return replace(span, called_from=None) if span is not None and len(span.lines()) >= CALLS else span


def _checked_result(ev: Evaluator, definition: Any, result: Value, done: Value | None) -> Value:
    """What a function returns; refused where the values of its ways to its end do not fit.

    On ways without `return` it is None: a number may be told from None, and anything else must not come to that.
    """
    name = getattr(definition, "name", "<lambda>")
    every_way = isinstance(done, Sym) and done.constant is True
    if every_way and isinstance(result, Poison):
        ev.fail(TypeMismatch, f"`{name}` returns values of different types", definition, reason=result.reason)
    if every_way or is_none(result):
        return result
    if ev.live is None and isinstance(done, Sym) and not isinstance(result, Poison | Static):
        if isinstance(result, Sym) and isinstance(result.type, Scalar):
            return MaybeNone(result, done.atom)
        python_errors.raise_if(ev, ev.op("not", done), "TypeError", f"`{name}` returns None here")
        return result
    ev.fail(
        UnsupportedSyntax,
        f"`{name}` returns a value on some of its ways only",
        definition,
        reason=result.reason if isinstance(result, Poison) else "on the others it returns None",
        hint="return a value on every way, or raise",
    )


def bind_arguments(
    ev: Evaluator,
    definition: Any,
    name: str,
    defaults: tuple[Value, ...],
    kw_defaults: tuple[Value | None, ...],
    args: list[Value],
    kwargs: dict[str, Value],
    node: Any,
) -> dict[str, Value]:
    """Parameters to values, by Python's rules; `name` is what the user calls the function."""
    spec = definition.args
    positional = [arg.id for arg in (*spec.posonlyargs, *spec.args)]
    env: dict[str, Value] = dict(zip(positional, args, strict=False))
    extra = args[len(positional) :]
    if spec.vararg is not None:
        env[spec.vararg.id] = Tup(tuple(extra))
    elif extra:
        ev.fail(TypeMismatch, f"`{name}` takes {len(positional)} arguments, not {len(args)}", node)
    keyword_only = [arg.id for arg in spec.kwonlyargs]
    by_name = [*(arg.id for arg in spec.args), *keyword_only]
    if spec.kwarg is not None:
        more = {key: value for key, value in kwargs.items() if key not in by_name}
        env[spec.kwarg.id] = new_dict(ev, more)
        kwargs = {key: value for key, value in kwargs.items() if key not in more}
    for key, value in kwargs.items():
        if key not in by_name:
            by_position = " to give by name" if key in positional else ""
            ev.fail(TypeMismatch, f"`{name}` has no parameter `{key}`{by_position}", node)
        if key in env:
            ev.fail(TypeMismatch, f"`{name}` gets two values for `{key}`", node)
        env[key] = value
    for key, default in zip(positional[len(positional) - len(defaults) :], defaults, strict=True):
        env.setdefault(key, default)
    for key, kw_default in zip(keyword_only, kw_defaults, strict=True):
        if kw_default is not None:
            env.setdefault(key, kw_default)
    missing = [key for key in (*positional, *keyword_only) if key not in env]
    if missing:
        ev.fail(TypeMismatch, f"`{name}` needs a value for `{missing[0]}`", node)
    return env


def resolver(ev: Evaluator, function: types.FunctionType) -> Callable[[str], Value | None]:
    """Names that `function` reads from its closure and its module."""
    cells = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}

    def find(ident: str) -> Value | None:
        if ident in cells:
            obj, kind = cells[ident], "cell"
        elif ident in function.__globals__:
            obj, kind = function.__globals__[ident], "global"
        else:
            return None
        ev.reads[function, ident] = obj
        return wrap(ev, obj, gast.Name(ident, gast.Load(), None, None), (kind, function, ident))

    return find
