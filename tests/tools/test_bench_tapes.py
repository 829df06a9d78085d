"""The benchmark of tapes runs, and what it times computes the same with and without TensorFlow."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from tools.bench import tapes


@pytest.mark.slow
def test_it_writes_its_figures(tmp_path):
    file = tmp_path / "tapes.json"
    done = CliRunner().invoke(tapes.main, ["--repeats", "1", "--json", str(file)], catch_exceptions=False)
    assert done.exit_code == 0 and "first gradient" in done.output
    record = json.loads(file.read_text(encoding="utf-8"))
    assert [row["name"] for row in record["rows"]] == [name for name, _, _ in tapes.CASES]


@pytest.mark.slow
def test_the_cases_compute_gradients():
    wanted = [0.5 * 0.5 + 0.5 - 0.5, 2 * 1.5 * 0.5 + 1.5]
    for case in (tapes.ordinary, tapes.variables, tapes.module_level):
        assert [float(g) for g in case()[1]()] == wanted
    assert [float(g) for g in tapes.floats()[1]()] == [0.5 * 0.5 + 0.5 - 0.5, 2 * 1.75 * 0.5 + 1.75]
    assert float(tapes.fit()[1]()[1]) == -2.0
    plain, taped = tapes.compiled_numbers()
    assert plain() == taped() == tuple(wanted)
    plain, taped = tapes.compiled_step()
    assert taped() == plain()[0]


def test_tensorflow_agrees():
    pytest.importorskip("tensorflow")
    np.testing.assert_allclose([float(g) for g in tapes.tensorflow_eager()[1]()], [0.25, 3.0])
