"""What compiled code has read is told by its content, not only by what it is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

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
