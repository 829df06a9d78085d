"""Give a program a second version, for arguments of which no operand of an array expression has to be broadcast.

    n, m = x.shape[0], y.shape[0]             n, m = x.shape[0], y.shape[0]
    if n != m:                                if n == m:
        a, b = np.empty(...), ...                 for i in range(n):
    else:                                             total += x[i] * y[i]
        a, b = x, y                   ->          ...
    for i in range(a.shape[0]):               else:
        total += a[i] * b[i]                      if n != m:
    ...                                               ...

Operands whose extents have to be compared at run time may be others than the arrays that the user wrote, and as long as
nobody knows, no loop over them can be joined with a loop over those.  In the usual version they are the same, and
arrays of one extent are known to be; the other version is the program as it was.  Each is differentiated and made
fast by itself, and asked for at the start (`optimise.program_versions`).

What is asked follows from the extents of parameters alone, so that it can be asked before anything else happens: that
two of them are equal, or else a formula of them, as the extent of a slice.  The second version knows it of all that it
computes later.  Comparisons in loops have a version of their own (`unstepped`), and so have operands of few elements,
whose extent is a literal (`stretched`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS
from tapec.analyses.facts import facts
from tapec.analyses.merged_extents import EqualExtents
from tapec.optimise import costs
from tapec.optimise.name_origins import Fresh
from tapec.optimise.shapes.versions import FORMULA, Equal, Version, Versions, flat
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    Function,
    If,
    Name,
    Op,
    Stmt,
    blocks,
    map_blocks,
    walk,
    writes,
)
from tapec.syntax.types import Array, Type


def broadcast_versions(function: Function, alone: bool = False) -> Versions | None:
    """The versions of a program; None where operands cannot need broadcasting, or it is not worth it.

    alone  whether each version becomes a function by itself

    Expects one name per value, as `number_values` leaves it.
    """
    most = costs.VERSION_FUNCTION if alone else costs.VERSION_STATEMENTS
    if not may_broadcast(function) or sum(1 for _ in walk(function.body)) > most:
        return None
    worker = _Operands(function)
    body = worker.block(function.body, worker.as_they_are)
    if not worker.equal:
        return None
    equal = tuple(worker.equal)
    other = function
    if len(equal) == 1:
        # all that asks the same has one answer
        ((first, second),) = equal
        asking = _Operands(function)
        other = replace(function, body=asking.block(function.body, lambda stmt: asking.broadcast(stmt, first, second)))
    return Versions((Version(with_equal(replace(function, body=body), equal), equal),), other)


def with_extents_of_products(version: Version) -> Version:
    """The version that asks at its start for what products in loops and branches need, where parameters decide that.

    Where one does not fit, the general version raises the product's own error, if it comes to it.  Of other products
    it is known without a question that they have been made.
    """
    function = version.program
    worker = _Operands(function)
    worker.known = {extent: formula for formula, extent in version.equal}
    extents = EqualExtents(function.types, facts(function).scopes)
    for stmt in walk(inner for one in function.body for block in blocks(one) for inner in block):
        match stmt:
            case Assign(value=Op(fn="np.dot", args=(Name(id=left), Name(id=right)))):
                worker.alike((left, extents.rank(left) - 1), (right, 0), extents)
    equal = (*version.equal, *worker.equal)
    return replace(version, program=with_equal(function, equal), equal=equal) if worker.equal else version


def remark_version(version: Version) -> None:
    """Remark what the first version of a program asks; all remarks on the program are about that version."""
    where = next((stmt.span for stmt in version.program.body if stmt.span is not None), None)
    asked = " and ".join(f"`{{{2 * k}}} == {{{2 * k + 1}}}`" for k in range(len(version.equal)))
    why = f"one for {asked}, which is asked at the start and told of here; in the other one extents may differ"
    extents = (formula for pair in version.equal for formula in pair[::-1])
    remark(where, "broadcast_versions", "the gradient has two versions", why, *extents)


def with_equal(function: Function, equal: tuple[Equal, ...]) -> Function:
    """The function that computes extents as what they are known to be equal to, if that is not a multiple of a part."""
    known: dict[Expr, Expr] = {extent: formula for formula, extent in equal if extent not in _parts(formula)}
    fresh = Fresh(function.types)

    def block(stmts: Block) -> Block:
        return tuple(new for stmt in stmts for new in statement(stmt))

    def statement(stmt: Stmt) -> Iterator[Stmt]:
        if not isinstance(stmt, Assign) or not _is_extent(stmt.value):
            yield map_blocks(stmt, block)
            return
        formula = _resolved(stmt.value, known)
        parts: list[Stmt] = []
        made = replace(stmt, value=flat(formula, parts, fresh, whole=True))
        yield from (stmt,) if formula == stmt.value else (*parts, made)

    return replace(function, body=block(function.body), types=fresh.types)


def may_broadcast(function: Function) -> bool:
    """Whether a branch of the function takes other arrays in place of operands."""
    return any(_chooses(stmt, function.types) for stmt in function.body)


def _chooses(stmt: Stmt, types: dict[str, Type]) -> bool:
    """Whether a branch does nothing on one side but to take arrays as they are."""
    return (
        isinstance(stmt, If)
        and isinstance(stmt.test, Name)
        and bool(stmt.orelse)
        and all(
            isinstance(one, Assign) and isinstance(one.value, Name) and isinstance(types[one.target], Array)
            for one in stmt.orelse
        )
    )


class _Operands:
    def __init__(self, function: Function) -> None:
        self.types = function.types
        self.params = set(function.params)
        self.defs: dict[str, list[Stmt]] = {}
        for stmt in walk(function.body):
            for name in writes(stmt):
                self.defs.setdefault(name, []).append(stmt)
        self.equal: list[Equal] = []
        # extents of parameters by what they are equal to
        self.known: dict[Expr, Expr] = {}

    def block(self, body: Block, side: Callable[[If], Block | None]) -> Block:
        """The body with a side in place of branches that choose operands, where `side` says which one is taken."""
        out: list[Stmt] = []
        for stmt in body:
            taken = side(stmt) if isinstance(stmt, If) and _chooses(stmt, self.types) else None
            for copy in taken or ():
                # the one place that is left where a name is set
                self.defs.update({name: [copy] for name in writes(copy)})
            out.extend((stmt,) if taken is None else taken)
        return tuple(out)

    def as_they_are(self, branch: If) -> Block | None:
        """The side that leaves operands as they are, if it is certain where extents of parameters are equal.

        They are known to be from here on.
        """
        pairs = self.compared(branch.test)
        return branch.orelse if pairs is not None and all(self.unify(*pair) for pair in pairs) else None

    def broadcast(self, branch: If, first: Expr, second: Expr) -> Block | None:
        """The side that stretches them, if it asks whether two formulas are equal, and nothing else."""
        return branch.body if self.compared(branch.test) in ([(first, second)], [(second, first)]) else None

    def compared(self, test: Atom) -> list[tuple[Expr, Expr]] | None:
        """The pairs of formulas of which a test asks whether one is unequal; None if it may ask anything else."""
        match self.definition(test):
            case Op(fn="or", args=tests):
                parts = [self.compared(one) for one in tests if isinstance(one, Name | Const)]
                known = [part for part in parts if part is not None]
                return [pair for part in known for pair in part] if len(known) == len(tests) else None
            case Op(fn="!=", args=(one, other)):
                first, second = self.formula(one), self.formula(other)
                if first is None or second is None or isinstance(first, Const) or isinstance(second, Const):
                    return None
                return [(first, second)]
        return None

    def definition(self, expr: Expr) -> Expr:
        """What is computed under a name that is set once."""
        match self.defs.get(expr.id) if isinstance(expr, Name) else None:
            case [Assign(value=value)]:
                return value
        return expr

    def formula(self, expr: Expr) -> Expr | None:
        """A number as a formula of extents of parameters; None if it is none."""
        match value := self.definition(expr):
            case Const(value=int()):
                return value
            case Op(fn="dim", args=(Name(id=array), Const(value=int() as axis))):
                return self.extent(array, axis)
            case Op(fn=fn, args=args) if fn in FORMULA:
                parts = [self.formula(arg) for arg in args]
                return Op(fn, tuple(part for part in parts if part)) if None not in parts else None
        return None

    def extent(self, array: str, axis: int) -> Expr | None:
        """That of an array, which may be a parameter, a copy of its name, or made with a known extent."""
        match self.defs.get(array):
            case None if array in self.params:
                return Op("dim", (Name(array), Const(axis)))
            case [Assign(value=Name(id=other))] if array not in self.params:
                return self.extent(other, axis)
            case [Assign(value=Op(fn=fn, args=args))] if fn in ALLOCATIONS:
                return self.formula(args[axis + 1])
        return None

    def alike(self, one: tuple[str, int], other: tuple[str, int], extents: EqualExtents) -> None:
        """Take the extents of two axes to be equal, if both are formulas."""
        found = []
        for array, axis in (one, other):
            known = extents.extent(array, axis)
            found.append(self.extent(array, axis) if known is None else self.formula(known))
        first, second = found
        if first is not None and second is not None and not isinstance(first, Const) and not isinstance(second, Const):
            self.unify(first, second)

    def unify(self, one: Expr, other: Expr) -> bool:
        """Whether two formulas are equal where extents of parameters are, which are taken to be from here on."""
        one, other = _resolved(one, self.known), _resolved(other, self.known)
        if one == other:
            return True
        for extent, formula in ((other, one), (one, other)):
            if _is_extent(extent) and extent not in _parts(formula):
                self.equal.append((formula, extent))
                self.known[extent] = formula
                return True
        if isinstance(one, Op) and isinstance(other, Op) and one.fn == other.fn != "dim":
            differ = [pair for pair in zip(one.args, other.args, strict=True) if pair[0] != pair[1]]
            # of equal numbers the same is made
            return len(differ) == 1 and self.unify(*differ[0])
        return False


def _is_extent(expr: Expr) -> bool:
    return isinstance(expr, Op) and expr.fn == "dim"


def _resolved(expr: Expr, known: dict[Expr, Expr]) -> Expr:
    """A formula with what is known to be equal in place of extents."""
    found = known.get(expr)
    if found is not None:
        return _resolved(found, known)
    return Op(expr.fn, tuple(_resolved(arg, known) for arg in expr.args)) if isinstance(expr, Op) else expr


def _parts(expr: Expr) -> Iterator[Expr]:
    yield expr
    for arg in expr.args if isinstance(expr, Op) else ():
        yield from _parts(arg)
