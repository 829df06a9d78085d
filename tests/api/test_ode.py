"""Differential equations that SciPy solves: against closed forms, and a discrete adjoint of a loop."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numba import njit

import tapec
from tapec.errors import IntegrationError, UsageError


def decay(t, y, rate):
    return -rate * y


@njit
def predators(t, y, p):
    out = np.empty(2)
    out[0] = y[0] * (p[0] - p[1] * y[1])
    out[1] = y[1] * (p[1] * y[0] - p[2] * t)
    return out


TIMES = np.array([0.5, 1.0, 2.0])


def continuous(z):
    return np.sum(tapec.ode.solve(predators, (0.0, 2.0), z[:2], z[2:], t_eval=TIMES, rtol=1e-10, atol=1e-12).y ** 2)


def discrete(z):
    """By the classical method of Runge and Kutta at small steps."""
    y, total, h = z[:2].copy(), 0.0, 0.0025
    for k in range(800):
        t = k * h
        a = predators(t, y, z[2:])
        b = predators(t + 0.5 * h, y + 0.5 * h * a, z[2:])
        c = predators(t + 0.5 * h, y + 0.5 * h * b, z[2:])
        d = predators(t + h, y + h * c, z[2:])
        y = y + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        if k == 199 or k == 399 or k == 799:
            total += np.sum(y**2)
    return total


@pytest.mark.slow
def test_both_modes_agree_with_the_discrete_adjoint():
    z = np.array([1.0, 0.5, 1.1, 0.7, 0.2])
    value, expected = tapec.value_and_grad(discrete)(z)
    assert continuous(z) == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(tapec.grad(continuous)(z), expected, rtol=1e-7)
    np.testing.assert_allclose(tapec.jacfwd(continuous)(z), expected, rtol=1e-7)
    x = tapec.Variable(z)
    with tapec.GradientTape() as tape:
        y = continuous(x)
    np.testing.assert_allclose(tape.gradient(y, x), expected, rtol=1e-7)


def driven(t, y, rate):
    return [rate * t * y[0], y[0] - y[1] * t]


def of_span(z, rate):
    """At the ends and in between, where the state begins with an end of the span."""
    times = np.array([z[0], 0.75, z[1]])
    found = tapec.ode.solve(driven, (z[0], z[1]), [z[2], z[0] ** 2], rate, t_eval=times, rtol=1e-10, atol=1e-12)
    return found.y[0, 1], found.y[0, 2], found.y[1, 2]


def of_span_discrete(z, rate):
    """In 400 steps of Runge and Kutta's whose size follows from the span."""
    y, h = np.array([z[2], z[0] ** 2]), (z[1] - z[0]) / 400
    for k in range(400):
        t = z[0] + k * h
        a = np.array(driven(t, y, rate))
        b = np.array(driven(t + 0.5 * h, y + 0.5 * h * a, rate))
        c = np.array(driven(t + 0.5 * h, y + 0.5 * h * b, rate))
        d = np.array(driven(t + h, y + h * c, rate))
        y = y + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
    return y[0], y[1]


def of_span_closed(z, rate):
    return z[2] * np.exp(0.5 * rate * (0.75**2 - z[0] ** 2)), z[2] * np.exp(0.5 * rate * (z[1] ** 2 - z[0] ** 2))


@pytest.mark.slow
@pytest.mark.parametrize("derivative", [tapec.jacfwd, tapec.jacrev])
def test_derivatives_by_the_begin_and_the_end_of_the_span(derivative):
    for z in (np.array([0.5, 1.5, 2.0]), np.array([1.5, 0.25, 2.0])):
        between, *last = derivative(of_span)(z, 0.7)
        closed = derivative(of_span_closed)(z, 0.7)
        np.testing.assert_allclose([between, last[0]], closed, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(last, derivative(of_span_discrete)(z, 0.7), rtol=1e-6, atol=1e-8)


@dataclass
class Rates:
    fast: float
    slow: np.ndarray


def both(t, y, rates):
    return [-rates["r"] * y[0], -rates["s"][1] * y[1]]


def of_rates(t, y, rates):
    return -rates.slow * rates.fast * y


@pytest.mark.slow
def test_derivatives_of_any_order_by_the_ends_the_state_and_structures_of_parameters():
    def left(z):
        found = tapec.ode.solve(both, (z[0], z[1]), [z[2], 1.0], {"r": z[3], "s": z[3:5]}, method="DOP853")
        return found.y[0, -1] * found.y[1, -1]

    def closed(z):
        return z[2] * np.exp(-(z[3] + z[4]) * (z[1] - z[0]))

    z, v = np.array([0.5, 2.0, 3.0, 0.4, 0.3]), np.array([0.1, -0.2, 0.3, 0.5, 0.0])
    np.testing.assert_allclose(tapec.grad(left)(z), tapec.grad(closed)(z), rtol=1e-6)
    np.testing.assert_allclose(tapec.hvp(left)(z, v), tapec.hvp(closed)(z, v), rtol=1e-6)

    def backwards(rates):
        return tapec.ode.solve(of_rates, (1.0, 0.0), [2.0], rates, method="BDF", rtol=1e-9).y[0, -1]

    found = tapec.grad(backwards)(Rates(0.5, np.array([1.5])))
    assert backwards(Rates(0.5, np.array([1.5]))) == pytest.approx(2.0 * math.exp(0.75), rel=1e-6)
    assert found.fast == pytest.approx(3.0 * math.exp(0.75), rel=1e-5)


@pytest.mark.slow
def test_a_right_side_inside_the_function_and_what_it_reads():
    def left(rate):
        def inner(t, y):
            return -rate * y

        return tapec.ode.solve(inner, (0.0, 2.0), np.ones(1)).y[0, -1]

    assert tapec.grad(left)(0.5) == pytest.approx(-2.0 * math.exp(-1.0), rel=1e-7)


def falling(t, y, gravity):
    return [y[1], -gravity]


def ground(t, y, gravity):
    return y[0]


def top(t, y, gravity):
    return y[1]


ground.terminal, ground.direction = True, -1


@pytest.mark.slow
def test_times_of_events_and_the_states_there():
    def thrown(v, gravity):
        found = tapec.ode.solve(falling, (0.0, 10.0), [0.0, v], gravity, events=(ground, top))
        return found.t_events[0][0] + found.y_events[1][0, 0] + found.y[1, -1] * found.t_events[1][0]

    def closed(v, gravity):
        return 2.0 * v / gravity + 0.5 * v * v / gravity - v * v / gravity

    given = (6.0, 8.0)
    assert thrown(*given) == pytest.approx(closed(*given), rel=1e-7)
    expected = tapec.grad(closed, wrt=(0, 1))(*given)
    np.testing.assert_allclose(tapec.grad(thrown, wrt=(0, 1))(*given), expected, rtol=1e-6)
    np.testing.assert_allclose(tapec.jvp(thrown, given, (1.0, 0.5))[1], expected[0] + 0.5 * expected[1], rtol=1e-6)


def cubic(t, y):
    return [3.0 * (t - 1.0) ** 2]


def crossing(t, y):
    return y[0]


def peak(level):
    return tapec.ode.solve(cubic, (0.0, 2.0), [-1.0 * level], events=crossing, max_step=0.15).t_events[0][0]


@pytest.mark.slow
def test_an_event_that_only_touches_zero_has_no_time_to_differentiate():
    with pytest.raises(IntegrationError, match="touches the event") as refused:
        tapec.grad(peak)(1.0)
    assert refused.value.span is not None and refused.value.span.function == "peak"


@pytest.mark.slow
def test_refusals_at_the_line_of_the_call():
    with pytest.raises(UsageError, match="'Euler' is no method of integration") as refused:
        tapec.ode.solve(decay, (0.0, 1.0), [1.0], 1.0, method="Euler")
    assert refused.value.span.function == "test_refusals_at_the_line_of_the_call"

    def pole(t, y):
        return y * y

    with pytest.raises(IntegrationError, match="cannot be integrated beyond t = 1"):
        tapec.ode.solve(pole, (0.0, 2.0), [1.0])

    def short(gravity):
        return tapec.ode.solve(falling, (0.0, 1.0), [0.1, 9.0], gravity, events=ground).t[-1]

    with pytest.raises(IntegrationError, match="does not happen") as refused:
        tapec.grad(short)(1.0)
    assert refused.value.span.function.endswith(".short")
    with pytest.raises(IntegrationError, match="in their order"):
        tapec.ode.solve(decay, (0.0, 1.0), [1.0], 1.0, t_eval=np.array([0.5, 0.2]))
