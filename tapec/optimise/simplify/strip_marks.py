"""Values without what is said of their derivatives, once nobody differentiates any more.

    shift = stop_gradient(top)      ->      shift = top
    top = known(best, mean)         ->      top = best
    a, b = custom_gradient(c, d, …) ->      a = c
                                            b = d
    t = strong(y_bar, z)            ->      t_1 = y_bar != 0.0
                                            t_2 = y_bar * z
                                            t = t_2 if t_1 else 0.0
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.syntax.core import Assign, Block, Call, Function, Op, Stmt, map_blocks, zero_of
from tapec.syntax.custom_rule import Custom
from tapec.syntax.types import BOOL, Scalar
from tapec.transforms.emitter import Emitter

_VALUE_FIRST = frozenset({"stop_gradient", "known"})


def strip_marks(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with the operands whose values count; see the module."""
    types = dict(function.types)
    return replace(function, body=_block(function.body, Emitter(types, set(types))), types=types)


def _block(block: Block, emitter: Emitter) -> Block:
    return tuple(new for stmt in block for new in _statements(stmt, emitter))


def _statements(stmt: Stmt, emitter: Emitter) -> Iterator[Stmt]:
    match stmt:
        case Assign(value=Op(fn=fn, args=(value, *_))) if fn in _VALUE_FIRST:
            yield replace(stmt, value=value)
        case Call(targets=targets, function=Custom(), args=args, span=span):
            yield from (Assign(target, value, span) for target, value in zip(targets, args, strict=False))
        case Assign(target=target, value=Op(fn="strong", args=(first, second)), span=span):
            kind = emitter.types[target]
            assert isinstance(kind, Scalar)
            out = emitter.child()
            out.span = span
            zero = zero_of(kind)
            test, product = out.let("t", Op("!=", (first, zero)), BOOL), out.let("t", Op("*", (first, second)), kind)
            yield from out.out
            yield replace(stmt, value=Op("ifelse", (test, product, zero)))
        case _:
            yield map_blocks(stmt, lambda inner: _block(inner, emitter))
