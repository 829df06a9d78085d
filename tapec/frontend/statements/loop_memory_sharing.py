"""Arrays that share memory in later iterations of a loop, though not in the first: `w = b[::-1]`, then `a, b = b, a`.

What an iteration's array may share is told from where the first iteration has it from.  If what an iteration ends with
meets memory that its array at the head did not meet, the two are marked, and the loop is lowered again with the marks.
Arrays that only change places with one another, the two buffers of a time step, meet nothing new and get none.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import Sym
from tapec.syntax.core import Name, changed, reads, walk, writes
from tapec.syntax.types import Array

Path = tuple[Any, ...]


class MemorySharing:
    """The marks that the attempts at one loop have come to: a root of its own for each pair that came to share."""

    def __init__(self) -> None:
        self.pairs: set[frozenset[Path | str]] = set()
        self.marks: dict[Path, frozenset[str]] = {}

    def begin(self, ev: Evaluator, path: Path, head: str) -> None:
        """Mark an array that iterations begin with."""
        if path in self.marks:
            ev.roots[head] = ev.roots.get(head, frozenset()) | self.marks[path]

    def holds(self, ev: Evaluator, heads: dict[Path, str], ends: list[dict[Path, Sym]], body: list[Any]) -> bool:
        """Whether arrays share at the end of no iteration what they do not share at its head, as far as marked.

        heads  the names that an iteration begins with
        ends   what each way to the next iteration ends with, under the same paths
        """
        arrays = {path: name for path, name in heads.items() if isinstance(ev.types[name], Array)}
        moved = [end for end in ends if any(_id(end.get(path)) not in (None, name) for path, name in arrays.items())]
        if not moved:
            return True
        before, known = self._others(ev, set(arrays.values()), body), len(self.pairs)
        for end in moved:
            leaves = {path: _id(end.get(path)) for path in arrays}
            after = {path: _roots(ev, leaf) for path, leaf in leaves.items() if leaf is not None}
            for first, second in combinations(after, 2):
                if after[first] & after[second] and not _roots(ev, arrays[first]) & _roots(ev, arrays[second]):
                    self._pair(ev, first, second)
            for path, roots in after.items():
                for other in before:
                    if roots & _roots(ev, other) and not _roots(ev, arrays[path]) & _roots(ev, other):
                        self._pair(ev, path, other)
        return len(self.pairs) == known

    def _others(self, ev: Evaluator, heads: set[str], body: list[Any]) -> list[str]:
        """The arrays that an iteration uses and the loop leaves what they are."""
        used: dict[str, None] = {}
        made: set[str] = set()
        for stmt in walk(freeze(body)):
            used.update(dict.fromkeys((*reads(stmt), *changed(stmt))))
            made.update(writes(stmt))
        return [name for name in used if name not in made | heads and isinstance(ev.types.get(name), Array)]

    def _pair(self, ev: Evaluator, path: Path, other: Path | str) -> None:
        pair = frozenset((path, other))
        if pair in self.pairs:
            return
        self.pairs.add(pair)
        # no array has this name: it stands for memory that the two have in common, whichever that is
        mark = frozenset({f"shared {path} {other}"})
        self.marks[path] = self.marks.get(path, frozenset()) | mark
        if isinstance(other, str):
            ev.roots[other] = _roots(ev, other) | mark
        else:
            self.marks[other] = self.marks.get(other, frozenset()) | mark


def _id(leaf: Sym | None) -> str | None:
    return leaf.atom.id if leaf is not None and isinstance(leaf.atom, Name) else None


def _roots(ev: Evaluator, array: str) -> frozenset[str]:
    return ev.roots.get(array, frozenset())
