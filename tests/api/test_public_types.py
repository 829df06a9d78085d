"""The types of the public functions, as a type checker sees them, and what the package says is public."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tapec

ROOT = Path(__file__).resolve().parents[2]
# folders of the compiler: mypy would check what no public type stands in, and take twice as long
INSIDE = "analyses backend build explanation frontend optimise rules syntax tape transforms".split()


def test_dir_lists_what_is_public_and_nothing_else():
    assert dir(tapec) == sorted(["__version__", *tapec.__all__])
    assert all(hasattr(tapec, name) for name in dir(tapec))


@pytest.fixture(scope="module")
def revealed(tmp_path_factory) -> list[str]:
    """The types that mypy reveals in `public_types.py`, without the names of modules."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("mypy")
    config = folder / "mypy.ini"
    inside = ",".join(f"tapec.{name}.*" for name in INSIDE)
    config.write_text(f"[mypy]\n[mypy-{inside}]\nfollow_imports = skip\n")
    options = ("--strict", f"--config-file={config}", "--follow-imports=silent", "--ignore-missing-imports")
    options = (*options, f"--cache-dir={ROOT / '.pytest_cache' / 'mypy'}")
    command = [sys.executable, "-m", "mypy", *options, "tests/api/public_types.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r'Revealed type is "(.*)"', done.stdout)
    vector = re.compile(r"ndarray\[tuple\[[^]]*\], dtype\[float64\]\]")
    return [vector.sub("Vector", re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)) for text in found]


@pytest.mark.slow
def test_derivatives_have_the_parameters_of_their_functions(revealed):
    assert revealed == [
        "DerivativeFunction[[u: Vector, stiffness: float =], Any]",
        "DerivativeFunction[[u: Vector, stiffness: float =], Any]",
        "DerivativeFunction[[u: Vector, stiffness: float =], tuple[float, Any]]",
        "DerivativeFunction[[u: Vector, stiffness: float =], Any]",
        "DerivativeFunction[[u: Vector, n: int], Any]",
        "TapeFunction[[u: Vector], tuple[float, Vector]]",
        "DerivativeFunction[[x: float], Any]",
    ]
