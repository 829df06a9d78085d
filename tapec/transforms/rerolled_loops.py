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

from tapec.analyses.aliases import aliases
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
    Return,
    Stmt,
    Store,
    changed,
    names_in,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.renaming import replaced
from tapec.syntax.types import INT64, Array, Scalar, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.repeated_statements import LEAST, key, longest, ways

# statements from which compilation takes longer than that of a loop; and of one without loops or arrays in it, which runs
# faster written out
_LONG, _OF_NUMBERS = 80, 400
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


@dataclass(frozen=True, eq=False)
class Output:
    """Results of one type that are packed, with their shapes; of arrays, `starts` says where each begins."""

    items: str
    type: Scalar | Array
    starts: str
    shapes: tuple[tuple[Entry, ...], ...]


@dataclass(frozen=True)
class Rerolled:
    """A program with loops for what was written out.

    Its parameters: `inputs`, then those of columns, tables, counts, and where the arrays of outputs begin.

    inputs   the inputs that are what they were
    tables   arrays of numbers: a parameter and the entries of each
    counts   numbers of iterations: a parameter and the number of each
    outputs  results that are packed
    results  for each result of the program before: its place among those of this one, its output, and its place there
    """

    function: Function
    inputs: tuple[str, ...]
    columns: tuple[Column, ...]
    tables: tuple[tuple[str, tuple[Entry, ...]], ...]
    counts: tuple[tuple[str, int], ...]
    outputs: tuple[Output, ...] = ()
    results: tuple[tuple[int, Output | None, int], ...] = ()

    @property
    def packed(self) -> tuple[str, ...]:
        """The parameters that are no inputs."""
        return self.function.params[len(self.inputs) :]

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


def rerolled_wholly(
    function: Function, inputs: Iterable[str], begun: Sequence[Rerolled], adjoints: frozenset[str]
) -> Rerolled | None:
    """A whole program with its loops; results that leave it alone are packed, too.

    begun     what has been rolled in parts of it: their parameters are those of the program
    adjoints  arrays of which an input's adjoint is a view
    """
    worker = _Rerolling(function, set(inputs), (), begun, adjoints)
    worker.run()
    return worker.made() if worker.counts else None


@dataclass
class _Body:
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
    outputs: dict[str, Output] = field(default_factory=dict)


class _Rerolling:
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
        self.begun = {name for one in begun for name in one.packed}
        # results are packed where the program is a whole
        self.whole, self.adjoints = adjoints is not None, adjoints or frozenset()
        self.outputs: dict[str, tuple[Output, int]] = {}
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
                kept = list(self.columns), dict(self.tables), dict(self.counts), dict(self.outputs)
                try:
                    loop, values = self._rolled(stmts, run.period, count, rest)
                except _Unlike:
                    self.columns, self.tables, self.counts, self.outputs = kept
                    continue
                behind = replaced(tuple(self.body[first + len(stmts) :]), values)
                self.body[first:] = [*loop, *behind]
                keys[first : first + len(stmts)] = [numbers.setdefault(object(), len(numbers)) for _ in loop]
                refused.clear()
                break

    def made(self) -> Rerolled:
        """The program."""
        packed = {name for column in self.columns for name in column.names}
        out = self.emitter.child()
        self._add_known(out, packed)
        inputs = tuple(name for name in self.function.params if name not in packed | self.begun)
        tables = tuple((name, entries) for entries, name in self.tables.values())
        counts = tuple((name, count) for count, name in self.counts.items())
        outputs = tuple(dict.fromkeys(output for output, _ in self.outputs.values()))
        params = [name for column in self.columns for name in column.params]
        params += [name for name, _ in (*tables, *counts)]
        params += [output.starts for output in outputs if output.starts]
        *body, leaving = out.out
        results: tuple[tuple[int, Output | None, int], ...] = ()
        if self.whole and isinstance(leaving, Return):
            leaving, results = self._leaving(leaving)
        function = replace(self.function, params=(*inputs, *params), body=(*body, leaving), types=self.types)
        return Rerolled(function, inputs, tuple(self.columns), tables, counts, outputs, results)

    def _add_known(self, out: Emitter, packed: set[str]) -> None:
        """The statements, and before those that read it what is known wherever it is asked for."""
        done: set[str] = set()

        def define(name: str) -> None:
            if name in done:
                return
            done.add(name)
            if name in packed:
                column = next(one for one in self.columns if name in one.names)
                self._item(out, column, Const(column.names.index(name)), name)
            elif name in self.known:
                for inner in names_in(self.known[name]):
                    define(inner)
                out.assign(name, self.known[name])

        for stmt in self.body:
            for inner in walk((stmt,)):
                for name in reads(inner):
                    define(name)
            out.add(stmt)

    def _leaving(self, leaving: Return) -> tuple[Return, tuple[tuple[int, Output | None, int], ...]]:
        """What the program returns, and where its results are among that."""
        values: dict[Atom, int] = {}
        results: list[tuple[int, Output | None, int]] = []
        for value in leaving.values:
            output, place = self.outputs.get(value.id, (None, 0)) if isinstance(value, Name) else (None, 0)
            actual = value if output is None else Name(output.items)
            results.append((values.setdefault(actual, len(values)), output, place))
        return replace(leaving, values=tuple(values)), tuple(results)

    # one loop

    def _rolled(
        self, stmts: list[Stmt], period: int, count: int, rest: Block
    ) -> tuple[list[Stmt], dict[str, Expr]]:
        """The loop for some statements, and what stands behind it for the names of the last iteration."""
        iterations = [tuple(stmts[k * period : (k + 1) * period]) for k in range(count)]
        large = any(isinstance(stmt, For | Loop) or _is_of_arrays(stmt, self.types) for stmt in walk(iterations[0]))
        if sum(1 for _ in walk(stmts)) < (_LONG if large else _OF_NUMBERS):
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
        returned = rest[-1] if self.whole and isinstance(rest[-1], Return) else None
        read = {name for stmt in walk(rest if returned is None else rest[:-1]) for name in reads(stmt)}
        read |= {name for value in self.known.values() for name in names_in(value)}
        if any(body.home.get(name, count - 1) < count - 1 for name in read):
            raise _Unlike
        head = self.emitter.child()
        head.span = getattr(stmts[0], "span", None)
        if count not in self.counts:
            self.counts[count] = self.emitter.fresh("count", INT64)
        if returned is not None:
            self._note_outputs(returned, body, count, read)
        inner = self._joined(iterations, body, head)
        values: dict[str, Expr] = {}
        for (own_name, _), merged in body.carried.items():
            values.update({name: Name(merged) for name, one in body.own[-1].items() if one == own_name})
        left = read if returned is None else read.union(set(reads(returned)) - self.outputs.keys())
        if any(name in body.home and name not in values for name in left):
            # a value that is no iteration's begin is known inside the loop alone
            raise _Unlike
        before = [Assign(merged, start, head.span) for (_, start), merged in body.carried.items()]
        after: list[Stmt] = [
            Store(output.items, (Name(body.counter),), Name(name), False, head.span)
            for name, output in body.outputs.items()
            if isinstance(output.type, Scalar)
        ]
        after += [Assign(merged, Name(own_name), head.span) for (own_name, _), merged in body.carried.items()]
        made = (*head.out, *inner, *after)
        loop = For(body.counter, Const(0), Name(self.counts[count]), Const(1), made, span=head.span)
        return [*body.before, *before, loop], values

    # results

    def _note_outputs(self, returned: Return, body: _Body, count: int, read: set[str]) -> None:
        """Pack what each iteration hands to the caller alone."""
        leaving = [name for name in reads(returned) if name in body.home]
        for own_name in dict.fromkeys(body.own[body.home[name]][name] for name in leaving):
            names = [next(name for name, one in own.items() if one == own_name) for own in body.own]
            if not set(names) <= set(leaving) or not read.isdisjoint(names):
                continue
            output = self._output(own_name, names, body, count)
            if output is not None:
                body.outputs[own_name] = output
                self.outputs.update({name: (output, k) for k, name in enumerate(names)})

    def _output(self, own_name: str, names: list[str], body: _Body, count: int) -> Output | None:
        type_ = self.types[own_name]
        if not isinstance(type_, Scalar | Array) or self.defined[own_name] != 1:
            return None
        out = self.emitter.child()
        dtype = Const(type_.dtype)
        if isinstance(type_, Scalar):
            items = out.let("out", Op("empty", (dtype, Name(self.counts[count]))), Array(type_.dtype, 1, "C")).id
            body.before += out.out
            return Output(items, type_, "", ((),) * count)
        shapes: list[tuple[Entry, ...]] = []
        for stmts, name in zip(body.iterations, names, strict=True):
            made = next((one for one in stmts if isinstance(one, Assign) and one.target == name), None)
            if made is None or not isinstance(made.value, Op) or made.value.fn not in ("empty", "zeros"):
                return None
            shapes.append(tuple(self._entry(extent) for extent in made.value.args[1:]))  # type: ignore[arg-type]
        starts = self.emitter.fresh("starts", Array("int64", 1, "C", True))
        size = out.let("t", Op("load", (Name(starts), Name(self.counts[count]))), INT64)
        items = out.let("out", Op("zeros", (dtype, size)), Array(type_.dtype, 1, "C")).id
        body.before += out.out
        return Output(items, type_, starts, tuple(shapes))

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

        def one(stmts: Sequence[Stmt], own: Emitter) -> Stmt:
            first, every = stmts[0], list(stmts)
            match first:
                case Assign():
                    value = expression([s.value for s in every])  # type: ignore[union-attr]
                    output = body.outputs.get(first.target)
                    if output is not None and output.starts:
                        assert isinstance(value, Op)
                        extents = tuple(own.atom(extent) for extent in value.args[1:])
                        value = _taken(own, output.items, output.starts, Name(body.counter), extents)
                    return replace(first, value=value)
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

        out = self.emitter.child()
        for stmts in zip(*blocks, strict=True):
            out.span = getattr(stmts[0], "span", None)
            out.add(one(stmts, out))
        return tuple(out.out)

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
        """Inputs, what is known of them, or numbers."""
        names = [value.id for value in values if isinstance(value, Name)]
        if len(names) == len(values):
            if self.inputs.issuperset(names):
                column, place = self._column(tuple(names), body, head)
                return self._item(head, column, place)
            if all(name in self.known for name in names) and len(set(names)) == len(names):
                kept = list(head.out), list(self.columns)
                try:
                    found = self._alike([self.known[name] for name in names], body, head)
                    return head.let("t", found, self.types[names[0]])
                except _Unlike:
                    head.out[:], self.columns[:] = kept
        return self._numbers(values, body, head)

    def _alike(self, values: Sequence[Op], body: _Body, head: Emitter) -> Op:
        """One operation for those that differ in their operands alone."""
        first = values[0]
        if any(value.fn != first.fn or len(value.args) != len(first.args) for value in values):
            raise _Unlike
        args: list[Expr] = []
        for column in zip(*(value.args for value in values), strict=True):
            if isinstance(column[0], Op):
                args.append(self._alike(column, body, head))
            elif first.fn == "dim" and isinstance(column[0], Const) and len(set(column)) > 1:
                raise _Unlike
            else:
                args.append(self._atom(column, body, head))
        return Op(first.fn, tuple(args))

    def _entry(self, value: Atom) -> Entry:
        """A number that is known when the program is called."""
        if isinstance(value, Const):
            if type(value.value) is int or type(value.value) is float:
                return value.value
        elif (extent := self._extent(value.id)) is not None:
            return extent
        raise _Unlike

    def _numbers(self, values: tuple[Atom, ...], body: _Body, head: Emitter) -> Atom:
        """Numbers that are known when the program is called, or that it has before the loop."""
        type_ = head.type_of(values[0])
        try:
            entries = [self._entry(value) for value in values]
        except _Unlike:
            return self._gathered(values, type_, body, head)
        counted = self._counted(entries, body, head)
        if counted is not None:
            return counted
        # `-0.0` is not `0.0`, nor `1` `1.0`
        whole = tuple(map(repr, entries))
        if whole not in self.tables:
            assert isinstance(type_, Scalar)
            self.tables[whole] = tuple(entries), self.emitter.fresh("numbers", Array(type_.dtype, 1, "C", True))
        return head.let("n", Op("load", (Name(self.tables[whole][1]), Name(body.counter))), type_)

    def _gathered(self, values: tuple[Atom, ...], type_: Type, body: _Body, head: Emitter) -> Atom:
        """Numbers that the program has before the loop, in an array."""
        if not self.whole or not isinstance(type_, Scalar):
            raise _Unlike
        out = self.emitter.child()
        count = Name(self.counts[len(values)])
        array = out.let("numbers", Op("empty", (Const(type_.dtype), count)), Array(type_.dtype, 1, "C"))
        for k, value in enumerate(values):
            out.add(Store(array.id, (Const(k),), value, False, head.span))
        body.before += out.out
        return head.let("t", Op("load", (array, Name(body.counter))), type_)

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
        value = item_of(out, column, column.items, place)
        type_ = replace(column.type, readonly=True) if isinstance(column.type, Array) else column.type
        if not name:
            return out.let("item", value, type_)
        self.types[name] = type_
        out.assign(name, value)
        return Name(name)


def item_of(out: Emitter, column: Column, items: str, place: Atom) -> Op:
    """An item of what is packed as a column is: the inputs, or their adjoints."""
    if isinstance(column.type, Scalar):
        return Op("load", (Name(items), place))
    extents = [out.let("n", Op("load", (Name(one), place)), INT64) for one in column.extents]
    return _taken(out, items, column.starts, place, tuple(extents))


def _taken(out: Emitter, items: str, starts: str, place: Atom, extents: tuple[Atom, ...]) -> Op:
    """A view of one of the arrays that are packed; of several axes with its extents."""
    after: Atom = Const(place.value + 1) if isinstance(place, Const) else out.let("t", Op("+", (place, Const(1))), INT64)  # type: ignore[operator]
    start, stop = (out.let("t", Op("load", (Name(starts), one)), INT64) for one in (place, after))
    part = Op("view", (Name(items), Op("slice", (start, stop, Const(None)))))
    return part if len(extents) < 2 else Op("reshape", (out.let("t", part, out.types[items]), *extents))


def _is_of_arrays(stmt: Stmt, types: dict[str, Type]) -> bool:
    """Whether a statement makes an array, or takes one as a whole."""
    if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op) or stmt.value.fn in ("load", "dim"):
        return False
    return any(isinstance(types.get(name), Array) for name in (stmt.target, *names_in(stmt.value)))
