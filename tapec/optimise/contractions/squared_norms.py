"""Square lengths without taking their roots.

    h = np.hypot(x, y)        ->        a = x * x
    s = h ** 2                          b = y * y
                                        s = a + b

`abs(z) ** 2` of a complex number is such a square.  The root costs more than the rest, does not vectorise, and has a
derivative that divides by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.optimise.simplify.name_origins import Fresh
from tapec.syntax.core import Assign, Atom, Block, Const, Function, Name, Op, Stmt, map_blocks, walk, written_in
from tapec.syntax.types import FLOAT64

_LENGTHS = frozenset({"np.hypot", "math.hypot"})


def square_norms(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with squares in place of squared roots; see the module."""
    lengths = {s.target for s in walk(function.body) if isinstance(s, Assign) and _is_length(s.value)}
    if not lengths:
        return function
    worker = _Squares(function)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


def _is_length(value: object) -> bool:
    return isinstance(value, Op) and value.fn in _LENGTHS


class _Squares:
    def __init__(self, function: Function) -> None:
        self.fresh = Fresh(function.types)

    def block(self, block: Block) -> Block:
        """A block in which squares of lengths that it computes itself, from what has not changed since, are sums."""
        known: dict[str, tuple[Atom, ...]] = {}
        out: list[Stmt] = []
        for stmt in block:
            squared = _squared(stmt)
            if isinstance(stmt, Assign) and squared in known and self.fresh.types[stmt.target] == FLOAT64:
                out += self.sum_of_squares(stmt, known[squared])
            else:
                out.append(map_blocks(stmt, self.block))
            changed = written_in((stmt,))
            known = {name: args for name, args in known.items() if not changed & {name, *_names(args)}}
            if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in _LENGTHS:
                known[stmt.target] = stmt.value.args  # type: ignore[assignment]
        return tuple(out)

    def sum_of_squares(self, stmt: Assign, args: tuple[Atom, ...]) -> Iterator[Stmt]:
        squares = []
        for arg in args:
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


def _names(args: tuple[Atom, ...]) -> set[str]:
    return {arg.id for arg in args if isinstance(arg, Name)}
