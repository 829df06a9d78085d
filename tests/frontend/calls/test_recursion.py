"""Recursive functions: each closure is a function of its own, and a refusal leaves nothing behind."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tapec
from tapec.errors import RecursionUnsupported
from tests.oracles import check

X = np.array([0.7, 1.3, 2.1])


def power(k):
    def inner(n, z):
        return 1.0 if n == 0 else k * z * inner(n - 1, z)

    return inner


def defaulted(k):
    def inner(n, z, k=k):
        return 1.0 if n == 0 else k * z * inner(n - 1, z)

    return inner


class Model:
    def __init__(self, k):
        self.k = k

    def __repr__(self):
        return "Model"

    def power(self, n, z):
        return 1.0 if n == 0 else self.k * z * self.power(n - 1, z)


def of_model(model, n, z):
    return z if n == 0 else model.k * of_model(model, n - 1, z)


def of_number(k, n, z):
    return z if n == 0 else k * of_number(k, n - 1, z)


SQUARE, CUBE = power(2.0), power(3.0)
SMALL, LARGE = Model(2.0), Model(3.0)


def redefined(x):
    total = 0.0
    for k in (2.0, 3.0):

        def inner(n):
            return 1.0 if n == 0 else k * inner(n - 1)

        total += inner(3) * x[0]
    return total


def rebound(x):
    k = 2.0

    def inner(n, z):
        return 1.0 if n == 0 else k * z * inner(n - 1, z)

    first = inner(2, x[0])
    k = 3.0
    return first + inner(2, x[1])


def signed(x):
    zero = 0.0

    def inner(n, z):
        return np.copysign(z, zero) if n == 0 else inner(n - 1, z) * z

    first = inner(2, x[0])
    zero = -0.0
    return first * inner(1, x[1])


def behind_a_helper(x):
    k = 2.0

    def scaled(z):
        return k * z

    def inner(n, z):
        return z if n == 0 else scaled(inner(n - 1, z))

    first = inner(2, x[0])
    k = 3.0
    return first + inner(2, x[1])


def made_inside(x):
    return power(2.0)(2, x[0]) * power(3.0)(2, x[1]) + power(2.0)(2, x[2])


def made_with_defaults(x):
    return defaulted(2.0)(2, x[0]) + defaulted(3.0)(2, x[1])


def of_the_module(x):
    return SQUARE(2, x[0]) + CUBE(2, x[1])


def of_objects(x):
    return SMALL.power(2, x[0]) + LARGE.power(2, x[1])


def of_known_arguments(x):
    return of_model(SMALL, 2, x[0]) + of_model(LARGE, 2, x[1])


def of_partials(x):
    return functools.partial(of_number, 2.0)(2, x[0]) + functools.partial(of_number, 3)(2, x[1])


def one_calls_the_other(x):
    def calling(k, other):
        def inner(n, z):
            if n < 0:
                return inner(-n, z)
            return z if n == 0 else k * other(n - 1, z)

        return inner

    return calling(2.0, calling(3.0, lambda n, z: z * z))(1, x[0])


PROGRAMS = [
    redefined,
    rebound,
    signed,
    behind_a_helper,
    made_inside,
    made_with_defaults,
    of_the_module,
    of_objects,
    of_known_arguments,
    of_partials,
    one_calls_the_other,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_each_closure_is_a_function_of_its_own(program):
    check(program, (X,))


def test_closures_that_are_the_same_are_written_once():
    text = tapec.emit(made_inside, signature="float64[::1]", opt_level=2)
    assert "def inner_1_" in text and "inner_2" not in text


def around(x):
    def inner(n, z):
        return 1.0 if n == 0 else x[0] * z * inner(n - 1, z)

    total = 1.0
    if x[1] > 5.0:
        # lowered in more than one way, of which the first is refused
        total = sum(inner(2, x[i]) for i in range(3))
    return total * x[0]


def raising(x):
    def inner(n):
        if n == 0:
            raise ValueError("no")
        return 2.0 * inner(n - 1)

    total = 1.0
    if x[1] > 5.0:
        total = inner(3)
    return total * x[0]


@pytest.mark.parametrize("program", [around, raising], ids=lambda f: f.__name__)
def test_a_branch_with_a_refused_call_is_not_dropped(program):
    with pytest.raises(RecursionUnsupported):
        tapec.grad(program)(X)


def wavelet(x):
    """A transform with halves of its own: what is given is handed back where it is one number."""
    n = len(x)
    if n == 1:
        return x
    even, odd = wavelet(x[0::2]), wavelet(x[1::2])
    out = np.empty(n)
    for k in range(n // 2):
        out[k] = even[k] + 2.0 * odd[k]
        out[k + n // 2] = even[k] * odd[k]
    return out


def fourier(z):
    n = len(z)
    if n == 1:
        return z.copy()
    even, odd = fourier(z[0::2]), fourier(z[1::2])
    turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate((even + turned, even - turned))


def factor(a):
    """Cholesky's factor, of which each call makes a column."""
    n = a.shape[0]
    out = np.zeros((n, n))
    out[0, 0] = np.sqrt(a[0, 0])
    if n == 1:
        return out
    v = a[1:, 0] / out[0, 0]
    out[1:, 0] = v
    out[1:, 1:] = factor(a[1:, 1:] - np.outer(v, v))
    return out


def log_determinant(a):
    if a.shape[0] == 1:
        return np.log(a[0, 0])
    v = a[1:, 0]
    return np.log(a[0, 0]) + log_determinant(a[1:, 1:] - np.outer(v, v) / a[0, 0])


def merged(x):
    n = len(x)
    if n <= 1:
        return x.copy()
    first, second = merged(x[: n // 2]), merged(x[n // 2 :])
    out = np.empty(n)
    i = j = 0
    for k in range(n):
        if j >= len(second) or (i < len(first) and first[i] <= second[j]):
            out[k] = first[i]
            i += 1
        else:
            out[k] = second[j]
            j += 1
    return out


def array_and_number(x, n):
    if n == 0:
        return x * x, np.sum(x)
    a, s = array_and_number(np.sin(x), n - 1)
    return a * x[0], s * a[1]


def given_back(x, n):
    return x if n == 0 else given_back(x, n - 1)


def the_same_twice(x, n):
    if n == 0:
        y = x * x
        return y, y
    return the_same_twice(2.0 * x, n - 1)


WEIGHTS = np.arange(4.0)


def written_and_read(x):
    total = 0.0
    for k in range(3):
        y = wavelet(x * (k + 1.0))
        y[0] *= y[1]
        total += np.sum(y[1:]) * y[0]
    return total


def of_a_pair(x):
    a, s = array_and_number(x, 3)
    return np.sum(a) * s


def of_two_names(x):
    a, b = the_same_twice(x, 2)
    return np.sum(a * b)


def of_a_factor(a):
    low = factor(a)
    return np.sum(low * np.arange(9.0).reshape(3, 3)) + np.log(low[2, 2])


FOUR = np.array([0.7, 1.3, 2.1, 0.4])
SPD = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])

RETURNS_ARRAYS = {
    "view": (lambda x: np.sum(wavelet(x) ** 2 * WEIGHTS), FOUR),
    "complex": (lambda x: np.sum(np.abs(fourier(x * (1 + 0.5j))) ** 2 * WEIGHTS), FOUR),
    "tuple": (of_a_pair, FOUR),
    "matrix": (of_a_factor, SPD),
    "given back": (lambda x: np.sum(given_back(x, 2) * x), FOUR),
    "one array twice": (of_two_names, FOUR),
    "sorted": (lambda x: np.sum(merged(np.sin(3 * x)) * WEIGHTS), FOUR),
    "stored into": (written_and_read, FOUR),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RETURNS_ARRAYS)
def test_arrays_are_returned_to_the_caller(name):
    function, x = RETURNS_ARRAYS[name]
    check(function, (x,), compiled="")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["view", "tuple", "matrix"])
def test_second_derivatives_of_arrays_that_are_returned(name):
    function, x = RETURNS_ARRAYS[name]
    hessian = tapec.hessian(function)(x).reshape(x.size, x.size)
    steps = 1e-6 * np.eye(x.size).reshape(x.size, *x.shape)
    gradient = tapec.grad(function)
    rows = [(gradient(x + step) - gradient(x - step)).ravel() / 2e-6 for step in steps]
    np.testing.assert_allclose(hessian, rows, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_jacobian_of_an_array_that_a_recursion_returns():
    np.testing.assert_allclose(tapec.jacobian(wavelet)(FOUR), tapec.jacfwd(wavelet)(FOUR))
    rows = [(wavelet(FOUR + step) - wavelet(FOUR - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(tapec.jacobian(wavelet)(FOUR), np.transpose(rows), rtol=1e-7)


def test_a_shadow_that_a_call_was_handed_is_the_one_that_its_pullback_adds_to():
    # the callee has put views of the shadow on its lists
    expected = np.linalg.inv(SPD)
    gradient = tapec.grad(log_determinant)(SPD)
    np.testing.assert_allclose(gradient + gradient.T, 2 * expected, rtol=1e-12)


def changes_what_is_given_back(x):
    z = 1.0 * x
    y = given_back(z, 2)
    y[0] = 5.0
    return np.sum(z**2)


def changes_one_of_two_names(x):
    a, b = the_same_twice(x, 2)
    a[0] = 1.0
    return np.sum(a * b)


@pytest.mark.parametrize("function", [changes_what_is_given_back, changes_one_of_two_names])
def test_a_program_that_could_tell_copies_is_refused(function):
    with pytest.raises(tapec.errors.UnsupportedSyntax, match="share memory in NumPy"):
        tapec.grad(function)(FOUR)
