"""Compute functions that inner loops ask for alike in all iterations of an outer one in an array before it.

                                              scale = np.empty(m)
                                              if 0 < n:
    for i in range(n):                            for k in range(m):
        for k in range(m):                            scale[k] = np.exp(s[k])
            z = x[i] / np.exp(s[k])   ->      for i in range(n):
            ...                                   for k in range(m):
                                                      z = x[i] / scale[k]
                                                      ...

Widths of a mixture's parts, factors by which a step in time takes things away: an expert computes them once.  So does
the reverse sweep then: the adjoint of a function takes as long as the function, or longer (`math.lgamma`).  LLVM takes
functions of what no loop changes out of loops itself, but not into arrays.

What a function needs, and the loops and branches around it, must do in every iteration what they do in the first
(`analyses/loop_invariance.py`); the outer loop makes all its iterations.  The loops between count up by one from a
number that is not negative, to what is known before the outer loop.  Where a value is read by one statement alone that
is computed alike, too, that statement's value is kept.  Arrays of functions that an iteration fills itself are those of
`fill_hoisting.py`, which comes next, and takes the array out of more loops.

Expects one name per value, as `number_values` leaves it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tapec.analyses.dependence import is_element_load
from tapec.analyses.facts import facts
from tapec.analyses.iterations import Iterations
from tapec.analyses.loop_invariance import Invariance, can_be_parted, exchanged, kept, some_iteration
from tapec.optimise import costs
from tapec.optimise.buffers.allocation_hoisting import WHOLE_NUMBERS
from tapec.optimise.name_origins import Fresh
from tapec.remarks import remark
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
    distinct,
    literal_range,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.syntax.renaming import renamed
from tapec.syntax.types import BOOL, INT64, Array, Scalar

_BOTH = ("exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh")
_FUNCTIONS = frozenset(
    {
        *(f"{module}.{name}" for module in ("np", "math") for name in _BOTH),
        *("np.exp2", "np.arcsin", "np.arccos", "np.arctan", "np.arctan2", "np.logaddexp", "np.logaddexp2", "np.power"),
        *("math.asin", "math.acos", "math.atan", "math.atan2", "math.pow"),
        *("math.erf", "math.erfc", "math.lgamma", "math.gamma"),
    }
)


def hoist_functions(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such arrays; see the module."""
    return _moved(function, _is_dear)


def hoist_quotients(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such arrays of quotients, too; of what is generated, where sums are divided by a number."""
    return _moved(function, _is_quotient)


def _moved(function: Function, dear: Callable[[Stmt], bool]) -> Function:
    while any(map(dear, walk(function.body))):
        found = _Functions(function, dear).moved()
        if found is None:
            break
        function = replace(found, body=distinct(found.body))
    return function


def _is_quotient(stmt: Stmt) -> bool:
    """Whether a statement computes what takes as long as a few loads."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "/"


def _is_dear(stmt: Stmt) -> bool:
    """Whether a statement computes what takes ten times as long as a load."""
    if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op):
        return False
    power = stmt.value.fn == "**" and not (isinstance(stmt.value.args[1], Const) and _is_whole(stmt.value.args[1]))
    return power or stmt.value.fn in _FUNCTIONS


def _is_root(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in ("np.sqrt", "math.sqrt")


def _is_whole(exponent: Const) -> bool:
    return isinstance(exponent.value, int) or exponent.value in (0.5, 1.0, 2.0, 3.0)


@dataclass(frozen=True)
class _Kept:
    """A value for an array: the outer loop, those between, what computes it (by key), and what their ends need."""

    loop: For
    between: tuple[For, ...]
    value: Assign
    stmts: set[int]
    sizes: list[Assign]


class _Functions:
    def __init__(self, function: Function, dear: Callable[[Stmt], bool]) -> None:
        self.function = function
        self.dear = dear
        self.functions = dear is _is_dear
        self.iterations = Iterations(function)
        self.scopes = self.iterations.scopes
        self.readers = facts(function).readers
        self.fresh = Fresh(function.types)
        self._known: dict[int, Invariance] = {}

    def moved(self) -> Function | None:
        """The function with one value computed earlier; None if there is none."""
        for stmt in walk(self.function.body):
            if isinstance(stmt, Assign) and self.dear(stmt) and (found := self.kept(stmt)) is not None:
                changes = {found.loop.key: self.split(found)}
                return replace(self.function, body=exchanged(self.function.body, changes), types=self.fresh.types)
        return None

    # what can be computed earlier

    def kept(self, stmt: Assign) -> _Kept | None:
        """How a value is computed before the nearest loop around another one whose iterations would do it alike."""
        if not self.iterations.fixed(Name(stmt.target)):
            return None
        around = [region.owner for region in self.scopes.of[stmt.key].loops()]
        between: list[For] = []
        for owner in around:
            if not isinstance(owner, For):
                return None
            if between and (found := self.before(owner, tuple(reversed(between)), stmt)) is not None:
                return found
            between.append(owner)
        return None

    def before(self, loop: For, between: tuple[For, ...], stmt: Assign) -> _Kept | None:
        """How it is computed before a loop, if that is so."""
        iterations = literal_range(loop)
        few = iterations is not None and len(iterations) <= costs.HOISTED_ITERATIONS
        if few or not can_be_parted(self.iterations, loop):
            return None
        if not all(self.counts_up(inner) for inner in between):
            return None
        known = self._known.get(loop.key) or self._known.setdefault(loop.key, Invariance(self.iterations, loop))
        if not known.all_invariant(known.needed([stmt])):
            return None
        value = self.last(stmt, known)
        sizes = self.sizes(between, known)
        type_ = self.function.types[value.target]
        if sizes is None or not isinstance(type_, Scalar) or type_.dtype not in ("float64", "float32"):
            return None
        stmts = known.needed([value])
        computing = [one for one in known.inside if one.key in stmts]
        if not self.functions and not self.worth_it(between, computing):
            return None
        return _Kept(loop, between, value, stmts, sizes)

    def worth_it(self, between: tuple[For, ...], computing: list[Stmt]) -> bool:
        """Whether loads of a quotient are faster than the quotient."""
        counted = {inner.var for inner in between}
        # LLVM takes what no loop changes out itself, and a loop whose iterations wait for one another does not wait for
        # this
        needed = {name for one in computing for name in reads(one)}
        if not counted <= needed or not self.runs_on_vectors(between[-1]):
            return False
        if len(between) == 1:
            return True
        # a table is read from memory: for one quotient that takes as long; it is as large as an array that is there
        slow = [one for one in computing if _is_quotient(one) or _is_root(one)]
        return len(slow) > 1 and any(is_element_load(one) and counted.issubset(reads(one)) for one in computing)

    def runs_on_vectors(self, loop: For) -> bool:
        """Whether LLVM may take several iterations of a loop at a time."""
        return not any(isinstance(stmt, For | Loop) for stmt in walk(loop.body)) and self.iterations.is_parallel(loop)

    def counts_up(self, loop: For) -> bool:
        start = loop.start.value if isinstance(loop.start, Const) else None
        return loop.step == Const(1) and type(start) is int and start >= 0 and not loop.parallel and loop.slots is None

    def last(self, stmt: Assign, known: Invariance) -> Assign:
        """The value that a function's value is used for alone, as far as it is alike in all iterations."""
        while True:
            users = self.readers.get(stmt.target, [])
            if len(users) != 1 or not isinstance(users[0], Assign) or not isinstance(users[0].value, Op):
                return stmt
            (user,) = users
            alone = self.iterations.fixed(Name(user.target)) and self.scopes.of[user.key] is self.scopes.of[stmt.key]  # type: ignore[union-attr]
            same = self.function.types[user.target] == self.function.types[stmt.target]  # type: ignore[union-attr]
            if not alone or not same or not known.all_invariant(known.needed([user])):
                return stmt
            stmt = user  # type: ignore[assignment]

    def sizes(self, between: tuple[For, ...], known: Invariance) -> list[Assign] | None:
        """What computes the ends of loops in an iteration of the outer one; None if it takes more than sums and
        products.
        """
        names = [loop.stop.id for loop in between if isinstance(loop.stop, Name)]
        made = [one for name in names for one in self.scopes.defs.get(name, ()) if known.holds(one)]
        found = known.needed(made)
        sizes = [stmt for stmt in known.inside if stmt.key in found]
        values = [one.value if isinstance(one, Assign) else None for one in sizes]
        plain = (isinstance(value, Op) and value.fn in WHOLE_NUMBERS for value in values)
        return sizes if all(plain) and known.all_invariant(found) else None  # type: ignore[return-value]

    # moving it

    def split(self, found: _Kept) -> tuple[Stmt, ...]:
        """What fills the array, and the loop that reads it."""
        loop, value = found.loop, found.value
        type_ = self.function.types[value.target]
        assert isinstance(type_, Scalar)
        why = "every iteration of {1} would compute the same"
        what = "`{0}` is computed once, before the loop"
        remark(value.span, "function_hoisting", what, why, self.named(found), loop.span)
        # a temporary says nothing
        name = "quotient" if value.target.startswith("t_") and not self.functions else f"{value.target}_once"
        array = self.fresh(name, Array(type_.dtype, len(found.between)))
        at = tuple(Name(inner.var) for inner in found.between)
        computing = _stored(kept(loop.body, found.stmts - {one.key for one in found.sizes}), value.target, array, at)
        anew = self.fresh.anew(one for stmt in (*found.sizes, *walk(computing)) for one in writes(stmt))
        before: list[Stmt] = [*renamed(tuple(found.sizes), anew)]
        some: Name | None = None
        if not literal_range(loop):
            test, some = some_iteration(self.iterations, loop, self.fresh("some", BOOL))
            before.insert(0, test)
        extents = tuple(self.extent(inner, anew, some, before) for inner in found.between)
        before.append(Assign(array, Op("empty", (Const(type_.dtype), *extents)), value.span))
        filled = renamed(computing, anew)
        before += filled if some is None else [If(some, filled, (), loop.span)]
        load = replace(value, value=Op("load", (Name(array), *at)))
        return (*before, replace(loop, body=exchanged(loop.body, {value.key: (load,)})))

    def named(self, found: _Kept) -> str:
        """A function that is computed."""
        dear = [one for one in walk(found.loop.body) if one.key in found.stmts and self.dear(one)]
        return dear[-1].value.fn  # type: ignore[union-attr]

    def extent(self, inner: For, anew: dict[str, str], some: Name | None, before: list[Stmt]) -> Atom:
        """As many elements as a loop's variable comes to, none where the outer loop makes no iteration."""
        if not isinstance(inner.stop, Name):
            assert isinstance(inner.stop, Const)
            return Const(max(inner.stop.value, 0))  # type: ignore[type-var]
        stop: Atom = Name(anew.get(inner.stop.id, inner.stop.id))
        if self.iterations.never_negative(inner.stop):
            return stop
        if some is not None:
            stop = self._let(Op("ifelse", (some, stop, Const(0))), before)
        return self._let(Op("max", (stop, Const(0))), before)

    def _let(self, value: Op, before: list[Stmt]) -> Name:
        name = self.fresh("size", INT64)
        before.append(Assign(name, value))
        return Name(name)


def _stored(block: Block, name: str, array: str, at: tuple[Name, ...]) -> Block:
    """The block with a store of a value behind what computes it."""
    out: list[Stmt] = []
    for stmt in block:
        out.append(map_blocks(stmt, lambda inner: _stored(inner, name, array, at)))
        if name in writes(stmt):
            out.append(Store(array, at, Name(name), span=stmt.span))
    return tuple(out)
