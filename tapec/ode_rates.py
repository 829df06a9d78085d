"""Right sides of differential equations, with their events, as functions of numbers and arrays; those of derivatives.

A right side is `rate(t, y, *leaves)`, where the leaves are the numbers and arrays among its parameters.  Its
derivatives are right sides again, with source that calls products of the first one:

    adjoint    of (y, lambda, mu), which runs back;  the leaves are the same
    tangent    of (y, v);  the leaves, then the tangents of those that have any
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tapec.api import grad
from tapec.backend.carrier import from_text
from tapec.functions import function
from tapec.jacobians import jacobian
from tapec.product_functions import jvp_fun, vjp_fun

# methods of SciPy, and whether they solve equations with the Jacobian by the state
METHODS = {"RK23": False, "RK45": False, "DOP853": False, "Radau": True, "BDF": True, "LSODA": True}

_serial = itertools.count(1)
_alive: weakref.WeakValueDictionary[int, Rate] = weakref.WeakValueDictionary()

_PARTS = """
def adjoint(t, z{listed}):
    n = (z.size - ({count})) // 2
    slope, bars = vjp_fun(rate, wrt={by_state})(t, z[:n]{listed}, z[n : 2 * n])
    return np.concatenate((slope, -bars[0]{negated}))


def tangent(t, z{listed}{dots}):
    n = z.size // 2
    slope, change = jvp_fun(rate, wrt={by_state})(t, z[:n]{listed}, z[n:]{dots})
    return np.concatenate((slope, change))


def count({own}):
    return {count}


def split(flat{listed}):
    start = 0
    {splits}
    return {listed_bars}


def dots(tangents):
    return ({chosen})


def along(k, t, y, slope{listed}):
    return jvp_fun(crossing, wrt=(1, 2))(k, t, y{listed}, 1.0, slope)[1]


def steepness(k, t, y{listed}):
    return along(k, t, y, rate(t, y{listed}){listed})


def bend(k, t, y{listed}):
    return jvp_fun(steepness, wrt=(1, 2))(k, t, y{listed}, 1.0, rate(t, y{listed}))[1]


def slopes(k, t, y{listed}):
    return grad(crossing, wrt=2)(k, t, y{listed})


def crossing_bars(k, t, y{listed}, weight):
    bars = vjp_fun(crossing, wrt={event_by_state})(k, t, y{listed}, weight)[1]
    return bars[0], np.concatenate((np.zeros(0){flat},))


def crossing_change(k, t, y{listed}, v{dots}):
    return jvp_fun(crossing, wrt={event_by_state})(k, t, y{listed}, v{dots})[1]
"""


class Rate:
    """A right side, and what belongs to it.

    function  of the time, the state, and the leaves
    crossing  the function of an event: of its number, the time, the state, and the leaves; None without events
    axes      of the leaves: 0 for a number, None for one without a derivative
    ends      for each event, how often it may happen before it ends the integration, 0 for ever; and its direction
    """

    def __init__(
        self,
        function: Callable[..., Any],
        axes: Sequence[int | None],
        method: str,
        crossing: Callable[..., Any] | None = None,
        ends: Sequence[tuple[int, float]] = (),
    ) -> None:
        self.function, self.axes, self.method = function, tuple(axes), method
        self.crossing, self.ends = crossing, tuple(ends)
        self.serial = next(_serial)
        _alive[self.serial] = self

    def __reduce__(self) -> Any:
        # Numba pickles what object mode calls, and reads it again in this process
        return _living, (self.serial,)

    def __tapec_lower__(self, ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        from tapec.frontend.evaluator.values import Static

        return ev.apply(Static(self.function), args, kwargs, node)

    @functools.cached_property
    def compiled(self) -> Any:
        return function(self.function)

    @functools.cached_property
    def compiled_crossing(self) -> Any:
        assert self.crossing is not None
        return function(self.crossing)

    @functools.cached_property
    def jacobian(self) -> Any:
        """By the state, for methods that ask for it."""
        return jacobian(self.function, wrt=1) if METHODS[self.method] else None

    @functools.cached_property
    def parts(self) -> dict[str, Any]:
        """The functions of `_PARTS`."""
        import numpy as np

        names = [f"leaf_{k}" for k in range(len(self.axes))]
        moving = [k for k, axes in enumerate(self.axes) if axes is not None]
        sizes = ["1" if self.axes[k] == 0 else f"leaf_{k}.size" for k in moving]
        bars = {k: f"bars[{place + 1}]" for place, k in enumerate(moving)}
        flat = [f"np.array([{bars[k]}])" if self.axes[k] == 0 else f"{bars[k]}.ravel()" for k in moving]
        splits = []
        for k, size in zip(moving, sizes, strict=True):
            part = "flat[start]" if self.axes[k] == 0 else f"flat[start : start + {size}].reshape(leaf_{k}.shape)"
            splits += [f"bar_{k} = {part}", f"start = start + {size}"]
        words = {
            "own": ", ".join(names),
            "listed": "".join(f", {one}" for one in names),
            "dots": "".join(f", leaf_{k}_dot" for k in moving),
            "by_state": repr((1, *(k + 2 for k in moving))),
            "event_by_state": repr((2, *(k + 3 for k in moving))),
            "count": " + ".join(sizes) or "0",
            "flat": "".join(f", {one}" for one in flat),
            "negated": "".join(f", -{one}" for one in flat),
            "splits": "\n    ".join(splits) or "pass",
            "listed_bars": f"({''.join(f'bar_{k}, ' if k in moving else 'None, ' for k in range(len(names)))})",
            "chosen": "".join(f"tangents[{k}], " for k in moving),
        }
        values: dict[str, Any] = {"np": np, "grad": grad, "vjp_fun": vjp_fun, "jvp_fun": jvp_fun, "__name__": __name__}
        values |= {"rate": self.function, "crossing": self.crossing}
        from_text("count", _PARTS.format(**words), values)
        return values

    @functools.cached_property
    def adjoint(self) -> Rate:
        return Rate(self.parts["adjoint"], self.axes, self.method)

    @functools.cached_property
    def tangent(self) -> Rate:
        return Rate(self.parts["tangent"], (*self.axes, *(one for one in self.axes if one is not None)), self.method)


def _living(serial: int) -> Rate:
    return _alive[serial]


class _Part:
    """What belongs to a right side, in code that is only lowered."""

    def __call__(self, rate: Any, name: str) -> Any:
        raise NotImplementedError

    def __tapec_lower__(self, _ev: Any, args: Any, _kwargs: Any, _node: Any) -> Any:
        from tapec.frontend.evaluator.values import Static

        rate, name = (one.obj for one in args)
        return Static(getattr(rate, name) if name in ("adjoint", "tangent") else rate.parts[name])


part = _Part()
