"""Integer operations that Python refuses: compiled code raises, or gives Python's float, never a machine's number."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import tapec
from tapec.errors import TypeMismatch, UnsupportedType
from tests.oracles import interpreted

U = np.arange(5.0)


def divided(x, n):
    return x * (5 // n) + 3 % n


def divided_in_place(x, n):
    k = 7
    k //= n
    k %= n
    return k * x + divmod(5, n)[1]


def shifted(x, n):
    return x * (1 << n) + (64 >> n)


def powers(x, n):
    return x + 10**-6 + 2**-1 + (-2) ** -3 + 3**n


def guarded(x, n):
    return x * 6 // n if n != 0 and 6 % n == 0 else x


def counted(x, n):
    total = 0.0
    for i in range(1, 4):
        total += (n // i) * x + n % i
    return total


@pytest.mark.parametrize("f", (divided, divided_in_place, shifted, powers, guarded, counted), ids=lambda f: f.__name__)
@pytest.mark.compiled
def test_compiled_code_raises_or_agrees(f):
    derivative = tapec.value_and_grad(f)
    for n in (0, 1, 2, 5, -1):
        try:
            expected = f(1.3, n)
        except (ZeroDivisionError, ValueError) as error:
            with pytest.raises(type(error)):
                derivative(1.3, n)
            continue
        if f is powers and n < 0:
            # Numba has no float here, NumPy has this exception
            with pytest.raises(ValueError, match="Integers to negative integer powers"):
                derivative(1.3, n)
            continue
        assert derivative(1.3, n)[0] == pytest.approx(expected, rel=1e-15)


CUBE = -3


@numba.njit
def known_exponent(x):
    n = -2
    return x * 2**n


@numba.njit
def exponent_of_the_module(x):
    return x * 2**CUBE


@numba.njit
def exponents_of_literals(x):
    return x * 2**-2 + x * (1 + 1) ** (-1)


def test_known_negative_powers_are_what_the_function_itself_gives():
    # in compiled code machines give zero, where Python has not put the float in place of literals
    assert tapec.value_and_grad(exponents_of_literals)(3.0) == (2.25, 0.75)
    assert tapec.value_and_grad(known_exponent.py_func)(3.0) == (0.75, 0.25)
    for f in (known_exponent, exponent_of_the_module):
        with pytest.raises(TypeMismatch, match="an integer to a negative power"):
            tapec.value_and_grad(f)(3.0)


def periodic(u, n, m):
    total = 0.0
    for t in range(m):
        for i in range(n):
            total += u[(i + 1) % n] * u[i // m] + (i * t) % m
            total += u[i % (m + n)] if t % 2 else 0.0
    return total


def invariant(u, n, m):
    total = 0.0
    for t in range(n):
        for i in range(t, n):
            total += u[i % m]
            if total > 1000:
                total += u[i % n] + i // (m + 1)
    return total


@pytest.mark.parametrize("f", (periodic, invariant), ids=lambda f: f.__name__)
def test_loops_ask_where_they_must(f):
    with interpreted():
        derivative = tapec.value_and_grad(f)
        for n in (0, 1, 3, -1):
            for m in (0, 2, -1, -2):
                try:
                    expected = f(U, n, m)
                except (ZeroDivisionError, IndexError) as error:
                    with pytest.raises(type(error)):
                        derivative(U, n, m)
                    continue
                assert derivative(U, n, m)[0] == expected


def test_what_does_not_change_is_asked_before_the_loop():
    body = tapec.emit(invariant, signature="float64[::1], int64, int64").partition("for i in range(")[0]
    assert "ZeroDivisionError" in body
    stencil = tapec.emit(ring, signature="float64[::1]")
    assert "ZeroDivisionError" not in stencil


def ring(u):
    total, n = 0.0, u.shape[0]
    for i in range(n):
        total += u[i] * u[(i + 1) % n]
    return total


def largest(x):
    return x * (2**63 - 1) + ((1 << 62) - 1) * x


def test_literals_of_which_only_parts_are_beyond_64_bits():
    with interpreted():
        assert tapec.grad(largest)(1.0) == largest(1.0)


def doubled(x):
    k = 2**62
    return x * (k * 4)


def shifted_out(x):
    k = 1
    return x * (k << 70)


def raised_out(x):
    return x * 3**50


def added(x):
    k = 2**62
    return x * (k + 2**62)


@pytest.mark.parametrize("f", [doubled, shifted_out, raised_out, added])
def test_integers_beyond_64_bits_are_refused_at_their_line(f):
    with pytest.raises(UnsupportedType, match="an integer beyond 64 bits") as error:
        tapec.grad(f)(1.0)
    assert error.value.span.function == f.__name__


@pytest.mark.compiled
def test_elements_of_arrays_that_are_known_wrap_around_as_in_numpy():
    def f(x):
        return x * (np.array([2**62, 3]) * 4)[0] + x * (np.array([2**62]) * 2)[0]

    assert tapec.grad(f)(1.5) == -(2.0**63)


def _by_counter(x, n):
    total = 0.0
    for k in range(1, n):
        total += x * k**-2
    return total


def _by_extent(x):
    return np.sum(x) * len(x) ** -1 * x.shape[0] ** -2


def test_a_negative_power_of_what_is_pythons_is_a_float():
    with interpreted():
        assert tapec.value_and_grad(_by_counter)(2.0, 50) == pytest.approx((_by_counter(2.0, 50), _by_counter(1.0, 50)))
        assert tapec.value_and_grad(_by_extent)(U)[1] == pytest.approx(np.full(5, 0.008))
        assert tapec.function(_by_extent)(U) == pytest.approx(_by_extent(U))
        with pytest.raises(ZeroDivisionError):
            tapec.grad(_by_extent)(U[:0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x, a: np.sum(x * 2**-a),
        lambda x, a: np.sum(x * np.power(a, a[::-1] - 2)),
        lambda x, a: np.sum(x * a ** a[0]),
    ],
)
def test_arrays_of_integers_have_no_negative_powers(f):
    a = np.arange(-2, 3)
    with interpreted():
        for of in (tapec.grad(f), tapec.function(f)):
            with pytest.raises(ValueError, match="Integers to negative integer powers"):
                of(U, a)
        assert tapec.value_and_grad(lambda x, a: np.sum(x * 2**a))(U, a + 2)[1].tolist() == [1.0, 2.0, 4.0, 8.0, 16.0]
        with pytest.raises(TypeMismatch):
            tapec.grad(lambda x, a: np.sum(x * a**-1))(U, a)
