"""Let a generated function write gradients into the caller's memory, not into arrays of its own.

    x_bar = np.zeros(n)        x_bar = x_bar_out
    ...                        x_bar[:] = 0
    return s, x_bar            ...
                               return s, x_bar

This is done where the array has one assignment, which makes it, in the body of the function; other
results are copied when the function has returned.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tapec.backend.program import Program
from tapec.build.interface import Parameter


@dataclass(frozen=True)
class WrittenOutputs:
    """A program that takes memory for some of its results.

    program  with a parameter more for each of them
    leaves   for each of those parameters, the position of the result among all leaves
    sources  and the source whose gradient it is
    """

    program: Program
    leaves: tuple[int, ...]
    sources: tuple[Parameter, ...]


def with_outputs(program: Program, sources: tuple[Parameter, ...]) -> WrittenOutputs:
    """The program that writes gradients into its parameters, where that is possible.

    sources  what the last leaves of the result are the gradients by
    """
    function = ast.parse(program.source).body[0]
    assert isinstance(function, ast.FunctionDef)
    (returned,) = (node for node in ast.walk(function) if isinstance(node, ast.Return))
    leaves = list(_leaves(returned.value))
    names = [leaf.id if isinstance(leaf, ast.Name) else "" for leaf in leaves]
    lines = program.source.splitlines()
    taken = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)} | {*program.namespace}
    params: list[str] = []
    found: list[tuple[int, Parameter]] = []
    for k, source in enumerate(sources, len(leaves) - len(sources)):
        name = names[k]
        made = _making(function, name) if names.count(name) == 1 and _in_order(source) else None
        if made is None:
            continue
        param = f"{name}_out"
        while param in taken:
            param += "_"
        taken.add(param)
        clear = f"\n    {name}[{', '.join(':' * source.rank)}] = 0" if _kind(made.value) == "np.zeros" else ""
        lines[made.lineno - 1] = f"    {name} = {param}{clear}"
        params.append(param)
        found.append((k, source))
    all_params = (*program.params, *params)
    lines[function.lineno - 1] = f"def {program.name}({', '.join(all_params)}):"
    changed = replace(program, source="\n".join(lines) + "\n", params=all_params)
    return WrittenOutputs(changed, tuple(k for k, _ in found), tuple(source for _, source in found))


def _in_order(source: Parameter) -> bool:
    """Whether a gradient is delivered in the order in which generated functions make arrays."""
    return source.array and source.rank > 0 and (source.rank == 1 or source.layout != "F")


def _leaves(expression: ast.expr | None) -> Iterator[ast.expr]:
    """The leaves of what is returned; named tuples are calls of their classes, and None is no leaf."""
    if isinstance(expression, ast.Tuple):
        for item in expression.elts:
            yield from _leaves(item)
    elif isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name):
        for item in expression.args:
            yield from _leaves(item)
    elif expression is not None and not (isinstance(expression, ast.Constant) and expression.value is None):
        yield expression


def _making(function: ast.FunctionDef, name: str) -> ast.Assign | None:
    """The one statement that assigns `name`, if it makes an array in one line of the function's body."""
    stores = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    if len(stores) != 1:
        return None
    for stmt in function.body:
        if isinstance(stmt, ast.Assign) and stmt.targets == [stores[0]] and stmt.lineno == stmt.end_lineno:
            return stmt if _kind(stmt.value) in ("np.zeros", "np.empty") else None
    return None


def _kind(value: ast.expr) -> str:
    """What is called for a value."""
    return ast.unparse(value.func) if isinstance(value, ast.Call) else ""
