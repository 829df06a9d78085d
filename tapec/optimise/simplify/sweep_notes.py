"""Sweeps without statements are not announced.

Where every iteration is reversed as soon as it has run, all of a program may be one sweep.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Function, Note, Return


def drop_sweep_notes(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function without notes on sweeps that have no statements, nor on the only one that has."""
    body = function.body
    later = (*body[1:], Return(()))
    kept = [
        stmt for stmt, after in zip(body, later, strict=True)
        if not isinstance(stmt, Note) or not isinstance(after, Note | Return)
    ]
    if sum(isinstance(stmt, Note) for stmt in kept) < 2:
        kept = [stmt for stmt in kept if not isinstance(stmt, Note)]
    return replace(function, body=tuple(kept)) if len(kept) < len(body) else function
