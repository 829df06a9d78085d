"""Write new core: fresh names, types, and formulas flattened to one operation per statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tapec.errors import Span, TapecError
from tapec.frontend.evaluator.evaluator import RESERVED
from tapec.frontend.evaluator.numba_types import operation_type
from tapec.syntax.core import (
    Assign,
    Atom,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.renaming import renamed
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array, Scalar, Stack, Type

_NUMBER = re.compile(r"_\d+(?=_|$)")


class Emitter:
    """Appends statements to a block; `types` is shared by all emitters of one function."""

    def __init__(
        self,
        types: dict[str, Type],
        taken: set[str],
        span: Span | None = None,
        counts: dict[str, int] | None = None,
    ) -> None:
        self.types = types
        self.taken = taken
        self.out: list[Stmt] = []
        self.span = span
        # the number that the last fresh name of a base ends in
        self.counts: dict[str, int] = {} if counts is None else counts

    def child(self) -> Emitter:
        """An emitter for a block inside this one."""
        return Emitter(self.types, self.taken, self.span, self.counts)

    def fresh(self, base: str, type_: Type) -> str:
        count = self.counts.get(base, 0)
        name = f"{base}_{count}" if count else base
        while name in self.taken or name in RESERVED or name in self.types:
            count += 1
            name = f"{base}_{count}"
        self.counts[base] = count
        self.taken.add(name)
        self.types[name] = type_
        return name

    def add(self, stmt: Stmt) -> None:
        self.out.append(stmt)

    def assign(self, target: str, value: Expr) -> None:
        self.out.append(Assign(target, value, self.span))

    def let(self, base: str, value: Expr, type_: Type) -> Name:
        """`base = value` under a fresh name."""
        name = self.fresh(base, type_)
        self.assign(name, value)
        return Name(name)

    def type_of(self, expr: Expr) -> Type:
        """The type of an expression of scalars."""
        if isinstance(expr, Name):
            return self.types[expr.id]
        if isinstance(expr, Const):
            value = expr.value
            return BOOL if isinstance(value, bool) else INT64 if isinstance(value, int) else FLOAT64
        if expr.fn in ("load", "pop"):
            owner = expr.args[0]
            assert isinstance(owner, Name)
            type_ = self.types[owner.id]
            assert isinstance(type_, Array | Stack)
            return type_.element
        found = operation_type(expr.fn, tuple(self.type_of(arg) for arg in expr.args))
        if found is None:
            kinds = ", ".join(str(self.type_of(arg)) for arg in expr.args)
            raise TapecError(
                f"the derivative needs `{expr.fn}` of ({kinds})", self.span, reason="Numba has no such operation"
            )
        return found

    def atom(self, expr: Expr, type_: Scalar | None = None) -> Atom:
        """Emit what computes `expr`, one operation a statement; converted to `type_` if given."""
        if isinstance(expr, Op):
            flat = Op(expr.fn, tuple(self.atom(arg) for arg in expr.args))
            expr = self.let("t", flat, self.type_of(flat))
        return expr if type_ is None else self.cast(expr, type_)

    def cast(self, atom: Atom, type_: Scalar) -> Atom:
        own = self.type_of(atom)
        if own == type_:
            return atom
        if isinstance(atom, Const) and type_.dtype == "float64" and isinstance(atom.value, int | float):
            return Const(float(atom.value))
        return self.let("t", Op(f"cast.{type_.dtype}", (atom,)), type_)

    def accumulate(self, target: str, expr: Expr) -> None:
        """`target += expr` for a number."""
        type_ = self.types[target]
        assert isinstance(type_, Scalar)
        self.assign(target, Op("+", (Name(target), self.atom(expr, type_))))

    def zeros_like(self, base: str, array: str, extents: Sequence[Expr | None] = ()) -> str:
        """A fresh array of zeros with the shape of `array`: what its `extents` are, where that is known."""
        type_ = self.types[array]
        assert isinstance(type_, Array)
        known = extents or (None,) * type_.ndim
        own = [Op("dim", (Name(array), Const(k))) if extent is None else extent for k, extent in enumerate(known)]
        dims = [self.let("size", extent, INT64) if isinstance(extent, Op) else extent for extent in own]
        if type_.layout == "F" and type_.ndim > 1:
            # the same order in memory, so that the same reshapes are views
            rows = self.let("t", Op("zeros", (Const(type_.dtype), *reversed(dims))), Array(type_.dtype, type_.ndim))
            return self.let(base, Op("transpose", (rows,)), Array(type_.dtype, type_.ndim, "F")).id
        name = self.fresh(base, Array(type_.dtype, type_.ndim, "C"))
        self.assign(name, Op("zeros", (Const(type_.dtype), *dims)))
        return name

    def extents(self, atom: Atom) -> list[Atom]:
        """The shape of a number or array."""
        type_ = self.type_of(atom)
        rank = type_.ndim if isinstance(type_, Array) else 0
        return [self.let("size", Op("dim", (atom, Const(axis))), INT64) for axis in range(rank)]

    def nest(self, bounds: Sequence[Atom], body: Callable[[Emitter, tuple[Atom, ...]], None]) -> None:
        """Nested loops from zero to each of the bounds."""
        index = tuple(Name(self.fresh("ijklmn"[axis % 6], INT64)) for axis in range(len(bounds)))
        emitters = [self, *(self.child() for _ in bounds)]
        body(emitters[-1], index)
        for axis in reversed(range(len(bounds))):
            inner = tuple(emitters[axis + 1].out)
            emitters[axis].add(For(index[axis].id, Const(0), bounds[axis], Const(1), inner, span=self.span))

    def each(self, array: str, body: Callable[[Emitter, tuple[Atom, ...]], None]) -> None:
        """Loops over all elements of `array`."""
        self.nest(self.extents(Name(array)), body)

    def add_elements(self, target: str, source: str) -> None:
        """`target += source` for arrays of one shape."""
        type_ = self.types[target]
        assert isinstance(type_, Array)

        def body(inner: Emitter, index: tuple[Atom, ...]) -> None:
            item = inner.let("t", Op("load", (Name(source), *index)), type_.element)
            inner.add(Store(target, index, item, True, self.span))

        self.each(target, body)

    def copy_elements(self, target: str, source: str) -> None:
        """`target[:] = source` for arrays of one shape."""
        type_ = self.types[source]
        assert isinstance(type_, Array)

        def body(inner: Emitter, index: tuple[Atom, ...]) -> None:
            item = inner.let("t", Op("load", (Name(source), *index)), type_.element)
            inner.add(Store(target, index, item, False, self.span))

        self.each(source, body)

    def extend(self, stmts: Iterable[Stmt]) -> None:
        self.out.extend(stmts)


def renumbered(function: Function) -> Function:
    """The function with names that end in numbers of its own: not in what stood there before it was made."""
    outside = {name for stmt in walk(function.body) for name in reads(stmt)} - written_in(function.body)
    own = {name: function.types[name] for name in (*function.params, *outside) if name in function.types}
    out = Emitter(own, {*function.params, *outside})
    names: dict[str, str] = {}
    for stmt in walk(function.body):
        for name in writes(stmt):
            if name not in names:
                names[name] = out.fresh(_NUMBER.sub("", name), function.types[name])
    return replace(function, body=renamed(function.body, names), types=own)
