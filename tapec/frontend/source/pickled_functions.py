"""Where functions are defined that are pickled by value.

`cloudpickle` has left the file out of such functions since 3.1.3: they come from `<dynamic-code>`, where no text is.
What is pickled along with them tells their files, and they get those back.  A text that is in no file, such as that of
a notebook's cell, is pickled as well.
"""

from __future__ import annotations

import functools
import linecache
import os
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

NOWHERE = "<dynamic-code>"

# of functions: name, first line, file, and the text where no file has it
Files = tuple[tuple[str, int, str, str], ...]


def files_of(objects: Iterable[Any]) -> Files:
    """The files of functions among objects, and of those that they use, if they may be pickled by value."""
    # the functions of a cell share one text, which is pickled once
    text = functools.cache(_text)
    codes = [function.__code__ for function in _by_value(objects)]
    return tuple((one.co_qualname, one.co_firstlineno, one.co_filename, text(one.co_filename)) for one in codes)


def _text(file: str) -> str:
    return "" if os.path.exists(file) else "".join(linecache.getlines(file))


def give_back(objects: Iterable[Any], files: Files) -> None:
    """Functions among objects, and those that they use, have their files again, if they have lost them."""
    placed = functools.cache(_placed)
    known = {(name, line): (file, placed(file, text)) for name, line, file, text in files}
    for function in _by_value(objects):
        code = function.__code__
        file, here = known.get((code.co_qualname, code.co_firstlineno), ("", ""))
        if here != code.co_filename and code.co_filename in (NOWHERE, file):
            function.__code__ = defined_in(code, here)


def _placed(file: str, text: str) -> str:
    """The name under which a text is found here: that of its file, if nothing else has it."""
    while text and "".join(linecache.getlines(file)) != text:
        if file not in linecache.cache and not os.path.exists(file):
            linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        else:
            file += "'"
    return file


def _by_value(objects: Iterable[Any]) -> Iterator[types.FunctionType]:
    """The functions among objects, and those that they use, which are not found by their names in a module."""
    seen: set[types.FunctionType] = set()
    wanted = list(filter(None, map(_plain, objects)))
    while wanted:
        function = wanted.pop()
        if function in seen or (function.__module__ != "__main__" and _named(function)):
            continue
        seen.add(function)
        yield function
        wanted += _used(function)


def _plain(value: Any) -> types.FunctionType | None:
    """A function, or that of a Numba dispatcher."""
    function = getattr(value, "py_func", value)
    return function if isinstance(function, types.FunctionType) else None


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
            value = _plain(cell.cell_contents)
        except ValueError:
            # not set yet
            continue
        if value is not None:
            yield value
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += (one for one in code.co_consts if isinstance(one, types.CodeType))
        for name in code.co_names:
            if (value := _plain(function.__globals__.get(name))) is not None:
                yield value


def defined_in(code: types.CodeType, file: str) -> types.CodeType:
    """Code, and that of the functions which it defines, as if from a file."""
    inner = (defined_in(one, file) if isinstance(one, types.CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(inner))
