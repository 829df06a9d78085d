"""Where functions are defined that are pickled by value.

`cloudpickle` has left the file out of such functions since 3.1.3: they come from `<dynamic-code>`, where no text is.
What is pickled along with them tells their files, and they get those back.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

NOWHERE = "<dynamic-code>"

# of functions: name, first line and file
Files = tuple[tuple[str, int, str], ...]


def files_of(objects: Iterable[Any]) -> Files:
    """The files of functions among objects, and of those that they use, if they may be pickled by value."""
    codes = (function.__code__ for function in _by_value(objects))
    return tuple((code.co_qualname, code.co_firstlineno, code.co_filename) for code in codes)


def give_back(objects: Iterable[Any], files: Files) -> None:
    """Functions among objects, and those that they use, have their files again, if they have lost them."""
    known = {(name, line): file for name, line, file in files}
    for function in _by_value(objects):
        code = function.__code__
        if code.co_filename == NOWHERE and (code.co_qualname, code.co_firstlineno) in known:
            function.__code__ = defined_in(code, known[code.co_qualname, code.co_firstlineno])


def _by_value(objects: Iterable[Any]) -> Iterator[types.FunctionType]:
    """The functions among objects, and those that they use, which are not found by their names in a module."""
    seen: set[types.FunctionType] = set()
    wanted = [one for one in objects if isinstance(one, types.FunctionType)]
    while wanted:
        function = wanted.pop()
        if function in seen or (function.__module__ != "__main__" and _named(function)):
            continue
        seen.add(function)
        yield function
        wanted += _used(function)


def _named(function: types.FunctionType) -> bool:
    """Whether the name of a function leads to it."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is function


def _used(function: types.FunctionType) -> Iterator[types.FunctionType]:
    """The functions in a function's closure, and those that it reads by global names."""
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            # not set yet
            continue
        if isinstance(value, types.FunctionType):
            yield value
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += (one for one in code.co_consts if isinstance(one, types.CodeType))
        for name in code.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, types.FunctionType):
                yield value


def defined_in(code: types.CodeType, file: str) -> types.CodeType:
    """Code, and that of the functions which it defines, as if from a file."""
    inner = (defined_in(one, file) if isinstance(one, types.CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(inner))
