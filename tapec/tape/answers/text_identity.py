"""Which value a call means by its text, where the object alone stands for several values.

Python shares floats: after `a = b = 2.0`, or where a literal stands twice, two variables are one
object.  `tape.gradient(y, a)`, in the function of the tape's block and behind it, still says which
one is meant, as long as nothing in between can have given the name another value.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tapec.errors import LoweringError, SourceUnavailable
from tapec.frontend.evaluator.values import Dct, Items, Lst, Sym, Tup
from tapec.frontend.source.function_source import parse_lines
from tapec.syntax.core import Atom
from tapec.tape.block.with_statement import source_lines, span
from tapec.tape.plan.tape_plan import TapePlan

if TYPE_CHECKING:
    from tapec.tape.answers.recording import Recording

_QUESTIONS = ("gradient", "jacobian", "batch_jacobian")
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


def told_by_text(recording: Recording, frame: Any, asked: Any, objects: list[Any], position: int) -> list[Any]:
    """`objects`, the numbers of an argument, where doubtful ones are replaced by numbers of one value.

    asked     the argument as it was given
    position  which argument of the call it is: 0 for the target, 1 for the sources
    """
    names, plan = recording.names, recording.plan
    whole = plan is recording.entered and not recording.mapping
    if not whole or frame.f_code is not recording.code or all(id(obj) not in names.doubtful for obj in objects):
        return objects
    call = _call(frame, plan.lines)
    if call is None:
        return objects
    found, between = call
    argument = _argument(found, position)
    if argument is None:
        return objects
    said = _ValuesByText(plan, between)
    texts = list(said.values(argument, asked))
    return [_value_by_text(recording, obj, atom) for obj, atom in zip(objects, texts, strict=True)]


def _value_by_text(recording: Recording, obj: Any, atom: Atom | None) -> Any:
    names = recording.names
    if id(obj) not in names.doubtful or atom is None or not isinstance(obj, float):
        return obj
    # a number of its own
    fresh = float.fromhex(obj.hex())
    names.of[id(fresh)] = atom
    names.held[id(fresh)] = fresh
    return fresh


class _ValuesByText:
    """The values that expressions stand for at the end of a block, by their text.

    bound   names that may have another value when the call is evaluated
    quiet   whether nothing between block and call can change an object
    """

    def __init__(self, plan: TapePlan, between: tuple[ast.stmt, ...]) -> None:
        self.plan = plan
        self.bound = {name for stmt in between for name in _bound(stmt)}
        self.quiet = all(_is_quiet(stmt) for stmt in between)

    def values(self, text: ast.expr, obj: Any) -> Iterator[Atom | None]:
        """The name of each number of `obj`, in order; None where the text does not tell."""
        if isinstance(text, ast.List | ast.Tuple) and not any(isinstance(e, ast.Starred) for e in text.elts):
            for inner, item in zip(text.elts, obj, strict=True):
                yield from self.values(inner, item)
        elif isinstance(text, ast.Dict) and None not in text.keys and len(text.keys) == len(obj):
            for inner, item in zip(text.values, obj.values(), strict=True):
                yield from self.values(inner, item)
        else:
            yield from self.numbers(self.value(text), obj)

    def numbers(self, value: Any, obj: Any) -> Iterator[Atom | None]:
        heap = self.plan.heap
        if isinstance(obj, list | tuple):
            items: Any = (None,) * len(obj)
            contents = heap.get(value) if isinstance(value, Lst) else None
            if self.quiet and isinstance(contents, Items) and len(contents.values) == len(obj):
                items = contents.values
            elif isinstance(value, Tup) and len(value.items) == len(obj):
                items = value.items
            for one, item in zip(items, obj, strict=True):
                yield from self.numbers(one, item)
        elif isinstance(obj, dict):
            for key, item in obj.items():
                cell = value.cells.get(key) if self.quiet and isinstance(value, Dct) else None
                contents = heap.get(cell) if cell is not None else None
                yield from self.numbers(contents.values[0] if isinstance(contents, Items) else None, item)
        else:
            yield value.atom if isinstance(value, Sym) else None

    def value(self, text: ast.expr) -> Any:
        """What a name, attribute or item holds; None if that is not known."""
        if isinstance(text, ast.Name):
            if text.id in self.bound:
                return None
            return self.plan.final.get(text.id) or self.plan.entry.get(text.id)
        if isinstance(text, ast.Subscript) and isinstance(text.slice, ast.Constant) and self.quiet:
            owner, key = self.value(text.value), text.slice.value
            if isinstance(owner, Dct) and key in owner.cells:
                owner, key = owner.cells[key], 0
            contents = self.plan.heap.get(owner) if isinstance(owner, Lst) else None
            items = contents.values if isinstance(contents, Items) else getattr(owner, "items", ())
            return items[key] if isinstance(key, int) and -len(items) <= key < len(items) else None
        if isinstance(text, ast.Attribute) and isinstance(text.value, ast.Name) and self.quiet:
            path = f"{text.value.id}.{text.attr}"
            return None if text.value.id in self.bound | self.plan.final.keys() else self.plan.entry.get(path)
        return None


def _argument(call: ast.Call, position: int) -> ast.expr | None:
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    if position < len(call.args):
        return call.args[position]
    names = ("target",) if position == 0 else ("sources", "source")
    return next((keyword.value for keyword in call.keywords if keyword.arg in names), None)


def _call(frame: types.FrameType, lines: range) -> tuple[ast.Call, tuple[ast.stmt, ...]] | None:
    """The call that a frame is in, and the statements from the block that stands in `lines` to it."""
    try:
        return _find(frame.f_code, frame.f_lasti, source_lines(frame), lines)
    except (LoweringError, SourceUnavailable):
        return None


@lru_cache(maxsize=256)
def _find(
    code: types.CodeType, offset: int, text: tuple[str, ...], lines: range
) -> tuple[ast.Call, tuple[ast.stmt, ...]] | None:
    tree = parse_lines(text, code.co_filename)
    where = list(code.co_positions())[offset // 2]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and span(node) == where]
    if len(calls) != 1 or not isinstance(calls[0].func, ast.Attribute) or calls[0].func.attr not in _QUESTIONS:
        return None
    [call] = calls
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if not isinstance(block, list):
                continue
            for place, stmt in enumerate(block):
                if isinstance(stmt, ast.With) and range(stmt.lineno, (stmt.end_lineno or 0) + 1) == lines:
                    return _between(code, call, stmt, block[place + 1 :], tree)
    return None


def _between(
    code: types.CodeType, call: ast.Call, block: ast.With, following: list[ast.stmt], tree: ast.Module
) -> tuple[ast.Call, tuple[ast.stmt, ...]] | None:
    """The statements from behind the block to the one that holds the call; None if it does not follow."""
    tapes = {item.optional_vars.id for item in block.items if isinstance(item.optional_vars, ast.Name)}
    assert isinstance(call.func, ast.Attribute)
    owner = call.func.value
    last = next((k for k, stmt in enumerate(following) if any(one is call for one in ast.walk(stmt))), None)
    if last is None or not isinstance(owner, ast.Name) or owner.id not in tapes:
        return None
    between = tuple(following[:last])
    final = following[last]
    if isinstance(final, _SIMPLE):
        # it binds what it binds when the call has been made
        final = ast.copy_location(ast.Expr(final.value), final) if final.value is not None else final
    between = (*between, final)
    if any(owner.id in _bound(stmt) for stmt in between):
        return None
    # other functions may bind these at any time
    return call, (*between, ast.Global(sorted(_shared(code, block, tree))))


def _shared(code: types.CodeType, block: ast.With, tree: ast.Module) -> set[str]:
    """The names of a block's function that other functions declare their own."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(one is block for one in ast.walk(node))
    ]
    # the innermost function comes last
    own = _declared(around[-1], ast.Nonlocal) if around else set()
    outer = _declared(tree, ast.Nonlocal) & {*code.co_freevars}
    module = _declared(tree, ast.Global)
    return own | outer | module - {*code.co_varnames, *code.co_cellvars, *code.co_freevars}


def _declared(tree: ast.AST, kind: type[ast.Global] | type[ast.Nonlocal]) -> set[str]:
    return {name for node in ast.walk(tree) if isinstance(node, kind) for name in node.names}


def _bound(stmt: ast.stmt) -> Iterator[str]:
    """The names that a statement may bind, those of functions inside it included."""
    for node in ast.walk(stmt):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names


def _is_quiet(stmt: ast.stmt) -> bool:
    """Whether a statement changes no object: it asks tapes and binds names."""
    for node in ast.walk(stmt):
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Attribute) and node.func.attr in _QUESTIONS):
            return False
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.AugAssign | ast.Await | ast.Yield | ast.YieldFrom | ast.With | ast.Delete):
            return False
    return True
