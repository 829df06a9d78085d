"""How much of an array the loops of a nest go over, as far as their bounds tell."""

from __future__ import annotations

from tapec.analyses.batch_extents import BatchExtents
from tapec.analyses.dependence import Dependence
from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, Const, Expr, For, Name, Op

# what makes a size of other sizes
_SIZES = frozenset({"+", "-", "*", "//", "max", "neg"})


class LoopCoverage:
    """Bounds of loops, compared with extents of arrays."""

    def __init__(self, scopes: Scopes, sizes: BatchExtents) -> None:
        self.scopes = scopes
        self.sizes = sizes
        self.dependence = Dependence(scopes)

    def counted_by(self, sub: Expr, extent: Expr, chain: tuple[Scope, ...]) -> int | None:
        """The place of the loop that counts a subscript up to an extent, if it does."""
        found = self._limits(sub, chain)
        if found is None:
            return None
        place, limits = found
        return place if limits and all(one == extent or _is_extent(one) for one in limits) else None

    def over_all(self, subs: tuple[Expr, ...], chain: tuple[Scope, ...]) -> bool:
        """Whether subscripts are variables of loops, each with an extent of an array for a bound."""
        places = set[int]()
        for sub in subs:
            found = self._limits(sub, chain)
            if found is not None and any(map(_is_extent, found[1])):
                places.add(found[0])
        return len(places) == len(subs)

    def _limits(self, sub: Expr, chain: tuple[Scope, ...]) -> tuple[int, list[Expr | None]] | None:
        """The place of the loop whose variable a subscript is, up to a number, and the sizes that bound the loop."""
        affine = self.dependence.affine(sub) if isinstance(sub, Name | Const) else None
        for place, region in enumerate(chain):
            loop = region.owner
            if affine is not None and isinstance(loop, For) and loop.var == affine.base:
                bounds = (self.dependence.affine(bound) for bound in (loop.start, loop.stop))
                return place, [self.sizes.extent(Name(b.base)) for b in bounds if b is not None and b.base is not None]
        return None

    def is_long(self, loop: Scope) -> bool:
        """Whether a loop may be taken to have as many iterations as an axis of an array has elements.

        Not if their number is a constant, the least of several, or one that elements of arrays tell: an iteration of
        the loop around then reads a part, and a copy of all is more than the work.
        """
        owner = loop.owner
        if not isinstance(owner, For):
            return False
        first, last = self.dependence.affine(owner.start), self.dependence.affine(owner.stop)
        if first is None or last is None or first.base == last.base:
            return False
        return all(base is None or self._is_size(Name(base)) for base in (first.base, last.base))

    def _is_size(self, expr: Expr) -> bool:
        """Whether an integer follows from extents, arguments and the variables of loops."""
        if isinstance(expr, Const):
            return True
        if isinstance(expr, Op):
            return expr.fn == "dim" or (expr.fn in _SIZES and all(map(self._is_size, expr.args)))
        defs = self.scopes.defs.get(expr.id, [])
        if len(defs) != 1:
            return not defs
        return isinstance(defs[0], For) or (isinstance(defs[0], Assign) and self._is_size(defs[0].value))


def _is_extent(expr: Expr | None) -> bool:
    return isinstance(expr, Op) and expr.fn == "dim"
