"""Jacobians: the derivatives of a function's results by its sources, in strips of rows or columns.

By rows, a reverse sweep pulls unit vectors of the results back, several at once; by columns, the function runs with
the tangents of several elements of its sources.  Before that the function runs by itself, for
the shapes.  All its runs must be alike: it works on copies of arrays that it writes, prints
once, and may not draw random numbers.

Griewank & Walther, Evaluating Derivatives, 2nd ed., section 3.2.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.aliases import aliases
from tapec.analyses.index_ranges import IndexRanges
from tapec.analyses.random_draws import drawn
from tapec.errors import NotDifferentiable
from tapec.remarks import remark
from tapec.syntax.core import Atom, Const, Function, If, Name, Op, Raise, Return, changed, walk
from tapec.syntax.custom_rule import custom_of
from tapec.syntax.linear import Sum
from tapec.syntax.types import Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.forward import forward
from tapec.transforms.index_guards import with_guards, with_lasting_tests
from tapec.transforms.jacobian_blocks import (
    APART,
    TOGETHER,
    BegunRow,
    Row,
    allocated,
    fill,
    fill_rows,
    halves,
    prepared,
)
from tapec.transforms.jacobian_strips import WIDTH, Strips
from tapec.transforms.reverse import reverse, targets_of
from tapec.transforms.splice import spliced
from tapec.transforms.ssa import to_ssa
from tapec.transforms.taylor import taylor
from tapec.transforms.transposition import NotLinear
from tapec.transforms.vector_forward import vector_forward

# a reverse sweep costs about as much as two forward ones: Griewank & Walther, table 4.4
_ROW = 2

_BY_ROWS = f"the Jacobian comes by rows: a reverse sweep gives {WIDTH} of them"
_BY_COLUMNS = f"the Jacobian comes by columns: a run in forward mode gives {WIDTH} of them"
_COST = f"a row costs {_ROW} columns"
_BY_EITHER = f"the Jacobian comes by rows, or by columns where those cost less, {WIDTH} in a run"

# how the blocks of each kind of derivative are computed
JACOBIANS = {"jacobian": "auto", "jacfwd": "forward", "jacrev": "reverse", "hessian": "reverse"}


def blocks_of(
    kind: str,
    function: Function,
    sources: tuple[str, ...],
    constants: frozenset[str],
    fuse: bool = False,
    beside: int = 0,
) -> Function:
    """The function that returns the first derivatives of `function`, or its second ones, as blocks.

    beside  how many of its last results are returned as they are, behind the blocks
    """
    function = replace(function, again=function.again or kind == "hessian")
    first = jacobian(function, sources, constants, JACOBIANS[kind], fuse=fuse, beside=beside)
    if kind != "hessian":
        return first
    try:
        return jacobian(first, sources, constants, "forward", beside=beside)
    except NotDifferentiable:
        # a custom gradient has no forward mode
        return jacobian(first, sources, constants, "reverse", beside=beside)


def directed(
    function: Function, sources: tuple[str, ...], constants: frozenset[str], fuse: bool = False
) -> Function:
    """The function that also takes a vector `x_dot` for each source, and returns the Hessian's products with it.

    What the function returns behind its first result is returned behind these.
    """
    swept = reverse(replace(function, again=True), sources, constants, unit_seed=True, fuse=fuse)
    beside = swept.values[1:]
    gradient = to_ssa(swept.function(function.name, (*swept.adjoints, *beside)), constants)
    gradient = with_lasting_tests(gradient, sources, targets_of(gradient, shared=False, outputs=None))
    made = pushed(gradient, sources, constants)
    products = 2 * len(swept.adjoints)
    values, given = [], iter(made.results[products:])
    for value in gradient.results[len(swept.adjoints) :]:
        values.append(next(given))
        if gradient.types[value.id].is_float if isinstance(value, Name) else isinstance(value.value, float):
            next(given)
    return replace(made, body=(*made.body[:-1], Return((*made.results[1:products:2], *values))))


def pushed(
    function: Function, sources: tuple[str, ...], constants: frozenset[str], order: int | None = None
) -> Function:
    """`forward`, or of an order `taylor`, with the checks and copies that tangents of a user's need."""
    if order is None:
        made = forward(function, sources, constants)
    else:
        made = taylor(function, sources, constants, order, function.name, 1)
    vectors = made.params[len(function.params) :]
    out = Emitter(made.types, set(made.types), made.body[-1].span)
    for source, vector in zip(sources, vectors, strict=True):
        _check_shape(out, source, vector)
    # a tangent is written into wherever its array is; the vector stays as it is
    return on_copies(replace(made, body=(*out.out, *made.body)), constants, vectors)


def _check_shape(out: Emitter, source: str, vector: str) -> None:
    for ours, theirs in zip(out.extents(Name(source)), out.extents(Name(vector)), strict=True):
        differs = out.atom(Op("!=", (ours, theirs)))
        message = Const(f"the vector for `{source}` has another shape than `{source}`")
        out.add(If(differs, (Raise("ValueError", (message,), out.span),), (), out.span))


def jacobian(
    function: Function,
    sources: tuple[str, ...],
    constants: frozenset[str] = frozenset(),
    mode: str = "auto",
    values: bool = False,
    batch: bool = False,
    independent: bool = False,
    fuse: bool = False,
    beside: int = 0,
) -> Function:
    """The function that returns, for each float result of `function`, a block for each source.

    mode     "reverse" goes by rows, "forward" by columns, "auto" by what costs less: by the types
             where results or sources are numbers alone, otherwise by the shapes at run time
    values   return the float results themselves before the blocks
    batch    all sources and results are batches, by their first axis: of a block only the part where
             result and source belong to one example, of shape (batch, result's rest, source's rest)
    independent  the examples of a batch do not depend on one another: a run serves all of them at once
    fuse     a sweep that runs for one row alone reverses iterations of loops as soon as they have run
    beside   how many of the last results have no blocks, and are returned behind those of the others
    returns  a function of the same parameters, in single assignment.  A block has the shape of the
             result followed by that of the source, and the dtype of the source
    raises   NotDifferentiable  for functions that draw random numbers
    """
    examples = None if not batch else TOGETHER if independent else APART
    return _Jacobian(function, sources, constants, mode, examples, fuse, beside).run(values)


class _Jacobian:
    def __init__(
        self,
        function: Function,
        sources: tuple[str, ...],
        constants: frozenset[str],
        mode: str,
        examples: str | None,
        fuse: bool,
        beside: int,
    ) -> None:
        self.examples = examples
        self.fuse = fuse
        # by columns, tangents are loaded where the function loads, which may be dropped itself
        first = len(function.results) - beside
        self.rows_alone = mode == "reverse" or (mode == "auto" and not _arrays(function, function.results[:first]))
        targets = targets_of(function, shared=False, outputs=None)
        function = with_guards(function, sources, targets, reads=not self.rows_alone)
        self.function = function = on_copies(function, constants)
        self.sources, self.constants, self.mode, self.span = sources, constants, mode, function.leaving.span
        types = dict(function.types)
        self.out = Emitter(types, set(types), self.span)
        self.values = tuple(value for value in function.results[:first] if self.out.type_of(value).is_float)
        self.beside = function.results[first:]
        # whether the function has run by itself
        self.ran = False

    def run(self, values: bool) -> Function:
        out, params = self.out, self.function.params
        if values or self.beside:
            self.check_draws(True)
            out.extend(self.function.body[:-1])
            self.ran = True
        numbers_out = not any(isinstance(out.type_of(value), Array) for value in self.values)
        numbers_in = not any(isinstance(out.types[source], Array) for source in self.sources)
        columns = None if self.rows_alone else self.columns()
        if columns is None and numbers_out and len(self.values) == 1:
            self.tell("one reverse sweep gives the only row", "the result is one number")
            blocks = self.single_row()
        elif columns is None:
            why = "the results are numbers" if numbers_out else "the function has no forward mode"
            self.tell(_BY_ROWS, "this derivative is one of reverse mode" if self.mode == "reverse" else why)
            blocks = self.common(True, None)
        elif numbers_in and len(self.sources) == 1:
            self.tell("one run in forward mode gives the only column", "the argument is one number")
            blocks = self.single_column()
        else:
            either = self.mode == "auto" and not numbers_in
            rows = self.known_way() if either else False
            if rows is None:
                self.tell(_BY_EITHER, f"the shapes decide: {_COST}")
            elif rows:
                self.tell(_BY_ROWS, f"{_COST}, and there are never fewer than {_ROW} times as many columns")
            elif self.mode == "forward":
                self.tell(_BY_COLUMNS, "this derivative is one of forward mode")
            else:
                why = f"{_COST}, and there are never more than {_ROW} times as many columns"
                self.tell(_BY_COLUMNS, "the arguments are numbers" if numbers_in else why)
            blocks = self.common(rows is not False, None if rows else columns)
        body = (*out.out, Return((*(self.values if values else ()), *blocks, *self.beside), self.span))
        return replace(self.function, params=params, body=body, types=out.types, shared=(), few=())

    def tell(self, way: str, why: str) -> None:
        remark(self.span, "jacobian", way, why)

    def returning(self, values: tuple[Atom, ...]) -> Function:
        """The function with other results."""
        return replace(self.function, body=(*self.function.body[:-1], Return(values, self.span)))

    def columns(self) -> Strips | None:
        """The unit vectors of the sources; None if the function has no forward mode."""
        try:
            forward(self.returning(self.values), self.sources, self.constants)
        except NotDifferentiable:
            if self.mode == "forward":
                raise
            return None
        return Strips(self.out, [Name(source) for source in self.sources], self.examples)

    def known_way(self) -> bool | None:
        """Whether rows cost less than columns, for all arguments; None if that depends on their shapes."""
        ranges = IndexRanges(self.function)
        rows, columns = (self.known_size(ranges, atoms) for atoms in (self.values, tuple(map(Name, self.sources))))
        if rows is None or columns is None:
            return None
        apart = rows.times(_ROW).plus(columns, -1)
        last = self.function.leaving
        here, given = ranges.scopes.of[last.key], tuple(ranges.given(last))
        if ranges.integers.never_negative(apart, here, given=given):
            return False
        return True if ranges.integers.never_negative(apart.times(-1), here, given=given) else None

    def known_size(self, ranges: IndexRanges, atoms: tuple[Atom, ...]) -> Sum | None:
        """How many numbers there are in all of `atoms`, by extents of the arguments."""
        total = Sum()
        for atom in atoms:
            type_, count = self.out.type_of(atom), Sum(number=1)
            for axis in range(type_.ndim if isinstance(type_, Array) else 0):
                assert isinstance(atom, Name)
                extent = ranges.size(atom.id, axis)
                if extent is None:
                    return None
                count = count.product(extent)
            total = total.plus(count)
        return total

    # one run serves everything

    def single_row(self) -> list[Atom]:
        """The only value is a number: a gradient."""
        row = reverse(self.returning(self.values), self.sources, self.constants, unit_seed=True, fuse=self.fuse)
        return list(spliced(self.out, row.function("row"), {}, self.constants, not self.ran))

    def single_column(self) -> list[Atom]:
        """The only source is a number: its tangents."""
        (source,) = self.sources
        type_ = self.out.types[source]
        assert isinstance(type_, Scalar)
        made = forward(self.returning(self.values), (source,), self.constants, "column")
        column = replace(made, body=(*made.body[:-1], Return(made.results[1::2])))
        one = self.out.cast(Const(1.0), type_)
        tangents = spliced(self.out, column, {made.params[-1]: one}, self.constants, not self.ran)
        return [self.converted(tangent, type_) for tangent in tangents]

    def converted(self, tangent: Atom, type_: Scalar) -> Atom:
        """A tangent in the dtype of its source."""
        own = self.out.type_of(tangent)
        if isinstance(own, Scalar):
            return self.out.cast(tangent, type_)
        if own == Array(type_.dtype, own.ndim, own.layout):  # type: ignore[union-attr]
            return tangent
        block = allocated(self.out, "block", tangent, Const(1.0), type_.dtype)
        fill(self.out, block, tangent, lambda index: index)
        return block

    # strips

    def common(self, rows: bool, columns: Strips | None) -> list[Atom]:
        """Blocks that either way fills; the shapes choose where both are there."""
        self.check_draws(True)
        out = self.out
        row = linear_row(self.returning(self.values), self.sources, self.constants) if rows else None
        if rows and columns is None and row is not None and row.before is not None and not self.ran:
            # its forward sweep is a run
            return self.by_rows(row)
        if not self.ran:
            out.extend(self.function.body[:-1])
        grid = self.grid(self.values)
        by_rows, by_columns = out.child(), out.child()
        if row is not None:
            self.fill_rows(by_rows, row, self.values, prepared(by_rows, row, self.constants), grid)
        elif rows:
            self.fill_single_rows(by_rows, grid)
        if columns is not None:
            self.fill_columns(by_columns, columns, grid)
        if not rows or columns is None:
            out.extend(by_rows.out or by_columns.out)
        else:
            weighted = Op("*", (Const(_ROW), self.size(self.values)))
            test = out.atom(Op("<=", (weighted, self.size(tuple(Name(source) for source in self.sources)))))
            out.add(If(test, tuple(by_rows.out), tuple(by_columns.out), self.span))
        return self.results(grid)

    def by_rows(self, row: Row) -> list[Atom]:
        """Blocks of rows, by a function that has not run by itself."""
        pull = prepared(self.out, row, self.constants, prints=True)
        grid = self.grid(pull.values)
        self.fill_rows(self.out, row, pull.values, pull, grid)
        return self.results(grid)

    def grid(self, values: tuple[Atom, ...]) -> list[list[Name]]:
        """A block for each value and source, not filled yet."""
        return [
            [self.block(own, value, source) for source in self.sources]
            for own, value in zip(self.values, values, strict=True)
        ]

    def results(self, grid: list[list[Name]]) -> list[Atom]:
        """The blocks as they are returned."""
        return [
            self.result(block, value, source)
            for value, line in zip(self.values, grid, strict=True)
            for source, block in zip(self.sources, line, strict=True)
        ]

    def fill_columns(self, out: Emitter, strips: Strips, grid: list[list[Name]]) -> None:
        """Push strips of unit vectors forward, into columns of the blocks."""
        made = vector_forward(self.returning(self.values), self.sources, strips.width, self.constants)

        def body(inner: Emitter, units: list[Name], first: Atom) -> None:
            bound: dict[str, Atom] = dict(zip(made.dots, units, strict=True))
            tangents = spliced(inner, made.function, bound, self.constants)
            for line, tangent in zip(grid, tangents, strict=True):
                assert isinstance(tangent, Name)
                shape = inner.extents(tangent)[:-1]
                for k, block in enumerate(line):
                    strips.fill(inner, k, first, block, tangent, shape, rows=False)

        strips.each(out, body)

    def fill_rows(
        self, out: Emitter, row: Row, values: tuple[Atom, ...], pull: BegunRow, grid: list[list[Name]]
    ) -> None:
        """Pull strips of unit vectors back, into rows of the blocks."""
        strips = Strips(out, values, self.examples)
        # the lanes of a single strip are the rows of a block
        whole = strips.single and len(values) == 1
        made = vector_forward(row.run, row.seeds, strips.width, self.constants, linear=True, leading=whole)
        # of the adjoints themselves nothing but the shapes is asked for
        shapes = dict(zip(row.seeds, values, strict=True))

        def body(inner: Emitter, units: list[Name], first: Atom) -> None:
            adjoints = pull.run(inner, made.function, shapes | dict(zip(made.dots, units, strict=True)))
            for place, (adjoint, leads) in enumerate(zip(adjoints, made.first, strict=True)):
                assert isinstance(adjoint, Name)
                for k, line in enumerate(grid):
                    if leads:
                        line[place] = strips.whole(inner, adjoint)
                    else:
                        shape = inner.extents(adjoint)[:-1]
                        strips.fill(inner, k, first, line[place], adjoint, shape, rows=True)

        strips.each(out, body)

    def fill_single_rows(self, out: Emitter, grid: list[list[Name]]) -> None:
        """Pull unit vectors back one at a time, into rows of the blocks."""
        for value, line in zip(self.values, grid, strict=True):
            swept = reverse(self.returning((value,)), self.sources, self.constants)
            fill_rows(out, value, halves(swept, self.constants) or Row.of(swept), line, self.constants, self.examples)

    def block(self, own: Atom, value: Atom, source: str) -> Name:
        label = f"{own.id if isinstance(own, Name) else 'result'}_by_{source}"
        type_ = self.out.types[source]
        assert isinstance(type_, Scalar | Array)
        made = allocated(self.out, label, value, Name(source), type_.dtype, self.examples is not None)
        if isinstance(self.out.types[made.id], Array):
            return made
        # a number is filled as an array of one
        return self.out.let(label, Op("empty", (Const(type_.dtype), Const(1))), Array(type_.dtype, 1))

    def result(self, block: Name, value: Atom, source: str) -> Atom:
        """A block as it is returned: that of two numbers is a number."""
        type_ = self.out.types[source]
        if isinstance(type_, Array) or isinstance(self.out.type_of(value), Array):
            return block
        assert isinstance(type_, Scalar)
        return self.out.let("t", Op("load", (block, Const(0))), type_)

    def size(self, atoms: tuple[Atom, ...]) -> Atom:
        """How many numbers there are in all of `atoms`."""
        total: Atom = Const(0)
        for atom in atoms:
            count: Atom = Const(1)
            for extent in self.out.extents(atom):
                count = self.out.atom(Op("*", (count, extent)))
            total = self.out.atom(Op("+", (total, count)))
        return total

    def check_draws(self, several: bool) -> None:
        """Runs that draw different numbers would give rows of different functions."""
        for stmt in walk(self.function.body):
            name = drawn(stmt)
            if several and name is not None:
                raise NotDifferentiable(
                    f"a Jacobian of a function that calls `{name}`",
                    stmt.span,
                    reason="the function runs once for each row or column, and each run would draw other numbers",
                    hint="draw before the function and pass the numbers as an argument",
                )


def _arrays(function: Function, values: tuple[Atom, ...]) -> bool:
    """Whether one of `values` is an array of floats."""
    types = (function.types[value.id] for value in values if isinstance(value, Name))
    return any(isinstance(type_, Array) and type_.is_float for type_ in types)


def linear_row(function: Function, sources: tuple[str, ...], constants: frozenset[str]) -> Row | None:
    """How adjoints of all results are pulled back in lanes; None if that is not linear."""
    if any(custom_of(stmt) is not None for stmt in walk(function.body)):
        # what the user gave need not be linear
        return None
    swept = reverse(replace(function, again=True), sources, constants)
    row = halves(swept, constants) or Row.of(swept)
    row = replace(row, run=to_ssa(row.run, constants))
    try:
        vector_forward(row.run, row.seeds, 1, constants, linear=True)
    except NotLinear:
        return None
    return row


def on_copies(function: Function, constants: frozenset[str], params: tuple[str, ...] | None = None) -> Function:
    """The function with copies of those array parameters that it writes; of these only those in `params`, if given."""
    classes = aliases(function)
    written = {classes.find(array) for stmt in walk(function.body) for array in changed(stmt)}
    arrays = [p for p in (function.params if params is None else params) if isinstance(function.types[p], Array)]
    copied = [p for p in arrays if classes.find(p) in written]
    if not copied:
        return function
    types = dict(function.types)
    out = Emitter(types, set(types), getattr(function.body[0], "span", None))
    for param in copied:
        type_ = types[param]
        assert isinstance(type_, Array)
        flips = type_.layout == "F" and type_.ndim > 1
        turned = Array(type_.dtype, type_.ndim, "C")
        # a copy is contiguous by rows
        seen: Atom = out.let("t", Op("transpose", (Name(param),)), turned) if flips else Name(param)
        made = Op("copy", (seen,))
        out.assign(param, Op("transpose", (out.let("t", made, turned),)) if flips else made)
    return to_ssa(replace(function, body=(*out.out, *function.body), types=types), constants)
