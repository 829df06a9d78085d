"""Programs with a form for matrices of few elements."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests import oracles
from tests.sampling import sampled

STACK = "f8[:, :, ::1]"


def products(a, b):
    c = np.empty((a.shape[0], a.shape[1], b.shape[2]))
    for i in range(a.shape[0]):
        c[i] = a[i] @ b[i]
    return np.sum(c * c)


def three(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        m = a[i] @ b[i].T @ b[i]
        total += np.sum(np.sin(m)) + m[0, 0]
    return total


def turned(a, x):
    total = 0.0
    for i in range(a.shape[0]):
        y = a[i] @ x[i]
        total += (y @ y) * (x[i] @ a[i])[0]
    return total


def by_stacks(a, b):
    return np.sum(np.cos(a @ b))


# the shapes of the arguments: of few elements, of more, and stretched
CASES = [
    (products, [((4, 2, 3), (4, 3, 2)), ((2, 9, 3), (2, 3, 2)), ((0, 2, 2), (0, 2, 2))]),
    (three, [((3, 2, 3), (3, 3, 3)), ((2, 2, 9), (2, 9, 9))]),
    (turned, [((4, 3, 3), (4, 3)), ((2, 9, 9), (2, 9))]),
    (by_stacks, [((4, 2, 3), (4, 3, 2)), ((1, 2, 3), (3, 3, 2)), ((3, 2, 9), (1, 9, 2)), ((2, 2, 2), (2, 2, 2))]),
    (by_stacks, [((2, 1, 2, 3), (2, 2, 3, 2)), ((2, 2, 2, 3), (2, 2, 3, 2))]),
]


@pytest.mark.parametrize(("f", "shapes"), sampled(CASES, 5))
def test_both_forms_give_what_the_program_gives_without_them(rng: np.random.Generator, f, shapes):
    with oracles.interpreted():
        fast, plain = tapec.value_and_grad(f, (0, 1)), tapec.value_and_grad(f, (0, 1), opt_level=1)
        for each in shapes:
            args = [rng.uniform(0.5, 1.5, shape) for shape in each]
            value, gradients = fast(*args)
            np.testing.assert_allclose(value, f(*args), rtol=1e-12)
            for one, other in zip(gradients, plain(*args)[1], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13, err_msg=str(each))


@pytest.mark.slow
def test_gradients_agree_with_differences(rng):
    with oracles.interpreted():
        oracles.check(products, (rng.normal(size=(3, 2, 3)), rng.normal(size=(3, 3, 2))), forward_level=0)
        oracles.check(turned, (rng.normal(size=(3, 2, 2)), rng.normal(size=(3, 2))), forward_level=0)


@pytest.mark.parametrize("f", sampled([products, by_stacks], 2))
def test_what_does_not_fit_is_an_error(f):
    with oracles.interpreted(), pytest.raises(ValueError, match=r"incompatible array sizes|last axis of the first"):
        tapec.grad(f)(np.ones((2, 3, 3)), np.ones((2, 2, 3)))


def test_matrices_of_few_elements_are_multiplied_in_loops_side_by_side():
    text = tapec.emit(products, (0, 1), signature=f"{STACK}, {STACK}", opt_level=2)
    few, _, others = text.rpartition("@numba.njit")
    assert "a.shape[1] <= 8" in few and "lanes" in few
    assert "np.dot" not in few.replace("np.dot(a, b)", "") and "np.dot" in others


def test_products_that_nobody_can_ask_about_have_one_form():
    def once(a, b):
        return np.sum(a @ b)

    def carried(a, b):
        m = a
        for k in range(3):
            m = np.tanh(m @ b[k])
            m = m[1:]
        return np.sum(m)

    def mixed(a, b):
        total = carried(a, b)
        for i in range(b.shape[0]):
            total += np.sum(b[i] @ b[i])
        return total

    assert "<= 8" not in tapec.emit(mixed, (0, 1), signature=f"f8[:, ::1], {STACK}", opt_level=2)
    assert "<= 8" not in tapec.emit(once, (0, 1), signature="f8[:, ::1], f8[:, ::1]", opt_level=2)
    assert "<= 8" not in tapec.emit(carried, (0, 1), signature=f"f8[:, ::1], {STACK}", opt_level=2)
