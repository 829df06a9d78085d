"""Functions that derivatives ask for, and that the program has computed itself.

    c = np.cos(x)                             x_bar -= np.sin(x) * c_bar
    s = np.sin(x)                ->           x_bar -= s * c_bar

The derivative of a cosine asks for a sine, which rotations and complex exponentials compute, too.  Done where the
reverse sweep reads the program's value anyway: to keep it for this alone takes memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, Expr, Name, Op, reads
from tapec.syntax.types import Scalar, Type

_MODULES = ("np.", "math.")
# a function without its module, and what it is given
_Call = tuple[str, tuple[Expr, ...]]


def share_functions(reverse: Any, scopes: Scopes, types: Mapping[str, Type]) -> None:
    """Put the program's values into the blocks of a reverse sweep (`sweep.RevBlock`), which it has not planned yet."""
    computed: dict[_Call, list[Assign]] = {}
    for made in scopes.defs.values():
        for stmt in made if len(made) == 1 else ():
            if isinstance(stmt, Assign) and (call := _call(stmt.value, scopes)) is not None:
                computed.setdefault(call, []).append(stmt)
    if not computed:
        return
    blocks = list(_blocks(reverse))
    wanted = {name for block in blocks for item in block.items for name in _read(item)}
    for block in blocks:
        for place, item in enumerate(block.items):
            call = _call(item.value, scopes) if isinstance(item, Assign) else None
            if call is None:
                continue
            for stmt in computed.get(call, ()):
                same = types[stmt.target] == types[item.target] and isinstance(types[stmt.target], Scalar)
                if stmt.target in wanted and same and _stands(stmt, block.region, scopes):
                    block.items[place] = Assign(item.target, Name(stmt.target), item.span)
                    break


def _blocks(block: Any) -> Iterator[Any]:
    """A reversed block and those inside it."""
    yield block
    for item in block.items:
        for inner in (getattr(item, "body", None), getattr(item, "orelse", None)):
            if hasattr(inner, "items"):
                yield from _blocks(inner)


def _read(item: Any) -> tuple[str, ...]:
    """What a reversed statement reads of the program, besides what its blocks read."""
    return reads(item.primal) if hasattr(item, "primal") else reads(item)


def _call(value: Expr, scopes: Scopes) -> _Call | None:
    """A function of names that have one value in a run of their block."""
    if not isinstance(value, Op) or not value.fn.startswith(_MODULES) or not value.args:
        return None
    if any(not isinstance(arg, Name) or scopes.merged(arg.id) for arg in value.args):
        return None
    return value.fn.rpartition(".")[2], value.args


def _stands(made: Assign, here: Scope, scopes: Scopes) -> bool:
    """Whether a value is there whenever the derivatives of a block are computed."""
    there = scopes.of[made.key]
    if not here.inside(there):
        return False
    around = here
    while around is not there:
        # the block's own iterations may be reversed before what stands behind them
        if around.parent is there and scopes.place[made.key] > scopes.place[around.owner_key]:
            return False
        assert around.parent is not None
        around = around.parent
    return True
