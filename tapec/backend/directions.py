"""What a derivative takes beside the function's arguments: tangents, a cotangent, the vector of a product.

Each comes as one parameter in the structure of what it belongs to.  Numbers and arrays of another dtype or memory
layout are converted, since the program counts on those of what they belong to; arrays are copied where the function
writes into its arguments, which they may share memory with.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tapec.backend.boundary import Boundary, taken_apart
from tapec.backend.pairs import Pair
from tapec.errors import UsageError
from tapec.frontend.evaluator.values import Complex, Static, Tup
from tapec.syntax.types import Array, Scalar


@dataclass(frozen=True)
class Direction:
    """One parameter that follows those of the function.

    label  what it is called where it is no single name of core
    what   what messages call it
    tree   names of core in its structure; None for what has no derivative
    like   the structure of core types that it has to have
    given  the structure of those that a call gives; None for the same
    """

    label: str
    what: str
    tree: Any
    like: Any
    given: Any = None


def with_directions(structure: Boundary, directions: Iterable[Direction], copied: bool) -> Boundary:
    """The boundary of a function that takes directions, too; `copied`: they may share memory with what is written.

    raises  UsageError  for one of another structure, or a complex one where a real one is needed
    """
    made = copy.copy(structure)
    made.labels, made.unpack = list(structure.labels), list(structure.unpack)
    directions = tuple(directions)
    taken = {*made.labels, *(name for one in directions for name in _names(one.tree))}
    for one in directions:
        conversions = _Conversions(one.what, copied, taken)
        tree = conversions.tree(one.tree, one.like, one.like if one.given is None else one.given)
        if isinstance(tree, str):
            made.labels.append(tree)
        elif isinstance(tree, Pair):
            made.labels.append(tree.whole)
            made.unpack += tree.taken_apart(tree.whole)
        else:
            made.labels.append(free(one.label, taken))
            made.unpack += taken_apart(tree, made.labels[-1])
        made.unpack += conversions.statements
    return made


def with_directions_first(one: Direction) -> Direction:
    """The parameter for several directions at once: each of its arrays has a first axis for them."""
    return replace(one, like=_with_axis(one.like))


def _with_axis(like: Any) -> Any:
    if isinstance(like, Tup):
        return Tup(tuple(map(_with_axis, like.items)), like.cls)
    if isinstance(like, Scalar | Array):
        return Array(like.dtype, like.ndim + 1 if isinstance(like, Array) else 1, "A")
    return like


def free(label: str, taken: set[str]) -> str:
    """A name like `label` that is not taken; it is from now on."""
    while label in taken:
        label += "_"
    taken.add(label)
    return label


def trees(result: Any, seeds: Iterator[str], types: dict[str, Any]) -> tuple[Any, Any]:
    """The tree of a result's adjoints, whose names are the next of `seeds`, and its structure of core types."""
    if result is None:
        return None, Static(None)
    if result[0] == "complex":
        pair = Pair(next(seeds), next(seeds))
        part = types[pair.re]
        return pair, Complex(part, part)
    if result[0] in ("tuple", "list"):
        items = [trees(item, seeds, types) for item in result[2]]
        return tuple(tree for tree, _ in items), Tup(tuple(like for _, like in items), result[1])
    if not result[1].is_float:
        return None, result[1]
    return next(seeds), result[1]


def _names(tree: Any) -> Iterator[str]:
    match tree:
        case str():
            yield tree
        case Pair():
            yield from (tree.re, tree.im, tree.whole)
        case tuple():
            for item in tree:
                yield from _names(item)


class _Conversions:
    """The statements that make what is needed of what is given for one direction."""

    def __init__(self, what: str, copied: bool, taken: set[str]) -> None:
        self.what, self.copied, self.taken = what, copied, taken
        self.statements: list[str] = []

    def tree(self, tree: Any, like: Any, given: Any) -> Any:
        """The tree of what is given."""
        if tree is None:
            return None
        if isinstance(tree, tuple):
            if not isinstance(given, Tup) or len(given.items) != len(tree):
                raise UsageError(f"{self.what} is {_shown(given)}, which is not a tuple of {len(tree)} items")
            ours = (self.in_order(items, like, given) for items in (tree, like.items))
            return tuple(self.tree(*part) for part in zip(*ours, given.items, strict=True))
        if isinstance(given, Complex) and not isinstance(like, Complex):
            raise UsageError(f"{self.what} is complex, and what it belongs to is real")
        if _rank(given) is None or _rank(given) != _rank(like):
            raise UsageError(f"{self.what} is {_shown(given)}, where {_shown(like)} is needed")
        whole = tree.whole if isinstance(tree, Pair) else tree
        text = _conversion(f"{whole}_given", like, given, self.copied)
        if text == f"{whole}_given":
            return tree
        label = free(f"{whole}_given", self.taken)
        self.statements.append(f"{whole} = {_conversion(label, like, given, self.copied)}")
        if isinstance(tree, Pair):
            self.statements += tree.taken_apart(whole)
        return label

    def in_order(self, items: tuple[Any, ...], like: Tup, given: Tup) -> tuple[Any, ...]:
        """Items of a dict in the order of those that are given; others as they are."""
        ours, theirs = (getattr(one.cls, "mapping_keys", None) for one in (like, given))
        if ours == theirs:
            return items
        if ours is None or theirs is None or set(ours) != set(theirs):
            raise UsageError(f"{self.what} has other keys than what it belongs to")
        return tuple(items[ours.index(key)] for key in theirs)


def _conversion(label: str, like: Any, given: Any, copied: bool) -> str:
    """The text of a number or array in the dtype and layout of `like`; the label itself where nothing is to be done."""
    ours, theirs = (one.type if isinstance(one, Complex) else one for one in (like, given))
    if isinstance(ours, Scalar):
        same = ours.dtype == theirs.dtype and isinstance(like, Complex) == isinstance(given, Complex)
        return label if same else f"{_NUMBERS[ours.dtype]}({label})"
    text, layout = label, theirs.layout
    if ours.dtype != theirs.dtype:
        text = f"{label}.astype(np.{ours.dtype})"
    elif copied:
        text = f"{label}.copy()"
        # NumPy copies by rows, Numba keeps columns.
        layout = "A" if layout == "F" else "C"
    if ours.layout in ("A", layout):
        return text
    return f"np.as{'fortran' if ours.layout == 'F' else 'contiguous'}array({text})"


_NUMBERS = {
    "float64": "np.float64",
    "float32": "np.float32",
    "complex128": "complex",
    "complex64": "np.complex64",
}


def _rank(one: Any) -> int | None:
    """The rank of an array, 0 for a number, None for what is neither."""
    if isinstance(one, Complex):
        one = one.type
    if isinstance(one, Array):
        return one.ndim + 1
    return 0 if isinstance(one, Scalar) else None


def _shown(one: Any) -> str:
    if isinstance(one, Tup):
        return f"a tuple of {len(one.items)} items"
    if isinstance(one, Static):
        return "None" if one.obj is None else "a constant"
    return str(one.type if isinstance(one, Complex) else one)
