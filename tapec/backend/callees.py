"""The text of recursive functions, which a derivative calls by name."""

from __future__ import annotations

from tapec.backend import printer
from tapec.backend.program import Program
from tapec.frontend.lower import Lowered
from tapec.optimise import tidy, used
from tapec.options import Options
from tapec.syntax.core import Function, Name
from tapec.syntax.types import FLOAT64, Array, Type
from tapec.transforms.callees import called


def callees_text(program: Program, lowered: Lowered, options: Options) -> str:
    """The recursive functions that a derivative calls, and their derivatives."""
    constants = frozenset(lowered.constants)
    made = called(program.core.body, lowered.callees, constants)
    texts = []
    for core in made:
        final = tidy(core, constants, options)
        texts.append(f"{_decorator(core, used(options, final))}\n{printer.function(final, options.quote)}")
    return "\n\n".join(texts)


def _decorator(core: Function, options: Options) -> str:
    """Numba's decorator with the argument types: a function that calls itself is typed by them."""
    arguments = ", ".join(_signature(core.types[param]) for param in core.params)
    types_ = [core.types[v.id] if isinstance(v, Name) else FLOAT64 for v in core.results]
    results = [_signature(type_) for type_ in types_]
    result = results[0] if len(results) == 1 else f"Tuple(({', '.join(results)}))"
    return f'@numba.njit("{result if results else "none"}({arguments})", {options.flags_text})'


def _signature(type_: Type) -> str:
    if isinstance(type_, Array):
        axes = [":"] * type_.ndim
        if type_.layout == "C" and axes:
            axes[-1] = "::1"
        elif type_.layout == "F" and axes:
            axes[0] = "::1"
        return f"{type_.dtype}[{', '.join(axes)}]"
    return "boolean" if str(type_) == "bool" else str(type_)
