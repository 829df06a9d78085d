"""What stands after a stage of the pipeline, as the text of a module that computes the same thing."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import replace

from tapec.backend.module import module_text
from tapec.backend.program import Program
from tapec.options import Options
from tapec.syntax.core import Function

STAGES = ("core", "typed", "adjoint", "optimised")


def stage_text(function: types.FunctionType, stage: str, build: Callable[[str, Options], Program]) -> str:
    """The module of one stage; `build` runs the pipeline for a kind of derivative and options.

    core       the lowered function, with the user's lines
    typed      the same, with the type of every name
    adjoint    value and gradient as differentiated
    optimised  value and gradient as they are compiled
    """
    kind = "primal" if stage in ("core", "typed") else "value_and_grad"
    program = build(kind, Options(level=2 if stage == "optimised" else 0, quote=stage != "typed"))
    if stage == "typed":
        program = replace(program, source=_with_types(program.source, program.core))
    title = {"core": "Core form of", "typed": "Typed core form of", "adjoint": "Gradient, not yet optimised, of"}
    return module_text(program, function, title.get(stage, "Derivative of"))


def _with_types(source: str, core: Function) -> str:
    """The text with the type of every parameter and of every name beside its assignment."""
    head, doc, *body = source.splitlines()
    params = [f"    # {param}: {core.types[param]}" for param in core.params]
    return "\n".join([head, doc, *params, *(_typed(line, core) for line in body)]) + "\n"


def _typed(line: str, core: Function) -> str:
    known = core.types.get(line.strip().partition(" = ")[0])
    return line if known is None else f"{line}  # {known}"
