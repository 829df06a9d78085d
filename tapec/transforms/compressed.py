"""Compressed Jacobians: the columns of one colour in one run.

Columns of one colour have no element in the same row, so that a run in the direction of their sum gives the elements
of all of them.  Curtis, Powell & Reid, On the estimation of sparse Jacobian matrices, J. Inst. Math. Appl. 13 (1974)
117-119; of a Hessian, see Gebremedhin, Manne & Pothen, What color is your Jacobian?, SIAM Review 47 (2005) 629-705.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.random_draws import drawn
from tapec.errors import NotDifferentiable
from tapec.syntax.core import Atom, Const, For, Function, If, Name, Op, Print, Return, Store, walk
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array, Scalar
from tapec.transforms.decision_digests import deciding_integers, digest_of, traced
from tapec.transforms.emitter import Emitter
from tapec.transforms.forward import forward
from tapec.transforms.index_guards import with_guards
from tapec.transforms.jacobian import on_copies
from tapec.transforms.joined_branches import unmarked
from tapec.transforms.numbered_elements import count_of, each_element
from tapec.transforms.reverse import reverse, targets_of
from tapec.transforms.source_sets import source_sets
from tapec.transforms.splice import spliced
from tapec.transforms.ssa import to_ssa

# the kinds of programs, and what asks for them
SPARSE = {
    "sparsity": "sparse_jacobian",
    "columns": "sparse_jacobian",
    "rows": "sparse_jacobian",
    "hessian_sparsity": "sparse_hessian",
    "hessian_columns": "sparse_hessian",
}


def sparse_program(
    kind: str, function: Function, sources: tuple[str, ...], constants: frozenset[str], fuse: bool
) -> tuple[Function, tuple[str, ...]]:
    """The program of one of the kinds `SPARSE`, and its parameters beside those of the function."""
    _check_draws(function)
    if SPARSE[kind] == "sparse_hessian":
        function = replace(function, again=True)
        gradient = reverse(function, sources, constants, unit_seed=True, fuse=fuse).function(function.name)
        function = to_ssa(gradient, constants)
    function = with_guards(function, sources, targets_of(function, shared=False, outputs=None), reads=True)
    function = traced(on_copies(function, constants), constants)
    integers = deciding_integers(function)
    if kind.endswith("sparsity"):
        made = source_sets(function, sources, constants, integers)
    else:
        function = replace(function, body=unmarked(function.body))
        worker = _Compressed(function, constants, integers)
        made = worker.by_rows(sources, fuse) if kind == "rows" else worker.by_columns(sources)
    return made, made.params[len(function.params) :]


def _floats(function: Function) -> tuple[Atom, ...]:
    """The results that are floats."""
    types = function.types
    return tuple(
        value
        for value in function.results
        if (types[value.id].is_float if isinstance(value, Name) else isinstance(value.value, float))
    )


def _places_of_tangents(function: Function) -> list[int]:
    """The positions of the tangents among what the function with tangents returns."""
    floats, found, place = _floats(function), [], 0
    for value in function.results:
        place += 1
        if value in floats:
            found.append(place)
            place += 1
    return found


class _Compressed:
    """A loop over colours, around a run in the direction of one colour.

    function  as `decision_digests.traced` makes it, without marks
    integers  those among its parameters that decide anything

    What is made is a function of the same parameters and of two more, that returns a digest of the decisions:

    colours   int64: the colour of each element that moves, counted from 0; others, such as -1, stand still
    products  row c is filled with what moves where all elements of colour c move by one; there is at least one row.
              Where as many elements move as a row does not have, it is left as it is: the decisions are not those
              that the pattern belongs to
    """

    def __init__(self, function: Function, constants: frozenset[str], integers: tuple[str, ...]) -> None:
        self.function, self.constants = function, constants
        types = dict(function.types)
        self.out = out = Emitter(types, set(types), function.leaving.span)
        self.colours = Name(out.fresh("colours", Array("int64", 1, "C")))
        self.products = Name(out.fresh("products", Array("float64", 2, "C")))
        self.digest = digest_of(integers, out)
        self.ran = False

    def by_columns(self, sources: tuple[str, ...]) -> Function:
        """Elements of the sources move, and by their tangents those of the float results."""
        pushed = forward(self.function, sources, self.constants, "direction")
        dots = pushed.params[len(self.function.params) :]
        tangents = tuple(pushed.results[place] for place in _places_of_tangents(self.function))
        run = replace(pushed, body=(*pushed.body[:-1], Return((*tangents, pushed.results[-1]))))
        # what is printed is printed once
        if any(isinstance(stmt, Print) for stmt in walk(self.function.body)):
            self.run_alone()
        return self.run(tuple(map(Name, sources)), run, dots)

    def by_rows(self, sources: tuple[str, ...], fuse: bool) -> Function:
        """Elements of the float results move, and by their adjoints those of the sources."""
        function, values = self.function, _floats(self.function)
        last = function.leaving
        of_floats = replace(function, body=(*function.body[:-1], replace(last, values=(*values, last.values[-1]))))
        swept = reverse(of_floats, sources, self.constants, fuse=fuse)
        run = swept.function("direction", (*swept.adjoints, swept.values[-1]))
        # for the shapes of the results
        self.run_alone()
        return self.run(values, run, swept.seeds)

    def run_alone(self) -> None:
        """Run the function before all else."""
        self.out.extend(self.function.body[:-1])
        self.ran = True

    def run(self, moving: tuple[Atom, ...], run: Function, dots: tuple[str, ...]) -> Function:
        """The whole function.

        moving  the numbers and arrays whose elements have colours
        run     a function of the same parameters and of a direction `dots` for each of them, which returns what it
                gives in that direction, and a digest of decisions
        """
        out = self.out
        # names of their own within a run as well
        out.taken |= set(run.types)
        found = out.fresh("decided", INT64)
        out.assign(found, Const(0))
        count = out.let("k", Op("dim", (self.products, Const(0))), INT64)
        colour = Name(out.fresh("c", INT64))
        inner = out.child()
        bound = dict(zip(dots, self.directions(inner, moving, dots, colour), strict=True))
        *given, decided = spliced(inner, run, bound, self.constants, prints=not self.ran)
        self.keep(inner, tuple(given), colour)
        inner.assign(found, decided)
        out.add(For(colour.id, Const(0), count, Const(1), tuple(inner.out), span=out.span))
        whole = out.let("trace", Op("tapec_runtime.noted", (self.digest, Name(found))), INT64)
        params = (*self.function.params, self.colours.id, self.products.id)
        return Function(f"{self.function.name}_compressed", params, (*out.out, Return((whole,))), out.types)

    def directions(self, out: Emitter, moving: tuple[Atom, ...], dots: tuple[str, ...], colour: Name) -> list[Atom]:
        """The direction in which all elements of one colour move by one."""
        made: list[str] = []
        for value, dot in zip(moving, dots, strict=True):
            type_ = out.type_of(value)
            if isinstance(type_, Array):
                assert isinstance(value, Name)
                made.append(out.zeros_like(f"{dot}_direction", value.id))
            else:
                made.append(out.fresh(f"{dot}_direction", type_))
        rest = iter(made)

        def visit(inner: Emitter, value: Atom, index: tuple[Atom, ...], place: Atom) -> None:
            name = next(rest)
            own = inner.let("own", Op("load", (self.colours, place)), INT64)
            moves = inner.let("moves", Op("==", (own, colour)), BOOL)
            type_ = inner.types[name]
            element = type_.element if isinstance(type_, Array) else type_
            assert isinstance(element, Scalar)
            by = inner.cast(inner.let("by", Op("ifelse", (moves, Const(1.0), Const(0.0))), FLOAT64), element)
            if isinstance(type_, Array):
                inner.add(Store(name, index, by))
            else:
                inner.assign(name, by)

        each_element(out, moving, visit)
        return [Name(name) for name in made]

    def keep(self, out: Emitter, given: tuple[Atom, ...], colour: Name) -> None:
        """Store what a run gives in the row of a colour, if that is as long."""

        def visit(inner: Emitter, value: Atom, index: tuple[Atom, ...], place: Atom) -> None:
            item, type_ = value, inner.type_of(value)
            if isinstance(type_, Array):
                item = inner.let("t", Op("load", (value, *index)), type_.element)
            inner.add(Store(self.products.id, (colour, place), inner.cast(item, Scalar("float64"))))

        room = out.let("m", Op("dim", (self.products, Const(1))), INT64)
        fits = out.let("fits", Op("==", (count_of(out, given), room)), BOOL)
        inner = out.child()
        each_element(inner, given, visit)
        out.add(If(fits, tuple(inner.out), (), out.span))


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
