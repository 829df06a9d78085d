"""Names that lead a reader to one place: of files and of public classes."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [path for package in ("tapec", "runtime/tapec_runtime") for path in (ROOT / package).rglob("*.py")]


def test_no_two_files_have_one_name():
    places = defaultdict(list)
    for path in SOURCES:
        if not path.name.startswith("__"):
            places[path.name].append(str(path.relative_to(ROOT)))
    assert [found for found in places.values() if len(found) > 1] == []


@pytest.mark.slow
def test_no_two_public_classes_have_one_name():
    places = defaultdict(list)
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_each_analysis_and_each_transformation_has_a_test_file():
    """In the folder that stands to the tests as the module's does to the product."""
    modules = [
        path
        for room in ("analyses", "transforms", "optimise")
        for path in (ROOT / "tapec" / room).rglob("*.py")
        # the table of all passes: `tests/tools/test_passes.py`
        if path.stem not in ("__init__", "passes")
    ]
    wanted = (ROOT / "tests" / path.parent.relative_to(ROOT / "tapec") / f"test_{path.name}" for path in modules)
    assert len(modules) > 200
    assert [str(path.relative_to(ROOT)) for path in wanted if not path.exists()] == []
