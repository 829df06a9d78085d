"""What a name says: which are the user's, and which the compiler made up.

A version of a name has a number after it: `mid_2` is `mid` again, unless the user wrote `mid_2`.
The adjoint of `mid_2` is `mid_2_bar`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from functools import lru_cache

from tapec.syntax.core import Function, walk
from tapec.syntax.renaming import OF_USERS, TEMPORARIES
from tapec.syntax.types import Type

_SUFFIX = re.compile(r"^(.+?)((?:_(?:bar|dot|seed|store|stack|kept|set|carried))+)$")
_VERSION = re.compile(r"^(.+?)_\d+$")
_ADJOINT = re.compile(r"_(?:bar|dot)(?:_parts|_\d+)*$")
_TANGENT = re.compile(r"_dot(?:_parts|_\d+)*$")
_EXTENT = re.compile(r"_n\d+$")
_WORD = re.compile(r"[^\W\d]\w*")


class Vocabulary:
    """The identifiers of the user's lines and parameters."""

    def __init__(self, function: Function) -> None:
        texts = {stmt.span.text for stmt in walk(function.body) if stmt.span is not None}
        self.words = set(function.params).union(*map(_words, texts))
        self._stems: dict[str, str] = {}
        self._params = frozenset(function.params)

    def split(self, name: str) -> tuple[str, str]:
        """A name as what it stands for and a suffix such as `_bar`, which may be empty."""
        plain = self._plain(name)
        found = _SUFFIX.match(plain) if plain not in self.words else None
        return (found.group(1), found.group(2)) if found else (name, "")

    def stem(self, name: str) -> str:
        """What versions of one variable have in common: `mid_bar` for `mid_2_bar_1`."""
        core, suffix = self.split(name)
        plain = self._plain(core)
        return OF_USERS.get(plain, plain) + suffix

    def is_users(self, name: str) -> bool:
        """Whether a name is a variable of the user's, or its adjoint."""
        core, _ = self.split(name)
        stem = self._plain(core)
        if stem in TEMPORARIES:
            return core in self._params
        return stem in self.words or stem in OF_USERS

    def tells_more(self, name: str, other: str) -> bool:
        """Whether a name says more of a value than another one of it: it is the user's, or not but a letter."""
        if is_adjoint(name) or self.is_users(other):
            return False
        return self.is_users(name) or (self.is_temporary(other) and not self.is_temporary(name))

    def is_temporary(self, name: str) -> bool:
        """Whether a name says nothing but that it is a temporary, or an extent."""
        plain = self._plain(name)
        return (plain in TEMPORARIES or _EXTENT.search(plain) is not None) and not self.is_users(name)

    def _plain(self, name: str) -> str:
        found = self._stems.get(name)
        if found is None:
            shorter = _VERSION.match(name) if name not in self.words else None
            found = self._stems[name] = name if shorter is None else self._plain(shorter.group(1))
        return found


@lru_cache(4096)
def _words(line: str) -> frozenset[str]:
    """The identifiers of a line of the user's: each pass reads the same lines."""
    return frozenset(_WORD.findall(line)).difference(keyword.kwlist)


@lru_cache(4096)
def is_adjoint(name: str) -> bool:
    """Whether a name is that of an adjoint or tangent, of a version of one, or of what threads add up of it."""
    return _ADJOINT.search(name) is not None


@lru_cache(4096)
def is_tangent(name: str) -> bool:
    """Whether a name is that of a tangent, of a version of one, or of what threads add up of it."""
    return _TANGENT.search(name) is not None


class Fresh:
    """Names that nothing has yet; `types` is a copy that grows with them."""

    def __init__(self, types: dict[str, Type]) -> None:
        self.types = dict(types)
        # the last number that a base was given: a large program asks for thousands of one base
        self._last: dict[str, int] = {}

    def __call__(self, base: str, type_: Type) -> str:
        name, count = base, self._last.get(base, 0)
        while name in self.types:
            count += 1
            name = f"{base}_{count}"
        self._last[base] = count
        self.types[name] = type_
        return name

    def anew(self, names: Iterable[str]) -> dict[str, str]:
        """A new name for each of some names, of the same type."""
        return {name: self(name, self.types[name]) for name in names}
