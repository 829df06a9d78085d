"""Values that are there already: what need not be computed again.

A scalar operation gives the same value whenever its operands do; a load does as long as no store
has touched memory that its array may share.  What a branch or a loop computed is forgotten after it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager

from tapec.syntax.core import Atom, Const, Expr, Name, Op
from tapec.syntax.types import Scalar, Type

# the comparison that says the same of two numbers, and the one that says the opposite
_SWAPPED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_OPPOSITE = {"==": "!=", "!=": "=="}
_UNSHARED = ("np.random", "tapec_runtime.", "print", "pop")


class Available:
    """Known values by operation and operands; memory has a version per class of arrays."""

    def __init__(self, types: dict[str, Type], classes: dict[str, str]) -> None:
        self.types = types
        self.classes = classes
        self._scopes: list[dict[Hashable, Atom]] = [{}]
        self._versions: dict[str, int] = {}
        self._last = 0

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is added inside is forgotten at the end."""
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()

    def changed(self, classes: Iterable[str]) -> None:
        """Stores may have touched these classes."""
        for cls in classes:
            self._last += 1
            self._versions[cls] = self._last

    def find(self, key: Hashable) -> Atom | None:
        """The name that holds the value of a key already."""
        if key is None:
            return None
        for scope in reversed(self._scopes):
            if key in scope:
                return scope[key]
        return None

    def put(self, key: Hashable, atom: Atom) -> None:
        """Let a name hold the value of a key from now on."""
        if key is not None:
            self._scopes[-1][key] = atom

    def add(self, value: Expr, atom: Atom) -> None:
        """Let a name hold a value from now on."""
        self.put(self.key(value), atom)

    def assume(self, test: Expr | None, holds: bool) -> None:
        """Note what a comparison came out as: the same one again need not be made."""
        if not isinstance(test, Op) or test.fn not in _SWAPPED:
            return
        turned = test.args[::-1]
        self.add(test, Const(holds))
        self.add(Op(_SWAPPED[test.fn], turned), Const(holds))
        if test.fn in _OPPOSITE:
            self.add(Op(_OPPOSITE[test.fn], test.args), Const(not holds))
            self.add(Op(_OPPOSITE[test.fn], turned), Const(not holds))

    def key(self, value: Expr) -> Hashable:
        """What is equal for operations that give the same value here and now; None where that is not known."""
        if not isinstance(value, Op):
            return None
        fn = value.fn
        parts: list[str | Const] = []
        names: list[str] = []
        scalars = True
        for arg in value.args:
            if type(arg) is Name:
                parts.append(arg.id)
                names.append(arg.id)
                scalars = scalars and type(self.types.get(arg.id)) is Scalar
            elif type(arg) is Const:
                parts.append(arg)
            else:
                return None
        if fn.startswith(_UNSHARED) or (not names and not (fn.startswith("cast.") and parts)):
            return None
        if fn == "load":
            array = names[0]
            if array not in self.classes:
                return None  # set on another way only: nothing is known of its memory
            return fn, *parts, self._versions.get(self.classes[array], 0)
        if fn != "dim" and not scalars:
            return None
        return fn, *parts
