"""Products with a Jacobian: `jvp` from the right, `vjp` from the left."""

from __future__ import annotations

import copy
import functools
import inspect
import types
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Unpack

import numpy as np

from tapec.backend.carrier import written
from tapec.bound import Bound
from tapec.callables import R
from tapec.captured import by_what_is_held
from tapec.errors import TapecError, UsageError
from tapec.frontend.source import parameters, undecorated
from tapec.on_demand import CALLS, load
from tapec.options import Keywords, Options, chosen
from tapec_runtime import variables

_KEPT = 512


def plain_function(f: Any) -> types.FunctionType:
    """The Python function behind `f`, one that calls it for a derivative; UsageError if there is none."""
    if hasattr(f, "__tapec_lower__") and hasattr(f, "__tapec_key__"):
        return _calling(f)
    if isinstance(f, types.MethodType) and isinstance(f.__self__, type):
        return _calling(f)
    if isinstance(f, types.MethodType):
        raise UsageError(
            f"`{f.__qualname__}` is a method of an object, which has no type that could be written",
            hint="call tapec.grad, or take a function of the arrays it uses",
        )
    function = undecorated(f)
    if function is None:
        raise UsageError(f"{f!r} is not a function with Python source")
    return function


@functools.lru_cache(maxsize=_KEPT)
def _calling(derivative: Any) -> types.FunctionType:
    """A function with source that calls a derivative, or a method of a class."""
    if isinstance(derivative, types.MethodType):
        carrier: Any = derivative.__func__
        own: Mapping[str, inspect.Parameter] = inspect.signature(derivative).parameters
    else:
        carrier = getattr(derivative, "py_func", None) or derivative.carrier
        own = parameters(carrier)
    heads, passed, named = [], [], []
    defaults: dict[str, Any] = {}
    for parameter in own.values():
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        heads.append(f"{star}{parameter.name}")
        if parameter.name in getattr(carrier, "keyword_only", ()):
            named.append(f"{parameter.name}={parameter.name}")
        else:
            passed.append(heads[-1])
        if parameter.default is not parameter.empty:
            defaults[f"default_{parameter.name}"] = parameter.default
            heads[-1] += f"=default_{parameter.name}"
    made: types.FunctionType = written(derivative, carrier, heads, passed, named, **defaults)
    return made


def _shared(function: types.FunctionType) -> types.FunctionType:
    """The function whose derivatives serve for one: of lambdas made anew, the one that was met before."""
    load(*CALLS)
    from tapec.backend import known_arguments

    return known_arguments.sharing(function) or function


def _seeded(
    function: types.FunctionType, kind: str, wrt: tuple[int, ...], count: int, seeds: int, options: Options
) -> Any:
    """A derivative that takes tangents or cotangents after the arguments."""
    load(*CALLS)
    from tapec.backend import staleness

    return staleness.shared(_new_seeded, function, kind, wrt, count, seeds, options)


def _new_seeded(
    function: types.FunctionType, kind: str, wrt: tuple[int, ...], count: int, seeds: int, options: Options
) -> Any:
    from tapec.backend.dispatcher import make_derivative
    from tapec.backend.fingerprint import Request

    labels = list(parameters(function))

    def make_program(argument_types: tuple[Any, ...], _: Any) -> Any:
        from tapec.backend.signature import arguments
        from tapec.pipeline import build

        return build(function, arguments(argument_types[:count], labels), kind, wrt, options)

    names = [f"argument_{k}" for k in range(count)] + [f"seed_{k}" for k in range(seeds)]
    carrier = _carrier(function, names)
    request = Request(function, kind, wrt, count, options)
    return make_derivative(carrier, make_program, (_seeded, function, kind, wrt, count, seeds, options), request)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]


def _is_float(leaf: Any) -> bool:
    if type(leaf) is float:
        return True
    return leaf.dtype.kind in "fc" if isinstance(leaf, np.ndarray) else np.asarray(leaf).dtype.kind in "fc"


def jvp(f: Callable[..., R], primals: Any, tangents: Any, **options: Unpack[Keywords]) -> tuple[R, R]:
    """The value of `f` and its derivative in a direction (forward mode).

    primals   a tuple of arguments
    tangents  a tuple of the same structure: one float or array for each, None where the
              argument does not move
    options   as for `grad`
    returns   (value, tangent), the tangent with the shape and dtype of the value

    >>> jvp(lambda x: x ** 3, (2.0,), (1.0,))
    (8.0, 12.0)
    """
    load(*CALLS)
    return by_what_is_held(f, "jvp", lambda bound: _jvp(bound, primals, tangents, chosen(options)))


def _jvp(bound: Bound, primals: Any, tangents: Any, options: Options) -> tuple[Any, Any]:
    from tapec.backend import structured
    from tapec.backend.derivative_base import Remade

    function = _shared(plain_function(bound.function))
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise UsageError("primals and tangents must be tuples")
    if len(primals) != len(tangents):
        raise UsageError(f"{len(primals)} primals but {len(tangents)} tangents")
    if not bound.is_free:
        names = parameters(function)
        moved = dict(zip(bound.positions(names, len(tangents)), tangents, strict=True))
        primals = bound.arguments(names, tuple(primals))
        tangents = tuple(map(moved.get, range(len(primals))))
    originals = tuple(primals)
    structures = not all(type(one) in structured.LEAVES for one in originals)
    if structures:
        tangents = tuple(
            structured.matched(tangent, primal, f"the tangent of argument {k}")
            for k, (tangent, primal) in enumerate(zip(tangents, originals, strict=True))
        )
    primals, tangents = (_plain(function, variables.plain(tuple(given))) for given in (primals, tangents))
    moving = tuple(k for k, t in enumerate(tangents) if t is not None)
    seeds: dict[int, list[Any]] = {}
    for k in moving:
        ours, theirs = _flat(primals[k]), _flat(tangents[k])
        if len(ours) != len(theirs):
            raise UsageError(f"the tangent of argument {k} has another structure than the argument")
        what = f"the tangent of argument {k}"
        if any((tangent is None) != (primal is None) for tangent, primal in zip(theirs, ours, strict=True)):
            raise UsageError(f"{what} has None where a number has to be, or a number where there is None")
        seeds[k] = [_shaped(t, p, what) for t, p in zip(theirs, ours, strict=True) if p is not None]

    def called(given: Sequence[Any], own: list[Any]) -> Any:
        return _seeded(function, "jvp", moving, len(primals), len(own), options)(*given, *own)

    def packed(given: list[Any]) -> Any:
        return called(given, [one for k in moving for one in _packed_seeds(given[k], primals[k], seeds[k])])

    found = _packed_result(function, "jvp", options, primals, packed) if structures else None
    value, tangent = found or called(primals, [one for k in moving for one in seeds[k]])
    if structures:
        derivative = bound.function if isinstance(bound.function, Remade) else None
        value, tangent = (structured.returned(one, originals, derivative) for one in (value, tangent))
    return value, tangent


def _packed_seeds(pattern: Any, primal: Any, seeds: list[Any]) -> list[Any]:
    """Tangents of the numbers and arrays of an argument, packed as it is."""
    from tapec.backend import packing

    remaining = iter(seeds)

    def filled(value: Any) -> Any:
        if isinstance(value, tuple):
            items = [filled(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return None if value is None else next(remaining)

    return list(packing.numbers_and_arrays(packing.packed_as(pattern, primal, filled(primal))))


def _packed_result(
    function: types.FunctionType,
    kind: str,
    options: Options,
    primals: tuple[Any, ...],
    then: Callable[[list[Any]], Any],
) -> Any:
    """What a program gives that loops over lists, for arguments that are packed; None for one that asks for more."""
    from tapec.backend.derivative_base import forms_of, packed_arguments

    refused = _not_packed(function, kind, options)
    given = packed_arguments(primals, (), refused)
    if given is None:
        return None
    try:
        return then(given)
    except TapecError:
        refused.add(forms_of(given))
        return None


@functools.lru_cache(maxsize=_KEPT)
def _not_packed(function: types.FunctionType, kind: str, options: Options) -> set[Any]:
    """The forms of arguments that a program needs as they are."""
    return set()


def _plain(function: types.FunctionType, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with tuples for lists, and named tuples for dataclasses and dicts."""
    load(*CALLS)
    from tapec.backend import structured

    if all(type(one) in structured.LEAVES for one in arguments):
        return arguments
    labels = list(parameters(function))
    return tuple(structured.plain(one, labels[min(k, len(labels) - 1)]) for k, one in enumerate(arguments))


def _shaped(seed: Any, like: Any, what: str) -> Any:
    """A tangent or cotangent in the dtype and shape of what it belongs to."""
    if isinstance(like, np.ndarray):
        if like.dtype.kind == "f" and np.iscomplexobj(seed):
            raise UsageError(f"{what} is complex, and what it belongs to is real")
        made = np.asarray(seed, dtype=like.dtype if like.dtype.kind in "fc" else None)
        if made.shape != like.shape:
            raise UsageError(f"{what} has shape {made.shape}, not {like.shape}")
        order: Literal["C", "F"] = "F" if like.flags.f_contiguous and not like.flags.c_contiguous else "C"
        if not like.flags.c_contiguous and not like.flags.f_contiguous:
            # the same layout as the primal, so that both are indexed alike
            strided = np.empty(tuple(2 * n for n in like.shape), made.dtype)[tuple([slice(None, None, 2)] * like.ndim)]
            strided[...] = made
            return strided
        return np.array(made, order=order)
    if type(seed) is float and type(like) is float:
        return seed
    if np.ndim(seed) != 0:
        raise UsageError(f"{what} must be a number")
    if isinstance(like, np.complex64):
        return np.complex64(seed)
    if np.iscomplexobj(like):
        return complex(seed)
    if np.iscomplexobj(seed):
        raise UsageError(f"{what} is complex, and what it belongs to is real")
    return np.float32(seed) if isinstance(like, np.float32) else float(seed)


def vjp(
    f: Callable[..., R], *primals: Any, **options: Unpack[Keywords]
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]:
    """The value of `f` and the function that pulls a cotangent back (reverse mode).

    primals  the arguments; those of float type are differentiated, at their values on entry
    options  as for `grad`
    returns  (value, pullback); `pullback(cotangent)` takes one of the value's structure and
             returns a tuple with one entry per argument, None for arguments without derivative.
             It may be called any number of times and keeps what it needs of the arguments.

    The forward sweep runs once, here; a pull runs the reverse sweep (split reversal: Griewank and
    Walther, Evaluating Derivatives, 2008, section 4.6).  Where the value is one number its gradient
    is computed here, and a pull multiplies it by the cotangent.  Where an intermediate result of `f` is a
    list of arrays, or two arguments share memory, a pull runs both sweeps.

    >>> value, pullback = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> pullback(1.0)
    (3.0, 2.0)
    """
    return vjp_by(f, None, primals, chosen(options))


def vjp_by(
    f: Callable[..., Any], by: Collection[int] | None, primals: tuple[Any, ...], options: Options
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`vjp` by the arguments at the positions `by` alone, by all of float type for None."""
    load(*CALLS)
    return by_what_is_held(f, "vjp", lambda bound: _vjp(bound, by, primals, options))


def _vjp(
    bound: Bound, by: Collection[int] | None, primals: tuple[Any, ...], options: Options
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    from tapec.backend import structured
    from tapec.backend.derivative_base import Remade

    function = _shared(plain_function(bound.function))
    names = parameters(function)
    extra = any(one.kind is one.VAR_POSITIONAL for one in names.values())
    if bound.is_free and len(primals) > len(names) and not extra:
        raise TypeError(f"too many arguments: expected {len(names)}, got {len(primals)}")
    own = bound.positions(names, len(primals))
    primals = primals if bound.is_free else bound.arguments(names, primals)
    plain = _plain(function, primals)
    wanted = own if by is None else [own[k] for k in sorted(by)]
    wrt = tuple(k for k in wanted if _differentiable(plain[k], k))

    def reversed_for(given: Sequence[Any]) -> tuple[Any, Pull]:
        args = function, wrt, tuple(given), options
        return _split_reversal(*args) or _joint_reversal(*args)

    value, pull = _packed_result(function, "vjp", options, plain, reversed_for) or reversed_for(plain)
    like = _flat(value)
    derivative = bound.function if isinstance(bound.function, Remade) else None
    natural = structured.returned(value, primals, derivative)
    shapes = [np.empty_like(leaf) if isinstance(leaf, np.ndarray) else leaf for leaf in like]

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        theirs = _flat(structured.plain(structured.matched(cotangent, natural, "the cotangent"), "cotangent"))
        if len(shapes) != len(theirs):
            raise UsageError("the cotangent has another structure than the value")
        pairs = zip(theirs, shapes, strict=True)
        adjoints = pull([_shaped(c, v, "the cotangent") for c, v in pairs if _is_float(v)])
        found = {k: structured.like(primals[k], one) for k, one in zip(wrt, adjoints, strict=True)}
        return tuple(map(found.get, own))

    return natural, pullback


def _differentiable(primal: Any, position: int) -> bool:
    """Whether all numbers of an argument are floats; a mixture is an error."""
    kinds = {_is_float(leaf) for leaf in _flat(primal) if leaf is not None}
    if len(kinds) > 1:
        raise UsageError(
            f"argument {position} has floats beside other values: no derivative has its structure",
            hint="pass what is not differentiated as an argument of its own",
        )
    return kinds == {True}


Pull = Callable[[list[Any]], tuple[Any, ...]]


def _split_reversal(
    function: types.FunctionType, wrt: tuple[int, ...], primals: tuple[Any, ...], options: Options
) -> Any:
    """The value, and the pull on residuals; None where residuals cannot leave compiled code."""
    from tapec.backend import repeated_arguments, residuals
    from tapec.backend.argument_types import argument_types
    from tapec.transforms.split import ListOfArrays

    arrays = [leaf for leaf in _flat(primals) if isinstance(leaf, np.ndarray)]
    given = argument_types(primals)
    joint_only = _joint_only(function, wrt, options)
    if given is None or given in joint_only or repeated_arguments.others_overlap(arrays, {}):
        return None
    augmented = _seeded(function, "augmented", wrt, len(primals), 0, options)
    try:
        value, kept, state = augmented(*primals)
    except ListOfArrays:
        joint_only.add(given)
        return None
    theirs = [*arrays, *_flat(value)]
    # the caller may write into the arguments and the value before pulling
    kept, state = residuals.apart(kept, theirs), residuals.apart(state, theirs)

    def pull(seeds: list[Any]) -> tuple[Any, ...]:
        pullback = _pullback(augmented, function, wrt, given, len(seeds), options)
        adjoints: tuple[Any, ...] = pullback(kept, residuals.copied(state), *seeds)
        return adjoints

    return value, pull


@functools.lru_cache(maxsize=_KEPT)
def _joint_only(function: types.FunctionType, wrt: tuple[int, ...], options: Options) -> set[tuple[Any, ...]]:
    """The argument types for which a split was found impossible, so that it is not tried at every call."""
    return set()


def _joint_reversal(
    function: types.FunctionType, wrt: tuple[int, ...], primals: tuple[Any, ...], options: Options
) -> Any:
    """The value, and a pull that runs both sweeps on copies of the arguments."""
    at_entry = _copied(primals)
    primal = _seeded(function, "primal", (), len(primals), 0, options)
    value = primal(*primals)

    def pull(seeds: list[Any]) -> tuple[Any, ...]:
        _check_unchanged(primal, function)
        derivative = _seeded(function, "vjp", wrt, len(primals), len(seeds), options)
        adjoints: tuple[Any, ...] = derivative(*_copied(at_entry), *seeds)[1]
        return adjoints

    return value, pull


def _copied(value: Any) -> Any:
    """Arguments with arrays of their own."""
    if isinstance(value, tuple):
        items = [_copied(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return copy.deepcopy(value) if isinstance(value, np.ndarray) else value


def _check_unchanged(forward: Any, function: types.FunctionType) -> None:
    if forward.reads.changed:
        raise UsageError(
            f"what `{function.__name__}` reads from outside is not what it was when `vjp` ran it",
            hint="call tapec.vjp again",
        )


# the pullbacks of augmented primals: what they have read is what the primals had
_pullbacks: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


def _pullback(
    augmented: Any,
    function: types.FunctionType,
    wrt: tuple[int, ...],
    given: tuple[Any, ...],
    seeds: int,
    options: Options,
) -> Any:
    """The pullback of `augmented` for arguments of types `given`: takes two tuples of residuals, then seeds."""
    known = _pullbacks.setdefault(augmented, {})
    if (given, seeds) not in known:
        _check_unchanged(augmented, function)
        known[given, seeds] = _new_pullback(function, wrt, given, seeds, options)
    return known[given, seeds]


def _new_pullback(
    function: types.FunctionType, wrt: tuple[int, ...], given: tuple[Any, ...], seeds: int, options: Options
) -> Any:
    load(*CALLS)
    from tapec.backend.dispatcher import make_derivative
    from tapec.backend.fingerprint import Request

    labels = list(parameters(function))

    def make_program(_: tuple[Any, ...], __: Any) -> Any:
        from tapec.backend.signature import arguments
        from tapec.pipeline import build

        return build(function, arguments(given, labels), "pullback", wrt, options)

    carrier = _carrier(function, ["kept", "state", *(f"seed_{k}" for k in range(seeds))])
    request = Request(function, "pullback", wrt, options=options, primal=given)
    return make_derivative(carrier, make_program, (_new_pullback, function, wrt, given, seeds, options), request)


def _carrier(function: types.FunctionType, names: list[str]) -> types.FunctionType:
    """A function with these parameters."""
    namespace: dict[str, Any] = {}
    exec(f"def {function.__name__ if function.__name__.isidentifier() else 'f'}({', '.join(names)}): pass", namespace)
    return next(v for v in namespace.values() if isinstance(v, types.FunctionType))


def _inside(name: str) -> Any:
    """How `jvp` and `vjp` are lowered where differentiated code calls them."""

    def lower(ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        from tapec.transforms import nested_products

        return getattr(nested_products, f"lower_{name}")(ev, args, kwargs, node)

    return lower


setattr(jvp, "__tapec_lower__", _inside("jvp"))  # noqa: B010
setattr(vjp, "__tapec_lower__", _inside("vjp"))  # noqa: B010
