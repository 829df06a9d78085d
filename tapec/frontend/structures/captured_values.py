"""Values that leave the program that is being lowered, with what they hold, for one that is lowered later.

The gradient function of a custom gradient is lowered where a reverse sweep needs it, in another evaluator.  What it
reads from around it goes there as leaves, numbers and arrays that core names, and as structure around them: tuples,
lists, dicts, functions with closures of their own.

    kept: list[Sym] = []
    make = taken(ev, value, kept)          here: the leaves are added to `kept`
    value = make(Opening(other, leaves))   there: `leaves` are what they are called there
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gast

from tapec.errors import Span, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Frame
from tapec.frontend.evaluator.values import (
    Dct,
    Func,
    Growing,
    Instance,
    Iteration,
    Lazy,
    Lst,
    Method,
    Partial,
    Rebuilt,
    Record,
    Static,
    Sym,
    Tup,
    Value,
    describe,
)
from tapec.frontend.structures.merging import leaves, rebuild
from tapec.frontend.structures.rebuilt_containers import gathered, spread
from tapec.syntax.core import Const, Name
from tapec.syntax.types import Array


@dataclass
class Opening:
    """Where values are made of leaves again; `functions` are those that have been made, by the id of their origin."""

    ev: Evaluator
    leaves: Sequence[Sym]
    functions: dict[int, Func] = field(default_factory=dict)


Make = Callable[[Opening], Any]


class Held:
    """An object of lowered code that holds values, such as a function whose derivative it is."""

    @property
    def held(self) -> tuple[Value, ...]:
        """The values."""
        raise NotImplementedError

    def holding(self, ev: Evaluator, values: tuple[Value, ...]) -> Any:
        """The same of other values, for the program of `ev`."""
        raise NotImplementedError

    def attribute(self, name: str) -> Value | None:
        """What it has under a name; None where that is an ordinary attribute."""
        return None


def taken(ev: Evaluator, value: Value, kept: list[Sym], span: Span | None) -> Make:
    """What makes a value of leaves again; its numbers and arrays are added to `kept`.  `span` is where it is read."""
    return _Taking(ev, kept, span).of(value)


class _Taking:
    def __init__(self, ev: Evaluator, kept: list[Sym], span: Span | None) -> None:
        self.ev, self.kept, self.span = ev, kept, span
        self.seen: set[int] = set()

    def of(self, value: Value) -> Make:
        match value:
            case Lazy():
                return self.of(self.ev.materialise(value))
            case Sym(atom=Const()):
                return lambda opening: value
            case Sym():
                return self.leaf(value.now)
            case Tup(items=items) if not isinstance(items, Rebuilt):
                return self.many(items, lambda made: replace(value, items=made))
            case Func():
                return self.function(value)
            case Partial(function=function, args=args, kwargs=kwargs):
                names = tuple(kwargs)

                def partial(made: tuple[Value, ...]) -> Value:
                    first = made[: 1 + len(args)]
                    return Partial(first[0], first[1:], dict(zip(names, made[len(first) :], strict=True)))

                return self.many((function, *args, *kwargs.values()), partial)
            case Method(owner=owner):
                return self.many((owner,), lambda made: replace(value, owner=made[0]))
            case Record(items=items):
                return self.many(items, lambda made: replace(value, items=made))
            case Static(obj=Held() as obj):
                makes = [self.of(one) for one in obj.held]
                return lambda opening: Static(obj.holding(opening.ev, tuple(make(opening) for make in makes)))
            case Static(obj=obj) if not _holds_values(obj):
                return lambda opening: value
            case Lst() | Dct():
                return self.container(value)
            case Instance(cls=cls, cells=cells):
                return self.instance(cls, cells)
            case Iteration(kind=kind) if kind != "range":
                self.refuse(value)
            case Static():
                self.refuse(value)
        return self.structure(value)

    def refuse(self, value: Value) -> Any:
        raise UnsupportedSyntax(f"the rule of a derivative reads {describe(value)} from around it", self.span)

    def leaf(self, value: Sym) -> Make:
        position = len(self.kept)
        self.kept.append(value)
        return lambda opening: opening.leaves[position]

    def many(self, values: Sequence[Value], join: Callable[[tuple[Any, ...]], Any]) -> Make:
        makes = [self.of(one) for one in values]
        return lambda opening: join(tuple(make(opening) for make in makes))

    def structure(self, value: Any) -> Make:
        """What `merging.rebuild` knows: complex numbers, ranges, variables that may not be set."""
        positions = {path: self.of(leaf) for path, leaf in leaves(value)}
        return lambda opening: rebuild(value, lambda path, _: positions[path](opening))

    def container(self, value: Lst | Dct) -> Make:
        if isinstance(value, Lst) and isinstance(contents := self.ev.heap.get(value), Growing):
            inner = self.structure(contents)
            label = value.label

            def grown(opening: Opening) -> Value:
                made = Lst(label)
                opening.ev.heap[made] = inner(opening)
                return made

            return grown
        held = spread(self.ev, value)
        if not isinstance(held, Rebuilt):
            self.refuse(value)
        return self.rebuilt(held)

    def rebuilt(self, held: Any) -> Make:
        """Lists and dicts with what they hold, which may be functions."""
        makes = [self.rebuilt(item) if isinstance(item, Rebuilt) else self.of(item) for item in held.items]

        def made(opening: Opening) -> Any:
            return gathered(opening.ev, replace(held, items=tuple(make(opening) for make in makes)))

        return made

    def instance(self, cls: type, cells: dict[str, Lst]) -> Make:
        makes = {name: self.container(cell) for name, cell in cells.items()}
        return lambda opening: Instance(cls, {name: make(opening) for name, make in makes.items()}, opening.ev.block)

    def function(self, func: Func) -> Make:
        """A function with what it reads from around it, which may be itself."""
        if id(func) in self.seen:
            return lambda opening: opening.functions[id(func)]
        self.seen.add(id(func))
        held = {name: self.of(value) for name, value in _read(func).items()}
        defaults = [self.of(one) for one in func.defaults]
        named = [None if one is None else self.of(one) for one in func.kw_defaults]

        def made(opening: Opening) -> Func:
            known = opening.functions.get(id(func))
            if known is not None:
                return known
            frame = Frame(func.frame.source, lambda ident: None)
            frame.library, frame.jitted, frame.flags = func.frame.library, func.frame.jitted, func.frame.flags
            frame.liveness, frame.function = func.frame.liveness, func.frame.function
            found = Func(
                func.node,
                frame,
                tuple(one(opening) for one in defaults),
                tuple(None if one is None else one(opening) for one in named),
                func.jitted,
            )
            opening.functions[id(func)] = found
            frame.env = {name: make(opening) for name, make in held.items()}
            return found

        return made


def _read(func: Func) -> dict[str, Value]:
    """What a function reads from around it, as it is now."""
    spec = func.node.args
    own = {arg.id for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
    own |= {arg.id for arg in (spec.vararg, spec.kwarg) if arg is not None}
    nodes = [func.node.body] if isinstance(func.node, gast.Lambda) else func.node.body
    read = {
        child.id
        for node in nodes
        for child in gast.walk(node)
        if isinstance(child, gast.Name) and isinstance(child.ctx, gast.Load)
    }
    found: dict[str, Value] = {}
    for name in sorted(read - own):
        frame: Frame | None = func.frame
        value: Value | None = None
        while frame is not None and value is None:
            value = frame.env.get(name)
            if value is None and frame.parent is None:
                value = frame.names(name)
            frame = frame.parent
        if value is not None:
            found[name] = value
    return found


def _holds_values(obj: Any) -> bool:
    """Whether an object of ours holds values of the program that is being lowered."""
    if not type(obj).__module__.startswith("tapec."):
        return False
    held = getattr(obj, "__dict__", {}).values()
    return any(isinstance(item, Value) for one in held for item in (one if isinstance(one, tuple | list) else (one,)))


def opened(ev: Evaluator, leaves: Sequence[Any], types: Sequence[Any]) -> Opening:
    """An opening of leaves that are atoms of these types."""
    made = []
    for atom, type_ in zip(leaves, types, strict=True):
        if isinstance(type_, Array) and isinstance(atom, Name):
            ev.roots[atom.id] = frozenset({atom.id})
        made.append(Sym(atom, type_))
    return Opening(ev, made)
