"""What is installed: the wheel's content, its metadata, and the files beside the packages."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tapec.version import RUNS_WITH, __version__

ROOT = Path(__file__).resolve().parent.parent


def import_packages() -> set[str]:
    """The dotted names of all folders with Python files below the two import packages."""
    roots = ROOT / "tapec", ROOT / "runtime" / "tapec_runtime"
    files = [(root, path) for root in roots for path in root.rglob("*.py")]
    return {".".join(path.parent.relative_to(root.parent).parts) for root, path in files}


@pytest.fixture(scope="module")
def config() -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def entries(text: str) -> set[str]:
    return {line for line in text.split("\n") if line}


def test_setup_lists_every_package(config):
    assert entries(config["options"]["packages"]) == import_packages()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel built from a copy of the tree, so that the build leaves nothing behind."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    skip = shutil.ignore_patterns("__pycache__")
    for name in ("tapec", "runtime"):
        shutil.copytree(ROOT / name, copy / name, ignore=skip)
    code = "import setuptools.build_meta as backend; backend.build_wheel('dist')"
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (found,) = (copy / "dist").glob("*.whl")
    return found


@pytest.mark.slow
def test_the_wheel_is_pure_python(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")


@pytest.mark.slow
def test_the_wheel_holds_both_packages_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        metadata = archive.read(next(name for name in archive.namelist() if name.endswith("/METADATA"))).decode()
    assert {name.split("/")[0] for name in names} == {"tapec", "tapec_runtime"}
    assert {"tapec/py.typed", "tapec_runtime/py.typed", "tapec/cli/__init__.py"} <= set(names)
    # what `tapec build` compiles
    assert {"tapec/build/support/extension.h", "tapec/build/support/native.h"} <= set(names)
    assert {".".join(name.split("/")[:-1]) for name in names if name.endswith(".py")} == import_packages()
    assert "Requires-Python: >=3.11" in metadata


@pytest.mark.slow
def test_the_wheel_holds_what_the_report_is_made_of(wheel):
    with zipfile.ZipFile(wheel) as archive:
        assert {"tapec/explanation/report.css", "tapec/explanation/report.js"} <= set(archive.namelist())


def test_the_versions_in_generated_files_are_those_that_are_required(config):
    assert set(RUNS_WITH) <= entries(config["options"]["install_requires"])
    assert config["metadata"]["version"] == __version__


@pytest.mark.slow
def test_the_wheel_runs_without_the_tree(wheel, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHONPATH"] = str(wheel)
    code = "import tapec, tapec_runtime; print(tapec.__file__)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert wheel.name in done.stdout


def test_the_console_script(config):
    assert config["options.entry_points"]["console_scripts"].strip() == "tapec = tapec.cli:main"


README_EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


def test_readme_has_two_commands_of_one_line():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split("## Two commands\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    assert [block.count("\n") for block in blocks] == [1, 1]
    for block in blocks:
        assert block.startswith("python3 -m venv ")
    assert "pytest" in blocks[1]


@pytest.mark.slow
@pytest.mark.parametrize("example", README_EXAMPLES, ids=("function", "tape"))
def test_readme_examples_run_when_pasted(tmp_path, example):
    (tmp_path / "pasted.py").write_text(example, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "runtime")))}
    command = [sys.executable, "pasted.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_import_is_light():
    """Beside Numba, `import tapec` loads gast and a few modules of its own: the rest waits until it is needed."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "runtime")))}
    code = "import sys, numba; before = set(sys.modules); import tapec; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert {name.split(".")[0] for name in loaded} <= {"__future__", "gast", "tapec", "tapec_runtime"}
    assert len(loaded) < 50
