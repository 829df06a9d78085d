"""Calls: functions with source are inlined, functions with a rule become operations."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gast
import numpy as np

from tapec.errors import TypeMismatch, UnsupportedFunction, UnsupportedSyntax
from tapec.frontend import recursion
from tapec.frontend.elementwise import elementwise
from tapec.frontend.evaluator import DeadCode, Evaluator, Frame
from tapec.frontend.exits import DONE, RETURN, tail_exits
from tapec.frontend.liveness import Liveness, assigned
from tapec.frontend.operators import before_calls, wrap
from tapec.frontend.source import FunctionSource, source_of, undecorated
from tapec.frontend.values import (
    NONE,
    Func,
    Lazy,
    Method,
    Poison,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_none,
    is_scalar,
)
from tapec.rules import Rule, function_name, rule_for
from tapec.rules.internal import INTERNAL
from tapec.rules.library import INERT, LIBRARY, METHODS, PRIMITIVES, REFUSED, STATIC

Handler = Callable[[Evaluator, list[Value], dict[str, Value], Any], Value]

# reductions that read each element once: they take an elementwise expression as it is
READ_ONCE = frozenset({"sum", "total", "prod", "mean", "count"})


def call(ev: Evaluator, node: gast.Call) -> Value:
    func = ev.expr(node.func)
    args: list[Value] = []
    for position, arg in enumerate(node.args):
        if isinstance(arg, gast.Starred):
            value = ev.expr(arg.value)
            if not isinstance(value, Tup):
                ev.fail(UnsupportedSyntax, "only a tuple can be unpacked into arguments", arg)
            args += value.items
            continue
        value = ev.expr(arg)
        for later in [*node.args[position + 1 :], *(k.value for k in node.keywords)]:
            value = before_calls(ev, value, later)
        args.append(value)
    kwargs: dict[str, Value] = {}
    for keyword in node.keywords:
        value = ev.expr(keyword.value)
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
            continue
        if not isinstance(value, Static) or not isinstance(value.obj, dict):
            ev.fail(UnsupportedSyntax, "`**` needs a known dict", node)
        kwargs |= {key: wrap(ev, item, node, ("item", value.obj, key)) for key, item in value.obj.items()}
    return apply(ev, func, args, kwargs, node)


def apply(ev: Evaluator, func: Value, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call `func`."""
    if isinstance(func, Func):
        return call_closure(ev, func, args, kwargs, node)
    if isinstance(func, Method):
        return call_method(ev, func, args, kwargs, node)
    if not isinstance(func, Static):
        ev.fail(TypeMismatch, f"{describe(func)} cannot be called", node)
    return call_object(ev, func.obj, args, kwargs, node)


def call_object(ev: Evaluator, obj: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call a Python object that is known: a rule, a library function or source."""
    # objects that know how to be lowered: derivatives, tapes, custom gradients
    own = getattr(obj, "__tapec_lower__", None)
    if own is not None:
        lowered: Value = own(ev, args, kwargs, node)
        return lowered
    handler = _lookup(ev.special, obj)
    if handler is not None:
        result: Value = handler(ev, args, kwargs, node)
        return result
    name = function_name(obj)
    if name is not None and (rule := rule_for(name)) is not None:
        return call_rule(ev, name, rule, args, kwargs, node)
    library = _lookup(LIBRARY, obj)
    if library is not None:
        return call_library(ev, library, args, kwargs, node)
    dotted = dotted_name(obj)
    if dotted in PRIMITIVES:
        return ev.primitive(dotted, _plain(ev, args), kwargs, node)
    if dotted in INERT:
        return ev.inert(dotted, _plain(ev, args), kwargs, node)
    if isinstance(obj, type) and issubclass(obj, tuple) and hasattr(obj, "_fields"):
        return _named_tuple(ev, obj, _plain(ev, args), kwargs, node)
    if isinstance(obj, types.MethodType):
        return call_object(ev, obj.__func__, [Static(obj.__self__), *args], kwargs, node)
    function = undecorated(obj)
    if function is not None:
        if ev.frame is not None and ev.frame.library:
            return call_library(ev, function, args, kwargs)
        return call_function(ev, function, args, kwargs, node)
    if dotted in STATIC:
        return _known_call(ev, obj, args, kwargs, node)
    method = inspect.getattr_static(type(obj), "__call__", None)
    if isinstance(method, types.FunctionType):
        return call_function(ev, method, [Static(obj), *args], kwargs, node)
    ev.fail(
        UnsupportedFunction,
        f"cannot differentiate a call to `{dotted or describe(Static(obj))}`",
        node,
        reason=REFUSED.get(dotted, "it has neither Python source nor a rule"),
        hint="write it in Python, or wrap it in tapec.custom_gradient",
    )


def _known_call(ev: Evaluator, obj: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """A function of known objects, such as `np.finfo(x.dtype)`: called now."""
    values = [*args, *kwargs.values()]
    if not all(isinstance(value, Static) for value in values):
        ev.fail(UnsupportedFunction, f"`{dotted_name(obj)}` of values that only the run knows", node)
    known = [value.obj for value in args if isinstance(value, Static)]
    named = {key: value.obj for key, value in kwargs.items() if isinstance(value, Static)}
    return wrap(ev, obj(*known, **named), node)


def _lookup(table: Any, obj: Any) -> Any:
    try:
        return table.get(obj)
    except TypeError:
        return None


def dotted_name(obj: Any) -> str:
    """`np.linalg.solve` for numpy.linalg.solve."""
    name = getattr(obj, "__name__", "")
    module = getattr(obj, "__module__", None) or ""
    if isinstance(obj, types.BuiltinMethodType) and module == "":
        owner = type(obj.__self__).__module__
        module = owner
    if module.startswith("numpy"):
        for prefix, namespace in (("np", np), ("np.linalg", np.linalg), ("np.random", np.random)):
            if getattr(namespace, name, None) is obj:
                return f"{prefix}.{name}"
        if getattr(np.random, name, None) == obj:
            return f"np.random.{name}"
    return f"{module}.{name}" if module else name


def _plain(ev: Evaluator, args: list[Value]) -> list[Value]:
    return [ev.materialise(arg) for arg in args]


def call_rule(
    ev: Evaluator, name: str, rule: Rule, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value:
    """An elementwise function."""
    params = rule.params
    if kwargs:
        ev.fail(UnsupportedSyntax, f"`{name}` takes no keyword arguments here", node)
    out = None
    if len(args) == len(params) + 1 and name.startswith("np."):
        *args, out = args
    if len(args) > len(params) == 2 and name in ("min", "max"):
        result = args[0]
        for other in args[1:]:
            result = elementwise(ev, name, (result, other), node)
        return result
    if not len(params) - rule.optional <= len(args) <= len(params):
        ev.fail(TypeMismatch, f"`{name}` takes {len(params)} arguments, not {len(args)}", node)
    result = elementwise(ev, name, tuple(args), node)
    if out is not None:
        ev.write_into(out, result, node)
        return out
    return result


def call_library(ev: Evaluator, function: Any, args: list[Value], kwargs: dict[str, Value], node: Any = None) -> Value:
    """Inline a function of tapec's own library; messages then name the user's line."""
    if function.__name__.strip("_") not in READ_ONCE:
        args = _plain(ev, args)
    elif is_scalar(args[0]):
        args = [ev.call_object(np.array, args[:1], {}, node), *args[1:]]
    kwargs = {key: ev.materialise(value) for key, value in kwargs.items()}
    outer = ev.span
    if node is not None:
        ev.span = ev.where(node)
    try:
        return call_function(ev, function, args, kwargs, node, library=True)
    finally:
        ev.span = outer


def internal(ev: Evaluator, name: str, args: tuple[Value, ...]) -> Value:
    """Inline one of the functions that syntax needs."""
    return call_library(ev, INTERNAL[name], list(args), {})


def call_method(ev: Evaluator, func: Method, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    result: Value | None = ev.method(func.owner, func.name, args, kwargs, node)
    if result is not None:
        return result
    library = METHODS.get(func.name)
    if library is not None and isinstance(func.owner, Lazy | ev.sym_class):
        return call_library(ev, library, [func.owner, *args], kwargs, node)
    ev.fail(UnsupportedFunction, f"{describe(func.owner)} has no method `{func.name}` that is supported", node)


def _named_tuple(ev: Evaluator, cls: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    defaults = {name: wrap(ev, value) for name, value in cls._field_defaults.items()}
    given = dict(zip(cls._fields, args, strict=False)) | kwargs
    try:
        items = tuple(given.get(name, defaults.get(name)) for name in cls._fields)
    except KeyError:
        items = (None,)
    if any(item is None for item in items) or len(given) > len(cls._fields):
        ev.fail(TypeMismatch, f"wrong arguments for `{cls.__name__}`", node)
    return Tup(items, cls)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Prepared:
    """A function's tree, ready to be evaluated."""

    body: list[Any]
    liveness: Liveness
    local_names: frozenset[str]


_prepared: dict[int, tuple[Any, Prepared]] = {}


def prepare(node: Any) -> Prepared:
    """Bring the exits of a function into tail position; once per function."""
    known = _prepared.get(id(node))
    if known is not None and known[0] is node:
        return known[1]
    if isinstance(node, gast.Lambda):
        body = [gast.copy_location(gast.Return(node.body), node)]
    else:
        body = list(node.body)
    body = tail_exits(body)
    liveness = Liveness(body, frozenset({RETURN, DONE}))
    prepared = Prepared(body, liveness, assigned(body))
    _prepared[id(node)] = (node, prepared)
    return prepared


def call_function(
    ev: Evaluator,
    function: types.FunctionType,
    args: list[Value],
    kwargs: dict[str, Value],
    node: Any,
    library: bool = False,
) -> Value:
    """Inline a Python function."""
    source = library_source(function) if library else ev.source_of(function)
    if not library:
        args = _plain(ev, args)
        kwargs = {key: ev.materialise(value) for key, value in kwargs.items()}
    defaults = tuple(
        wrap(ev, value, None, ("default", function, k)) for k, value in enumerate(function.__defaults__ or ())
    )
    kw_values = function.__kwdefaults__ or {}
    kw_defaults = tuple(
        wrap(ev, kw_values[arg.id], None, ("kwdefault", function, arg.id)) if arg.id in kw_values else None
        for arg in source.node.args.kwonlyargs
    )
    frame = Frame(source, ev.resolver(function))
    frame.library = library
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
    return run(ev, frame, func.node, func.defaults, func.kw_defaults, _plain(ev, args), kwargs, node)


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
    _refuse_syntax(ev, frame, definition)

    def bind() -> dict[str, Value]:
        return bind_arguments(ev, definition, defaults, kw_defaults, args, kwargs, node)

    def evaluate(inner: Evaluator, own: Frame, env: dict[str, Value]) -> Value:
        return _evaluate(inner, own, definition, env, node)

    if id(definition) in ev.callees.definitions:
        return recursion.call(ev, frame, definition, bind, evaluate, node)
    if definition in ev.running:
        raise recursion.Recursive(definition)
    start, entry, block = len(ev.block), ev.snapshot() if ev.frame is not None else None, ev.block
    depth = len(ev.frames)
    ev.running.append(definition)
    try:
        return evaluate(ev, frame, bind())
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
        ev.running.pop()


def _entry_call(ev: Evaluator, frame: Frame, definition: Any, bind: Any, evaluate: Any, node: Any) -> Value:
    """The differentiated function itself is recursive."""
    ev.frame = Frame(frame.source, frame.names, frame.parent)
    ev.frames.append(ev.frame)
    result = recursion.call(ev, frame, definition, bind, evaluate, node)
    ev.frames.pop()
    ev.frame = None  # type: ignore[assignment]
    return result


def _refuse_syntax(ev: Evaluator, frame: Frame, definition: Any) -> None:
    for inner in gast.walk(definition):
        if isinstance(inner, gast.Global | gast.Nonlocal | gast.Yield | gast.YieldFrom | gast.Await):
            ev.frame = frame
            kind = type(inner).__name__.lower()
            ev.fail(UnsupportedSyntax, f"cannot differentiate `{kind}`", inner)


def _evaluate(ev: Evaluator, frame: Frame, definition: Any, env: dict[str, Value], node: Any) -> Value:
    frame.env = env
    prepared = prepare(definition)
    frame.liveness = prepared.liveness
    frame.local_names = prepared.local_names
    outer, span = ev.frame, ev.span
    ev.frames.append(frame)
    ev.frame = frame
    ev.statements(prepared.body)
    result, done = frame.env.get(RETURN, NONE), frame.env.get(DONE)
    if not ev.dead and not is_none(result) and not (isinstance(done, Sym) and done.constant is True):
        ev.fail(
            UnsupportedSyntax,
            f"`{getattr(definition, 'name', '<lambda>')}` returns a value on some of its ways only",
            definition,
            reason=result.reason if isinstance(result, Poison) else "on the others it returns None",
            hint="return a value on every way, or raise",
        )
    ev.frames.pop()
    ev.frame, ev.span = outer, span
    if ev.dead:
        raise DeadCode
    return result


def bind_arguments(
    ev: Evaluator,
    definition: Any,
    defaults: tuple[Value, ...],
    kw_defaults: tuple[Value | None, ...],
    args: list[Value],
    kwargs: dict[str, Value],
    node: Any,
) -> dict[str, Value]:
    """Parameters to values, by Python's rules."""
    spec = definition.args
    name = getattr(definition, "name", "<lambda>")
    positional = [arg.id for arg in (*spec.posonlyargs, *spec.args)]
    env: dict[str, Value] = dict(zip(positional, args, strict=False))
    extra = args[len(positional) :]
    if spec.vararg is not None:
        env[spec.vararg.id] = Tup(tuple(extra))
    elif extra:
        ev.fail(TypeMismatch, f"`{name}` takes {len(positional)} arguments, not {len(args)}", node)
    keyword_only = [arg.id for arg in spec.kwonlyargs]
    for key, value in kwargs.items():
        if key not in positional and key not in keyword_only:
            ev.fail(TypeMismatch, f"`{name}` has no parameter `{key}`", node)
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


__all__ = ["apply", "call", "call_function", "call_object", "internal", "resolver"]
