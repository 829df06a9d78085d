"""The functions that are being inlined, one frame each, and how lowering leaves them before their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.errors import Span
from tapec.frontend.evaluator.values import Value
from tapec.frontend.source.function_source import FunctionSource
from tapec.frontend.source.numba_decorators import CompilerFlags, Jitted
from tapec.frontend.source.source_liveness import SourceLiveness


class DeadCode(Exception):
    """Raised inside an expression that cannot be reached; caught per statement."""


class Raised(Exception):
    """The program that is lowered raises here; known only where every decision is (`Evaluator.decider`)."""

    def __init__(self, cls: type[BaseException], value: Any = None) -> None:
        self.cls, self.value = cls, value
        super().__init__(cls.__name__)


class Frame:
    """One function being lowered: where its names come from and what its variables hold."""

    def __init__(
        self, source: FunctionSource, names: Callable[[str], Value | None], parent: Frame | None = None
    ) -> None:
        self.source = source
        self.names = names
        self.parent = parent
        self.env: dict[str, Value] = {}
        self.liveness: SourceLiveness | None = None
        self.local_names: frozenset[str] = frozenset()
        self.library = False
        # the line of the call
        self.called_from: Span | None = None
        # names declared nonlocal or global, the function itself, who takes what it yields, what a handler caught
        self.outer: frozenset[str] = frozenset()
        self.function: Any = None
        # what Numba's decorator says of the function, and what the code is compiled with; None for Python
        self.jitted: Jitted | None = None
        self.flags: CompilerFlags | None = None if parent is None else parent.flags
        # Numba's type of the result, where the decorator has one
        self.returns: Any = None
        self.consumer: Callable[[Value], Value | None] | None = None
        self.caught: Raised | None = None

    def again(self) -> Frame:
        """A frame for another run of the same function."""
        made = Frame(self.source, self.names, self.parent)
        made.jitted, made.flags, made.returns = self.jitted, self.flags, self.returns
        return made
