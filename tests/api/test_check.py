"""`check_grads`: what it accepts and what it reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import tapec
from tapec import check_grads
from tapec.check import compare
from tapec.errors import GradientMismatch, UsageError


def product(x, y):
    return np.sum(x * x * y) + np.sin(y)


@pytest.mark.slow
def test_right_derivatives_pass():
    assert check_grads(product, (np.array([1.0, 2.0]), 0.5)) is None
    check_grads(product, (np.array([1.0, 2.0]), 0.5), wrt=1)
    check_grads(lambda x: (np.sqrt(x), x[0] * x[1]), (np.array([1.0, 2.0]),))
    check_grads(lambda x, n: x * n, (1.5, 3))


@dataclass
class Model:
    scale: float
    weights: np.ndarray


@pytest.mark.generated
def test_dicts_and_dataclasses_are_moved_and_arguments_are_named():
    x = np.array([1.0, 2.0])

    def of_dict(x, p):
        return p["scale"] * np.sum(x * p["weights"]) ** 2

    def of_object(x, p):
        return p.scale * np.sum(x * p.weights) ** 2

    for f, p in ((of_dict, {"scale": 2.0, "weights": x + 1.0}), (of_object, Model(2.0, x + 1.0))):
        assert [(row.moved, row.agrees) for row in compare(f, (x, p))] == [("x", True), ("p", True), ("all", True)]
        check_grads(f, (x, p), wrt="p", order=2)
        check_grads(f, (x, p), wrt=("x", 1))


@pytest.mark.slow
def test_higher_orders():
    check_grads(lambda x: x**3 * np.exp(x), (0.7,), order=2)


@pytest.mark.slow
def test_single_precision():
    check_grads(lambda x: np.sum(x * x), (np.array([1.0, 2.0], np.float32),))


def test_a_jump_between_the_points_is_reported():
    with pytest.raises(GradientMismatch, match="central differences") as caught:
        check_grads(lambda x: np.floor(x) + x, (1.0 - 1e-9,))
    assert isinstance(caught.value, AssertionError)


def test_a_wrong_gradient_is_reported():
    @tapec.custom_gradient
    def wrong(x):
        def gradient(dy):
            return 3.0 * dy

        return x * x, gradient

    assert tapec.grad(wrong)(1.0) == 3.0
    with pytest.raises(GradientMismatch, match="forward mode gives .* central differences"):
        check_grads(wrong, (1.0,))


def test_usage():
    with pytest.raises(UsageError, match="tuple"):
        check_grads(product, 1.0)
    with pytest.raises(UsageError, match="order"):
        check_grads(product, (1.0, 2.0), order=0)
    with pytest.raises(UsageError, match="none of the arguments"):
        check_grads(lambda n: n * 2.0, (3,))
