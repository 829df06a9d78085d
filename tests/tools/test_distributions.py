"""What is released: `tapec` and `tapec-runtime`, which share no file; what a clone installs holds both."""

from __future__ import annotations

import ast
import configparser
import re
import subprocess
import sys
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from tapec.version import __version__
from tools.distributions import ROOT, copy_of_runtime, copy_of_tapec

RUNTIME = ROOT / "runtime"


def setup(folder: Path) -> configparser.RawConfigParser:
    config = configparser.RawConfigParser()
    config.read(folder / "setup.cfg", encoding="utf-8")
    return config


def test_both_have_one_version_and_one_licence():
    assert setup(ROOT)["metadata"]["version"] == setup(RUNTIME)["metadata"]["version"] == __version__
    assert (ROOT / "LICENSE").read_bytes() == (RUNTIME / "LICENSE").read_bytes()


def test_requirements_that_both_have_are_the_same():
    of_tapec = set(setup(ROOT)["options"]["install_requires"].split())
    of_runtime = set(setup(RUNTIME)["options"]["install_requires"].split())
    assert of_runtime - of_tapec == {"llvmlite"}
    assert setup(RUNTIME)["options.extras_require"]["scipy"].strip() in of_tapec


def test_the_runtime_requires_what_it_imports():
    imported = set()
    for path in (RUNTIME / "tapec_runtime").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").partition(".")[0])
    config = setup(RUNTIME)
    required = config["options"]["install_requires"] + config["options.extras_require"]["scipy"]
    others = imported - set(sys.stdlib_module_names) - {"tapec_runtime"}
    assert others == {line.partition(">")[0] for line in required.split()}


def test_a_released_tapec_requires_the_runtime_of_its_version(tmp_path):
    config = setup(copy_of_tapec(tmp_path / "tapec"))
    before = setup(ROOT)
    wanted = {*before["options"]["install_requires"].split(), f"tapec-runtime=={__version__}"}
    assert set(config["options"]["install_requires"].split()) == wanted
    assert "runtime" not in config["options"]["packages"] + config["options"]["package_dir"]
    assert config["options.entry_points"] == before["options.entry_points"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, Path]:
    """The released wheels, by the names of their import packages."""
    found = {}
    for name, copy in (("tapec", copy_of_tapec), ("tapec_runtime", copy_of_runtime)):
        folder = copy(tmp_path_factory.mktemp("release") / name)
        code = "import setuptools.build_meta as backend; backend.build_wheel('dist')"
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (found[name],) = (folder / "dist").glob("*.whl")
    return found


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}


@pytest.mark.slow
def test_released_wheels_share_no_file(wheels):
    assert {name.partition("/")[0] for name in files(wheels["tapec"])} == {"tapec"}
    assert {name.partition("/")[0] for name in files(wheels["tapec_runtime"])} == {"tapec_runtime"}
    assert f"tapec-runtime=={__version__}" in metadata(wheels["tapec"]).get_all("Requires-Dist")


@pytest.mark.slow
def test_the_wheels_hold_every_file_of_the_tree(wheels):
    held = {**files(wheels["tapec"]), **files(wheels["tapec_runtime"])}
    kinds = {".py", ".cmake", ".c", ".h", ".css", ".js"}
    for root in (ROOT / "tapec", RUNTIME / "tapec_runtime"):
        for path in root.rglob("*"):
            if path.suffix in kinds or path.name == "py.typed":
                assert held.pop(path.relative_to(root.parent).as_posix()) == path.read_bytes()
    assert not held


@pytest.mark.slow
def test_the_readme_of_the_runtime_is_its_description(wheels):
    found = metadata(wheels["tapec_runtime"])
    assert found["Name"] == "tapec-runtime"
    assert str(found.get_payload()).strip() == (RUNTIME / "README.md").read_text(encoding="utf-8").strip()


def test_what_names_the_version_names_this_one():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    recipe = (ROOT / ".conda" / "recipe.yaml").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in citation
    assert f'\n  version: "{__version__}"\n' in recipe
    assert re.findall(r"^## (\S+)", changes, re.MULTILINE)[0] == __version__


def test_the_conda_recipe_requires_what_the_wheels_require():
    recipe = (ROOT / ".conda" / "recipe.yaml").read_text(encoding="utf-8")
    of_runtime, of_tapec = re.findall(r"^      run:\n((?:        - .*\n)+)", recipe, re.MULTILINE)
    for text, folder in ((of_runtime, RUNTIME), (of_tapec, ROOT)):
        required = {line.strip("- ").replace(" ", "") for line in text.splitlines() if "${{" not in line}
        assert required - {"python>=3.11"} == set(setup(folder)["options"]["install_requires"].split())


PAGES = [path.relative_to(ROOT).as_posix() for folder in (ROOT, ROOT / "docs") for path in sorted(folder.glob("*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_links_to_files_lead_somewhere(page):
    path = ROOT / page
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []
