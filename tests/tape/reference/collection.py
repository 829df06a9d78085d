"""Lists of programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any, Any], Any]


def collector() -> tuple[dict[str, Program], Callable[[Program], Program]]:
    """The programs of a module by name, and the decorator that adds one."""
    cases: dict[str, Program] = {}

    def case(program: Program) -> Program:
        assert program.__name__ not in cases
        cases[program.__name__] = program
        return program

    return cases, case
