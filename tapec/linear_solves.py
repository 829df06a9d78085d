"""Linear systems with the Jacobian of a residual, solved outside of compiled code: sparse, or by products alone.

Of J y = b, where J is the Jacobian by the first argument, the solution has derivatives of any order, in both modes: its
adjoints solve a system with the transpose of J, which is again one of the kind.

    b_bar = z where J^T z = y_bar,   and the adjoints of what J depends on are those of -z^T J y
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from tapec.api import grad
from tapec.backend.carrier import from_text
from tapec.functions import custom_gradient, opaque
from tapec.product_functions import jvp_fun, vjp_fun
from tapec.products import jvp
from tapec.sparse import sparse_jacobian

# how systems are solved: by arrays, by sparse factors, or by a function of a linear operator and a right side
Linear = Literal["dense", "sparse"] | Callable[[Any, Any], Any]

_TEXT = """
def pushed(x, {listed}, v):
    return jvp_fun(residual)(x, {listed}, v)[1]


def pulled(x, {listed}, v):
    return vjp_fun(residual)(x, {listed}, v)[1]


def weighted(x, {listed}, right, left):
    return -np.sum(left * jvp_fun(residual)(x, {listed}, right)[1])
"""
_SOLVED = """
def {name}(x, {listed}, b):
    y = {name}_solver(x, {listed}, np.ravel(b)).reshape(x.shape)

    def pullback(y_bar):
        z = {other}(x, {listed}, y_bar)
        adjoints = grad(weighted, wrt={wrt})(x, {listed}, {factors})
        return adjoints[0], {adjoints}, z

    return y, pullback
"""
_TANGENT = """
def {name}_tangent(primals, tangents):
    y = {name}(*primals)
    x, {listed}, b = primals
    if {still}:
        return y, {name}(x, {listed}, tangents[{last}])
    change = jvp({product}, (x, {listed}, y), ({moving}, None))[1]
    if tangents[{last}] is None:
        return y, {name}(x, {listed}, -change)
    return y, {name}(x, {listed}, tangents[{last}] - change)
"""


def linear_solves(
    residual: Callable[..., Any], count: int, chosen: tuple[int, ...], linear: Linear
) -> tuple[Any, Any]:
    """Two functions of the unknown, the parameters and a right side: y where J y = b, and where J^T y = b.

    count   of the parameters, of which those at the places `chosen` have derivatives
    """
    values: dict[str, Any] = {"jvp_fun": jvp_fun, "vjp_fun": vjp_fun, "jvp": jvp, "grad": grad, "np": np}
    values |= {"residual": residual, "__name__": __name__}
    last = count + 1
    words = {
        "listed": ", ".join(f"parameter_{k}" for k in range(count)),
        "wrt": (0, *(k + 1 for k in chosen)),
        "adjoints": ", ".join(f"adjoints[{chosen.index(k) + 1}]" if k in chosen else "None" for k in range(count)),
        "still": " and ".join(f"tangents[{k}] is None" for k in range(last)),
        "moving": ", ".join(f"tangents[{k}]" for k in range(last)),
        "last": last,
    }
    for name in ("pushed", "pulled", "weighted"):
        from_text(name, _TEXT.format(**words), values)
    systems = {
        "solved": {"other": "transposed", "factors": "y, z", "product": "pushed"},
        "transposed": {"other": "solved", "factors": "z, y", "product": "pulled"},
    }
    factors = _Factors(residual)
    for name, own in systems.items():
        turned = name == "transposed"
        solver = _ByProducts(residual, linear, turned) if callable(linear) else _Sparse(factors, turned)
        values[f"{name}_solver"] = opaque(solver, "f8[:]")
        values[name] = custom_gradient(from_text(name, _SOLVED.format(name=name, **own, **words), values))
    for name, own in systems.items():
        text = _TANGENT.format(name=name, **own, **words)
        values[name].defjvp(from_text(f"{name}_tangent", text, values))
    return values["solved"], values["transposed"]


def key_of(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """What tells numbers and arrays from others."""
    return tuple((one.shape, one.dtype.str, one.tobytes()) if isinstance(one, np.ndarray) else one for one in arguments)


class _Factors:
    """Sparse factors of a Jacobian; those of the last arguments are kept."""

    def __init__(self, residual: Callable[..., Any]) -> None:
        self.jacobian = sparse_jacobian(residual)
        self.last = threading.local()

    def __call__(self, *arguments: Any) -> Any:
        from scipy.sparse.linalg import splu

        key = key_of(arguments)
        if getattr(self.last, "key", None) != key:
            try:
                self.last.found = splu(self.jacobian(*arguments).tocsc())
            except RuntimeError as error:
                # a singular matrix
                raise np.linalg.LinAlgError(str(error)) from error
            self.last.key = key
        return self.last.found


class _Sparse:
    """The solution by sparse factors."""

    def __init__(self, factors: _Factors, turned: bool) -> None:
        self.factors, self.turned = factors, turned

    def __call__(self, *arguments: Any) -> Any:
        *own, b = arguments
        return self.factors(*own).solve(np.ascontiguousarray(b, np.float64), trans="T" if self.turned else "N")


class _ByProducts:
    """The solution by a function of the user's, which is given the Jacobian, or its transpose, as a linear operator."""

    def __init__(self, residual: Callable[..., Any], linear: Callable[[Any, Any], Any], turned: bool) -> None:
        self.push, self.pull = jvp_fun(residual), vjp_fun(residual)
        self.linear, self.turned = linear, turned

    def __call__(self, *arguments: Any) -> Any:
        from scipy.sparse.linalg import LinearOperator

        *own, b = arguments

        def product(along: Callable[..., Any]) -> Callable[[Any], Any]:
            return lambda v: np.ravel(along(*own, np.array(v, np.float64).reshape(own[0].shape))[1])

        ways = [product(self.push), product(self.pull)]
        matvec, rmatvec = reversed(ways) if self.turned else ways
        operator = LinearOperator((b.size, b.size), matvec=matvec, rmatvec=rmatvec, dtype=np.float64)
        found = np.array(self.linear(operator, np.ascontiguousarray(b, np.float64)), np.float64)
        if found.shape != b.shape:
            raise ValueError(f"the linear solver gives an array of shape {found.shape}, where {b.shape} is needed")
        return found
