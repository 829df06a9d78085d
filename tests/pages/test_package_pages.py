"""The page of each folder of the compiler, its `__init__.py`, names each module of the folder, and none that is not."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

COMPILER = Path(__file__).resolve().parent.parent.parent / "tapec"
# `tapec` itself has what users import
FOLDERS = sorted({page.parent for page in COMPILER.rglob("__init__.py")} - {COMPILER})


def page(folder: Path) -> str:
    return ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""


def modules(folder: Path) -> list[str]:
    """The files that the page of a folder names, with the path where they stand elsewhere."""
    return re.findall(r"`([\w/]+\.py)`", page(folder))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(COMPILER)))
def test_the_page_names_what_is_there(folder: Path):
    named = {name for name in modules(folder) if "/" not in name}
    assert named == {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    for inner in folder.glob("*/__init__.py"):
        assert f"{inner.parent.name}/" in page(folder)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(COMPILER)))
def test_modules_of_other_folders_are_there(folder: Path):
    homes = (folder, folder.parent, COMPILER, COMPILER.parent, COMPILER.parent / "runtime")
    for name in modules(folder):
        assert "/" not in name or any((home / name).is_file() for home in homes), name
