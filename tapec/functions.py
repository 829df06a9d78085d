"""Functions that hold tapes, compiled as a whole, and functions with derivatives of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Unpack, overload

from tapec.callables import CustomFunction, P, R, TapeFunction
from tapec.errors import UsageError
from tapec.on_demand import load
from tapec.options import Keywords, Options, chosen, no_aux, no_limit


@overload
def function(
    f: Callable[P, R], *, jit: Literal[True] | None = None, **options: Unpack[Keywords]
) -> TapeFunction[P, R]: ...
@overload
def function(
    f: None = None, *, jit: Literal[True] | None = None, **options: Unpack[Keywords]
) -> Callable[[Callable[P, R]], TapeFunction[P, R]]: ...
def function(
    f: Callable[..., Any] | None = None, *, jit: Literal[True] | None = None, **options: Unpack[Keywords]
) -> Any:
    """Compile a function whose body may hold tapes.

    f        a Python function, lambda or Numba dispatcher; without one, a decorator is returned
    jit      True to compile at the first call; by default a long function runs as Python over whole arrays until
             compilation pays, and so does a call that leaves other objects than it finds
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
    if jit not in (None, True):
        raise UsageError(f"jit must be True or None, not {jit!r}", hint="the function as it is runs as Python")
    wanted = no_aux(no_limit(chosen(options), "tapec.function"), "tapec.function") if options else None
    return _compiled(f, wanted, jit) if f is not None else lambda given: _compiled(given, wanted, jit)


def _compiled(f: Callable[..., Any], options: Options | None, jit: Literal[True] | None) -> Any:
    load("tapec.tape.compiled_functions.compiled_function")
    from tapec.tape.compiled_functions.compiled_function import compiled_function

    return compiled_function(f, options, jit)


def custom_gradient(f: Callable[P, tuple[R, Callable[..., Any]]]) -> CustomFunction[P, R]:
    """Give a function its own derivative, by adjoints.

    f        returns its value, which is a number, an array, or a structure of those, and a function from the value's
             adjoint to the arguments' adjoints: one, or a tuple with one for each argument, None for those without
             derivative.  It takes the adjoints of a tuple one by one.  If it has a parameter `variables`, it is given
             the variables that the function reads in a tape, and returns a pair: those adjoints, and a list of theirs.
             Parameters of `f` that are given by name alone are options, without derivative
    returns  a function of the same arguments that returns the value alone.  Its `defjvp(jvp)` says the tangents as
             well; see `custom_jvp`
    raises   UsageError for what is no function with Python source

    The derivative is used wherever differentiated code calls the function: in reverse mode as it is, in forward mode
    its transpose, unless the tangents are given.  It has to be linear in the adjoint for that.

    >>> from tapec import custom_gradient
    >>> @custom_gradient
    ... def clipped(x):
    ...     def gradient(dy):
    ...         return min(max(dy, -1.0), 1.0)
    ...     return x * 3.0, gradient
    >>> clipped(2.0)
    6.0
    """
    return _with_gradient(f, "custom_gradient")


@overload
def custom_jvp(f: Callable[P, tuple[R, Callable[..., Any]]]) -> CustomFunction[P, R]: ...
@overload
def custom_jvp(f: Callable[P, R]) -> CustomFunction[P, R]: ...
def custom_jvp(f: Callable[..., Any]) -> Any:
    """Give a function its own derivative, by tangents.

    f        returns its value and a function from the arguments' tangents, None for those without derivative, to the
             value's tangent.  Or it returns its value alone, and `defjvp` gives the rule, as in JAX: a function of two
             tuples, the arguments and their tangents, that returns the value and its tangent
    returns  a function of the same arguments that returns the value alone
    raises   UsageError for what is no function with Python source

    The derivative is used wherever differentiated code calls the function: in forward mode as it is, in reverse mode
    its transpose.  It has to be linear in the tangents.

    >>> from tapec import custom_jvp, grad, jvp
    >>> @custom_jvp
    ... def cubed(x):
    ...     return x ** 3
    >>> @cubed.defjvp
    ... def cubed_jvp(primals, tangents):
    ...     x, = primals
    ...     dx, = tangents
    ...     return cubed(x), 3.0 * x ** 2 * dx
    >>> jvp(cubed, (2.0,), (1.0,)), grad(cubed)(2.0), grad(grad(cubed))(2.0)
    ((8.0, 12.0), 12.0, 12.0)
    """
    return _with_gradient(f, "custom_jvp")


def _with_gradient(f: Callable[..., Any], decorator: str) -> Any:
    load("tapec.tape.custom_derivatives.custom_gradient")
    from tapec.tape.custom_derivatives.custom_gradient import with_gradient

    return with_gradient(f, decorator)


def opaque(f: Callable[P, R], result: Any = None) -> Callable[P, R]:
    """Have differentiated code call a function as it is, whatever it is: its source is not read.

    f        a function of numbers, arrays, and objects that are known, such as text, which returns a number, an array,
             or a tuple of those: of a C library (ctypes), of Numba, or any Python callable, which compiled code calls
             through Numba's object mode
    result   the type of what it returns, in Numba's notation: "f8", "f8[:, :]", ("f8", "f8[:]"); by default that of
             what it returns for arguments of ones
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
    load("tapec.tape.custom_derivatives.custom_gradient")
    from tapec.frontend.operations.opaque_calls import OpaqueFunction

    return OpaqueFunction(f, result)


def register(
    f: Callable[..., Any],
    vjp: Callable[..., Any] | None = None,
    result: Any = None,
    *,
    jvp: Callable[..., Any] | None = None,
) -> None:
    """Give a derivative to a function that is not one's own.

    f        the function: of Numba, of a C library (ctypes), or any Python callable that has no derivative yet
    vjp      a function of the result's adjoint, the result, and the arguments of `f`, which returns the adjoints of the
             arguments: one, or a tuple with one for each, None for those without derivative
    jvp      a function of the arguments' tangents, the result, and the arguments, which returns the result's tangent.
             Of several arguments the tangents are a tuple, with None for those without
    result   the type of what `f` returns, as for `opaque`
    raises   UsageError for what cannot be called, and for functions that have a derivative

    Differentiated code that calls `f` from then on calls it as it is (see `opaque`).  One of `vjp` and `jvp` is enough
    if it can be read: the other mode is its transpose.

    >>> import ctypes, math
    >>> from tapec import grad, register
    >>> cosine = ctypes.CDLL(None).cos
    >>> cosine.restype, cosine.argtypes = ctypes.c_double, [ctypes.c_double]
    >>> register(cosine, lambda dy, y, x: -dy * math.sin(x))
    >>> grad(lambda x: cosine(x) * x)(0.0)
    1.0
    """
    load("tapec.tape.custom_derivatives.custom_gradient")
    from tapec.tape.custom_derivatives.custom_gradient import registered

    registered(f, vjp, jvp, result)


def _inside(decorator: str) -> Callable[..., Any]:
    """`custom_gradient(f)` in code that is lowered."""

    def lower(_ev: Any, args: Any, kwargs: Any, _node: Any) -> Any:
        from tapec.tape.custom_derivatives.custom_gradient import inner_with_gradient

        return inner_with_gradient([*args, *kwargs.values()], decorator)

    return lower


def _opaque_inside(_ev: Any, args: Any, kwargs: Any, _node: Any) -> Any:
    """`opaque(f, result)` in code that is lowered."""
    from tapec.tape.custom_derivatives.custom_gradient import inner_opaque

    return inner_opaque(dict(zip(("f", "result"), args, strict=False)) | kwargs)


setattr(custom_gradient, "__tapec_lower__", _inside("custom_gradient"))  # noqa: B010
setattr(custom_jvp, "__tapec_lower__", _inside("custom_jvp"))  # noqa: B010
setattr(opaque, "__tapec_lower__", _opaque_inside)  # noqa: B010
