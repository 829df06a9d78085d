"""Remarks: what the compiler does, or does not do, with a line of the user's; and the stage that it has reached.

A pass makes a remark as data, where it acts:

    remark(loop.span, "loop_reversal", "the reverse sweep counts upward", why)

Whoever wants to know of a compilation runs it in `heard_by`; nobody else pays for it.  `tapec.explanation` puts remarks
in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tapec.errors import Span


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that a pass did, or did not do, with a line of the user's.

    span   the line
    by     the pass, by the name of its module
    what   what was done, such as "fused"
    why    a sentence, in which `{0}`, `{1}` stand for what it is about
    about  variables (`Named`), places (spans), expressions of core, numbers
    """

    span: Span | None
    by: str
    what: str
    why: str = ""
    about: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Named:
    """A variable of core, and the line that makes it; parameters are made by none.

    It is the user's own if the line has its name, up to a number at the end.
    """

    name: str
    made: Span | None = None


class Listener:
    """Hears of stages and remarks, and ignores them; a base for those that do not."""

    def stage(self, name: str) -> None:
        """The compiler begins with a stage."""

    def remark(self, remark: Remark) -> None:
        """A pass has made a remark."""


class Remarks(Listener):
    """Keeps all remarks, in the order in which they were made."""

    def __init__(self) -> None:
        self.all: list[Remark] = []

    def remark(self, remark: Remark) -> None:
        self.all.append(remark)


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Listener | None) -> Iterator[None]:
    """A while in which a listener hears what this thread compiles; None hears nothing."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def is_heard() -> bool:
    """Whether anybody listens: what is computed for remarks alone may be left out otherwise."""
    return _listener.get() is not None


def remark(span: Span | None, by: str, what: str, why: str = "", *about: Any) -> None:
    """Make a remark, if anybody listens; the parts are those of `Remark`."""
    listener = _listener.get()
    if listener is not None:
        listener.remark(Remark(span, by, what, why, about))


def stage(name: str) -> None:
    """Tell whoever listens that a stage begins."""
    listener = _listener.get()
    if listener is not None:
        listener.stage(name)
