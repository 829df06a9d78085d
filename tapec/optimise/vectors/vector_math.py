"""Call the elementary functions that LLVM can vectorise, in the loops that it may vectorise.

    for i in range(n):                        for i in range(n):
        s += math.exp(x[i])           ->          s += tapec_runtime.exp(x[i])

Elsewhere the C library's are as fast, and cost nothing to compile.

LLVM makes a square root of `x ** 0.5`, and multiplications of `x ** 3`, but calls the C library for `x ** 1.5` and
`x ** 3.0`, which are written with those.  The products are in an order in which none leaves the range of floats before
the result does, and of sizes: the root of a negative number is nan, and -0.0 has the powers of 0.0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from tapec.optimise.name_origins import Fresh
from tapec.optimise.vector_operations import VECTORISED
from tapec.remarks import remark
from tapec.syntax.core import Assign, Block, Const, Expr, For, Function, If, Loop, Name, Note, Op, Stmt, Store, walk
from tapec.syntax.types import FLOAT64, Type

_POWER = "tapec_runtime.power"
_DIGAMMA = "tapec_runtime.digamma"
# exponents for which LLVM has better code: multiplications, a square root, a quotient
_AS_IT_IS = frozenset({-1.0, -0.5, 0.0, 0.5, 1.0, 2.0})
# those of which a few multiplications make as accurate a power as the runtime's function
_INTEGERS = frozenset({3.0, 4.0})
_HALVES = frozenset({-2.5, -1.5, 1.5, 2.5})


def vectorise_functions(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with calls of the runtime's functions; see the module."""
    worker = _Calls(function.types)
    return replace(function, body=worker.block(function.body), types=worker.fresh.types)


class _Calls:
    def __init__(self, types: dict[str, Type]) -> None:
        self.fresh = Fresh(types)
        self.types = types

    def block(self, block: Block, vectorised: bool = False) -> Block:
        """A block with its calls replaced, if it stands in a loop that LLVM may vectorise."""
        out: list[Stmt] = []
        for stmt in block:
            match stmt:
                case Assign(target=target, value=Op(fn=fn, args=(Name() as base, Const(value=float(exponent))))) if (
                    vectorised and VECTORISED.get(fn) == _POWER and exponent in _INTEGERS | _HALVES
                ):
                    alike = self.types[base.id] == self.types[target] == FLOAT64
                    out += self.multiplied(stmt, base, exponent) if alike else (stmt,)
                case Assign(target=target, value=Op() as value) if vectorised:
                    new = self.replaced(value, self.types[target])
                    if new is not value:
                        remark(stmt.span, "vector_math", "`{0}` can run on vectors", "", value.fn)
                    out.append(replace(stmt, value=new))
                case If(body=body, orelse=orelse):
                    out.append(replace(stmt, body=self.block(body, vectorised), orelse=self.block(orelse, vectorised)))
                case For(body=body):
                    out.append(replace(stmt, body=self.block(body, _straight(body))))
                case Loop(body=body):
                    out.append(replace(stmt, body=self.block(body)))
                case _:
                    out.append(stmt)
        return tuple(out)

    def multiplied(self, stmt: Assign, base: Name, exponent: float) -> Iterator[Stmt]:
        """A power by multiplications, and a square root where the exponent is no integer."""
        if exponent in _INTEGERS:
            yield replace(stmt, value=Op("**", (base, Const(int(exponent)))))
            return
        size, power = self.fresh("t", FLOAT64), self.fresh("t", FLOAT64)
        yield Assign(size, Op("abs", (base,)), stmt.span)
        yield Assign(power, Op("**", (base, Const(math.copysign(0.5, exponent)))), stmt.span)
        sign = "*" if exponent > 0 else "/"
        if abs(exponent) > 2:
            nearer = self.fresh("t", FLOAT64)
            yield Assign(nearer, Op(sign, (Name(power), Name(size))), stmt.span)
            power = nearer
        yield replace(stmt, value=Op(sign, (Name(power), Name(size))))

    def replaced(self, value: Op, result: Type) -> Op:
        fn = VECTORISED.get(value.fn)
        if fn is None or (fn == _POWER and isinstance(value.args[1], Const) and value.args[1].value in _AS_IT_IS):
            return value
        args = value.args
        if fn == _DIGAMMA:
            # polygamma's other orders have no formula
            if args[0] != Const(0):
                return value
            args = args[1:]
        # the runtime's functions give floats of the type that they take; Numba's do not always
        alike = all(self.type_of(arg) == result for arg in args)
        return Op(fn, args) if alike and result.is_float else value

    def type_of(self, arg: Expr) -> Type | None:
        if isinstance(arg, Const):
            return FLOAT64 if isinstance(arg.value, float) else None
        return self.types.get(arg.id) if isinstance(arg, Name) else None


def _straight(body: Block) -> bool:
    """Whether a loop's body has nothing that LLVM never vectorises."""
    for stmt in walk(body):
        if not isinstance(stmt, Assign | Store | If | Note):
            return False
        if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "pop":
            return False
    return True
