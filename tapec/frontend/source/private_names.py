"""Attributes such as `self.__scale`, which Python calls after the class that the text stands in: `_Model__scale`."""

from __future__ import annotations

import ast
import types
from typing import Any

import gast


def with_classes(made: Any, node: ast.AST, tree: ast.AST, code: types.CodeType) -> Any:
    """The tree `made` of a function with attributes as Python calls them.

    node, tree  where the function stands in its file, and what that file holds
    code        of the function, which tells whether there are such names
    """
    if not any(name.startswith("_") and "__" in name[1:] for name in _names(code)):
        return made
    around = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef) and node in ast.walk(one)]
    if not around:
        return made
    # the innermost one comes last
    prefix = f"_{around[-1].name.lstrip('_')}"
    for one in gast.walk(made):
        if isinstance(one, gast.Attribute) and one.attr.startswith("__") and not one.attr.endswith("__"):
            one.attr = prefix + one.attr
    return made


def _names(code: types.CodeType) -> set[str]:
    """The names that code has, with that of the functions inside."""
    inner = (_names(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return set(code.co_names).union(*inner)
