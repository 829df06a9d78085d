"""Every example of docs/coming_from_tensorflow.md runs, in order, as one script; and every method is there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import tapec

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming_from_tensorflow.md"


@pytest.mark.slow
def test_the_examples_run(tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == text.count("```python")
    script = tmp_path / "batch_independence.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path(str(script))


def test_the_table_names_every_method():
    text = PAGE.read_text(encoding="utf-8")
    # what variables and lowered code call
    internal = {"accessed", "known_values"}
    public = {name for name in vars(tapec.GradientTape) if not name.startswith("_")} - internal
    methods = {name for name in public if callable(getattr(tapec.GradientTape, name))}
    assert {name for name in methods if f"`{name}(" not in text} == set()
