"""examples/aot_meson: configured, built and tested with Meson."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("mesonbuild") is None, reason="Meson is not installed"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
]


def meson(*arguments: object, folder: Path) -> str:
    """What Meson prints; it finds `tapec` by a native file."""
    native = folder / "native.ini"
    native.write_text(f"[binaries]\ntapec = ['{sys.executable}', '-m', 'tapec']\n", encoding="utf-8")
    scripts = str(Path(sys.executable).parent)
    variables = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runtime")]),
        # where Ninja is
        "PATH": os.pathsep.join([scripts, os.environ.get("PATH", "")]),
        "TAPEC_CACHE": "0",
    }
    done = subprocess.run(
        [sys.executable, "-m", "mesonbuild.mesonmain", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_program_passes_and_an_edited_function_is_built_again(tmp_path):
    project = shutil.copytree(ROOT / "examples" / "aot_meson", tmp_path / "project")
    made = tmp_path / "made"
    meson("setup", made, project, "--native-file", tmp_path / "native.ini", folder=tmp_path)
    meson("test", "-C", made, "--print-errorlogs", folder=tmp_path)
    library = made / "derivatives" / "lib" / "libchain.a"
    before = library.read_bytes()
    model = project / "model.py"
    text = model.read_text(encoding="utf-8")
    model.write_text(text.replace("- load * u[-1]", "- 2.0 * load * u[-1]"), encoding="utf-8")
    meson("compile", "-C", made, folder=tmp_path)
    assert library.read_bytes() != before
