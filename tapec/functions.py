"""Functions that hold tapes, compiled as a whole, and functions with derivatives of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack, overload

from tapec.callables import P, R, TapeFunction
from tapec.errors import UsageError
from tapec.on_demand import load
from tapec.options import Keywords, Options, chosen, no_aux, no_limit


@overload
def function(f: Callable[P, R], **options: Unpack[Keywords]) -> TapeFunction[P, R]: ...
@overload
def function(f: None = None, **options: Unpack[Keywords]) -> Callable[[Callable[P, R]], TapeFunction[P, R]]: ...
def function(f: Callable[..., Any] | None = None, **options: Unpack[Keywords]) -> Any:
    """Compile a function whose body may hold tapes.

    f        a Python function, lambda or Numba dispatcher; without one, a decorator is returned
    options  as for `tapec.grad`, but for memory
    returns  a function of the same arguments
    raises   UsageError for what is no function with Python source, or for other options;
             TapecError (see tapec.errors) at the first call with a new structure of arguments

    The whole function is compiled, for each structure and types of arguments that it is called
    with.  Variables are read and assigned through their buffers; what is returned keeps its
    structure of tuples, lists and None.

    >>> from tapec import GradientTape, function
    >>> @function
    ... def slope(x):
    ...     with GradientTape() as tape:
    ...         tape.watch(x)
    ...         y = x ** 3
    ...     return tape.gradient(y, x)
    >>> slope(2.0)
    12.0
    """
    wanted = no_aux(no_limit(chosen(options), "tapec.function"), "tapec.function") if options else None
    return _compiled(f, wanted) if f is not None else lambda given: _compiled(given, wanted)


def _compiled(f: Callable[..., Any], options: Options | None) -> Any:
    load("tapec.tape.compiled_function")
    from tapec.tape.compiled_function import compiled_function

    return compiled_function(f, options)


def custom_gradient(f: Callable[P, tuple[R, Callable[..., Any]]]) -> Callable[P, R]:
    """Give a function its own derivative.

    f        returns its value and a function from the value's adjoint to the arguments' adjoints:
             one, or a tuple with one for each argument, None for those without derivative
    returns  a function of the same arguments that returns the value alone

    The derivative is used in reverse mode wherever differentiated code calls the function.

    >>> from tapec import custom_gradient
    >>> @custom_gradient
    ... def clipped(x):
    ...     def gradient(dy):
    ...         return min(max(dy, -1.0), 1.0)
    ...     return x * 3.0, gradient
    >>> clipped(2.0)
    6.0
    """
    load("tapec.tape.custom_gradient")
    from tapec.tape.custom_gradient import with_gradient

    made: Callable[P, R] = with_gradient(f)
    return made


def opaque(f: Callable[P, R], result: Any = None) -> Callable[P, R]:
    """Have differentiated code call a function as it is, whatever it is: its source is not read.

    f        a function of numbers and arrays by position, which returns one number or array: of a C library (ctypes),
             of Numba, or any Python callable, which compiled code calls through Numba's object mode
    result   the type of what it returns, in Numba's notation: "f8", "f8[:, :]"; by default that of what it returns for
             arguments of ones
    returns  a function of the same arguments
    raises   UsageError for what cannot be called

    It cannot write into its arguments.  Its result has no derivative of its own: give one by `custom_gradient`, whose
    function and gradient may call anything.  The same arguments have to give the same result, since a value may be
    computed again, or not at all.

    >>> import operator
    >>> from tapec import custom_gradient, grad, opaque
    >>> cube = opaque(operator.pow)
    >>> @custom_gradient
    ... def cubed(x):
    ...     return cube(x, 3.0), lambda dy: dy * 3.0 * cube(x, 2.0)
    >>> grad(cubed)(2.0)
    12.0
    """
    if not callable(f):
        raise UsageError(f"{f!r} cannot be called")
    load("tapec.tape.custom_gradient")
    from tapec.frontend.opaque_calls import OpaqueFunction

    return OpaqueFunction(f, result)


def register(f: Callable[..., Any], vjp: Callable[..., Any], result: Any = None) -> None:
    """Give a derivative to a function that is not one's own.

    f        the function: of Numba, of a C library (ctypes), or any Python callable that has no derivative yet
    vjp      a function of the result's adjoint, the result, and the arguments of `f`, which returns the adjoints of the
             arguments: one, or a tuple with one for each, None for those without derivative
    result   the type of what `f` returns, as for `opaque`
    raises   UsageError for what cannot be called, and for functions that have a derivative

    Differentiated code that calls `f` from then on calls it as it is (see `opaque`), in reverse mode.

    >>> import ctypes, math
    >>> from tapec import grad, register
    >>> cosine = ctypes.CDLL(None).cos
    >>> cosine.restype, cosine.argtypes = ctypes.c_double, [ctypes.c_double]
    >>> register(cosine, lambda dy, y, x: -dy * math.sin(x))
    >>> grad(lambda x: cosine(x) * x)(0.0)
    1.0
    """
    load("tapec.tape.custom_gradient")
    from tapec.tape.custom_gradient import registered

    registered(f, vjp, result)


def _inside(_ev: Any, args: Any, _kwargs: Any, _node: Any) -> Any:
    """`custom_gradient(f)` in code that is lowered."""
    from tapec.tape.custom_gradient import inner_with_gradient

    return inner_with_gradient(args[0])


def _opaque_inside(_ev: Any, args: Any, _kwargs: Any, _node: Any) -> Any:
    """`opaque(f, result)` in code that is lowered."""
    from tapec.tape.custom_gradient import inner_opaque

    return inner_opaque(args)


setattr(custom_gradient, "__tapec_lower__", _inside)  # noqa: B010
setattr(opaque, "__tapec_lower__", _opaque_inside)  # noqa: B010
