"""What type checkers make of the public functions; `test_public_types.py` has mypy read it, nothing runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type, reveal_type

import numpy as np
from numpy.typing import NDArray

import tapec
from tapec.callables import DerivativeFunction

Vector = NDArray[np.float64]


def energy(u: Vector, stiffness: float = 1.0) -> float:
    return 0.5 * stiffness * float(u @ u)


u = np.ones(3)

# a derivative has the parameters of its function
reveal_type(tapec.grad(energy))
reveal_type(tapec.grad(tapec.grad(energy)))
reveal_type(tapec.value_and_grad(energy, wrt=("u", 1), opt_level=1))
reveal_type(tapec.jacobian(energy, mode="forward"))
assert_type(tapec.value_and_grad(energy)(u, stiffness=2.0), tuple[float, Any])
assert_type(tapec.hessian(energy, wrt="u").source(), str)
assert_type(tapec.hvp(energy), DerivativeFunction[..., Any])
assert_type(tapec.jvp(energy, (u, 1.0), (u, None)), tuple[float, float])
assert_type(tapec.vjp(energy, u, 1.0, memory="1MB"), tuple[float, Callable[[Any], tuple[Any, ...]]])
energy_gradient: Callable[[Vector, float], Vector] = tapec.grad(energy)


# so it has as a decorator, bare and with options
@tapec.grad
def bare(u: Vector, n: int) -> float:
    return 1.0


@tapec.value_and_grad(wrt="u", strict=True)
def with_options(u: Vector, n: int) -> float:
    return 1.0


@tapec.hvp(wrt="u")
def product(u: Vector, n: int) -> float:
    return 1.0


assert_type(tapec.sparse_jacobian(energy)(u, stiffness=2.0), Any)
assert_type(tapec.sparse_hessian(energy, wrt="u", strict=True).source(), str)


@tapec.sparse_hessian(wrt="u")
def sparse(u: Vector, n: int) -> float:
    return 1.0


@tapec.function
def whole(u: Vector) -> tuple[float, Vector]:
    return 1.0, u


@tapec.function(opt_level=1)
def whole_with_options(u: Vector) -> tuple[float, Vector]:
    return 1.0, u


@tapec.custom_gradient
def clipped(x: float) -> tuple[float, Callable[[float], float]]:
    return x, lambda dx: dx


@tapec.custom_jvp
def squared(x: float) -> tuple[float, Callable[[float], float]]:
    return x * x, lambda dx: 2.0 * x * dx


@tapec.custom_jvp
def cubed(x: float) -> float:
    return x**3


@cubed.defjvp
def cubed_jvp(primals: tuple[float], tangents: tuple[float]) -> tuple[float, float]:
    return cubed(*primals), 3.0 * primals[0] ** 2 * tangents[0]


class Model:
    def loss(self, x: float) -> float:
        return x

    @tapec.grad(wrt="x")
    def slope(self, x: float) -> float:
        return x


reveal_type(bare)
assert_type(with_options(u, 1), tuple[float, Any])
assert_type(product, DerivativeFunction[..., Any])
reveal_type(whole)
assert_type(whole_with_options(u), tuple[float, Vector])
assert_type(clipped(2.0), float)
assert_type(squared(2.0), float)
assert_type(cubed(2.0), float)
assert_type(tapec.opaque(clipped)(2.0), float)
reveal_type(tapec.grad(Model().loss))
assert_type(Model().slope(1.0), Any)

# what is wrong is found: an unused `ignore` is an error
bare(u)  # type: ignore[call-arg]
bare(u, n="many")  # type: ignore[arg-type]
tapec.grad(energy, wrt=1.5)  # type: ignore[call-overload]
tapec.grad(energy, opt_levle=1)  # type: ignore[call-overload]
tapec.jacobian(energy, mode="sideways")  # type: ignore[call-overload]
tapec.vjp(energy, u, 1.0)[0].missing  # type: ignore[attr-defined]
