"""Imports point down the layers: for the project itself, and for small trees that break each rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_layers import violations

ROOT = Path(__file__).resolve().parent.parent


def test_the_project_keeps_its_layers():
    assert violations(ROOT / "tapec", ROOT / "runtime" / "tapec_runtime") == []


@pytest.fixture
def tree(tmp_path):
    """A function that writes a small project and returns the complaints about it."""

    def complaints(files: dict[str, str]) -> list[str]:
        packages = {str(Path(name).parent) for name in files} | {"tapec", "runtime/tapec_runtime"}
        for package in packages:
            (tmp_path / package).mkdir(parents=True, exist_ok=True)
            (tmp_path / package / "__init__.py").touch()
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return violations(tmp_path / "tapec", tmp_path / "runtime" / "tapec_runtime")

    return complaints


def test_downward_imports_are_fine(tree):
    assert (
        tree(
            {
                "tapec/api.py": "from tapec.frontend import lower\nimport tapec_runtime",
                "tapec/frontend/lower.py": "from tapec.frontend.evaluator.values import V\nfrom .. import errors",
                "tapec/frontend/evaluator/values.py": "from tapec.syntax.core import Name",
                "tapec/syntax/core.py": "",
                "tapec/errors.py": "",
            }
        )
        == []
    )


@pytest.mark.parametrize(
    "statement",
    [
        "from tapec.frontend.lower import f",
        "from tapec.frontend import lower",
        "import tapec.frontend.lower",
        "from ..frontend.lower import f",
        "def late():\n    from tapec.frontend.lower import f",
    ],
)
def test_an_upward_import_is_found(tree, statement):
    (complaint,) = tree({"tapec/syntax/core.py": statement, "tapec/frontend/lower.py": ""})
    assert "syntax imports frontend, which stands above it (tapec.frontend.lower)" in complaint


def test_the_package_itself_stands_above_its_parts(tree):
    (complaint,) = tree({"tapec/rules/table.py": "import tapec"})
    assert "rules imports __init__" in complaint


ANNOTATIONS = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "


def test_an_upward_import_for_annotations_is_found(tree):
    source = f"{ANNOTATIONS}from tapec.frontend.lower import f"
    (complaint,) = tree({"tapec/syntax/core.py": source, "tapec/frontend/lower.py": ""})
    assert "syntax imports frontend, which stands above it" in complaint


def test_annotations_form_no_cycle(tree):
    source = f"{ANNOTATIONS}from tapec.rules.b import f"
    assert tree({"tapec/rules/a.py": source, "tapec/rules/b.py": "import tapec.rules.a"}) == []


def test_the_runtime_imports_nothing_of_the_compiler(tree):
    (complaint,) = tree({"runtime/tapec_runtime/special.py": "from tapec import errors", "tapec/errors.py": ""})
    assert "the runtime imports tapec.errors" in complaint


def test_a_cycle_within_a_layer_is_found(tree):
    (complaint,) = tree({"tapec/rules/a.py": "from tapec.rules.b import f", "tapec/rules/b.py": "import tapec.rules.a"})
    assert complaint.startswith("a cycle of imports: ")
    assert "tapec.rules.a -> tapec.rules.b" in complaint


def test_a_folder_without_a_layer_is_found(tree):
    (complaint,) = tree({"tapec/extras/more.py": ""})[:1]
    assert "`extras` stands in no layer" in complaint


def test_the_folders_of_tapes_have_layers_too(tree):
    (complaint,) = tree(
        {"tapec/tape/objects/o.py": "from tapec.tape.plan.p import f", "tapec/tape/plan/p.py": ""}
    )
    assert "objects imports plan, which stands above it (tapec.tape.plan.p)" in complaint


def test_folders_of_one_level_import_nothing_of_one_another(tree):
    (complaint,) = tree(
        {"tapec/tape/run/r.py": "from tapec.tape.block.b import f", "tapec/tape/block/b.py": ""}
    )
    assert "run imports block, which stands beside it (tapec.tape.block.b)" in complaint


def test_a_file_beside_the_folders_is_found(tree):
    (complaint,) = tree({"tapec/tape/loose.py": ""})
    assert "`loose` stands in no layer" in complaint
