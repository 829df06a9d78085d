"""The forms in which calls of whole-array operations may be written: by name, and into an array."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import check
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("mostly_plainly")

A = np.array([[2.0, 1.0], [1.0, 3.0]])
B = np.array([1.0, 2.0])


def right_side_by_name(a, b):
    return np.linalg.solve(a, b=b)[0]


def all_by_name(a, b):
    return np.linalg.solve(b=b, a=a)[0] + np.linalg.inv(a=a)[0, 1] + np.linalg.det(a=a)


def dots_by_name(a, b):
    return np.dot(b, b=b) * np.dot(a=a, b=b)[1] + a.dot(b=b)[0]


def into_an_array(a, b):
    out = np.empty(2)
    np.dot(a, b, out)
    return out[0] * out[1]


def into_an_array_by_name(a, b):
    out = np.zeros((2, 2))
    made = np.dot(a, a, out=out)
    return np.sum(out * made) * a.dot(b, np.empty(2))[1]


def into_its_own_operand(a, b):
    c = b.copy()
    np.dot(a, c, out=c)
    np.dot(a, c, c)
    return c[0] * c[1]


def into_none(a, b):
    return np.dot(a, b, out=None)[0]


def into_a_complex_array(a, b):
    out = np.empty(2, dtype=np.complex128)
    np.dot(a * 1j, b + 2j, out)
    return out[0].real * out[1].imag


FORMS = [
    right_side_by_name,
    all_by_name,
    dots_by_name,
    into_an_array,
    into_an_array_by_name,
    into_its_own_operand,
    into_none,
    into_a_complex_array,
]


@pytest.mark.parametrize("f", sampled(FORMS, 3), ids=lambda f: f.__name__)
def test_derivatives_know_all_forms(f):
    check(f, (A, B), (0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 2])
def test_no_gradient_is_zero_in_silence(level):
    _, (a_bar, b_bar) = tapec.value_and_grad(right_side_by_name, wrt=("a", "b"), opt_level=level)(A, B)
    np.testing.assert_allclose(a_bar, [[-0.12, -0.36], [0.04, 0.12]])
    np.testing.assert_allclose(b_bar, [0.6, -0.2])


def into_too_long_an_array(a, b):
    out = np.zeros(3)
    np.dot(a, b, out)
    return out.sum()


@pytest.mark.parametrize("rows", [1, 2])
def test_the_array_has_the_shape_of_the_product(rows):
    for f in (into_too_long_an_array, tapec.value_and_grad(into_too_long_an_array)):
        with pytest.raises(ValueError):
            f(A[:rows], B)
