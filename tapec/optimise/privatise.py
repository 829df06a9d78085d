"""Give each trip of a loop the scratch array that the program makes once for all of them.

    terms = np.empty(k)                   for i in range(n):
    for i in range(n):                        terms = np.empty(k)
        for j in range(k):                    for j in range(k):
            terms[j] = ...         ->             terms[j] = ...
        for j in range(k):                    for j in range(k):
            total += terms[j]                     total += terms[j]

Then nothing goes from trip to trip but the sum, and reverse mode can reverse each trip on its own.
An array qualifies if every trip writes all of it before it reads any of it, and nothing else
uses it.  `hoist.py` makes it once again in what is generated.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapec.analyses.memory import aliases, is_memory
from tapec.journal import Listener, Named
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Raise,
    Stmt,
    Store,
    reads,
    walk,
    writes,
)


def privatise(
    function: Function, _constants: frozenset[str] = frozenset(), listener: Listener | None = None
) -> Function:
    """The function with scratch arrays made inside the top-level loops that use them; see the module."""
    classes = aliases(function)
    sizes: dict[str, int] = {}
    for name, type_ in function.types.items():
        if is_memory(type_):
            sizes[classes.find(name)] = sizes.get(classes.find(name), 0) + 1
    counts = Counter(name for stmt in walk(function.body) for name in writes(stmt))
    counted = {stmt.var for stmt in walk(function.body) if isinstance(stmt, For)}
    fixed = frozenset(name for name in function.types if counts[name] <= 1 or name in counted)
    body: list[Stmt | None] = list(function.body)
    users: dict[str, list[int]] = {}
    for place, stmt in enumerate(function.body):
        for name in _mentioned(stmt):
            users.setdefault(name, []).append(place)
    for place, made in enumerate(function.body):
        if not isinstance(made, Assign) or not isinstance(made.value, Op) or made.value.fn not in ("empty", "zeros"):
            continue
        others = [other for other in users[made.target] if other != place]
        loop = body[others[0]] if len(others) == 1 else None
        if sizes[classes.find(made.target)] != 1 or not isinstance(loop, For):
            continue
        coverage = _Coverage(made.target, made.value.args[1:], fixed)
        if made.target not in reads(loop) and coverage.holds(loop.body):
            own = replace(made, value=replace(made.value, fn="empty"))
            body[others[0]] = replace(loop, body=(own, *loop.body))
            body[place] = None
            if listener is not None:
                why = "every trip of {1} writes all of it before it reads any"
                about = Named(made.target, made.span), loop.span
                listener.decide(made.span, "privatise", "`{0}` belongs to a trip", why, *about)
    return replace(function, body=tuple(stmt for stmt in body if stmt is not None))


def _mentioned(stmt: Stmt) -> set[str]:
    return {name for inner in walk((stmt,)) for name in (*reads(inner), *writes(inner))}


class _Coverage:
    """Whether a block writes all of an array before it reads any of it.

    `fixed` are names that have one value per trip.
    """

    def __init__(self, array: str, extents: tuple[Expr, ...], fixed: frozenset[str]) -> None:
        self.array = array
        self.extents = extents
        self.fixed = fixed

    def holds(self, block: Block) -> bool:
        return self.after(block, frozenset()) is not None

    def after(self, block: Block, known: frozenset[Atom]) -> frozenset[Atom] | None:
        """The subscripts that a block has written, `_ALL` for all of them; None if it reads others.

        The subscripts are numbers, and variables of loops around the block.
        """
        for stmt in block:
            found = self.statement(stmt, known)
            if found is None:
                return None
            known = found
        return known

    def statement(self, stmt: Stmt, known: frozenset[Atom]) -> frozenset[Atom] | None:
        if self.array not in _mentioned(stmt):
            return known
        match stmt:
            case Store(array=self.array, index=(index,), value=value, accumulate=accumulate):
                if value == Name(self.array) or (accumulate and not {index, _ALL} & known):
                    return None
                known_now = isinstance(index, Const) or index.id in self.fixed
                return self.complete(known | {index}) if known_now else known
            case Assign(value=Op(fn="dim")):
                return known
            case Assign(value=Op(fn="load", args=(Name(id=self.array), index))):
                return known if {index, _ALL} & known else None
            case If(body=body, orelse=orelse):
                ways = [self.after(body, known), self.after(orelse, known)]
                if None in ways:
                    return None
                sides = zip(ways, (body, orelse), strict=True)
                arriving = [way for way, side in sides if way is not None and not _raises(side)]
                return frozenset.intersection(*arriving) if arriving else known
            case For():
                return self.loop(stmt, known)
            case Loop(body=body):
                return known if self.after(body, known) is not None else None
        return known if _ALL in known else None

    def loop(self, stmt: For, known: frozenset[Atom]) -> frozenset[Atom] | None:
        inner = self.after(stmt.body, known)
        if inner is None:
            return None
        whole = (stmt.start, stmt.stop, stmt.step) == (Const(0), self.extents[0], Const(1))
        breaks = any(isinstance(s, Break) for s in walk(stmt.body))
        return known | {_ALL} if whole and not breaks and Name(stmt.var) in inner else known

    def complete(self, known: frozenset[Atom]) -> frozenset[Atom]:
        """All, if every element has been written by number."""
        size = self.extents[0].value if isinstance(self.extents[0], Const) else None
        written = isinstance(size, int) and size <= _LARGEST and all(Const(k) in known for k in range(size))
        return known | {_ALL} if written else known


_ALL = Const("all")
_LARGEST = 64


def _raises(block: Block) -> bool:
    return bool(block) and isinstance(block[-1], Raise)

