"""Which of several functions on one line a code object belongs to."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# beyond the lines of any file
_FIRST = 1 << 24
_ALIKE = (
    *("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
)


def told_apart(candidates: list[AnyFunction], code: types.CodeType, lines: tuple[str, ...]) -> list[AnyFunction]:
    """Those of the candidates that compile to `code`; of several, those where it stands.

    Columns alone do not tell: a body may begin with what the compiler leaves out (`x if False else y`), and Python
    can run without columns (`-X no_debug_ranges`).  Of text that others than Python have compiled, columns say all.
    """
    compiled = zip(candidates, _compiled(candidates, "".join(lines), code.co_filename), strict=True)
    equal = [node for node, other in compiled if other is not None and _do_the_same(other, code)]
    placed = [node for node in equal or candidates if _same_position(node, code)]
    return equal[:1] if equal and not placed else placed[:1]


def _compiled(candidates: list[AnyFunction], text: str, file: str) -> list[types.CodeType | None]:
    """The code of each candidate in the text as it is; they get first lines of their own to be told apart."""
    places = [(type(node), node.lineno, node.col_offset) for node in candidates]
    tree = ast.parse(text, file)
    for node in ast.walk(tree):
        if isinstance(node, AnyFunction) and (type(node), node.lineno, node.col_offset) in places:
            place = places.index((type(node), node.lineno, node.col_offset))
            node.lineno = node.end_lineno = _FIRST + place
    try:
        module = compile(tree, file, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError:
        return [None] * len(candidates)
    found = {code.co_firstlineno: code for code in _codes(module)}
    return [found.get(_FIRST + place) for place in range(len(candidates))]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and all inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _do_the_same(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether two code objects do the same, wherever they stand."""
    if any(getattr(one, name) != getattr(other, name) for name in _ALIKE) or len(one.co_consts) != len(other.co_consts):
        return False
    for mine, its in zip(one.co_consts, other.co_consts, strict=True):
        if isinstance(mine, types.CodeType) and isinstance(its, types.CodeType):
            if not _do_the_same(mine, its):
                return False
        # 1, 1.0 and True are equal, -0.0 and 0.0, too
        elif type(mine) is not type(its) or repr(mine) != repr(its):
            return False
    return True


def _same_position(node: AnyFunction, code: types.CodeType) -> bool:
    """Whether an instruction of the compiled code is that of all of the body of `node`."""
    body: ast.stmt | ast.expr = node.body if isinstance(node, ast.Lambda) else node
    return (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset) in code.co_positions()
