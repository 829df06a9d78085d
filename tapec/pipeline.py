"""The stages in order, for each kind of derivative.

    source ─lower→ typed core ─differentiate→ adjoint core ─optimise→ ─print→ Python source
"""

from __future__ import annotations

import types
from dataclasses import replace
from typing import Any

from tapec.backend.callee_text import callees_text
from tapec.backend.program import Program
from tapec.frontend.assumed_extents import lowered_without_broadcasting
from tapec.frontend.lower import lower
from tapec.kinds import KINDS, Asked
from tapec.optimise import prepare, tested
from tapec.options import WITH_AUX, Options, no_aux
from tapec.remarks import Listener, heard_by, stage
from tapec_runtime.locking import compiling


@compiling
def build(
    function: types.FunctionType,
    arguments: tuple[Any, ...],
    kind: str,
    wrt: Any = 0,
    options: Options | None = None,
    listener: Listener | None = None,
    given: tuple[Any, ...] | None = None,
    taken: tuple[Any, ...] = (),
    lanes: int | None = None,
    apart: bool = False,
) -> Program:
    """Run the pipeline for one function and signature.

    `arguments` holds one structure of core types per parameter, or a Static; `listener` hears of stages
    and remarks.  Of a program that has several versions, that for the arguments `given` is made, if there are any.
    `taken` holds the structures of the tangents, the cotangent or the vector that follow the arguments; if there are
    none, they have the types that they should have.  `lanes` is how many directions a program for several has at once.
    Versions are functions `apart`, or one function with branches.
    """
    options = options or Options()
    if kind not in WITH_AUX:
        no_aux(options, f"tapec.{kind}")
    with heard_by(listener):
        stage("lowering")
    with heard_by(None):
        lowered = lower(function, arguments, prepare=prepare if options.fast else None)
        options = replace(options.with_checks(lowered.boundscheck), for_reading=apart)
        if options.debug:
            constants = frozenset(lowered.constants)
            every = (tested(one, constants) for one in (lowered.function, *lowered.callees))
            lowered = replace(lowered, function=next(every), callees=tuple(every))
        unbroadcast = None
        if kind in ("grad", "value_and_grad") and options.in_versions:
            unbroadcast = lowered_without_broadcasting(function, arguments, prepare, lowered)
    with heard_by(listener):
        stage("differentiating")
        asked = Asked(lowered, function, arguments, kind, wrt, options, unbroadcast, given, taken, lanes, apart)
        program = KINDS[kind](asked)
    with heard_by(None):
        callees = callees_text(program, lowered, options) if lowered.callees else ""
    prelude = "\n\n".join(filter(None, (callees, program.prelude)))
    return replace(program, prelude=prelude)
