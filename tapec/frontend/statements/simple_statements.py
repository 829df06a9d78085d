"""Simple statements that assign nothing: expressions, assertions, exceptions, deletions, definitions, printing."""

from __future__ import annotations

from typing import Any

import gast

import tapec_runtime
from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Raised
from tapec.frontend.evaluator.unfinished_blocks import OpenIf
from tapec.frontend.evaluator.values import NONE, Dct, Lst, Static, Sym, Template, Value, describe, mapping
from tapec.frontend.expressions import names_and_literals
from tapec.frontend.operations import python_errors
from tapec.frontend.structures import dicts
from tapec.syntax.core import Const, Print, Raise


def expression(ev: Evaluator, node: gast.Expr) -> None:
    if not isinstance(node.value, gast.Constant):
        ev.expr(node.value)


def pass_(ev: Evaluator, node: Any) -> None:
    """Nothing to do."""


def assert_(ev: Evaluator, node: gast.Assert) -> None:
    test = ev.truth(ev.expr(node.test), node.test)
    message = ""
    if isinstance(node.msg, gast.Constant):
        message = str(node.msg.value)
    if test.constant is True:
        return
    failed = ev.decided(ev.op("not", test), node)
    if failed.constant is False:
        return
    if failed.constant is True and ev.deciding:
        raise Raised(AssertionError)
    stmt = Raise("AssertionError", (Const(message),), ev.span, users=not ev.frame.library)
    if failed.constant is True:
        ev.emit(stmt)
        ev.dead = True
        return
    ev.emit(OpenIf(failed.atom, [stmt], [], ev.span))


def raise_(ev: Evaluator, node: gast.Raise) -> None:
    exc = node.exc
    args: list[str] = []
    if isinstance(exc, gast.Call):
        for arg in exc.args:
            text = ""
            if isinstance(arg, gast.Constant):
                text = str(arg.value)
            elif isinstance(value := _text(ev, arg), Static):
                text = str(value.obj)
            args.append(text)
        exc = exc.func
    if exc is None and ev.frame.caught is not None:
        raise Raised(ev.frame.caught.cls, ev.frame.caught.value)
    if exc is None:
        ev.fail(UnsupportedSyntax, "a bare `raise` has nothing to raise again", node)
    cls = ev.expr(exc)
    if not isinstance(cls, Static) or not isinstance(cls.obj, type) or not issubclass(cls.obj, Exception):
        ev.fail(UnsupportedSyntax, "only classes of exceptions can be raised", node)
    if ev.deciding:
        raise Raised(cls.obj, args[0] if args else None)
    if cls.obj is tapec_runtime.Unsupported:
        # of the library: NumPy would go on
        line = "" if ev.span is None else ev.span.text.strip()
        ev.raise_("tapec_runtime.Unsupported", *args, line)
        ev.dead = True
        return
    if ev.trying and not ev.frame.library:
        args.append(python_errors.CAUGHT)
    name, own = ev.exception(cls.obj)
    ev.emit(Raise(name, tuple(Const(arg) for arg in args), ev.span, own, users=not ev.frame.library))
    ev.dead = True


def _text(ev: Evaluator, node: Any) -> Value:
    """A message: known text, or nothing where it depends on the run."""
    outer, ev.block = ev.block, []
    try:
        return ev.expr(node)
    finally:
        ev.block = outer


def function_def(ev: Evaluator, node: gast.FunctionDef) -> None:
    made: Value = names_and_literals.closure(ev, node)
    for decorator in reversed(node.decorator_list):
        made = ev.decorated(decorator, made, node)
    ev.frame.env[node.name] = made


def delete(ev: Evaluator, node: gast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, gast.Subscript):
            owner = ev.expr(target.value)
            if isinstance(owner, Dct):
                dicts.remove(ev, owner, dicts.key_of(ev, ev.expr(target.slice), node), node)
                continue
            if mapping(owner) is not None:
                message = "an item of a dict that is an argument is deleted"
                ev.fail(UnsupportedSyntax, message, node, hint="delete it from a copy: `dict(p)`")
            index = names_and_literals.index(ev, target.slice)
            if isinstance(owner, Lst) and isinstance(index, Sym):
                ev.method(owner, "pop", [index], {}, node)
                continue
        if not isinstance(target, gast.Name):
            ev.fail(UnsupportedSyntax, "only names and items of lists and dicts can be deleted", node)
        ev.frame.env.pop(target.id, None)


def print_(ev: Evaluator, args: list[Value], node: Any) -> Value:
    """`print` of numbers and known text."""
    shown: list[Any] = []
    for arg in args:
        if isinstance(arg, Static) and isinstance(arg.obj, Template):
            ev.fail(
                UnsupportedSyntax,
                "cannot print text that only the run knows",
                node,
                hint="separate them: print(\"x is\", x)",
            )
        if isinstance(arg, Static):
            shown.append(Const(str(arg.obj)))
        elif isinstance(arg, Sym):
            shown.append(arg.atom)
        else:
            ev.fail(UnsupportedSyntax, f"cannot print {describe(arg)}", node, hint="print its parts")
    ev.emit(Print(tuple(shown), ev.span))
    return NONE


HANDLERS: dict[type, Any] = {
    gast.Expr: expression,
    gast.Pass: pass_,
    gast.Assert: assert_,
    gast.Raise: raise_,
    gast.FunctionDef: function_def,
    gast.Delete: delete,
}
