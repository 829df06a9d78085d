"""Adjoints of results that a caller gives have the shapes of the results, or the function raises ValueError."""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Const, If, Name, Op, Raise
from tapec.syntax.types import Array
from tapec.transforms.emitter import Emitter
from tapec.transforms.reverse import Reversed


def with_checked_seeds(swept: Reversed) -> Reversed:
    """Both sweeps, with a test between them for each array among the seeds."""
    types = dict(swept.types)
    out = Emitter(types, set(types), getattr(swept.forward[-1], "span", None) if swept.forward else None)
    values = (value for value in swept.values if out.type_of(value).is_float)
    for value, seed in zip(values, swept.seeds, strict=True):
        kind = types[seed]
        for axis in range(kind.ndim if isinstance(kind, Array) else 0):
            extents = (out.atom(Op("dim", (one, Const(axis)))) for one in (value, Name(seed)))
            differs = out.atom(Op("!=", tuple(extents)))
            message = Const("the cotangent has another shape than the value")
            out.add(If(differs, (Raise("ValueError", (message,), out.span),), (), out.span))
    return replace(swept, forward=(*swept.forward, *out.out), types=types)
