"""Sizes in a program for a batch: which are known to be equal, and which are not one.

Where one array is repeated along another one's axis, the program asks whether the size of that axis is one.  With
two examples or more the answer is no for every size that is the number of examples.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.aliases import as_large
from tapec.analyses.merged_extents import EqualExtents
from tapec.analyses.scopes import Scopes, scopes
from tapec.syntax.core import Assign, Block, Const, Expr, Function, Name, Op, Stmt, map_blocks
from tapec.syntax.types import Array


def of_several(function: Function, sources: tuple[str, ...]) -> Function:
    """The program for a batch of two examples or more, which are not repeated for the sake of another array.

    Tests whether there is one example are answered; a batch of one has nothing to prove.
    """
    sizes = BatchExtents(function, sources, scopes(function))

    def answered(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(value=Op(fn="==" | "!=" as fn, args=args)) if Const(1) in args:
                if any(isinstance(arg, Name) and sizes.not_one(arg, frozenset()) for arg in args):
                    return replace(stmt, value=Const(fn == "!="))
        return map_blocks(stmt, whole)

    def whole(block: Block) -> Block:
        return tuple(answered(stmt) for stmt in block)

    return replace(function, body=whole(function.body))


class BatchExtents:
    """What is known of the sizes of a function's arrays; the first axis of the `sources` numbers the examples."""

    def __init__(self, function: Function, sources: tuple[str, ...], scopes: Scopes) -> None:
        self.types, self.sources, self.scopes = function.types, sources, scopes
        self.equal = EqualExtents(function.types, scopes)

    def rank(self, array: str) -> int:
        type_ = self.types[array]
        return type_.ndim if isinstance(type_, Array) else 0

    def c_order(self, array: str) -> bool:
        type_ = self.types[array]
        return isinstance(type_, Array) and type_.layout == "C"

    def extent(self, size: Expr) -> Expr | None:
        """The same for sizes that are known to be equal; None for one that changes."""
        if isinstance(size, Name) and self.scopes.merged(size.id):
            return None
        made = self.definition(size.id) if isinstance(size, Name) else None
        match made:
            case Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))):
                return self.extent_of(array, axis)
            case Name() | Const():
                return self.extent(made)
        return size

    def extent_of(self, array: str, axis: int) -> Expr | None:
        if self.scopes.merged(array):
            one = self.equal.extent(array, axis)
            return None if one is None else self.extent(one)
        match self.definition(array):
            case Op(fn="empty" | "zeros", args=(_, *sizes)):
                return self.extent(sizes[axis])
            case Name(id=source):
                return self.extent_of(source, axis)
            case Op() as value if (operand := as_large(value)) is not None:
                return self.extent_of(operand, axis)
            case Op(fn="np.dot", args=(Name(id=first), _)) if axis == 0 and self.rank(first) == 2:
                return self.extent_of(first, 0)
            case Op(fn="np.dot", args=(_, Name(id=second))) if self.rank(second) == 2:
                return self.extent_of(second, 1)
            case Op(fn="transpose", args=(Name(id=source),)):
                return self.extent_of(source, self.rank(source) - 1 - axis)
            case Op(fn="reshape", args=(_, *sizes)):
                return self.extent(sizes[axis])
        return Op("dim", (Name(array), Const(axis)))

    def not_one(self, size: Expr, asked: frozenset[Expr]) -> bool:
        """Whether a size is not one if the batch has more than one example; `asked` are sizes that it is made of."""
        if isinstance(size, Const) or size in asked:
            return size != Const(1)
        made: list[Expr] = []
        match size:
            case Name(id=name):
                made = self.values(name)
            case Op(fn="dim", args=(Name(id=source), Const(0))) if source in self.sources:
                return True
            case Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))):
                own = self.extent_of(array, axis)
                made = [Op("dim", (one, Const(axis))) for one in self.values(array) if isinstance(one, Name)]
                if own != size and own is not None:
                    made = [own]
                elif len(made) < len(self.scopes.defs.get(array, ())):
                    return False
        return bool(made) and all(self.not_one(one, asked | {size}) for one in made)

    def values(self, name: str) -> list[Expr]:
        """What is assigned to a name; nothing if something else sets it."""
        made = self.scopes.defs.get(name, [])
        found = [stmt.value for stmt in made if isinstance(stmt, Assign)]
        return found if len(found) == len(made) else []

    def definition(self, name: str) -> Expr | None:
        made = self.scopes.defs.get(name, [])
        only = made[0] if len(made) == 1 else None
        return only.value if isinstance(only, Assign) else None
