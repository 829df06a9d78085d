"""PyTensor and PyMC: a function of NumPy arrays as an operation of a graph, with derivatives of any order.

    pip install 'tapec[pytensor]'

>>> import pytensor
>>> import pytensor.tensor as pt
>>> import tapec.pytensor
>>> def energy(x, k):
...     total = 0.0
...     for i in range(1, x.shape[0]):
...         total += 0.5 * k * (x[i] - x[i - 1]) ** 2
...     return total
>>> spring = tapec.pytensor.wrap(energy)
>>> x = pt.dvector("x")
>>> pytensor.grad(spring(x, 2.0), x).eval({x: [0.0, 1.0, 3.0]})
array([-2., -2.,  4.])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numba
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, grad_undefined
from pytensor.graph.basic import Apply, Constant
from pytensor.graph.op import Op

from tapec.bridge import (
    by_position,
    number,
    positions,
    pullback_function,
    pushforward_function,
    result_types,
    value,
    with_results,
)
from tapec.options import Keywords, Options, chosen


def wrap(f: Callable[..., Any], wrt: Any = None, **options: Unpack[Keywords]) -> DerivativeOp:
    """A function of NumPy arrays as an operation on PyTensor variables, with `L_op` and `R_op`.

    f        a Python function, lambda, closure, Numba dispatcher, method or partial function of real arrays and
             numbers by position, which returns a number, an array or a tuple of those
    wrt      position or name of a parameter, or a tuple of those: a derivative by others is refused; by default all
             inputs of floating-point type but constants
    options  as for `tapec.grad`
    returns  an Op: called with variables, arrays and numbers it returns a variable, or a list of variables for a tuple.
             `f` gets a scalar as a number.  Ranks and dtypes of the results are inferred from those of the inputs,
             static shapes are not.  It can be pickled if `f` can
    raises   TypeError   for inputs that are no dense real tensors, and for results that no variable can hold;
             TapecError  (see tapec.errors) when it is called with new types, also where `f` writes into an input, or,
             for derivatives, when they are taken
    """
    return DerivativeOp(f, wrt, chosen(options))


class DerivativeOp(Op):
    """What `wrap` returns: an Op of PyTensor.

    recipe  of a product with the Jacobian of another Op: the method that makes it, and its arguments
    """

    __props__ = ("f", "wrt", "options")

    def __init__(self, f: Callable[..., Any], wrt: Any, options: Options, recipe: Any = None) -> None:
        self.f, self.wrt, self.options = f, tuple(wrt) if isinstance(wrt, list) else wrt, options
        self._by, self._recipe = positions(f, wrt), recipe
        self._products: dict[Any, DerivativeOp] = {}

    def make_node(self, *inputs: Any) -> Any:
        """The node for these inputs."""
        by_position(self.f, inputs, {})
        variables = [_variable(one) for one in inputs]
        found, _ = result_types(self.f, [_numba_type(one.type) for one in variables])
        outputs = [pt.tensor(dtype=dtype, shape=(None,) * rank) for dtype, rank in found]
        return Apply(self, variables, outputs)

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any) -> None:
        """Compute the results for arrays."""
        arrays = [np.asarray(one) for one in inputs]
        found = value(self.f, tuple(map(_input, arrays)), self.options)
        results = found if isinstance(found, tuple | list) else (found,)
        for one, cell, output in zip(results, output_storage, node.outputs, strict=True):
            array = np.asarray(one, dtype=output.type.dtype)
            # no result may be another name for the memory of an input, or of another result
            if not array.flags.writeable or any(np.may_share_memory(array, other) for other in arrays):
                array = array.copy()
            arrays.append(array)
            cell[0] = array

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        """The adjoints of the inputs, as variables."""
        wrt = tuple(k for k, one in enumerate(inputs) if self._is_source(k, one))
        floats = _floats(outputs)
        seeds = [
            outputs[k].zeros_like() if isinstance(output_grads[k].type, DisconnectedType) else
            pt.cast(output_grads[k], outputs[k].type.dtype)
            for k in floats
        ]
        adjoints: dict[int, Any] = {}
        if wrt and floats:
            adjoints = dict(zip(wrt, self._found("pullback", wrt, [*seeds, *inputs], floats), strict=True))
        return [adjoints.get(k, self._constant(k, one)) for k, one in enumerate(inputs)]

    def R_op(self, inputs: Sequence[Any], eval_points: Any) -> list[Any]:
        """The tangents of the outputs, as variables."""
        outputs = self.make_node(*inputs).outputs
        moving = [
            k for k, one in enumerate(eval_points)
            if one is not None and not isinstance(one.type, DisconnectedType) and _is_float(inputs[k])
        ]
        for k in moving:
            if self._by is not None and k not in self._by:
                raise ValueError(f"input {k} is constant for this Op: `wrt` leaves it out")
        floats = _floats(outputs)
        if not moving or not floats:
            return [None] * len(outputs)
        seeds = [pt.cast(eval_points[k], inputs[k].type.dtype) for k in moving]
        found = self._found("pushforward", tuple(moving), [*seeds, *inputs], floats)
        rates = dict(zip(floats, found, strict=True))
        return [rates.get(k) for k in range(len(outputs))]

    def _found(self, kind: str, wrt: tuple[int, ...], arguments: list[Any], floats: tuple[int, ...]) -> list[Any]:
        """What a product gives, as a list of variables."""
        count = len(arguments) - (len(floats) if kind == "pullback" else len(wrt))
        inputs = arguments[-count:]
        types, several = result_types(self.f, [_numba_type(one.type) for one in inputs])
        product = self.product(kind, wrt, count, floats, len(types) if several else None)
        found = product(*arguments)
        return found if isinstance(found, list) else [found]

    def product(
        self, kind: str, wrt: tuple[int, ...], count: int, floats: tuple[int, ...], several: int | None
    ) -> DerivativeOp:
        """The product with tangents or cotangents, for `count` inputs and `several` outputs, None for no tuple."""
        key = kind, wrt, count, floats, several
        if key not in self._products:
            f = self.f if several in (None, len(floats)) else with_results(self.f, count, floats)
            if kind == "pullback":
                made = pullback_function(f, wrt, count, None if several is None else len(floats))
            else:
                made = pushforward_function(f, wrt, count)
            self._products[key] = DerivativeOp(made, None, self.options, (self.product, key))
        return self._products[key]

    def _is_source(self, position: int, variable: Any) -> bool:
        if self._by is not None:
            return position in self._by and _is_float(variable)
        return _is_float(variable) and not isinstance(variable, Constant)

    def _constant(self, position: int, variable: Any) -> Any:
        if not _is_float(variable):
            return variable.zeros_like(dtype=pytensor.config.floatX)
        return grad_undefined(self, position, variable, "it is a constant, or not in `wrt`")

    def __reduce__(self) -> Any:
        return self._recipe or (DerivativeOp, (self.f, self.wrt, self.options))

    def __str__(self) -> str:
        return f"tapec({getattr(self.f, '__name__', self.f)})"


def _variable(given: Any) -> Any:
    if isinstance(given, int) and not isinstance(given, bool):
        given = np.int64(given)
    return pt.as_tensor_variable(given)


def _numba_type(type_: Any) -> Any:
    """The type of the array, or number, that a variable holds."""
    dtype = np.dtype(type_.dtype)
    if dtype.kind not in "fiub":
        raise TypeError(f"inputs of {dtype} are not supported: pass real arrays and numbers")
    element = numba.from_dtype(dtype)
    return numba.types.Array(element, type_.ndim, "C", readonly=True) if type_.ndim else element


def _input(array: np.ndarray[Any, Any]) -> Any:
    """A number, or an array that may not be written."""
    view = array.view()
    view.flags.writeable = False
    return number(view)


def _is_float(variable: Any) -> bool:
    return np.dtype(variable.type.dtype).kind == "f"


def _floats(outputs: Sequence[Any]) -> tuple[int, ...]:
    return tuple(k for k, one in enumerate(outputs) if _is_float(one))
