"""Arguments that share memory are refused at run time, where one of them is written, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tapec_runtime
from tapec.backend import printer
from tapec.syntax.core import Return
from tapec.syntax.types import Array
from tapec.transforms.overlap_guards import separate_arguments, separate_elements
from tapec_runtime import AliasedArguments, AliasedElements
from tests.optimise.reading import read

PAIR = """
def f(a, a_b, x):
    {body}
    return x
"""


def guards(body: str, roots: dict[str, frozenset[str]] | None = None, whole: dict[str, str] | None = None) -> str:
    """The checks alone, as text."""
    core = read(PAIR.format(body=body))
    made = separate_arguments(core, roots or {}, whole)
    return printer.function(replace(core, body=(*made, Return(()))), False)


@pytest.mark.parametrize(
    ("body", "roots", "whole", "asked"),
    [
        ("a[0] = x", {}, {}, True),
        ("a_b[0] += x", {}, {}, True),
        ("a_v = a[1:]; a_v[0] = x", {"a_v": frozenset({"a"})}, {}, True),
        # whatever it may be a view of
        ("a_v = a_new; a_v[0] = x", {"a_v": frozenset({"a_new", "a_b"})}, {}, True),
        ("y = a[0] * a_b[0]", {}, {}, False),
        ("a_n = np.zeros(2); a_n[0] = x", {}, {}, False),
        # two parts of one complex argument
        ("a[0] = x", {}, {"a": "z", "a_b": "z"}, False),
        ("a[0] = x", {}, {"a": "z", "a_b": "w"}, True),
    ],
)
def test_only_where_one_is_written(body, roots, whole, asked):
    assert ("overlap" in guards(body, roots, whole)) == asked


def test_the_check():
    *_, asked, test, raised, _ = guards("a[0] = x", whole={"a": "z"}).splitlines()
    assert (asked, test) == ("    shared = tapec_runtime.overlap(a, a_b)", "    if shared:")
    assert 'AliasedArguments("arguments `z` and `a_b` share memory' in raised


MEMORY = np.arange(6.0)


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        (MEMORY, MEMORY, True),
        (MEMORY[:3], MEMORY[2:], True),
        (MEMORY[:3], MEMORY[3:], False),
        # they interleave
        (MEMORY[::2], MEMORY[1::2], True),
        (MEMORY[::-1], MEMORY[:1], True),
        (MEMORY[:0], MEMORY, False),
    ],
)
def test_what_it_finds(first, second, meet):
    scope = {"tapec_runtime": tapec_runtime}
    exec(guards("a[0] = x"), scope)
    if meet:
        with pytest.raises(AliasedArguments):
            scope["f"](first, second, 1.0)
    else:
        scope["f"](first, second, 1.0)


@pytest.mark.parametrize(
    ("body", "layout", "contiguous", "whole", "asked"),
    [
        ("a[0] = x", "A", (), {}, "tapec_runtime.overlaps_itself(a, 1)"),
        ("a[0] = x", "A", (), {"a": "z"}, "tapec_runtime.overlaps_itself(a, 2)"),
        # the parts of one argument have the same strides
        ("a_b[0] = x", "A", (), {"a": "z", "a_b": "z"}, "tapec_runtime.overlaps_itself(a, 2)"),
        ("a[0] = x", "C", (), {}, ""),
        ("a[0] = x", "A", ("a",), {}, ""),
        ("y = a[0]", "A", (), {}, ""),
    ],
)
def test_one_argument_that_overlaps_itself(body, layout, contiguous, whole, asked):
    core = read(PAIR.format(body=body))
    core = replace(core, types={**core.types, **dict.fromkeys(("a", "a_b"), Array("float64", 1, layout))})
    made = separate_elements(core, {}, whole, frozenset(contiguous))
    text = printer.function(replace(core, body=(*made, Return(()))), False)
    assert text.count("overlaps_itself") == bool(asked)
    assert asked in text


def test_what_that_finds():
    core = read(PAIR.format(body="a[0] = x"))
    core = replace(core, types={**core.types, "a": Array("float64", 1, "A")})
    made = separate_elements(core, {}, {}, frozenset())
    scope = {"tapec_runtime": tapec_runtime}
    exec(printer.function(replace(core, body=(*made, Return(()))), False), scope)
    scope["f"](MEMORY[::2], MEMORY, 1.0)
    with pytest.raises(AliasedElements):
        scope["f"](np.broadcast_to(MEMORY[:1], 3), MEMORY, 1.0)
