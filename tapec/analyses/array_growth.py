"""Arrays that are copied into larger ones when they are full, and take one another's place.

    room = np.empty(4)
    while todo:
        if count == len(room):
            more = np.empty(2 * count)
            for k in range(count):
                more[k] = room[k]
            room = more
        room[count] = x

In single assignment several names stand for the array, one after the other.  Whoever takes all of them for one memory
has to know that nobody asks for an array after a larger one has taken its place: `Family.last` proves it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tapec.analyses.aliases import ALLOCATIONS, Aliases
from tapec.analyses.random_draws import drawn
from tapec.syntax.core import (
    Assign,
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
    Return,
    Stmt,
    Store,
    blocks,
    names_in,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Array, Scalar, Type

# what is asked of an array that may still grow
_PLAIN = frozenset({"load", "dim"})


@dataclass(frozen=True)
class Growth:
    """A branch after which each of `targets` is one of `sources`, or a larger array of `rooms` with its elements.

    It is taken where the first of the sources is full, so that none of the rooms is smaller than it.
    """

    stmt: If
    targets: tuple[str, ...]
    sources: tuple[str, ...]
    rooms: tuple[str, ...]


def growth(stmt: Stmt, types: dict[str, Type], made_once: dict[str, Expr]) -> Growth | None:
    """What grows in a branch that does nothing else; `made_once` has the values of names that are set once."""
    if not isinstance(stmt, If) or not stmt.orelse:
        return None
    kept = _renamed(stmt.orelse)
    ends = _renamed(stmt.body[-len(stmt.orelse) :])
    if kept is None or ends is None or kept.keys() != ends.keys():
        return None
    copied: dict[str, str] = {}
    for one in stmt.body[: -len(stmt.orelse)]:
        match one:
            case Assign(value=Op(fn="empty")):
                pass
            case Assign(value=Op(fn="pop")):
                return None
            case Assign(target=target) if isinstance(types[target], Scalar) and drawn(one) is None:
                pass
            case For(start=Const(value=0), step=Const(value=1), slots=None, parallel=False, body=body, var=var):
                pairs = _copied(body, var)
                if pairs is None:
                    return None
                copied |= pairs
            case _:
                return None
    sizes = {
        one.target: one.value.args[1]
        for one in stmt.body
        if isinstance(one, Assign) and isinstance(one.value, Op) and one.value.fn == "empty"
    }
    rooms = tuple(ends[target] for target in kept)
    alike = all(types[t] == types[s] == types[ends[t]] and isinstance(types[t], Array) for t, s in kept.items())
    if not alike or set(rooms) != sizes.keys() or any(copied.get(ends[t]) != s for t, s in kept.items()):
        return None
    found = Growth(stmt, tuple(kept), tuple(kept.values()), rooms)
    return found if _larger(found, sizes.values(), made_once) else None


def _larger(found: Growth, sizes: Iterable[Expr], made_once: dict[str, Expr]) -> bool:
    """Whether arrays that are full are copied as a whole, into such of these sizes, which are no smaller."""

    def value(expr: Expr) -> Expr:
        return made_once.get(expr.id, expr) if isinstance(expr, Name) else expr

    def is_extent(expr: Expr) -> bool:
        match value(expr):
            case Op(fn="dim", args=(Name(id=array), _)):
                return array in found.sources
        return False

    test = value(found.stmt.test)
    if not isinstance(test, Op) or test.fn != "==" or not any(map(is_extent, test.args)):
        return False
    full = {expr for expr in test.args if not is_extent(expr)}

    def no_less(expr: Expr) -> bool:
        """Whether a number is that of the elements at least."""
        if expr in full or is_extent(expr):
            return True
        match value(expr):
            case Op(fn="+", args=(first, second)):
                return (no_less(first) and _natural(second)) or (no_less(second) and _natural(first))
            case Op(fn="*", args=(Const(value=int() as factor), other)) | Op(
                fn="*", args=(other, Const(value=int() as factor))
            ):
                return factor >= 1 and no_less(other)
            case Op(fn="max", args=args):
                return any(map(no_less, args))
        return False

    stops = [one.stop for one in found.stmt.body if isinstance(one, For)]
    return all(stop in full or is_extent(stop) for stop in stops) and all(map(no_less, sizes))


def _natural(expr: Expr) -> bool:
    return isinstance(expr, Const) and isinstance(expr.value, int) and expr.value >= 0


def _renamed(block: Block) -> dict[str, str] | None:
    """Of a block of nothing else, the names that stand for what others stand for."""
    found = {one.target: one.value.id for one in block if isinstance(one, Assign) and isinstance(one.value, Name)}
    return found if len(found) == len(block) else None


def _copied(body: Block, var: str) -> dict[str, str] | None:
    """The arrays that a loop copies elements into, and those they come from; None if it does more."""
    loaded: dict[str, tuple[str, object]] = {}
    found: dict[str, str] = {}
    for stmt in body:
        match stmt:
            case Assign(target=item, value=Op(fn="load", args=(Name(id=source), place))) if var in names_in(place):
                loaded[item] = source, place
            case Store(array=array, index=(place,), value=Name(id=item), accumulate=False) if item in loaded:
                source, other = loaded[item]
                if place != other:
                    return None
                found[array] = source
            case _:
                return None
    return found


class Growths:
    """The growths of a function, by the ids of their statements, and the families of arrays that they make one."""

    def __init__(self, function: Function) -> None:
        self.function = function
        types = function.types
        stmts = list(walk(function.body))
        sets = Counter(name for stmt in stmts for name in writes(stmt))
        once = {s.target: s.value for s in stmts if isinstance(s, Assign) and sets[s.target] == 1}
        self.found = {one.stmt.key: one for stmt in stmts if (one := growth(stmt, types, once)) is not None}
        self.families = Aliases()
        self.stmts = list(self.outside(function.body)) if self.found else []
        for stmt in self.stmts:
            one = self.found.get(stmt.key)
            if one is not None:
                for target, source in zip(one.targets, one.sources, strict=True):
                    self.families.join(target, source)
            elif isinstance(stmt, Assign) and isinstance(stmt.value, Name) and isinstance(types[stmt.target], Array):
                self.families.join(stmt.target, stmt.value.id)

    def outside(self, block: Block) -> Iterator[Stmt]:
        """All statements but those inside of growths."""
        for stmt in block:
            yield stmt
            if stmt.key not in self.found:
                for inner in blocks(stmt):
                    yield from self.outside(inner)

    def all(self) -> list[Family]:
        """The families of arrays that grow."""
        heads = dict.fromkeys(self.families.find(name) for one in self.found.values() for name in one.sources)
        arrays = [name for name, type_ in self.function.types.items() if isinstance(type_, Array)]
        return [Family(self, frozenset(name for name in arrays if self.families.find(name) == head)) for head in heads]


class Family:
    """Arrays that take one another's place.

    names  the names that stand for them, but for those that a growth uses alone
    """

    def __init__(self, growths: Growths, names: frozenset[str]) -> None:
        self.growths = growths
        self.names = names
        # the statement that makes the first one
        self.made: Assign | None = None
        self._broken = False
        # whether there is a way out of the block that the first array is made in
        self._leaves = False
        # the names that stand for the array where a loop is left, innermost loop last
        self._left: list[frozenset[str] | None] = []

    def grows(self, stmt: Stmt) -> tuple[str, str] | None:
        """The name of the array after and before a statement that lets it grow."""
        found = self.growths.found.get(stmt.key)
        pairs = () if found is None else zip(found.targets, found.sources, strict=True)
        return next(((target, source) for target, source in pairs if target in self.names), None)

    def last(self) -> tuple[Stmt, str] | None:
        """The statement after which the array does not grow any more, and a name that stands for it there.

        None if an array is asked for after another one has taken its place, or for more than elements and extents
        before.
        """
        function, stmts = self.growths.function, self.growths.stmts
        given = {*function.params, *(name for group in function.shared for name in group)}
        results = {name for value in function.results for name in names_in(value)}
        if not self.names.isdisjoint(given | results) or not self._alone():
            return None
        defs = [stmt for stmt in stmts if isinstance(stmt, Assign) and stmt.target in self.names]
        made = [stmt for stmt in defs if not isinstance(stmt.value, Name)]
        if len(made) != 1 or not isinstance(made[0].value, Op) or made[0].value.fn not in ALLOCATIONS:
            return None
        self.made = made[0]
        block = _block_of(made[0], function.body)
        inside = {stmt.key for stmt in self.growths.outside(block)}
        grow = [place for place, stmt in enumerate(block) if any(map(self.grows, self.growths.outside((stmt,))))]
        if not grow or any(stmt.key not in inside for stmt in defs):
            return None
        before, rest = block[: grow[-1] + 1], block[grow[-1] + 1 :]
        if not self.plain(before):
            return None
        held = self._follow(before, frozenset(), True)
        if not held or self._leaves:
            return None
        self._follow(rest, held, True)
        return None if self._broken else (before[-1], min(held))

    def _alone(self) -> bool:
        """Whether nothing else asks for what growths compute."""
        mine = [stmt for stmt in self.growths.stmts if self.grows(stmt)]
        made = {name for stmt in mine for part in blocks(stmt) for one in walk(part) for name in writes(one)}
        made -= {name for stmt in mine for name in self.growths.found[stmt.key].targets}
        asked = Counter(name for stmt in self.growths.stmts for name in reads(stmt))
        return not any(asked[name] for name in made)

    def plain(self, block: Block) -> bool:
        """Whether statements ask for no more than elements and extents."""
        for stmt in self.growths.outside(block):
            if self.grows(stmt) or self.names.isdisjoint(reads(stmt)):
                continue
            match stmt:
                case Store() | Assign(value=Name()):
                    pass
                case Assign(value=Op(fn=fn)) if fn in _PLAIN:
                    pass
                case _:
                    return False
        return True

    def _follow(self, block: Block, held: frozenset[str] | None, checks: bool) -> frozenset[str] | None:
        """The names that stand for the array after a block; None if its end is not reached.

        With `checks` notes whether an array is asked for that another one has taken the place of.
        """
        for stmt in block:
            if held is None:
                break
            grown = self.grows(stmt)
            if grown is not None:
                self._broken |= checks and grown[1] not in held
                held = frozenset({grown[0]})
                continue
            match stmt:
                case Assign(target=target, value=Name(id=source)) if target in self.names:
                    held = held | {target} if source in held else held - {target}
                case Assign(target=target) if target in self.names:
                    held = frozenset({target})
                case If(body=body, orelse=orelse):
                    held = _both(self._follow(body, held, checks), self._follow(orelse, held, checks))
                case For(body=body) | Loop(body=body):
                    held = self._loop(body, held, checks, isinstance(stmt, Loop))
                case Break() if self._left:
                    self._left[-1] = _both(self._left[-1], held)
                    held = None
                case Break():
                    self._leaves, held = True, None
                case Raise() | Return():
                    held = None
                case _:
                    self._broken |= checks and not held.issuperset(self.names.intersection(reads(stmt)))
        return held

    def _loop(self, body: Block, held: frozenset[str], checks: bool, endless: bool) -> frozenset[str] | None:
        begun: frozenset[str] = held
        while True:
            self._left.append(None)
            again = _both(begun, self._follow(body, begun, False))
            self._left.pop()
            assert again is not None
            if again == begun:
                break
            begun = again
        self._left.append(None)
        self._follow(body, begun, checks)
        left = self._left.pop()
        return left if endless else _both(begun, left)


def _block_of(stmt: Stmt, block: Block) -> Block:
    """The block that a statement stands in; empty if there is none."""
    if any(one is stmt for one in block):
        return block
    return next((found for one in block for part in blocks(one) if (found := _block_of(stmt, part))), ())


def _both(first: frozenset[str] | None, second: frozenset[str] | None) -> frozenset[str] | None:
    """What holds on two ways that meet."""
    if first is None or second is None:
        return second if first is None else first
    return first & second
