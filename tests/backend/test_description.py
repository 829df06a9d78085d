"""What derivatives say of themselves."""

from __future__ import annotations

import doctest
import functools
import pickle
import pydoc

import pytest
from numba import njit

import tapec
from tapec.backend import description


@njit
def energy(u, stiffness):
    """Energy of a chain of springs.

    u  displacements
    """
    return 0.5 * stiffness * u * u


def scaled(x, *factors):
    return x * factors[0] * factors[1]


class Model:
    def loss(self, x):
        return x * x


def helped(thing: object) -> str:
    return pydoc.plain(pydoc.render_doc(thing))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (tapec.grad, "The gradient of `energy` with respect to `u`."),
        (tapec.value_and_grad, "The value of `energy` and its gradient with respect to `u`."),
        (tapec.jacobian, "The Jacobian of `energy` with respect to `u`."),
        (tapec.jacfwd, "The Jacobian of `energy` with respect to `u`, column by column."),
        (tapec.jacrev, "The Jacobian of `energy` with respect to `u`, row by row."),
        (tapec.hessian, "The Hessian of `energy` with respect to `u`."),
        (tapec.hvp, "The Hessian of `energy` with respect to `u`, times a vector, which is the last argument."),
    ],
)
def test_help_says_what_is_computed_and_quotes_the_docstring(make, expected):
    text = helped(make(energy))
    assert expected in text and "energy: Energy of a chain of springs." in text and "u  displacements" in text


def test_help_shows_the_parameters():
    assert "energy(u, stiffness)" in helped(tapec.grad(energy))
    assert "energy(u, stiffness, v)" in helped(tapec.hvp(energy))


@pytest.mark.parametrize(
    ("derivative", "expected"),
    [
        (lambda: tapec.grad(energy), "<tapec grad of energy with respect to u>"),
        (lambda: tapec.hessian(energy, wrt=("u", 1)), "<tapec hessian of energy with respect to u, stiffness>"),
        (lambda: tapec.jacobian(energy, -1, mode="reverse"), "<tapec jacrev of energy with respect to stiffness>"),
        (lambda: tapec.hvp(energy), "<tapec hvp of energy with respect to u>"),
        (lambda: tapec.grad(scaled, wrt=(0, 2)), "<tapec grad of scaled with respect to x, factors[1]>"),
        (lambda: tapec.grad(Model().loss), "<tapec grad of loss with respect to x>"),
        (lambda: tapec.grad(functools.partial(energy, 2.0)), "<tapec grad of energy with respect to stiffness>"),
    ],
)
def test_the_representation_names_kind_function_and_sources(derivative, expected):
    assert repr(derivative()) == expected
    assert repr(pickle.loads(pickle.dumps(derivative()))) == expected


def test_a_function_without_docstring():
    assert tapec.grad(lambda x: x * x).__doc__ == "The gradient of `<lambda>` with respect to `x`."


def test_help_of_the_derivative_of_a_method():
    assert "The gradient of `loss` with respect to `x`." in helped(tapec.grad(Model().loss))


def test_the_examples_of_the_docstrings():
    result = doctest.testmod(description)
    assert result.attempted > 0 and result.failed == 0
