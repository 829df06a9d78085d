"""Iterations are counted, and ways out are numbered, of loops that `break` leaves."""

from __future__ import annotations

import re

import pytest

from tapec.backend import printer
from tapec.syntax.core import Break, Function, If, Loop, walk
from tapec.transforms.emitter import Emitter
from tapec.transforms.loop_exits import count_breaks, instrument, leads_to
from tests.optimise.comparison import run
from tests.optimise.reading import read

WAYS = """
def f(x, y, n):
    s = x
    for i in range(n):
        if s > 4.0:
            break
        else:
            if s < y:
                if s < 0.0:
                    break
                else:
                    s = s + 2.0
            else:
                s = s * 1.5
    return s
"""

WHILE = """
def f(x, y, n):
    s = x
    k = 0
    while True:
        {before}
        c = s > y
        if c:
            {first}
        else:
            {second}
    return s
"""


def counted(text: str, *results: str) -> tuple[Function, object]:
    """The function with its counters, which it returns."""
    core = read(text)
    types = dict(core.types)
    body, exits = instrument(core.body, Emitter(types, set(types)), core.results)
    text = printer.function(Function(core.name, core.params, body, types), False)
    text = re.sub(r"return s", f"return {', '.join(('s', *results))}", text)
    made = read(text)
    return made, exits


@pytest.mark.parametrize(
    ("x", "y", "n", "iterations", "way"),
    [
        (5.0, 1.0, 3, 1, 1),
        (-1.0, 1.0, 3, 1, 2),
        (0.5, 1.0, 9, 4, 1),
        (0.5, 1.0, 2, 2, 0),
        (0.5, 1.0, 0, 0, 0),
        (1.0, 0.0, -2, 0, 0),
    ],
)
def test_a_for_loop(x: float, y: float, n: int, iterations: int, way: int):
    core, exits = counted(WAYS, "iterations", "exit_1")
    assert run(core, (x, y, n))[1:3] == (iterations, way)
    (own,) = exits.of.values()
    assert (own.iterations, own.exit, own.headed) == ("iterations", "exit_1", False)


def test_which_branch_leads_where():
    core = read(WAYS)
    types = dict(core.types)
    body, exits = instrument(core.body, Emitter(types, set(types)), core.results)
    found = [(leads_to(s.body, exits), leads_to(s.orelse, exits)) for s in walk(body) if isinstance(s, If)]
    assert found == [({1}, {2}), ({2}, set()), ({2}, set())]
    assert len(exits.number) == 2


@pytest.mark.parametrize(
    ("parts", "headed"),
    [
        ({}, True),
        ({"first": "s = s + 1.0", "second": "break"}, True),
        # more than the test, or another way out
        ({"first": "s = s * 2.0; break"}, False),
        ({"second": "s = s + 1.0; break"}, False),
        ({"before": "print(s)"}, False),
        ({"before": "v = w_stack.pop()"}, False),
        # a value before the test that is read behind the loop
        ({"before": "s = s + 1.0"}, False),
        ({"before": "v = s + 1.0"}, True),
    ],
)
def test_a_while_loop(parts: dict[str, str], headed: bool):
    text = WHILE.format(**({"before": "pass", "first": "break", "second": "s = s + 1.0"} | parts))
    core, exits = counted(text)
    (own,) = exits.of.values()
    assert own.headed == headed
    assert (own.exit is None) == (text.count("break") == 1)


@pytest.mark.parametrize(("x", "iterations"), [(3.0, 1), (0.5, 3)])
def test_an_iteration_that_only_tests_counts(x: float, iterations: int):
    core, _ = counted(WHILE.format(before="pass", first="break", second="s = s + 1.0"), "iterations")
    assert run(core, (x, 2.0, 0))[1] == iterations


INNER = """
def f(x, n):
    s = x
    for i in range(n):
        while True:
            if s > 1.0:
                break
            else:
                s = s * 2.0
        s = s * 0.5
    return s
"""


def test_a_loop_around_has_no_exit_of_its_own():
    core, exits = counted(INNER)
    loops = [stmt for stmt in walk(read(INNER).body) if isinstance(stmt, Loop)]
    assert [own.iterations for own in exits.of.values()] == ["iterations"]
    assert count_breaks(loops[0].body) == 1 and count_breaks(read(INNER).body) == 0
    assert sum(isinstance(stmt, Break) for stmt in walk(core.body)) == len(exits.number)


def test_loops_without_break_stay():
    text = INNER.replace("break", "s = 0.0").replace("while True", "for j in range(3)")
    core = read(text)
    body, exits = instrument(core.body, Emitter(dict(core.types), set(core.types)), core.results)
    assert body == core.body and not exits.of
