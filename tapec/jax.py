"""JAX: a function of NumPy arrays as a function of JAX arrays, under `jit`, `grad`, `jvp`, `vmap` and their nests.

    pip install 'tapec[jax]'

>>> import jax
>>> import jax.numpy as jnp
>>> import tapec.jax
>>> def energy(x, k):
...     total = 0.0
...     for i in range(1, x.shape[0]):
...         total += 0.5 * k * (x[i] - x[i - 1]) ** 2
...     return total
>>> spring = tapec.jax.wrap(energy)
>>> x = jnp.array([0.0, 1.0, 3.0])
>>> jax.jit(jax.grad(spring))(x, 2.0)
Array([-2., -2.,  4.], dtype=float32)
>>> jax.hessian(spring)(x, 2.0)
Array([[ 2., -2.,  0.],
       [-2.,  4., -2.],
       [ 0., -2.,  2.]], dtype=float32)

A call is one primitive.  Its derivative is the primitive of the product with a tangent, whose transpose is that of the
product with a cotangent; both are functions again, to any order.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, Unpack, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from numba.core.errors import NumbaError

from tapec.api import compiled_program
from tapec.backend.carrier import from_text
from tapec.bridge import by_position, number, pullback_function, pushforward_function, value, with_results
from tapec.errors import TapecError
from tapec.jax_handlers import register
from tapec.options import Keywords, Options, chosen


def wrap(f: Callable[..., Any], result: Any = None, **options: Unpack[Keywords]) -> JaxFunction:
    """A function of NumPy arrays as a function of JAX arrays that JAX transforms.

    f        a Python function, lambda, closure, Numba dispatcher, method or partial function of arrays and numbers,
             which returns a number, an array or a tuple of those
    result   what `f` returns: a `jax.ShapeDtypeStruct`, a tuple of those, or a function of the arguments' structures
             that returns one.  By default it is asked for ones of the arguments' shapes and dtypes when JAX traces
             a call: give it where `f` cannot be called with ones, or the shape depends on values
    options  as for `tapec.grad`
    returns  a function of the same arguments: arrays, numbers, and dicts, lists and tuples of those; None, text and
             functions are static.  `f` gets an array of rank 0 as a number.  Results have the dtypes that `f` computes,
             as far as JAX has them enabled.  On the CPU a program that JAX compiles calls ours without Python; what
             jitted code cannot call, and programs for other devices, go through `jax.pure_callback`.  Under `vmap`
             calls go one after the other
    raises   TypeError   for complex arrays, static arguments without a hash, and results that JAX has no arrays for;
             ValueError  where a result has another shape or kind of number than JAX was told;
             TapecError  (see tapec.errors) when JAX traces the first call with new argument types, also where `f`
             writes into an argument.  What is raised while a compiled program runs, JAX reports as an error of its
             own, with the text
    """
    return JaxFunction(f, result, **options)


class JaxFunction:
    """What `wrap` returns for JAX."""

    def __init__(self, f: Callable[..., Any], result: Any = None, **options: Unpack[Keywords]) -> None:
        self.f, self.result, self.options = f, result, options
        self._chosen = chosen(options)
        self._nodes: dict[Any, _Node] = {}
        functools.update_wrapper(self, f, updated=())

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        arguments, by_name = by_position(self.f, arguments, named)
        leaves: list[Any] = []
        statics: list[Any] = []
        texts = [_structure(one, leaves, statics) for one in arguments]
        texts += [f"{name}={_structure(one, leaves, statics)}" for name, one in by_name.items()]
        key = tuple(texts), tuple(statics)
        if key not in self._nodes:
            self._nodes[key] = self._node(texts, len(leaves), statics)
        node = self._nodes[key]
        found = call_p.bind(*map(jnp.asarray, leaves), node=node)
        return tuple(found) if node.several else found[0]

    def _node(self, texts: list[str], count: int, statics: list[Any]) -> _Node:
        """The function of the leaves of the arguments, one by one."""
        heads = ", ".join(f"leaf_{k}" for k in range(count))
        text = f"def flat({heads}):\n    return f({', '.join(texts)})\n"
        named = {f"static_{k}": one for k, one in enumerate(statics)}
        flat = from_text("flat", text, {"f": self.f, "__name__": __name__, **named})
        given = self.result
        if callable(given):
            # the structures of the arguments, as the user's function takes them
            structures = from_text("flat", text, {"f": given, "__name__": __name__, **named})
            return _Node(flat, count, structures, self._chosen)
        return _Node(flat, count, None if given is None else lambda *_: given, self._chosen)

    def __reduce__(self) -> Any:
        return functools.partial(JaxFunction, **self.options), (self.f, self.result)

    def __repr__(self) -> str:
        return f"<tapec function of JAX arrays {getattr(self, '__name__', self.f)}>"


def _structure(argument: Any, leaves: list[Any], statics: list[Any]) -> str:
    """The text that makes an argument from its leaves, which are noted, as is what is static."""
    if isinstance(argument, dict) and all(isinstance(key, str) for key in argument):
        return "{" + ", ".join(f"{key!r}: {_structure(one, leaves, statics)}" for key, one in argument.items()) + "}"
    if isinstance(argument, tuple) and hasattr(argument, "_fields"):
        statics.append(type(argument))
        made = f"static_{len(statics) - 1}"
        return f"{made}({', '.join(_structure(one, leaves, statics) for one in argument)})"
    if isinstance(argument, tuple | list):
        items = "".join(f"{_structure(one, leaves, statics)}, " for one in argument)
        return f"[{items}]" if isinstance(argument, list) else f"({items})"
    if isinstance(argument, jax.Array | np.ndarray | np.generic | float | int | complex):
        leaves.append(argument)
        return f"leaf_{len(leaves) - 1}"
    hash(argument)
    statics.append(argument)
    return f"static_{len(statics) - 1}"


class _Node:
    """A function of numbers and arrays by position, and its products with tangents and cotangents.

    several  whether it returns a tuple, which is known once it has been called or its results are known
    floats   the positions of its results of floating-point type, known then, too
    linear   how many of its arguments, of the first ones, it is linear in
    """

    several = False
    floats: tuple[int, ...] = ()
    linear = 0

    @property
    def is_told(self) -> bool:
        """Whether the user says what is returned."""
        return self._result is not None

    def __init__(
        self, f: Callable[..., Any], count: int, result: Callable[..., Any] | None, options: Options
    ) -> None:
        self.f, self.count, self.options = f, count, options
        self._result = result
        self._known: dict[Any, tuple[jax.ShapeDtypeStruct, ...]] = {}
        self._products: dict[Any, _Node] = {}
        self._handlers: dict[Any, str | None] = {}

    def results(self, arguments: Sequence[Any]) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Shapes and dtypes of the results, for those of arguments."""
        key = tuple((one.shape, one.dtype) for one in arguments)
        if key not in self._known:
            self._known[key] = self._find_results(arguments)
        return self._known[key]

    def _find_results(self, arguments: Sequence[Any]) -> tuple[jax.ShapeDtypeStruct, ...]:
        if self._result is None:
            try:
                found = self.computed(*(np.ones(one.shape, one.dtype) for one in arguments))
            except Exception as error:
                error.add_note(
                    "tapec.jax.wrap called the function with ones, to tell JAX the shapes of what it returns; "
                    "its argument `result` tells them otherwise"
                )
                raise
            return tuple(map(_structure_of, found))
        given = self._result(*(jax.ShapeDtypeStruct(one.shape, one.dtype) for one in arguments))
        self.several = isinstance(given, tuple | list)
        return self._noted(tuple(map(_structure_of, given if self.several else (given,))))

    def _noted(self, results: Any) -> Any:
        self.floats = tuple(k for k, one in enumerate(results) if jnp.issubdtype(one.dtype, jnp.floating))
        self.results_count = len(results)
        return results

    def computed(self, *arguments: Any) -> list[np.ndarray[Any, Any]]:
        """The results for arrays, with the dtypes that the function computes."""
        arrays = tuple(map(_input, arguments))
        found = value(self.f, arrays, self.options)
        self.several = isinstance(found, tuple | list)
        results: list[Any] = self._noted([_output(one) for one in (found if self.several else (found,))])
        return results

    def run(self, *arguments: Any) -> tuple[np.ndarray[Any, Any], ...]:
        """The results for arrays, as JAX was told that they are."""
        expected = self.results(arguments)
        found = self.computed(*arguments)
        if len(found) != len(expected):
            raise ValueError(f"the function returns {len(found)} results, not {len(expected)} as JAX was told")
        for one, told in zip(found, expected, strict=True):
            if one.shape != told.shape or not np.can_cast(one.dtype, told.dtype, "same_kind"):
                raise ValueError(
                    f"the function returns an array of shape {one.shape} and dtype {one.dtype}, but JAX was told "
                    f"{told.shape} and {told.dtype}; give the argument `result` of tapec.jax.wrap"
                )
        return tuple(one.astype(told.dtype, copy=False) for one, told in zip(found, expected, strict=True))

    def handler(self, arguments: Sequence[Any]) -> str | None:
        """What XLA calls for arguments of these dtypes and ranks; None where Python is to be called."""
        results = self.results(arguments)
        key = tuple((np.dtype(one.dtype), len(one.shape)) for one in (*arguments, *results))
        if key not in self._handlers:
            kinds = key[: len(arguments)], key[len(arguments) :]
            function = cast(types.FunctionType, self.f)
            try:
                program = compiled_program(function, (_Node, function, self.count, None, self.options), self.options)
                self._handlers[key] = register(program, *kinds, self.several, self.run)
            except (TapecError, NumbaError):
                self._handlers[key] = None
        return self._handlers[key]

    def pushforward(self, wrt: tuple[int, ...]) -> _Node:
        """The product with tangents of the arguments at `wrt`: those of the results of floating-point type."""
        return self._product(_Pushforward, wrt, len(wrt))

    def pullback(self, wrt: tuple[int, ...]) -> _Node:
        """The adjoints of the arguments at `wrt`, for cotangents of the results of floating-point type."""
        return self._product(_Pullback, wrt, len(self.floats))

    def _product(self, kind: type[_Product], wrt: tuple[int, ...], linear: int) -> _Node:
        if (kind, wrt) not in self._products:
            self._products[kind, wrt] = kind(self, wrt, linear)
        return self._products[kind, wrt]

    @property
    def in_floats(self) -> Any:
        """The function with results of floating-point type alone."""
        if self.several and len(self.floats) < self.results_count:
            return with_results(self.f, self.count, self.floats)
        return self.f


class _Product(_Node):
    """A product with the Jacobian of another node by its arguments at `wrt`."""

    def __init__(self, of: _Node, wrt: tuple[int, ...], linear: int) -> None:
        super().__init__(self.function(of, wrt, linear), linear + of.count, None, of.options)
        self.of, self.wrt, self.linear = of, wrt, linear

    def _find_results(self, arguments: Sequence[Any]) -> tuple[jax.ShapeDtypeStruct, ...]:
        # what cannot be compiled is an error when JAX traces, not when the program runs
        super()._find_results(arguments)
        return self.told(arguments[self.linear :])

    @property
    def is_told(self) -> bool:
        return self.of.is_told

    @staticmethod
    def function(of: _Node, wrt: tuple[int, ...], linear: int) -> Any:
        """The product as a function."""
        raise NotImplementedError

    def told(self, arguments: Sequence[Any]) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Shapes and dtypes of the results, for arguments of the other node."""
        raise NotImplementedError

    def transposed(self, undefined: list[int], seeds: list[Any], arguments: list[Any]) -> list[Any]:
        """Adjoints of the linear arguments at the positions `undefined`, for those of the results."""
        raise NotImplementedError


class _Pushforward(_Product):
    @staticmethod
    def function(of: _Node, wrt: tuple[int, ...], linear: int) -> Any:
        return pushforward_function(of.in_floats, wrt, of.count)

    def told(self, arguments: Sequence[Any]) -> tuple[jax.ShapeDtypeStruct, ...]:
        results = self.of.results(arguments)
        return tuple(results[k] for k in self.of.floats)

    def transposed(self, undefined: list[int], seeds: list[Any], arguments: list[Any]) -> list[Any]:
        node = self.of.pullback(tuple(self.wrt[k] for k in undefined))
        return list(call_p.bind(*seeds, *arguments, node=node))


class _Pullback(_Product):
    @staticmethod
    def function(of: _Node, wrt: tuple[int, ...], linear: int) -> Any:
        return pullback_function(of.in_floats, wrt, of.count, linear if of.several else None)

    def told(self, arguments: Sequence[Any]) -> tuple[jax.ShapeDtypeStruct, ...]:
        return tuple(_structure_of(arguments[k]) for k in self.wrt)

    def transposed(self, undefined: list[int], seeds: list[Any], arguments: list[Any]) -> list[Any]:
        found = call_p.bind(*seeds, *arguments, node=self.of.pushforward(self.wrt))
        return [found[k] for k in undefined]


def _structure_of(array: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))


def _input(argument: Any) -> Any:
    """An array of JAX as a number, or as an array that may not be written."""
    array = np.asarray(argument)
    if array.dtype.kind == "c":
        raise TypeError("complex arrays are not supported: pass real and imaginary part")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"arrays of {argument.dtype} are not supported: convert them to float32 or float64")
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return number(array)


def _output(found: Any) -> np.ndarray[Any, Any]:
    real = isinstance(found, np.ndarray | np.generic | float | int)
    array = np.asarray(found)
    if not real or array.dtype.kind not in "fiub":
        raise TypeError(f"JAX has no array for a result of {type(found)}: return a real number, an array or a tuple")
    return array


call_p = Primitive("tapec_call")
call_p.multiple_results = True


@call_p.def_impl
def _run(*arguments: Any, node: _Node) -> list[Any]:
    arrays = map(jnp.asarray, arguments)
    return list(map(jnp.asarray, node.run(*arrays) if node.is_told else node.computed(*arrays)))


@call_p.def_abstract_eval
def _avals(*arguments: Any, node: _Node) -> list[Any]:
    return [jax.core.ShapedArray(one.shape, one.dtype) for one in node.results(arguments)]


def _callback(*arguments: Any, node: _Node) -> Any:
    return jax.pure_callback(node.run, node.results(arguments), *arguments, vmap_method="sequential")


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, node: _Node) -> tuple[Any, Any]:
    found = call_p.bind(*primals, node=node)
    moving = tuple(k for k, one in enumerate(tangents) if type(one) is not ad.Zero and one.dtype != jax.dtypes.float0)
    if not moving or not node.floats:
        return found, list(map(_no_tangent, found))
    rates = call_p.bind(*(tangents[k] for k in moving), *primals, node=node.pushforward(moving))
    known = dict(zip(node.floats, rates, strict=True))
    return found, [known[k] if k in known else _no_tangent(one) for k, one in enumerate(found)]


def _no_tangent(result: Any) -> Any:
    return ad.Zero(jax.typeof(result).to_tangent_aval())


def _transpose(cotangents: Sequence[Any], *arguments: Any, node: _Product) -> list[Any]:
    undefined = [k for k, one in enumerate(arguments[: node.linear]) if ad.is_undefined_primal(one)]
    seeds = [jnp.zeros(one.aval.shape, one.aval.dtype) if type(one) is ad.Zero else one for one in cotangents]
    found = dict(zip(undefined, node.transposed(undefined, seeds, list(arguments[node.linear :])), strict=True))
    return [found.get(k) for k in range(len(arguments))]


def _batched(arguments: Sequence[Any], axes: Sequence[Any], *, node: _Node) -> tuple[Any, Any]:
    rows = [jnp.moveaxis(one, axis, 0) for one, axis in zip(arguments, axes, strict=True) if axis is not None]

    def one_item(items: list[Any]) -> Any:
        own = iter(items)
        every = [one if axis is None else next(own) for one, axis in zip(arguments, axes, strict=True)]
        return call_p.bind(*every, node=node)

    found = jax.lax.map(one_item, rows)
    return found, [0] * len(found)


_in_python = mlir.lower_fun(_callback, multiple_results=True)


def _compiled(context: Any, *operands: Any, node: _Node) -> Any:
    handler = node.handler(context.avals_in)
    if handler is None:
        return _in_python(context, *operands, node=node)
    return jax.ffi.ffi_lowering(handler)(context, *operands)


mlir.register_lowering(call_p, _in_python)
mlir.register_lowering(call_p, _compiled, platform="cpu")
ad.primitive_jvps[call_p] = _jvp
ad.primitive_transposes[call_p] = _transpose
batching.primitive_batchers[call_p] = _batched
