"""`import` inside a function or a block: the modules of the running program."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from typing import Any

import gast

from tapec.errors import LoweringError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Static


def import_(ev: Evaluator, node: gast.Import) -> None:
    for alias in node.names:
        module = _module(ev, alias.name, node)
        if alias.asname is None:
            name = alias.name.partition(".")[0]
            module = sys.modules[name]
        else:
            name = alias.asname
        ev.frame.env[name] = Static(module)


def import_from(ev: Evaluator, node: gast.ImportFrom) -> None:
    path = "." * (node.level or 0) + (node.module or "")
    module = _module(ev, path, node)
    for alias in node.names:
        if alias.name == "*":
            ev.fail(LoweringError, "`import *` inside a tape's block", node, hint="import the names that are used")
        inner = None if hasattr(module, alias.name) else sys.modules.get(f"{module.__name__}.{alias.name}")
        found = Static(inner) if inner is not None else ev.get_attribute(Static(module), alias.name, node)
        ev.frame.env[alias.asname or alias.name] = found


def _module(ev: Evaluator, path: str, node: Any) -> types.ModuleType:
    """A module that is loaded, or that Python itself brings: loading one early changes nothing then."""
    function = ev.frame.function
    if path.startswith("."):
        package = function.__globals__.get("__package__") if function is not None else None
        if not package:
            message = f"`from {path} import` of an unknown package"
            ev.fail(LoweringError, message, node, hint="import it by its full name")
        path = importlib.util.resolve_name(path, package)
    if path not in sys.modules and path.partition(".")[0] in sys.stdlib_module_names:
        importlib.import_module(path)
    if path not in sys.modules:
        ev.fail(
            LoweringError,
            f"the module `{path}` is imported for the first time where it is differentiated",
            node,
            reason="what it defines is not known before the program has run",
            hint="import it at the top of its file",
        )
    return sys.modules[path]


STATEMENTS: dict[type, Any] = {gast.Import: import_, gast.ImportFrom: import_from}
