"""Divide once where adjoints are divided again and again.

    q_bar = y_bar / z                                   inverse = 1.0 / z
    z_bar -= y * y_bar / z                    ->        q_bar = y_bar * inverse
    r_bar = p_bar / z                                   z_bar -= y * y_bar * inverse
                                                        r_bar = p_bar * inverse

A division takes as long as four to eight products, and one adjoint often waits for another.  The reciprocal waits for
none of them, and where the divisor does not change in a loop, LLVM takes it before the loop.

Done in loops, for divisors that are used twice in an iteration, which a branch of the iteration may have set, or do not
change in the innermost loop, where a loop before it may have added them up.  Only adjoints change: values of the
program stay what they are to the last bit.  Where a divisor is so small that its reciprocal is infinite (below
5.6e-309), an adjoint of zero becomes nan; the derivative itself is infinite there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, Const, Expr, Name, Op, Stmt, Store, reads
from tapec.syntax.types import FLOAT64, Scalar
from tapec.transforms.emitter import Emitter


def with_reciprocals(items: Sequence[Any], region: Scope, scopes: Scopes, emitter: Emitter) -> list[Any]:
    """The statements of a reversed block, with reciprocals; see the module."""
    loops = region.loops()
    if not loops:
        return list(items)
    uses = Counter(divisor for item in items if (divisor := _divisor(item, emitter)) is not None)

    def worth(divisor: str) -> bool:
        made = [scopes.of.get(stmt.key) for stmt in scopes.defs.get(divisor, ())]
        if scopes.merged(divisor) and scopes.loop_of(divisor) is not None:
            return all(place is not None and not place.inside(loops[0]) for place in made)
        scope = scopes.scope_of.get(divisor)
        return uses[divisor] > 1 or scope is None or not scope.inside(loops[0])

    inverses = _known(items, region, scopes, emitter)
    out: list[Any] = []
    for item in items:
        divisor = _divisor(item, emitter)
        if divisor is None or not (divisor in inverses or worth(divisor)):
            out.append(item)
            continue
        if divisor not in inverses:
            type_ = emitter.types[divisor]
            inverses[divisor] = Name(emitter.fresh("inverse", type_))
            out += _inverse(inverses[divisor], divisor, item, emitter)
        out.append(Assign(item.target, Op("*", (item.value.args[0], inverses[divisor])), item.span))
    return out


def _known(items: Sequence[Any], region: Scope, scopes: Scopes, emitter: Emitter) -> dict[str, Name]:
    """The reciprocals that a reversed block reads anyway, by what they are those of."""
    found: dict[str, Name] = {}
    for name in dict.fromkeys(name for item in items if isinstance(item, Assign | Store) for name in reads(item)):
        match scopes.defs.get(name):
            case [Assign(value=Op(fn="/", args=(Const(value=1.0), Name(id=divisor)))) as made]:
                alike = emitter.types.get(name) == emitter.types.get(divisor)
                if alike and scopes.of.get(made.key) is region and not scopes.merged(divisor):
                    found[divisor] = Name(name)
    return found


def _divisor(item: Any, emitter: Emitter) -> str | None:
    """The name that a statement divides by, in the one type of both numbers."""
    match item:
        case Assign(target=target, value=Op(fn="/", args=(Name(id=number), Name(id=divisor)))):
            types = {emitter.types.get(name) for name in (target, number, divisor)}
            return divisor if len(types) == 1 and _is_float(types.pop()) else None
    return None


def _is_float(type_: object) -> bool:
    return isinstance(type_, Scalar) and type_.is_float


def _inverse(name: Name, divisor: str, item: Assign, emitter: Emitter) -> list[Stmt]:
    one: Expr = Const(1.0)
    made: list[Stmt] = []
    type_ = emitter.types[divisor]
    if type_ != FLOAT64:
        assert isinstance(type_, Scalar)
        one = Name(emitter.fresh("t", type_))
        made.append(Assign(one.id, Op(f"cast.{type_.dtype}", (Const(1.0),)), item.span))
    return [*made, Assign(name.id, Op("/", (one, Name(divisor))), item.span)]
