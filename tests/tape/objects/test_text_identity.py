"""Equal Python floats are one object: the text of the call says which one is meant, or the call is refused."""

from __future__ import annotations

import pytest

from tapec import GradientTape
from tapec.errors import LoweringError

AMBIGUOUS = "stands for several values in the tape's block"


def test_names():
    a = 3.0
    b = 3.0
    with GradientTape() as tape:
        tape.watch(a)
        tape.watch(b)
        y = a * b + a
    assert a is b
    assert tape.gradient(y, [a, (b,)]) == [4.0, (3.0,)]


def test_only_one_is_watched():
    a = b = 3.0
    with GradientTape(persistent=True) as tape:
        tape.watch(a)
        y = a * b
    assert tape.gradient(y, a) == 3.0
    assert tape.gradient(y, sources=b) is None
    assert tape.jacobian(y, {"a": a, "b": b}) == {"a": 3.0, "b": None}


def test_a_number_of_the_block():
    a = 3.0
    with GradientTape(persistent=True) as tape:
        tape.watch(a)
        k = 3.0
        y = a * k
    assert tape.gradient(y, a) == 3.0
    assert tape.gradient(y, k) is None
    assert tape.gradient(k, a) is None


def test_containers_and_attributes():
    class Line:
        def __init__(self):
            self.slope = self.offset = 0.5

    line, table, items = Line(), {"w": 0.0, "b": 0.0}, [1.0, 1.0]
    with GradientTape(persistent=True) as tape:
        tape.watch([line.slope, line.offset, table, items])
        y = line.slope * 2.0 + line.offset + table["w"] * 3.0 + table["b"] + items[0] * 4.0 + items[1]
    assert tape.gradient(y, [line.slope, line.offset]) == [2.0, 1.0]
    assert tape.gradient(y, table) == {"w": 3.0, "b": 1.0}
    assert tape.gradient(y, items) == [4.0, 1.0]
    assert tape.gradient(y, [table["w"], items[1]]) == [3.0, 1.0]


def test_in_a_loop():
    a = b = 0.5
    for _ in range(3):
        with GradientTape() as tape:
            tape.watch(a)
            tape.watch(b)
            y = a * b + b
        in_a, in_b = tape.gradient(y, [a, b])
        a, b = a - 0.5 * in_a, b - 0.5 * in_b
    assert (in_a, in_b) == (-0.875, 1.375)


def rebound():
    a = b = 3.0
    with GradientTape() as tape:
        tape.watch([a, b])
        y = a * b
    a = 3.0
    return tape.gradient(y, a)


def in_another_function():
    a = b = 3.0
    with GradientTape() as tape:
        tape.watch([a, b])
        y = a * b

    def ask(x):
        return tape.gradient(y, x)

    return ask(a)


def through_another_name():
    a = b = 3.0
    with GradientTape() as tape:
        tape.watch([a, b])
        y = a * b
    kept = [a]
    return tape.gradient(y, kept)


def changed_in_between():
    items = [3.0, 3.0]
    with GradientTape() as tape:
        tape.watch(items)
        y = items[0] * items[1]
    items.reverse()
    return tape.gradient(y, items)


def shared_with_a_function():
    a = b = 3.0

    def change():
        nonlocal a
        a = 3.0

    with GradientTape() as tape:
        tape.watch([a, b])
        y = a * b
    change()
    return tape.gradient(y, a)


def another_tape_of_the_name():
    a = b = 3.0
    with GradientTape() as tape:
        tape.watch([a, b])
        y = a * b
    first = tape
    tape = GradientTape()
    return first.gradient(y, a)


def in_a_loop_behind():
    a = b = 3.0
    with GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        y = a * b
    for _ in range(2):
        found = tape.gradient(y, a)
        a = 3.0
    return found


@pytest.mark.parametrize(
    "f",
    [
        rebound,
        in_another_function,
        through_another_name,
        changed_in_between,
        shared_with_a_function,
        another_tape_of_the_name,
        in_a_loop_behind,
    ],
)
def test_where_the_text_does_not_tell(f):
    with pytest.raises(LoweringError, match=AMBIGUOUS):
        f()
