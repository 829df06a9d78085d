"""The rules of solutions of differential equations: states at given times, and the times of events.

Either is a function with rules for both modes, which call them again, of the right sides that `ode_rates.py` makes: so
derivatives have any order.  The right side is known while code is lowered; all orders are one rule.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapec.functions import custom_gradient
from tapec.ode_rates import part
from tapec.ode_steps import events_of, states_at, tangency
from tapec_runtime.variables import stop_gradient


class Solution(NamedTuple):
    """What `solve` returns, as SciPy names it.

    t, y      the points that were asked for (m,), and the states there (n, m)
    t_events  for each event the times at which it happens (k,)
    y_events  and the states there (k, n)
    """

    t: Any
    y: Any
    t_events: Any
    y_events: Any


@custom_gradient
def states(
    y0: Any,
    leaves: Any,
    t0: Any,
    times: Any,
    *,
    rate: Any,
    place: Any,
    end: Any,
    rtol: Any,
    atol: Any,
    max_step: Any,
) -> Any:
    """The states (n, m) at times (m,) on the path that begins with y0 at t0; derivatives by all of them."""
    y = states_at(times, rate, place, t0, end, y0, rtol, atol, max_step, *leaves)

    def pullback(y_bar: Any) -> Any:
        lam, flat, t0_bar, times_bar = pulled(
            y, y_bar, np.zeros(part(rate, "count")(*leaves)), y0, leaves, t0, times, rate, place, rtol, atol, max_step
        )
        return lam, part(rate, "split")(flat, *leaves), t0_bar, times_bar

    return y, pullback


@states.defjvp
def states_jvp(
    primals: Any, tangents: Any, *, rate: Any, place: Any, end: Any, rtol: Any, atol: Any, max_step: Any
) -> Any:
    y0, leaves, t0, times = primals
    y0_dot, leaves_dot, t0_dot, times_dot = tangents
    y = states(
        y0, leaves, t0, times, rate=rate, place=place, end=end, rtol=rtol, atol=atol, max_step=max_step
    )
    change = pushed(y0, leaves, t0, times, y0_dot, leaves_dot, t0_dot, rate, place, end, rtol, atol, max_step)
    for k in range(times.size):
        change[:, k] += times_dot[k] * rate(times[k], y[:, k].copy(), *leaves)
    return y, change


def pulled(
    y: Any,
    y_bar: Any,
    flat: Any,
    y0: Any,
    leaves: Any,
    t0: Any,
    times: Any,
    rate: Any,
    place: Any,
    rtol: Any,
    atol: Any,
    max_step: Any,
) -> Any:
    """The adjoint integrated from the last of the times to t0: adjoints of y0, leaves, t0 and times.

    flat  what the adjoints of the leaves are added to
    """
    n = y0.size
    count = flat.size
    backward = part(rate, "adjoint")
    lam = np.zeros(n)
    times_bar = np.zeros(times.size)
    tolerance = backward_atol(atol, n, n + count)
    for k in range(times.size - 1, -1, -1):
        state = y[:, k].copy()
        times_bar[k] = np.sum(y_bar[:, k] * rate(times[k], state, *leaves))
        lam = lam + y_bar[:, k]
        before = times[k - 1] if k > 0 else t0
        # the tolerances are those of an adjoint of size one
        largest = stop_gradient(np.max(np.abs(lam)))
        scale = largest if largest > 0.0 else 1.0
        z = np.concatenate((state, lam / scale, np.zeros(count)))
        found = states(
            z,
            leaves,
            times[k],
            np.array([before]),
            rate=backward,
            place=place,
            end=stop_gradient(before),
            rtol=rtol,
            atol=tolerance,
            max_step=max_step,
        )
        lam = scale * found[n : 2 * n, 0]
        flat = flat + scale * found[2 * n :, 0]
    t0_bar = -np.sum(lam * rate(t0, y0, *leaves))
    return lam, flat, t0_bar, times_bar


def pushed(
    y0: Any,
    leaves: Any,
    t0: Any,
    times: Any,
    y0_dot: Any,
    leaves_dot: Any,
    t0_dot: Any,
    rate: Any,
    place: Any,
    end: Any,
    rtol: Any,
    atol: Any,
    max_step: Any,
) -> Any:
    """The sensitivities at times that do not move, (n, m)."""
    n = y0.size
    z = np.concatenate((y0, y0_dot - t0_dot * rate(t0, y0, *leaves)))
    found = states(
        z,
        (*leaves, *part(rate, "dots")(leaves_dot)),
        t0,
        times,
        rate=part(rate, "tangent"),
        place=place,
        end=end,
        rtol=rtol,
        atol=backward_atol(atol, n, n),
        max_step=max_step,
    )
    return found[n:].copy()


def backward_atol(atol: Any, n: Any, more: Any) -> Any:
    """The tolerances of a state and of `more` numbers that belong to it."""
    if isinstance(atol, (float, int, np.floating)):
        return atol
    return np.concatenate((atol, np.full(more, np.min(atol))))


@custom_gradient
def event_times(
    y0: Any, leaves: Any, t0: Any, *, rate: Any, place: Any, end: Any, rtol: Any, atol: Any, max_step: Any
) -> Any:
    """The times of all events (k,), in order, and which event each is of; derivatives of the times."""
    times, which = events_of(rate, place, t0, end, y0, rtol, atol, max_step, *leaves)

    def pullback(times_bar: Any, which_bar: Any) -> Any:
        y = states(
            y0, leaves, t0, times, rate=rate, place=place, end=end, rtol=rtol, atol=atol, max_step=max_step
        )
        y_bar = np.zeros(y.shape)
        flat = np.zeros(part(rate, "count")(*leaves))
        for j in range(times.size):
            state = y[:, j].copy()
            weight = -times_bar[j] / steepness(which[j], times[j], state, leaves, rate, place, rtol, atol)
            state_bar, more = part(rate, "crossing_bars")(which[j], times[j], state, *leaves, weight)
            y_bar[:, j] = state_bar
            flat = flat + more
        lam, flat, t0_bar, _ = pulled(
            y, y_bar, flat, y0, leaves, t0, times, rate, place, rtol, atol, max_step
        )
        return lam, part(rate, "split")(flat, *leaves), t0_bar

    return (times, which), pullback


@event_times.defjvp
def event_times_jvp(
    primals: Any, tangents: Any, *, rate: Any, place: Any, end: Any, rtol: Any, atol: Any, max_step: Any
) -> Any:
    y0, leaves, t0 = primals
    y0_dot, leaves_dot, t0_dot = tangents
    times, which = event_times(
        y0, leaves, t0, rate=rate, place=place, end=end, rtol=rtol, atol=atol, max_step=max_step
    )
    y = states(
        y0, leaves, t0, times, rate=rate, place=place, end=end, rtol=rtol, atol=atol, max_step=max_step
    )
    v = pushed(y0, leaves, t0, times, y0_dot, leaves_dot, t0_dot, rate, place, end, rtol, atol, max_step)
    dots = part(rate, "dots")(leaves_dot)
    change = np.zeros(times.size)
    for j in range(times.size):
        state = y[:, j].copy()
        steep = steepness(which[j], times[j], state, leaves, rate, place, rtol, atol)
        moved = part(rate, "crossing_change")(which[j], times[j], state, *leaves, v[:, j].copy(), *dots)
        change[j] = -moved / steep
    return (times, which), (change, None)


def steepness(k: Any, t: Any, y: Any, leaves: Any, rate: Any, place: Any, rtol: Any, atol: Any) -> Any:
    """The derivative of an event's function along the solution, which is not zero."""
    steep = part(rate, "steepness")(k, t, y, *leaves)
    bend = part(rate, "bend")(k, t, y, *leaves)
    error = np.sum(np.abs(part(rate, "slopes")(k, t, y, *leaves)) * (atol + rtol * np.abs(y)))
    return steep + stop_gradient(
        tangency(rate, place, k, t, stop_gradient(steep), stop_gradient(bend), stop_gradient(error))
    )


def found_without_events(
    t_span: Any, y0: Any, leaves: Any, t_eval: Any, *, rate: Any, place: Any, rtol: Any, atol: Any, max_step: Any
) -> Any:
    t0, t1 = t_span[0] * 1.0, t_span[1] * 1.0
    times = np.array([t0, t1]) if t_eval is None else np.asarray(t_eval, dtype=np.float64)
    y0 = np.array(y0, dtype=np.float64)
    y = states(
        y0,
        leaves,
        t0,
        times,
        rate=rate,
        place=place,
        end=stop_gradient(t1),
        rtol=rtol,
        atol=atol,
        max_step=max_step,
    )
    return Solution(times, y, None, None)


def found_with_events(
    t_span: Any,
    y0: Any,
    leaves: Any,
    t_eval: Any,
    *,
    rate: Any,
    place: Any,
    rtol: Any,
    atol: Any,
    max_step: Any,
    count: Any,
    terminal: Any,
) -> Any:
    t0, t1 = t_span[0] * 1.0, t_span[1] * 1.0
    end = stop_gradient(t1)
    y0 = np.array(y0, dtype=np.float64)
    moments, which = event_times(
        y0, leaves, t0, rate=rate, place=place, end=end, rtol=rtol, atol=atol, max_step=max_step
    )
    there = states(
        y0, leaves, t0, moments, rate=rate, place=place, end=end, rtol=rtol, atol=atol, max_step=max_step
    )
    last = moments[moments.size - 1] if terminal else t1
    if t_eval is None:
        times = np.array([t0, last])
    else:
        wanted = np.asarray(t_eval, dtype=np.float64)
        ahead = wanted <= last if t1 >= t0 else wanted >= last
        times = wanted[: np.sum(ahead)].copy()
    y = states(
        y0, leaves, t0, times, rate=rate, place=place, end=end, rtol=rtol, atol=atol, max_step=max_step
    )
    t_events = tuple([moments[which == k] for k in range(count)])
    y_events = tuple([there.T[which == k] for k in range(count)])
    return Solution(times, y, t_events, y_events)
