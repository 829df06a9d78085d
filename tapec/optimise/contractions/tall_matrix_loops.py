"""A loop whose matrices of many short rows are kept in transpose.

Products are taken of transposes, in the other order; nests that go through the matrices go along their columns; what
asks for an extent asks for the other one.  `tall_matrices` says which loops these are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tapec.analyses.index_ranges import turned
from tapec.optimise.buffers.covering_nests import Nests
from tapec.optimise.loops.loop_interchange import Interchange
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Name,
    Op,
    Stmt,
    Store,
    element_of,
    map_blocks,
)
from tapec.syntax.types import Array


@dataclass
class TallMatrices:
    """What is turned in one loop.

    rows       how many rows all of the matrices have
    made       the matrices, and the statements that make them
    turned     names of their transposes, and of which matrix
    copied     matrices from before the loop that the nests read
    nests      the nests that go through them
    """

    rows: Expr
    made: dict[str, Assign]
    turned: dict[str, str] = field(default_factory=dict)
    copied: dict[str, None] = field(default_factory=dict)
    nests: list[For] = field(default_factory=list)


class InTranspose:
    """Rewrites a loop's statements; `names` are the new names of its matrices."""

    def __init__(
        self, group: TallMatrices, names: dict[str, str], nests: Nests, interchange: Interchange, fresh: Fresh
    ) -> None:
        self.group, self.names = group, names
        self.nests, self.interchange, self.fresh = nests, interchange, fresh
        self.inside = {one.key for one in group.nests}

    def block(self, block: Block) -> Block:
        return tuple(new for stmt in block for new in self.statements(stmt))

    def statements(self, stmt: Stmt) -> Iterator[Stmt]:
        group = self.group
        match stmt:
            case Assign(target=target) if target in group.turned:
                return
            case Assign(target=target, value=Op(fn="np.dot", args=(first, second))):
                if target in group.made:
                    before: list[Stmt] = []
                    # most of them have few rows, and many columns
                    both = self.transpose(second, before, stmt), self.transpose(first, before, stmt)
                    value = Op("tapec_runtime.product_in_rows" if self.in_rows(both) else "np.dot", both)
                    yield from before
                    yield replace(stmt, target=self.names[target], value=value)
                else:
                    before = []
                    value = Op("np.dot", (self.itself(first, before, stmt), self.itself(second, before, stmt)))
                    yield from before
                    yield replace(stmt, value=value)
            case Assign(target=target, value=Op(fn=fn, args=(dtype, rows, columns))) if target in group.made:
                yield replace(stmt, target=self.names[target], value=Op(fn, (dtype, columns, rows)))
            case Assign(value=Op(fn="dim", args=(Name(id=array), axis))) if array in group.made:
                other = Const(0 if axis == Const(1) else 1)
                yield replace(stmt, value=Op("dim", (Name(self.names[array]), other)))
            case For() if stmt.key in self.inside:
                nest = replace(stmt, body=tuple(map(self.element, stmt.body)))
                yield from self.interchange.turned(nest, stmt)
            case _:
                yield map_blocks(stmt, self.block)

    def in_rows(self, factors: tuple[Expr, ...]) -> bool:
        types = [self.fresh.types[factor.id] for factor in factors if isinstance(factor, Name)]
        return all(isinstance(type_, Array) and type_.layout == "C" for type_ in types)

    def element(self, stmt: Stmt) -> Stmt:
        """A statement of a nest, which finds its element in the transpose."""
        array, index = element_of(stmt) or ("", ())
        if array in self.names:
            first, second = index
            if isinstance(stmt, Store):
                assert isinstance(first, Name | Const) and isinstance(second, Name | Const)
                return replace(stmt, array=self.names[array], index=(second, first), span=turned(stmt.span, 2))
            assert isinstance(stmt, Assign)
            return replace(stmt, value=Op("load", (Name(self.names[array]), second, first)), span=turned(stmt.span, 2))
        return map_blocks(stmt, lambda block: tuple(map(self.element, block)))

    def itself(self, factor: Expr, out: list[Stmt], near: Assign) -> Expr:
        """A factor of a product, as it was."""
        assert isinstance(factor, Name)
        if factor.id in self.group.made:
            return self.view(Name(self.names[factor.id]), out, near)
        if factor.id in self.group.turned:
            return Name(self.names[self.group.turned[factor.id]])
        return factor

    def transpose(self, factor: Expr, out: list[Stmt], near: Assign) -> Expr:
        """A factor of a product in transpose."""
        assert isinstance(factor, Name)
        if factor.id in self.group.made:
            return Name(self.names[factor.id])
        if factor.id in self.group.turned:
            return self.view(Name(self.names[self.group.turned[factor.id]]), out, near)
        match self.nests.definition(factor):
            case Op(fn="transpose", args=(Name() as array,)) if self.nests.fixed(array):
                return array
        return self.view(factor, out, near)

    def view(self, array: Name, out: list[Stmt], near: Assign) -> Name:
        type_ = self.fresh.types[array.id]
        assert isinstance(type_, Array)
        layout = {"C": "F", "F": "C"}.get(type_.layout, "A")
        name = Name(self.fresh("t", replace(type_, layout=layout)))
        out.append(Assign(name.id, Op("transpose", (array,)), near.span))
        return name
