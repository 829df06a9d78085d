"""Every kind of derivative is taken of a program that is rewritten for it (`optimise.prepare`), and all agree."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.backend import printer, staleness
from tests.oracles import interpreted, same
from tests.sampling import sampled

_RNG = np.random.default_rng(8)
_ANGLES, _POINTS, _MOVED = _RNG.normal(size=3), _RNG.normal(size=5), _RNG.normal(size=3)


def energy(angles: Any, points: Any) -> Any:
    """Works on two numbers per iteration, in an array that becomes two variables; but for sums, iterations leave
    nothing.
    """
    total = 0.0
    for i in range(points.shape[0]):
        pair = np.empty(2)
        pair[0] = points[i] * angles[0]
        pair[1] = points[i] + angles[1] * angles[2]
        total += np.sum(np.sin(pair) * pair)
    return total


def steepness(angles: Any, points: Any) -> Any:
    return np.sum(tapec.grad(energy)(angles, points) * _MOVED)


def _vjp(**options: Any) -> Any:
    _, pullback = tapec.vjp(energy, _ANGLES, _POINTS, **options)
    return pullback(1.0)[0]


def _pair_of_results(**options: Any) -> Any:
    _, pullback = tapec.vjp(lambda angles: (energy(angles, _POINTS), angles[0]), _ANGLES, **options)
    return pullback((1.0, 0.0))[0]


def _tape(**options: Any) -> Any:
    with tapec.GradientTape(**options) as tape:
        angles = tapec.constant(_ANGLES)
        tape.watch(angles)
        value = energy(angles, _POINTS)
    return tape.gradient(value, angles)


def _function(**options: Any) -> Any:
    @tapec.function(**options)
    def slope(angles: Any, points: Any) -> Any:
        with tapec.GradientTape() as tape:
            tape.watch(angles)
            value = energy(angles, points)
        return tape.gradient(value, angles)

    return slope(_ANGLES, _POINTS)


# each gives the gradient, or the Hessian times _MOVED
GRADIENTS: dict[str, Callable[..., Any]] = {
    "grad": lambda **options: tapec.grad(energy, **options)(_ANGLES, _POINTS),
    "vjp": _vjp,
    "vjp of several": _pair_of_results,
    "jvp": lambda **options: np.array(
        [tapec.jvp(energy, (_ANGLES, _POINTS), (unit, None), **options)[1] for unit in np.eye(3)]
    ),
    "jacfwd": lambda **options: tapec.jacfwd(energy, **options)(_ANGLES, _POINTS),
    "jacrev": lambda **options: tapec.jacrev(energy, **options)(_ANGLES, _POINTS),
    "tape": _tape,
    "function": _function,
}
PRODUCTS: dict[str, Callable[..., Any]] = {
    "hvp": lambda **options: tapec.hvp(energy, **options)(_ANGLES, _POINTS, _MOVED),
    "hessian": lambda **options: tapec.hessian(energy, **options)(_ANGLES, _POINTS) @ _MOVED,
    "nested": lambda **options: tapec.grad(steepness, **options)(_ANGLES, _POINTS),
}


@pytest.mark.parametrize("kind", sampled((*GRADIENTS, *PRODUCTS), 6))
def test_works_on_variables_and_agrees(kind: str, monkeypatch: pytest.MonkeyPatch):
    printed: list[str] = []

    def noted(write: Callable[..., Any]) -> Callable[..., Any]:
        def written(*args: Any) -> Any:
            text = write(*args)
            printed.extend(text if isinstance(text, list) else [text])
            return text

        return written

    run = (GRADIENTS | PRODUCTS)[kind]
    # derivatives that other tests have made print nothing
    monkeypatch.setattr(staleness, "_made", collections.OrderedDict())
    with interpreted():
        plainly = run(opt_level=1) if kind != "tape" else run()
        for name in ("statements", "function"):
            monkeypatch.setattr(printer, name, noted(getattr(printer, name)))
        found = run()
        wanted = GRADIENTS["grad"]() if kind in GRADIENTS else PRODUCTS["hvp"]()
    text = "\n".join(printed)
    assert "range(" in text and not re.search(r"np\.(empty|zeros)\([^)]*\b2\b", text), text
    same(kind, found, wanted, 1e-12)
    same(f"{kind} at level 1", plainly, wanted, 1e-12)
