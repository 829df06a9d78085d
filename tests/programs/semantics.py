"""A list of small functions with arguments to check them at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Cases = list[tuple[Callable[..., Any], tuple[Any, ...]]]


def collector() -> tuple[Cases, Callable[..., Any]]:
    """An empty list, and a decorator that adds a function with its arguments to it."""
    cases: Cases = []

    def case(*args: Any) -> Callable[..., Any]:
        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            cases.append((function, args))
            return function

        return add

    return cases, case
