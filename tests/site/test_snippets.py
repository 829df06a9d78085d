"""Examples of pages run as scripts, and what they print is compared."""

from __future__ import annotations

import os

import pytest
from click.testing import CliRunner

from tools.site import snippets

OUTPUT = '```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n```text title="prints"\n{}\n```\n'
ALONE = snippets.ALONE + '\n```python\n1 / 0\n```\n\n```text title="raises"\n{}\n```\n'


def test_blocks_are_one_script():
    assert snippets.printed(OUTPUT) == ["", "1\n"]


def test_an_output_that_differs_is_found():
    assert snippets.differences(OUTPUT.format("1")) == []
    (message,) = snippets.differences(OUTPUT.format("2"))
    assert message == "line 6: the page says\n2\nbut the example prints\n1\n"


def test_indentation_counts():
    page = '```python\nprint("if x:\\n    y")\n```\n\n```python title="prints"\nif x:\ny\n```\n'
    assert snippets.differences(page) != []
    assert snippets.differences(page.replace("\ny\n", "\n    y\n")) == []


def test_dots_stand_for_any_text():
    assert snippets.differences('```python\nprint(2**0.5)\n```\n\n```text title="prints"\n1.414...\n```\n') == []


def test_an_example_that_raises_fails():
    with pytest.raises(ZeroDivisionError):
        snippets.printed("```python\n1 / 0\n```\n")


def test_lines_are_those_of_the_page():
    page = "\n\n```python\nimport sys\nprint(sys._getframe().f_lineno)\n```\n"
    assert snippets.printed(page) == ["5\n"]


def test_an_example_by_itself_may_raise():
    assert snippets.differences(ALONE.format("ZeroDivisionError: ...")) == []
    assert snippets.differences(ALONE.format("ValueError: ...")) != []


def test_variables_that_an_example_sets_are_its_own():
    page = snippets.ALONE + "\n```python\nimport os\nos.environ['TAPEC_OF_A_PAGE'] = '1'\n```\n"
    snippets.printed(page)
    assert "TAPEC_OF_A_PAGE" not in os.environ


def test_outputs_are_written_into_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(OUTPUT.format("2"), encoding="utf-8")
    assert CliRunner().invoke(snippets.main, [str(page)]).exit_code == 1
    assert CliRunner().invoke(snippets.main, [str(page), "--write"]).exit_code == 0
    assert page.read_text(encoding="utf-8") == OUTPUT.format("1")
    assert CliRunner().invoke(snippets.main, [str(page)]).exit_code == 0
