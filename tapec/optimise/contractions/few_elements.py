"""Give a program a version for matrices of few elements, whose products in loops are loops, too.

    for i in range(a.shape[0]):               if a.shape[1] <= 8 and a.shape[2] <= 8 and b.shape[2] <= 8:
        c[i] = a[i] @ b[i]                        for i in range(a.shape[0]):
                                                      for j in range(a.shape[1]):
                                      ->                  for l in range(b.shape[2]):
                                                              s = 0.0
                                                              for k in range(a.shape[2]):
                                                                  s += a[i, j, k] * b[i, k, l]
                                                              ...
                                              else:
                                                  ...                                               as it was

A call of BLAS costs more than a product of two 3 by 3 matrices, and makes an array; as loops, iterations run side by
side. Nobody knows extents of parameters before the program runs, but they can be asked first, if those of all products
in loops are theirs.  Each version is differentiated and made fast by itself, as those of
`shapes/broadcast_versions.py` are.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapec.optimise import costs
from tapec.optimise.contractions.small_products import Products
from tapec.remarks import remark
from tapec.syntax.core import Assign, Const, Expr, For, Function, Loop, Name, Op, Stmt, map_blocks, walk
from tapec.syntax.types import INT64, Array


def of_few_elements(function: Function) -> tuple[Function, tuple[Expr, ...]] | None:
    """The program for matrices of few elements, and which extents must be few; None where there are none.

    Expects one name per value, as `number_values` leaves it.
    """
    if sum(1 for _ in walk(function.body)) > costs.VERSION_STATEMENTS:
        return None
    worker = _Few(function)
    made = worker.rewritten()
    return (made, tuple(worker.extents_asked)) if worker.extents_asked and worker.is_worth_it else None


class _Few(Products):
    """Writes products in loops out whose extents follow from those of parameters."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        # in the order in which they are met
        self.extents_asked: dict[Expr, None] = {}
        # not where products in loops would be left to BLAS
        self.is_worth_it = True

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        match stmt:
            case Assign(value=Op(fn="np.dot", args=(Name(id=left), Name(id=right)))) if self.is_few(left, right):
                yield from self.of_few(stmt, left, right)
            case For() | Loop():
                yield self.loop(stmt)
            case _:
                yield map_blocks(stmt, self.block)

    def of_few(self, stmt: Assign, left: str, right: str) -> Iterator[Stmt]:
        """The product in loops, after a check of its factors' extents."""
        why = "where its arrays have at most {0} elements along each axis, which is asked at the start"
        remark(stmt.span, "small_products", "the product is written out", why, costs.FEW_ELEMENTS)
        shapes: list[tuple[Name, ...]] = []
        for array in (left, right):
            shapes.append(tuple(Name(self.fresh("size", INT64)) for _ in range(self.rank(array))))
            for axis, extent in enumerate(shapes[-1]):
                yield Assign(extent.id, self.asked(array, axis), stmt.span)
        one, other = shapes
        kinds = " * ".join("vector" if len(shape) == 1 else "matrix" for shape in shapes)
        yield from self.compared(stmt, other[0].id, one[-1], kinds)
        yield from self.written_out(stmt, left, right, one, other)

    def is_few(self, left: str, right: str) -> bool:
        """Whether a product in a loop can be asked about beforehand, and would not be written out anyway."""
        if self.innermost is None or not all(map(self.is_of_floats, (left, right))):
            return False
        ranks = self.rank(left), self.rank(right)
        matrix = left if ranks[0] == 2 else right
        if ranks == (1, 1) or (1 in ranks and self.is_steady(matrix)):
            return False
        axes = [(array, axis) for array in (left, right) for axis in range(self.rank(array))]
        formulas = [self.formula(array, axis) for array, axis in axes]
        known = [one for one in formulas if one is not None]
        if len(known) < len(formulas) or any(isinstance(one, Const) and not self.is_small(one) for one in known):
            self.is_worth_it = False
            return False
        self.extents_asked.update(dict.fromkeys(one for one in known if not isinstance(one, Const)))
        return True

    def is_small(self, number: Const) -> bool:
        return isinstance(number.value, int) and number.value <= costs.FEW_ELEMENTS

    def is_of_floats(self, array: str) -> bool:
        type_ = self.fresh.types[array]
        return isinstance(type_, Array) and type_.dtype == "float64" and type_.ndim in (1, 2)

    def formula(self, array: str, axis: int) -> Expr | None:
        """An extent as that of a parameter, or as a number; None if it is neither."""
        asked = self.asked(array, axis)
        match asked:
            case Op(fn="dim", args=(Name(id=owner), Const(value=int(place)))):
                if owner in self.params:
                    return asked
                found = self.extents.extent(owner, place)
                if found is None:
                    source = self.extents.source(self.definitions.get(owner, Const(None)), place)
                    return None if source is None else self.formula(*source)
                return self.number(found)
        return None

    def number(self, number: Expr) -> Expr | None:
        """A number as an extent of a parameter, or as it stands."""
        match self.definitions.get(number.id) if isinstance(number, Name) else number:
            case Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))):
                return self.formula(array, axis)
            case Const(value=int()) as known:
                return known
        return None
