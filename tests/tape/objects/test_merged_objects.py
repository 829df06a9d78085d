"""Objects that have several names in the program, because ways met: in compiled functions, as in ordinary code."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant
from tests.oracles import interpreted


@pytest.fixture(autouse=True)
def _interpreted():
    with interpreted():
        yield


def chosen_behind(x):
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        a, b = x * x, x**3
    r = a if x > 1.0 else b
    if x > 1.0:
        s = a
    else:
        s = a * 3.0
    return [tape.gradient(r, x), tape.gradient(s, x), tape.gradient([r, s], x), tape.gradient(b, r)]


def chosen_source(x):
    y = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        a = x * x
        b = a * y
        c = a * b
    s = x if x > 1.0 else y
    t = a if x > 1.0 else b
    return [tape.gradient(c, s), tape.gradient(c, t)]


def chosen_variable(x):
    p, q = Variable(2.0), Variable(3.0)
    s = p if x > 1.0 else q
    s.assign(10.0)
    with GradientTape() as tape:
        a = s * s * q * x * p
    return tape.gradient(a, [p, q, s, p if x > 1.0 else q])


def best_of(x):
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        found = [x * x, 3.0 - x, x**3 * 0.3]
    best = found[0]
    for one in found[1:]:
        if one < best:
            best = one
    return [tape.gradient(best, x), tape.gradient(min(found), x)]


def early(x):
    def part(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
            if x > 1.5:
                return tape, y
            y = y * x
            for k in range(3):
                y = y + x * k
                if y > 3.0:
                    return tape, y
        return tape, y * 1.0

    tape, y = part(x)
    return tape.gradient(y, x)


def same_at_first(x):
    y, n, found = x, 0, []
    while n < 3:
        with GradientTape() as tape:
            tape.watch(y)
            z = y * y * x
        y = tape.gradient(z, y)
        n += 1
        found.append(y)
    return found


def two_names(x):
    p = q = x * 2.0
    total = 0.0
    for _ in range(3):
        with GradientTape() as tape:
            tape.watch(p)
            z = p * q * q
        slope = tape.gradient(z, p)
        total = total + slope
        p = q = slope * 0.1
    return total


def asked_in_a_pause(x):
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            z = y * 3.0
            w = y if x > 1.0 else x
            found = [tape.gradient(z, x), tape.gradient(y, x), tape.gradient(y, z), tape.gradient(w, x)]
    return found


def reset_by_another(x):
    v = Variable(x)
    with GradientTape(persistent=True) as outer:
        y = v * v
        with GradientTape(persistent=True) as inner:
            w = y * v
            inner.reset()
            inner.reset()
            z = w * v
    pairs = [(w, v), (z, v), (z, w)]
    return [tape.gradient(*pair) for tape in (outer, inner) for pair in pairs]


CASES = [
    (chosen_behind, 2.0, [4.0, 4.0, 8.0, None]),
    (chosen_behind, 0.5, [0.75, None, 0.75, 1.0]),
    (chosen_source, 2.0, [96.0, 24.0]),
    (chosen_source, 0.5, [0.0625, 0.25]),
    (chosen_variable, 2.0, [1800.0, 2000.0, 1800.0, 1800.0]),
    (chosen_variable, 0.5, [500.0, 300.0, 300.0, 300.0]),
    (best_of, 0.5, [0.225, 0.225]),
    (best_of, 2.0, [-1.0, -1.0]),
    (early, 2.0, 4.0),
    (early, 1.2, 7.32),
    (early, 0.5, None),
    (same_at_first, 1.5, [6.75, 20.25, 60.75]),
    (two_names, 0.5, 3.0 + 0.27 + 0.002187),
    (asked_in_a_pause, 2.0, [None, 4.0, None, 4.0]),
    (reset_by_another, 2.0, [12.0, 32.0, 2.0, None, 8.0, None]),
]


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
def test_what_a_name_stands_for_is_the_object_that_it_holds(compiled):
    for function, x, right in CASES:
        run = tapec.function(function) if compiled else function
        for _ in range(2):
            found = run(constant(x))
            assert _same(found, right), f"{function.__name__}({x}): {found}"


def _same(found, right):
    if isinstance(right, list):
        return len(found) == len(right) and all(map(_same, found, right))
    return found is None if right is None else found is not None and np.isclose(found, right)


def test_choices_of_targets_do_not_compile_every_way():
    @tapec.function
    def run(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            a, b = x * x, x**3
        r = a if x > 1.0 else b
        s = a if x > 1.0 else a * 3.0
        return tape.gradient(r, x), tape.gradient(s, x)

    assert run(2.0) == (4.0, 4.0)
    assert run(0.5) == (0.75, None)
    assert run.source().count("def ") == 1
