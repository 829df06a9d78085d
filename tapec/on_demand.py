"""Modules that are imported when they are first needed: `import tapec` loads neither Numba nor the compiler.

Python holds a lock of each module while it is imported, and a process that is forked meanwhile keeps it for ever.  So
modules are imported under the compiler's lock, and forks wait for that: no child has half a module or half a
compilation.  Until Numba, whose lock that is, has been imported itself, forks wait for its import.
"""

from __future__ import annotations

import importlib

# has locks for forks as well: were it imported with Numba while a fork waits, it would release what it has not taken
import logging  # noqa: F401
import os
import threading
from typing import Any

# what calls of derivatives from Python need; they load the compiler when there is something to compile
CALLS = ("tapec.backend.dispatcher", "tapec.backend.carrier", "tapec.backend.residuals", "tapec.transforms.split")

_loaded: set[str] = set()
_first = threading.Lock()
_locking: Any = None


def load(*names: str) -> None:
    """Import modules, so that `import` statements find them."""
    for name in names:
        if name not in _loaded:
            with _compiler_lock():
                importlib.import_module(name)
                _loaded.add(name)


def _compiler_lock() -> Any:
    global _locking
    if _locking is None:
        with _first:
            _locking = importlib.import_module("tapec_runtime.locking")
    return _locking.compiler_lock


def _before_fork() -> None:
    _first.acquire()
    if _locking is not None:
        _locking.hold_all()


def _after_fork() -> None:
    if _locking is not None:
        _locking.release_all()
    _first.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
