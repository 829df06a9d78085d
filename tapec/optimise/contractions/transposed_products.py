"""Take a product in transpose where it is added to a transposed array.

    v = w.T                                       v = w.T
    p = np.dot(a, b)                              a_1 = a.T
    for i in range(n):                            b_1 = b.T
        for j in range(m):                        p = np.dot(b_1, a_1)
            t = p[i, j]               ->          for j in range(m):
            v[i, j] += t                              for i in range(n):
                                                          t = p[j, i]
                                                          w[j, i] += t

The adjoint of a factor `w.T` is such a sum.  Its loops would go through one of the two arrays against the order of its
elements; turned, they go along both, and where `w` begins as zeros it can be the product.  Requires that nothing
else reads the product, and that neither `v` nor `w` ever is another array.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapec.analyses.index_ranges import turned
from tapec.optimise.contractions.small_products import is_product
from tapec.optimise.name_origins import Fresh
from tapec.optimise.simplify.dead_code import drop_dead_code
from tapec.remarks import remark
from tapec.syntax.core import Assign, Block, Expr, For, Function, Name, Op, Stmt, Store, map_blocks, reads, walk, writes
from tapec.syntax.types import Array


def transpose_products(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with such products turned; see the module."""
    if not any(map(is_product, walk(function.body))):
        return function
    worker = _Turned(function)
    body = worker.block(function.body)
    if not worker.any:
        return function
    # views that nobody reads would hide from later passes that nothing else sees the array
    return drop_dead_code(replace(function, body=body, types=worker.fresh.types), constants)


class _Turned:
    def __init__(self, function: Function) -> None:
        self.fresh = Fresh(function.types)
        stmts = list(walk(function.body))
        self.writes = Counter(function.params) + Counter(name for stmt in stmts for name in writes(stmt))
        self.reads = Counter(name for stmt in stmts for name in reads(stmt))
        self.any = False
        # what each name is the transpose of
        self.turned = {
            stmt.target: stmt.value.args[0].id
            for stmt in stmts
            if isinstance(stmt, Assign) and self.writes[stmt.target] == 1
            if isinstance(stmt.value, Op) and stmt.value.fn == "transpose" and isinstance(stmt.value.args[0], Name)
            if self.writes[stmt.value.args[0].id] == 1
        }

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        loops = {product: place for place, stmt in enumerate(block) if (product := self.added(stmt)) is not None}
        turned: set[int] = set()
        for place, stmt in enumerate(block):
            match stmt:
                case Assign(target=target, value=Op(fn="np.dot", args=args)) if loops.get(target, -1) > place:
                    self.any = True
                    turned.add(loops[target])
                    second, first = (self.transpose(arg, out, stmt) for arg in args)
                    out.append(replace(stmt, value=Op("np.dot", (first, second))))
                    why = "it is added to a transposed array"
                    remark(stmt.span, "transposed_products", "the product is taken in transpose", why)
                case For() if place in turned:
                    out.append(self.interchanged(stmt))
                case _:
                    out.append(map_blocks(stmt, self.block))
        return tuple(out)

    def added(self, stmt: Stmt) -> str | None:
        """The product that a nest of loops adds to a transposed array, if it does that alone."""
        if not isinstance(stmt, For) or len(stmt.body) != 1 or not isinstance(stmt.body[0], For):
            return None
        inner = stmt.body[0]
        index = (Name(stmt.var), Name(inner.var))
        if index[0] in (inner.start, inner.stop, inner.step) or not isinstance(inner.body[-1], Store):
            return None
        array = inner.body[-1].array
        match inner.body:
            case (
                Assign(target=element, value=Op(fn="load", args=(Name(id=product), *place))),
                Store(index=kept, value=Name(id=added), accumulate=True),
            ):
                right = added == element and tuple(place) == kept == index
            case (
                Assign(target=old, value=Op(fn="load", args=(Name(id=before), *at))),
                Assign(target=element, value=Op(fn="load", args=(Name(id=product), *place))),
                Assign(target=total, value=Op(fn="+", args=(Name(id=first), Name(id=second)))),
                Store(index=kept, value=Name(id=added), accumulate=False),
            ):
                right = (before, first, second, added) == (array, old, element, total)
                right = right and self.reads[old] == self.reads[total] == 1
                right = right and tuple(at) == tuple(place) == kept == index
            case _:
                return None
        alone = self.reads[product] == self.writes[product] == self.reads[element] == 1
        # by nothing behind the loops
        counted = all(self.reads[name.id] == len(inner.body) - (len(inner.body) > 2) for name in index)
        return product if right and alone and counted and array in self.turned else None

    def transpose(self, factor: Expr, out: list[Stmt], product: Assign) -> Name:
        """The transpose of a factor, which may be that of another array."""
        assert isinstance(factor, Name)
        if factor.id in self.turned:
            return Name(self.turned[factor.id])
        type_ = self.fresh.types[factor.id]
        assert isinstance(type_, Array)
        layout = {"C": "F", "F": "C"}.get(type_.layout, type_.layout)
        made = Name(self.fresh("t", replace(type_, layout=layout)))
        out.append(Assign(made.id, Op("transpose", (factor,)), product.span))
        return made

    def interchanged(self, outer: For) -> For:
        """The nest over the transposes."""
        (inner,) = outer.body
        assert isinstance(inner, For)
        return replace(inner, body=(replace(outer, body=tuple(map(self.elsewhere, inner.body))),))

    def elsewhere(self, stmt: Stmt) -> Stmt:
        """A statement that reads or writes an element of a transpose."""
        match stmt:
            case Store(array=array, index=(i, j)):
                return replace(stmt, array=self.turned[array], index=(j, i), span=turned(stmt.span, 2))
            case Assign(value=Op(fn="load", args=(Name(id=array), i, j))):
                # the product has been turned itself
                load = Op("load", (Name(self.turned.get(array, array)), j, i))
                return replace(stmt, value=load, span=turned(stmt.span, 2))
        return stmt
