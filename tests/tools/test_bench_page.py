"""The page of benchmarks has the figures of the files beside it; other transforms are measured and agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.bench import page, transforms

DOCS = Path(__file__).parents[2] / "docs"
ROW = {"name": "cube", "primal": 2e-6, "ratio": 0.5, "adjoint_ratio": None, "gradient": 1e-6, "peers": {"jax": 3e-6}}


def test_the_page_has_the_figures_of_its_files():
    text = page.with_figures(DOCS / "benchmarks.md")
    assert text == (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert "<!-- figures: programs -->\n| program |" in text


def test_figures_are_put_between_the_marks(tmp_path):
    record = {"machine": {"python": "3.11", "jax": "1.0"}, "rows": [ROW, ROW | {"peers": {}}]}
    (tmp_path / "benchmarks_unseen.json").write_text(json.dumps(record), encoding="utf-8")
    file = tmp_path / "page.md"
    file.write_text("before\n<!-- figures: unseen -->\nold\n<!-- end -->\nafter\n", encoding="utf-8")
    assert CliRunner().invoke(page.main, [str(file), "--check"]).exit_code == 1
    assert CliRunner().invoke(page.main, [str(file)]).exit_code == 0
    assert CliRunner().invoke(page.main, [str(file), "--check"]).exit_code == 0
    assert file.read_text(encoding="utf-8") == (
        "before\n<!-- figures: unseen -->\n"
        "| program | primal | ratio | by hand | JAX |\n|---|---|---|---|---|\n"
        "| cube | 2.0 | 0.50 |  | 3.0 |\n| cube | 2.0 | 0.50 |  |  |\n\n"
        "The geometric mean of 2 ratios is 0.50. Largest: `cube` 0.5, `cube` 0.5.\n"
        "JAX takes 3.0 times as long as ours in the geometric mean of 1 programs; it is\n"
        "faster in none. Nearest: `cube` 3.00.\nPython 3.11, JAX 1.0.\n"
        "<!-- end -->\nafter\n"
    )


@pytest.mark.slow
def test_other_transforms_are_measured(tmp_path):
    file = tmp_path / "transforms.json"
    arguments = ["--only", "rosenbrock", "--seconds", "0.01", "--json", str(file)]
    done = CliRunner().invoke(transforms.main, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (row,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert row["name"] == "rosenbrock" and all(row[kind] > 0.0 for kind in transforms.KINDS)


def test_transforms_that_disagree_are_told():
    found = {
        "value_and_grad": lambda: (1.0, (2.0,)),
        "vjp": lambda: (1.0, (2.0,)),
        "jvp": lambda: (1.0, 2.5),
    }
    with pytest.raises(transforms.WrongGradient, match="cube: 2.5 along ones, 2.0 in all"):
        transforms.check("cube", found)
