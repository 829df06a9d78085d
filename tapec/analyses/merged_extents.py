"""Extents of variables that stand for several arrays of one size, such as buffers that change places.

The variable is set by copies alone; all arrays that it may stand for are allocations with one number for an extent, or
parameters that the number was asked of.  The number is not set in a loop or a branch.  A copy of an array, a transposed
one, an inverse, a factor and a product of matrices have the extents of those (`r = r @ turn(angle)`), and a solution
has those of the right side.
"""

from __future__ import annotations

from collections.abc import Mapping

from tapec.analyses.aliases import ALLOCATIONS, as_large
from tapec.analyses.scopes import Scopes
from tapec.syntax.core import Assign, Atom, Call, Const, Expr, Function, Name, Op, Push, reads, walk
from tapec.syntax.types import Array, Scalar, Stack, Type


def pushed_on_lists(function: Function) -> tuple[dict[str, list[Expr]], frozenset[str]]:
    """What is pushed on each list, and the lists that are filled in other ways than under their own name."""
    pushed: dict[str, list[Expr]] = {}
    other: set[str] = {name for name in function.params if isinstance(function.types.get(name), Stack)}
    for stmt in walk(function.body):
        match stmt:
            case Push(stack=stack, value=value):
                pushed.setdefault(stack, []).append(value)
            case Call():
                other.update(name for name in reads(stmt) if isinstance(function.types.get(name), Stack))
            case Assign(target=target, value=Name(id=source)) if isinstance(function.types.get(target), Stack):
                other |= {target, source}
    return pushed, frozenset(other)


class EqualExtents:
    """Answers for the names of a function.

    pushed  what is pushed on lists of arrays, where those are asked for, too
    open    lists that may hold other arrays
    """

    def __init__(
        self,
        types: Mapping[str, Type],
        scopes: Scopes,
        pushed: Mapping[str, list[Expr]] | None = None,
        open: frozenset[str] = frozenset(),
    ) -> None:
        self.types, self.scopes, self.params = types, scopes, scopes.params
        self.kept, self.pushed, self.open = pushed is not None, pushed or {}, open

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
