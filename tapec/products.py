"""Products with a Jacobian: `jvp` from the right, `vjp` from the left."""

from __future__ import annotations

import copy
import functools
import types
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar, Unpack, cast, overload

import numpy as np

from tapec import jitted_calls
from tapec.bound import Bound, takes_all_by_position, unbound
from tapec.callables import R
from tapec.captured import lifted, with_captured_arguments
from tapec.errors import TapecError, UsageError
from tapec.frontend.source.function_source import parameters
from tapec.jitted_calls import called_in_jitted_code
from tapec.on_demand import CALLS, load
from tapec.options import DEFAULT, Keywords, Options, chosen
from tapec.plain_functions import plain_function
from tapec.structure import rebuilt
from tapec_runtime import variables

A = TypeVar("A")
_KEPT = 512


def _shared(function: types.FunctionType) -> types.FunctionType:
    """The function whose derivatives serve for one: of lambdas made anew, the one that was met before."""
    load(*CALLS)
    from tapec.backend import known_arguments

    return known_arguments.sharing(function) or function


def _sweep(function: types.FunctionType, kind: str, wrt: tuple[int, ...], count: int, options: Options) -> Any:
    """The augmented primal of a function, or the primal itself, for so many arguments."""
    load(*CALLS)
    from tapec.backend import staleness

    return staleness.shared(_new_sweep, function, kind, wrt, count, options)


def _new_sweep(function: types.FunctionType, kind: str, wrt: tuple[int, ...], count: int, options: Options) -> Any:
    from tapec.backend.dispatcher import make_derivative
    from tapec.backend.fingerprint import Request

    labels = list(parameters(function))

    def make_program(argument_types: tuple[Any, ...], _: Any) -> Any:
        from tapec.backend.signature import arguments
        from tapec.pipeline import build

        return build(function, arguments(argument_types, labels), kind, wrt, options)

    carrier = _carrier(function, [f"argument_{k}" for k in range(count)])
    request = Request(function, kind, wrt, count, options)
    return make_derivative(carrier, make_program, (_sweep, function, kind, wrt, count, options), request)


def flat(value: Any) -> list[Any]:
    """What stands in tuples and lists, one by one."""
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in flat(item)]
    return [value]


def is_float(leaf: Any) -> bool:
    """Whether a number or array has a derivative."""
    if type(leaf) is float:
        return True
    return leaf.dtype.kind in "fc" if isinstance(leaf, np.ndarray) else np.asarray(leaf).dtype.kind in "fc"


@overload
def jvp(
    f: Callable[..., tuple[R, A]], primals: Any, tangents: Any, *, has_aux: Literal[True], **options: Any
) -> tuple[R, R, A]: ...
@overload
def jvp(f: Callable[..., R], primals: Any, tangents: Any, **options: Unpack[Keywords]) -> tuple[R, R]: ...
@called_in_jitted_code(jitted_calls.directional)
def jvp(f: Callable[..., Any], primals: Any, tangents: Any, **options: Any) -> Any:
    """The value of `f` and its derivative in a direction (forward mode).

    primals   a tuple of arguments
    tangents  a tuple of the same structure: one float or array for each, None where the
              argument does not move
    options   as for `grad`
    returns   (value, tangent), the tangent with the shape and dtype of the value; with has_aux=True, for a function
              that returns a tuple (value, something), (value, tangent, something)

    `jvp_fun` is the same as a function, whose calls cost less.  Jitted code may call both, this one with a function
    that is jitted.

    >>> jvp(lambda x: x ** 3, (2.0,), (1.0,))
    (8.0, 12.0)
    """
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise UsageError("primals and tangents must be tuples")
    if len(primals) != len(tangents):
        raise UsageError(f"{len(primals)} primals but {len(tangents)} tangents")
    moving = tuple([k for k, tangent in enumerate(tangents) if tangent is not None])
    has_aux = False
    made = None if options else _known(f, moving)
    if made is None:
        load(*CALLS)
        asked = chosen(cast(Keywords, options))
        has_aux = asked.has_aux
        made = directional(f, moving, replace(asked, has_aux=False) if has_aux else asked)
    primals = [one if type(one) in _PLAIN else variables.plain(one) for one in primals]
    seeds = [tangent_like(tangents[k], primals[k], k) for k in moving]
    value, tangent = made(*primals, *seeds)
    if not has_aux:
        return value, tangent
    value, aux = _with_aux(value, f)
    return value, tangent[0], aux


def _with_aux(value: Any, f: Any) -> tuple[Any, Any]:
    """What a function returns that is differentiated, and what it returns beside that."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        name = getattr(f, "__name__", "the function")
        raise UsageError(f"with has_aux=True, `{name}` must return a tuple of two items")
    first, second = value
    return first, second


# the derivatives that were asked for, by function and by what moves; whether without the JIT, and what tells that
_directional: dict[tuple[types.FunctionType, tuple[int, ...]], tuple[Any, bool, Callable[[], bool]]] = {}
_PLAIN = frozenset({float, np.ndarray, int})


def _known(f: Any, moving: tuple[int, ...]) -> Any:
    """The derivative of an earlier call, where all that it has read is as it was; None if there is none."""
    found = _directional.get((f, moving)) if type(f) is types.FunctionType else None
    if found is None or found[0].reads.changed or found[2]() is not found[1]:
        return None
    return found[0]


def directional(f: Any, moving: tuple[int, ...], options: Options) -> Any:
    """The function of the arguments and tangents of those that move."""
    from tapec.api import derivative
    from tapec.backend import known_arguments, staleness
    from tapec_runtime.locking import jit_is_off

    if lifted(f, ("jvp", repr(moving), options)) is not None:
        return derivative(f, moving, "jvp", options)
    bound = unbound(f)
    if not bound.is_free:
        return derivative(f, moving, "jvp", options)
    if hasattr(bound.function, "__tapec_key__"):
        return staleness.shared(derivative, bound.function, moving, "jvp", options)
    function = _shared(plain_function(bound.function))
    # of a lambda that is made anew, the one that was met before
    if options == DEFAULT and (known := _known(function, moving)) is not None:
        return known
    asked = function, moving, "jvp", options
    shares = takes_all_by_position(function) and known_arguments.sharing(function) is not None
    found = derivative(*asked) if shares else staleness.shared(derivative, *asked)
    if options == DEFAULT:
        if len(_directional) > _KEPT:
            _directional.clear()
        _directional[function, moving] = found, jit_is_off(), jit_is_off
    return found


def tangent_like(tangent: Any, primal: Any, place: int) -> Any:
    """A tangent in the dtype and the memory layout of what it belongs to, so that one program serves for all."""
    if type(tangent) is float and type(primal) is float:
        return tangent
    what = f"the tangent of argument {place}"
    if isinstance(primal, np.ndarray | float | np.generic | complex):
        return _shaped(variables.plain(tangent), primal, what)
    return _of_structure(variables.plain(tangent), primal, what)

def _of_structure(tangent: Any, primal: Any, what: str) -> Any:
    """A tangent in the structure, dtypes and layouts of an argument, with tuples for lists and dicts."""
    from tapec.backend import structured_arguments

    theirs = structured_arguments.plain(structured_arguments.matched(tangent, primal, what), what)
    return _of_leaves(theirs, structured_arguments.plain(primal, what), what)


def _of_leaves(tangent: Any, primal: Any, what: str) -> Any:
    if isinstance(primal, tuple):
        if not isinstance(tangent, tuple) or len(tangent) != len(primal):
            raise UsageError(f"{what} has another structure than the argument")
        items = [_of_leaves(*pair, what) for pair in zip(tangent, primal, strict=True)]
        return type(primal)(*items) if hasattr(primal, "_fields") else tuple(items)
    if (tangent is None) != (primal is None):
        raise UsageError(f"{what} has None where a number has to be, or a number where there is None")
    return None if primal is None else _shaped(tangent, primal, what)


def _packed_result(
    function: types.FunctionType, options: Options, primals: tuple[Any, ...], then: Callable[[list[Any]], Any]
) -> Any:
    """What a program gives that loops over lists, for arguments that are packed; None for one that asks for more."""
    from tapec.backend.derivative_base import forms_of, packed_arguments

    if not any(isinstance(primal, tuple) for primal in primals):
        return None
    refused = _not_packed(function, options)
    given = packed_arguments(primals, (), refused)
    if given is None:
        return None
    try:
        return then(given)
    except TapecError:
        refused.add(forms_of(given))
        return None


@functools.lru_cache(maxsize=_KEPT)
def _not_packed(function: types.FunctionType, options: Options) -> set[Any]:
    """The forms of arguments that a program needs as they are."""
    return set()


def _plain(function: types.FunctionType, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with tuples for lists, and named tuples for dataclasses and dicts."""
    load(*CALLS)
    from tapec.backend import structured_arguments

    if all([type(one) in structured_arguments.LEAVES for one in arguments]):
        return arguments
    labels = list(parameters(function))
    return tuple(structured_arguments.plain(one, labels[min(k, len(labels) - 1)]) for k, one in enumerate(arguments))


def _shaped(seed: Any, like: Any, what: str, copied: bool = False) -> Any:
    """A tangent or cotangent in the dtype and shape of what it belongs to; `copied`: an array of its own."""
    if isinstance(like, np.ndarray):
        if not copied and type(seed) is np.ndarray and seed.dtype is like.dtype and seed.shape == like.shape:
            ours, theirs = like.flags, seed.flags
            if (ours.c_contiguous, ours.f_contiguous) == (theirs.c_contiguous, theirs.f_contiguous):
                return seed
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


@overload
def vjp(
    f: Callable[..., tuple[R, A]], *primals: Any, has_aux: Literal[True], **options: Any
) -> tuple[R, Callable[[Any], tuple[Any, ...]], A]: ...
@overload
def vjp(
    f: Callable[..., R], *primals: Any, **options: Unpack[Keywords]
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...
@called_in_jitted_code(jitted_calls.refuse_vjp)
def vjp(f: Callable[..., Any], *primals: Any, **options: Any) -> Any:
    """The value of `f` and the function that pulls a cotangent back (reverse mode).

    primals  the arguments; those of float type are differentiated, at their values on entry
    options  as for `grad`
    returns  (value, pullback); `pullback(cotangent)` takes one of the value's structure and
             returns a tuple with one entry per argument, None for arguments without derivative.
             It may be called any number of times and keeps what it needs of the arguments.  With has_aux=True, for
             a function that returns a tuple (value, something), (value, pullback, something)

    The forward sweep runs once, here; a pull runs the reverse sweep (split reversal: Griewank and
    Walther, Evaluating Derivatives, 2008, section 4.6).  Where the value is one number its gradient
    is computed here, and a pull multiplies it by the cotangent.  Where an intermediate result of `f` is a
    list of arrays, or two arguments share memory, a pull runs both sweeps.

    >>> value, pullback = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> pullback(1.0)
    (3.0, 2.0)
    """
    asked = chosen(cast(Keywords, options))
    if not asked.has_aux:
        return vjp_by(f, None, primals, asked)
    whole, pullback = vjp_by(f, None, primals, replace(asked, has_aux=False))
    value, aux = _with_aux(whole, f)
    nothing = zeros_of(aux)
    return value, lambda cotangent: pullback((cotangent, nothing)), aux


def zeros_of(value: Any) -> Any:
    """Zero for each number, in the structure of a value."""
    if isinstance(value, tuple | list):
        items = [zeros_of(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: zeros_of(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return np.zeros_like(value)
    return type(value)(0) if isinstance(value, float | complex | np.generic) else value


def vjp_by(
    f: Callable[..., Any], by: Collection[int] | None, primals: tuple[Any, ...], options: Options
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`vjp` by the arguments at the positions `by` alone, by all of float type for None."""
    load(*CALLS)
    return with_captured_arguments(f, "vjp", lambda bound: _vjp(bound, by, primals, options))


def _vjp(
    bound: Bound, by: Collection[int] | None, primals: tuple[Any, ...], options: Options
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    from tapec.backend import structured_arguments
    from tapec.backend.derivative_base import Remade

    function = _shared(plain_function(bound.function))
    names = parameters(function)
    own: Sequence[int] = range(len(primals))
    if not bound.is_free:
        own = bound.positions(names, len(primals))
        primals = bound.arguments(names, primals)
    elif len(primals) > len(names) and not any(one.kind is one.VAR_POSITIONAL for one in names.values()):
        raise TypeError(f"too many arguments: expected {len(names)}, got {len(primals)}")
    plain = _plain(function, primals)
    wanted = own if by is None else [own[k] for k in sorted(by)]
    wrt = tuple(k for k in wanted if _differentiable(plain[k], k))

    def reversed_for(given: Sequence[Any]) -> tuple[Any, Pull]:
        args = function, wrt, tuple(given), options
        return _split_reversal(*args) or _joint_reversal(*args)

    value, pull = _packed_result(function, options, plain, reversed_for) or reversed_for(plain)
    like = flat(value)
    derivative = bound.function if isinstance(bound.function, Remade) else None
    natural = structured_arguments.returned(value, primals, derivative)
    shapes = [np.empty_like(leaf) if isinstance(leaf, np.ndarray) else leaf for leaf in like]

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        if type(cotangent) in structured_arguments.LEAVES:
            theirs = [cotangent]
        else:
            given = structured_arguments.matched(cotangent, natural, "the cotangent")
            theirs = flat(structured_arguments.plain(given, "cotangent"))
        if len(shapes) != len(theirs):
            raise UsageError("the cotangent has another structure than the value")
        pairs = zip(theirs, shapes, strict=True)
        adjoints = pull([_shaped(c, v, "the cotangent", True) for c, v in pairs if is_float(v)])
        found = {k: structured_arguments.like(primals[k], one) for k, one in zip(wrt, adjoints, strict=True)}
        return tuple(map(found.get, own))

    return natural, pullback


def _differentiable(primal: Any, position: int) -> bool:
    """Whether all numbers of an argument are floats; a mixture is an error."""
    if type(primal) is float or type(primal) is np.ndarray:
        return is_float(primal)
    kinds = {is_float(leaf) for leaf in _differentiated(primal)}
    if len(kinds) > 1:
        raise UsageError(
            f"argument {position} has floats beside other values: no derivative has its structure",
            hint="pass what is not differentiated as an argument of its own",
        )
    return kinds == {True}


def _differentiated(primal: Any) -> Iterator[Any]:
    """Numbers and arrays, but for what says where the elements of a sparse matrix stand."""
    if isinstance(primal, tuple | list):
        with_places = hasattr(type(primal), "has_places")
        found = (leaf for item in primal for leaf in _differentiated(item))
        yield from (leaf for leaf in found if is_float(leaf) or not with_places)
    elif primal is not None:
        yield primal


Pull = Callable[[list[Any]], tuple[Any, ...]]


def _split_reversal(
    function: types.FunctionType, wrt: tuple[int, ...], primals: tuple[Any, ...], options: Options
) -> Any:
    """The value, and the pull on residuals; None where residuals cannot leave compiled code."""
    from tapec.backend import repeated_arguments, residuals
    from tapec.backend.argument_types import argument_types
    from tapec.transforms.split import ListOfArrays

    arrays = [leaf for leaf in flat(primals) if isinstance(leaf, np.ndarray)]
    given = argument_types(primals)
    joint_only = _joint_only(function, wrt, options)
    if given is None or given in joint_only or repeated_arguments.others_overlap(arrays, {}):
        return None
    augmented = _sweep(function, "augmented", wrt, len(primals), options)
    try:
        value, kept, state = augmented(*primals)
    except ListOfArrays:
        joint_only.add(given)
        return None
    theirs = [*arrays, *flat(value)]
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
    from tapec.api import derivative
    from tapec.backend import staleness

    at_entry = copied_arguments(primals)
    primal = _sweep(function, "primal", (), len(primals), options)
    value = primal(*primals)

    def pull(seeds: list[Any]) -> tuple[Any, ...]:
        _check_unchanged(primal, function)
        found = iter(seeds)
        cotangent = rebuilt(value, (next(found) if is_float(leaf) else leaf for leaf in flat(value)))
        both = staleness.shared(derivative, function, wrt, "vjp", options)
        adjoints: tuple[Any, ...] = both(*copied_arguments(at_entry), cotangent)[1]
        return adjoints

    return value, pull


def copied_arguments(value: Any) -> Any:
    """Arguments with arrays of their own."""
    if isinstance(value, tuple):
        items = [copied_arguments(item) for item in value]
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
