"""Compressed Jacobians: the columns of one colour in one direction, and several directions in one run.

Columns of one colour have no element in the same row, so that the direction of their sum gives the elements
of all of them.  Curtis, Powell & Reid, On the estimation of sparse Jacobian matrices, J. Inst. Math. Appl. 13 (1974)
117-119; of a Hessian, see Gebremedhin, Manne & Pothen, What color is your Jacobian?, SIAM Review 47 (2005) 629-705.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tapec.analyses.random_draws import drawn
from tapec.errors import NotDifferentiable
from tapec.remarks import remark
from tapec.syntax.core import Atom, Const, For, Function, If, Name, Op, Print, Return, Store, walk
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array, Scalar, Type
from tapec.transforms.decision_digests import deciding_integers, digest_of, traced
from tapec.transforms.emitter import Emitter
from tapec.transforms.index_guards import with_guards
from tapec.transforms.jacobian import linear_row, on_copies
from tapec.transforms.jacobian_blocks import prepared
from tapec.transforms.jacobian_strips import combined, product
from tapec.transforms.joined_branches import unmarked
from tapec.transforms.lane_loops import by_columns
from tapec.transforms.local_partials import NotLocal
from tapec.transforms.numbered_elements import count_of, each_element
from tapec.transforms.recorded_partials import recorded
from tapec.transforms.reverse import Reversed, reverse, targets_of
from tapec.transforms.source_sets import source_sets
from tapec.transforms.splice import spliced
from tapec.transforms.ssa import to_ssa
from tapec.transforms.stored_partials import stored_partials
from tapec.transforms.vector_forward import vector_forward

# writes a run in some directions, of which the first has a number; what it gives
Directed = Callable[[Emitter, list[Name], Atom], tuple[Atom, ...]]

# the kinds of programs, and what asks for them
SPARSE = {
    **dict.fromkeys(("sparsity", "sets", "elements", "sums", "columns", "rows"), "sparse_jacobian"),
    **dict.fromkeys(
        ("hessian_sparsity", "hessian_sets", "hessian_elements", "hessian_sums", "hessian_columns"), "sparse_hessian"
    ),
}
_BY_ELEMENTS = "elements of the sparse matrix are stored as the function runs"
_BY_COLOURS = "columns of the sparse matrix that share no row are computed together"


def sparse_program(
    kind: str, function: Function, sources: tuple[str, ...], constants: frozenset[str], width: int, fuse: bool
) -> tuple[Function, tuple[str, ...]]:
    """The program of one of the kinds `SPARSE`, and its parameters beside those of the function.

    sparsity        elements in the order of the run where it can store them in that order, else those of `sets`
    elements, sums  the values in that order; of sums, an element may be met several times, or not at all
    columns, rows   the values by colours
    width           how many colours a run serves
    """
    _check_draws(function)
    if SPARSE[kind] == "sparse_hessian":
        function = replace(function, again=True)
        gradient = reverse(function, sources, constants, unit_seed=True, fuse=fuse).function(function.name)
        function = to_ssa(gradient, constants)
    function = with_guards(function, sources, targets_of(function, shared=False, outputs=None), reads=True)
    function = traced(on_copies(function, constants), constants)
    integers = deciding_integers(function)
    dtype = "float32" if all(_is_single(function.types[source]) for source in sources) else "float64"
    part = kind.removeprefix("hessian_")
    if part in ("sparsity", "sets"):
        made = None if part == "sets" else _by_elements(function, sources, constants, integers)
        made = made or source_sets(function, sources, constants, integers)
    elif part in ("elements", "sums"):
        made = stored_partials(function, sources, constants, integers, dtype, part == "sums")
    else:
        function = replace(function, body=unmarked(function.body))
        worker = _Compressed(function, constants, integers, width, dtype)
        made = worker.by_rows(sources, fuse) if kind == "rows" else worker.by_columns(sources)
    return made, made.params[len(function.params) :]


def _by_elements(
    function: Function, sources: tuple[str, ...], constants: frozenset[str], integers: tuple[str, ...]
) -> Function | None:
    """The elements in the order of a run; None if a run cannot store them in that order."""
    try:
        made = recorded(function, sources, constants, integers)
    except NotLocal as reason:
        remark(reason.span, "compressed", _BY_COLOURS, str(reason))
        return None
    remark(function.leaving.span, "compressed", _BY_ELEMENTS, "each result follows from elements that are read for it")
    return made


def _is_single(type_: Type) -> bool:
    return isinstance(type_, Scalar | Array) and type_.dtype == "float32"


def _is_float(value: Atom, types: dict[str, Type]) -> bool:
    return types[value.id].is_float if isinstance(value, Name) else isinstance(value.value, float)


class _Compressed:
    """A loop over strips of colours, around a run in the directions of all colours of a strip.

    function  as `decision_digests.traced` makes it, without marks
    integers  those among its parameters that decide anything
    dtype     of the values

    What is made is a function of the same parameters and of some more, that returns a digest of the decisions:

    colours   int64: the colour of each element that moves, counted from 0; others, such as -1, stand still
    starts    int64: of each strip the first of its elements in the next two, and of the last one their end
    places    int32 or int64: where an element stands in what a run gives, `place * width + lane`
    targets   the same: where it goes in `values`
    values    of the elements of the matrix
    traces    int64: the digests for which all that holds; for others values are left as they are
    """

    def __init__(
        self, function: Function, constants: frozenset[str], integers: tuple[str, ...], width: int, dtype: str
    ) -> None:
        self.function, self.constants, self.width = function, constants, width
        types = dict(function.types)
        self.out = out = Emitter(types, set(types), function.leaving.span)
        kinds = {"colours": "int64", "starts": "int64", "places": "int64", "targets": "int64"}
        self.given = {
            name: Name(out.fresh(name, Array(kind, 1, "C")))
            for name, kind in {**kinds, "values": dtype, "traces": "int64"}.items()
        }
        self.digest = digest_of(integers, out)
        # directions of a run have no axis of lanes
        self.single = False
        self.ran = False

    def by_columns(self, sources: tuple[str, ...]) -> Function:
        """Elements of the sources move, and by their tangents those of the float results."""
        pushed = vector_forward(self.function, sources, self.width, self.constants, units=True)
        # what is printed is printed once
        if any(isinstance(stmt, Print) for stmt in walk(self.function.body)):
            self.run_alone()
        *values, trace = pushed.function.results
        wanted = [
            tangent
            for value, tangent in zip(self.function.results, values, strict=False)
            if _is_float(value, self.function.types)
        ]
        run = _returning(pushed.function, (*wanted, trace))
        self.out.taken |= set(run.types)

        def tangents(out: Emitter, dots: list[Name], first: Atom) -> tuple[Atom, ...]:
            bound: dict[str, Atom] = dict(zip(pushed.dots, dots, strict=True))
            if pushed.begin is not None:
                bound[pushed.begin] = first
            return spliced(out, run, bound, self.constants, prints=not self.ran)

        return self.run(tuple(map(Name, sources)), tangents, pushed.units)

    def by_rows(self, sources: tuple[str, ...], fuse: bool) -> Function:
        """Elements of the float results move, and by their adjoints those of the sources."""
        function = self.function
        *results, trace = function.results
        floats = tuple(value for value in results if _is_float(value, function.types))
        function = _returning(function, (*floats, trace))
        row = linear_row(function, sources, self.constants)
        if row is None:
            return self.by_single_rows(floats, reverse(function, sources, self.constants, fuse=fuse))
        made = vector_forward(row.run, row.seeds, self.width, self.constants, linear=True)
        self.out.taken |= set(made.function.types)
        pull = prepared(self.out, row, self.constants, prints=True)
        if row.before is None:
            # for the shapes of the results
            self.run_alone()
        *values, decided = pull.values or (*floats, trace)

        def adjoints(out: Emitter, dots: list[Name], _: Atom) -> tuple[Atom, ...]:
            # of the adjoints themselves nothing but the shapes is asked for
            bound = dict(zip(row.seeds, values, strict=True)) | dict(zip(made.dots, dots, strict=True))
            return *pull.run(out, made.function, bound), decided

        return self.run(tuple(values), adjoints)

    def by_single_rows(self, values: tuple[Atom, ...], swept: Reversed) -> Function:
        """Adjoints in the direction of one colour after the other."""
        run = swept.function("direction", (*swept.adjoints, swept.values[-1]))
        self.out.taken |= set(run.types)
        self.run_alone()
        self.single, self.width = True, 1

        def adjoints(out: Emitter, dots: list[Name], _: Atom) -> tuple[Atom, ...]:
            return spliced(out, run, dict(zip(swept.seeds, dots, strict=True)), self.constants)

        return self.run(values, adjoints)

    def run_alone(self) -> None:
        """Run the function before all else."""
        self.out.extend(self.function.body[:-1])
        self.ran = True

    def run(self, moving: tuple[Atom, ...], directed: Directed, units: frozenset[str] = frozenset()) -> Function:
        """The whole function.

        moving    the numbers and arrays whose elements have colours
        directed  writes what moves by tangents or adjoints of those, given the first lane's colour, and gives it, and a
                  digest of decisions
        units     those whose colours themselves serve as tangents
        """
        out, given = self.out, self.given
        found = out.fresh("decided", INT64)
        out.assign(found, Const(0))
        last = combined(out, "-", out.let("size", Op("dim", (given["starts"], Const(0))), INT64), Const(1))
        strip, inner = Name(out.fresh("strip", INT64)), out.child()
        first = combined(inner, "*", strip, Const(self.width))
        own = self.directions(out, inner, moving, first, units)
        *moved, decided = directed(inner, own, first)
        inner.assign(found, decided)
        self.keep(inner, inner.let("trace", self.noted(Name(found)), INT64), tuple(moved), strip)
        out.add(For(strip.id, Const(0), last, Const(1), tuple(inner.out), span=out.span))
        whole = out.let("trace", self.noted(Name(found)), INT64)
        params = (*self.function.params, *(name.id for name in given.values()))
        return Function(f"{self.function.name}_compressed", params, (*out.out, Return((whole,))), out.types)

    def noted(self, decided: Atom) -> Op:
        """The digest of a run's decisions, and of the integers that decide."""
        return Op("tapec_runtime.noted", (self.digest, decided))

    def directions(
        self, before: Emitter, out: Emitter, moving: tuple[Atom, ...], first: Atom, units: frozenset[str]
    ) -> list[Name]:
        """In each lane the direction in which all elements of a colour move by one; colours stand `before` the loop."""
        made: list[Name] = []
        place: Atom = Const(0)
        for value in moving:
            if isinstance(value, Name) and value.id in units:
                made.append(self.colours_of(before, value, place))
            else:
                made.append(self.direction(out, value, first, place))
            place = combined(before, "+", place, product(before, before.extents(value)))
        return made

    def colours_of(self, out: Emitter, value: Name, place: Atom) -> Name:
        """The colours of the elements of an array, of which the first one has a place among all."""
        dims = out.extents(value)
        end = combined(out, "+", place, product(out, dims))
        part = Op("view", (self.given["colours"], Op("slice", (place, end, Const(None)))))
        flat = out.let("t", part, Array("int64", 1))
        return out.let(f"{value.id}_colour", Op("reshape", (flat, *dims)), Array("int64", len(dims)))

    def direction(self, out: Emitter, value: Atom, first: Atom, place: Atom) -> Name:
        """In each lane the direction in which the elements of a number or array move."""
        type_ = out.type_of(value)
        assert isinstance(type_, Scalar | Array)
        dims = out.extents(value)
        dims = dims[::-1] if by_columns(type_) else dims
        dims = dims if self.single else [*dims, Const(self.width)]
        if dims:
            unit = out.let("unit", Op("empty", (Const(type_.dtype), *dims)), Array(type_.dtype, len(dims)))
        else:
            unit = Name(out.fresh("unit", type_))

        def visit(inner: Emitter, _: Atom, index: tuple[Atom, ...], number: Atom) -> None:
            own = inner.let("own", Op("load", (self.given["colours"], number)), INT64)
            own = inner.let("own", Op("-", (own, first)), INT64)
            lane = Const(0) if self.single else Name(inner.fresh("lane", INT64))
            each = inner if self.single else inner.child()
            moves = each.let("moves", Op("==", (own, lane)), BOOL)
            by = each.let("by", Op("ifelse", (moves, Const(1.0), Const(0.0))), FLOAT64)
            index = index[::-1] if by_columns(type_) else index
            kind = each.types[unit.id]
            if isinstance(kind, Array):
                lanes = index if self.single else (*index, lane)
                each.add(Store(unit.id, lanes, each.cast(by, kind.element), False, out.span))
            else:
                assert isinstance(kind, Scalar)
                each.assign(unit.id, each.cast(by, kind))
            if isinstance(lane, Name):
                inner.add(For(lane.id, Const(0), Const(self.width), Const(1), tuple(each.out), span=out.span))

        each_element(out, [value], visit, place)
        return self.turned(out, value, unit) if self.single else unit

    def turned(self, out: Emitter, value: Atom, unit: Name) -> Name:
        """An adjoint in the order of its value."""
        type_ = out.type_of(value)
        return out.let("unit", Op("transpose", (unit,)), type_) if by_columns(type_) else unit

    def keep(self, out: Emitter, trace: Atom, given: tuple[Atom, ...], strip: Name) -> None:
        """Store elements of what a run gives where they go, if the run has taken a way for which that is known."""
        ours = self.given
        known = out.fresh("known", BOOL)
        out.assign(known, Const(False))
        inner, k = out.child(), Name(out.fresh("k", INT64))
        one = inner.let("t", Op("load", (ours["traces"], k)), INT64)
        inner.assign(known, Op("or", (Name(known), inner.let("same", Op("==", (one, trace)), BOOL))))
        size = out.let("size", Op("dim", (ours["traces"], Const(0))), INT64)
        out.add(For(k.id, Const(0), size, Const(1), tuple(inner.out), span=out.span))
        inner = out.child()
        flat = self.flat(inner, given)
        start = inner.let("start", Op("load", (ours["starts"], strip)), INT64)
        after = inner.let("t", Op("+", (strip, Const(1))), INT64)
        stop = inner.let("stop", Op("load", (ours["starts"], after)), INT64)
        deepest, k = inner.child(), Name(inner.fresh("k", INT64))
        place = deepest.let("place", Op("load", (ours["places"], k)), INT64)
        target = deepest.let("target", Op("load", (ours["targets"], k)), INT64)
        kind = out.types[ours["values"].id]
        element = inner.types[flat.id]
        assert isinstance(kind, Array) and isinstance(element, Array)
        item = deepest.let("t", Op("load", (flat, place)), element.element)
        deepest.add(Store(ours["values"].id, (target,), deepest.cast(item, kind.element), False, out.span))
        inner.add(For(k.id, start, stop, Const(1), tuple(deepest.out), span=out.span))
        out.add(If(Name(known), tuple(inner.out), (), out.span))

    def flat(self, out: Emitter, given: tuple[Atom, ...]) -> Name:
        """What a run gives, as one row: the elements one after the other, with the lanes of each."""
        if len(given) == 1 and isinstance(given[0], Name):
            type_ = out.types[given[0].id]
            if isinstance(type_, Array) and (type_.layout == "C" or type_.ndim == 1):
                size = product(out, out.extents(given[0]))
                return out.let("flat", Op("reshape", (given[0], size)), Array(type_.dtype, 1))
        count = count_of(out, given)
        made = out.let("flat", Op("empty", (Const("float64"), count)), Array("float64", 1))

        def visit(inner: Emitter, value: Atom, index: tuple[Atom, ...], place: Atom) -> None:
            item, type_ = value, inner.type_of(value)
            if isinstance(type_, Array):
                item = inner.let("t", Op("load", (value, *index)), type_.element)
            inner.add(Store(made.id, (place,), inner.cast(item, FLOAT64)))

        each_element(out, given, visit)
        return made


def _returning(function: Function, values: tuple[Atom, ...]) -> Function:
    """The function with other results."""
    return replace(function, body=(*function.body[:-1], replace(function.leaving, values=values)))


def _check_draws(function: Function) -> None:
    """A run that draws other numbers is one of another function."""
    for stmt in walk(function.body):
        name = drawn(stmt)
        if name is not None:
            raise NotDifferentiable(
                f"a sparse derivative of a function that calls `{name}`",
                stmt.span,
                reason="the function runs once for each colour, and each run would draw other numbers",
                hint="draw before the function and pass the numbers as an argument",
            )
