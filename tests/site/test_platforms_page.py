"""The page of platforms names the versions and systems of setup.cfg and of the workflow of tests."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")


def row(name: str) -> list[str]:
    """The cells of the row of the page that begins with a name."""
    (found,) = re.findall(rf"^\| {name} \|(.*)\|$", PAGE, re.MULTILINE)
    return [cell.strip() for cell in found.split("|")]


def test_the_oldest_versions_are_those_of_the_requirements():
    config = configparser.RawConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    required = dict(line.split(">=") for line in config["options"]["install_requires"].split())
    for name in ("Numba", "NumPy", "SciPy"):
        assert row(name)[0] == required[name.lower()]
        assert f"{name.lower()}=={row(name)[0]}" in WORKFLOW
    assert f">={row('Python')[0]}" == config["options"]["python_requires"]


def test_the_pythons_are_those_of_the_workflow_and_of_the_classifiers():
    (listed,) = re.findall(r"python: \[(.*)\]", WORKFLOW)
    versions = re.findall(r"[\d.]+", listed)
    assert row("Python")[:2] == [versions[0], versions[-1]]
    text = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    assert versions == re.findall(r"Python :: (3\.\d+)", text)


def test_the_systems_are_those_of_the_workflow():
    (listed,) = re.findall(r"^ +os: \[(.*)\]", WORKFLOW, re.MULTILINE)
    assert set(listed.split(", ")) == {
        *("ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "macos-15-intel", "windows-2025"),
    }, "change docs/platforms.md, and this list"
    table = PAGE.partition("## Systems and processors")[2].partition("\n## ")[0]
    by_workflow = [line for line in table.splitlines() if line.split("|")[3:4] == [" workflow "]]
    assert [line.split("|")[1].strip() for line in by_workflow] == ["Linux (glibc)", "macOS", "Windows"]
