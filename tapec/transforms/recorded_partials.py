"""Rows and columns of partial derivatives, in the order in which `stored_partials` stores them.

    t = u[i - 1] * u[i]                  column = u_number[i - 1]
    r[i] = rate * t             ->       column_1 = u_number[i]
                                         row = r_number[i]
                                         ...                       # (row, column), (row, column_1)

Elements have numbers: those of the sources count from 1, those of each array that results are stored in from the last
one's.  An array of numbers has the aliasing of its array.  Floats decide nothing in such programs, and are left out.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS, VIEWS
from tapec.syntax.core import (
    Assign,
    Atom,
    Call,
    Const,
    Expr,
    Function,
    If,
    Name,
    Op,
    Print,
    Push,
    Return,
    Stmt,
    Store,
    ends_in_error,
    reads,
)
from tapec.syntax.types import BOOL, INT64, Array, Scalar
from tapec.transforms.decision_digests import digest_of
from tapec.transforms.emitter import Emitter
from tapec.transforms.local_partials import LocalPartials, NotLocal, with_carried
from tapec.transforms.meeting_partials import Read, Stored
from tapec.transforms.numbered_elements import count_of, each_element
from tapec.transforms.ssa import to_ssa
from tapec_runtime.recorded_elements import FIRST, MARK, OVERWRITTEN, USED


def recorded(
    function: Function, sources: tuple[str, ...], constants: frozenset[str], integers: tuple[str, ...]
) -> Function:
    """The function of the same parameters and `sets` that returns numbers for its results, and a digest of decisions.

    function  as `decision_digests.traced` makes it
    integers  those among its parameters that decide anything
    sets      as `tapec_runtime.index_sets.room_for_sets` makes it; `tapec_runtime.recorded_elements` reads it

    raises  NotLocal
    """
    return with_carried(lambda carried: _Recorder(function, sources, constants, carried).record(integers))


class _Recorder(LocalPartials):
    only_reads = True

    def __init__(
        self, function: Function, sources: tuple[str, ...], constants: frozenset[str], carried: dict[str, int]
    ) -> None:
        super().__init__(function, sources, constants, carried)
        self.room = Name(self.out.fresh("sets", Array("int64", 1, "C")))
        self.count, self.next = self.out.fresh("count", INT64), self.out.fresh("number", INT64)
        self.numbers: dict[str, str] = {}
        # of what is stored in the branch at hand, both of whose ways count
        self.rows: dict[tuple[str, tuple[Atom, ...]], Atom] = {}
        # names, and groups of arrays, of which no text is written
        self.dropped: set[str] = set()

    def record(self, integers: tuple[str, ...]) -> Function:
        out = self.out
        for source in self.sources:
            type_ = self.types[source]
            if isinstance(type_, Array):
                self.numbers[source] = self.empty_like(source, out)

        def number(inner: Emitter, source: Atom, index: tuple[Atom, ...], place: Atom) -> None:
            assert isinstance(source, Name)
            if isinstance(self.types[source.id], Array):
                inner.add(Store(self.numbers[source.id], index, place))
            else:
                self.number(source.id, {Read(place): Const(1.0)}, None)

        each_element(out, [Name(source) for source in self.sources], number, first=Const(1))
        out.add(Store(self.room.id, (Const(MARK),), Const(1)))
        out.assign(self.count, Const(FIRST))
        out.assign(self.next, Const(1))
        size = out.let("size", Op("dim", (self.room, Const(0))), INT64)
        self.last = out.let("last", Op("-", (size, Const(2))), INT64)
        self.follow(self.function.body[:-1], out)
        first = self.next_of_results(out)
        self.results_stored(out)
        out.add(Store(self.room.id, (Const(USED),), Name(self.count)))
        values = [value for value in self.function.results[:-1] if out.type_of(value).is_float]
        found = Name(out.fresh("found", Array("int64", 1, "C")))
        out.assign(found.id, Op("empty", (Const("int64"), count_of(out, values))))

        def visit(inner: Emitter, value: Atom, index: tuple[Atom, ...], place: Atom) -> None:
            item: Atom = Const(0)
            if isinstance(value, Name) and isinstance(self.types[value.id], Array):
                if value.id in self.activity:
                    item = inner.let("row", Op("load", (Name(self.numbers_of(value.id)), *index)), INT64)
            elif isinstance(value, Name) and value.id in first:
                item = first[value.id]
            inner.add(Store(found.id, (place,), item))

        each_element(out, values, visit)
        trace = out.let("trace", Op("tapec_runtime.noted", (digest_of(integers, out), Const(0))), INT64)
        params, body = (*self.function.params, self.room.id), (*out.out, Return((found, trace)))
        return to_ssa(Function(f"{self.function.name}_sparsity", params, body, self.types), self.constants)

    def next_of_results(self, out: Emitter) -> dict[str, Atom]:
        """Numbers for results that are numbers."""
        found: dict[str, Atom] = {}
        for value in self.function.results[:-1]:
            if isinstance(value, Name) and isinstance(self.types[value.id], Scalar) and self.partials(value):
                found[value.id] = out.let("row", Name(self.next), INT64)
                out.assign(self.next, Op("+", (Name(self.next), Const(1))))
        self.rows_of_results = found
        return found

    # numbers of elements

    def numbers_of(self, array: str) -> str:
        if array not in self.numbers:
            type_ = self.types[array]
            assert isinstance(type_, Array)
            self.numbers[array] = self.out.fresh(f"{array}_number", Array("int64", type_.ndim, type_.layout))
        return self.numbers[array]

    def empty_like(self, array: str, out: Emitter) -> str:
        """Room for the numbers of an array, in the same order in memory."""
        type_, base = self.types[array], f"{array}_number"
        assert isinstance(type_, Array)
        dims = out.extents(Name(array))
        if type_.layout == "F" and type_.ndim > 1:
            rows = out.let("t", Op("empty", (Const("int64"), *reversed(dims))), Array("int64", type_.ndim))
            return out.let(base, Op("transpose", (rows,)), Array("int64", type_.ndim, "F")).id
        return out.let(base, Op("empty", (Const("int64"), *dims)), Array("int64", type_.ndim)).id

    def memory(self, stmt: Assign, out: Emitter) -> None:
        super().memory(stmt, out)
        target, value = stmt.target, stmt.value
        stored = self.classes.find(target) in self.stored_in
        numbers = self.numbers_of(target)
        if isinstance(value, Name):
            if value.id not in self.activity:
                raise NotLocal(f"`{target}` is one of several arrays", stmt.span)
            out.assign(numbers, Name(self.numbers_of(value.id)))
            return
        assert isinstance(value, Op)
        origin = value.args[0]
        if value.fn in VIEWS or (value.fn == "copy" and not stored):
            assert isinstance(origin, Name)
            out.assign(numbers, Op(value.fn, (Name(self.numbers_of(origin.id)), *value.args[1:])))
            return
        if value.fn in ALLOCATIONS and not stored:
            out.assign(numbers, Op("zeros", (Const("int64"), *value.args[1:])))
            return
        if value.fn in ALLOCATIONS:
            out.assign(numbers, Op("empty", (Const("int64"), *value.args[1:])))
        else:
            out.assign(numbers, Name(self.empty_like(target, out)))

        def number(inner: Emitter, index: tuple[Atom, ...]) -> None:
            inner.add(Store(numbers, index, Name(self.next)))
            inner.assign(self.next, Op("+", (Name(self.next), Const(1))))

        out.each(numbers, number)

    def column(self, array: str, index: tuple[Expr, ...], out: Emitter) -> Atom:
        return self.number_at("column", array, index, out)

    def number_at(self, base: str, array: str, index: tuple[Expr, ...], out: Emitter) -> Atom:
        # the way not taken may ask for an element that is not there
        fn = "load" if self.waiting is None else "tapec_runtime.set_at"
        return out.let(base, Op(fn, (Name(self.numbers_of(array)), *index)), INT64)

    def store(self, stored: Stored, out: Emitter) -> None:
        # where it is, subscripts are known
        place = stored.array, stored.index
        row = self.rows.get(place) if self.waiting is not None else None
        if row is None:
            row = self.number_at("row", *place, out)
        if self.waiting is not None:
            self.rows[place] = row
        super().store(replace(stored, index=(row,)), out)

    def joined(self, stmt: If, out: Emitter) -> None:
        if self.waiting is None:
            self.rows.clear()
        super().joined(stmt, out)

    def write(self, stored: Stored, out: Emitter) -> None:
        row = stored.index[0] if stored.index else self.rows_of_results[stored.array]
        if not stored.accumulate:
            self.note(row, Const(OVERWRITTEN), out)
        for read in stored.partials:
            self.note(row, read.column, out)

    def note(self, row: Atom, column: Atom, out: Emitter) -> None:
        """Note a row and a column, if there is room for them."""
        inner = out.child()
        inner.add(Store(self.room.id, (Name(self.count),), row))
        inner.add(Store(self.room.id, (inner.atom(Op("+", (Name(self.count), Const(1)))),), column))
        test = out.atom(Op("<=", (Name(self.count), self.last)))
        out.add(If(test, tuple(inner.out), (), out.span))
        out.assign(self.count, Op("+", (Name(self.count), Const(2))))

    # what is left out

    def keep(self, stmt: Stmt, out: Emitter) -> None:
        drops = any(self.key(name) in self.dropped for name in reads(stmt))
        match stmt:
            case Assign(target=target) if isinstance(self.types[target], Scalar):
                if drops or self.types[target].is_float or (self.waiting is not None and self.types[target] == BOOL):
                    self.dropped.add(target)
                    return
            case Store(array=array) if drops or self.types[array].is_float:
                if not self.types[array].is_float:
                    self.dropped.add(self.key(array))
                return
            case Call(targets=targets) if drops:
                self.dropped |= {self.key(target) for target in targets}
                return
            case Print():
                return  # the values are computed by another program, which prints
            case Assign() | Push() if drops:
                raise NotLocal("extents or lists depend on numbers that it is given", stmt.span)
        out.add(stmt)

    def key(self, name: str) -> str:
        return self.classes.find(name) if isinstance(self.types.get(name), Array) else name

    def keep_branch(self, stmt: If, out: Emitter) -> None:
        if not any(self.key(name) in self.dropped for name in reads(stmt)):
            out.add(stmt)
        elif not ends_in_error(stmt.body) or stmt.orelse:
            raise NotLocal("what it does depends on the numbers that it is given", stmt.span)

    def way(self, out: Emitter) -> Emitter:
        # numbers of elements are found for both ways
        return out

    def keep_way(self, stmt: If, out: Emitter) -> None:
        pass
