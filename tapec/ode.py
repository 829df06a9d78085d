"""Solutions of ordinary differential equations by `scipy.integrate.solve_ivp`, and their derivatives.

>>> import numpy as np
>>> import tapec
>>> def decay(t: Any, y: Any, rate: Any) -> Any:
...     return -rate * y
>>> def left(rate: Any) -> Any:
...     return tapec.ode.solve(decay, (0.0, 2.0), [1.0], rate).y[0, -1]
>>> round(tapec.grad(left)(0.5), 6)
-0.735759

SciPy chooses the steps; nothing is differentiated through them.  Reverse mode integrates the adjoint equation back from
each point that is asked for, forward mode the sensitivities along with the state:

    dy/dt = f        d lambda/dt = -lambda f_y        d mu/dt = -lambda f_p        (reverse)
                     d v/dt = f_y v + f_p dp                                       (forward)

Either is a differential equation of its own, which `states` solves as it solves the first one: so derivatives have any
order.  Of an event, g(t, y(t), p) = 0, the implicit function theorem gives the time: dt = -(g_y v + g_p dp) / (g_t +
g_y f).  Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, section I.14; Cao, Li, Petzold and
Serban, Adjoint sensitivity analysis for differential-algebraic equations (2003).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.ode_calls import called, lowered
from tapec.ode_rules import Solution

__all__ = ["Solution", "solve"]


def solve(
    f: Callable[..., Any],
    t_span: Any,
    y0: Any,
    params: Any = None,
    *,
    method: str = "RK45",
    t_eval: Any = None,
    events: Any = None,
    rtol: float = 1e-8,
    atol: Any = 1e-10,
    max_step: float = np.inf,
) -> Solution:
    """`scipy.integrate.solve_ivp` with derivatives by the state, the parameters, and the points of time.

    f         the right side dy/dt = f(t, y, params), or f(t, y) without params; it returns (n,), as an array or a list
    t_span    where the integration begins and where it ends, which may be before
    y0        the state at the beginning (n,)
    params    what `f` and the events are given: a number, an array, or any structure of those
    method    one of SciPy's names; "Radau", "BDF" and "LSODA" are given the Jacobian of `f` by the state
    t_eval    points in their order (m,), at which the states are wanted; by default the two ends
    events    a function g(t, y, params), or a tuple of those: an event is where it crosses zero.  Its attributes
              `direction` and `terminal` are as SciPy's
    rtol, atol, max_step  as SciPy's, but for smaller tolerances; those of the sensitivities and adjoints, too
    returns   a `Solution`: t, y, t_events, y_events.  After a terminal event the last point is that event
    raises    IntegrationError  where the steps get too small, where a terminal event does not happen within t_span, and
              where an event whose time is differentiated touches zero, but does not cross it;  TapecError

    Gradients integrate the adjoint equation backwards, with the state, from each of the points; `jvp` and `jacfwd` the
    sensitivities along with the state.  Derivatives of any order work, in both modes.

    >>> import tapec
    >>> def falling(t: Any, y: Any, gravity: Any) -> Any:
    ...     return [y[1], -gravity]
    >>> def ground(t: Any, y: Any, gravity: Any) -> Any:
    ...     return y[0]
    >>> ground.terminal = True
    >>> def duration(height: Any, gravity: Any) -> Any:
    ...     return solve(falling, (0.0, 10.0), [height, 0.0], gravity, events=ground).t[-1]
    >>> round(tapec.grad(duration)(20.0, 10.0), 6)
    0.05
    """
    return called(f, t_span, y0, params, method, t_eval, events, rtol, atol, max_step)


def _lowered(ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
    return lowered(ev, args, kwargs, node, _SIGNATURE)


_SIGNATURE = inspect.signature(solve)
setattr(solve, "__tapec_lower__", _lowered)  # noqa: B010
