"""The statement by which a frame enters a tape, and what the tape's block is.

A `with` statement has its body as the block.  After a call, `tape.__enter__()` or
`stack.enter_context(tape)`, the block is what follows.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import sys
import types
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import gast

from tapec.errors import LoweringError, SourceUnavailable, Span
from tapec.frontend.source.comprehension_names import with_own_names
from tapec.frontend.source.function_source import FunctionSource, file_of_module, is_edited, parse_lines
from tapec.frontend.source.pickled_functions import NOWHERE
from tapec.frontend.statements.assignments import bind

_COPIES = sys.version_info < (3, 13)
_ENTERING = ("BEFORE_WITH", "LOAD_SPECIAL")


@dataclass(frozen=True)
class Place:
    """A statement that enters a tape.

    source   the statement and its file
    item     which of the items of a `with` statement is being entered; -1 for a call
    rest     the statements that follow a call
    by_hand  whether the block ends at a call of `__exit__`
    """

    source: FunctionSource
    item: int
    rest: tuple[Any, ...] = ()
    by_hand: bool = False

    @property
    def node(self) -> Any:
        return self.source.node


def entering_frame(frame: Any) -> Any:
    """The frame whose code enters a tape: contextlib's own frames stand for their caller's."""
    while frame is not None and frame.f_globals.get("__name__") == "contextlib":
        frame = frame.f_back
    return frame


def forget_variables(frame: types.FrameType, variables: Any) -> None:
    """Empty the copy of a function's variables that its frame keeps, so that it keeps no object alive.

    Before Python 3.13, reading `f_locals` leaves a dict behind.  Whoever holds that dict keeps it.
    """
    if not _COPIES or not frame.f_code.co_flags & inspect.CO_OPTIMIZED or sys.gettrace() is not None:
        return
    # the frame's reference, the caller's, this function's and that of the call
    if sys.getrefcount(variables) <= 4:
        variables.clear()


def find(frame: types.FrameType) -> Place:
    """The statement whose context manager is being entered by `frame`."""
    return _find(frame.f_code, frame.f_lasti, source_lines(frame))


def asked_at(frame: types.FrameType) -> Span | None:
    """The call that a frame is in, where its text is known."""
    code = frame.f_code
    line, end_line, column, end_column = list(code.co_positions())[frame.f_lasti // 2]
    if line is None or column is None or end_column is None:
        return None
    text = linecache.getline(code.co_filename, line, frame.f_globals).rstrip("\n")
    end = end_column if end_line == line else len(text)
    return Span(code.co_filename, line, column, end, text, code.co_qualname) if text else None


def source_lines(frame: types.FrameType) -> tuple[str, ...]:
    """The text of the file that a frame's code stands in."""
    code = frame.f_code
    linecache.checkcache(code.co_filename)
    # what exec() runs has the file name under which newer Pythons keep the text of `python -c`
    named = () if code.co_filename == "<string>" else tuple(linecache.getlines(code.co_filename, frame.f_globals))
    if code.co_filename == NOWHERE and (file := file_of_module(code, frame.f_globals)):
        named = tuple(linecache.getlines(file))
    lines = named or _command(code) or _timed_cell(code, frame.f_globals.get("In"))
    if not lines:
        raise LoweringError(
            "the source of the tape's block cannot be found",
            reason=f"no text is known for {code.co_filename!r}",
            hint="run it from a file or a notebook cell",
        )
    if is_edited(code, frame.f_globals, lines):
        raise LoweringError(
            "the source of the tape's block cannot be found",
            reason=f"{code.co_filename} was edited after it was imported",
            hint="import the module anew",
        )
    return lines


def _command(code: types.CodeType) -> tuple[str, ...]:
    """The text of `python -c text`."""
    arguments = sys.orig_argv
    if code.co_filename != "<string>" or "-c" not in arguments[:-1]:
        return ()
    text = arguments[arguments.index("-c") + 1]
    try:
        whole = compile(text, "<string>", "exec", dont_inherit=True)
    except SyntaxError:
        return ()
    # code given to exec() has the same file name, but is not part of this text
    return tuple(text.splitlines(keepends=True)) if _holds(whole, code) else ()


def _timed_cell(code: types.CodeType, cells: Any) -> tuple[str, ...]:
    """The text of a notebook's cell under `%%time`, which runs its syntax tree; `cells` are those that have run."""
    if code.co_filename != "<timed exec>" or not isinstance(cells, list):
        return ()
    try:
        # get_ipython().run_cell_magic("time", "", text)
        call: Any = ast.parse(cells[-1]).body[0]
        text = ast.literal_eval(call.value.args[2])
        body = ast.parse(text).body
    except (SyntaxError, ValueError, AttributeError, IndexError):
        return ()
    # an expression at the end is run apart
    for stmts in (body, body[:-1]):
        if _holds(compile(ast.Module(stmts, []), code.co_filename, "exec", dont_inherit=True), code):
            return tuple(text.splitlines(keepends=True))
    return ()


def _holds(whole: types.CodeType, code: types.CodeType) -> bool:
    """Whether code is a part of other code."""
    pending = [whole]
    while pending:
        one = pending.pop()
        if one == code:
            return True
        pending += [const for const in one.co_consts if isinstance(const, types.CodeType)]
    return False


@lru_cache(maxsize=256)
def _find(code: types.CodeType, offset: int, lines: tuple[str, ...]) -> Place:
    try:
        tree = parse_lines(lines, code.co_filename)
    except SourceUnavailable as error:
        raise LoweringError(error.message, None, error.reason, error.hint) from None
    if not _unchanged(tree, code):
        raise LoweringError(
            "the source of the tape's block has changed since it was imported", hint="import the module anew"
        )
    positions = list(code.co_positions())
    where = positions[offset // 2]
    for node in ast.walk(tree):
        if not isinstance(node, ast.With):
            continue
        for position, item in enumerate(node.items):
            if span(item.context_expr) == where:
                return Place(_source(node, code, lines), position)
        if span(node) == where:
            entered = [
                one.offset
                for one in dis.get_instructions(code)
                if one.opname in _ENTERING and positions[one.offset // 2] == where and one.offset <= offset
            ]
            return Place(_source(node, code, lines), max(len(entered) - 1, 0))
    return _call(tree, where, code, lines)


def _call(tree: ast.Module, where: Any, code: types.CodeType, lines: tuple[str, ...]) -> Place:
    """The statement that enters a tape by a call."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or span(node) != where or not isinstance(node.func, ast.Attribute):
            continue
        stmt, method = parents[node], node.func.attr
        if isinstance(stmt, ast.Expr | ast.Assign) and method in ("__enter__", "enter_context"):
            by_hand = method == "__enter__"
            outer = {*code.co_cellvars, *code.co_freevars}
            rest = tuple(with_own_names(gast.ast_to_gast(one), outer) for one in _following(stmt, parents, by_hand))
            return Place(_source(stmt, code, lines), -1, rest, by_hand)
    raise LoweringError(
        "this tape was not entered by a statement whose source is known",
        reason="its block is read from the source",
        hint="write `with tapec.GradientTape() as tape:`",
    )


def _following(stmt: Any, parents: dict[Any, Any], outwards: bool) -> list[Any]:
    """The statements that run after `stmt`, up to the end of the loop or function around it."""
    out: list[Any] = []
    while True:
        parent = parents.get(stmt)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and stmt in block:
                out += block[block.index(stmt) + 1 :]
                if isinstance(parent, ast.Try) and field == "body":
                    out += parent.orelse
                if isinstance(parent, ast.Try) and field != "finalbody":
                    out += parent.finalbody
        if not outwards or not isinstance(parent, ast.If | ast.With | ast.Try):
            return out
        stmt = parent


def _unchanged(tree: ast.Module, code: types.CodeType) -> bool:
    """Whether the function that holds the block still stands where its code says."""
    if code.co_name.startswith("<"):
        return True
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return True
    return False


def span(node: Any) -> tuple[Any, ...]:
    """Where a node stands, as code objects tell it."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _source(node: ast.stmt, code: types.CodeType, lines: tuple[str, ...]) -> FunctionSource:
    made = with_own_names(gast.ast_to_gast(node), {*code.co_cellvars, *code.co_freevars})
    return FunctionSource(made, code.co_filename, lines, code.co_qualname)


class _Ends(ast.NodeTransformer):
    """`break` and `continue` of a loop around the block end the block, as `return` does."""

    def visit_For(self, node: Any) -> Any:
        return node

    visit_While = visit_FunctionDef = visit_Lambda = visit_For

    def visit_Break(self, node: Any) -> Any:
        return gast.copy_location(gast.Return(None), node)

    visit_Continue = visit_Break


def body(place: Place) -> list[Any]:
    """The statements that a tape records, from its own entry on."""
    node = place.node
    if place.item < 0:
        return [_Ends().visit(stmt) for stmt in place.rest]
    later = node.items[place.item + 1 :]
    stmts = [gast.copy_location(gast.With(later, node.body, None), node)] if later else list(node.body)
    return [_Ends().visit(stmt) for stmt in stmts]


def bind_tape(ev: Any, place: Place, value: Any) -> None:
    """The name that the statement gives the tape."""
    if place.item < 0:
        for target in getattr(place.node, "targets", ()):
            bind(ev, target, value, place.node)
        return
    target = place.node.items[place.item].optional_vars
    if target is not None:
        bind(ev, target, value, place.node)


def returns_unnamed(stmts: list[Any]) -> bool:
    """Whether the block may return a value that no variable holds."""
    pending = list(stmts)
    while pending:
        node = pending.pop()
        if isinstance(node, gast.FunctionDef | gast.Lambda):
            continue
        if isinstance(node, gast.Return) and node.value is not None and not _named(node.value):
            return True
        pending.extend(gast.iter_child_nodes(node))
    return False


def _named(node: Any) -> bool:
    """Whether an expression makes no value of its own."""
    if isinstance(node, gast.Tuple | gast.List):
        return all(_named(elt) for elt in node.elts)
    return isinstance(node, gast.Name | gast.Constant)
