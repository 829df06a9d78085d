"""Square lengths without taking their roots.

    h = np.hypot(x, y)        ->        a = x * x
    s = h ** 2                          b = y * y
                                        s = a + b

    r = np.sqrt(t)            ->        s = t
    s = r ** 2

`abs(z) ** 2` of a complex number is such a square, and so are those of a norm and of a standard deviation: what is
under their roots is never negative.  The root costs more than the rest, does not vectorise, and has a derivative that
divides by it: at 0 there is none, where the square has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Function,
    If,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    reads,
    walk,
    written_in,
)
from tapec.syntax.types import FLOAT64

_LENGTHS = frozenset({"np.hypot", "math.hypot"})
_ROOTS = frozenset({"np.sqrt", "math.sqrt"})


def square_norms(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with squares in place of squared roots; see the module."""
    stmts = list(walk(function.body))
    roots = any(isinstance(s, Assign) and isinstance(s.value, Op) and s.value.fn in _LENGTHS | _ROOTS for s in stmts)
    if not roots or not any(map(_squared, stmts)):
        return function
    worker = _Squares(function)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


class _Squares:
    def __init__(self, function: Function) -> None:
        self.fresh = Fresh(function.types)
        self.defs: dict[str, list[Stmt]] = {param: [] for param in function.params}
        # arrays that are read and written element by element alone, and what is written
        self.stored: dict[str, list[Atom]] = {}
        other = set(function.params)
        for stmt in walk(function.body):
            if isinstance(stmt, Assign):
                self.defs.setdefault(stmt.target, []).append(stmt)
            if isinstance(stmt, Store):
                self.stored.setdefault(stmt.array, []).append(stmt.value)
            elif not (isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in ("load", "dim")):
                other.update(reads(stmt))
        self.stored = {name: values for name, values in self.stored.items() if name not in other}

    def block(self, block: Block) -> Block:
        """A block in which squares of lengths that it computes itself, from what has not changed since, are sums."""
        known: dict[str, Op] = {}
        out: list[Stmt] = []
        for stmt in block:
            root = known.get(_squared(stmt))
            if isinstance(stmt, Assign) and root is not None and self.fresh.types[stmt.target] == FLOAT64:
                out += self.square(stmt, root)
            else:
                out.append(map_blocks(stmt, self.block))
            changed = written_in((stmt,))
            known = {name: root for name, root in known.items() if not changed & {name, *_names(root)}}
            found = self.root(stmt)
            if found is not None:
                known[found[0]] = found[1]
        return tuple(out)

    def root(self, stmt: Stmt) -> tuple[str, Op] | None:
        """The name for which a statement computes a length or a root, and that."""
        match stmt:
            case Assign(target=target, value=Op(fn=fn) as value) if fn in _LENGTHS:
                return target, value
            case Assign(target=target, value=Op(fn=fn, args=(Name(id=under),)) as value) if fn in _ROOTS:
                return (target, value) if self.nonnegative(under) else None
            case If(body=body, orelse=orelse) if body and orelse:
                return self.norm(body[-1], orelse[-1])
        return None

    def norm(self, first: Stmt, second: Stmt) -> tuple[str, Op] | None:
        """The root of a norm or of a deviation, which one side takes of numbers that are in the range of their type.

        On the other side a norm is 0: the root of the sum of squares (`known`: only library functions say that).  A
        deviation whose square is out of range has the derivative of the root of the mean square on both.
        """
        match first, second:
            case Assign(target=target, value=side), Assign(target=other, value=Name() as way) if target == other:
                pass
            case _:
                return None
        match self.alone(side):
            case Op(fn=fn, args=(Name(id=under) as square,)) if fn in _ROOTS and self.nonnegative(under):
                if self.is_root(self.alone(way), square):
                    return target, Op("np.sqrt", (square,))
        match self.alone(way):
            case Op(fn=fn, args=(zero,)) if fn in _ROOTS:
                match self.alone(zero):
                    case Op(fn="known", args=(Name(id=under) as total, _)) if self.nonnegative(under):
                        return target, Op("np.sqrt", (total,))
        return None

    def is_root(self, value: Op | None, square: Name) -> bool:
        """Whether a value is known, and has the derivative of `square` over twice itself."""
        match value:
            case Op(fn="known", args=(length, slope)):
                match self.alone(slope):
                    case Op(fn="+", args=(quotient, _)):
                        match self.alone(quotient):
                            case Op(fn="/", args=(half, by)) if by == length:
                                return self.alone(half) == Op("*", (Const(0.5), square))
        return False

    def alone(self, atom: object) -> Op | None:
        """The operation that a name is set by, if it is set once."""
        match self.defs.get(atom.id, ()) if isinstance(atom, Name) else ():
            case [Assign(value=Op() as value)]:
                return value
        return None

    def nonnegative(self, name: str, assumed: frozenset[str] = frozenset()) -> bool:
        """Whether a name is a number that is never negative, or nan; a sum of squares in a loop is, if it was."""
        if name in assumed:
            return True
        defs = self.defs.get(name)
        return bool(defs) and all(
            isinstance(made, Assign) and self.never_negative(made.value, assumed | {name}) for made in defs or ()
        )

    def never_negative(self, value: object, assumed: frozenset[str]) -> bool:
        match value:
            case Const(value=int() | float() as number):
                return number >= 0
            case Name(id=name):
                return self.nonnegative(name, assumed)
            case Op(fn="load", args=(Name(id=array), *_)):
                fresh = self.alone(Name(array))
                made = fresh is not None and fresh.fn in ("empty", "zeros")
                return made and all(self.never_negative(one, assumed) for one in self.stored.get(array, (Const(-1),)))
            case Op(fn="*", args=(first, second)) if first == second:
                return True
            case Op(fn="**" | "np.power", args=(_, Const(value=2 | 2.0))):
                return True
            case Op(fn="np.square" | "abs" | "np.abs" | "dim"):
                return True
            case Op(fn="+" | "*" | "/" | "cast.float64", args=args):
                return all(self.never_negative(arg, assumed) for arg in args)
        return False

    def square(self, stmt: Assign, root: Op) -> Iterator[Stmt]:
        if root.fn in _ROOTS:
            yield replace(stmt, value=root.args[0])
            return
        squares = []
        for arg in root.args:
            name = self.fresh("t", FLOAT64)
            squares.append(Name(name))
            yield Assign(name, Op("*", (arg, arg)), stmt.span)
        yield replace(stmt, value=Op("+", tuple(squares)))


def _squared(stmt: Stmt) -> str:
    """The name whose square a statement computes; empty for others."""
    match stmt:
        case Assign(value=Op(fn="**" | "np.power", args=(Name(id=name), Const(value=2 | 2.0)))):
            return name
        case Assign(value=Op(fn="np.square", args=(Name(id=name),))):
            return name
        case Assign(value=Op(fn="*", args=(Name(id=name), Name(id=other)))) if name == other:
            return name
    return ""


def _names(root: Op) -> set[str]:
    return {arg.id for arg in root.args if isinstance(arg, Name)}
