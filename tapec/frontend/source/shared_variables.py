"""`nonlocal` of compiled functions: a variable that several functions set, as the one item of a list that they share.

    total = 0.0                             $total = [0.0]
    def add(v):                             def add(v):
        nonlocal total           ->             $total[0] = $total[0] + v
        total = total + v                   for v in x:
    for v in x:                                 add(v)
        add(v)                              return $total[0]
    return total

Branches and loops carry what lists hold for all functions, and variables for the function alone that they stand in.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import gast

_FUNCTIONS = gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda
_known: dict[int, tuple[Any, Any]] = {}


def with_shared_variables(definition: Any) -> Any:
    """A function in which variables that functions inside it set by `nonlocal` are items of lists; once a function."""
    found = _known.get(id(definition))
    if found is None or found[0] is not definition:
        found = _known[id(definition)] = definition, _shared(definition)
    return found[1]


def _shared(definition: Any) -> Any:
    if not isinstance(definition, gast.FunctionDef) or not any(
        isinstance(node, gast.Nonlocal) for node in gast.walk(definition)
    ):
        return definition
    params = {node.id for node in gast.walk(definition.args) if isinstance(node, gast.Name)}
    own = params | {node.id for node in _own(definition) if isinstance(node, gast.Name) and _sets(node)}
    inside = (node for node in gast.walk(definition) if isinstance(node, gast.FunctionDef) and node is not definition)
    names = {name for function in inside for name in _set_outside(function)}
    names = {name for name in names & own if _is_plain(definition, name)}
    made = copy.copy(definition)
    made.body = copy.deepcopy(definition.body)
    for name in names:
        _rename(made, name)
    made.body = [_Inside().visit(stmt) for stmt in made.body]
    made.body = [_cell(name, name in params, definition) for name in sorted(names)] + made.body
    return made


class _Inside(gast.NodeTransformer):
    """The same of the functions inside a function."""

    def visit_FunctionDef(self, node: Any) -> Any:
        return _shared(node)


def _own(definition: Any) -> Iterator[Any]:
    """The nodes of a function that do not belong to functions inside it."""
    pending = list(definition.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _FUNCTIONS):
            pending.extend(gast.iter_child_nodes(node))


def _set_outside(function: Any) -> set[str]:
    """The variables of functions around it that a function sets."""
    own = list(_own(function))
    declared = {name for node in own if isinstance(node, gast.Nonlocal) for name in node.names}
    return {node.id for node in own if isinstance(node, gast.Name) and _sets(node)} & declared


def _sets(node: Any) -> bool:
    return isinstance(node.ctx, gast.Store | gast.Del)


def _is_plain(definition: Any, name: str) -> bool:
    """Whether a variable is only assigned and read, and no function inside has one of its own with that name."""
    for node in _own(definition):
        if isinstance(node, gast.Nonlocal | gast.Global) and name in node.names:
            return False
    for node in gast.walk(definition):
        if isinstance(node, gast.Name) and node.id == name and isinstance(node.ctx, gast.Del):
            return False
        if isinstance(node, gast.NamedExpr) and node.target.id == name:
            return False
        if isinstance(node, gast.FunctionDef) and node is not definition:
            sets = any(isinstance(one, gast.Name) and one.id == name and _sets(one) for one in _own(node))
            if name == node.name or (sets and name not in _set_outside(node)):
                return False
    arguments = (node.args for node in gast.walk(definition) if isinstance(node, _FUNCTIONS) and node is not definition)
    return not any(isinstance(one, gast.Name) and one.id == name for args in arguments for one in gast.walk(args))


def _rename(made: Any, name: str) -> None:
    """Write `$name[0]` in place of a name."""

    class Rename(gast.NodeTransformer):
        def visit_Name(self, node: Any) -> Any:
            if node.id != name or isinstance(node.ctx, gast.Param):
                return node
            owner = gast.copy_location(gast.Name(f"${name}", gast.Load(), None, None), node)
            zero = gast.copy_location(gast.Constant(0, None), node)
            return gast.copy_location(gast.Subscript(owner, zero, node.ctx), node)

        def visit_Nonlocal(self, node: Any) -> Any:
            left = [one for one in node.names if one != name]
            return gast.copy_location(gast.Nonlocal(left) if left else gast.Pass(), node)

    made.body = [Rename().visit(stmt) for stmt in made.body]


def _cell(name: str, is_given: bool, where: Any) -> Any:
    first = gast.Name(name, gast.Load(), None, None) if is_given else gast.Constant(None, None)
    items = gast.copy_location(gast.List([gast.copy_location(first, where)], gast.Load()), where)
    target = gast.copy_location(gast.Name(f"${name}", gast.Store(), None, None), where)
    return gast.copy_location(gast.Assign([target], items, None), where)
