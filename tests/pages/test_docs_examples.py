"""The examples of README.md, docs/tutorial.md and docs/memory.md run as they stand, and do what the pages say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = [pytest.mark.generated, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


def run(page: str, folder: Path, shorter: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    """What the examples of a page define, as one script; `shorter` are numbers to write in place of others."""
    text = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL))
    for there, here in shorter:
        assert there in text
        text = text.replace(there, here)
    script = folder / "batch_independence.py"
    script.write_text(text, encoding="utf-8")
    return runpy.run_path(str(script))


def test_the_readme(tmp_path, capsys):
    found = run("README.md", tmp_path)
    np.testing.assert_allclose(found["w"].numpy(), [1.0, -2.0, 0.5], rtol=1e-6)
    assert "def energy_value_and_grad(u, stiffness):" in capsys.readouterr().out


def test_the_tutorial(tmp_path):
    found = run("docs/tutorial.md", tmp_path)
    assert found["J"].shape == (2, 3) and found["fit"].success
    np.testing.assert_allclose(found["Hv"], found["H"] @ np.ones(3), rtol=1e-12)


def test_checkpoints(tmp_path):
    found = run("docs/memory.md", tmp_path, (("10_000", "30"), ("(100, 100)", "(8, 8)")))
    assert [part.shape for part in found["gradient"]] == [(8, 8), (8, 8)]
