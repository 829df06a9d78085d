"""Derivatives of every kind, called inside a function that is itself differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError, TypeMismatch, UnsupportedSyntax
from tests.oracles import check, interpreted
from tests.sampling import sampled

X = np.array([0.3, 0.5, 0.7])


def inner(u, s):
    return (u * u * u).sum() * s


def beside(found, rest):
    return found.sum() * rest[0][1] * rest[1] + rest[2]


SEVERAL = tapec.vjp_fun(inner, 1, directions=True)

KINDS: dict[str, Callable[..., Any]] = {
    "grad": lambda x, s: tapec.grad(inner)(x, s)[0],
    "grad by a name": lambda x, s: tapec.grad(inner, "s")(x, s),
    "grad by keywords": lambda x, s: tapec.grad(f=inner, wrt=-1)(u=x, s=s),
    "grad by both": lambda x, s: tapec.grad(inner, (0, 1))(x, s)[1],
    "grad by one twice": lambda x, s: tapec.grad(inner, (0, -2, "s"))(x, s)[1].sum(),
    "more results": lambda x, s: tapec.value_and_grad(lambda u: (inner(u, s), u[0] * s), has_aux=True)(x)[0][1],
    "jacobian and more": lambda x, s: beside(*tapec.jacobian(lambda u: (u * u * s, (u, 2, s)), has_aux=True)(x)),
    "hessian and more": lambda x, s: beside(*tapec.hessian(lambda u: (inner(u, s), (u, 2, s)), has_aux=True)(x)),
    "hvp and more": lambda x, s: beside(*tapec.hvp(lambda u: (inner(u, s), (u, 2, s)), has_aux=True)(x, x)),
    "jacobian": lambda x, s: tapec.jacobian(lambda u: u * u * s)(x)[0, 0],
    "hessian": lambda x, s: tapec.hessian(inner)(x, s)[0, 0],
    "hvp": lambda x, s: tapec.hvp(inner)(x, s, x)[0],
    "hvp by both": lambda x, s: tapec.hvp(inner, (0, 1))(x, s, (x, s))[1],
    "jvp_fun": lambda x, s: tapec.jvp_fun(inner)(x, s, x)[1],
    "jvp_fun by the last": lambda x, s: tapec.jvp_fun(inner, -1)(x, s, s)[1],
    "jvp_fun in another order": lambda x, s: tapec.jvp_fun(inner, (1, 0))(x, s, s, x)[1],
    "jvp_fun by a name": lambda x, s: tapec.jvp_fun(inner, "s")(x, s, s)[1],
    "vjp_fun": lambda x, s: tapec.vjp_fun(inner)(x, s, 2.0)[1][0],
    "vjp_fun by one twice": lambda x, s: tapec.vjp_fun(inner, (0, 0))(x, s, 2.0)[1][1][0],
}


@pytest.mark.parametrize("kind", sampled(list(KINDS), 8))
def test_as_python_computes_it(kind: str):
    """The value, and its own derivatives."""
    with interpreted():
        check(KINDS[kind], (X, 1.3), forward_level=0)


REFUSED: list[tuple[Callable[..., Any], type[TapecError], str]] = [
    (lambda x, s: tapec.jvp_fun(inner, 5)(x, s, s)[1], UnsupportedSyntax, "there are no arguments 5"),
    (lambda x, s: tapec.jvp_fun(inner, -3)(x, s, s)[1], UnsupportedSyntax, "there are no arguments -3"),
    (lambda x, s: tapec.jvp_fun(inner, "z")(x, s, s)[1], UnsupportedSyntax, "there are no arguments z"),
    (lambda x, s: tapec.jvp_fun(inner, (1, -1))(x, s, s, s)[1], UnsupportedSyntax, "names an argument twice"),
    (lambda x, s: tapec.hvp(inner, (0, 0))(x, s, (x, x))[0][0], UnsupportedSyntax, "names an argument twice"),
    (lambda x, s: tapec.jvp_fun(inner)(x, s)[1], TypeMismatch, "needs a value for `s`"),
    (lambda x, s: tapec.hvp(inner)()[0], UnsupportedSyntax, "needs its vector"),
    (lambda x, s: tapec.vjp_fun(inner)()[0], TypeMismatch, "takes its cotangent"),
    (lambda x, s: tapec.grad(inner, nothing=0)(x, s)[0], UnsupportedSyntax, "no option `nothing`"),
    (lambda x, s: tapec.jvp_fun(inner, has_aux=True)(x, s, x)[1], UnsupportedSyntax, "`has_aux` of `jvp`"),
    (lambda x, s: tapec.jvp_fun(inner, directions=True)(x, s, x)[1], UnsupportedSyntax, "several directions"),
    (lambda x, s: SEVERAL(x, s, np.ones(2))[1][0], UnsupportedSyntax, "several directions"),
    (lambda x, s: tapec.grad(inner, has_aux=s > 0)(x, s)[0], UnsupportedSyntax, "`has_aux` of `grad`"),
    (lambda x, s: tapec.grad(inner, int(s))(x, s), UnsupportedSyntax, "wrt must be known"),
]


@pytest.mark.parametrize(("f", "error", "says"), REFUSED, ids=[one[2] for one in REFUSED])
def test_refusals(f: Callable[..., Any], error: type[TapecError], says: str):
    with interpreted(), pytest.raises(error, match=says):
        tapec.value_and_grad(f)(X, 1.3)


def test_a_derivative_is_a_value():
    """It is passed on and kept, with what its function has from outside."""

    def applied(derivatives, x, s):
        first, second = derivatives
        return first(x, s)[1] * second(x, s)[0]

    def f(x, s):
        kept = [tapec.grad(inner), tapec.grad(lambda u, t: (u * u).sum() * t * x[0])]
        return applied(kept, x, s)

    with interpreted():
        check(f, (X, 1.3), forward_level=0)
