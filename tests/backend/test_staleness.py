"""What compiled code has read is told by its content, not only by what it is."""

from __future__ import annotations

import functools
from array import array
from collections import deque
from collections.abc import Callable
from types import MappingProxyType, MethodType, SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

import tapec
from tapec.backend.staleness import Reads


class Keyed:
    """An object that says what it is made of."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.weights = np.ones(2)

    def __tapec_key__(self) -> tuple[Any, ...]:
        return self.rate, self.weights

    def scaled(self, x: float) -> float:
        return self.rate * x


def product(x: float, y: float) -> float:
    return x * y


def faster(owner: Any) -> None:
    owner.rate = 3.0


def heavier(owner: Any) -> None:
    owner.weights[1] = 3.0


RATES = {"rate": 2.0}
CHANGES: list[tuple[Callable[[], Any], Callable[[Any], None]]] = [
    (lambda: SimpleNamespace(rate=2.0), faster),
    (lambda: SimpleNamespace(weights=np.ones(2)), heavier),
    (lambda: (SimpleNamespace(rate=2.0), 1.0), lambda pair: faster(pair[0])),
    (lambda: {"model": [SimpleNamespace(rate=2.0)]}, lambda models: faster(models["model"][0])),
    (lambda: Keyed(2.0), faster),
    (lambda: Keyed(2.0), heavier),
    (lambda: Keyed(2.0).scaled, lambda method: faster(method.__self__)),
    (lambda: functools.partial(product, y=2.0), lambda partial: partial.keywords.update(y=3.0)),
    (lambda: {1.0, 2.0}, lambda numbers: numbers.add(3.0)),
    (lambda: deque([1.0]), lambda numbers: numbers.append(3.0)),
    (lambda: bytearray(2), lambda numbers: numbers.append(3)),
    (lambda: array("d", [1.0]), lambda numbers: numbers.append(3.0)),
    (lambda: memoryview(bytearray(2)), lambda numbers: numbers.__setitem__(0, 3)),
    (lambda: MappingProxyType(RATES), lambda _: RATES.update(rate=3.0)),
]


@pytest.mark.parametrize("make, change", CHANGES)
def test_content_that_changes_inside_an_object_is_noticed(
    make: Callable[[], Any], change: Callable[[Any], None]
) -> None:
    holder = SimpleNamespace(held=make())
    reads = Reads()
    reads.note([(holder, "held", holder.held)], [])
    assert not reads.changed
    change(holder.held)
    assert reads.changed


def test_an_object_that_holds_itself_is_told() -> None:
    held = SimpleNamespace(rate=2.0)
    held.own = {"again": held}
    reads = Reads()
    reads.note([(SimpleNamespace(held=held), "held", held)], [])
    assert not reads.changed
    faster(held)
    assert reads.changed


def test_a_method_looked_up_anew_is_the_same_one() -> None:
    keyed = Keyed(2.0)
    holder = SimpleNamespace(held=keyed.scaled)
    reads = Reads()
    reads.note([(holder, "held", holder.held)], [])
    holder.held = MethodType(Keyed.scaled, keyed)
    assert not reads.changed


class Switch:
    """An object whose methods are called without being named."""

    on = True

    def __call__(self, x: float) -> float:
        return 2.0 * x

    def __getitem__(self, place: int) -> float:
        return 2.0

    def __len__(self) -> int:
        return 2

    def __bool__(self) -> bool:
        return self.on

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


SWITCH, OTHER = Switch(), Switch()
USES: dict[str, tuple[Callable[[float], float], Callable[..., Any]]] = {
    "__call__": (lambda x: SWITCH(x), lambda self, x: 5.0 * x),
    "__getitem__": (lambda x: x * SWITCH[0], lambda self, place: 5.0),
    "__len__": (lambda x: x * len(SWITCH), lambda self: 5),
    "__bool__": (lambda x: x * (2.0 if SWITCH else 5.0), lambda self: False),
    "__eq__": (lambda x: x * (2.0 if SWITCH == OTHER else 5.0), lambda self, other: False),
}


@pytest.mark.parametrize("name", USES)
def test_methods_that_python_looks_up_in_a_class_may_be_replaced(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    use, other = USES[name]
    assert tapec.grad(use)(1.0) == tapec.jvp(use, (1.0,), (1.0,))[1] == 2.0
    monkeypatch.setattr(Switch, name, other)
    assert tapec.grad(use)(1.0) == tapec.jvp(use, (1.0,), (1.0,))[1] == 5.0


def test_what_the_truth_of_an_object_reads_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    use, _ = USES["__bool__"]
    assert tapec.grad(use)(1.0) == 2.0
    monkeypatch.setattr(SWITCH, "on", False)
    assert tapec.grad(use)(1.0) == 5.0
