"""Complex sources, which are two real ones in the program: a tape has to follow both or neither.

    w = x + 1j        computed from x, which is watched; its imaginary part is a literal

The uses of a literal are not followed, so that the gradient by `w` would lack one of its parts.
"""

from __future__ import annotations

from tapec.analyses.activity import Activity
from tapec.analyses.aliases import aliases
from tapec.errors import LoweringError, Span
from tapec.syntax.core import Function, Return, written_in
from tapec.tape.derivatives.block_derivative import GradientRequest, stopped_body
from tapec.transforms.emitter import Emitter


def check_parts(request: GradientRequest, span: Span | None = None) -> None:
    """Raises LoweringError for a complex source of which one part alone was computed from what is watched."""
    if not request.pairs:
        return
    types, watched = dict(request.types), set(request.watched)
    body = stopped_body(request, Emitter(types, set(types)))
    defined = written_in(body)
    whole = Function("stretch", (), (*body, Return(())), types)
    varied = Activity(whole, aliases(whole), watched, set())

    def followed(name: str) -> bool:
        return name in watched or (name in defined and types[name].is_float and varied.varies(name))

    for re, im in request.pairs:
        real, imaginary = any(map(followed, re)), any(map(followed, im))
        if real != imaginary:
            part = "imaginary" if real else "real"
            raise LoweringError(
                f"a complex source whose {part} part is not computed from what the tape watches",
                span,
                reason="the tape does not follow what is computed from that part",
                hint="watch the source itself, tape.watch(...), where it is computed",
            )
