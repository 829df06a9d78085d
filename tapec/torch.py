"""PyTorch: a function of NumPy arrays as a function of CPU tensors, with derivatives of any order by autograd.

    pip install 'tapec[torch]'

>>> import numpy as np
>>> import torch
>>> import tapec.torch
>>> def energy(x, k):
...     total = 0.0
...     for i in range(1, x.shape[0]):
...         total += 0.5 * k * (x[i] - x[i - 1]) ** 2
...     return total
>>> spring = tapec.torch.wrap(energy)
>>> x = torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64, requires_grad=True)
>>> spring(x, 2.0).backward()
>>> x.grad
tensor([-2., -2.,  4.], dtype=torch.float64)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor

from tapec.bridge import by_position, number, positions, pullback_function, pushforward_function, value, with_results
from tapec.options import Keywords, chosen
from tapec.products import vjp_by


def wrap(f: Callable[..., Any], wrt: Any = None, **options: Unpack[Keywords]) -> TensorFunction:
    """A function of NumPy arrays as a function of CPU tensors that autograd differentiates.

    f        a Python function, lambda, closure, Numba dispatcher, method or partial function of arrays and numbers,
             which returns a number, an array or a tuple of those
    wrt      position or name of a parameter, or a tuple of those: others count as constant; by default all
             floating-point and complex tensors that require a gradient
    options  as for `tapec.grad`
    returns  a function of the same arguments.  `f` gets a tensor of rank 0 as a number, others as arrays that share
             their memory; what is no tensor is passed on.  Results are tensors of the dtypes that `f` computes;
             gradients have the shapes and dtypes of the arguments.  It works under double backward, `gradcheck`,
             `torch.func` and, one item after the other, `torch.vmap`; it can be pickled if `f` can.
    raises   TypeError   for tensors that are not on the CPU, or not dense, for tensors inside lists and other
             containers, and for results that no tensor can hold;
             TapecError  (see tapec.errors) at the first call with new argument types, also where `f` writes into a
             tensor: autograd would not know of it
    """
    return TensorFunction(f, wrt, **options)


class TensorFunction:
    """What `wrap` returns for PyTorch."""

    def __init__(self, f: Callable[..., Any], wrt: Any = None, **options: Unpack[Keywords]) -> None:
        self.f, self.wrt, self.options = f, wrt, options
        self._chosen, self._by = chosen(options), positions(f, wrt)
        self._products: dict[Any, TensorFunction] = {}
        functools.update_wrapper(self, f, updated=())

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        arguments, by_name = by_position(self.f, arguments, named)
        for argument in (*arguments, *by_name.values()):
            _check_no_tensor_inside(argument)
        if by_name:
            if any(isinstance(one, Tensor) for one in by_name.values()):
                raise TypeError(f"tensors cannot be given by name alone: {', '.join(sorted(by_name))}")
            return TensorFunction(functools.partial(self.f, **by_name), self.wrt, **self.options)(*arguments)
        places = tuple(k for k, one in enumerate(arguments) if isinstance(one, Tensor))
        tensors = [self._source(k, arguments[k]) for k in places]
        call = _Call(self, arguments, places)
        results = _Apply.apply(call, *tensors) if tensors else call.run(())
        return results if call.count is not None else results[0]

    def _source(self, position: int, tensor: Tensor) -> Tensor:
        return tensor if self._by is None or position in self._by else tensor.detach()

    def pullback(self, wrt: tuple[int, ...], call: _Call) -> TensorFunction:
        """The product with cotangents from the left, of the results of float type."""
        cotangents = None if call.count is None else len(call.floats)
        return self._product(pullback_function, wrt, call, cotangents)

    def pushforward(self, wrt: tuple[int, ...], call: _Call) -> TensorFunction:
        """The product with tangents from the right, of the results of float type."""
        return self._product(pushforward_function, wrt, call)

    def _product(self, make: Callable[..., Any], wrt: tuple[int, ...], call: _Call, *more: Any) -> TensorFunction:
        key = make, wrt, len(call.others), call.floats, call.count
        if key not in self._products:
            f = self.f
            if call.count is not None and len(call.floats) < call.count:
                f = with_results(f, len(call.others), call.floats)
            self._products[key] = TensorFunction(make(f, wrt, len(call.others), *more), **self.options)
        return self._products[key]

    def __reduce__(self) -> Any:
        return functools.partial(TensorFunction, **self.options), (self.f, self.wrt)

    def __repr__(self) -> str:
        return f"<tapec function of tensors {getattr(self, '__name__', self.f)}>"


class _Call:
    """One call: its arguments but for the tensors, which autograd keeps, and what the reverse sweep needs.

    places  the positions of the tensors
    wrt     those of the tensors that require a gradient
    count   how many results `f` returns as a tuple; None for a single one
    floats  the positions of those of floating-point or complex type
    pull    the product with cotangents of all results, once it is known
    """

    def __init__(self, function: TensorFunction, arguments: tuple[Any, ...], places: tuple[int, ...]) -> None:
        self.function, self.places = function, places
        self.wrt = tuple(k for k in places if torch.is_grad_enabled() and arguments[k].requires_grad)
        self.others = tuple(None if k in places else one for k, one in enumerate(arguments))
        self.count: int | None = None
        self.floats: tuple[int, ...] = ()
        self.pull: Any = None

    def filled(self, tensors: Any) -> tuple[Any, ...]:
        """All arguments, with tensors, or what stands for them, in their places."""
        arguments = list(self.others)
        for place, tensor in zip(self.places, tensors, strict=True):
            arguments[place] = tensor
        return tuple(arguments)

    def run(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The results; what the reverse sweep needs is kept if a gradient is required."""
        arguments = self.filled(map(_input, tensors))
        f, how = self.function.f, self.function._chosen
        if self.wrt:
            found, self.pull = vjp_by(f, self.wrt, arguments, how)
        else:
            found = value(f, arguments, how)
        several = isinstance(found, tuple | list)
        self.count = len(found) if several else None
        shared = [one for one in arguments if isinstance(one, np.ndarray)]
        return self.noted(tuple(_output(one, shared) for one in (found if several else (found,))))

    def noted(self, results: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The results, of which it is noted what carries a derivative."""
        self.floats = tuple(k for k, one in enumerate(results) if _carries_derivative(one))
        return results

    def adjoints(self, wrt: tuple[int, ...], cotangents: tuple[Tensor, ...], tensors: tuple[Tensor, ...]) -> Any:
        """The adjoints of the arguments at `wrt`, as tensors that are differentiable if they have to be."""
        if self.pull is None or torch.is_grad_enabled():
            function = self.function.pullback(wrt, self)
            return function(*(cotangents[k] for k in self.floats), *self.filled(tensors))
        seeds = tuple(map(_input, cotangents))
        found = self.pull(seeds[0] if self.count is None else seeds)
        return tuple(_output(found[k], []) for k in wrt)


class _Apply(torch.autograd.Function):
    """The node of autograd's graph."""

    @staticmethod
    def forward(call: _Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        return call.run(tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.call = inputs[0]
        ctx.save_for_backward(*inputs[1:])
        ctx.save_for_forward(*inputs[1:])
        ctx.mark_non_differentiable(*(one for one in output if not _carries_derivative(one)))

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:
        call, tensors = ctx.call, ctx.saved_tensors
        wrt = tuple(k for k, needed in zip(call.places, ctx.needs_input_grad[1:], strict=True) if needed)
        found = dict(zip(wrt, call.adjoints(wrt, cotangents, tensors), strict=True))
        return None, *map(found.get, call.places)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> Any:
        call, tensors = ctx.call, ctx.saved_tensors
        moving = {k: one for k, one in zip(call.places, tangents, strict=True) if one is not None}
        rates = call.function.pushforward(tuple(moving), call)(*moving.values(), *call.filled(tensors))
        if call.count is None:
            return (rates,)
        found = dict(zip(call.floats, rates, strict=True))
        return tuple(map(found.get, range(call.count)))

    @staticmethod
    def vmap(info: Any, axes: tuple[Any, ...], call: _Call, *tensors: Tensor) -> Any:
        rows = []
        for item in range(info.batch_size):
            own = [one if axis is None else one.select(axis, item) for one, axis in zip(tensors, axes[1:], strict=True)]
            found = call.function(*call.filled(own))
            rows.append(found if isinstance(found, tuple) else (found,))
            call.count = len(found) if isinstance(found, tuple) else None
        if not rows:
            raise ValueError("torch.vmap over an axis of length 0: the shape of the results is not known")
        return call.noted(tuple(map(torch.stack, zip(*rows, strict=True)))), (0,) * len(rows[0])


def _carries_derivative(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _input(tensor: Tensor) -> Any:
    """A tensor as a number, or as an array that shares its memory and may not be written."""
    if tensor.device.type != "cpu":
        raise TypeError(f"a tensor is on the device {tensor.device}; compiled code runs on the CPU: call .cpu() first")
    if tensor.layout is not torch.strided:
        raise TypeError(f"a tensor has the layout {tensor.layout}; call .to_dense() first")
    # conjugation and negation are done lazily: NumPy needs them done
    plain = tensor.detach().resolve_conj().resolve_neg()
    try:
        array = plain.numpy()
    except TypeError as error:
        raise TypeError(f"tensors of {tensor.dtype} are not supported; convert them to float32 or float64") from error
    array.flags.writeable = False
    return number(array)


def _output(found: Any, taken: list[np.ndarray[Any, Any]]) -> Tensor:
    """A result as a tensor with memory that none of the arrays `taken` shares; it joins them."""
    if not isinstance(found, np.ndarray | np.generic | float | int | complex):
        raise TypeError(f"no tensor can hold a result of {type(found)}: return a number, an array or a tuple of those")
    array = np.asarray(found)
    usable = array.flags.writeable and all(step >= 0 for step in array.strides)
    if not usable or any(np.may_share_memory(array, one) for one in taken):
        array = array.copy()
    taken.append(array)
    return torch.from_numpy(array)


def _check_no_tensor_inside(argument: Any) -> None:
    items = argument.values() if isinstance(argument, dict) else argument
    if isinstance(argument, tuple | list | dict):
        for one in items:
            if isinstance(one, Tensor):
                raise TypeError("a tensor inside a container has no gradient: pass tensors as arguments of their own")
            _check_no_tensor_inside(one)
