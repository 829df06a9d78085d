"""Know the extents of a variable that stands for several arrays of one size, such as buffers that change places.

    now, old = np.empty(n), np.empty(n)           now, old = np.empty(n), np.empty(n)
    for t in range(steps):                        for t in range(steps):
        for i in range(1, now.shape[0] - 1):  ->      for i in range(1, n - 1):
            ...                                           ...
        now, old = old, now                           now, old = old, now

The iteration count of the inner loop is known before the outer one then, and what it keeps goes into a buffer that the
loops' variables index, not on a list.

The variable is set by copies alone; all arrays that it may stand for are allocations with one number for an extent, or
parameters that the number was asked of.  The number is not set in a loop or a branch.  A copy of an array, a transposed
one, an inverse, a factor and a product of matrices have the extents of those (`r = r @ turn(angle)`), and a solution
has those of the right side.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS, as_large
from tapec.analyses.facts import facts
from tapec.analyses.scopes import Scopes
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Expr,
    Function,
    Name,
    Op,
    Push,
    Stmt,
    map_blocks,
    reads,
    walk,
)
from tapec.syntax.types import Array, Scalar, Stack


def extents_of_one_size(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such extents known; see the module."""
    worker = EqualExtents(function, facts(function).scopes)
    return replace(function, body=worker.block(function.body))


def extents_of_kept(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function of a gradient with the extents known of what lists keep, too, and of arrays that are set once."""
    if not any(isinstance(stmt, Push) for stmt in walk(function.body)):
        return function
    worker = EqualExtents(function, facts(function).scopes, kept=True)
    return replace(function, body=worker.block(function.body))


class EqualExtents:
    """Knows the extents of such variables.

    kept  whether lists of arrays count, too, and arrays that are set once, of which other passes know before
          a function is differentiated
    """

    def __init__(self, function: Function, found: Scopes, kept: bool = False) -> None:
        self.params = frozenset(function.params)
        self.types = function.types
        self.scopes = found
        self.kept = kept
        self.pushed: dict[str, list[Expr]] = {}
        # lists that are filled in other ways than by what is pushed under their own name
        self.open: set[str] = {name for name in function.params if isinstance(function.types.get(name), Stack)}
        for stmt in walk(function.body) if kept else ():
            match stmt:
                case Push(stack=stack, value=value):
                    self.pushed.setdefault(stack, []).append(value)
                case Call():
                    self.open.update(name for name in reads(stmt) if isinstance(function.types.get(name), Stack))
                case Assign(target=target, value=Name(id=other)) if isinstance(function.types.get(target), Stack):
                    self.open |= {target, other}

    def block(self, block: Block) -> Block:
        return tuple(map(self.statement, block))

    def statement(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(value=Op(fn="dim", args=(Name(id=array), Const(value=int(axis))))):
                several = len(self.scopes.defs.get(array, ())) > 1
                extent = self.extent(array, axis) if several or self.kept else None
                known = extent is not None and self.is_known(extent, stmt)
                return replace(stmt, value=extent) if extent is not None and known else stmt
        return map_blocks(stmt, self.block)

    def is_known(self, extent: Expr, stmt: Stmt) -> bool:
        """Whether a number is known where a statement stands."""
        defs = self.scopes.defs.get(extent.id, ()) if isinstance(extent, Name) else ()
        return all(self.scopes.place[made.key] < self.scopes.place[stmt.key] for made in defs)

    def extent(self, array: str, axis: int) -> Expr | None:
        """The one number that all arrays that a name may stand for have as an extent."""
        found: set[Atom] = set()
        asked: list[tuple[str, int]] = []
        pending, seen = [(array, axis)], {(array, axis)}
        while pending:
            name, place = pending.pop()
            if name in self.open:
                return None
            if name not in self.scopes.defs or name in self.params:
                asked.append((name, place))
            for value in self.pushed.get(name, ()):
                if not isinstance(value, Name):
                    return None
                if (value.id, place) not in seen:
                    seen.add((value.id, place))
                    pending.append((value.id, place))
            for made in self.scopes.defs.get(name, ()):
                match made:
                    case Assign(value=Op(fn="stack")) if name in self.pushed:
                        continue
                    case Assign(value=Op(fn=fn, args=args)) if fn in ALLOCATIONS and self.defined_once(args[place + 1]):
                        extent = args[place + 1]
                        assert isinstance(extent, Name | Const)
                        found.add(extent)
                        continue
                    case Assign(value=value):
                        source = self.source(value, place)
                    case _:
                        source = None
                if source is None:
                    return None
                if source not in seen:
                    seen.add(source)
                    pending.append(source)
        if self.kept and not found and len(asked) == 1 and not self.scopes.defs.get(asked[0][0]):
            ((parameter, place),) = asked
            return Op("dim", (Name(parameter), Const(place)))
        if len(found) != 1:
            return None
        (one,) = found
        return one if all(self.is_of(one, *place) for place in asked) else None

    def source(self, value: Expr, axis: int) -> tuple[str, int] | None:
        """The array, and its axis, whose extent an axis of a value has."""
        match value:
            case Name(id=array):
                return array, axis
            case Op() as value if (operand := as_large(value)) is not None:
                return operand, axis
            case Op(fn="view", args=(Name(id=array), *subs)) if all(self.is_number(sub) for sub in subs):
                return array, axis + len(subs)
            case Op(fn="pop", args=(Name(id=stack),)):
                return stack, axis
            case Op(fn="transpose", args=(Name(id=array),)):
                return array, self.rank(array) - 1 - axis
            case Op(fn="np.dot", args=(Name(id=left), Name(id=right))):
                return (left, 0) if axis == 0 and self.rank(left) == 2 else (right, self.rank(right) - 1)
        return None

    def is_number(self, sub: Expr) -> bool:
        """Whether a subscript takes one element of an axis."""
        scalar = isinstance(sub, Name) and isinstance(self.types.get(sub.id), Scalar)
        return scalar or (isinstance(sub, Const) and isinstance(sub.value, int))

    def rank(self, array: str) -> int:
        type_ = self.types[array]
        assert isinstance(type_, Array)
        return type_.ndim

    def defined_once(self, extent: Expr) -> bool:
        """Whether a number is set once, whichever way the function takes."""
        if not isinstance(extent, Name):
            return isinstance(extent, Const)
        if extent.id in self.params:
            return not self.scopes.defs.get(extent.id)
        return len(self.scopes.defs.get(extent.id, ())) == 1 and self.scopes.scope_of[extent.id] is self.scopes.root

    def is_of(self, extent: Atom, parameter: str, axis: int) -> bool:
        """Whether a number was asked of a parameter, which nothing else sets."""
        made = self.scopes.defs.get(extent.id, ()) if isinstance(extent, Name) else ()
        asked = Op("dim", (Name(parameter), Const(axis)))
        return any(isinstance(s, Assign) and s.value == asked for s in made) and not self.scopes.defs.get(parameter)
