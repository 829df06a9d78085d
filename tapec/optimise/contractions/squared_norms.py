"""Square lengths without taking their roots.

    h = np.hypot(x, y)        ->        a = x * x
    s = h ** 2                          b = y * y
                                        s = a + b

    r = np.sqrt(t)            ->        s = t
    s = r ** 2

    r = np.abs(x)             ->        s = x * x
    s = r ** 4                          s = s * s

    r = np.cbrt(x)            ->        s = x
    s = r ** 3

`abs(z) ** 2` of a complex number is such a square, and so are those of a norm and of a standard deviation: what is
under their roots is never negative.  Of another number the square is nan where that is negative:

    r = np.sqrt(x)            ->        t = 1.0 if x >= 0 else np.nan
    s = r ** 2                          s = x * t

Where other factors stand between two roots, the value is the user's, and its derivative that of the square:

    r = np.sqrt(t)            ->        t_1 = a * t
    s = a * r                           s = s * r            (known to have the derivative of t_1)
    s = s * r

An array that holds roots has another one beside it, of what is under them, from which the squares of its elements are.

The root costs more than the rest, does not vectorise, and has a derivative that divides by it: at 0 there is none, or
an infinite one, where the power has one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeGuard

from tapec.optimise.contractions.product_factors import Product, factors
from tapec.optimise.name_origins import Fresh
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
    Store,
    map_blocks,
    reads,
    walk,
    written_in,
)
from tapec.syntax.types import BOOL, FLOAT64

_LENGTHS = frozenset({"np.hypot", "math.hypot", "abs", "np.abs"})
_ROOTS = frozenset({"np.sqrt", "math.sqrt"})
_POWERS = frozenset({"**", "np.power", "math.pow"})
_CUBE_ROOTS = frozenset({"np.cbrt"})
_FRESH = frozenset({"empty", "zeros"})


def square_norms(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with squares in place of squared roots; see the module."""
    stmts = list(walk(function.body))
    if not any(map(_is_root, stmts)) or not any(map(_is_product, stmts)):
        return function
    worker = _Squares(function)
    # where the roots are that arrays hold
    worker.block(function.body)
    worker = _Squares(function, worker.roots & worker.squared)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


class _Squares:
    """The rewriting of a function.

    held  arrays that hold roots, for each of which there shall be one of what is under them
    """

    def __init__(self, function: Function, held: Iterable[str] = ()) -> None:
        self.fresh = Fresh(function.types)
        self.defs: dict[str, list[Stmt]] = {param: [] for param in function.params}
        # arrays that are read and written element by element alone, and what is written
        self.stored: dict[str, list[Atom]] = {}
        # values whose derivatives are those of others
        self.replaced = {
            stmt.value.args[0] for stmt in walk(function.body) if isinstance(stmt, Assign) and _is_known(stmt.value)
        }
        # names of norms, which two ways set
        self.lengths: set[str] = set()
        for stmt in walk(function.body):
            if isinstance(stmt, Assign):
                self.defs.setdefault(stmt.target, []).append(stmt)
        powers = {name for name, _ in filter(None, map(_power, walk(function.body)))}
        for _, names in filter(None, map(self.repeated, walk(function.body))):
            powers.update(names)
        self.squared: set[str] = set()
        other = set(function.params)
        for stmt in walk(function.body):
            if isinstance(stmt, Store):
                self.stored.setdefault(stmt.array, []).append(stmt.value)
                other |= {stmt.array} if stmt.accumulate else set()
            elif not (isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in ("load", "dim")):
                other.update(reads(stmt))
            elif stmt.value.fn == "load" and stmt.target in powers:
                self.squared.update(_names(stmt.value))
        self.stored = {name: values for name, values in self.stored.items() if name not in other}
        self.roots: set[str] = set()
        self.under = {name: self.fresh("squares", function.types[name]) for name in sorted(held)}

    def block(self, block: Block) -> Block:
        """A block in which powers of roots that it computes itself, from what has not changed since, have none."""
        known: dict[str, Op] = {}
        out: list[Stmt] = []
        for stmt in block:
            name, power = _power(stmt) or ("", 0)
            root = known.get(name)
            if isinstance(stmt, Assign) and root is not None and self.is_whole(stmt, root, power):
                out += self.without_root(stmt, name, power, known)
            else:
                out += list(self.with_others(stmt, known)) or [map_blocks(stmt, self.block)]
            out += self.beside(stmt, known)
            changed = written_in((stmt,))
            known = {name: root for name, root in known.items() if not changed & {name, *_names(root)}}
            found = self.root(stmt)
            if found is not None:
                known[found[0]] = found[1]
        return tuple(out)

    def with_others(self, stmt: Stmt, known: dict[str, Op]) -> Iterator[Stmt]:
        """A product that takes a root once more, among other factors: it has the derivative of that of the square."""
        done = not known or (isinstance(stmt, Assign) and Name(stmt.target) in self.replaced)
        both, names = (None if done else self.repeated(stmt)) or (Product(()), [])
        shared = next((name for name in names if name in known), None)
        if shared is None or not isinstance(stmt, Assign) or not self.stays(shared):
            return
        type_ = self.fresh.types[stmt.target]
        if any(self.fresh.types[name] != type_ for name in _names(Op("*", both.over + both.under))):
            return
        times = both.over.count(Name(shared))
        square = Assign(self.fresh("t", type_), Op("*", (Name(shared), Name(shared))), stmt.span)
        if not self.is_whole(square, known[shared], 2):
            return
        yield from self.without_root(square, shared, 2, known)
        steps: list[tuple[str, Atom]] = [("*", Name(square.target))] * (times // 2 - 1)
        steps += [("*", Name(shared))] * (times % 2) + [*both.without(Name(shared))]
        result = Name(square.target)
        for fn, factor in steps:
            made = Assign(self.fresh("t", type_), Op(fn, (result, factor)), stmt.span)
            yield made
            result = Name(made.target)
        if both.negative:
            made = Assign(self.fresh("t", type_), Op("neg", (result,)), stmt.span)
            yield made
            result = Name(made.target)
        own = Assign(self.fresh("t", type_), stmt.value, stmt.span)
        yield own
        yield replace(stmt, value=Op("known", (Name(own.target), result)))

    def factor(self, name: str) -> Op | None:
        """What a name stands for, wherever it is read."""
        made = self.alone(Name(name))
        return made if made is not None and all(map(self.stays, _names(made))) else None

    def stays(self, name: str) -> bool:
        """Whether a name is set in one place, or on the two ways to one."""
        return name in self.lengths or len(self.defs.get(name, ())) < 2

    def repeated(self, stmt: Stmt) -> tuple[Product, list[str]] | None:
        """The factors of a product, and which of them both sides have."""
        match stmt:
            case Assign(value=Op(fn="*", args=(Name() as one, Name() as other))) if one != other:
                first, second = factors(one, self.factor), factors(other, self.factor)
                shared = [name.id for name in first.over if isinstance(name, Name) and name in second.over]
                return first.times(second), shared
        return None

    def is_whole(self, stmt: Assign, root: Op, power: int) -> bool:
        """Whether a power of a root is a whole power of what is under it, and all of this is of one type."""
        types = self.fresh.types
        operands = [types[name] for name in _names(root)] if root.fn != "load" else []
        alike = all(kind == types[stmt.target] for kind in operands)
        return alike and power % (3 if root.fn in _CUBE_ROOTS else 2) == 0

    def beside(self, stmt: Stmt, known: dict[str, Op]) -> Iterator[Stmt]:
        """What an array of roots gets beside it, where a statement makes or fills it."""
        match stmt:
            case Assign(target=target, value=Op() as value, span=span) if target in self.under:
                yield Assign(self.under[target], value, span)
            case Store(array=array, index=index, value=Name(id=name), span=span) if name in known:
                root = known[name]
                lone = len(self.stored.get(array, ())) == 1 and root.fn != "load" and root.fn not in _CUBE_ROOTS
                made = self.alone(Name(array))
                if lone and made is not None and made.fn in _FRESH:
                    self.roots.add(array)
                if array in self.under:
                    square = self.fresh("square", self.fresh.types[name])
                    made_of = Assign(square, Op("*", (Name(name), Name(name))), span)
                    yield from self.without_root(made_of, name, 2, known)
                    yield Store(self.under[array], index, Name(square), span=span)

    def root(self, stmt: Stmt) -> tuple[str, Op] | None:
        """The name for which a statement computes a length or a root, and that."""
        match stmt:
            case Assign(target=target, value=Op(fn="load", args=(Name(id=array), *_)) as value) if array in self.under:
                return target, value
            case Assign(target=target, value=Op() as value) if _is_root(stmt):
                return target, value
            case If(body=body, orelse=orelse) if body and orelse:
                found = self.norm(body[-1], orelse[-1])
                self.lengths.update(() if found is None else (found[0],))
                return found
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
            case Op(fn=fn, args=(Name() as square,)) if fn in _ROOTS:
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
                            case Op(fn="/", args=(product, by)) if by == length:
                                return self.is_half(self.alone(product), square)
        return False

    def is_half(self, value: Op | None, square: Name) -> bool:
        match value:
            case Op(fn="*", args=(half, by)) if by == square:
                return half == Const(0.5) or self.alone(half) == Op("cast.float32", (Const(0.5),))
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
                # nan is no negative number
                return not number < 0
            case Name(id=name):
                return self.nonnegative(name, assumed)
            case Op(fn="load", args=(Name(id=array), *_)):
                fresh = self.alone(Name(array))
                made = fresh is not None and fresh.fn in ("empty", "zeros")
                return made and all(self.never_negative(one, assumed) for one in self.stored.get(array, (Const(-1),)))
            case Op(fn="*" | "np.dot", args=(first, second)) if first == second:
                return True
            case Op(fn=fn, args=(_, Const(value=2 | 2.0 | 0.5))) if fn in _POWERS:
                return True
            case Op(fn="np.square" | "abs" | "np.abs" | "dim"):
                return True
            case Op(fn="+" | "*" | "/" | "cast.float64" | "cast.float32" | "min" | "known", args=args):
                return all(self.never_negative(arg, assumed) for arg in args)
            case Op(fn="max" | "np.maximum", args=args):
                return any(self.never_negative(arg, assumed) for arg in args)
        return False

    def without_root(self, stmt: Assign, name: str, power: int, known: dict[str, Op]) -> Iterator[Stmt]:
        """A power of a root that has a name, made from what is under it."""
        root = known[name]
        if root.fn in _CUBE_ROOTS:
            yield from self.raised(stmt, root.args[0], power // 3)
        elif root.fn == "load":
            array, *index = root.args
            assert isinstance(array, Name)
            element = Op("load", (Name(self.under[array.id]), *index))
            yield from self.raised(stmt, element, power // 2)
        elif len(root.args) == 1 and root.fn in _LENGTHS:
            yield from self.raised(stmt, Op("*", root.args * 2), power // 2)
        elif root.fn in _LENGTHS:
            squares = []
            for arg in root.args:
                square = Assign(self.fresh("t", self.fresh.types[stmt.target]), Op("*", (arg, arg)), stmt.span)
                if isinstance(arg, Name) and arg.id in known and self.is_whole(square, known[arg.id], 2):
                    yield from self.without_root(square, arg.id, 2, known)
                else:
                    yield square
                squares.append(Name(square.target))
            yield from self.raised(stmt, Op("+", tuple(squares)), power // 2)
        elif self.never_negative(root.args[0], frozenset()):
            yield from self.raised(stmt, root.args[0], power // 2)
        else:
            test = self.fresh("c", BOOL)
            yield Assign(test, Op(">=", (root.args[0], Const(0))), stmt.span)
            sides: list[Atom] = [Const(1.0), Const(math.nan)]
            type_ = self.fresh.types[stmt.target]
            if type_ != FLOAT64:
                for side, number in enumerate(sides):
                    cast = Assign(self.fresh("t", type_), Op(f"cast.{type_}", (number,)), stmt.span)
                    sides[side] = Name(cast.target)
                    yield cast
            inside = self.fresh("t", type_)
            yield Assign(inside, Op("ifelse", (Name(test), *sides)), stmt.span)
            yield from self.raised(stmt, Op("*", (root.args[0], Name(inside))), power // 2)

    def raised(self, stmt: Assign, base: Expr, power: int) -> Iterator[Stmt]:
        """A statement that assigns a power instead."""
        if power > 1:
            if isinstance(base, Op):
                name = self.fresh("t", self.fresh.types[stmt.target])
                yield Assign(name, base, stmt.span)
                base = Name(name)
            base = Op("*", (base, base)) if power == 2 else Op("**", (base, Const(power)))
        yield replace(stmt, value=base)


def _is_root(stmt: Stmt) -> bool:
    """Whether a statement computes a length or a root."""
    match stmt:
        case Assign(value=Op(fn=fn, args=(Name(), Const(value=0.5)))) if fn in _POWERS:
            return True
        case Assign(value=Op(fn=fn)):
            return fn in _LENGTHS | _ROOTS | _CUBE_ROOTS
    return False


def _is_known(value: Expr) -> TypeGuard[Op]:
    return isinstance(value, Op) and value.fn == "known"


def _is_product(stmt: Stmt) -> bool:
    return _power(stmt) is not None or isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "*"


def _power(stmt: Stmt) -> tuple[str, int] | None:
    """The name of which a statement computes a whole power, and which: 2, 3 or more."""
    match stmt:
        case Assign(value=Op(fn=fn, args=(Name(id=name), Const(value=int() | float() as number)))) if fn in _POWERS:
            return (name, int(number)) if number in range(2, 33) else None
        case Assign(value=Op(fn="np.square", args=(Name(id=name),))):
            return name, 2
        case Assign(value=Op(fn="*", args=(Name(id=name), Name(id=other)))) if name == other:
            return name, 2
    return None


def _names(root: Op) -> set[str]:
    return {arg.id for arg in root.args if isinstance(arg, Name)}
