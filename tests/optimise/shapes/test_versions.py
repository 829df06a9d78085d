"""One version of a program alone: it computes what all of them do, and refuses arguments of others."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

import tapec_runtime
from tapec.backend import jit
from tapec.backend.program import Program
from tapec.backend.signature import arguments
from tapec.pipeline import build
from tests import oracles


def cosine(x, y):
    return (x * y).sum() / (np.sqrt((x * x).sum()) * np.sqrt((y * y).sum()))


def trapezoid(x, y):
    return (0.5 * (y[1:] + y[:-1]) * (x[1:] - x[:-1])).sum()


def on_complex(z, y):
    return np.sum(np.abs(z * y) ** 2)


def in_a_tuple(p, y):
    a, (b, c) = p
    return np.sum(a * y + b * c)


def by_stacks(x, y):
    return np.sum(np.cos(x @ y))


def vectors(*sizes: int) -> tuple[Any, ...]:
    return tuple(np.linspace(0.5, 1.5, n) for n in sizes)


def in_tuples(a: int, b: int, c: int, y: int) -> tuple[Any, ...]:
    first, second, third, last = vectors(a, b, c, y)
    return (first, (second, third)), last


def stacks(*shapes: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape) for shape in shapes)


# arguments, and the positions of the versions that they take
CASES = [
    (cosine, [(vectors(5, 5), 0), (vectors(3, 3), 0), (vectors(1, 5), 1), (vectors(5, 1), 1)]),
    (trapezoid, [(vectors(5, 5), 0), (vectors(2, 5), 1), (vectors(1, 2), 1)]),
    (on_complex, [((vectors(3)[0] * (1 + 2j), *vectors(3)), 0), ((vectors(3)[0] * (1 + 2j), *vectors(1)), 1)]),
    (in_a_tuple, [(in_tuples(4, 4, 4, 4), 0), (in_tuples(4, 1, 4, 4), 1), (in_tuples(4, 4, 4, 1), 1)]),
    pytest.param(
        by_stacks,
        [
            (stacks((4, 2, 3), (4, 3, 2)), 0),
            (stacks((2, 9, 3), (2, 3, 9)), 1),
            (stacks((1, 9, 3), (3, 3, 9)), 2),
        ],
        marks=pytest.mark.slow,
    ),
]


def program(f: Any, args: tuple[Any, ...], given: tuple[Any, ...] | None) -> Program:
    types = tuple(numba.typeof(arg) for arg in args)
    return build(f, arguments(types, ["x", "y"]), "value_and_grad", 0, given=given)


@pytest.mark.parametrize(("f", "cases"), CASES)
def test_one_form_computes_what_all_do_and_refuses_other_arguments(f, cases):
    with oracles.interpreted(), np.errstate(all="ignore"):
        all_forms = jit.load(program(f, cases[0][0], None))
        alone = {}
        for args, position in cases:
            made = program(f, args, args)
            assert made.version == position
            assert alone.setdefault(position, made).text == made.text
        for position, made in alone.items():
            function = jit.load(made)
            for args, other in cases:
                if other != position:
                    with pytest.raises(tapec_runtime.OtherVersion):
                        function(*args)
                else:
                    assert repr(function(*args)) == repr(all_forms(*args))


def test_what_has_one_form_only_is_that():
    def square(x, y):
        return np.sum(x * x) * y

    args = (*vectors(3), 2.0)
    made = program(square, args, args)
    assert made.version is None
    assert made.text == program(square, args, None).text


def rows_and_weights(x, y):
    total = 0.0
    for row, weight in zip(x, y, strict=False):
        part = 0.0
        for z in row:
            part += np.exp(z)
        total += np.log(part) * weight
    return total


def test_loops_that_run_in_lanes_where_others_are_short_have_one_form_for_given_arguments():
    # few iterations side by side, and many of short and of long loops
    short, *others = (stacks((n, m), (n,)) for n, m in ((20, 5), (3, 5), (20, 30)))
    with oracles.interpreted(), np.errstate(all="ignore"):
        all_forms = jit.load(program(rows_and_weights, short, None))
        for given, refused in ((short, others), (others[0], [short]), (others[1], [short])):
            made = program(rows_and_weights, given, given)
            assert made.version == 0
            assert ("lane" in made.text) == (given is short)
            function = jit.load(made)
            for args in (short, *others):
                if any(args is one for one in refused):
                    with pytest.raises(tapec_runtime.OtherVersion):
                        function(*args)
                else:
                    assert repr(function(*args)) == repr(all_forms(*args))


def test_lengths_that_do_not_follow_from_extents_of_parameters_leave_all_forms():
    def by_count(x, count):
        total = 0.0
        for i in range(x.shape[0]):
            part = 0.0
            for j in range(count):
                part += np.exp(x[i, j] - part)
            total += np.log(part)
        return total

    args = (*stacks((20, 5)), 5)
    types = tuple(numba.typeof(arg) for arg in args)
    made = build(by_count, arguments(types, ["x", "count"]), "value_and_grad", 0, given=args)
    assert made.version is None
    assert "lane" in made.text
    assert "OtherVersion" not in made.text


def test_derivatives_that_are_kept_in_one_form_only_have_all_of_them():
    args = stacks((20, 5), (20,))
    types = tuple(numba.typeof(arg) for arg in args)
    made = build(rows_and_weights, arguments(types, ["x", "y"]), "augmented", 0, given=args)
    assert made.version is None
    assert "OtherVersion" not in made.text
