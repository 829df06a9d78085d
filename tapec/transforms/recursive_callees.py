"""The recursive functions that a program calls, and their derivatives, by name.

`f_adjoint` and `f_tangent` stand for derivatives of the recursive function `f`, and suffixes add
up: `f_adjoint_tangent` is the tangent of the adjoint.  `f_forward` and `f_reverse` are the sides of
a function that is handed lists (`recursive_residuals.py`).
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.aliases import aliases
from tapec.remarks import Named, is_heard, remark
from tapec.syntax.core import Block, Call, Function, walk
from tapec.syntax.types import Array
from tapec.transforms.forward import forward_callee
from tapec.transforms.index_guards import with_guards
from tapec.transforms.overlap_guards import separate_arguments
from tapec.transforms.recursive_residuals import CallerLists, with_caller_lists
from tapec.transforms.residual_requests import Unhandable
from tapec.transforms.reverse import reverse_callee, targets_of
from tapec.transforms.ssa import to_ssa
from tapec.transforms.vector_forward import vector_callee


def called(block: Block, known: tuple[Function, ...], constants: frozenset[str]) -> list[Function]:
    """Every function that `block` calls, directly or not."""
    base = {function.name: _guarded(function) for function in known}
    asked = {stmt.function for stmt in walk(block) if isinstance(stmt, Call)}
    made: dict[str, Function] = {}
    if any(f"{name}_{side}" in asked for name in base for side in ("forward", "reverse")):
        made |= with_caller_lists(base.values(), constants).functions

    def make(name: str) -> Function:
        if name in base:
            return base[name]
        if name in made:
            return made[name]
        origin, _, kind = name.rpartition("_")
        inner = make(origin)
        read = constants & inner.types.keys()
        if origin not in base:
            inner = to_ssa(inner, read)
        if kind.startswith("lanes"):
            made[name] = vector_callee(inner, read, int(kind.removeprefix("lanes")))
        else:
            derive = reverse_callee if kind == "adjoint" else forward_callee
            made[name] = derive(inner, read)
        return made[name]

    found: dict[str, Function] = {}

    def visit(block: Block) -> None:
        for stmt in walk(block):
            if isinstance(stmt, Call) and "." not in stmt.function and stmt.function not in found:
                function = make(stmt.function)
                found[stmt.function] = function
                visit(function.body)

    visit(block)
    return list(found.values())


def with_lists(known: tuple[Function, ...], constants: frozenset[str], block: Block) -> CallerLists | None:
    """What the recursive functions that a block calls become if they are handed lists; None if one cannot be."""
    try:
        handed, why = with_caller_lists(map(_guarded, known), constants), "no call runs again for its derivative"
    except Unhandable as reason:
        handed, why = None, str(reason)
    for stmt in walk(block) if is_heard() else ():
        if isinstance(stmt, Call) and any(one.name == stmt.function for one in known):
            what = "its adjoint runs `{0}` again" if handed is None else "`{0}` puts what its pullback takes on lists"
            remark(stmt.span, "recursive_residuals", what, why, Named(stmt.function))
    return handed


def _guarded(function: Function) -> Function:
    """The function with checks, as of its caller's arguments, that what it writes is separate, and of subscripts."""
    sources = [p for p in function.params if function.types[p].is_float]
    function = with_guards(function, sources, targets_of(function, shared=True, outputs=None))
    classes = aliases(function)
    arrays = [p for p in function.params if isinstance(function.types[p], Array)]
    roots = {
        name: frozenset(p for p in arrays if classes.find(p) == classes.find(name))
        for name, type_ in function.types.items()
        if isinstance(type_, Array)
    }
    guards = separate_arguments(function, roots, refusal="tapec_runtime.AliasedInside")
    return replace(function, body=(*guards, *function.body))
