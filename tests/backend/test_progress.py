"""Compilations that take long say so, if somebody looks."""

from __future__ import annotations

import io
import sys
import time

import pytest

from tapec.backend import progress


class Terminal:
    """What is written to a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


def compile_for_long(asked: bool = True) -> None:
    """Wait until a line has been written, but not for ever."""
    with progress.told("compiling `f`", asked):
        end = time.monotonic() + (5.0 if asked else 0.1)
        while time.monotonic() < end and "compiling" not in getattr(sys.stderr, "text", ""):
            time.sleep(0.01)


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal in place of stderr: no fixture, after which pytest puts its own there again."""
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    monkeypatch.delenv("TAPEC_PROGRESS", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return found


def test_what_takes_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = terminal(monkeypatch)
    compile_for_long()
    assert "compiling `f`" in found.text


@pytest.mark.parametrize("by", ["option", "environment"])
def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    found = terminal(monkeypatch)
    if by == "environment":
        monkeypatch.setenv("TAPEC_PROGRESS", "0")
        assert not progress.is_wanted()
    else:
        compile_for_long(asked=False)
        assert found.text == ""


def test_what_is_short_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = terminal(monkeypatch)
    monkeypatch.setattr(progress, "SECONDS", 100.0)
    with progress.told("compiling `f`"):
        pass
    assert found.text == ""


def test_nobody_is_told_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAPEC_PROGRESS", raising=False)
    assert progress.is_wanted() is sys.stderr.isatty()
    monkeypatch.setenv("TAPEC_PROGRESS", "1")
    assert progress.is_wanted()


def test_a_program_may_have_no_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAPEC_PROGRESS", raising=False)
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        assert not progress.is_wanted()


def test_an_error_ends_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch)
    with pytest.raises(ValueError), progress.told("compiling `f`"):
        raise ValueError
    with progress.told("compiling `g`"):
        assert progress._showing
    assert not progress._showing
