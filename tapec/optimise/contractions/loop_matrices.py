"""The matrices that a nest of three loops multiplies, and the loops that fill them.

A factor is the element of an array that is there already, or it is computed: a nest of two loops over its own two
variables keeps it in a matrix then, with what it needs of the three loops' statements.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tapec.optimise.buffers.covering_nests import Nests
from tapec.optimise.contractions.loop_nests import Nest, Refused
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Assign, Atom, Const, Expr, Name, Op, Stmt, Store, reads, writes
from tapec.syntax.types import BOOL, INT64, Array, Scalar, Type


class NestMatrices:
    """Writes matrices of factors; `out` are the statements so far."""

    def __init__(self, nest: Nest, nests: Nests, fresh: Fresh) -> None:
        self.nest, self.nests, self.fresh = nest, nests, fresh
        self.span = nest.outer.span
        self.out: list[Stmt] = []
        # the matrices of factors, by what their elements are
        self.matrices: dict[tuple[tuple[Expr, tuple[Expr, Expr]], bool], str] = {}
        # those of what is computed before the third loop and used after it
        self.kept: dict[str, str] = {}
        self.last: Atom | None = None
        # what computes the numbers that two loops tell apart at most
        early = [stmt for stmt in (*nest.head, *nest.before) if isinstance(stmt, Assign)]
        added = {name for total, (made, _) in nest.sums.items() for name in (total, made)} | nest.multiples.keys()
        inner = [stmt for stmt in nest.assignments() if stmt.target not in added]
        self.own = {stmt.target: stmt for stmt in (*early, *inner)}

    # extents

    def end(self) -> Atom:
        """Where the third loop ends at last."""
        if self.last is None:
            self.last = self.nest.inner.stop
            follows, offset = self.nest.bound(self.last) or (False, 0)
            if follows:
                middle = self.nest.middle.stop
                self.last = middle if offset == 1 else self.computed(Op("+", (middle, Const(offset - 1))), INT64)
        return self.last

    def begin(self) -> Const:
        """Where the third loop begins at first."""
        follows, offset = self.nest.bound(self.nest.inner.start) or (False, 0)
        return Const(offset if follows else 0)

    def extent(self, var: str) -> Atom:
        return {self.nest.i: self.nest.outer.stop, self.nest.j: self.nest.middle.stop}.get(var) or self.end()

    # names

    def computed(self, value: Expr, type_: Type) -> Name:
        name = Name(self.fresh("t" if type_ == BOOL else "n", type_))
        self.out.append(Assign(name.id, value, self.span))
        return name

    def matrix(self, name: str) -> Array:
        type_ = self.fresh.types[name]
        assert isinstance(type_, Scalar)
        return Array(type_.dtype, 2)

    def matrix_type(self, array: str) -> Array:
        type_ = self.fresh.types[array]
        assert isinstance(type_, Array)
        return type_

    # matrices

    def factor(self, name: str, turned: bool = False) -> str:
        """The matrix of a factor, perhaps in transpose, and if need be the loops that fill it."""
        nest = self.nest
        rows, columns = (var for var in (nest.i, nest.j, nest.k) if var in nest.counted[name])
        found = self.itself(name, rows, columns, turned)
        if found is not None:
            return found
        key = self.key(name, (rows, columns)), turned
        if key not in self.matrices:
            array = self.matrices[key] = self.made(name, rows, columns, turned)
            index = (Name(columns), Name(rows)) if turned else (Name(rows), Name(columns))
            self.nested(rows, columns, [Store(array, index, Name(name), span=self.span)], self.out)
        return self.matrices[key]

    def itself(self, name: str, rows: str, columns: str, turned: bool) -> str | None:
        """An array of which a factor is the element of each iteration, if that is the whole array."""
        match self.own[name]:
            case Assign(value=Op(fn="load", args=(Name(id=array), Name(id=first), Name(id=second)))) as stmt:
                type_ = self.fresh.types[array]
                whole = [self.nests.size(self.extent(var)) for var in (first, second) if var in (rows, columns)]
                sizes = [self.nests.size(Op("dim", (Name(array), Const(axis)))) for axis in (0, 1)]
                contiguous = isinstance(type_, Array) and type_.layout in ("C", "F")
                if contiguous and self.nest.is_pure(stmt) and whole == sizes and not self.is_partial(rows, columns):
                    return array if turned == (first == columns) else self.transposed(array)
        return None

    def is_partial(self, rows: str, columns: str) -> bool:
        """Whether iterations do not get to all elements of a matrix."""
        cut = rows == self.nest.j and self.nest.triangular
        return columns == self.nest.k and (cut or self.begin() != Const(0))

    def key(self, name: str, counters: tuple[str, str]) -> tuple[Expr, tuple[Expr, Expr]]:
        """The same for factors that are the same matrix."""
        whole = (self.extent(counters[0]), self.extent(counters[1]))
        renamed = {} if self.is_partial(*counters) else {counters[0]: "", counters[1]: " "}
        return self.inlined(Name(name), renamed), whole

    def inlined(self, value: Expr, renamed: dict[str, str]) -> Expr:
        """A value in terms of loops' variables and of what is set outside the nest."""
        if isinstance(value, Op):
            return Op(value.fn, tuple(self.inlined(arg, renamed) for arg in value.args))
        if isinstance(value, Name) and value.id in renamed:
            return Name(renamed[value.id])
        made = self.own.get(value.id) if isinstance(value, Name) else None
        return value if made is None or not self.nest.is_pure(made) else self.inlined(made.value, renamed)

    def made(self, name: str, rows: str, columns: str, turned: bool = False) -> str:
        """A new matrix for a factor; zero where no iteration gets to."""
        array = self.fresh("a", self.matrix(name))
        self.allocate(array, (columns, rows) if turned else (rows, columns), self.is_partial(rows, columns))
        return array

    def allocate(self, array: str, counters: tuple[str, str], zero: bool) -> None:
        sizes = map(self.extent, counters)
        how = "zeros" if zero else "empty"
        self.out.append(Assign(array, Op(how, (Const(self.matrix_type(array).dtype), *sizes)), self.span))

    def transposed(self, array: str) -> str:
        type_ = self.matrix_type(array)
        name = self.fresh("t", replace(type_, layout="C" if type_.layout == "F" else "F"))
        self.out.append(Assign(name, Op("transpose", (Name(array),)), self.span))
        return name

    # loops

    def nested(self, rows: str, columns: str, body: list[Stmt], out: list[Stmt]) -> None:
        """Two loops around some statements, if there are any, with what computes the names that these read."""
        if not body:
            return
        nest = self.nest
        outer = nest.outer if rows == nest.i else nest.middle
        inner = nest.middle if columns == nest.j else nest.inner
        if (rows, columns) == (nest.i, nest.k):
            inner = replace(inner, start=self.begin(), stop=self.end())
        needed = self.computing({*needed_by(body, nest.sums), *reads(inner)}, {rows, columns})
        # what an iteration of the inner loop adds to begins anew in each of them
        around = tuple(stmt for stmt in needed if nest.counted[stmt.target] <= {rows} and stmt.target not in nest.sums)
        within = tuple(stmt for stmt in needed if not any(stmt is one for one in around))
        if not {stmt.target for stmt in within}.isdisjoint(reads(inner)):
            raise Refused
        out.append(replace(outer, body=(*around, replace(inner, body=(*within, *body)))))

    def computing(self, wanted: set[str], counters: set[str]) -> list[Assign]:
        """The statements that compute some names, of those that only the given variables tell apart."""
        nest = self.nest
        found: list[Assign] = []
        for name, stmt in reversed(self.own.items()):
            if name not in wanted:
                continue
            if not nest.counted[name] <= counters:
                raise Refused
            if nest.is_pure(stmt):
                found.append(stmt)
                wanted |= {one for one in reads(stmt) if one in self.own}
            elif counters == {nest.i, nest.j} and any(stmt is one for one in nest.before):
                if name not in self.kept:
                    self.kept[name] = self.fresh("a", self.matrix(name))
                load = Op("load", (Name(self.kept[name]), Name(nest.i), Name(nest.j)))
                found.append(replace(stmt, value=load))
            else:
                raise Refused
        return found[::-1]


def needed_by(body: Iterable[Stmt], sums: Iterable[str]) -> set[str]:
    """The names that some statements read and do not set, and the sums that they add to."""
    body = list(body)
    own = {name for stmt in body for name in writes(stmt)}.difference(sums)
    return {name for stmt in body for name in reads(stmt)} - own
