"""Machine code on disk that is found by the text of generated functions.

A derivative is found by what it was asked for, before it is generated (`cache.py`).  A tape's programs are generated
in each process, from objects that only that process has.  Their text, what the text reads, and the types of the
arguments say what they are.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba.core import sigutils
from numba.core import types as nt
from numba.core.caching import NullCache

from tapec.backend import cache
from tapec.backend.fingerprint import Uncacheable, Walk
from tapec.backend.program import Program

# symbols of machine code are named after the program, so a process must not load them twice
_functions: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def function_of(program: Program, made: Callable[[str, str], Any]) -> Any:
    """A Numba dispatcher that looks for its code on disk.

    made  makes a dispatcher for the name of its module and the file of its text; both are empty without a cache
    """
    folder = cache.open_folder() if program.options.cache else None
    digest = _digest(program) if folder is not None else None
    if folder is None or digest is None:
        return made("", "")
    found = _functions.get(digest)
    if found is not None:
        return found
    source = folder / f"{cache.file_name(program.name)}-{digest}.py"
    if not cache.has_source(source, program.text) and not cache.write_source(source, program.text):
        return made("", "")
    function = made(f"tapec_generated_{digest}", str(source))
    function._cache = _Codes(source, program.text)
    _functions[digest] = function
    return function


class _Codes(NullCache):  # type: ignore[misc, unused-ignore]
    """What a dispatcher asks for code before it compiles, and gives what it has compiled."""

    def __init__(self, source: Path, text: str) -> None:
        self._source = source
        self._text = text

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        types, path = self._place(sig)
        found = cache.read(self._source, path) if path is not None else None
        return cache.rebuilt(found[1], types) if found is not None and found[0] == self._text else None

    def save_overload(self, sig: Any, data: Any) -> None:
        _, path = self._place(sig)
        if path is not None:
            cache.write_code(path, self._text, data)

    def _place(self, sig: Any) -> tuple[tuple[Any, ...], Path | None]:
        """The types of a signature, and where code for them is; None if other types may have the same text."""
        types, _ = sigutils.normalize_signature(sig)
        if not all(map(_plain, types)):
            return types, None
        digest = hashlib.sha256(repr((self._source.name, [str(one) for one in types])).encode()).hexdigest()[:32]
        return types, self._source.with_name(f"{self._source.name.partition('-')[0]}-{digest}.bin")


def _digest(program: Program) -> str | None:
    """What tells a program from all others, whatever process makes it; None for one that reads other objects."""
    walk = Walk(lambda position, owner: ())
    walk.feed(program.name, program.text, program.options)
    try:
        for name, value in sorted(program.bindings.items()):
            if not isinstance(value, np.ndarray | np.generic | bool | int | float | complex | str):
                return None
            walk.feed(name)
            walk.value(value)
    except Uncacheable:
        return None
    return walk.digest()


def _plain(kind: Any) -> bool:
    """Whether a type is told by its text: numbers, arrays of numbers, and tuples of those."""
    if isinstance(kind, nt.UniTuple | nt.Tuple):
        return all(_plain(one) for one in getattr(kind, "types", ()))
    element = kind.dtype if isinstance(kind, nt.Array) else kind
    return isinstance(element, nt.Number | nt.Boolean) and not isinstance(element, nt.Literal)
