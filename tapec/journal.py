"""What the compiler tells whoever listens: the stage that it has reached, and the decisions that it takes.

Passes record a decision as data where they take it; `tapec.explanation` puts them in words.  A pass is given a
`Listener`, or None if nobody listens, and does no work for the record then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tapec.errors import Span


@dataclass(frozen=True, slots=True)
class Decision:
    """Something that a pass did, or did not do, with a line of the user's.

    span   the line
    by     the pass, by the name of its module
    what   what was decided, such as "fused"
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
    """Hears what the compiler tells, and ignores it; a base for those that do not."""

    def stage(self, name: str) -> None:
        """The compiler begins with a stage."""

    def decide(self, span: Span | None, by: str, what: str, why: str = "", *about: Any) -> None:
        """A pass has taken a decision; see `Decision`."""


class Journal(Listener):
    """Keeps all decisions, in the order in which they were taken."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []

    def decide(self, span: Span | None, by: str, what: str, why: str = "", *about: Any) -> None:
        self.decisions.append(Decision(span, by, what, why, about))


def stage(listener: Listener | None, name: str) -> None:
    """Tell a listener, if there is one, that a stage begins."""
    if listener is not None:
        listener.stage(name)
