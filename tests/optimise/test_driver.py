"""Passes one after another, what they leave, and who watches them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from tapec.optimise.driver import Watcher, name_of, run, step, watched
from tapec.syntax.core import Function, walk
from tests.optimise.reading import read

PROGRAM = read("def f(x, n):\n    y = x\n    for i in range(n):\n        y = x\n    return y")
NONE: frozenset[str] = frozenset()
RUNS: list[str] = []


def nothing(function: Function, _constants: frozenset[str]) -> Function:
    RUNS.append("nothing")
    return function


def rebuilt(function: Function, _constants: frozenset[str]) -> Function:
    """The same program of other objects."""
    return replace(function, body=tuple(replace(stmt) for stmt in function.body))


def twice(function: Function, _constants: frozenset[str], times: int = 2) -> Function:
    """The first statement several times."""
    RUNS.append("twice")
    first, *rest = function.body
    return replace(function, body=(*[first] * times, *rest))


def renamed(function: Function, _constants: frozenset[str]) -> Function:
    return replace(function, name="g")


class Noted(Watcher):
    def __init__(self, *left_out: str) -> None:
        self.left_out = left_out
        self.seen: list[tuple[str, bool]] = []

    def skips(self, name: str) -> bool:
        return name in self.left_out

    def ran(self, name, before, after, constants, seconds):
        assert seconds >= 0.0 and constants == frozenset({"k"})
        self.seen.append((name, after is before))


def keys(function: Function) -> list[int]:
    return [stmt.key for stmt in walk(function.body)]


def test_statements_have_keys_of_their_own_after_a_pass():
    made = step(twice, PROGRAM, NONE)
    assert len(made.body) == len(PROGRAM.body) + 1 and len(set(keys(made))) == len(keys(made))
    # others keep theirs
    assert set(keys(PROGRAM)) <= set(keys(made))
    started = run((), replace(PROGRAM, body=(PROGRAM.body[0], *PROGRAM.body)), NONE)
    assert len(set(keys(started))) == len(keys(started))


def test_a_program_that_stays_is_the_same_object():
    assert step(nothing, PROGRAM, NONE) is PROGRAM
    assert step(rebuilt, PROGRAM, NONE).body is PROGRAM.body
    other = step(renamed, PROGRAM, NONE)
    assert other.name == "g" and other.body is PROGRAM.body


def test_passes_that_clean_up_do_not_look_again_where_nothing_changed():
    RUNS.clear()
    run((twice, nothing, rebuilt, nothing, twice, nothing), PROGRAM, NONE, clean=(nothing,))
    assert RUNS == ["twice", "nothing", "twice", "nothing"]
    RUNS.clear()
    run((nothing, nothing, twice, nothing), PROGRAM, NONE)
    assert RUNS == ["nothing", "twice", "nothing"]


def test_a_pass_does_not_look_again_at_a_body_in_which_it_found_nothing():
    RUNS.clear()
    run((nothing, rebuilt, nothing), PROGRAM, NONE)
    assert RUNS == ["nothing"]


def test_of_several_that_clean_up_all_look_until_the_last_has():
    RUNS.clear()
    run((nothing, twice, nothing, renamed, nothing), PROGRAM, NONE, clean=(nothing, renamed))
    assert RUNS == ["nothing", "twice", "nothing"]


def test_a_watcher_sees_each_pass():
    watcher = Noted()
    with watched(watcher):
        run((nothing, twice, rebuilt), PROGRAM, frozenset({"k"}))
        with watched(inner := Noted()):
            run((nothing,), PROGRAM, frozenset({"k"}))
        run((twice,), PROGRAM, frozenset({"k"}))
    run((nothing,), PROGRAM, NONE)
    assert watcher.seen == [("nothing", True), ("twice", False), ("rebuilt", False), ("twice", False)]
    assert inner.seen == [("nothing", True)]


def test_a_watcher_may_leave_passes_out():
    with watched(watcher := Noted("twice")):
        made = run((nothing, twice), PROGRAM, frozenset({"k"}))
    assert made.body == PROGRAM.body and watcher.seen == [("nothing", True)]


def test_nobody_watches_after_an_error():
    watcher = Noted()
    with pytest.raises(ValueError, match="wrong"), watched(watcher):
        raise ValueError("wrong")
    run((nothing,), PROGRAM, NONE)
    assert not watcher.seen


def test_names_of_passes():
    assert name_of(nothing) == "nothing"
    assert name_of(partial(partial(twice, times=3), times=4)) == "twice"
