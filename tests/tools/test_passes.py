"""The tools that tell which pass acts, and which one makes a gradient wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner

import tapec.optimise
from tapec.optimise.driver import Watcher, name_of, watched
from tapec.syntax.core import Const, Function
from tools import bisect, passes, sources

PROGRAM = {"golden/horner.reverse": next(case for case in sources.cases("golden") if case.name == "horner.reverse")}


def test_every_pass_has_a_name_of_its_own_and_a_purpose():
    names = [name_of(change) for _, change in passes.declared()]
    assert len(set(names)) == len(names) > 80
    assert all(passes.purpose(change) for _, change in passes.declared())


def test_the_passes_that_change_a_program_are_listed(capsys: pytest.CaptureFixture[str]):
    passes.texts(PROGRAM, passes.Shown(differences=True))
    shown = capsys.readouterr().out
    assert "number_values" in shown and "renest" in shown
    passes.without(PROGRAM, ("renest",), False)
    assert "1 of 1 programs change" in capsys.readouterr().out


def test_a_table_of_all_passes(capsys: pytest.CaptureFixture[str]):
    passes.table(PROGRAM)
    shown = capsys.readouterr().out
    assert "readable names" in shown and "   1 programs" in shown


@pytest.mark.parametrize("wrong", [["--without", "no_such_pass"], ["--program", "bench/no_such"], ["--program", "x"]])
def test_unknown_names(wrong: list[str]):
    found = CliRunner().invoke(passes.main, wrong)
    assert found.exit_code == 2 and "Error: " in found.output


def broken(function: Function, constants: frozenset[str]) -> Function:
    """A pass that loses the value."""
    last = function.leaving
    return replace(function, body=(*function.body[:-1], replace(last, values=(Const(7.0), *last.values[1:]))))


@pytest.mark.slow
def test_the_pass_that_makes_a_gradient_wrong_is_found(monkeypatch: pytest.MonkeyPatch):
    (case,) = PROGRAM.values()
    assert bisect.first_wrong(case) is None
    monkeypatch.setattr(tapec.optimise, "SPEED", (*tapec.optimise.SPEED[:5], broken, *tapec.optimise.SPEED[5:]))
    found = bisect.first_wrong(case)
    assert found is not None
    _, run, how = found
    assert run.last == "broken" and "gradient" in how


def test_a_watcher_is_asked_no_longer_than_it_watches():
    seen = []

    class Seeing(Watcher):
        def ran(self, name, before, after, constants, seconds):
            seen.append(name)

    with watched(Seeing()):
        passes.texts(PROGRAM, Watcher())
    assert seen == []
