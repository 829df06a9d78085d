"""Exceptions that a tape's block raises and catches itself."""

from __future__ import annotations

import types

import numpy as np
import pytest

from tapec import GradientTape, Variable


def walked(x, box):
    total, i = 0.0, 0
    try:
        while True:
            total = total + x[i] ** 2
            i += 1
    except IndexError:
        pass
    return total


def beyond(x, box):
    try:
        return x[7] * 3.0
    except IndexError:
        return x[0] * 2.0


def negative(x, box):
    try:
        return x[-4]
    except IndexError as error:
        return x[-1] * (2.0 if isinstance(error, LookupError) else 1.0)


def inside(x, box):
    try:
        return x[2] * 3.0
    except IndexError:
        return x[0] * 2.0


def missing_attribute(x, box):
    try:
        factor = box.factor
    except AttributeError:
        factor = 2.0
    return np.sum(x) * factor


def missing_item(x, box):
    try:
        factor = [1.0, 2.0][5]
    except IndexError:
        factor = 3.0
    try:
        factor = factor + {}["key"]
    except KeyError:
        factor = factor + 1.0
    return np.sum(x) * factor


def in_a_helper(x, box):
    def at(k):
        return x[k] * 2.0

    total = 0.0
    for k in range(5):
        try:
            total = total + at(k)
        except IndexError:
            total = total * 3.0
            break
        finally:
            total = total + x[0]
    return total


BODIES = [walked, beyond, negative, inside, missing_attribute, missing_item, in_a_helper]
SLOPES = {
    "walked": [2.0, 4.0, 6.0], "beyond": [2.0, 0.0, 0.0], "negative": [0.0, 0.0, 2.0], "inside": [0.0, 0.0, 3.0],
    "missing_attribute": [2.0] * 3, "missing_item": [4.0] * 3, "in_a_helper": [16.0, 6.0, 6.0],
}  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_the_block_runs_as_in_python(body):
    x, box = Variable([1.0, 2.0, 3.0]), types.SimpleNamespace()
    for _ in range(3):
        with GradientTape() as tape:
            y = body(x, box)
        assert np.allclose(tape.gradient(y, x), SLOPES[body.__name__])


def test_an_attribute_that_comes_later_is_found():
    x, box = Variable([1.0, 2.0, 3.0]), types.SimpleNamespace()
    for factor in (None, 5.0, 7.0):
        if factor is not None:
            box.factor = factor
        with GradientTape() as tape:
            y = missing_attribute(x, box)
        assert np.allclose(tape.gradient(y, x), factor or 2.0)
