"""The page on Numba's insides names each module that uses them, and tests that are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "docs" / "design" / "0017-numba-internals.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.startswith("| ")]
# no two modules of the project have one name
NAMED = {name.rpartition("/")[2] for row in ROWS for name in re.findall(r"`([\w/]+\.py)`", row[0])}
MODULES = {path.name: path for package in ("tapec", "runtime") for path in (ROOT / package).rglob("*.py")}
EVERYWHERE = set(re.findall(r"`((?:numba|llvmlite)\.[\w.]+)`", TEXT.partition("Names that any module may take")[2]))
INSIDES = ("numba.core", "numba.np", "llvmlite")


def taken(source: str) -> Iterator[str]:
    """What a module takes of the insides of Numba and llvmlite, by full names."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=str(module), level=0):
                names = [f"{module}.{alias.name}" for alias in node.names]
            case ast.Import():
                names = [alias.name for alias in node.names]
            case _:
                names = []
        for name in names:
            if name.startswith(INSIDES) and not any(f"{name}.".startswith(f"{one}.") for one in EVERYWHERE):
                yield name


@pytest.mark.parametrize("source", ["from numba.np import linalg", "def f():\n    import numba.core.ssa"])
def test_an_import_of_insides_is_found(source: str):
    assert len(list(taken(source))) == 1


def test_what_any_module_may_take_is_none():
    assert list(taken("from numba.core import types as nt\nfrom llvmlite.binding import ffi\nimport numba")) == []


@pytest.mark.slow
def test_each_module_that_uses_insides_is_named():
    # what is only a version is public
    texts = {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}
    texts = {name: text for name, text in texts.items() if "numba" in text or "llvmlite" in text}
    used = {name for name, text in texts.items() if set(taken(text)) - {"llvmlite"}}
    assert used - NAMED == set()


def test_the_modules_and_tests_that_it_names_are_there():
    assert NAMED - MODULES.keys() == set()
    tests = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "tests").rglob("*.py")}
    everything = "\n".join(path.read_text(encoding="utf-8") for path in tests.values())
    for row in ROWS:
        for name in re.findall(r"`(\w[\w/]*(?:\.py|/)?)`", row[-1]):
            if name.endswith(".py"):
                assert any(f"/{file}".endswith(f"/{name}") for file in tests), name
            elif name.endswith("/"):
                assert (ROOT / name).is_dir(), name
            elif name.startswith("test_"):
                assert f"def {name}(" in everything, name
