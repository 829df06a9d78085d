"""The calls of `scipy.integrate.solve_ivp`: paths, the states on them and the times of events, as opaque functions."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tapec.errors import IntegrationError, Span
from tapec.functions import opaque
from tapec.linear_solves import key_of
from tapec.ode_rates import Rate

_last = threading.local()


def path(rate: Rate, place: Span | None, settings: tuple[Any, ...], leaves: tuple[Any, ...]) -> Any:
    """SciPy's solution from t0 to `end`, or to where an event ends it; raises IntegrationError.

    settings  t0, end, y0, rtol, atol, max_step
    """
    from scipy.integrate import solve_ivp

    t0, end, y0, rtol, atol, max_step = settings
    f, by_state = rate.compiled, rate.jacobian
    keywords: dict[str, Any] = {}
    if by_state is not None:
        keywords["jac"] = lambda t, y: by_state(t, y, *leaves)
    if rate.ends:
        keywords["events"] = [_event(rate, k, leaves) for k in range(len(rate.ends))]
    found = solve_ivp(
        lambda t, y: f(t, y, *leaves),
        (float(t0), float(end)),
        np.array(y0, np.float64),
        method=rate.method,
        dense_output=True,
        rtol=rtol,
        atol=np.array(atol),
        max_step=max_step,
        **keywords,
    )
    if found.status < 0 or not np.all(np.isfinite(found.y[:, -1])):
        reason = found.message if found.status < 0 else "the state is not finite"
        raise IntegrationError(
            f"the differential equation cannot be integrated beyond t = {found.t[-1]:.6g}, from {t0:.6g} to {end:.6g}",
            place,
            reason=reason.rstrip("."),
            hint='a stiff equation needs method="BDF", "Radau" or "LSODA"; a solution may also have a pole there',
        )
    if found.status == 0 and any(count for count, _ in rate.ends):
        raise IntegrationError(
            f"the event that ends the integration does not happen between t = {t0:.6g} and {end:.6g}",
            place,
            hint="integrate further, lower `max_step` if the event is short, or leave out `terminal`",
        )
    return found


def _event(rate: Rate, k: int, leaves: tuple[Any, ...]) -> Any:
    crossing = rate.compiled_crossing

    def event(t: float, y: Any) -> Any:
        return crossing(k, t, y, *leaves)

    event.terminal, event.direction = rate.ends[k]  # type: ignore[attr-defined]
    return event


def _kept(rate: Rate, place: Any, t0: Any, end: Any, y0: Any, rtol: Any, atol: Any, max_step: Any, *leaves: Any) -> Any:
    """The path; that of the last call, if it is the same."""
    settings = t0, end, y0, rtol, atol, max_step
    key = key_of((*settings, *leaves))
    if getattr(_last, "key", None) != (id(rate), key):
        _last.found, _last.rate, _last.key = path(rate, place, settings, leaves), rate, (id(rate), key)
    return _last.found


def _states(times: Any, *given: Any) -> Any:
    """The states at times (m,), as an array (n, m)."""
    place, end, y0 = given[1], given[3], given[4]
    found = _kept(*given)
    check_times(times, given[2], end, place)
    return at_times(found, times, y0)


def check_times(times: Any, t0: float, end: float, place: Span | None) -> None:
    """Refuse points that are not in order, or not within the span."""
    ahead = np.diff(np.concatenate(([t0], times, [end])))
    if np.any(ahead < 0) and np.any(ahead > 0) or not np.all(np.isfinite(times)):
        raise IntegrationError(
            f"the points of `t_eval` do not go from t = {t0:.6g} to {end:.6g} in their order",
            place,
            hint="sort them, and let t_span hold all of them",
        )


def at_times(found: Any, times: Any, y0: Any) -> Any:
    """The states (n, m) at times (m,) of a path; at its ends those that are known."""
    y = np.empty((len(y0), len(times)))
    if len(times):
        y[:] = found.sol(np.asarray(times, np.float64))
    y[:, times == found.t[-1]] = found.y[:, -1:]
    y[:, times == found.t[0]] = np.asarray(y0)[:, None]
    return y


def _events(*given: Any) -> Any:
    """The times of all events (k,), in the order of time, and the number of the event that each is of."""
    return in_order(_kept(*given), given[3] < given[2])


def in_order(found: Any, back: bool) -> Any:
    each = found.t_events or []
    times = np.concatenate([np.zeros(0), *each])
    which = np.repeat(np.arange(len(each)), [len(one) for one in each])
    order = np.argsort(-times if back else times, kind="stable")
    return times[order], which[order]


def _tangency(rate: Rate, place: Any, k: int, t: float, steep: float, bend: float, error: float) -> float:
    """Zero; raises IntegrationError if an event cannot be told from one that only touches zero.

    steep, bend  the first and second derivative of the event's function along the solution
    error        of the event's function, to the tolerances
    """
    if not np.isfinite(steep) or abs(bend) * error >= 0.01 * steep * steep:
        raise IntegrationError(
            f"the time t = {t:.6g} of event {k} has no derivative",
            place,
            reason=f"the solution touches the event: its function has the slope {steep:.3g} there, along the solution",
            hint="choose an event whose function crosses zero, or lower `rtol` and `atol`",
        )
    return 0.0


states_at = opaque(_states, "f8[:, :]")
events_of = opaque(_events, ("f8[:]", "i8[:]"))
tangency = opaque(_tangency, "f8")
