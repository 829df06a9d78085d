"""Values that the derivative of an inner tape computes once more.

An inner gradient, written into the block of an outer tape, reads numbers of the block as they are,
but makes arrays anew.  What it depends on is then the new array, and the outer tape, asked for the
gradient with respect to the old one, has to count both:

    a = x * x                       a is the source
    g = (gradient of sum(a**3))     computes a_1 = x * x, and from it 3 * a_1**2

`None` stands for a value whose copies are not known, as where a branch or loop makes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tapec.errors import LoweringError, Span

Again = Mapping[str, tuple[str, ...] | None]


def with_copies(names: Iterable[str], again: Again) -> tuple[str, ...]:
    """The names, and those under which their values were computed once more, as far as they are known."""
    found: dict[str, None] = {}
    pending = list(names)
    while pending:
        name = pending.pop(0)
        if name not in found:
            found[name] = None
            pending += again.get(name) or ()
    return tuple(found)


def followed(names: Iterable[str], again: Again, span: Span | None = None) -> tuple[str, ...]:
    """The names of a source, with those of its copies; raises LoweringError where some are not known."""
    found = with_copies(names, again)
    for name in found:
        if name in again and again[name] is None:
            raise LoweringError(
                f"the source `{name}` is computed once more for the gradient of an inner tape",
                span,
                reason="what that gradient depends on is not this value, but one like it",
                hint="ask for the gradient with respect to what it was computed from",
            )
    return found
