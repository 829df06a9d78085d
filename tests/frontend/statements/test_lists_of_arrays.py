"""Lists that a loop over few known numbers fills with arrays: its iterations are written out."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError
from tests import oracles
from tests.oracles import arr
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("mostly_plainly")


def stages(u, a):
    for _ in range(a.shape[0]):
        ks = []
        for i in range(4):
            v = u
            if i > 0:
                v = u + 0.05 * ks[i - 1]
            ks.append(a @ v)
        u = u + 0.1 * (ks[0] + 2.0 * ks[1] + 2.0 * ks[2] + ks[3]) / 6.0
    return np.sum(u * u)


def layers(u, a):
    hidden = [u]
    for k in range(3):
        hidden.append(np.tanh(a[k] * hidden[-1]))
    return np.sum(hidden[-1] ** 2) + hidden[1][0]


def nested(u, a):
    out = []
    for i in range(2):
        for j in range(3):
            if j != 1:
                out.append(a[j] * u * (i + 1.0))
    total = 0.0
    for v in out:
        total += np.sum(v * v)
    return total * len(out)


def no_iteration(u, a):
    out = [u]
    for _ in range(0):
        out.append(a @ u)
    return np.sum(out[-1] ** 2 * a[0])


def changed_afterwards(u, a):
    out = []
    y = u.copy()
    for i in range(3):
        out.append(y)
        y[i] = y[i] * 2.0
        y = y + out[0] * a[i]
    return np.sum(out[0] * out[2]) + np.sum(y) + i


def emptied(u, a):
    out = [u, a @ u, a[0], a[1] * u]
    total = 0.0
    for i in range(3):
        v = out.pop()
        total += np.sum(v * v) * (i + 1)
    return total + np.sum(out[0])


def numbers(u, a):
    out = []
    for i in range(3):
        out.append(u[i] * a[i, 0])
    return out[0] * out[-1]


def walked_backwards(u, a):
    hidden = []
    for k in range(3):
        hidden.append(np.tanh(a[k] * u))
    g = u
    for k in range(2, -1, -1):
        g = g * (1.0 - hidden[k] ** 2)
    return np.sum(g)


PROGRAMS = [no_iteration, stages, layers, nested, changed_afterwards, emptied, numbers, walked_backwards]


@pytest.mark.slow
@pytest.mark.parametrize("f", sampled(PROGRAMS, 3))
def test_programs(f):
    oracles.check(f, (arr(3), arr(3, 3) * 0.5))


def test_a_list_of_numbers_keeps_one_body():
    assert "range(3)" in tapec.emit(numbers, signature="f8[::1], f8[:,::1]", opt_level=1)


def many(u):
    out = []
    for i in range(1000):
        out.append(u * i)
    return np.sum(out[0])


def test_many_iterations_are_refused():
    with pytest.raises(TapecError, match="a list that grows in a loop"):
        tapec.emit(many, signature="f8[::1]", opt_level=2)
