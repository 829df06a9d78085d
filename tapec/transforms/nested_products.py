"""`jvp` and `vjp` inside lowered code.

A `jvp` is written where it stands.  A pullback differentiates the sum of its cotangent's products with the result,
where it is called: the function is lowered once more there, so nothing that it reads may have changed in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapec.analyses.aliases import aliases
from tapec.analyses.random_draws import drawn
from tapec.errors import NotDifferentiable, TypeMismatch, UnsupportedSyntax
from tapec.frontend.arrays.array_creation import array_copy, astype
from tapec.frontend.calls.recursion import with_changes
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Frame
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import (
    NONE,
    Complex,
    Lst,
    Record,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_none,
)
from tapec.frontend.operations.allocation import dim
from tapec.frontend.structures.captured_values import Held
from tapec.syntax.core import (
    Const,
    Function,
    If,
    Raise,
    changed,
    reads,
    walk,
    written_in,
)
from tapec.syntax.types import Array
from tapec.transforms.index_guards import with_guards
from tapec.transforms.jacobian import pushed
from tapec.transforms.nested import (
    Parameters,
    call_derivative,
    contents,
    leaves,
    moving_items,
    prepared,
    splice,
    with_tangents,
)
from tapec.transforms.reverse import targets_of

_OPTIONS = frozenset({"opt_level", "math", "strict", "boundscheck", "cache", "memory", "parallel", "strong_zero"})


def lower_jvp(
    ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any, order: int | None = None
) -> Value:
    """`jvp(f, primals, tangents)`; of an order the Taylor coefficients."""
    given = dict(zip(("f", "primals", "tangents"), args, strict=False)) | kwargs
    callee, primals, tangents = (given.get(name, NONE) for name in ("f", "primals", "tangents"))
    primals, tangents = (ev.materialise(one) for one in (primals, tangents))
    if not (isinstance(primals, Tup) and isinstance(tangents, Tup)) or len(primals.items) != len(tangents.items):
        ev.fail(TypeMismatch, "`jvp` takes a tuple of arguments and one of as many tangents", node)
    parameters = Parameters(ev)
    own, _ = parameters.bind_all(callee, [ev.materialise(arg) for arg in primals.items], {})
    result, block = parameters.called(callee, own, {}, node)
    vectors: dict[str, str] = {}
    for primal, tangent in zip(own, tangents.items, strict=True):
        if not is_none(tangent):
            pair(ev, primal, tangent, vectors, node)
    sources = tuple(vectors)
    core, constants, structure = prepared(ev, parameters, block, result, sources, node)
    core = with_guards(core, sources, targets_of(core, shared=False, outputs=None), reads=True)
    moved = pushed(core, sources, constants, order)
    made = splice(ev, with_tangents(ev, moved, core, sources, vectors))
    parts = 1 + (order or 1)
    if len(made) != parts * len(core.results):
        ev.fail(NotDifferentiable, "the tangent of a result that is not a float", node, hint="return floats alone")
    return Tup(tuple(structure(made[part::parts]) for part in range(parts)))


def pair(
    ev: Evaluator, primal: Value, tangent: Value, vectors: dict[str, str], node: Any, what: str = "tangent"
) -> None:
    """Note the name of the tangent of each number and array of an argument."""
    if isinstance(primal, Tup | Record) and isinstance(tangent, Tup | Record) and _alike(primal, tangent):
        if hasattr(primal.cls, "sparse") and primal.items[1:] != tangent.items[1:]:
            message = f"the {what} of a sparse matrix has places of its own"
            ev.fail(TypeMismatch, message, node, hint="make it a gradient, or a product of the matrix and a number")
        for one, other in zip(moving_items(primal), moving_items(tangent), strict=True):
            pair(ev, one, other, vectors, node, what)
        return
    # `jvp` gives no names of its own to what is in containers
    held, given = (None if what == "tangent" else contents(ev, one) for one in (primal, tangent))
    if held is not None and given is not None and held.keys() == given.keys():
        for key, one in held.items():
            pair(ev, one, given[key], vectors, node, what)
        return
    tangent = ev.materialise(tangent)
    if isinstance(primal, Sym | Complex) and isinstance(tangent, Sym | Complex):
        tangent = _in_dtype(ev, tangent, primal, f"a {what}", node)
        parts = dict(zip(leaves(ev, primal, node), leaves(ev, _bound(ev, tangent), node), strict=True))
        if not vectors.keys().isdisjoint(parts):
            ev.fail(UnsupportedSyntax, f"wrt names an argument twice, which has one {what}", node)
        vectors.update(parts)
        return
    if is_none(primal) and is_none(tangent):
        return
    hint = "pass numbers, arrays, and tuples of those"
    ev.fail(TypeMismatch, f"the {what} of {describe(primal)} is {describe(tangent)}", node, hint=hint)


def _alike(first: Tup | Record, second: Tup | Record) -> bool:
    """Whether two structures have items of equal number and, if they are dicts or objects, of equal names."""
    names = [getattr(one.cls, "mapping_keys", getattr(one.cls, "object_names", None)) for one in (first, second)]
    return len(first.items) == len(second.items) and (None in names or names[0] == names[1])


def _in_dtype(ev: Evaluator, seed: Any, like: Any, what: str, node: Any) -> Any:
    """A tangent or cotangent in the dtype of what it belongs to."""
    ours, theirs = (getattr(one.type, "ndim", None) for one in (like, seed))
    if (ours or 0) != (theirs or 0) or (isinstance(seed, Complex) and not isinstance(like, Complex)):
        ev.fail(TypeMismatch, f"{what} of {describe(like)} is {describe(seed)}", node)
    dtype = Static(np.dtype(like.type.dtype))
    if ours is not None and (is_array(seed) or (isinstance(seed, Complex) and seed.is_array)):
        if seed.type.dtype != like.type.dtype:
            seed = ev.materialise(astype(ev, [seed, dtype], {}, node))
        if isinstance(seed, Complex) or like.type.layout in ("A", seed.type.layout):
            return seed
        # what the primal takes a view of, a tangent of another memory layout may have to copy
        made = np.asfortranarray if like.type.layout == "F" else np.ascontiguousarray
        return ev.materialise(ev.call_object(made, [seed], {}, node))
    return ev.call_object(dtype.obj.type, [seed], {}, node)


def _bound(ev: Evaluator, value: Value) -> Value:
    """The same with names for numbers that are literals."""
    binder = Parameters(ev)
    named = binder.bind("tangent", value)
    ev.block.extend(binder.copies)
    return named


def writes_into_parameters(core: Function) -> bool:
    """Whether a function writes into memory that a parameter may hold."""
    classes = aliases(core)
    held = {classes.find(param) for param in core.params if isinstance(core.types[param], Array)}
    return any(classes.find(array) in held for stmt in walk(core.body) for array in changed(stmt))


def seeds_of(ev: Evaluator, result: Value, cotangent: Value, copied: bool, node: Any) -> list[str]:
    """The names of what belongs to each float in a result, of a cotangent of its structure."""
    if isinstance(result, Tup | Record):
        if not isinstance(cotangent, Tup | Record) or not _alike(result, cotangent):
            ev.fail(TypeMismatch, f"the cotangent of {describe(result)} is {describe(cotangent)}", node)
        pairs = zip(result.items, cotangent.items, strict=True)
        return [name for one, seed in pairs for name in seeds_of(ev, one, seed, copied, node)]
    if not isinstance(result, Complex) and not (isinstance(result, Sym) and result.type.is_float):
        return []
    cotangent = ev.materialise(cotangent)
    if not isinstance(cotangent, Sym | Complex):
        ev.fail(TypeMismatch, f"the cotangent of {describe(result)} is {describe(cotangent)}", node)
    seed = _in_dtype(ev, cotangent, result, "the cotangent", node)
    if copied and (is_array(seed) or (isinstance(seed, Complex) and seed.is_array)):
        seed = ev.materialise(array_copy(ev, [seed], {}, node))
    return leaves(ev, _bound(ev, seed), node)


def lower_vjp(ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`vjp(f, *primals)`: the value, and a pullback that is lowered where it is called."""
    if not args or kwargs.keys() - _OPTIONS:
        ev.fail(TypeMismatch, "`vjp` takes a function and its arguments by position", node)
    callee, *primals = (ev.materialise(arg) for arg in args)
    wrt = tuple(k for k, arg in enumerate(primals) if _is_float(ev, arg, node))
    start, moment = len(ev.block), _Moment.now(ev)
    result = ev.materialise(ev.apply(callee, primals, {}, node))
    run = with_changes(ev, freeze(ev.block[start:]), node)
    if any(drawn(stmt) is not None for stmt in walk(run)):
        ev.fail(
            UnsupportedSyntax,
            "`vjp` of a function that draws random numbers, in differentiated code",
            node,
            reason="a pullback would draw others",
            hint="draw them before",
        )
    inside = written_in(run)
    read = {name for stmt in walk(run) for name in reads(stmt)} - inside
    roots = frozenset().union(*(ev.roots.get(name, frozenset()) for name in read))
    if _changes(ev, run, roots):
        ev.fail(
            UnsupportedSyntax,
            "`vjp` of a function that writes into what it reads, in differentiated code",
            node,
            reason="a pullback runs it again",
            hint="let it write into a copy",
        )
    return Tup((result, Static(_Pullback(callee, tuple(primals), wrt, moment, ev.block, len(ev.block), roots))))


def _is_float(ev: Evaluator, value: Value, node: Any) -> bool:
    """Whether all numbers of an argument are floats; a mixture is an error."""
    if isinstance(value, Tup):
        kinds = {_is_float(ev, item, node) for item in value.items if not is_none(item)}
        if len(kinds) > 1:
            ev.fail(
                NotDifferentiable,
                "an argument of `vjp` has floats beside other values",
                node,
                hint="pass what is not differentiated as an argument of its own",
            )
        return kinds == {True}
    if isinstance(value, Lst):
        ev.fail(UnsupportedSyntax, "a list as an argument of `vjp`, in differentiated code", node, hint="pass a tuple")
    return isinstance(value, Complex) or (isinstance(value, Sym) and value.type.is_float)


def _changes(ev: Evaluator, block: Any, roots: frozenset[str]) -> bool:
    """Whether a block writes into memory that one of `roots` holds."""
    return any(ev.roots.get(array, frozenset()) & roots for stmt in walk(block) for array in changed(stmt))


@dataclass(frozen=True, eq=False)
class _Moment:
    """The variables of functions that run, and the contents of lists, at one place of the program."""

    frames: tuple[tuple[Frame, dict[str, Value]], ...]
    heap: dict[Any, Any]

    @classmethod
    def now(cls, ev: Evaluator) -> _Moment:
        return cls(tuple((frame, dict(frame.env)) for frame in ev.frames), dict(ev.heap))

    @contextmanager
    def again(self, ev: Evaluator) -> Iterator[None]:
        """While this lasts they are what they were."""
        present = [(frame, frame.env) for frame, _ in self.frames]
        heap, ev.heap = ev.heap, dict(self.heap)
        for frame, env in self.frames:
            frame.env = dict(env)
        try:
            yield
        finally:
            ev.heap = heap
            for frame, env in present:
                frame.env = env


@dataclass(frozen=True, eq=False)
class _Pullback(Held):
    """What `vjp` gives beside the value.

    moment      what variables and lists were before the function ran
    block, end  where it was made: behind `end` nothing may have written into `roots`, which the function reads
    """

    callee: Value
    primals: tuple[Value, ...]
    wrt: tuple[int, ...]
    moment: _Moment
    block: list[Any]
    end: int
    roots: frozenset[str]

    @property
    def held(self) -> tuple[Value, ...]:
        return (self.callee, *self.primals)

    def holding(self, ev: Evaluator, values: tuple[Value, ...]) -> _Pullback:
        callee, *primals = values
        roots = frozenset(name for names in ev.roots.values() for name in names)
        return _Pullback(callee, tuple(primals), self.wrt, _Moment.now(ev), ev.block, len(ev.block), roots)

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        if len(args) != 1 or kwargs:
            ev.fail(TypeMismatch, "a pullback takes one cotangent, by position", node)
        if ev.block is not self.block:
            ev.fail(
                UnsupportedSyntax,
                "a pullback is called in a branch or loop that `vjp` is outside of",
                node,
                reason="it runs the function again, which may have other values there",
                hint="call `vjp` there, too",
            )
        if _changes(ev, with_changes(ev, freeze(ev.block[self.end :]), node), self.roots):
            ev.fail(
                UnsupportedSyntax,
                "what a pullback needs was written into behind its `vjp`",
                node,
                reason="it runs the function again",
                hint="call it before, or write into a copy",
            )
        weighted = Static(_Weighted(self.callee, ev.materialise(args[0])))
        if not self.wrt:
            return Tup((NONE,) * len(self.primals))
        with self.moment.again(ev):
            found = call_derivative(ev, weighted, "grad", self.wrt, list(self.primals), {}, node)
        assert isinstance(found, Tup)
        by = dict(zip(self.wrt, found.items, strict=True))
        return Tup(tuple(by.get(k, NONE) for k in range(len(self.primals))))


@dataclass(frozen=True, eq=False)
class _Weighted:
    """The sum of the products of a function's results and their cotangents."""

    callee: Value
    cotangent: Value

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        result = ev.materialise(ev.apply(self.callee, args, kwargs, node))
        terms = self._terms(ev, result, self.cotangent, node)
        if not terms:
            ev.fail(NotDifferentiable, f"a pullback of {describe(result)}: no float is in it", node)
        total, *others = terms
        for term in others:
            total = ev.binary("+", total, term, node)
        return total

    def _terms(self, ev: Evaluator, result: Value, seed: Any, node: Any) -> list[Value]:
        if isinstance(result, Tup) and isinstance(seed, Tup) and len(result.items) == len(seed.items):
            pairs = zip(result.items, seed.items, strict=True)
            return [term for one, other in pairs for term in self._terms(ev, one, other, node)]
        if isinstance(result, Sym) and not result.type.is_float:
            return []
        seed = ev.materialise(seed)
        if not isinstance(result, Sym | Complex) or not isinstance(seed, Sym | Complex):
            ev.fail(TypeMismatch, f"the cotangent of {describe(result)} is {describe(seed)}", node)
        seed = _in_dtype(ev, seed, result, "the cotangent", node)
        if isinstance(result, Complex):
            return [_total(ev, one, other, node) for one, other in ((result.re, seed.re), (result.im, seed.im))]
        return [_total(ev, result, seed, node)]


def _total(ev: Evaluator, result: Sym, seed: Value, node: Any) -> Value:
    """The sum of the products of two numbers, or of two arrays of one shape."""
    if not is_array(result):
        return ev.binary("*", result, seed, node)
    assert isinstance(seed, Sym) and isinstance(seed.type, Array)
    for axis in range(seed.type.ndim):
        differs = ev.op("!=", dim(ev, result, axis), dim(ev, seed, axis))
        if differs.constant is not False:
            message = Const("the cotangent has another shape than the value")
            ev.emit(If(differs.atom, (Raise("ValueError", (message,), ev.span),), (), ev.span))
    return ev.call_object(np.sum, [ev.binary("*", result, seed, node)], {}, node)
