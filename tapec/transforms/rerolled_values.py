"""What stands in one place in all iterations of a loop, as one value of the loop (`rerolled_loops.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tapec.analyses.aliases import aliases
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    changed,
    walk,
    writes,
)
from tapec.syntax.types import INT64, Array, Scalar, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.packed_columns import Column, Entry, PackedResult, Rerolled, item_of


class NotOneLoop(Exception):
    """What is not one loop."""


@dataclass
class Body:
    """The iterations of a loop while they become one.

    home     the iteration in which a name is defined
    own      by iteration: its names, and what the first iteration calls them
    head     what stands before the statements of an iteration
    carried  the merge names of values that the next iteration reads, by their own name and their first value
    before   what stands before the loop
    outputs  by the names of results in an iteration what they are packed in
    """

    iterations: list[Block]
    counter: str
    home: dict[str, int] = field(default_factory=dict)
    own: list[dict[str, str]] = field(default_factory=list)
    known: dict[tuple[Atom, ...], Atom] = field(default_factory=dict)
    carried: dict[tuple[str, Atom], str] = field(default_factory=dict)
    before: list[Stmt] = field(default_factory=list)
    outputs: dict[str, PackedResult] = field(default_factory=dict)


class Values:
    """What a program has before its loops, and what is packed of it.

    known    names that are known wherever they are asked for: extents of inputs, and views of adjoints
    whole    whether results are packed, and numbers gathered: the program is not differentiated
    """

    def __init__(
        self,
        function: Function,
        inputs: set[str],
        apart: Sequence[frozenset[str]],
        begun: Sequence[Rerolled] = (),
        adjoints: frozenset[str] | None = None,
    ) -> None:
        self.function = function
        self.types: dict[str, Type] = dict(function.types)
        self.emitter = Emitter(self.types, {*self.types, *function.params})
        self.columns: list[Column] = [column for one in begun for column in one.columns]
        self.tables = {tuple(map(repr, entries)): (entries, name) for one in begun for name, entries in one.tables}
        self.counts = {count: name for one in begun for name, count in one.counts}
        # several parts may have parameters for the same numbers
        self.of_parts = [one for part in begun for one in part.tables], [one for part in begun for one in part.counts]
        self.begun = {name for one in begun for name in one.packed}
        # results are packed where the program is a whole
        self.whole, self.adjoints = adjoints is not None, adjoints or frozenset()
        self.outputs: dict[str, tuple[PackedResult, int]] = {}
        memory = aliases(function)
        stored = {memory.find(name) for stmt in walk(function.body) for name in changed(stmt)}
        self.defined = Counter(name for stmt in walk(function.body) for name in writes(stmt))
        self.inputs = {
            name
            for name in inputs
            if memory.find(name) not in stored and name not in self.defined and self._packs(name)
        }
        self.apart = apart
        # what is known wherever it is asked for: extents of inputs, and views of adjoints
        self.known: dict[str, Op] = {}
        self.body: list[Stmt] = []
        for stmt in function.body:
            if isinstance(stmt, Assign) and self.defined[stmt.target] == 1 and self._is_known(stmt.value):
                assert isinstance(stmt.value, Op)
                self.known[stmt.target] = stmt.value
            else:
                self.body.append(stmt)

    def _is_known(self, value: Expr) -> bool:
        match value:
            case Op(fn="dim", args=(Name(id=array), Const(value=int()))):
                return array in self.function.params
            case Op(fn="load", args=(Name(id=array), Const())):
                return array in self.begun
            case Op(fn="view", args=(Name(id=array), Op(fn="slice", args=(Name(id=start), Name(id=stop), Const())))):
                return array in self.adjoints and start in self.known and stop in self.known
            case Op(fn="reshape", args=(Name(id=array), *extents)):
                return array in self.known and all(isinstance(n, Name) and n.id in self.known for n in extents)
        return False

    def _extent(self, name: str) -> tuple[str, int] | None:
        """The input and axis that a name is the extent of."""
        match self.known.get(name):
            case Op(fn="dim", args=(Name(id=array), Const(value=int() as axis))):
                return array, axis
        return None

    def _packs(self, name: str) -> bool:
        """Whether an input is of a type that is packed."""
        type_ = self.types.get(name)
        return isinstance(type_, Scalar) or (isinstance(type_, Array) and type_.ndim > 0 and type_.layout == "C")

    def atom(self, values: tuple[Atom, ...], body: Body, head: Emitter) -> Atom:
        found = body.known.get(values)
        if found is None:
            found = body.known[values] = self._of(values, body, head)
        return found

    def _of(self, values: tuple[Atom, ...], body: Body, head: Emitter) -> Atom:
        homes = [body.home.get(value.id) if isinstance(value, Name) else None for value in values]
        count = len(values)
        if homes == list(range(count)):
            names = {own[value.id] for own, value in zip(body.own, values, strict=True)}  # type: ignore[union-attr]
            if len(names) == 1:
                return Name(names.pop())
        elif homes == [None, *range(count - 1)]:
            names = {own[value.id] for own, value in zip(body.own, values[1:], strict=False)}  # type: ignore[union-attr]
            if len(names) == 1:
                return self._carried(names.pop(), values[0], body)
        elif all(home is None for home in homes):
            return values[0] if len(set(values)) == 1 else self._varying(values, body, head)
        raise NotOneLoop

    def _carried(self, name: str, start: Atom, body: Body) -> Name:
        merged = body.carried.get((name, start))
        if merged is None:
            type_ = self.types[name]
            if self.emitter.type_of(start) != type_ or not isinstance(type_, Scalar | Array):
                raise NotOneLoop
            merged = body.carried[name, start] = self.emitter.fresh(name, type_)
        return Name(merged)

    def _varying(self, values: tuple[Atom, ...], body: Body, head: Emitter) -> Atom:
        """Inputs, what is known of them, or numbers."""
        names = [value.id for value in values if isinstance(value, Name)]
        if len(names) == len(values):
            if self.inputs.issuperset(names):
                column, place = self._column(tuple(names), body, head)
                return self.item(head, column, place)
            if all(name in self.known for name in names) and len(set(names)) == len(names):
                kept = list(head.out), list(self.columns)
                try:
                    found = self._alike([self.known[name] for name in names], body, head)
                    return head.let("t", found, self.types[names[0]])
                except NotOneLoop:
                    head.out[:], self.columns[:] = kept
        return self._numbers(values, body, head)

    def _alike(self, values: Sequence[Op], body: Body, head: Emitter) -> Op:
        """One operation for those that differ in their operands alone."""
        first = values[0]
        if any(value.fn != first.fn or len(value.args) != len(first.args) for value in values):
            raise NotOneLoop
        args: list[Expr] = []
        for column in zip(*(value.args for value in values), strict=True):
            if isinstance(column[0], Op):
                args.append(self._alike(column, body, head))
            elif first.fn == "dim" and isinstance(column[0], Const) and len(set(column)) > 1:
                raise NotOneLoop
            else:
                args.append(self.atom(column, body, head))
        return Op(first.fn, tuple(args))

    def entry(self, value: Atom) -> Entry:
        """A number that is known when the program is called."""
        if isinstance(value, Const):
            if type(value.value) is int or type(value.value) is float:
                return value.value
        elif (extent := self._extent(value.id)) is not None:
            return extent
        raise NotOneLoop

    def _numbers(self, values: tuple[Atom, ...], body: Body, head: Emitter) -> Atom:
        """Numbers that are known when the program is called, or that it has before the loop."""
        type_ = head.type_of(values[0])
        try:
            entries = [self.entry(value) for value in values]
        except NotOneLoop:
            return self._gathered(values, type_, body, head)
        counted = self._counted(entries, body, head)
        if counted is not None:
            return counted
        # `-0.0` is not `0.0`, nor `1` `1.0`
        whole = tuple(map(repr, entries))
        if whole not in self.tables:
            assert isinstance(type_, Scalar)
            self.tables[whole] = tuple(entries), self.emitter.fresh("numbers", Array(type_.dtype, 1, "C", True))
        return head.let("size", Op("load", (Name(self.tables[whole][1]), Name(body.counter))), type_)

    def _gathered(self, values: tuple[Atom, ...], type_: Type, body: Body, head: Emitter) -> Atom:
        """Numbers that the program has before the loop, in an array."""
        if not self.whole or not isinstance(type_, Scalar):
            raise NotOneLoop
        out = self.emitter.child()
        count = Name(self.counts[len(values)])
        array = out.let("numbers", Op("empty", (Const(type_.dtype), count)), Array(type_.dtype, 1, "C"))
        for k, value in enumerate(values):
            out.add(Store(array.id, (Const(k),), value, False, head.span))
        body.before += out.out
        return head.let("t", Op("load", (array, Name(body.counter))), type_)

    def _counted(self, entries: Sequence[Entry], body: Body, head: Emitter) -> Atom | None:
        """The integers of an iteration that are counted with it."""
        numbers = [one for one in entries if isinstance(one, int)]
        if len(numbers) < len(entries):
            return None
        step = numbers[1] - numbers[0]
        if numbers != [numbers[0] + k * step for k in range(len(numbers))]:
            return None
        place: Atom = Name(body.counter)
        if step != 1:
            place = head.let("t", Op("*", (place, Const(step))), INT64)
        return place if numbers[0] == 0 else head.let("t", Op("+", (place, Const(numbers[0]))), INT64)

    def _column(self, names: tuple[str, ...], body: Body, head: Emitter) -> tuple[Column, Atom]:
        """The column in which inputs are packed, and their places there."""
        if any(0 < len(group.intersection(names)) < len(set(names)) for group in self.apart):
            raise NotOneLoop
        found = next((column for column in self.columns if names[0] in column.names), None)
        if found is not None:
            places = [found.names.index(name) for name in names if name in found.names]
            place = self._counted(places, body, head) if len(places) == len(names) else None
            if place is None:
                raise NotOneLoop
            return found, place
        if len(set(names)) < len(names) or any(set(names) & set(column.names) for column in self.columns):
            raise NotOneLoop
        type_ = self.types[names[0]]
        assert isinstance(type_, Scalar | Array)
        fresh, vector = self.emitter.fresh, Array("int64", 1, "C", True)
        items = fresh("items", Array(type_.dtype, 1, "C", True))
        ndim = type_.ndim if isinstance(type_, Array) else 0
        starts = fresh("starts", vector) if ndim else ""
        extents = tuple(fresh(f"extents_{axis}", vector) for axis in range(ndim)) if ndim > 1 else ()
        self.columns.append(Column(names, type_, items, starts, extents))
        return self.columns[-1], Name(body.counter)

    def item(self, out: Emitter, column: Column, place: Atom, name: str = "") -> Name:
        """One of the inputs that are packed, under a name."""
        value = item_of(out, column, column.items, place)
        type_ = replace(column.type, readonly=True) if isinstance(column.type, Array) else column.type
        if not name:
            return out.let("item", value, type_)
        self.types[name] = type_
        out.assign(name, value)
        return Name(name)
