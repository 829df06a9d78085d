"""How the arguments of the user's function map to core parameters, and results back."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.backend import printer
from tapec.backend.pairs import Pair, put_together
from tapec.errors import NotDifferentiable, UsageError
from tapec.frontend.evaluator.values import Complex, SameAs, Static, Tup
from tapec.frontend.source.function_source import definition
from tapec.syntax.core import Expr
from tapec.syntax.types import Array, Scalar


class Boundary:
    """The structure of one signature; `labels` and `unpack` begin the generated function."""

    def __init__(self, labels: tuple[str, ...], arguments: tuple[Any, ...], params: tuple[str, ...]) -> None:
        self.namespace: dict[str, Any] = {}
        self.unpack: list[str] = []
        # parts of complex arguments that are contiguous
        self.contiguous: frozenset[str] = frozenset()
        remaining = list(params)
        self.labels: list[str] = []
        self.trees: list[Any] = []
        for label, argument in zip(labels, arguments, strict=True):
            tree = self._tree(argument, remaining)
            self.trees.append((tree, argument))
            if isinstance(tree, str):
                self.labels.append(tree)
            else:
                while label in params or label in self.labels:
                    label += "_"
                self.labels.append(label)
                if isinstance(tree, tuple | Pair):
                    self.unpack += taken_apart(tree, label)

    def of_residuals(self, labels: list[str], unpack: list[str]) -> Boundary:
        """The boundary of a pullback, whose parameters are tuples of residuals; results stay as they are."""
        made = copy.copy(self)
        made.labels, made.unpack = labels, unpack
        return made

    def _tree(self, argument: Any, remaining: list[str]) -> Any:
        """Core parameter names in the argument's structure; None for what is static."""
        if isinstance(argument, Static | SameAs):
            return None
        if isinstance(argument, Tup):
            return tuple(self._tree(item, remaining) for item in argument.items)
        if isinstance(argument, Complex):
            pair = Pair(remaining.pop(0), remaining.pop(0))
            if argument.contiguous:
                self.contiguous |= {pair.re, pair.im}
            return pair
        return remaining.pop(0)

    def sources(self, positions: tuple[int, ...], function: types.FunctionType) -> tuple[str, ...]:
        """The core parameters to differentiate by; integers among them are an error."""
        found: list[str] = []
        for position in positions:
            if position >= len(self.trees):
                raise UsageError(f"`{function.__name__}` was called without argument {position}")
            tree, argument = self.trees[position]
            self._collect(tree, argument, found, function, self.labels[position])
        return tuple(dict.fromkeys(found))

    def _collect(self, tree: Any, argument: Any, found: list[str], function: Any, label: str, whole: str = "") -> None:
        if isinstance(tree, tuple):
            for k, (item, inner) in enumerate(zip(tree, argument.items, strict=True)):
                if hasattr(argument.cls, "has_places") and k and not inner.is_float:
                    continue  # where the arrays of a packed list begin, or elements of a sparse matrix are; extents
                self._collect(item, inner, found, function, label + _member(argument.cls, k), whole or label)
            return
        if isinstance(tree, Pair):
            found += (tree.re, tree.im)
            return
        if isinstance(argument, Scalar | Array) and argument.is_float:
            found.append(tree)
            return
        if isinstance(argument, SameAs):
            raise UsageError(
                f"`{label}` is the same array as another argument and is written: it has no gradient of its own",
                hint="differentiate by one of them, or pass a copy",
            )
        if whole and isinstance(argument, Static) and not isinstance(argument.obj, int | float | complex | str):
            return  # None or a function among what is differentiated: None stands there in the gradient
        kind = "a constant" if isinstance(argument, Static) else str(argument)
        raise NotDifferentiable(
            f"`{label}` is {kind}, which has no derivative",
            definition(function),
            reason="gradients are taken with respect to floats",
            hint=f"pass `{label}` as float64, or leave it out of wrt"
            if not whole
            else f"pass what is not differentiated beside `{whole}`, as an argument of its own",
        )

    def pairs(self) -> list[Pair]:
        """The complex arguments."""
        return [pair for tree, _ in self.trees for pair in _pairs(tree)]

    def shapes(self, given: tuple[Any, ...]) -> dict[str, tuple[int, ...]]:
        """The shapes of the arrays among arguments, by the parameters of core that they become."""
        found: dict[str, tuple[int, ...]] = {}
        for (tree, _), value in zip(self.trees, given, strict=True):
            _note_shapes(tree, value, found)
        return found

    def gradients(self, positions: tuple[int, ...], single: bool, bars: dict[str, Expr]) -> str:
        return self._by_source(positions, single, lambda name: printer.expression(bars[name]))

    def blocks(
        self,
        result: Any,
        positions: tuple[int, ...],
        single: bool,
        sources: tuple[str, ...],
        order: int,
        values: tuple[Expr, ...],
    ) -> str:
        """The text of derivatives of some order: in the structure of the results, each by the sources.

        The blocks of a complex result are those of its parts, put together.
        """
        if result[0] in ("tuple", "list"):
            return self.make(
                result[1], [self.blocks(one, positions, single, sources, order, values) for one in result[2]]
            )

        kinds = dict(found for tree, argument in self.trees for found in _kinds(tree, argument))

        def block(places: list[int], left: int, is_array: bool) -> str:
            if left == 0:
                texts = [printer.expression(values[place]) for place in places]
                return texts[0] if len(texts) == 1 else put_together(result[1].dtype, is_array, *texts)

            def by(name: str) -> str:
                inner = [place * len(sources) + sources.index(name) for place in places]
                return block(inner, left - 1, is_array or isinstance(kinds[name], Array))

            return self._by_source(positions, single, by)

        leaves = [part[0] for part in result[2]] if result[0] == "complex" else [result[0]]
        return block(leaves, order, isinstance(result[1], Array))

    def _by_source(self, positions: tuple[int, ...], single: bool, leaf: Callable[[str], str]) -> str:
        texts = [self._gradient(self.trees[p][0], self.trees[p][1], leaf) for p in positions]
        if single:
            return texts[0]
        return self.make(None, texts)

    def _gradient(self, tree: Any, argument: Any, leaf: Callable[[str], str]) -> str:
        if tree is None:
            return "None"
        if isinstance(tree, str):
            return leaf(tree)
        if isinstance(tree, Pair):
            return put_together(argument.type.dtype, argument.is_array, leaf(tree.re), leaf(tree.im))
        pairs = zip(tree, argument.items, strict=True)
        if hasattr(argument.cls, "has_places"):
            return self.make(argument.cls, [leaf(item) if inner.is_float else "None" for item, inner in pairs])
        return self.make(argument.cls, [self._gradient(item, inner, leaf) for item, inner in pairs])

    def make(self, cls: Any, items: list[str]) -> str:
        if cls is not None:
            # two classes may have one name
            name, count = cls.__name__, 0
            while self.namespace.setdefault(name, cls) is not cls:
                count += 1
                name = f"{cls.__name__}_{count}"
            return f"{name}({', '.join(items)})"
        return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"

    def result(self, structure: Any, values: tuple[Expr, ...]) -> str:
        """The text of a returned structure; `values` are its leaves."""
        if structure is None:
            return "None"
        if structure[0] in ("tuple", "list"):
            return self.make(structure[1], [self.result(item, values) for item in structure[2]])
        if structure[0] == "complex":
            return combined(structure, *(self.result(part, values) for part in structure[2]))
        return printer.expression(values[structure[0]])


def combined(structure: Any, re: str, im: str) -> str:
    """The text of a complex result of the texts of its parts."""
    return put_together(structure[1].dtype, isinstance(structure[1], Array), re, im)


def taken_apart(tree: Any, label: str) -> list[str]:
    """The statements that name the numbers and arrays in the argument `label`."""
    if isinstance(tree, Pair):
        return tree.taken_apart(label)
    parts = [statement for pair in _pairs(tree) for statement in pair.taken_apart(pair.whole)]
    return [f"{_target(tree)} = {label}", *parts]


def _target(tree: Any) -> str:
    if tree is None:
        return "_"
    if isinstance(tree, Pair):
        return tree.whole
    if isinstance(tree, str):
        return tree
    inner = ", ".join(_target(item) for item in tree)
    return f"({inner},)" if len(tree) == 1 else f"({inner})"


def _pairs(tree: Any) -> list[Pair]:
    if isinstance(tree, Pair):
        return [tree]
    return [pair for item in tree for pair in _pairs(item)] if isinstance(tree, tuple) else []


def _note_shapes(tree: Any, value: Any, found: dict[str, tuple[int, ...]]) -> None:
    """Note the shapes of the arrays of an argument, under the names in its tree."""
    if isinstance(tree, tuple):
        for item, inner in zip(tree, value, strict=True):
            _note_shapes(item, inner, found)
    elif tree is not None and isinstance(value, np.ndarray):
        found.update(dict.fromkeys((tree.re, tree.im) if isinstance(tree, Pair) else (tree,), value.shape))


def _kinds(tree: Any, argument: Any) -> list[tuple[str, Any]]:
    """The names in a tree with their types."""
    if isinstance(tree, str):
        return [(tree, argument)]
    if isinstance(tree, Pair):
        return [(tree.re, argument.re), (tree.im, argument.im)]
    if tree is None:
        return []
    return [found for item, inner in zip(tree, argument.items, strict=True) for found in _kinds(item, inner)]


def renamed(tree: Any, names: dict[str, str]) -> Any:
    """A tree with other names."""
    if isinstance(tree, tuple):
        return tuple(renamed(item, names) for item in tree)
    if isinstance(tree, Pair):
        return Pair(names[tree.re], names[tree.im])
    # where the arrays of a packed list begin has no adjoint
    return None if tree is None else names.get(tree)


def _member(cls: Any, place: int) -> str:
    """How the item at a place of an argument is written after the argument's name."""
    if (names := getattr(cls, "object_names", None)) is not None:
        return f".{names[place]}"
    if (keys := getattr(cls, "mapping_keys", None)) is not None:
        return f"[{keys[place]!r}]"
    fields = getattr(cls, "_fields", None)
    return f"[{place}]" if fields is None else f".{fields[place]}"
