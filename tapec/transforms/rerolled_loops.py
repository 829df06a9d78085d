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

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

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
    names_in,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.renaming import replaced
from tapec.syntax.types import INT64, Array, Scalar, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.packed_columns import Entry, PackedResult, Rerolled, taken
from tapec.transforms.repeated_statements import LEAST, key, longest, ways
from tapec.transforms.rerolled_values import Body, NotOneLoop, Values

# statements from which compilation takes longer than that of a loop; and of one without loops or arrays in it, which
# runs faster written out
_LONG, _OF_NUMBERS = 80, 400
# operations of which an integer operand need not be a literal
_COUNTED = frozenset({"load", "slice", "empty", "zeros", "+", "-", "*", "<", ">", "<=", ">=", "==", "!="})


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


class _Rerolling(Values):
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
                except NotOneLoop:
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
        tables = _together(self.of_parts[0], [(name, entries) for entries, name in self.tables.values()])
        counts = _together(self.of_parts[1], [(name, count) for count, name in self.counts.items()])
        outputs = tuple(dict.fromkeys(output for output, _ in self.outputs.values()))
        params = [name for column in self.columns for name in column.params]
        params += [name for name, _ in (*tables, *counts)]
        params += [output.starts for output in outputs if output.starts]
        *body, leaving = out.out
        results: tuple[tuple[int, PackedResult | None, int], ...] = ()
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
                self.item(out, column, Const(column.names.index(name)), name)
            elif name in self.known:
                for inner in names_in(self.known[name]):
                    define(inner)
                out.assign(name, self.known[name])

        for stmt in self.body:
            for inner in walk((stmt,)):
                for name in reads(inner):
                    define(name)
            out.add(stmt)

    def _leaving(self, leaving: Return) -> tuple[Return, tuple[tuple[int, PackedResult | None, int], ...]]:
        """What the program returns, and where its results are among that."""
        values: dict[Atom, int] = {}
        results: list[tuple[int, PackedResult | None, int]] = []
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
            raise NotOneLoop
        body = Body(iterations, self.emitter.fresh("k", INT64))
        outside = written_in(rest)
        first = [name for stmt in walk(iterations[0]) for name in writes(stmt)]
        for k, block in enumerate(iterations):
            names = [name for stmt in walk(block) for name in writes(stmt)]
            own = dict(zip(names, first, strict=True))
            if [own[name] for name in names] != first or len(set(own.values())) < len(own):
                raise NotOneLoop
            if any(name in outside or body.home.setdefault(name, k) != k for name in own):
                raise NotOneLoop
            body.own.append(own)
        returned = rest[-1] if self.whole and isinstance(rest[-1], Return) else None
        read = {name for stmt in walk(rest if returned is None else rest[:-1]) for name in reads(stmt)}
        read |= {name for value in self.known.values() for name in names_in(value)}
        if any(body.home.get(name, count - 1) < count - 1 for name in read):
            raise NotOneLoop
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
            raise NotOneLoop
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

    def _note_outputs(self, returned: Return, body: Body, count: int, read: set[str]) -> None:
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

    def _output(self, own_name: str, names: list[str], body: Body, count: int) -> PackedResult | None:
        type_ = self.types[own_name]
        if not isinstance(type_, Scalar | Array) or self.defined[own_name] != 1:
            return None
        out = self.emitter.child()
        dtype = Const(type_.dtype)
        if isinstance(type_, Scalar):
            items = out.let("out", Op("empty", (dtype, Name(self.counts[count]))), Array(type_.dtype, 1, "C")).id
            body.before += out.out
            return PackedResult(items, type_, "", ((),) * count)
        shapes: list[tuple[Entry, ...]] = []
        for stmts, name in zip(body.iterations, names, strict=True):
            made = next((one for one in stmts if isinstance(one, Assign) and one.target == name), None)
            if made is None or not isinstance(made.value, Op) or made.value.fn not in ("empty", "zeros"):
                return None
            shapes.append(tuple(self.entry(extent) for extent in made.value.args[1:]))  # type: ignore[arg-type]
        starts = self.emitter.fresh("starts", Array("int64", 1, "C", True))
        size = out.let("t", Op("load", (Name(starts), Name(self.counts[count]))), INT64)
        items = out.let("out", Op("zeros", (dtype, size)), Array(type_.dtype, 1, "C")).id
        body.before += out.out
        return PackedResult(items, type_, starts, tuple(shapes))

    def _joined(self, blocks: Sequence[Block], body: Body, head: Emitter) -> Block:
        """One block for all iterations."""

        def atom(values: Sequence[Expr]) -> Atom:
            return self.atom(tuple(values), body, head)  # type: ignore[arg-type]

        def atoms(values: Iterable[Sequence[Expr]]) -> tuple[Atom, ...]:
            return tuple(atom(column) for column in zip(*values, strict=True))

        def expression(values: Sequence[Expr], literal: bool = False) -> Expr:
            first = values[0]
            if not isinstance(first, Op):
                if literal and len(set(values)) > 1 and any(isinstance(value, Const) for value in values):
                    raise NotOneLoop
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
                        value = taken(own, output.items, output.starts, Name(body.counter), extents)
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


def _together(parts: list[Any], own: list[Any]) -> tuple[Any, ...]:
    """Parameters with what they are for, each once."""
    return tuple(dict([*parts, *own]).items())


def _is_of_arrays(stmt: Stmt, types: dict[str, Type]) -> bool:
    """Whether a statement makes an array, or takes one as a whole."""
    if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op) or stmt.value.fn in ("load", "dim"):
        return False
    return any(isinstance(types.get(name), Array) for name in (stmt.target, *names_in(stmt.value)))
