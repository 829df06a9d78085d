"""Find the function that `FILE.py:FUNCTION` or `package.module:FUNCTION` names."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tapec.errors import UsageError


def load(target: str, root: Path = Path()) -> Callable[..., Any]:
    """The function that `FILE.py:FUNCTION` or `package.module:FUNCTION` names; UsageError if there is none.

    A file is looked for from the folder `root`, a module where Python looks, and in the working folder.
    """
    place, colon, name = target.rpartition(":")
    if not (place and colon and name):
        raise UsageError(f"{target!r} names no function: write FILE.py:FUNCTION or package.module:FUNCTION")
    module = load_file(root / place) if place.endswith(".py") else load_module(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{place} has no {name!r}{closest(part, found)}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{target} is {type(found).__name__!r}, not a function")
    return found


def closest(name: str, owner: Any) -> str:
    """A hint at the public name nearest to a misspelt one; empty if none is near."""
    import difflib

    near = difflib.get_close_matches(name, [known for known in dir(owner) if not known.startswith("__")], n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def load_module(name: str) -> ModuleType:
    """Import a module by its dotted name, from the working folder too."""
    # a console script does not have the working folder on the path
    if "" not in sys.path:
        sys.path.insert(0, "")
    if not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{name!r} is neither a .py file nor the name of a module")
    return execute(name, lambda: importlib.import_module(name))


def load_file(path: Path) -> ModuleType:
    """Run a file as a module; one that belongs to a package is imported as part of it."""
    if not path.is_file():
        raise UsageError(f"no such file: {path}")
    path = path.resolve()
    root, name = path.parent, path.stem
    while (root / "__init__.py").is_file():
        root, name = root.parent, f"{root.name}.{name}"
    # helpers beside the file are found as when the file is run
    sys.path.insert(0, str(root))
    if "." in name:
        return execute(str(path), lambda: importlib.import_module(name))

    def run() -> ModuleType:
        # a file called like a module in use must not take that module's place
        spec = importlib.util.spec_from_file_location(name if name not in sys.modules else f"{name}_", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    return execute(str(path), run)


def execute(name: str, action: Callable[[], ModuleType]) -> ModuleType:
    """Run the user's module; what it raises becomes one message.

    What it prints goes to stderr: stdout is for what a command was asked for.
    """
    try:
        with _printing_to_stderr():
            return action()
    except (Exception, SystemExit) as error:
        raise UsageError(f"cannot import {name}: {type(error).__name__}: {error}") from error


@contextlib.contextmanager
def _printing_to_stderr() -> Iterator[None]:
    """A while in which Python, and the programs and libraries that it starts, write to stderr."""
    sys.stdout.flush()
    _flush()
    with contextlib.redirect_stdout(sys.stderr):
        stdout = stdout_to_stderr()
        if stdout is None:
            yield
            return
        try:
            yield
        finally:
            _flush()
            os.dup2(stdout, 1)
            os.close(stdout)


def stdout_to_stderr() -> int | None:
    """Have the process's stdout be its stderr; returns a descriptor of what it was, None if one of them is closed."""
    try:
        stdout = os.dup(1)
        os.dup2(2, 1)
    except OSError:
        return None
    return stdout


def _flush() -> None:
    """Write what Python's and C's buffers of stdout hold."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or there is none
        sys.__stdout__.flush()  # type: ignore[union-attr]
    with contextlib.suppress(OSError, TypeError, AttributeError):  # not on every system
        ctypes.CDLL(None).fflush(None)
