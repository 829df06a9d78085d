"""Loops that were written out are loops again, and inputs are packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from tapec.backend import printer
from tapec.syntax.core import Assign, Function, Name, Op
from tapec.transforms import rerolled_loops
from tapec.transforms.packed_columns import Rerolled
from tapec.transforms.rerolled_loops import rerolled, rerolled_wholly
from tests.optimise.comparison import close, run
from tests.optimise.reading import read


@pytest.fixture(autouse=True)
def short_programs():
    with mock.patch.multiple(rerolled_loops, _LONG=1, _OF_NUMBERS=1):
        yield


def written_out(params: str, iteration: str, result: str, count: int = 5) -> Function:
    """A function of `count` iterations; in them `@` is the iteration's number, and `@-` that before it."""
    lines: list[str] = []
    for k in range(count):
        lines += [line.strip().replace("@-", str(k)).replace("@", str(k + 1)) for line in iteration.split(";")]
    given: list[str] = []
    for param in params.split(", "):
        given += [param.replace("@", str(k + 1)) for k in range(count)] if "@" in param else [param]
    body = "".join(f"    {line}\n" for line in lines)
    return read(f"def f({', '.join(given)}):\n{body}    return {result}\n")


def packed(made: Rerolled, params: Sequence[str], args: Sequence[Any]) -> list[Any]:
    """The arguments of a program that has been rolled."""
    values = dict(zip(params, args, strict=True))
    entries = lambda found: [e if isinstance(e, int | float) else values[e[0]].shape[e[1]] for e in found]  # noqa: E731
    out = [values[name] for name in made.inputs]
    for column in made.columns:
        items = [np.atleast_1d(values[name]) for name in column.names]
        out.append(np.concatenate([item.ravel() for item in items]))
        if column.starts:
            out.append(np.cumsum([0, *(item.size for item in items)]))
        out += [np.array([item.shape[axis] for item in items]) for axis in range(len(column.extents))]
    return [*out, *(np.array(entries(found)) for _, found in made.tables), *(count for _, count in made.counts)]


def same(function: Function, inputs: set[str], *args: Any) -> str:
    """The text of the program with its loops, which computes the same."""
    made = rerolled(function, inputs)
    assert made is not None
    results = len(function.results)
    expected = run(function, tuple(args))[:results]
    assert close(run(made.function, tuple(packed(made, function.params, args)))[:results], expected, 1e-15)
    return printer.function(made.function, quote=False)


NUMBERS = tuple(0.1 * k for k in range(1, 6))
WS = {f"w_{k}" for k in range(1, 6)}


def test_numbers_are_packed_and_what_iterations_hand_on_is_carried():
    function = written_out("y_0, w_@", "t_@ = y_@- * w_@; y_@ = np.tanh(t_@)", "y_5")
    assert same(function, WS, 0.7, *NUMBERS).splitlines()[1:] == [
        "    y_1_1 = y_0",
        "    for k in range(count):",
        "        item = items[k]",
        "        t_1 = y_1_1 * item",
        "        y_1 = np.tanh(t_1)",
        "        y_1_1 = y_1",
        "    return y_1_1",
    ]


def test_arrays_are_views_of_what_is_packed():
    function = written_out("y_0, a_@", "t_@ = a_@[0]; y_@ = y_@- * t_@", "y_5")
    arrays = [np.arange(1.0, 2.0 + k) for k in range(5)]
    text = same(function, {f"a_{k}" for k in range(1, 6)}, 0.7, *arrays)
    assert "starts[k]" in text and "items[" in text


def test_an_iteration_begins_where_what_is_left_is_carried():
    function = written_out("y_0, w_@", "t_@ = y_@- * w_@; y_@ = np.tanh(t_@)", "t_5")
    assert same(function, WS, 0.7, *NUMBERS).splitlines()[1:4] == [
        "    t_1 = y_0 * w_1",
        "    t_2_1 = t_1",
        "    for k_1 in range(count_1):",
    ]


def test_places_may_be_counted_in_any_direction():
    backwards = "".join(f"t_{k} = y_{k - 1} * w_{6 - k}; y_{k} = np.tanh(t_{k}); " for k in range(1, 6))
    function = read(f"def f(y_0, {', '.join(sorted(WS))}):\n    {backwards.strip('; ')}\n    return y_5\n")
    same(function, WS, 0.7, *NUMBERS)
    both = backwards + "".join(f"t_{k} = y_{k - 1} * w_{k - 5}; y_{k} = np.tanh(t_{k}); " for k in range(6, 11))
    function = read(f"def f(y_0, {', '.join(sorted(WS))}):\n    {both.strip('; ')}\n    return y_10\n")
    same(function, WS, 0.7, *NUMBERS)


def test_literals_are_counted_or_stand_in_a_table():
    function = written_out("a, y_0", "t_@ = a[@]; s_@ = t_@ * 0.@; y_@ = y_@- + s_@", "y_5")
    text = same(function, set(), np.arange(7.0), 0.5)
    assert "t_2 = k + 1" in text or "k + 1" in text
    assert "numbers[k]" in text


def test_a_zero_is_not_the_other_one():
    signs = ("0.0", "-0.0", "0.0", "-0.0", "0.0")
    lines = "".join(f"t_{k} = y_{k - 1} * {sign}; y_{k} = np.copysign(1.0, t_{k}); " for k, sign in enumerate(signs, 1))
    function = read(f"def f(y_0):\n    {lines.strip('; ')}\n    return y_5\n")
    same(function, set(), 1.0)


@pytest.mark.parametrize(
    ("params", "iteration", "result"),
    [
        # what the loop leaves is what its last iteration computes
        ("y_0, w_@", "y_@ = y_@- * w_@", "y_3"),
        # exponents are literals
        ("y_0", "y_@ = y_@- ** @", "y_5"),
        # the value of two iterations before
        ("y_0, w_@, z_0", "y_@ = y_@- * w_@; z_@ = z_@- + y_@-", "(z_5, y_2)"),
        # what is written into stays an argument of its own
        ("y_0, a_@", "a_@[0] = y_0; t_@ = a_@[1]; y_@ = y_@- + t_@", "y_5"),
        ("y_0, w_@", "y_@ = y_@- * w_@; print(y_@)", "y_5"),
    ],
)
def test_what_is_no_loop_stays(params: str, iteration: str, result: str):
    function = written_out(params, iteration, result)
    assert rerolled(function, set(function.params)) is None


def test_what_is_no_input_stays():
    function = written_out("y_0, w_@", "t_@ = y_@- * w_@; y_@ = np.tanh(t_@)", "y_5")
    assert rerolled(function, WS - {"w_3"}) is None
    assert rerolled(function, WS, [frozenset({"w_1", "w_2"})]) is None
    assert rerolled(function, WS, [frozenset(WS)]) is not None
    # of few iterations a program is compiled for each number
    assert rerolled(written_out("y_0, w_@", "y_@ = y_@- * w_@", "y_3", count=3), WS) is None


def test_a_start_of_another_type_is_not_carried():
    function = written_out("n, w_@", "y_@ = y_@- * w_@", "y_5")
    function = replace(function, body=(Assign("y_1", Op("*", (Name("n"), Name("w_1")))), *function.body[1:]))
    text = same(function, WS, 3, *NUMBERS)
    assert text.splitlines()[1] == "    y_1 = n * w_1"


def test_short_programs_stay():
    function = written_out("y_0, w_@", "t_@ = y_@- * w_@; y_@ = np.tanh(t_@)", "y_5")
    with mock.patch.multiple(rerolled_loops, _LONG=80, _OF_NUMBERS=11):
        assert rerolled(function, WS) is None
    with mock.patch.multiple(rerolled_loops, _LONG=80, _OF_NUMBERS=10):
        assert rerolled(function, WS) is not None


def test_again_there_is_nothing_to_roll():
    made = rerolled(written_out("y_0, w_@", "t_@ = y_@- * w_@; y_@ = np.tanh(t_@)", "y_5"), WS)
    assert made is not None and rerolled(made.function, made.inputs) is None


def test_results_of_a_whole_program_are_packed():
    function = written_out("y_0, w_@", "t_@ = y_@- * w_@; y_@ = np.tanh(t_@)", "(t_1, t_2, t_3, t_4, t_5, y_5)")
    assert rerolled(function, WS) is None
    made = rerolled_wholly(function, WS, (), frozenset())
    assert made is not None and len(made.outputs) == 1
    found = run(made.function, tuple(packed(made, function.params, (0.7, *NUMBERS))))
    expected = run(function, (0.7, *NUMBERS))
    for (place, output, item), wanted in zip(made.results, expected, strict=False):
        assert (found[place] if output is None else found[place][item]) == wanted
