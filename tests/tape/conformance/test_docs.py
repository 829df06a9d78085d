"""The examples of docs/tapes.md run as they stand."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.compiled

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tapes.md"


@pytest.mark.slow
def test_the_examples_of_the_page_run(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "batch_independence.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    found = runpy.run_path(str(script))
    assert found["losses"][-1] < found["losses"][0]
