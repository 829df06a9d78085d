"""Core form from Python text, so that a test shows a pass before and after.

A name is a float64, unless it begins with one of these letters: i j k n (int64), c (bool),
a (a vector), a capital letter (a matrix), or ends in `_stack` (a list of numbers, or of matrices).
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from tapec.backend import printer
from tapec.errors import Span
from tapec.optimise.driver import Watcher, watched
from tapec.rules.formula import SIGNS, function_key
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Print,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    distinct,
    element_of,
    map_blocks,
    walk,
)
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array, Stack, Type


def read(text: str, words: str = "") -> Function:
    """The function in `text`; `words` are the identifiers that count as the user's."""
    (definition,) = ast.parse(textwrap.dedent(text)).body
    assert isinstance(definition, ast.FunctionDef)
    span = Span("user.py", 1, 0, 1, words, "f")
    types = {n.id: type_of(n.id) for n in ast.walk(definition) if isinstance(n, ast.Name)}
    params = tuple(arg.arg for arg in definition.args.args)
    types |= {param: type_of(param) for param in params}
    return Function(definition.name, params, _block(definition.body, span), types)


def type_of(name: str) -> Type:
    if name.endswith("_stack"):
        return Stack(Array("float64", 2) if name[0].isupper() else FLOAT64)
    if name[0].isupper():
        return Array("float64", 2)
    return {"a": Array("float64", 1), "c": BOOL, **dict.fromkeys("ijkn", INT64)}.get(name[0], FLOAT64)


def check(change: Callable[[Function], Function], before: str, after: str, words: str = "", again: bool = True) -> None:
    """A pass turns `before` into `after`, which it leaves alone, unless `again` is false."""
    changed = change(read(before, words))
    assert printer.function(changed, quote=False) == textwrap.dedent(after).lstrip()
    if again:
        changed = replace(changed, body=distinct(changed.body))
        assert printer.function(change(changed), quote=False) == textwrap.dedent(after).lstrip()


def loops_over_elements() -> AbstractContextManager[None]:
    """A while in which files at level 1 have loops in place of statements over whole arrays."""

    class Loops(Watcher):
        def skips(self, name: str) -> bool:
            return name == "array_statements"

    return watched(Loops())


def unchanged(change: Callable[[Function], Function], text: str, words: str = "") -> None:
    """A pass leaves a program as it is."""
    core = read(text, words)
    assert printer.function(change(core), quote=False) == printer.function(core, quote=False)


def opened(function: Function, **axes: tuple[int, ...]) -> Function:
    """A program whose accesses to elements of some arrays are marked: these axes are open."""

    def changed(stmt: Stmt) -> Stmt:
        array, _ = element_of(stmt) or ("", ())
        if array in axes and isinstance(stmt, Assign | Store) and stmt.span is not None:
            return replace(stmt, span=replace(stmt.span, open=axes[array]))
        return map_blocks(stmt, lambda block: tuple(map(changed, block)))

    return replace(function, body=tuple(map(changed, function.body)))


def open_axes(function: Function, array: str) -> list[tuple[int, ...]]:
    """The open axes of each access to elements of an array."""
    accesses = (stmt for stmt in walk(function.body) if (element_of(stmt) or ("",))[0] == array)
    return [stmt.span.open for stmt in accesses if stmt.span is not None]


def _block(body: list[ast.stmt], span: Span) -> Block:
    return tuple(new for stmt in body if (new := _stmt(stmt, span)) is not None)


def _stmt(stmt: ast.stmt, span: Span) -> Stmt | None:
    match stmt:
        case ast.Assign(targets=[ast.Name(id=target)], value=value):
            return Assign(target, _expr(value), span)
        case ast.AugAssign(target=ast.Name(id=target), op=op, value=value):
            return Assign(target, Op(SIGNS[type(op)], (Name(target), _expr(value))), span)
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=array), slice=index)], value=value):
            return Store(array, _index(index), _expr(value), False, span)  # type: ignore[arg-type]
        case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=array), slice=index), value=value):
            return Store(array, _index(index), _expr(value), True, span)  # type: ignore[arg-type]
        case ast.If(test=test, body=body, orelse=orelse):
            return If(_expr(test), _block(body, span), _block(orelse, span), span)  # type: ignore[arg-type]
        case ast.For(iter=ast.Call(func=ast.Attribute(attr="checkpointed"), args=[range_, slots])):
            loop = _stmt(ast.For(stmt.target, range_, stmt.body, []), span)
            return replace(loop, slots=_expr(slots))  # type: ignore[type-var, arg-type]
        case ast.For(target=ast.Name(id=var), iter=ast.Call(func=counted, args=args), body=body):
            threads = ast.unparse(counted) == "numba.prange"
            bounds = [_expr(arg) for arg in args]
            start, stop, step = {
                1: (Const(0), bounds[0], Const(1)),
                2: (*bounds, Const(1)),
                3: tuple(bounds),
            }[len(bounds)]
            return For(var, start, stop, step, _block(body, span), threads, span)  # type: ignore[arg-type]
        case ast.While(body=body):
            return Loop(_block(body, span), span)
        case ast.Break():
            return Break(span)
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name))):
            return Raise(name, (), span)
        case ast.Return(value=ast.Tuple(elts=values)):
            return Return(tuple(_expr(v) for v in values), span)  # type: ignore[arg-type]
        case ast.Return(value=ast.expr() as value):
            return Return((_expr(value),), span)  # type: ignore[arg-type]
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=args)):
            return Print(tuple(_expr(a) for a in args), span)  # type: ignore[arg-type]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=stack), attr="append"), args=[value])):
            return Push(stack, _expr(value), span)  # type: ignore[arg-type]
        case ast.Pass():
            return None
    raise ValueError(ast.unparse(stmt))


def _index(index: ast.expr) -> tuple[Expr, ...]:
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return tuple(_expr(item) for item in items)


def _expr(node: ast.expr) -> Expr:
    match node:
        case ast.Constant(value=value):
            return Const(value)  # type: ignore[arg-type]
        case ast.Name(id=ident):
            return Name(ident)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return Const(-value)
        case ast.UnaryOp(op=op, operand=operand):
            return Op(SIGNS[type(op)], (_expr(operand),))
        case ast.BinOp(left=left, op=op, right=right):
            return Op(SIGNS[type(op)], (_expr(left), _expr(right)))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return Op(SIGNS[type(op)], (_expr(left), _expr(right)))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return Op("ifelse", (_expr(test), _expr(body), _expr(orelse)))
        case ast.BoolOp(op=op, values=values):
            return Op("and" if isinstance(op, ast.And) else "or", tuple(map(_expr, values)))
        case ast.Attribute(value=array, attr="T"):
            return Op("transpose", (_expr(array),))
        case ast.Subscript(value=ast.Attribute(value=array, attr="shape"), slice=axis):
            return Op("dim", (_expr(array), _expr(axis)))
        case ast.Slice(lower=low, upper=high, step=step):
            return Op("slice", tuple(Const(None) if bound is None else _expr(bound) for bound in (low, high, step)))
        case ast.Subscript(value=array, slice=ast.Slice() as part):
            return Op("view", (_expr(array), _expr(part)))
        case ast.Subscript(value=array, slice=ast.Tuple(elts=parts)) if any(isinstance(p, ast.Slice) for p in parts):
            return Op("view", (_expr(array), *map(_expr, parts)))
        case ast.Subscript(value=ast.Name(id=matrix), slice=ast.Name() | ast.Constant() as row) if matrix[0].isupper():
            return Op("view", (Name(matrix), _expr(row)))
        case ast.Subscript(value=array, slice=index):
            return Op("load", (_expr(array), *_index(index)))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr="zeros" | "empty" as fn), args=args):
            (shape,) = args
            return Op(fn, (Const("float64"), *_index(shape)))
        case ast.Call(func=ast.Name(id="stack")):
            return Op("stack", (Const("float64"),))
        case ast.Call(func=ast.Attribute(value=array, attr="reshape"), args=[shape]):
            return Op("reshape", (_expr(array), *_index(shape)))
        case ast.Call(func=ast.Attribute(value=array, attr="copy"), args=[]):
            return Op("copy", (_expr(array),))
        case ast.Call(func=ast.Attribute(value=stack, attr="pop")):
            return Op("pop", (_expr(stack),))
        case ast.Call(func=func, args=args):
            return Op(function_key(ast.unparse(func)), tuple(map(_expr, args)))
    raise ValueError(ast.unparse(node))
