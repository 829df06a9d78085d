"""Passes that keep core form and make it better."""

from __future__ import annotations

from tapec.optimise.dead import drop_dead
from tapec.syntax.core import Function


def tidy(function: Function, constants: frozenset[str]) -> tuple[Function, dict[str, str]]:
    """Clean up generated code; also the new names of returned values."""
    return drop_dead(function, constants), {}
