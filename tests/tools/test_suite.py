"""What the suite itself is made of: cases that are left out, types that are remembered, oracles, processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba.core import errors

import tapec
from tapec.pipeline import build
from tapec.syntax.types import FLOAT64
from tests import known_types, typed, warm_process
from tests.conftest import _leave_out_exhaustive
from tests.oracles import Mismatch, check, interpreted
from tests.sampling import sampled

ROOT = Path(__file__).resolve().parents[2]


def kept(*args: str, exhaustive: bool = False, markexpr: str = "") -> list[str]:
    """The tests that are left of a usual and an exhaustive one."""

    def item(nodeid: str, marks: set[str]) -> Any:
        return SimpleNamespace(nodeid=nodeid, get_closest_marker=lambda name: name in marks)

    items: Any = [item("tests/test_a.py::test_usual", set()), item("tests/test_a.py::test_all[1]", {"exhaustive"})]
    config: Any = SimpleNamespace(
        args=args,
        option=SimpleNamespace(markexpr=markexpr),
        hook=SimpleNamespace(pytest_deselected=lambda items: None),
        getoption={"exhaustive": exhaustive}.__getitem__,
    )
    _leave_out_exhaustive(config, items)
    return [one.nodeid.rpartition("::")[2] for one in items]


def test_exhaustive_tests_run_where_they_are_asked_for():
    assert kept("tests") == ["test_usual"]
    both = ["test_usual", "test_all[1]"]
    assert kept("tests", exhaustive=True) == kept("tests", markexpr="exhaustive") == both
    assert kept("tests/test_a.py::test_all[1]") == kept("test_a.py::test_all[1]") == both
    assert kept("test_a.py::test_all[2]") == ["test_usual"]


def test_a_sample_is_run_by_default_and_a_part_of_it_is_quick():
    def names(case: Any) -> set[str]:
        return {mark.name for mark in getattr(case, "marks", ())}

    slow, left_out = {"slow"}, {"slow", "exhaustive"}
    assert [names(case) for case in sampled("abcde", 4, default=2)] == [set(), left_out, slow, left_out, set()]


SQUARE = build(lambda x: x * x, (FLOAT64,), "grad", 0)


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """No program is known, and what is found is kept for this test."""
    found: set[str] = set()
    monkeypatch.setattr(known_types, "_known", lambda: found)
    monkeypatch.setattr(known_types, "_path", lambda: tmp_path / "known")
    return found


def test_a_program_is_inferred_once(memory, tmp_path, monkeypatch):
    inferred = []
    monkeypatch.setattr(typed, "_infer", lambda program, kinds: inferred.append(program.name))
    with interpreted():
        for _ in range(2):
            typed._loaded(SQUARE)(3.0)
        assert len(inferred) == 1
        assert set((tmp_path / "known").read_text().split()) == memory
        typed._loaded(SQUARE)(np.float32(3.0))
        typed._loaded(build(lambda x: x * x * x, (FLOAT64,), "grad", 0))(3.0)
        assert len(inferred) == 3


def test_a_program_that_is_refused_is_asked_about_again(memory, monkeypatch):
    def refused(program: Any, kinds: Any) -> None:
        raise errors.TypingError("no types")

    monkeypatch.setattr(typed, "_infer", refused)
    run = typed._loaded(SQUARE)
    for _ in range(2):
        with interpreted(), pytest.raises(errors.TypingError):
            run(3.0)
    assert not memory


def test_tables_belong_to_what_a_program_is_known_by():
    def known(table: np.ndarray) -> str | None:
        program: Any = SimpleNamespace(bindings={"t": table}, text="", options=tapec.options.DEFAULT)
        return known_types.digest(program, ())

    assert known(np.ones(3)) == known(np.ones(4)) != known(np.ones(3, np.float32))
    program: Any = SimpleNamespace(bindings={"f": known}, text="", options=tapec.options.DEFAULT)
    assert known_types.digest(program, ()) is None


def doubled(f: Any, wrt: Any) -> Any:
    """A gradient that is wrong by a factor."""

    def made(*args: Any) -> Any:
        value, gradients = tapec.value_and_grad(f, wrt)(*args)
        return value, tuple(2.0 * one for one in gradients)

    return made


@pytest.mark.parametrize("forward", [True, False])
def test_a_wrong_gradient_is_found_with_and_without_forward_mode(forward: bool):
    def cubes(x):
        return np.sum(x**3)

    against = "reverse against " + ("forward" if forward else "central differences")
    with interpreted():
        assert check(cubes, (np.arange(1.0, 4.0),), forward=forward)
        with pytest.raises(Mismatch, match=against):
            check(cubes, (np.arange(1.0, 4.0),), forward=forward, gradient=doubled)


def test_without_differences_reverse_mode_is_held_to_forward_mode():
    def single(x):
        return np.sum(x**3)

    x = np.arange(1.0, 4.0)
    with interpreted():
        for args, options in (((x.astype(np.float32),), {}), ((x,), {"differences": False})):
            with pytest.raises(Mismatch, match="reverse against forward"):
                check(single, args, forward=False, gradient=doubled, **options)


@pytest.mark.slow
def test_a_warm_process_is_like_a_new_one(tmp_path):
    (tmp_path / "near.py").write_text("NUMBER = 7\n")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}", "MINE": "1"}
    program = (
        "import os, sys, near\n"
        "print(near.NUMBER, os.getcwd() == os.path.dirname(near.__file__), os.environ['MINE'], 'HOME' in os.environ)\n"
        "print([name for name in sys.modules if name.startswith(('tapec', 'tests'))], __name__, sys.path[:3])\n"
    )
    command = [sys.executable, "-c", program]
    new = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert warm_process.run(program, tmp_path, environment) == (0, new.stdout)
    code, said = warm_process.run("print('before')\nraise ValueError('why')", tmp_path, environment)
    assert code == 1 and said.startswith("before\n") and said.endswith("ValueError: why\n")
