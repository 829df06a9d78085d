"""Derivatives of functions: `grad`, `value_and_grad`, `emit`; see products for `jvp` and `vjp`.

Names and argument order are those that JAX users know.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args, overload

from tapec.bound import Bound, BoundDerivative, DirectionsLast, takes_all_by_position, unbound
from tapec.callables import DerivativeFunction, P, R, Sources
from tapec.captured import CapturedDerivative, lifted
from tapec.composed import KINDS as COMPOSED
from tapec.composed import composed, with_vector
from tapec.errors import UsageError
from tapec.frontend.source.function_source import parameters
from tapec.on_demand import CALLS, load
from tapec.options import DEFAULT, FILE_LEVEL, WITH_AUX, Keywords, Options, chosen, no_aux, of_order
from tapec.plain_functions import plain_function

if TYPE_CHECKING:
    from tapec.backend.program import Program
    from tapec.remarks import Listener

# what `emit` writes
Emitted = Literal[
    "grad", "jvp", "vjp", "hvp", "hessp", "gnvp", "hessian_diag", "jacobian", "jacfwd", "jacrev", "hessian",
    "sparse_jacobian", "sparse_hessian", "taylor", "linearize",
]  # fmt: skip


@overload
def grad(f: Callable[P, Any], wrt: Sources = 0, **options: Unpack[Keywords]) -> DerivativeFunction[P, Any]: ...
@overload
def grad(
    f: None = None, wrt: Sources = 0, **options: Unpack[Keywords]
) -> Callable[[Callable[P, Any]], DerivativeFunction[P, Any]]: ...
def grad(f: Callable[..., Any] | None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Any:
    """The gradient of a function that returns one float.

    f        a Python function, lambda, closure, Numba dispatcher, method, partial function or object that is called;
             a method's object is as it is at each call
    wrt      position or name of a parameter, or a tuple of those
    options  opt_level=0, 1 or 2, the default: how much is done for speed; math="libm": elementary
             functions are all the C library's, instead of vectorised ones with errors of up to 2
             units in the last place; strict=True: every operation in the order of the source, to the
             last bit; memory="500MB": loops that would keep more for the reverse sweep are
             checkpointed; parallel=True: loops run on threads where their iterations can run in any
             order, with the same bits on any number of threads; boundscheck=True: an index out of
             range raises IndexError, and nothing runs on threads; cache=False: nothing is kept on disk;
             has_aux=True: the function returns a tuple of the float and of something else (None, numbers, arrays, or
             tuples and named tuples of those), which is returned beside the gradient: (gradient, something)
    returns  a function of the same arguments: an array of the source's shape and dtype, a float
             for a float, a tuple for a tuple of sources; by a complex source `dL/dRe + i dL/dIm`.
             Call it from Python or from jitted code.
    raises   TapecError (see tapec.errors) at the first call with new argument types

    >>> import numpy as np
    >>> def energy(x):
    ...     s = 0.0
    ...     for i in range(x.shape[0]):
    ...         s += x[i] ** 2
    ...     return s
    >>> grad(energy)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return derivative(f, wrt, "grad", chosen(options))


@overload
def value_and_grad(
    f: Callable[P, R], wrt: Sources = 0, **options: Unpack[Keywords]
) -> DerivativeFunction[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    f: None = None, wrt: Sources = 0, **options: Unpack[Keywords]
) -> Callable[[Callable[P, R]], DerivativeFunction[P, tuple[R, Any]]]: ...
def value_and_grad(f: Callable[..., Any] | None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Any:
    """The value and the gradient of a function that returns one float, in one pass.

    Parameters as for `grad`; the result is a tuple (value, gradient).  With has_aux=True it is ((value, something),
    gradient).

    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    return derivative(f, wrt, "value_and_grad", chosen(options))


def derivative(f: Callable[..., Any] | None, wrt: Any, kind: str, options: Options = DEFAULT) -> Any:
    """A derivative of some kind (`kinds.KINDS`); for no function a decorator that makes it."""
    if kind not in WITH_AUX:
        shown = f"{kind[:3]}_fun" if kind[:3] in ("jvp", "vjp") else kind.removesuffix("_series")
        no_aux(options, f"tapec.{shown}")
    if f is None:
        return functools.partial(derivative, wrt=wrt, kind=kind, options=options)
    load(*CALLS)
    held = lifted(f, (kind, repr(wrt), options))
    if held is not None:
        return _captured_derivative(f, held, wrt, kind, options)
    bound = unbound(f)
    function = plain_function(bound.function)
    if not bound.is_free:
        from tapec.backend import staleness

        # one for all objects of a class
        inner = staleness.shared(derivative, bound.function, bound.wrt(wrt, parameters(function)), kind, options)
        return BoundDerivative(inner, bound, (derivative, f, wrt, kind, options))
    wrt = tuple(wrt) if isinstance(wrt, list) else wrt
    from tapec.backend.program import directions, resolve_wrt

    resolve_wrt(function, wrt)
    given = f if hasattr(f, "__tapec_key__") else None
    if directions(function, kind, wrt) and not takes_all_by_position(function):
        made = DirectionsLast(
            function,
            lambda fixed: _make(fixed, wrt, kind, options, given),
            (derivative, f, wrt, kind, options),
        )
        setattr(made, "__tapec_lower__", _Inline(function, wrt, kind, options))  # noqa: B010
        return made
    from tapec.backend import known_arguments, staleness

    # `tapec.grad(f)(x)` in a loop makes one derivative, where nothing of a call is kept alive by it
    if given is not None:
        asked = function, wrt, kind, options, given
        return staleness.shared(_make, *asked) if holds_nothing(given) else _make(*asked)
    same = known_arguments.sharing(function)
    if same is None:
        return _make(function, wrt, kind, options)
    return staleness.shared(_make, same, wrt, kind, options)


def holds_nothing(f: Any) -> bool:
    """Whether a function, or that of a derivative, holds nothing that a call may have made."""
    from tapec.backend import known_arguments

    while isinstance(recipe := getattr(f, "_recipe", None), tuple) and recipe[0] in (_make, derivative):
        f = recipe[1]
    return isinstance(f, types.FunctionType) and known_arguments.sharing(f) is not None


def _captured_derivative(f: Any, bound: Bound, wrt: Any, kind: str, options: Options) -> Any:
    """The derivative of a closure whose numbers and arrays are arguments."""
    from tapec.backend import staleness

    def make(held: Bound) -> Any:
        by = held.wrt(wrt, parameters(held.function))
        return staleness.shared(derivative, held.function, by, kind, options)

    recipe = derivative, f, wrt, kind, options
    asked = kind, repr(wrt), options
    return CapturedDerivative(f, make, bound, recipe, asked, lambda: _make(f, wrt, kind, options))


def _make(function: types.FunctionType, wrt: Any, kind: str, options: Options, given: Any = None) -> Any:
    """The derivative; `given` is the derivative that is differentiated, if it is one."""
    load(*CALLS)
    from tapec.backend.carrier import signature_function
    from tapec.backend.description import docstring
    from tapec.backend.dispatcher import make_derivative
    from tapec.backend.fingerprint import Request
    from tapec.backend.program import directions

    stands_for = composed(function, kind, wrt) if kind in COMPOSED else None
    labels = list(parameters(stands_for or function))
    last = directions(function, kind, wrt)
    own = len(labels) if last and stands_for is None else None

    def make_program(argument_types: tuple[Any, ...], given: tuple[Any, ...] | None) -> Any:
        # with a warm cache the compiler is not needed, nor imported
        from tapec.backend.repeated_arguments import resolved
        from tapec.backend.signature import arguments, check_vector
        from tapec.pipeline import build

        if stands_for is not None:
            made = build(stands_for, arguments(argument_types, labels), "primal", (), options)
            return made.named(stands_for.__name__)
        taken: tuple[Any, ...] = ()
        if own is not None:
            if kind == "hvp":
                check_vector(function, wrt, argument_types[:own], argument_types[own:])
            taken = arguments(resolved(argument_types)[own:], list(last))
        return build(function, arguments(argument_types[:own], labels), kind, wrt, options, given=given, taken=taken)

    described = function.__name__, docstring(function, kind, wrt)
    if kind == "hessp" and stands_for is not None:
        carrier = signature_function(stands_for, *described)
    else:
        carrier = signature_function(function, *described, last)
    recipe = (_make, function, wrt, kind, options) if given is None else (derivative, given, wrt, kind, options)
    made = make_derivative(carrier, make_program, recipe, Request(function, kind, wrt, own, options))
    if stands_for is not None:
        made.__tapec_lower__ = functools.partial(_inlined, stands_for)
    else:
        made.__tapec_lower__ = _Inline(function, wrt, kind, options)
    return made


def compiled_program(function: types.FunctionType, recipe: tuple[Any, ...], options: Options) -> Any:
    """A function with source as it is, compiled as a derivative is; `recipe` makes it again."""
    made = _make(function, (), "primal", options)
    made._recipe = recipe
    made.__tapec_lower__ = functools.partial(_inlined, function)
    return made


def _inlined(function: types.FunctionType, ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
    """How a function that stands for a derivative is lowered where differentiated code calls that."""
    from tapec.frontend.evaluator.values import Static

    return ev.apply(Static(function), args, kwargs, node)


class _Inline:
    """How a derivative is lowered where differentiated code calls it."""

    def __init__(self, function: types.FunctionType, wrt: Any, kind: str, options: Options = DEFAULT) -> None:
        self.function, self.wrt, self.kind, self.options = function, wrt, kind, options

    def __call__(self, ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        from tapec.frontend.evaluator.values import Static
        from tapec.transforms.nested_calls import called_derivative

        asked = self.options.has_aux, self.options.order
        return called_derivative(ev, Static(self.function), self.kind, self.wrt, args, kwargs, node, *asked)


def maker(kind: str) -> Any:
    """How the function that makes derivatives of some kind is lowered."""

    def lower(ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        from tapec.transforms.nested_calls import lower_maker

        return lower_maker(kind)(ev, args, kwargs, node)

    return lower


# the programs of derivatives that are made of several
PARTS = {
    "sparse_jacobian": ("sparsity", "columns"),
    "sparse_hessian": ("hessian_sparsity", "hessian_columns"),
    "linearize": ("jvp", "augmented", "pullback"),
}


def emit(
    f: Callable[..., Any],
    wrt: Any = 0,
    signature: Any = None,
    value: bool = True,
    mode: Emitted = "grad",
    order: int = 0,
    **options: Unpack[Keywords],
) -> str:
    """The generated derivative of `f` as the text of a Python module.

    signature  Numba argument types: a tuple such as (numba.float64[:], numba.int64), or text
               such as "f8[:], i8"; by default the function's annotations
    value      whether the generated gradient returns (value, gradient) or the gradient alone
    mode       which derivative: "grad", or another function of this module by its name: "jacobian", "jacfwd", "jacrev",
               "hessian", "hvp", "hessp", "hessian_diag", "gnvp"; "jvp" is that of `jvp_fun`, "vjp" that of `vjp_fun`;
               "sparse_jacobian", "sparse_hessian": the program of the pattern, and that of the columns, several
               colours at once (see docs/sparsity.md); "taylor" is that of `taylor_fun`; "linearize": the tangent,
               and the two halves of the transposed map: what it keeps of the function, and what it does with that
    order      of "taylor": the highest power
    options    as for `grad`, but that opt_level is 1 by default: source to read and keep, in the order of `f`.
               opt_level=2 gives what `grad` and the others run
    returns    a module that imports NumPy, Numba and, where needed, tapec_runtime
    raises     TapecError (see tapec.errors)

    >>> print(emit(lambda x: x * x, signature="f8"))  # doctest: +ELLIPSIS
    \"\"\"...
    """
    load("tapec.backend.module")
    from tapec.backend.module import joined_text, title_of

    if mode not in get_args(Emitted):
        raise UsageError(f"mode must be one of {', '.join(map(repr, get_args(Emitted)))}, not {mode!r}")
    kind = "value_and_grad" if mode == "grad" and value else mode
    options.setdefault("opt_level", FILE_LEVEL)
    made = [generate(f, wrt, signature, part, order=order, **options) for part in PARTS.get(kind, (kind,))]
    return joined_text(tuple(program for _, program in made), title_of(made[0][0]))


def generate(
    f: Callable[..., Any],
    wrt: Any,
    signature: Any,
    kind: str,
    listener: Listener | None = None,
    order: int = 0,
    **options: Unpack[Keywords],
) -> tuple[types.FunctionType, Program]:
    """The Python function behind `f` and its generated derivative of some kind (`kinds.KINDS`).

    Parameters as for `emit`; `listener` hears of stages and remarks.
    """
    asked = of_order(chosen(options), kind, order)
    load("tapec.pipeline", "tapec.backend.signature", "tapec.signatures")
    function = plain_function(f)
    arguments = argument_types(function, signature)
    return function, program_of(function, arguments, kind, wrt, asked, listener)


def program_of(
    function: types.FunctionType,
    arguments: tuple[Any, ...],
    kind: str,
    wrt: Any,
    options: Options,
    listener: Listener | None = None,
    apart: bool = True,
) -> Program:
    """The program of a derivative of some kind for the types of core that the function's own arguments have.

    apart  whether its versions, if it has any, are functions by themselves
    """
    from tapec.pipeline import build

    if kind not in COMPOSED:
        return build(function, arguments, kind, wrt, options, listener=listener, apart=apart)
    made = composed(function, kind, wrt)
    given = with_vector(function, kind, wrt, arguments)
    return build(made, given, "primal", (), options, listener=listener).named(made.__name__)


def argument_types(function: types.FunctionType, signature: Any) -> tuple[Any, ...]:
    """The types of core that a signature gives a function's parameters; raises UsageError for too many."""
    from tapec.backend.signature import arguments
    from tapec.signatures import from_annotations, parse

    if signature is None:
        signature = from_annotations(function)
    elif isinstance(signature, str):
        signature = parse(signature)
    known = parameters(function)
    if len(signature) > len(known) and not any(p.kind is p.VAR_POSITIONAL for p in known.values()):
        raise UsageError(
            f"the signature has {len(signature)} types, but `{function.__name__}` has {len(known)} parameters",
            hint="give one type for each parameter",
        )
    return arguments(tuple(signature), list(known))


def show_stage(f: Callable[..., Any], wrt: Any, signature: Any, stage: str) -> str:
    """The program after a stage of the pipeline: core, typed, adjoint or optimised.

    signature  as for `emit`
    returns    a module that defines `F_primal` (core, typed) or `F_value_and_grad`; each computes the same

    >>> import numba
    >>> print(show_stage(lambda x: x * x, 0, (numba.float64,), "typed"))  # doctest: +ELLIPSIS
    \"\"\"Typed core form of...
    """
    load("tapec.pipeline", "tapec.backend.signature", "tapec.signatures", "tapec.backend.stage_text")
    from tapec.backend.stage_text import stage_text
    from tapec.pipeline import build

    function = plain_function(f)
    arguments = argument_types(function, signature)
    return stage_text(function, stage, lambda kind, options: build(function, arguments, kind, wrt, options))


# how these are lowered when differentiated code calls them
setattr(grad, "__tapec_lower__", maker("grad"))  # noqa: B010
setattr(value_and_grad, "__tapec_lower__", maker("value_and_grad"))  # noqa: B010
