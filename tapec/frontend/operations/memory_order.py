"""Which arrays NumPy may keep in columns, or with gaps, where ours are in rows.

NumPy lays the result of an elementwise operation out as the operands are (order `K`): `a.T * 2.0` is in columns, and
its `ravel()` a copy.  Arrays of ours that are made anew are in rows, so that a `ravel()` would be a view.  The memory
of such arrays is noted here; functions that give a view of what is in rows copy it, and `copies_of_views.py` refuses
programs that could tell.  So is that of `z.real` and `z.imag`, whose elements have gaps between them in NumPy: a
`reshape` of those is a view nevertheless.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Complex, Items, Lazy, Lst, Sym, Tup, Value
from tapec.syntax.core import Name
from tapec.syntax.types import Array

# functions and methods whose results are in rows, whatever they are given, and those that note the order themselves
KNOWN_ORDER = frozenset(
    {"ascontiguousarray", "copy", "dot", "empty", "full", "inner", "matmul", "multi_dot", "ones", "outer"}
    | {"tensordot", "zeros", "array", "asanyarray", "asarray", "asfortranarray", "astype"}
)


def may_be_in_columns(ev: Evaluator, value: Value) -> bool:
    """Whether NumPy may have another order than rows for an array, or for one that an expression reads."""
    return any(
        isinstance(one.type, Array)
        and one.type.ndim > 1
        and (one.type.layout != "C" or is_marked(ev, _name(one)))
        for one in _arrays(ev, value)
    )


def may_have_gaps(ev: Evaluator, value: Value, parts: bool) -> bool:
    """Whether NumPy may have other strides for an array that is in rows here, or for a row of one.

    parts  whether those of complex arrays count
    """
    roots = {root for one in _arrays(ev, value) for root in ev.roots.get(_name(one), ())} & ev.in_columns
    return any(parts or not root.startswith(_PART) for root in roots)


def is_marked(ev: Evaluator, array: str) -> bool:
    """Whether memory of an array is noted."""
    return not ev.in_columns.isdisjoint(ev.roots.get(array, ()))


# no array has names that begin like this
_COLUMNS, _PART = "columns of ", "part in "


def mark(ev: Evaluator, array: str, part: bool = False) -> None:
    """Note an array, whichever memory it has; `part`: that of a complex array."""
    root = f"{_PART if part else _COLUMNS}{array}"
    ev.roots[array] = ev.roots.get(array, frozenset()) | {root}
    ev.in_columns.add(root)


def note_order(ev: Evaluator, made: Value, givers: Iterable[Value], certainly: bool = False) -> None:
    """Note the memory of arrays that were made of others, whose order they may have; or certainly have columns.

    Where an array is not in rows here, NumPy's may be.
    """
    givers = list(givers)
    unknown = certainly or any(may_be_in_columns(ev, giver) for giver in givers)
    fresh = [
        one
        for one in _arrays(ev, made)
        if isinstance(one.type, Array) and one.type.ndim > 1 and (unknown or one.type.layout != "C")
    ]
    if isinstance(made, Lazy) or not fresh:
        return
    given = {root for giver in givers for one in _arrays(ev, giver) for root in ev.roots.get(_name(one), ())}
    for one in fresh:
        ev.in_columns |= ev.roots.get(_name(one), frozenset()) - given


def _arrays(ev: Evaluator, value: Value) -> Iterator[Sym]:
    match value:
        case Sym(atom=Name()):
            yield value
        case Complex(re=re, im=im):
            yield from _arrays(ev, re)
            yield from _arrays(ev, im)
        case Lazy(args=args) | Tup(items=args):
            for arg in args:
                yield from _arrays(ev, arg)
        case Lst() if isinstance(contents := ev.heap.get(value), Items):
            yield from _arrays(ev, Tup(contents.values))


def _name(value: Sym) -> str:
    assert isinstance(value.atom, Name)
    return value.atom.id
