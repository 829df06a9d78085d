"""Record how large the adjoints of each line are: the program of `tapec.explain(..., args=...)`.

    y_bar[i] += t      ->      t_1 = abs(t)
                               t_2 = largest[2]
                               t_3 = np.maximum(t_2, t_1)
                               largest[2] = t_3
                               y_bar[i] += t

What a line adds to the adjoints of its operands is told of that line, so that a value is infinite or nan where it is
born, and zero where a derivative is.  It is for sweeps of level 0: nothing is left out, joined or moved, and each
addition stands by itself.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.errors import Span
from tapec.optimise.name_origins import is_adjoint
from tapec.syntax.core import Assign, Block, Const, Expr, For, Name, Op, Stmt, Store, map_blocks
from tapec.syntax.types import FLOAT64, INT64, Array, Scalar, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.reverse import Reversed

# of a line that does not run
NOT_RUN = -1.0


def recorded(swept: Reversed) -> tuple[Reversed, str, tuple[Span, ...]]:
    """Sweeps that record adjoints in an array, its name, and the line of each of its elements.

    An element is the largest adjoint in magnitude, nan if one of them is, and NOT_RUN if there is none.
    """
    types = dict(swept.types)
    emitter = Emitter(types, set(types))
    largest = emitter.fresh("largest", Array("float64", 1, "C"))
    # the adjoint of the result, which no line makes
    seed = next((stmt.key for stmt in swept.backward if isinstance(stmt, Assign) and _adds_one(stmt)), None)
    worker = _Recorder(emitter, largest, seed)
    backward = worker.block(swept.backward)
    count, place = Const(len(worker.lines)), emitter.fresh("place", INT64)
    emitter.assign(largest, Op("zeros", (Const("float64"), count)))
    fill = Store(largest, (Name(place),), Const(NOT_RUN))
    emitter.add(For(place, Const(0), count, Const(1), (fill,)))
    made = replace(swept, backward=(*emitter.out, *backward), types=types)
    return made, largest, tuple(worker.lines.values())


def _adds_one(stmt: Assign) -> bool:
    return stmt.value == Op("+", (Name(stmt.target), Const(1.0)))


class _Recorder:
    """Writes what records, but for the statement `seed`; `lines` are those recorded, by file and number."""

    def __init__(self, emitter: Emitter, largest: str, seed: int | None) -> None:
        self.emitter, self.largest, self.seed = emitter, largest, seed
        self.lines: dict[tuple[str, int], Span] = {}

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        sums = {stmt.target: stmt.value for stmt in block if isinstance(stmt, Assign)}
        for stmt in block:
            out += self.record(stmt, sums)
            out.append(map_blocks(stmt, self.block))
        return tuple(out)

    def record(self, stmt: Stmt, known: dict[str, Expr]) -> list[Stmt]:
        """What records the number that a statement adds to an adjoint; `known` is what its block computes."""
        match stmt:
            case Assign(target=target, value=Op(fn="+", args=(Name(id=same), added)), span=Span() as span):
                if same == target and is_adjoint(target) and stmt.key != self.seed:
                    return self.of_number(added, self.emitter.types[target], span)
            case Store(array=array, value=value, span=Span() as span) if is_adjoint(array):
                type_ = self.emitter.types[array]
                assert isinstance(type_, Array)
                more = value if stmt.accumulate else _added(stmt, known)
                return [] if more is None else self.of_number(more, type_.element, span)
        return []

    def of_number(self, added: Expr, type_: Type, span: Span) -> list[Stmt]:
        if not isinstance(type_, Scalar) or not type_.is_float:
            return []
        line = span.file, span.line
        self.lines.setdefault(line, span)
        place = Const([*self.lines].index(line))
        out = self.emitter.child()
        out.span = span
        size = out.let("t", Op("abs", (out.atom(added, FLOAT64),)), FLOAT64)
        before = out.let("t", Op("load", (Name(self.largest), place)), FLOAT64)
        after = out.let("t", Op("np.maximum", (before, size)), FLOAT64)
        out.add(Store(self.largest, (place,), after, span=span))
        return out.out


def _added(stmt: Store, known: dict[str, Expr]) -> Expr | None:
    """What is added where an element is loaded, and its sum with something is stored; None where it is set anew."""
    match stmt.value:
        case Name(id=name):
            match known.get(name):
                case Op(fn="+", args=(Name(id=before), added)):
                    if known.get(before) == Op("load", (Name(stmt.array), *stmt.index)):
                        return added
    return None
