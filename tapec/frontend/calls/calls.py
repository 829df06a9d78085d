"""Calls: functions with source are inlined, functions with a rule become operations."""

from __future__ import annotations

import collections
import functools
import inspect
import math
import sys
import types
from typing import Any

import gast
import numpy as np

from tapec.errors import TypeMismatch, UnsupportedFunction, UnsupportedSyntax
from tapec.frontend.arrays.array_primitives import primitive
from tapec.frontend.arrays.copies_of_views import COPIES, copy_of_view
from tapec.frontend.calls import numba_calls, numba_vectorize
from tapec.frontend.calls.cached_functions import call_cached, is_cached, refuse_dispatching
from tapec.frontend.calls.inlining import call_closure, call_function, plain
from tapec.frontend.calls.package_sources import public, read
from tapec.frontend.evaluator.class_methods import special_method
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Complex,
    Dct,
    Declared,
    Func,
    Instance,
    Lazy,
    Lst,
    Method,
    Partial,
    Record,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_complex,
    is_scalar,
    mapping,
)
from tapec.frontend.expressions.attributes import READ_ONCE
from tapec.frontend.expressions.comprehensions import tested
from tapec.frontend.expressions.names_and_literals import at_once
from tapec.frontend.expressions.operators import before_calls
from tapec.frontend.expressions.outside_objects import wrap
from tapec.frontend.iteration import coroutines, fed_loops
from tapec.frontend.iteration.generators import Generator, collected
from tapec.frontend.iteration.sequences import known_items
from tapec.frontend.library import (
    argument_binding,
    argument_checks,
    complex_calls,
    distributions,
    interpolators,
    sparse_calls,
    table_interpolators,
    ufuncs,
)
from tapec.frontend.library.text_methods import text_method
from tapec.frontend.operations import python_errors
from tapec.frontend.operations.elementwise import repeated_first
from tapec.frontend.operations.memory_order import KNOWN_ORDER, note_order
from tapec.frontend.operations.opaque_calls import opaque_call
from tapec.frontend.operations.registered_derivatives import lowering_of
from tapec.frontend.source.function_source import undecorated
from tapec.frontend.source.numba_decorators import declaration_of
from tapec.frontend.statements.context_managers import is_manager, managed
from tapec.frontend.structures import dicts, enum_members, jitclasses, made_objects, named_tuples
from tapec.rules import function_name, rule_for
from tapec.rules.arrays_apply import vectorized
from tapec.rules.internal import INTERNAL
from tapec.rules.library import FORMS, INERT, METHODS, PRIMITIVES, STACKS, STATIC, library_function, refusal
from tapec.rules.scipy_functions import WITHOUT_EFFECT

# what takes all that a generator expression gives before it does anything else
_EXHAUST = dict.fromkeys(
    (sum, max, min, list, tuple, sorted, set, frozenset)
    + (math.prod, math.fsum, collections.Counter, collections.deque),
    True,
)

# built-in functions that take numbers and arrays, not what stands for them
_NUMERIC = (float, int, abs, round, max, min, sum, len, pow, divmod, complex)


# modules in C, by which functions are not called
_PUBLIC = {"_bisect": "bisect", "_heapq": "heapq"}


def _takes_all(func: Value) -> bool:
    if isinstance(func, Method):
        return func.name in ("extend", "update", "join")
    return isinstance(func, Static) and _lookup(_EXHAUST, func.obj) is not None


def call(ev: Evaluator, node: gast.Call) -> Value:
    func = ev.expr(node.func)
    stops = _lookup({any: False, all: True}, func.obj) if isinstance(func, Static) else None
    if stops is not None and len(node.args) == 1 and isinstance(node.args[0], gast.GeneratorExp):
        return tested(ev, node.args[0], stops)
    args: list[Value] = []
    for position, arg in enumerate(node.args):
        if isinstance(arg, gast.Starred):
            args += known_items(ev, ev.expr(at_once(arg.value)), arg)
            continue
        if _takes_all(func):
            arg = at_once(arg)
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
        if isinstance(value, Dct) or mapping(value) is not None:
            kwargs |= dicts.pairs(ev, value, node)
            continue
        if not isinstance(value, Static) or not isinstance(value.obj, dict):
            ev.fail(UnsupportedSyntax, "`**` needs a known dict", node)
        kwargs |= {key: wrap(ev, item, node, ("item", value.obj, key)) for key, item in value.obj.items()}
    return apply(ev, func, args, kwargs, node)


def apply(ev: Evaluator, func: Value, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call `func`."""
    if isinstance(func, Func):
        return call_closure(ev, func, args, kwargs, node)
    if isinstance(func, Instance | Record) or (isinstance(func, Tup) and named_tuples.is_called(func)):
        found = table_interpolators.call_argument(ev, func, args, kwargs, node) if isinstance(func, Record) else None
        return apply(ev, ev.get_attribute(func, "__call__", node), args, kwargs, node) if found is None else found
    if isinstance(func, Method):
        return call_method(ev, func, args, kwargs, node)
    if isinstance(func, Partial):
        return apply(ev, func.function, [*func.args, *args], func.kwargs | kwargs, node)
    if isinstance(func, Declared):
        return call_function(ev, func.obj, args, kwargs, node, jitted=func.jitted)
    if not isinstance(func, Static):
        ev.fail(TypeMismatch, f"{describe(func)} cannot be called", node)
    return call_object(ev, func.obj, args, kwargs, node)


def call_object(ev: Evaluator, obj: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call a Python object that is known: a rule, a library function or source."""
    made = _of_object(ev, obj, args, kwargs, node)
    name, module = getattr(obj, "__name__", ""), getattr(obj, "__module__", None) or ""
    of_numpy = module.startswith(("numpy", "scipy")) or isinstance(obj, np.ufunc)
    # those two are library functions, in which nothing is noted
    if of_numpy and not ev.frame.library and (name not in KNOWN_ORDER or name == "astype" or obj is np.copy):
        # LAPACK has columns, and which results of it NumPy turns is nowhere said
        note_order(ev, made, (*args, *kwargs.values()), certainly="linalg" in module)
    return made


def _all_items(ev: Evaluator, obj: Any, args: list[Value], node: Any) -> list[Value]:
    """Arguments with lists in place of generators, for functions that take all items."""
    if undecorated(obj) is not None:
        return args
    if not any(obj is one for one in fed_loops.TAKE_ALL):
        fed_loops.refuse(ev, node)
    return [fed_loops.all_items(ev, arg, node) if isinstance(arg, Generator) else arg for arg in args]


def _of_object(ev: Evaluator, obj: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    if (getattr(obj, "__module__", None) or "").startswith("tapec"):
        argument_checks.check_own(ev, obj, args, kwargs, node)
    # objects that know how to be lowered: derivatives, tapes, custom gradients
    own = lowering_of(obj)
    if own is not None:
        lowered: Value = own(ev, args, kwargs, node)
        return lowered
    refuse_dispatching(ev, obj, node)
    if ev.live is not None and (found := ev.live.call(obj, args, kwargs, node)) is not None:
        return found
    if not ev.deciding and any(isinstance(arg, Generator) for arg in args):
        args = _all_items(ev, obj, args, node)
    if any(coroutines.one_by_one(ev, arg) for arg in args) and undecorated(obj) is None:
        lazy = coroutines.lazily(ev, obj, args, kwargs, node)
        if lazy is not None:
            return lazy
        args = [collected(ev, arg) for arg in args]
    dotted = dotted_name(obj)
    library = library_function(obj)
    numpy = dotted.startswith(("np.", "numpy."))
    handled = numpy or _lookup(ev.special, obj) is not None or function_name(obj) is not None
    if kwargs and handled and obj is not np.arange:
        # `np.arange`: its signature does not tell that all may be named
        title = _written(node) or dotted
        options = library is None and dotted not in INERT
        args, kwargs = argument_binding.in_place(ev, obj, title, args, kwargs, node, options)
    if library is not None and numpy:
        args, kwargs = argument_binding.by_name(obj, library, args, kwargs)
    if obj is np.dot and len(args) > 2:
        args, kwargs = args[:2], {"out": args[2], **kwargs}
    if ufuncs.has_keywords(obj, args, kwargs):
        return ufuncs.with_keywords(ev, obj, args, kwargs, node)
    if any(complex_calls.holds_complex(ev, arg) for arg in (*args, *kwargs.values())):
        found = complex_calls.call(ev, obj, dotted_name(obj), args, kwargs, node)
        if found is not None:
            return found
    owner = getattr(obj, "__self__", None)
    if isinstance(owner, np.ufunc):
        return ufuncs.method(ev, owner, obj.__name__, plain(ev, args), kwargs, node)
    handler = _lookup(ev.special, obj)
    if handler is not None:
        if obj in _NUMERIC or (getattr(obj, "__module__", None) or "").startswith("numpy"):
            args = ev.all_present(args)
        known, title = _lookup(argument_checks.PARAMETERS, obj), dotted.removeprefix("builtins.")
        argument_checks.check(ev, known, title, args, kwargs, node)
        argument_checks.check_needed(ev, obj, title, args, kwargs, node)
        result: Value = handler(ev, args, kwargs, node)
        return result
    if dotted in FORMS and (kwargs or len(args) > 1) and not ev.frame.library:
        return call_library(ev, FORMS[dotted], args, kwargs, node)
    name = function_name(obj)
    if name is not None and (rule := rule_for(name)) is not None:
        if getattr(obj, "__module__", None) == "math":
            python_errors.check_call(ev, obj, args)
            value = ufuncs.call_rule(ev, name, rule, args, kwargs, node)
            python_errors.check_result(ev, f"math.{obj.__name__}", value)
            return value
        return ufuncs.call_rule(ev, name, rule, args, kwargs, node)
    for own in (enum_members.call, distributions.call, interpolators.call, table_interpolators.call, sparse_calls.call):
        if (found := own(ev, obj, args, kwargs, node)) is not None:
            return found
    if library is not None:
        kwargs = {key: value for key, value in kwargs.items() if numpy or key not in WITHOUT_EFFECT}
        return call_library(ev, library, args, kwargs, node)
    if dotted in PRIMITIVES:
        params = PRIMITIVES[dotted].params
        args = argument_checks.in_order(ev, params, dotted, args, kwargs, node, needed=len(params))
        args = [ev.materialise(ev.as_array(arg, node) if isinstance(arg, Lst) else arg) for arg in args]
        if dotted in STACKS and any(getattr(getattr(arg, "type", None), "ndim", 0) > 2 for arg in args):
            return call_library(ev, STACKS[dotted], args, {}, node)
        return primitive(ev, dotted, plain(ev, ev.all_present(args)), node)
    if dotted in INERT:
        return ev.inert(dotted, plain(ev, ev.all_present(args)), kwargs, node)
    if isinstance(obj, type) and issubclass(obj, tuple) and hasattr(obj, "_fields"):
        return named_tuples.made(ev, obj, plain(ev, args), kwargs, node)
    if jitclasses.is_class(obj) and ev.live is not None:
        ev.fail(
            UnsupportedFunction,
            f"cannot differentiate code that makes a `{obj.__name__}`, which is a jitclass, in a tape",
            node,
            hint="make it before the tape",
        )
    if isinstance(obj, type):
        construct = functools.partial(made_objects.construct, ev) if ev.live is None else ev.live.construct
        made = construct(obj, plain(ev, args), {key: ev.materialise(value) for key, value in kwargs.items()}, node)
        if made is not None:
            return made
    if obj is functools.partial and args:
        named = {key: ev.materialise(value) for key, value in kwargs.items()}
        return Partial(args[0], tuple(plain(ev, args[1:])), named)
    if isinstance(obj, functools.partial):
        return _partial(ev, obj, args, kwargs, node)
    if isinstance(obj, types.MethodType):
        return call_object(ev, obj.__func__, [Static(obj.__self__), *args], kwargs, node)
    text = getattr(obj, "__self__", None)
    if isinstance(text, str) and (found := text_method(ev, text, obj, args, kwargs, node)) is not None:
        return found
    if ev.live is not None and is_manager(obj):
        return managed(ev, call_object(ev, obj.__wrapped__, args, kwargs, node), node)
    if is_cached(obj):
        return call_cached(ev, obj, args, kwargs, node)
    if (found := numba_calls.call(ev, obj, args, kwargs, node)) is not None:
        return found
    if dotted in STATIC or public(dotted) in STATIC:
        return _known_call(ev, obj, args, kwargs, node)
    function = undecorated(obj) if refusal(obj) is None else None
    if function is not None:
        if ev.frame is not None and ev.frame.library and declaration_of(function) is None:
            return call_library(ev, function, args, kwargs)
        return read(ev, dotted, function, args, kwargs, node)
    if isinstance(obj, np.vectorize):
        return _vectorize(ev, obj, args, kwargs, node)
    under = numba_vectorize.function_of(obj)
    if under is not None:
        return numba_vectorize.call(ev, obj, under, args, kwargs, node)
    of_numba = type(obj).__module__.startswith("numba.")
    method = None if of_numba else special_method(ev, obj, "__call__")
    if method is not None:
        return ev.call_object(method, [Static(obj), *args], kwargs, node)
    initialise = inspect.getattr_static(obj, "__init__", None) if isinstance(obj, type) else None
    if isinstance(initialise, types.FunctionType):
        ev.fail(
            UnsupportedFunction,
            f"cannot make an object of `{obj.__qualname__}` in a function that is differentiated",
            node,
            reason="its objects are more than their attributes: a number, a list, or what `__new__` makes",
            hint="use a class without such a base, a named tuple or a dict",
        )
    if ev.calls_as_is and callable(obj):
        return opaque_call(ev, obj, args, kwargs, node, None)
    ev.fail(
        UnsupportedFunction,
        f"cannot differentiate a call to `{dotted if '.' in dotted else _written(node) or describe(Static(obj))}`",
        node,
        reason=refusal(obj) or "it has neither Python source nor a rule",
        hint="write it in Python, wrap it in tapec.custom_gradient, or give it a derivative by tapec.register",
    )


def _vectorize(ev: Evaluator, obj: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """An object of `np.vectorize`, called."""
    if kwargs or obj.signature is not None or obj.otypes is not None or obj.excluded:
        ev.fail(
            UnsupportedFunction,
            "of np.vectorize, keywords, `signature`, `otypes` and `excluded` are not supported",
            node,
            hint="write a loop, or use numba.vectorize or tapec.vmap",
        )
    return call_library(ev, vectorized, [wrap(ev, obj.pyfunc, node), *args], {}, node)


def _partial(ev: Evaluator, obj: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`functools.partial(f, ...)`, called."""
    function, first, named = (
        ev.wrap(getattr(obj, name), node, ("attribute", obj, name)) for name in ("func", "args", "keywords")
    )
    given = first.items if isinstance(first, Tup) else ()
    known = dicts.pairs(ev, named, node) if isinstance(named, Dct) else {}
    return apply(ev, function, [*given, *args], known | kwargs, node)


def _written(node: Any) -> str:
    """The called function as the user wrote it, such as `scipy.special.jv`; empty if it has no plain name."""
    func = getattr(node, "func", None)
    parts: list[str] = []
    while isinstance(func, gast.Attribute):
        parts.insert(0, func.attr)
        func = func.value
    return ".".join([func.id, *parts]) if isinstance(func, gast.Name) else ""


def _known_call(ev: Evaluator, obj: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """A function of known objects, such as `np.finfo(x.dtype)`: called now."""

    def known(value: Value) -> Any:
        if isinstance(value, Static):
            return value.obj
        if isinstance(value, Sym) and value.constant is not None:
            return value.constant
        message = f"`{dotted_name(obj)}` needs arguments that are known when the function is compiled"
        ev.fail(UnsupportedFunction, message, node)

    return wrap(ev, obj(*map(known, args), **{key: known(value) for key, value in kwargs.items()}), node)


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
    module = _PUBLIC.get(module, module)
    if module.startswith("tapec_runtime.") and getattr(sys.modules.get(module), name, None) is obj:
        return f"tapec_runtime.{name}"
    if module.startswith("numpy"):
        for prefix, namespace in (("np", np), ("np.linalg", np.linalg), ("np.random", np.random)):
            if getattr(namespace, name, None) is obj:
                return f"{prefix}.{name}"
        if getattr(np.random, name, None) == obj:
            return f"np.random.{name}"
    return f"{module}.{name}" if module else name


def call_library(ev: Evaluator, function: Any, args: list[Value], kwargs: dict[str, Value], node: Any = None) -> Value:
    """Inline a function of tapec's own library; messages then name the user's line."""
    args = ev.all_present(args)
    if function.__name__.strip("_") not in READ_ONCE:
        args = plain(ev, args)
    elif is_scalar(args[0]):
        args = [ev.call_object(np.array, args[:1], {}, node), *args[1:]]
    else:
        args = [repeated_first(ev, args[0]), *args[1:]]
    kwargs = {key: ev.materialise(value) for key, value in kwargs.items()}
    outer = ev.span
    if node is not None:
        ev.span = ev.where(node)
    try:
        made = call_function(ev, function, args, kwargs, node, library=True)
        if function.__name__ in COPIES and args and not ev.frame.library:
            source = Tup(tuple(args)) if function.__name__ == "broadcast_arrays" else args[0]
            made = copy_of_view(ev, made, source, f"np.{function.__name__.replace('_diagonal', '.diagonal')}")
        return made
    finally:
        ev.span = outer


def internal(ev: Evaluator, name: str, args: tuple[Value, ...]) -> Value:
    """Inline one of the functions that syntax needs."""
    return call_library(ev, INTERNAL[name], list(args), {})


def call_method(ev: Evaluator, func: Method, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    made = _of_method(ev, func, args, kwargs, node)
    if not ev.frame.library and (func.name not in KNOWN_ORDER or (func.name == "copy" and (args or kwargs))):
        note_order(ev, made, (func.owner, *args))
    return made


def _of_method(ev: Evaluator, func: Method, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    if is_complex(func.owner):
        own = complex_calls.method(ev, func.owner, func.name, args, kwargs, node)
        if own is not None:
            return own
    result: Value | None = ev.method(func.owner, func.name, args, kwargs, node)
    if result is not None:
        return result
    library = METHODS.get(func.name)
    if library is not None and isinstance(func.owner, Lazy | Complex | Sym):
        return call_library(ev, library, [func.owner, *args], kwargs, node)
    ev.fail(UnsupportedFunction, f"{describe(func.owner)} has no method `{func.name}` that is supported", node)
