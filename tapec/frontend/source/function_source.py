"""The source of a Python function: its tree, and spans into the user's file."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import linecache
import operator
import os
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from typing import Any

import gast

from tapec.errors import SourceUnavailable, Span
from tapec.frontend.source.comprehension_names import with_own_names
from tapec.frontend.source.functions_on_one_line import AnyFunction, told_apart
from tapec.frontend.source.pickled_functions import NOWHERE, defined_in
from tapec.frontend.source.private_names import with_classes

_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_OF_PYTHON = (_OWN, os.path.dirname(os.path.abspath(os.__file__)) + os.sep)


@dataclass(frozen=True)
class FunctionSource:
    """The tree of one function and where it stands.

    node     a gast FunctionDef or Lambda
    file     path of the file, as tracebacks show it
    lines    the file's lines
    name     qualified name, for messages
    """

    node: gast.AST
    file: str
    lines: tuple[str, ...]
    name: str

    @functools.cached_property
    def is_of_python(self) -> bool:
        """Whether it belongs to Python, NumPy, Numba or tapec: errors in it name the line that calls it."""
        return is_of_python(self.file)

    def span(self, node: Any, called_from: Span | None = None) -> Span:
        """The span of a node; for one over several lines, its first line."""
        line = getattr(node, "lineno", 1)
        text = self.lines[line - 1].rstrip("\n") if 0 < line <= len(self.lines) else ""
        # columns of the tree count UTF-8 bytes
        raw = text.encode()
        column = len(raw[: getattr(node, "col_offset", 0) or 0].decode(errors="replace"))
        same_line = getattr(node, "end_lineno", line) == line
        end_bytes = (getattr(node, "end_col_offset", None) or len(raw)) if same_line else len(raw)
        end = len(raw[:end_bytes].decode(errors="replace"))
        return Span(self.file, line, column, end, text, self.name, called_from=called_from)


@functools.cache
def _of_libraries() -> tuple[str, ...]:
    """The folders of NumPy and Numba, neither of which is imported for it."""
    found = (importlib.util.find_spec(name) for name in ("numpy", "numba"))
    return tuple(os.path.dirname(os.path.abspath(spec.origin)) + os.sep for spec in found if spec and spec.origin)


def is_of_python(file: str) -> bool:
    """Whether a file belongs to Python, NumPy, Numba or tapec."""
    if file.startswith(_of_libraries()):
        return True
    return file.startswith(_OF_PYTHON) and "site-packages" not in file.removeprefix(_OWN)


def undecorated(function: Any) -> types.FunctionType | None:
    """The function behind a Numba dispatcher, which carries what the decorator says.

    A function that wraps another one by `functools.wraps` is a function of its own.
    """
    if isinstance(function, types.FunctionType):
        return function
    inner = getattr(function, "py_func", None)
    ours = hasattr(type(function), "__tapec_key__") or hasattr(type(function), "__tapec_lower__")
    if not isinstance(inner, types.FunctionType) or ours:
        return inner if isinstance(inner, types.FunctionType) else None
    from tapec.frontend.source.numba_decorators import function_of

    return function_of(function)


# those of functions, with the code and the defaults that they had
_signatures: weakref.WeakKeyDictionary[types.FunctionType, tuple[tuple[Any, ...], inspect.Signature]]
_signatures = weakref.WeakKeyDictionary()


def own_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of the function itself, not of one that it wraps, nor what its `__signature__` says."""
    if not isinstance(function, types.FunctionType):
        return inspect.signature(function)
    state = function.__code__, function.__defaults__, *(function.__kwdefaults__ or {}).values()
    known = _signatures.get(function)
    if known is None or len(known[0]) != len(state) or not all(map(operator.is_, known[0], state)):
        plain = function
        # that of a closure that is a function of what it holds is ours (`tapec.captured`)
        if "__signature__" in function.__dict__ and "captured" not in function.__dict__:
            around = function.__globals__, function.__name__, function.__defaults__, function.__closure__
            plain = types.FunctionType(function.__code__, *around)
            plain.__kwdefaults__, plain.__annotations__ = function.__kwdefaults__, function.__annotations__
        known = _signatures[function] = state, inspect.signature(plain, follow_wrapped=False)
    return known[1]


def parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Those of `own_signature`."""
    return own_signature(function).parameters


def source_of(function: types.FunctionType) -> FunctionSource:
    """Find and parse the source of `function`; raises SourceUnavailable."""
    find_again(function)
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = tuple(linecache.getlines(code.co_filename, function.__globals__))
    if not lines:
        try:
            lines = tuple(inspect.findsource(code)[0])
        except (OSError, TypeError):
            return _decompiled(function)
    known = _known.get((code.co_filename, code))
    if known is not None and known.lines == lines:
        return known
    tree = parse_lines(lines, code.co_filename)
    found = [] if is_edited(code, function.__globals__, lines) else _find(tree, code)
    if len(found) > 1:
        found = told_apart(found, code, lines)
        if not found:
            raise SourceUnavailable(
                f"the source of `{function.__qualname__}` cannot be found",
                reason=f"line {code.co_firstlineno} has several functions, and nothing tells which one this is",
                hint="give each a line of its own",
            )
    if not found:
        if code.co_filename == "<string>":
            # the name of what exec() runs, under which newer Pythons keep the text of `python -c`
            return _decompiled(function)
        raise SourceUnavailable(
            f"the source of `{function.__qualname__}` cannot be found",
            reason=f"{code.co_filename} has no such function at line {code.co_firstlineno}; "
            "was the file edited after import?",
            hint="import the module anew",
        )
    made = with_own_names(with_classes(gast.ast_to_gast(found[0]), found[0], tree, code))
    found_source = FunctionSource(made, code.co_filename, lines, function.__qualname__)
    if len(_known) > _KEPT:
        _known.clear()
    _known[code.co_filename, code] = found_source
    return found_source


def _decompiled(function: types.FunctionType) -> FunctionSource:
    """The source of a function without text, if it can be read off its code; raises SourceUnavailable."""
    code = function.__code__
    known = _known.get(("", code))
    if known is None:
        # few programs need it
        from tapec.frontend.source.decompiled import text_of

        text = None if code.co_filename == NOWHERE else text_of(code)
        if text is None:
            raise _without_text(function)
        [definition] = ast.parse(text).body
        node = definition.value if isinstance(definition, ast.Expr) else definition
        lines = tuple(text.splitlines(True))
        known = FunctionSource(gast.ast_to_gast(node), code.co_filename, lines, function.__qualname__)
        _known["", code] = known
    return known


def find_again(function: types.FunctionType) -> None:
    """A function that was pickled by value has its file again, if its module's file is here and holds that function."""
    code = function.__code__
    if code.co_filename == NOWHERE and (file := file_of_module(code, function.__globals__)):
        function.__code__ = defined_in(code, file)


def file_of_module(code: types.CodeType, module: Mapping[str, Any]) -> str | None:
    """The file of a module, as its variables say, if its text compiles to some code."""
    file = module.get("__file__")
    if not isinstance(file, str):
        return None
    linecache.checkcache(file)
    lines = tuple(linecache.getlines(file))
    try:
        return file if lines and code in _codes(lines, file) else None
    except SyntaxError:
        return None


def _without_text(function: types.FunctionType) -> SourceUnavailable:
    return SourceUnavailable(
        f"the source of `{function.__qualname__}` cannot be found",
        reason=f"no text is known for {function.__code__.co_filename!r}",
        hint="pickle what was made of the function, which keeps its file, in place of the function"
        if function.__code__.co_filename == NOWHERE
        else "define the function in a file, a notebook cell or with linecache filled",
    )


def definition(function: types.FunctionType) -> Span:
    """Where a function is defined."""
    source = source_of(function)
    return source.span(source.node)


# a function's tree is one object: recursion is recognised by it
_known: dict[tuple[str, types.CodeType], FunctionSource] = {}
_KEPT = 4096


@functools.lru_cache(maxsize=64)
def parse_lines(lines: tuple[str, ...], file: str) -> ast.Module:
    try:
        return ast.parse("".join(lines), file)
    except SyntaxError as error:
        raise SourceUnavailable(f"{file} cannot be parsed", reason=str(error)) from None


def is_edited(code: types.CodeType, module: Mapping[str, Any], lines: tuple[str, ...]) -> bool:
    """Whether the text of a module's file, `lines`, is not what the module's code was compiled from.

    Of text that others than Python's own importer have compiled, nothing is known: they may change it before.
    """
    loader = module.get("__loader__")
    file = os.path.abspath(code.co_filename)
    if file.startswith(_OWN) or type(loader) is not SourceFileLoader or os.path.abspath(loader.path) != file:
        return False
    return code not in _codes(lines, code.co_filename)


@functools.lru_cache(maxsize=16)
def _codes(lines: tuple[str, ...], file: str) -> frozenset[types.CodeType]:
    """All code that text compiles to."""
    found = [compile("".join(lines), file, "exec", dont_inherit=True)]
    for one in found:
        found += [constant for constant in one.co_consts if isinstance(constant, types.CodeType)]
    return frozenset(found)


@functools.lru_cache(maxsize=64)
def _functions(tree: ast.Module) -> dict[str, list[AnyFunction]]:
    """The functions of a module by the names that their code has."""
    found: dict[str, list[AnyFunction]] = {}
    for node in ast.walk(tree):
        if isinstance(node, AnyFunction):
            name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            found.setdefault(name, []).append(node)
    return found


def _find(tree: ast.Module, code: types.CodeType) -> list[AnyFunction]:
    """The definitions that `code` may have been compiled from: same first line, name, and arguments."""
    wanted_arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    candidates: list[AnyFunction] = []
    for node in _functions(tree).get(code.co_name, ()):
        first = node.lineno
        if not isinstance(node, ast.Lambda):
            first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
        arguments = node.args
        names = tuple(argument.arg for argument in arguments.posonlyargs + arguments.args + arguments.kwonlyargs)
        if first == code.co_firstlineno and names == wanted_arguments:
            candidates.append(node)
    return candidates
