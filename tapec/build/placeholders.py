"""Stand-ins for the modules that are being built.

A package's `__init__` imports from its extension module, and the function to differentiate is in
that package: it must be importable before the extension exists.  While a build loads functions,
such a module is an empty one whose members raise when they are called.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from tapec.errors import UsageError


@contextmanager
def placeholders(names: Sequence[str], paths: Sequence[str] = ()) -> Iterator[None]:
    """Let modules of these names be imported as stand-ins, and others from `paths`, too."""
    finder = _Finder(names)
    before = set(sys.modules)
    path = list(sys.path)
    sys.meta_path.insert(0, finder)
    sys.path[:0] = paths
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        sys.path[:] = path
        roots = {name.partition(".")[0] for name in names}
        for name in set(sys.modules) - before:
            # what imported a stand-in holds its members
            if name.partition(".")[0] in roots:
                del sys.modules[name]


class _Finder(MetaPathFinder, Loader):
    def __init__(self, names: Sequence[str]) -> None:
        self.names = frozenset(names)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self.names else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"

        def member(*args: Any, **kwargs: Any) -> NoReturn:
            raise UsageError(f"{full} is called while it is built", hint="do not call it where its package is imported")

        member.__name__ = member.__qualname__ = name
        member.__module__ = self.__name__
        return member
