"""Copies of arrays, whole or without a box in the middle.

for i in range(first):        row[i] = new[i]
for i in range(behind, n):    row[i] = new[i]
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.analyses.dependence import Affine
from tapec.analyses.iterations import Iterations
from tapec.errors import Span
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Assign, Atom, Const, For, Name, Op, Stmt, Store
from tapec.syntax.types import INT64, Array


@dataclass(frozen=True)
class Border:
    """Where a box begins, and what lies behind it, along an axis of some extent; no less than 0 and no more."""

    first: Atom
    behind: Atom
    extent: Atom


class Borders:
    """Writes the loops that copy; names are `fresh`."""

    def __init__(self, iterations: Iterations, fresh: Fresh) -> None:
        self.iterations = iterations
        self.fresh = fresh

    def edge(self, low: Affine, high: Affine, limit: Atom, span: Span | None, out: list[Stmt]) -> Border:
        """Where a box begins and ends along an axis, within its extent; `out` gets what computes it."""
        first: Atom = Const(0)
        if low != Affine(None, 0):
            first = self.number(Op("min", (self.place(low, span, out), limit)), span, out)
        whole = self.iterations.subscript(limit)
        if whole is not None and high.base == whole.base and high.offset <= whole.offset:
            if high == whole and first == Const(0):
                return Border(first, limit, limit)
            return Border(first, self.number(Op("max", (first, self.place(high, span, out))), span, out), limit)
        end = self.number(Op("min", (self.place(high, span, out), limit)), span, out)
        return Border(first, self.number(Op("max", (first, end)), span, out), limit)

    def rim(self, target: str, source: str, edges: list[Border], span: Span | None) -> list[Stmt]:
        """Copy the elements outside a box: per axis those before and behind it, within the box along earlier axes.

        The loop along that axis, of few iterations, is the outermost.
        """
        out: list[Stmt] = []
        for axis, edge in enumerate(edges):
            inner = [(k, one.first, one.behind) for k, one in enumerate(edges[:axis])]
            inner += [(k, Const(0), edges[k].extent) for k in range(axis + 1, len(edges))]
            if edge.first != Const(0):
                out += self.copied(target, source, [(axis, Const(0), edge.first), *inner], span)
            if edge.behind != edge.extent:
                out += self.copied(target, source, [(axis, edge.behind, edge.extent), *inner], span)
        return out

    def whole(self, target: str, source: str, extents: list[Atom], span: Span | None) -> list[Stmt]:
        """Copy all elements."""
        return self.copied(target, source, [(k, Const(0), extent) for k, extent in enumerate(extents)], span)

    def copied(self, target: str, source: str, loops: list[tuple[int, Atom, Atom]], span: Span | None) -> list[Stmt]:
        """Copy elements by loops over an axis each, outermost first."""
        type_ = self.iterations.types[source]
        assert isinstance(type_, Array)
        variables = {axis: self.fresh("ijkl"[axis % 4], INT64) for axis, _, _ in loops}
        subs = tuple(Name(variables[axis]) for axis in sorted(variables))
        item = self.fresh("t", type_.element)
        load = Assign(item, Op("load", (Name(source), *subs)), span)
        body: list[Stmt] = [load, Store(target, subs, Name(item), False, span)]
        for axis, start, stop in reversed(loops):
            body = [For(variables[axis], start, stop, Const(1), tuple(body), False, span)]
        return body

    def place(self, value: Affine, span: Span | None, out: list[Stmt]) -> Atom:
        """A bound as a number."""
        if value.base is None:
            return Const(value.offset)
        if value.offset == 0:
            return Name(value.base)
        sign = "+" if value.offset > 0 else "-"
        return self.number(Op(sign, (Name(value.base), Const(abs(value.offset)))), span, out)

    def number(self, value: Op, span: Span | None, out: list[Stmt]) -> Atom:
        name = self.fresh("size", INT64)
        out.append(Assign(name, value, span))
        return Name(name)
