"""What the documentation site is made of is complete and up to date; with MkDocs installed, it is built."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

import tapec
from tapec import errors
from tools import reference
from tools.site import __main__ as site
from tools.site import gallery, snippets, speed

DOCS = Path(__file__).resolve().parents[2] / "docs"
WITH_MKDOCS = pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("material") is None,
    reason="MkDocs and Material are not installed",
)


def test_the_reference_is_up_to_date():
    assert reference.page() == reference.PAGE.read_text(encoding="utf-8"), "run python -m tools.reference"


def test_a_public_name_without_a_docstring_is_found(monkeypatch: pytest.MonkeyPatch):
    def undocumented() -> None:
        pass

    monkeypatch.setattr(tapec, "grad", undocumented)
    with pytest.raises(reference.Undocumented, match="`grad` has no docstring"):
        reference.page()


def test_a_method_without_a_docstring_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tapec.Variable, "twice", lambda self: 2, raising=False)
    with pytest.raises(reference.Undocumented, match="`Variable.twice` has no docstring"):
        reference.page()


def test_a_public_name_without_a_place_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tapec, "__all__", [*tapec.__all__, "novelty"])
    with pytest.raises(reference.Undocumented, match="novelty"):
        reference.page()


def test_the_picture_of_speed_is_up_to_date(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.argv", ["speed", "--check"])
    assert speed.main() == 0


def test_every_error_has_a_section():
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    classes = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)}
    assert set(re.findall(r"^## (\w+)$", text, re.MULTILINE)) == classes


def test_every_error_has_a_cause_a_cure_and_an_example():
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    for name, section in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
        if name != "TapecError":
            assert "**Cause.** " in section and "**Cure.** " in section
        # no program is known that Numba refuses
        if name not in ("TapecError", "CompilationError"):
            outputs = re.findall(r'^```text title="raises"\n([\w.]+)', section, re.MULTILINE)
            assert set(outputs) == {f"tapec.errors.{name}"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["errors", "read_the_gradient"])
def test_messages_and_generated_source_are_what_tapec_gives(name: str):
    assert snippets.differences((DOCS / f"{name}.md").read_text(encoding="utf-8"), name) == []


def test_every_module_that_the_page_of_the_pipeline_names_is_there():
    text = (DOCS / "internals.md").read_text(encoding="utf-8")
    folders = [DOCS.parent / name for name in ("tapec", "runtime", "tests", "tools")]
    files = {file.as_posix() for folder in folders for file in folder.rglob("*.py")}
    named = set(re.findall(r"`([\w/]+\.py)`", text))
    assert {name for name in named if not any(file.endswith(f"/{name}") for file in files)} == set()


@pytest.mark.parametrize(("name", "lines"), [("gallery", 60), ("tutorials", 100)])
def test_scripts_are_short_and_say_what_they_do(name: str, lines: int):
    found = gallery.scripts(name)
    assert len(found) >= 6
    for script in found:
        assert len(script.file.read_text(encoding="utf-8").splitlines()) < lines, script.file
        assert re.fullmatch(r"[A-Z]\w+: .+", script.title) and script.about
        assert "check_grads" in script.code or "assert" in script.code
        assert f'"{script.file.stem}.svg"' in script.code


def test_a_script_that_fails_is_told(tmp_path: Path):
    file = tmp_path / "broken.py"
    file.write_text('"""Broken: a script."""\n\nraise ValueError("no luck")\n', encoding="utf-8")
    with pytest.raises(gallery.ScriptFailed, match="no luck"):
        gallery.run(gallery.read(file), tmp_path)


def test_a_script_without_a_picture_is_told(tmp_path: Path):
    file = tmp_path / "blind.py"
    file.write_text('"""Blind: a script."""\n\nprint(1)\n', encoding="utf-8")
    with pytest.raises(gallery.ScriptFailed, match="no picture"):
        gallery.run(gallery.read(file), tmp_path)


def staged(folder: Path) -> Path:
    """The pages of the site, without what the gallery draws."""
    pages = folder / "pages"
    pages.mkdir()
    site.stage(pages)
    for name in gallery.FOLDERS:
        for script in gallery.scripts(name):
            gallery.leave_out(script, pages / name)
    return pages


@WITH_MKDOCS
@pytest.mark.slow
def test_the_site_is_built_and_fetches_nothing(tmp_path: Path):
    assert site.build(staged(tmp_path), tmp_path / "site") == ""
    fetched = re.compile(r"<(?:script|img|link|iframe)\b[^>]*(?:src|href)=[\"']?(?:https?:)?//[^>]*>")
    files = list((tmp_path / "site").rglob("*.html"))
    assert len(files) > 30
    assert {tag for file in files for tag in fetched.findall(file.read_text(encoding="utf-8"))} == set()


@WITH_MKDOCS
@pytest.mark.slow
@pytest.mark.parametrize("link", ["missing.md", "tutorial.md#missing"])
def test_a_broken_link_fails(tmp_path: Path, link: str):
    pages = staged(tmp_path)
    with (pages / "index.md").open("a", encoding="utf-8") as file:
        file.write(f"\n[broken]({link})\n")
    assert "missing" in site.build(pages, tmp_path / "site")


@pytest.mark.slow
def test_the_examples_of_docstrings():
    for module in (site, snippets, reference):
        assert doctest.testmod(module).failed == 0
