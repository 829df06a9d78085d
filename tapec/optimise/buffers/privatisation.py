"""Give each iteration of a loop the scratch array that the program makes once for all of them.

    terms = np.empty(k)                   for i in range(n):
    for i in range(n):                        terms = np.empty(k)
        for j in range(k):                    for j in range(k):
            terms[j] = ...         ->             terms[j] = ...
        for j in range(k):                    for j in range(k):
            total += terms[j]                     total += terms[j]

Then nothing goes from iteration to iteration but the sum, and reverse mode can reverse each iteration on its own.
An array qualifies if every iteration writes what it reads of it before, and nothing else uses it.
`allocation_hoisting.py` makes it once again in what is generated.  Where an iteration writes row after row, and reads
earlier ones (`analyses/definite_writes.py`), nothing else may tie the iterations together: only then it is worth a
shadow per iteration.

Of an array as long as the loop, in which each iteration uses its own element alone, an iteration gets an array of one
element, which `scalars.py` turns into a number.  One of full length would have a shadow of zeros in every iteration.
For the same reason the array stays where it is if iterations use some other elements of it, outside of loops of their
own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapec.analyses.definite_writes import DefiniteWrites
from tapec.analyses.facts import Facts, facts
from tapec.analyses.index_ranges import of_row
from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    distinct,
    ends_in_error,
    map_blocks,
    names_in,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.types import Array


def privatise(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with scratch arrays made inside the top-level loops that use them; see the module."""
    known = facts(function)
    counts = Counter(name for stmt in walk(function.body) for name in writes(stmt))
    counted = {stmt.var for stmt in walk(function.body) if isinstance(stmt, For)}
    fixed = frozenset(name for name in function.types if counts[name] <= 1 or name in counted)
    body: list[Stmt | None] = list(function.body)
    users: dict[str, list[int]] = {}
    for place, stmt in enumerate(function.body):
        for name in _mentioned(stmt):
            users.setdefault(name, []).append(place)
    types = function.types
    for place, made in enumerate(function.body):
        if not isinstance(made, Assign) or not isinstance(made.value, Op) or made.value.fn not in ("empty", "zeros"):
            continue
        others = [other for other in users[made.target] if other != place]
        loop = body[others[0]] if len(others) == 1 else None
        if len(known.members[known.aliases.find(made.target)]) != 1 or not isinstance(loop, For):
            continue
        if made.target in reads(loop):
            continue
        dtype, *extents = made.value.args
        if not written_in(function.body[place : others[0] + 1]).isdisjoint(names_in(made.value)):
            continue
        own, iteration, why = None, loop.body, "every iteration of {1} writes all of it before it reads any"
        if _own_rows(made.target, loop, extents):
            type_ = types[made.target]
            assert isinstance(type_, Array)
            types = {**types, made.target: replace(type_, ndim=type_.ndim - 1, layout="C")}
            own, iteration = Op(made.value.fn, (dtype, *extents[1:])), _rows(made.target, loop.body)
            why = "every iteration of {1} uses its own row alone"
        elif (written := _Coverage(made.target, tuple(extents), fixed).after(loop.body, frozenset())) is not None:
            if _own_element(made.target, loop, extents):
                own, iteration = Op("empty", (dtype, Const(1))), _first_element(made.target, loop.body)
            elif _ALL in written or not _elsewhere(made.target, loop.body):
                own = Op("empty", (dtype, *extents))
        elif _by_rows(made, loop, function, known):
            own = Op("empty", (dtype, *extents))
        if own is None:
            continue
        # where it is first used: what stands before has nothing to do with it
        first = next(k for k, stmt in enumerate(iteration) if made.target in _mentioned(stmt))
        body[others[0]] = replace(loop, body=(*iteration[:first], replace(made, value=own), *iteration[first:]))
        body[place] = None
        about = Named(made.target, made.span), loop.span
        remark(made.span, "privatisation", "`{0}` belongs to an iteration", why, *about)
    return replace(function, body=tuple(stmt for stmt in body if stmt is not None), types=types)


def _by_rows(made: Assign, loop: For, function: Function, known: Facts) -> bool:
    """Whether iterations write nearly all rows of an array, each before they read it, and run in any order without
    it.
    """
    assert isinstance(made.value, Op)
    written = DefiniteWrites(made.target, known.dependence.integers, made.value.args[1:])
    if _elsewhere(made.target, loop.body) or not written.before_reading(loop.body, nearly_all=True):
        return False
    alone = replace(loop, body=(made, *loop.body))
    body = distinct(tuple(alone if stmt is loop else stmt for stmt in function.body if stmt is not made))
    iterations = Iterations(replace(function, body=body))
    return any(isinstance(stmt, For) and stmt.var == loop.var and iterations.is_parallel(stmt) for stmt in body)


def _mentioned(stmt: Stmt) -> set[str]:
    """The names in a statement and its blocks."""
    return {name for inner in walk((stmt,)) for name in (*reads(inner), *writes(inner))}


def _own_element(array: str, loop: For, extents: list[Expr]) -> bool:
    """Whether each iteration of a loop over an array uses the element alone that has the number of the iteration."""
    if (loop.start, loop.step, [loop.stop]) != (Const(0), Const(1), extents):
        return False
    users = (stmt for stmt in walk(loop.body) if array in {*reads(stmt), *writes(stmt)})
    return all(_index(stmt, array) == (Name(loop.var),) for stmt in users)


def _own_rows(array: str, loop: For, extents: list[Expr]) -> bool:
    """Whether each iteration of a loop over the rows of an array uses elements of the row alone that has its number."""
    if len(extents) < 2 or (loop.start, loop.step, loop.stop) != (Const(0), Const(1), extents[0]):
        return False
    inside = list(walk(loop.body))
    indices = [_index(stmt, array) for stmt in inside if array in {*reads(stmt), *writes(stmt)}]
    own = all(index is not None and index[0] == Name(loop.var) for index in indices)
    return own and not any(loop.var in writes(stmt) for stmt in inside)


def _rows(array: str, block: Block) -> Block:
    """The block with elements of a row in the place of those of the array."""

    def changed(stmt: Stmt) -> Stmt:
        if (index := _index(stmt, array)) is None:
            return map_blocks(stmt, lambda body: _rows(array, body))
        if isinstance(stmt, Store):
            return replace(stmt, index=stmt.index[1:], span=of_row(stmt.span))
        assert isinstance(stmt, Assign)
        return replace(stmt, value=Op("load", (Name(array), *index[1:])), span=of_row(stmt.span))

    return tuple(map(changed, block))


def _elsewhere(array: str, body: Block) -> bool:
    """Whether an iteration uses elements whose numbers it computes, outside of loops of its own."""
    inside = {stmt.key for loop in walk(body) if isinstance(loop, For | Loop) for stmt in walk(loop.body)}
    used = (_index(stmt, array) for stmt in walk(body) if stmt.key not in inside)
    return any(isinstance(sub, Name) for index in used for sub in index or ())


def _index(stmt: Stmt, array: str) -> tuple[Expr, ...] | None:
    """The element of an array that a statement itself reads or writes; None if it does not, or otherwise."""
    match stmt:
        case Store(array=other, index=index) if other == array:
            return index
        case Assign(value=Op(fn="load", args=(Name(id=other), *subs))) if other == array:
            return tuple(subs)
    return None


def _first_element(array: str, block: Block) -> Block:
    """The block with the first element in the place of any."""

    def changed(stmt: Stmt) -> Stmt:
        if _index(stmt, array) is None:
            return map_blocks(stmt, lambda body: _first_element(array, body))
        if isinstance(stmt, Store):
            return replace(stmt, index=(Const(0),))
        assert isinstance(stmt, Assign)
        return replace(stmt, value=Op("load", (Name(array), Const(0))))

    return tuple(map(changed, block))


class _Coverage:
    """Whether a block writes all of an array before it reads any of it.

    `fixed` are names that have one value per iteration.
    """

    def __init__(self, array: str, extents: tuple[Expr, ...], fixed: frozenset[str]) -> None:
        self.array = array
        self.extents = extents
        self.fixed = fixed

    def after(self, block: Block, known: frozenset[Atom]) -> frozenset[Atom] | None:
        """The subscripts that a block has written, `_ALL` for all of them; None if it reads others.

        The subscripts are numbers, and variables of loops around the block.
        """
        for stmt in block:
            found = self.statement(stmt, known)
            if found is None:
                return None
            known = found
        return known

    def statement(self, stmt: Stmt, known: frozenset[Atom]) -> frozenset[Atom] | None:
        if self.array not in _mentioned(stmt):
            return known
        match stmt:
            case Store(array=self.array, index=(index,), value=value, accumulate=accumulate):
                if value == Name(self.array) or (accumulate and not {index, _ALL} & known):
                    return None
                known_now = isinstance(index, Const) or index.id in self.fixed
                return self.complete(known | {index}) if known_now else known
            case Assign(value=Op(fn="dim")):
                return known
            case Assign(value=Op(fn="load", args=(Name(id=self.array), index))):
                return known if {index, _ALL} & known else None
            case If(body=body, orelse=orelse):
                ways = [self.after(body, known), self.after(orelse, known)]
                if None in ways:
                    return None
                sides = zip(ways, (body, orelse), strict=True)
                arriving = [way for way, side in sides if way is not None and not ends_in_error(side)]
                return frozenset.intersection(*arriving) if arriving else known
            case For():
                return self.loop(stmt, known)
            case Loop(body=body):
                return known if self.after(body, known) is not None else None
        return known if _ALL in known else None

    def loop(self, stmt: For, known: frozenset[Atom]) -> frozenset[Atom] | None:
        inner = self.after(stmt.body, known)
        if inner is None:
            return None
        whole = (stmt.start, stmt.stop, stmt.step) == (Const(0), self.extents[0], Const(1))
        breaks = any(isinstance(s, Break) for s in walk(stmt.body))
        return known | {_ALL} if whole and not breaks and Name(stmt.var) in inner else known

    def complete(self, known: frozenset[Atom]) -> frozenset[Atom]:
        """All, if every element has been written by number."""
        size = self.extents[0].value if isinstance(self.extents[0], Const) else None
        if not isinstance(size, int) or size > costs.PRIVATE_ELEMENTS:
            return known
        written = all(Const(k) in known for k in range(size))
        return known | {_ALL} if written else known


_ALL = Const("all")
