"""Loops over lists that were lowered item by item are loops again, and the items of the lists are packed.

    t = np.dot(x, w)                                  for k in range(count):
    y = np.tanh(t)                                        w_k = items[starts[k]:starts[k + 1]].reshape(...)
    t_1 = np.dot(y, w_1)                 ->               t = np.dot(x_1, w_k)
    y_1 = np.tanh(t_1)                                    y = np.tanh(t)
    t_2 = np.dot(y_1, w_2)                                x_1 = y
    ...

A tape's block is lowered over live objects, whatever its loops go over: lists of pairs, of objects that are called, the
values of a dict.  So the statements of each item stand there by themselves.  Runs of statements are iterations of one
loop if they come from the same lines, are alike, and what stands in one place in all of them is one of these:

a name that the iteration itself defines          the value of the iteration before: it is loop-carried
the same in all of them                           numbers that are counted, or are in a table
inputs of one type: they are packed, as `Column` says

Extents are not part of a type.  What is only alike stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Push,
    Raise,
    Stmt,
    Store,
    changed,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.renaming import replaced
from tapec.syntax.types import INT64, Array, Scalar, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.repeated_statements import LEAST, key, longest, ways

# statements of a loop without loops or arrays in it: it runs faster written out
_LONG = 200
# operations of which an integer operand need not be a literal
_COUNTED = frozenset({"load", "slice", "empty", "zeros", "+", "-", "*", "<", ">", "<=", ">=", "==", "!="})
# an entry of a table: a number, or an extent of an input
Entry = int | float | tuple[str, int]


@dataclass(frozen=True)
class Column:
    """Inputs of one type that are packed: `names` in their order, and the parameters that stand for them.

    items    all elements, one array after the other
    starts   where each array begins, and the end of the last one; none for numbers
    extents  for each axis those of all arrays, where there are several axes
    """

    names: tuple[str, ...]
    type: Scalar | Array
    items: str
    starts: str = ""
    extents: tuple[str, ...] = ()

    @property
    def params(self) -> tuple[str, ...]:
        """The parameters in their order."""
        return (self.items, *((self.starts,) if self.starts else ()), *self.extents)


@dataclass(frozen=True)
class Rerolled:
    """A program with loops for what was written out.  Its parameters: `inputs`, then those of columns, tables, counts.

    inputs   the inputs that are what they were
    tables   arrays of numbers: a parameter and the entries of each
    counts   numbers of iterations: a parameter and the number of each
    """

    function: Function
    inputs: tuple[str, ...]
    columns: tuple[Column, ...]
    tables: tuple[tuple[str, tuple[Entry, ...]], ...]
    counts: tuple[tuple[str, int], ...]

    def place(self, name: str) -> tuple[Column, int] | None:
        """Where an input is packed."""
        return next(((one, one.names.index(name)) for one in self.columns if name in one.names), None)


class _Unlike(Exception):
    """What is not one loop."""


def rerolled(function: Function, inputs: Iterable[str], apart: Sequence[frozenset[str]] = ()) -> Rerolled | None:
    """The program with its loops, of which `inputs` may be packed; None where nothing is rolled.

    apart  sets of inputs: of each a column has all its names or none
    """
    if len(function.body) < LEAST:
        return None
    worker = _Rerolling(function, set(inputs), apart)
    worker.run()
    return worker.made() if worker.counts else None


@dataclass
class _Body:
    """The iterations of a loop while they become one.

    home     the iteration in which a name is defined
    own      by iteration: its names, and what the first iteration calls them
    head     what stands before the statements of an iteration
    carried  the merge names of values that the next iteration reads, by their own name and their first value
    """

    iterations: list[Block]
    counter: str
    home: dict[str, int] = field(default_factory=dict)
    own: list[dict[str, str]] = field(default_factory=list)
    known: dict[tuple[Atom, ...], Atom] = field(default_factory=dict)
    carried: dict[tuple[str, Atom], str] = field(default_factory=dict)


class _Rerolling:
    def __init__(self, function: Function, inputs: set[str], apart: Sequence[frozenset[str]]) -> None:
        self.function = function
        self.types: dict[str, Type] = dict(function.types)
        self.emitter = Emitter(self.types, {*self.types, *function.params})
        stored = {name for stmt in walk(function.body) for name in changed(stmt)}
        defined = Counter(name for stmt in walk(function.body) for name in writes(stmt))
        self.inputs = {name for name in inputs if name not in stored and name not in defined and self._packs(name)}
        self.apart = apart
        # extents of inputs are known at the beginning, wherever they are asked for
        self.dims: dict[str, tuple[str, int]] = {}
        self.body: list[Stmt] = []
        for stmt in function.body:
            match stmt:
                case Assign(target=target, value=Op(fn="dim", args=(Name(id=array), Const(value=int() as axis)))) if (
                    array in function.params and defined[target] == 1
                ):
                    self.dims[target] = array, axis
                case _:
                    self.body.append(stmt)
        self.columns: list[Column] = []
        self.tables: dict[tuple[str, ...], tuple[tuple[Entry, ...], str]] = {}
        self.counts: dict[int, str] = {}

    def _packs(self, name: str) -> bool:
        """Whether an input is of a type that is packed."""
        type_ = self.types.get(name)
        return isinstance(type_, Scalar) or (isinstance(type_, Array) and type_.ndim > 0 and type_.layout == "C")

    def run(self) -> None:
        """Roll what can be, the longest runs first."""
        numbers: dict[object, int] = {}
        keys = [numbers.setdefault(key(stmt, self.types), len(numbers)) for stmt in self.body]
        refused: set[tuple[int, int]] = set()
        while (run := longest(keys, refused)) is not None:
            refused.add((run.first, run.period))
            for first, count in ways(run):
                stmts = self.body[first : first + count * run.period]
                rest = (*self.body[:first], *self.body[first + len(stmts) :])
                kept = list(self.columns), dict(self.tables), dict(self.counts)
                try:
                    loop, values = self._rolled(stmts, run.period, count, rest)
                except _Unlike:
                    self.columns, self.tables, self.counts = kept
                    continue
                behind = replaced(tuple(self.body[first + len(stmts) :]), values)
                self.body[first:] = [*loop, *behind]
                keys[first : first + len(stmts)] = [numbers.setdefault(object(), len(numbers)) for _ in loop]
                refused.clear()
                break

    def made(self) -> Rerolled:
        """The program."""
        packed = {name for column in self.columns for name in column.names}
        read = {name for stmt in walk(self.body) for name in reads(stmt)}
        out = self.emitter.child()
        needed = read | {self.dims[name][0] for name in read & self.dims.keys()}
        for column in self.columns:
            for k, name in enumerate(column.names):
                if name in needed:
                    self._item(out, column, Const(k), name)
        for name, (array, axis) in self.dims.items():
            if name in read:
                out.assign(name, Op("dim", (Name(array), Const(axis))))
        inputs = tuple(name for name in self.function.params if name not in packed)
        tables = tuple((name, entries) for entries, name in self.tables.values())
        counts = tuple((name, count) for count, name in self.counts.items())
        params = [name for column in self.columns for name in column.params]
        params += [name for name, _ in (*tables, *counts)]
        function = replace(
            self.function, params=(*inputs, *params), body=(*out.out, *self.body), types=self.types
        )
        return Rerolled(function, inputs, tuple(self.columns), tables, counts)

    # one loop

    def _rolled(
        self, stmts: list[Stmt], period: int, count: int, rest: Block
    ) -> tuple[list[Stmt], dict[str, Expr]]:
        """The loop for some statements, and what stands behind it for the names of the last iteration."""
        iterations = [tuple(stmts[k * period : (k + 1) * period]) for k in range(count)]
        large = any(isinstance(stmt, For | Loop) or _is_of_arrays(stmt, self.types) for stmt in walk(iterations[0]))
        if not large and len(stmts) < _LONG:
            raise _Unlike
        body = _Body(iterations, self.emitter.fresh("k", INT64))
        outside = written_in(rest)
        first = [name for stmt in walk(iterations[0]) for name in writes(stmt)]
        for k, block in enumerate(iterations):
            names = [name for stmt in walk(block) for name in writes(stmt)]
            own = dict(zip(names, first, strict=True))
            if [own[name] for name in names] != first or len(set(own.values())) < len(own):
                raise _Unlike
            if any(name in outside or body.home.setdefault(name, k) != k for name in own):
                raise _Unlike
            body.own.append(own)
        read = {name for stmt in walk(rest) for name in reads(stmt)}
        if any(body.home.get(name, count - 1) < count - 1 for name in read):
            raise _Unlike
        head = self.emitter.child()
        head.span = getattr(stmts[0], "span", None)
        inner = self._joined(iterations, body, head)
        values: dict[str, Expr] = {}
        for (own_name, _), merged in body.carried.items():
            values.update({name: Name(merged) for name, one in body.own[-1].items() if one == own_name})
        if any(name in body.home and name not in values for name in read):
            # a value that is no iteration's begin is known inside the loop alone
            raise _Unlike
        before = [Assign(merged, start, head.span) for (_, start), merged in body.carried.items()]
        after = [Assign(merged, Name(own_name), head.span) for (own_name, _), merged in body.carried.items()]
        if count not in self.counts:
            self.counts[count] = self.emitter.fresh("count", INT64)
        made = (*head.out, *inner, *after)
        loop = For(body.counter, Const(0), Name(self.counts[count]), Const(1), made, span=head.span)
        return [*before, loop], values

    def _joined(self, blocks: Sequence[Block], body: _Body, head: Emitter) -> Block:
        """One block for all iterations."""

        def atom(values: Sequence[Expr]) -> Atom:
            return self._atom(tuple(values), body, head)  # type: ignore[arg-type]

        def atoms(values: Iterable[Sequence[Expr]]) -> tuple[Atom, ...]:
            return tuple(atom(column) for column in zip(*values, strict=True))

        def expression(values: Sequence[Expr], literal: bool = False) -> Expr:
            first = values[0]
            if not isinstance(first, Op):
                if literal and len(set(values)) > 1 and any(isinstance(value, Const) for value in values):
                    raise _Unlike
                return atom(values)
            columns = zip(*(value.args for value in values), strict=True)  # type: ignore[union-attr]
            return Op(first.fn, tuple(expression(column, first.fn not in _COUNTED) for column in columns))

        def memory(names: list[str]) -> str:
            found = atom([Name(name) for name in names])
            assert isinstance(found, Name)
            return found.id

        def one(stmts: Sequence[Stmt]) -> Stmt:
            first, every = stmts[0], list(stmts)
            match first:
                case Assign():
                    return replace(first, value=expression([s.value for s in every]))  # type: ignore[union-attr]
                case Store():
                    return replace(
                        first,
                        array=memory([s.array for s in every]),  # type: ignore[union-attr]
                        index=atoms(s.index for s in every),  # type: ignore[union-attr]
                        value=atom([s.value for s in every]),  # type: ignore[union-attr]
                    )
                case If():
                    return replace(
                        first,
                        test=atom([s.test for s in every]),  # type: ignore[union-attr]
                        body=self._joined([s.body for s in every], body, head),  # type: ignore[union-attr]
                        orelse=self._joined([s.orelse for s in every], body, head),  # type: ignore[union-attr]
                    )
                case For():
                    start, stop, step = atoms((s.start, s.stop, s.step) for s in every)  # type: ignore[union-attr]
                    inner = self._joined([s.body for s in every], body, head)  # type: ignore[union-attr]
                    return replace(first, start=start, stop=stop, step=step, body=inner)
                case Loop():
                    return replace(first, body=self._joined([s.body for s in every], body, head))  # type: ignore[union-attr]
                case Push():
                    return replace(
                        first,
                        stack=memory([s.stack for s in every]),  # type: ignore[union-attr]
                        value=atom([s.value for s in every]),  # type: ignore[union-attr]
                    )
                case Call() | Raise():
                    return replace(first, args=atoms(s.args for s in every))  # type: ignore[union-attr]
            return first

        return tuple(map(one, zip(*blocks, strict=True)))

    # what stands in one place in all iterations

    def _atom(self, values: tuple[Atom, ...], body: _Body, head: Emitter) -> Atom:
        found = body.known.get(values)
        if found is None:
            found = body.known[values] = self._of(values, body, head)
        return found

    def _of(self, values: tuple[Atom, ...], body: _Body, head: Emitter) -> Atom:
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
        raise _Unlike

    def _carried(self, name: str, start: Atom, body: _Body) -> Name:
        merged = body.carried.get((name, start))
        if merged is None:
            type_ = self.types[name]
            if self.emitter.type_of(start) != type_ or not isinstance(type_, Scalar | Array):
                raise _Unlike
            merged = body.carried[name, start] = self.emitter.fresh(name, type_)
        return Name(merged)

    def _varying(self, values: tuple[Atom, ...], body: _Body, head: Emitter) -> Atom:
        """Inputs, their extents, or integers."""
        names = [value.id for value in values if isinstance(value, Name)]
        if len(names) == len(values) and self.inputs.issuperset(names):
            column, place = self._column(tuple(names), body, head)
            return self._item(head, column, place)
        owners = [self.dims.get(name, ("", 0)) for name in names]
        arrays = tuple(Name(array) for array, _ in owners)
        one_axis = len(set(owners)) == len(values) and len({axis for _, axis in owners}) == 1
        if one_axis and self.inputs.issuperset(array for array, _ in owners):
            item = self._atom(arrays, body, head)
            return head.let("n", Op("dim", (item, Const(owners[0][1]))), INT64)
        return self._table(values, body, head)

    def _table(self, values: tuple[Atom, ...], body: _Body, head: Emitter) -> Atom:
        entries: list[Entry] = []
        for value in values:
            if isinstance(value, Name):
                if value.id not in self.dims:
                    raise _Unlike
                entries.append(self.dims[value.id])
            elif type(value.value) is int or type(value.value) is float:
                entries.append(value.value)
            else:
                raise _Unlike
        dtype = "float64" if isinstance(values[0], Const) and type(values[0].value) is float else "int64"
        counted = self._counted(entries, body, head)
        if counted is not None:
            return counted
        # `-0.0` is not `0.0`, nor `1` `1.0`
        whole = tuple(map(repr, entries))
        if whole not in self.tables:
            self.tables[whole] = tuple(entries), self.emitter.fresh("numbers", Array(dtype, 1, "C", True))
        return head.let("n", Op("load", (Name(self.tables[whole][1]), Name(body.counter))), Scalar(dtype))

    def _counted(self, entries: Sequence[Entry], body: _Body, head: Emitter) -> Atom | None:
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

    def _column(self, names: tuple[str, ...], body: _Body, head: Emitter) -> tuple[Column, Atom]:
        """The column in which inputs are packed, and their places there."""
        if any(0 < len(group.intersection(names)) < len(set(names)) for group in self.apart):
            raise _Unlike
        found = next((column for column in self.columns if names[0] in column.names), None)
        if found is not None:
            places = [found.names.index(name) for name in names if name in found.names]
            place = self._counted(places, body, head) if len(places) == len(names) else None
            if place is None:
                raise _Unlike
            return found, place
        if len(set(names)) < len(names) or any(set(names) & set(column.names) for column in self.columns):
            raise _Unlike
        type_ = self.types[names[0]]
        assert isinstance(type_, Scalar | Array)
        fresh, vector = self.emitter.fresh, Array("int64", 1, "C", True)
        items = fresh("items", Array(type_.dtype, 1, "C", True))
        ndim = type_.ndim if isinstance(type_, Array) else 0
        starts = fresh("starts", vector) if ndim else ""
        extents = tuple(fresh(f"extents_{axis}", vector) for axis in range(ndim)) if ndim > 1 else ()
        self.columns.append(Column(names, type_, items, starts, extents))
        return self.columns[-1], Name(body.counter)

    def _item(self, out: Emitter, column: Column, place: Atom, name: str = "") -> Name:
        """One of the inputs that are packed, under a name."""
        items, type_ = Name(column.items), column.type
        if isinstance(type_, Scalar):
            return self._named(out, Op("load", (items, place)), type_, name)
        flat = Array(type_.dtype, 1, "C", True)
        after = Const(place.value + 1) if isinstance(place, Const) else out.let("t", Op("+", (place, Const(1))), INT64)  # type: ignore[operator]
        start, stop = (out.let("t", Op("load", (Name(column.starts), one)), INT64) for one in (place, after))
        part = Op("view", (items, Op("slice", (start, stop, Const(None)))))
        if not column.extents:
            return self._named(out, part, flat, name)
        view = out.let("t", part, flat)
        extents = [out.let("n", Op("load", (Name(one), place)), INT64) for one in column.extents]
        return self._named(out, Op("reshape", (view, *extents)), replace(type_, readonly=True), name)

    def _named(self, out: Emitter, value: Expr, type_: Type, name: str) -> Name:
        if not name:
            return out.let("item", value, type_)
        self.types[name] = type_
        out.assign(name, value)
        return Name(name)


def _is_of_arrays(stmt: Stmt, types: dict[str, Type]) -> bool:
    """Whether a statement makes an array, or takes one as a whole."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and isinstance(types.get(stmt.target), Array)
