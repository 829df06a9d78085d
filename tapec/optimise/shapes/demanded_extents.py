"""Give an axis of an array the extent without which every iteration of a loop would raise an error.

    for i in range(m):                        for i in range(m):
        p = points[i]                             n = p.shape[0]
        n = p.shape[0]                            if n != 3:
        if n != 2 and n != 3:         ->              raise ValueError("operands could not be broadcast together")
            raise ValueError(...)                 p = points[i]
        ...                                       ...                    3 in the place of n
        if n != 3 and n != 1:                     if 3 != 2 and 3 != 3:
            raise ValueError(...)                     raise ValueError(...)

Cross products and broadcast operands ask such questions; together they may leave one answer.  What has a known extent
can be written out and becomes numbers.  The error that says that operands do not fit comes at the beginning of the
iteration then, so that nothing else in the loop may be seen from outside before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    Call,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Print,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    map_blocks,
    walk,
    written_in,
)
from tapec.syntax.renaming import replaced
from tapec.syntax.types import BOOL, INT64

# an axis of an array
Axis = tuple[str, int]
_COMPARED = {
    "==": int.__eq__,
    "!=": int.__ne__,
    "<": int.__lt__,
    "<=": int.__le__,
    ">": int.__gt__,
    ">=": int.__ge__,
}
# larger than any extent that a program compares with
_OTHER = 1 << 62
_MESSAGE = "operands could not be broadcast together"


def demanded_extents(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such extents; see the module."""
    if not any(isinstance(stmt, Raise) and not stmt.users for stmt in walk(function.body)):
        return function
    worker = _Demanded(function)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types) if worker.any else function


class _Demanded:
    def __init__(self, function: Function) -> None:
        self.iterations = Iterations(function)
        self.fresh = Fresh(function.types)
        self.params = {self.iterations.aliases.find(name) for name in function.params}
        self.any = False
        # what an extent is that of
        self.axes: dict[str, Axis] = {}
        for stmt in walk(function.body):
            match stmt:
                case Assign(target=target, value=Op(fn="dim", args=(Name(id=array), Const(value=int(axis))))):
                    found = self.axis(array, axis) if self.iterations.fixed(Name(target)) else None
                    if found is not None:
                        self.axes[target] = found

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, For) and self.is_quiet(stmt.body):
                for axis in dict.fromkeys(self.axes.values()):
                    stmt = self.settled(stmt, axis)
            else:
                stmt = map_blocks(stmt, self.block)
            out.append(stmt)
        return tuple(out)

    def is_quiet(self, body: Block) -> bool:
        """Whether nobody can see how far an iteration has got when it raises an error."""
        for stmt in walk(body):
            if isinstance(stmt, Print | Call | Push | Return) or isinstance(stmt, Raise) and stmt.users:
                return False
            if isinstance(stmt, Store) and self.iterations.aliases.find(stmt.array) in self.params:
                return False
        return True

    def axis(self, array: str, axis: int) -> Axis | None:
        """The axis of a parameter, or of another array that is no row or whole view, that an axis of a view is."""
        if not self.iterations.fixed(Name(array)):
            return None
        match self.iterations.definition(Name(array)):
            case Op(fn="view", args=(Name(id=owner), *subs)):
                kept = [place for place, sub in enumerate(subs) if isinstance(sub, Op) or sub == Const(None)]
                if any(sub == Const(None) for sub in subs):
                    return None
                kept += range(len(subs), axis + len(subs) + 1)
                place = kept[axis]
                whole = place >= len(subs) or subs[place] == Op("slice", (Const(None),) * 3)
                return self.axis(owner, place) if whole else None
            case Op(fn="transpose" | "reshape" | "permute"):
                return None
        return array, axis

    # what is demanded

    def settled(self, loop: For, axis: Axis) -> For:
        """The loop with a number for an extent, if each of its iterations demands that."""
        names = {name for name, one in self.axes.items() if one == axis}
        values = {_OTHER, *self.compared(loop.body, names)}
        if len(values) == 1:
            return loop
        left = self.allowed(loop.body, names, values)
        if len(left) != 1 or _OTHER in left:
            return loop
        (extent,) = left
        self.any = True
        inside = written_in(loop.body)
        array, place = axis
        if array in inside:
            return loop
        span = next(stmt.span for stmt in walk(loop.body) if isinstance(stmt, Raise) and not stmt.users)
        why = "with any other number of elements its operands do not fit, which is checked when the program runs"
        about = Named(array, loop.span), place, extent
        remark(loop.span, "demanded_extents", "axis {1} of `{0}` has {2} elements", why, *about)
        asked, differs = self.fresh("size", INT64), self.fresh("t", BOOL)
        check: Block = (
            Assign(asked, Op("dim", (Name(array), Const(place))), span),
            Assign(differs, Op("!=", (Name(asked), Const(extent))), span),
            If(Name(differs), (Raise("ValueError", (Const(_MESSAGE),), span),), (), span),
        )
        body = loop.body
        for name in sorted(names):
            body = replaced(body, {name: Const(extent)})
        return replace(loop, body=(*check, *body))

    def compared(self, block: Block, names: set[str]) -> Iterator[int]:
        """The numbers with which a block compares an extent."""
        for stmt in walk(block):
            match stmt:
                case Assign(value=Op(fn=fn, args=(Name(id=name), Const(value=int(value))))):
                    if fn in _COMPARED and name in names:
                        yield value

    def allowed(self, block: Block, names: set[str], values: set[int]) -> set[int]:
        """The values of an extent with which a block may run to its end without an error of ours."""
        for stmt in block:
            match stmt:
                case Raise(exception="ValueError", users=False):
                    return set()
                case If(test=test, body=body, orelse=orelse):
                    ways = self.allowed(body, names, values), self.allowed(orelse, names, values)
                    values = {value for value in values if self.passes(test, names, value, ways)}
                case For() | Loop() | Assign() | Store():
                    pass
                case _:
                    return values
        return values

    def passes(self, test: Expr, names: set[str], value: int, ways: tuple[set[int], set[int]]) -> bool:
        holds = self.holds(test, names, value)
        body, orelse = (value in way for way in ways)
        return body or orelse if holds is None else body if holds else orelse

    def holds(self, test: Expr, names: set[str], value: int) -> bool | None:
        """Whether a condition holds if an extent has a value; None if that depends on something else."""
        made = self.iterations.definition(test) if isinstance(test, Name) else None
        match made:
            case Op(fn="not", args=(inner,)):
                known = self.holds(inner, names, value)
                return None if known is None else not known
            case Op(fn="and" | "or" as fn, args=args):
                known_ones = [self.holds(arg, names, value) for arg in args]
                decisive = fn == "or"
                if decisive in known_ones:
                    return decisive
                return None if None in known_ones else not decisive
            case Op(fn=fn, args=(Name(id=name), Const(value=int(other)))) if fn in _COMPARED and name in names:
                return bool(_COMPARED[fn](value, other))
        return None
