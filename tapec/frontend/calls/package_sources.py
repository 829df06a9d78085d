"""Functions of NumPy and SciPy that have no rule: their source is read, and what cannot be is an error of the call."""

from __future__ import annotations

import os
import sys
from typing import Any

from tapec.errors import TypeMismatch, UnsupportedFunction, UnsupportedSyntax, UnsupportedType
from tapec.frontend.calls.inlining import call_function
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Value

# packages whose source is read where a function has no rule
_PACKAGES = ("numpy", "scipy")


def public(dotted: str) -> str:
    """A name without the modules that begin with an underscore."""
    return ".".join(part for part in dotted.split(".") if not part.startswith("_"))


def read(ev: Evaluator, dotted: str, function: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """A function with source; an error in that of NumPy or SciPy names the call of theirs.

    What makes derivatives and has no lowering of its own is no program to read.
    """
    package, called = dotted.partition(".")[0], ev.where(node)
    name = dotted.rpartition(".")[2]
    if package == "tapec" and vars(sys.modules["tapec"]).get(name) is function:
        ev.fail(
            UnsupportedFunction,
            f"`tapec.{name}` is called in code that is differentiated or compiled",
            node,
            hint="call it outside; what it makes may be called here",
        )
    if package not in _PACKAGES or _is_within(package, called):
        return call_function(ev, function, args, kwargs, node)
    try:
        return call_function(ev, function, args, kwargs, node)
    except (UnsupportedSyntax, UnsupportedFunction, UnsupportedType, TypeMismatch) as error:
        if error.span is None or not _is_within(package, error.span):
            raise
        title = public(dotted)
        raise UnsupportedFunction(
            f"`{title}` is not supported",
            called,
            f"its source at {error.span}: {error.message}",
            f"give it a derivative by tapec.register, or call it by tapec.opaque({title}) if it needs none",
        ) from None


def _is_within(package: str, span: Any) -> bool:
    """Whether a line is of a package's own source."""
    home = getattr(sys.modules.get(package), "__file__", None)
    return home is not None and span is not None and span.file.startswith(os.path.dirname(home) + os.sep)
