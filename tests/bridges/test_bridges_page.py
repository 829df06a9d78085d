"""The examples of docs/bridges.md, each as a script of its own, print what the page says."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "bridges.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"\n##+ ([^\n]+)\n[^#]*?```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
OURS = {"dask", "jax", "labelled", "pytensor", "scipy", "sklearn", "torch"}


@pytest.mark.parametrize("example, printed", [one[1:] for one in EXAMPLES], ids=[one[0] for one in EXAMPLES])
def test_an_example(example, printed, tmp_path):
    for library in set(re.findall(r"^(?:import|from) (\w+)", example, re.MULTILINE)) - {"tapec"}:
        pytest.importorskip(library)
    if "tapec.sklearn" in example:
        pytest.importorskip("sklearn")
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")
    start = [sys.executable, str(script)]
    if "mpi4py" in example:
        start = [shutil.which("mpiexec") or pytest.skip("no MPI"), "-n", "2", *start]
    done = subprocess.run(start, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert doctest.OutputChecker().check_output(printed, done.stdout, doctest.NORMALIZE_WHITESPACE), done.stdout


def test_each_bridge_has_an_example():
    assert {name for name in OURS if any(f"tapec.{name}" in code for _, code, _ in EXAMPLES)} == OURS
    assert len(EXAMPLES) == PAGE.count("```python")
