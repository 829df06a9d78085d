"""How much a target owes to rounding: whether its value, computed again, may differ from what the block gave.

The program rounds in another order than NumPy does.  What is left of large numbers, such as a residual near
convergence, may then have no digit in common.  So the program is run with every operation off by a little, each in
its own way, a few times over: as far as the target moves, it is rounding.  This is asked only where values differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.analyses.aliases import ALLOCATIONS, VIEWS
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Return,
    Stmt,
    Store,
    map_blocks,
)
from tapec.syntax.types import Array, Scalar
from tapec.tape.derivatives.block_derivative import DerivedProgram, GradientRequest, inputs_of, stopped_body
from tapec.transforms.emitter import Emitter

# how far off operations are, in units of their rounding
_OFF = 2.0
# what the target may differ by, in units of how far it moved
_MARGIN = 16.0
_RUNS = 5
# a prime, so that they do not come round with the rows of an array
FACTORS = 997
# what gives a value as it is
_EXACT = VIEWS | ALLOCATIONS | {"load", "copy", "ifelse", "stop_gradient", "neg", "abs", "grown", "pop"}
_FACTORS = {"float64": "errors", "float32": "small_errors"}


def with_errors(request: GradientRequest) -> DerivedProgram:
    """A program of the targets that takes factors near one, for its operations, as its last arguments."""
    types = dict(request.types)
    emitter = Emitter(types, set(types))
    body = tuple(stopped_body(request, emitter))
    errors = _Errors(emitter)
    block = (*(new for stmt in body for new in errors.added(stmt)), Return(request.targets))
    factors = tuple(errors.names.values())
    inputs = tuple(name for name in inputs_of(block) if name not in factors)
    return DerivedProgram(Function("rounded", (*inputs, *factors), block, types), inputs, (), factors, ())


class _Errors:
    """Factors, and the statements that apply them."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter, self.types = emitter, emitter.types
        self.names: dict[str, str] = {}
        self.count = 0

    def factor(self, dtype: str) -> tuple[list[Stmt], Name]:
        """Another factor near one."""
        if dtype not in self.names:
            self.names[dtype] = self.emitter.fresh(_FACTORS[dtype], Array(dtype, 1, "C"))
        found = self.emitter.fresh("factor", Scalar(dtype))
        place = self.count % FACTORS
        self.count += 1
        return [Assign(found, Op("load", (Name(self.names[dtype]), Const(place))))], Name(found)

    def added(self, stmt: Stmt) -> list[Stmt]:
        """A statement whose results are off by a little."""
        match stmt:
            case Assign(target=target, value=Op(fn=fn) as value) if fn not in _EXACT:
                type_ = self.types[target]
                if not type_.is_float:
                    return [stmt]
                before, value = self._operands(value)
                if isinstance(type_, Scalar):
                    return [*before, *self._off(target, value, type_)]
                return [*before, Assign(target, value, stmt.span)]
            case Call(targets=targets):
                behind: list[Stmt] = []
                made = []
                for target in targets:
                    type_ = self.types[target]
                    if isinstance(type_, Scalar) and type_.is_float:
                        made.append(self.emitter.fresh(target, type_))
                        behind += self._off(target, Name(made[-1]), type_)
                    else:
                        made.append(target)
                return [Call(tuple(made), stmt.function, stmt.args, stmt.span, stmt.changes), *behind]
        return [map_blocks(stmt, self._block)]

    def _block(self, block: Block) -> Block:
        return tuple(new for stmt in block for new in self.added(stmt))

    def _off(self, target: str, value: Expr, type_: Scalar) -> list[Stmt]:
        exact = self.emitter.fresh("exact", type_)
        before, factor = self.factor(type_.dtype)
        return [Assign(exact, value), *before, Assign(target, Op("*", (Name(exact), factor)))]

    def _operands(self, value: Op) -> tuple[list[Stmt], Op]:
        """The operation, of arrays that are off by a little: what it adds up may be larger than what it gives."""
        before: list[Stmt] = []
        args: list[Expr] = []
        for arg in value.args:
            type_ = self.types.get(arg.id) if isinstance(arg, Name) else None
            if isinstance(arg, Name) and isinstance(type_, Array) and type_.is_float:
                stmts, arg = self._noisy(arg, type_)
                before += stmts
            args.append(arg)
        return before, Op(value.fn, tuple(args))

    def _noisy(self, array: Name, type_: Array) -> tuple[list[Stmt], Name]:
        """A copy of an array whose elements are off, each in its own way."""
        emitter = self.emitter
        dims = [emitter.fresh("size", Scalar("int64")) for _ in range(type_.ndim)]
        out: list[Stmt] = [Assign(n, Op("dim", (array, Const(axis)))) for axis, n in enumerate(dims)]
        made = Name(emitter.fresh("off", Array(type_.dtype, type_.ndim, "C")))
        extents: tuple[Atom, ...] = tuple(map(Name, dims))
        out.append(Assign(made.id, Op("empty", (Const(type_.dtype), *extents))))
        self.factor(type_.dtype)
        place = emitter.fresh("place", Scalar("int64"))
        out.append(Assign(place, Const(self.count % FACTORS)))
        indices = tuple(Name(emitter.fresh("i", Scalar("int64"))) for _ in dims)
        element, factor = (emitter.fresh(name, Scalar(type_.dtype)) for name in ("element", "factor"))
        product, after, wrapped = (
            emitter.fresh(name, Scalar(dtype))
            for name, dtype in (("product", type_.dtype), ("after", "int64"), ("wrapped", "int64"))
        )
        body: Block = (
            Assign(element, Op("load", (array, *indices))),
            Assign(factor, Op("load", (Name(self.names[type_.dtype]), Name(place)))),
            Assign(product, Op("*", (Name(element), Name(factor)))),
            Store(made.id, indices, Name(product), False, None),
            Assign(after, Op("+", (Name(place), Const(1)))),
            Assign(wrapped, Op("%", (Name(after), Const(FACTORS)))),
            Assign(place, Name(wrapped)),
        )
        for index, n in zip(reversed(indices), reversed(dims), strict=True):
            body = (For(index.id, Const(0), Name(n), Const(1), body),)
        return [*out, *body], made


def margins(program: Any, arguments: list[Any], jit: bool | None) -> list[Any]:
    """By how much each of the targets may be off, each element of an array for itself."""
    rng = np.random.default_rng(997)

    def targets(off: float) -> list[Any]:
        signs = rng.choice([-off, off], FACTORS)
        dtypes = [np.float32 if "small" in name else np.float64 for name in program.derivative.seeds]
        factors = [(1.0 + np.finfo(dtype).eps * signs).astype(dtype) for dtype in dtypes]
        return [np.asarray(value, dtype=np.float64) for value in program([*arguments, *factors], jit)]

    with np.errstate(all="ignore"):
        exact = targets(0.0)
        runs = [targets(_OFF) for _ in range(_RUNS)]
        return [_MARGIN * np.fmax.reduce([np.abs(run[k] - value) for run in runs]) for k, value in enumerate(exact)]
