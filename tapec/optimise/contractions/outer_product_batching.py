"""Add products of two vectors to a matrix after the loop whose iterations need one another, as one product of matrices.

    for t in range(steps - 1, -1, -1):            for t in range(steps - 1, -1, -1):
        h = ...                                       h = ...
        ...                                           kept_1[t] = h, element by element
        for i in range(n):                            for i in range(n):
            z = ...                                       z = ...
            for k in range(m):              ->            kept[t, i] = z
                w_bar[i, k] += z * h[k]                   for k in range(m):
                h_bar[k] += z * w[i, k]                       h_bar[k] += z * w[i, k]
                                                  w_bar += np.dot(kept.T, kept_1)

A recurrent network asks for the adjoint of its weights once, at the end: until then each iteration keeps the two
vectors, which are small.  Nothing else in the loop meets the matrix, and nothing in the nest changes the other vector.
Where the product is too small for BLAS, or the vectors take more than 128 MB, an iteration adds as it stands.  Loops
whose iterations may run in any order are left to other passes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapec.analyses.iterations import Iterations
from tapec.errors import Span
from tapec.optimise import costs
from tapec.optimise.loops.scatter_to_gather import moved
from tapec.optimise.name_origins import Fresh
from tapec.optimise.simplify.value_numbering import number_values
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    may_leave,
    names_in,
    substitute,
    walk,
    written_in,
)
from tapec.syntax.types import BOOL, INT64, Array, Scalar, Type


def batch_outer_products(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with such products after their loops; see the module."""
    if not any(_deep(stmt) for stmt in walk(function.body)):
        return function
    # passes before this one leave names with several values
    function = number_values(function, constants)
    worker = _Later(function)
    body = worker.block(function.body)
    if not worker.found:
        return function
    return number_values(replace(function, body=body, types=worker.fresh.types), constants)


@dataclass(frozen=True)
class _Update:
    """An addition in the innermost loop of a nest: a number of an iteration and a row times an element of a vector.

    array, index    the matrix, and where in it, in names that are set before the loop but for rows and columns
    own             the first number
    other           what loads the second one
    sign            of the product
    """

    store: Store
    rows: For
    columns: For
    array: str
    index: tuple[Atom, ...]
    own: Name
    other: Assign
    sign: int


@dataclass(frozen=True)
class _Kept:
    """Of an update, before the loop: whether its vectors are kept, and where."""

    large: Name
    left: str
    right: str


class _Later:
    def __init__(self, function: Function) -> None:
        self.iterations = Iterations(function)
        self.fresh = Fresh(function.types)
        self.found = False

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            new = self.loop(stmt) if isinstance(stmt, For) else None
            out += [map_blocks(stmt, self.block)] if new is None else new
        return tuple(out)

    def loop(self, loop: For) -> list[Stmt] | None:
        """What takes a loop's place whose iterations add products of vectors to matrices."""
        down = loop.step == Const(-1) and loop.stop == Const(-1)
        counted = down or (loop.step == Const(1) and loop.start == Const(0))
        ends = loop.start if down else loop.stop
        if (
            not counted
            or loop.slots is not None
            or loop.parallel
            or may_leave(loop.body)
            or not self.iterations.fixed(ends)
        ):
            return None
        updates = [one for stmt in loop.body if isinstance(stmt, For) for one in self.updates(loop, stmt)]
        if not updates or self.iterations.is_parallel(loop):
            return None
        before: list[Stmt] = []
        iterations = moved(self.fresh, ends, 1, updates[0].store, before) if down else ends
        kept = self.keep(updates, iterations, before)
        body = tuple(new for stmt in loop.body for new in self.keeping(stmt, loop.var, updates, kept))
        after = [self.product(one, kept[one.store.key]) for one in updates]
        self.found = True
        for one in updates:
            why = "where the loops make many iterations, what they add to `{0}` is one product, after the loop"
            remark(one.store.span, "outer_product_batching", "added later", why, Named(one.array))
        return [*before, replace(loop, body=body), *after]

    # which additions can wait

    def updates(self, loop: For, rows: For) -> list[_Update]:
        """The additions of a nest in a loop that can be made after that."""
        inside = written_in((loop,))
        if not self.counts(rows, inside):
            return []
        found: list[_Update] = []
        for columns in rows.body:
            if not isinstance(columns, For) or not self.counts(columns, inside):
                continue
            if all(isinstance(stmt, Assign | Store) for stmt in columns.body):
                read = (self.update(one, rows, columns, inside) for one in columns.body if isinstance(one, Store))
                found += [one for one in read if one is not None and self.waits(one, loop, inside)]
        return found

    def counts(self, loop: For, inside: set[str]) -> bool:
        """Whether a loop counts from zero to a number that is set before the loop around it."""
        stands = isinstance(loop.stop, Const) or loop.stop.id not in inside
        return loop.start == Const(0) and loop.step == Const(1) and stands and not loop.parallel

    def update(self, store: Store, rows: For, columns: For, inside: set[str]) -> _Update | None:
        """A store read as an addition of such a product."""
        value, sign = self.iterations.definition(store.value), 1
        if isinstance(value, Op) and value.fn == "neg":
            value, sign = self.iterations.definition(value.args[0]) if isinstance(value.args[0], Name) else None, -1
        match value:
            case Op(fn="*", args=(Name() as first, Name() as second)):
                pairs = (first, second), (second, first)
            case _:
                return None
        array, index = self.viewed(store)
        type_ = self.iterations.types[array]
        stands = all(isinstance(sub, Const) or sub.id not in inside for sub in index[:-2])
        if index[-2:] != (Name(rows.var), Name(columns.var)) or not stands:
            return None
        if not isinstance(type_, Array) or type_.dtype not in ("float64", "float32"):
            return None
        if {self.iterations.types[name] for name in (first.id, second.id)} != {type_.element}:
            return None
        here = written_in(columns.body)
        for own, factor in pairs:
            turned = sign
            match self.iterations.definition(own):
                case Op(fn="neg", args=(Name() as same,)) if own.id in here:
                    own, turned = same, -sign
            if own.id in here or own.id not in inside or not self.iterations.fixed(own):
                continue
            other = self.element(factor, rows, columns)
            if other is not None:
                return _Update(store, rows, columns, array, index, own, other, turned)
        return None

    def viewed(self, store: Store) -> tuple[str, tuple[Atom, ...]]:
        """The array of a store, and where in it; of a view of rows that are certain to be there, the array viewed."""
        match self.iterations.definition(Name(store.array)):
            case Op(fn="view", args=(Name(id=whole), *cuts)):
                atoms = tuple(cut for cut in cuts if isinstance(cut, Name | Const) and cut != Const(None))
                (made,) = self.iterations.scopes.defs[store.array]
                tested = made.span is not None and bool(made.span.open) if isinstance(made, Assign) else False
                if len(atoms) == len(cuts) and not tested:
                    return whole, (*atoms, *store.index)
        return store.array, store.index

    def element(self, factor: Name, rows: For, columns: For) -> Assign | None:
        """What loads a factor, if columns alone tell its values apart, and it might be loaded before the nest."""
        made = next(iter(self.iterations.scopes.defs.get(factor.id, ())), None)
        match made:
            case Assign(value=Op(fn="load", args=(Name(id=array), *subs))) if self.iterations.fixed(factor):
                there = written_in((rows,))
                names = [name for sub in subs for name in names_in(sub)]
                own = {array, *names} & there
                memory = self.iterations.aliases.find(array)
                accesses = self.iterations.accesses(rows.body)
                changed = any(a.kind != "load" and self.iterations.aliases.find(a.array) == memory for a in accesses)
                return made if own == {columns.var} and names.count(columns.var) == 1 and not changed else None
        return None

    def waits(self, one: _Update, loop: For, inside: set[str]) -> bool:
        """Whether the loop only adds to the matrix."""
        memory = self.iterations.aliases.find(one.array)
        met = [
            access
            for access in self.iterations.accesses(loop.body)
            if self.iterations.aliases.find(access.array) == memory
        ]
        whole = one.array not in inside and self.iterations.fixed(Name(one.array))
        return one.store.accumulate and whole and all(access.kind == "add" for access in met)

    # writing them

    def keep(self, updates: list[_Update], iterations: Atom, out: list[Stmt]) -> dict[int, _Kept]:
        """Whether, and where, the vectors of each update are kept; `out` gets what makes room for them."""
        found: dict[int, _Kept] = {}
        tests: dict[tuple[Atom, Atom], Name] = {}
        # by what is kept, the loop that tells its elements apart, and when
        made: dict[tuple[str, str, Name], str] = {}
        for one in updates:
            span = one.store.span
            sizes = one.rows.stop, one.columns.stop
            if sizes not in tests:
                tests[sizes] = self.large(iterations, *sizes, span, out)
            large = tests[sizes]
            buffers: list[str] = []
            for name, counted in ((one.own.id, one.rows), (one.other.target, one.columns)):
                key = name, counted.var, large
                if key not in made:
                    type_ = self.fresh.types[name]
                    assert isinstance(type_, Scalar)
                    made[key] = self.fresh(f"{name}_kept", Array(type_.dtype, 2))
                    either = (Op("ifelse", (large, size, Const(0))) for size in (iterations, counted.stop))
                    room = [self.computed(size, span, out) for size in either]
                    out.append(Assign(made[key], Op("empty", (Const(type_.dtype), *room)), span))
                buffers.append(made[key])
            found[one.store.key] = _Kept(large, *buffers)
        return found

    def large(self, iterations: Atom, rows: Atom, columns: Atom, span: Span | None, out: list[Stmt]) -> Name:
        """Whether a product is worth a call of BLAS, and memory for its factors."""
        sizes = iterations, rows, columns
        least, most = Const(costs.BLAS_ITERATIONS), Const(costs.BLAS_ELEMENTS)
        tests: list[Name] = [self.computed(Op(">=", (size, least)), span, out, BOOL) for size in sizes]
        left, right = (self.computed(Op("*", (iterations, size)), span, out) for size in (rows, columns))
        work = self.computed(Op("*", (left, columns)), span, out)
        tests.append(self.computed(Op(">=", (work, Const(costs.BLAS_WORK))), span, out, BOOL))
        tests += [self.computed(Op("<=", (matrix, most)), span, out, BOOL) for matrix in (left, right)]
        test, *others = tests
        for other in others:
            test = self.computed(Op("and", (test, other)), span, out, BOOL)
        return test

    def computed(self, value: Op, span: Span | None, out: list[Stmt], type_: Type = INT64) -> Name:
        name = self.fresh("t" if type_ == BOOL else "n", type_)
        out.append(Assign(name, value, span))
        return Name(name)

    def keeping(self, rows: Stmt, iteration: str, updates: list[_Update], kept: dict[int, _Kept]) -> list[Stmt]:
        """A statement of the loop, which keeps what it would add, if it did."""
        mine = [one for one in updates if one.rows is rows]
        if not mine or not isinstance(rows, For):
            return [rows]
        out: list[Stmt] = []
        done: set[str] = set()
        for one in mine:
            where = kept[one.store.key]
            if where.right not in done:
                done.add(where.right)
                out.append(If(where.large, (self.copied(one, where.right, iteration),), (), one.columns.span))
        body: list[Stmt] = []
        for stmt in rows.body:
            waiting = [one for one in mine if one.columns is stmt]
            if not waiting or not isinstance(stmt, For):
                body.append(stmt)
                continue
            where = kept[waiting[0].store.key]
            later: list[Stmt] = []
            added = ((kept[one.store.key].left, one.own, one.store.span) for one in waiting)
            for left, own, span in dict.fromkeys(added):
                if left not in done:
                    done.add(left)
                    later.append(Store(left, (Name(iteration), Name(rows.var)), own, False, span))
            gone = {one.store.key for one in waiting}
            rest = tuple(inner for inner in stmt.body if inner.key not in gone)
            if any(isinstance(inner, Store) for inner in rest) or self.iterations.left_over(stmt, written_in(rest)):
                later.append(replace(stmt, body=rest))
            body.append(If(where.large, tuple(later), (stmt,), stmt.span))
        return [*out, replace(rows, body=tuple(body))]

    def copied(self, one: _Update, buffer: str, iteration: str) -> For:
        """The loop that keeps a vector."""
        span = one.columns.span
        k, value = self.fresh(one.columns.var, INT64), self.fresh("t", self.fresh.types[one.other.target])
        load = Assign(value, substitute(one.other.value, {one.columns.var: Name(k)}), one.other.span)
        store = Store(buffer, (Name(iteration), Name(k)), Name(value), False, span)
        return For(k, Const(0), one.columns.stop, Const(1), (load, store), span=span)

    def product(self, one: _Update, kept: _Kept) -> If:
        """What adds the product of all that the iterations have kept."""
        span = one.store.span
        type_ = self.fresh.types[one.own.id]
        assert isinstance(type_, Scalar)
        turned = self.fresh("t", Array(type_.dtype, 2, "F"))
        made = self.fresh("p", Array(type_.dtype, 2))
        i, k = (Name(self.fresh(loop.var, INT64)) for loop in (one.rows, one.columns))
        value, added = self.fresh("t", type_), self.fresh("t", type_)
        inner: list[Stmt] = [Assign(value, Op("load", (Name(made), i, k)), span)]
        if one.sign < 0:
            inner.append(Assign(added, Op("neg", (Name(value),)), span))
        total = Name(added if one.sign < 0 else value)
        inner.append(Store(one.array, (*one.index[:-2], i, k), total, True, span))
        columns = For(k.id, Const(0), one.columns.stop, Const(1), tuple(inner), span=one.columns.span)
        body: Block = (
            Assign(turned, Op("transpose", (Name(kept.left),)), span),
            Assign(made, Op("np.dot", (Name(turned), Name(kept.right))), span),
            For(i.id, Const(0), one.rows.stop, Const(1), (columns,), span=one.rows.span),
        )
        return If(kept.large, body, (), span)


def _deep(stmt: Stmt) -> bool:
    """Whether a loop has two loops inside one another."""
    inside = stmt.body if isinstance(stmt, For | Loop) else ()
    return any(isinstance(one, For) and any(isinstance(two, For) for two in one.body) for one in inside)
