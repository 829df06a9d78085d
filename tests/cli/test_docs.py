"""The examples of docs/command_line.md and of every `--help` do what they say."""

from __future__ import annotations

import doctest
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapec.cli import main
from tests.cli.running import run, succeeds
from tests.sampling import sampled

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
# last digits, and so how far columns are filled, differ between machines
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def chain(tmp_path, monkeypatch):
    """The page's file in the working folder."""
    (text,) = [text for language, text in BLOCKS if language == "python"]
    (tmp_path / "chain.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAPEC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("chain", "chain_"):
        sys.modules.pop(name, None)


def shown() -> Iterator[tuple[str, str | None]]:
    """The page's commands, block by block, with what is printed below them."""
    for (language, text), (following, below) in zip(BLOCKS, [*BLOCKS[1:], ("", "")], strict=True):
        if language == "sh":
            yield text, below if following == "text" else None


@pytest.mark.slow
@pytest.mark.parametrize("commands, wanted", list(shown()))
def test_the_page(chain, commands, wanted):
    printed = "".join(succeeds(*shlex.split(line)[1:]) for line in commands.splitlines())
    if wanted is not None:
        assert doctest.OutputChecker().check_output(wanted, printed, FLAGS), printed


def test_the_page_has_every_command():
    assert all(f"`tapec {name}" in PAGE for name in main.commands)


def examples() -> Iterator[tuple[str, str]]:
    """The examples of each command's help; those of `build` need a project."""
    for name in main.commands:
        if name != "build":
            text = run(name, "--help").stdout
            yield name, text[text.index("Example") :]


@pytest.mark.parametrize("name, text", sampled(examples(), 5))
def test_the_examples_of_help(chain, name, text):
    commands = re.findall(r"(?:^|: ) *(tapec .*)$", text, re.MULTILINE)
    assert commands
    for command in commands:
        # where the shell sends it is the shell's business
        succeeds(*shlex.split(command.partition(" >")[0])[1:])
