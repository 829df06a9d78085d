"""Random programs: a fixed set of seeds, and the fuzzer's own parts."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from tests.oracles import float_vector, interpreted
from tools.fuzz import conditions, examination, shrinking
from tools.fuzz.grammars.programs import generate

# one for each level of optimisation that is compared
COMPILED = (pytest.param(1, marks=pytest.mark.exhaustive), 2)
INTERPRETED, COUNT = 10, 2
OTHERS = [("vectors", 16), ("loops", 1), ("aliases", 3), ("repeats", 2), ("systems", 1), ("complex", 1)]
OTHERS += [("functions", 2), ("pairs", 1), ("stacks", 1), ("recursion", 62)]
OTHERS += [pytest.param(*more, marks=pytest.mark.exhaustive) for more in (("vectors", 18), ("recursion", 1))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", COMPILED)
def test_seed(seed: int, tmp_path: Path):
    outcome = examination.run_seed(seed, tmp_path)
    assert outcome.status != examination.FAILED, f"{outcome.detail}\n{generate(seed).source}"
    if outcome.status in (examination.REFUSED, examination.SKIPPED):
        pytest.skip(outcome.kind)


@pytest.mark.slow
def test_seeds_in_the_interpreter(tmp_path: Path):
    """Compiling takes most of the time: without it the same checks see many more programs."""
    command = [sys.executable, "-m", "tools.fuzz", "--keep-going", "--minutes", "60", "--shrink-seconds", "0"]
    command += ["--seed", str(INTERPRETED), "--count", str(COUNT), "--failures", str(tmp_path)]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert f"next seed {INTERPRETED + COUNT}" in found.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("grammar", "seed"), OTHERS)
def test_other_grammars_in_the_interpreter(
    grammar: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    harshly = mock.Mock(wraps=conditions._harshly)
    monkeypatch.setattr(conditions, "_harshly", harshly)
    with interpreted():
        outcome = examination.run_seed(seed, tmp_path, grammar)
    source = examination.GRAMMARS[grammar](seed).source
    assert outcome.status != examination.FAILED, f"{outcome.detail}\n{source}"
    # nothing that a check does takes the harsh conditions away
    made = " ".join(call.args[0].name for call in harshly.call_args_list)
    reverse = ("value_and_grad", "pullback", "_vjp")
    assert outcome.status == examination.REFUSED or any(kind in made for kind in reverse)


def test_a_seed_means_one_program():
    assert generate(3).source == generate(3).source
    assert len({generate(seed).source for seed in range(20)}) == 20


@pytest.mark.parametrize("grammar", [*examination.GRAMMARS])
def test_programs_end_and_stay_finite(grammar: str, tmp_path: Path):
    for seed in range(100, 130):
        program = examination.GRAMMARS[grammar](seed)
        module = examination.load(program.source, tmp_path)
        value = examination.run_bounded(examination.interpreted(module), program.arguments())
        assert np.max(np.abs(float_vector(value))) < 100.0


def test_a_wrong_gradient_is_found_and_shrunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def wrong_for_sine(program, args, **_options):
        source = Path(program.__code__.co_filename).read_text(encoding="utf-8")
        if "math.sin" in source:
            raise examination.Mismatch("reverse against forward: 1 against 2")
        return True

    monkeypatch.setattr(examination, "check", wrong_for_sine)
    monkeypatch.setattr(examination, "njit", lambda program: program)
    seed = next(seed for seed in range(100) if generate(seed).source.count("math.sin") == 1)
    outcome = examination.run_seed(seed, tmp_path)
    assert outcome.kind == "reverse against forward"
    path = shrinking.report_failure(seed, outcome, tmp_path, tmp_path / "failures", seconds=600.0)
    text = path.read_text(encoding="utf-8")
    assert "math.sin" in text
    assert len(ast.parse(text).body) <= 7
    assert len(text.splitlines()) < len(generate(seed).source.splitlines())


def test_an_endless_program_is_stopped(tmp_path: Path):
    module = examination.load("def program(x):\n    while x > 0.0:\n        x = x\n    return x\n", tmp_path)
    with pytest.raises(examination.TooLong):
        examination.run_bounded(module.program, (1.0,))
