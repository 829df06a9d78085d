"""What a caller gives beside the arguments has the shapes of what it belongs to, or the function raises ValueError."""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Atom, Const, Function, If, Name, Op, Raise
from tapec.syntax.types import Array
from tapec.transforms.emitter import Emitter
from tapec.transforms.reverse import Reversed


def with_checked_tangents(function: Function, own: int, sources: tuple[str, ...]) -> Function:
    """A function that takes a tangent for each of `sources` behind `own` parameters, with a test of each array."""
    types = dict(function.types)
    out = Emitter(types, set(types), getattr(function.body[0], "span", None))
    for source, dot in zip(sources, function.params[own:], strict=True):
        _check(out, Name(source), dot, f"the tangent of `{source}` has another shape than `{source}`")
    return replace(function, body=(*out.out, *function.body), types=types)


def with_checked_seeds(swept: Reversed) -> Reversed:
    """Both sweeps, with a test between them for each array among the seeds."""
    types = dict(swept.types)
    out = Emitter(types, set(types), getattr(swept.forward[-1], "span", None) if swept.forward else None)
    values = (value for value in swept.values if out.type_of(value).is_float)
    for value, seed in zip(values, swept.seeds, strict=True):
        _check(out, value, seed, "the cotangent has another shape than the value")
    return replace(swept, forward=(*swept.forward, *out.out), types=types)


def _check(out: Emitter, value: Atom, given: str, message: str) -> None:
    kind = out.types[given]
    for axis in range(kind.ndim if isinstance(kind, Array) else 0):
        extents = (out.atom(Op("dim", (one, Const(axis)))) for one in (value, Name(given)))
        differs = out.atom(Op("!=", tuple(extents)))
        out.add(If(differs, (Raise("ValueError", (Const(message),), out.span),), (), out.span))
