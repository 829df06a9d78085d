"""Whether the examples of a batch are independent: row i of every result depends on row i of the sources alone.

A number or array belongs to no example, to one, row by row to all of them, or to several.  Which one is known
from the subscripts by which rows are taken and stored:

    for i in range(n):
        t = x[i] @ w          t belongs to example i
        for j in range(m):
            s = s + t[j]      and so does s, if every iteration of the outer loop sets it anew
        y[i, 0] = s           y belongs to the examples row by row
        total = total + s     total belongs to several, as does what is computed from it

What counts is dependence by a derivative: comparisons, integers and shapes belong to no example.  Facts grow
from statement to statement until nothing changes; what memory two names share, they know together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tapec.analyses.activity import differentiable_operands, outputs
from tapec.analyses.aliases import VIEWS
from tapec.analyses.batch_extents import BatchExtents
from tapec.analyses.dependence import Dependence
from tapec.analyses.scopes import scopes
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Call,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Push,
    Raise,
    Stmt,
    Store,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Array, Scalar

_SOLVES = frozenset({"np.linalg.solve", "tapec_runtime.solved", "tapec_runtime.solved_transposed"})


@dataclass(frozen=True)
class Along:
    """Row i along an axis belongs to example i."""

    axis: int


@dataclass(frozen=True)
class Of:
    """It belongs to the example of a number, or of that which a loop's variable has."""

    example: str | int


@dataclass(frozen=True)
class Several:
    """It belongs to more than one example, or to one that is not known."""


Fact = Along | Of | Several | None
_SEVERAL = Several()


def independent_examples(function: Function, sources: tuple[str, ...]) -> bool:
    """Whether row i of every result depends by a derivative on row i of the sources alone.

    sources  parameters that are arrays; their first axis, and that of the results, numbers the examples
    """
    if function.shared or any(_holds_arrays(function, stmt) for stmt in walk(function.body)):
        return False
    return _Examples(function, sources).proved()


def _holds_arrays(function: Function, stmt: Stmt) -> bool:
    """Whether a list of arrays is filled: which of them comes out of it later is not followed."""
    return isinstance(stmt, Push) and isinstance(stmt.value, Name) and isinstance(function.types[stmt.value.id], Array)


class _Examples:
    def __init__(self, function: Function, sources: tuple[str, ...]) -> None:
        self.function, self.types = function, function.types
        self.scopes = scopes(function)
        self.sizes = BatchExtents(function, sources, self.scopes)
        self.dependence = Dependence(self.scopes)
        loops = [stmt for stmt in walk(function.body) if isinstance(stmt, For)]
        # names that an iteration reads before it sets them, by the loop's variable
        self.handed_on = {loop.var: _read_first(loop.body) for loop in loops}
        self.facts: dict[str, Fact] = {source: Along(0) for source in sources}
        self.changed = True

    def proved(self) -> bool:
        stmts = list(walk(self.function.body))
        while self.changed:
            self.changed = False
            for stmt in stmts:
                self.visit(stmt)
        last = self.function.leaving
        carried = [value.id for value in last.values if isinstance(value, Name) and self.carries(value.id)]
        return all(self.seen(name, last) in (None, Along(0)) for name in carried)

    # facts

    def carries(self, name: str) -> bool:
        type_ = self.types.get(name)
        return type_ is not None and type_.is_float

    def within(self, stmt: Stmt, example: str | int) -> bool:
        """Whether a statement stands in the loop of a variable."""
        if isinstance(example, int):
            return True
        owner = self.dependence.loops[example]
        return any(region.owner is owner for region in self.scopes.of[stmt.key].ancestors())

    def made_in(self, name: str, example: str | int) -> bool:
        """Whether every iteration of a loop sets a name before it reads it, and nothing else does."""
        if isinstance(example, int):
            return True
        made = self.scopes.defs.get(name, [])
        return bool(made) and name not in self.handed_on[example] and all(self.within(stmt, example) for stmt in made)

    def seen(self, name: str, stmt: Stmt) -> Fact:
        """What is known of a name where a statement reads it."""
        fact = self.facts.get(name)
        return _SEVERAL if isinstance(fact, Of) and not self.within(stmt, fact.example) else fact

    def learn(self, name: str, fact: Fact) -> None:
        if isinstance(fact, Of) and not self.made_in(name, fact.example):
            fact = _SEVERAL
        known = self.facts.get(name)
        joined = _joined((known, fact))
        if joined != known:
            self.facts[name] = joined
            self.changed = True

    def example(self, index: Expr) -> str | int | None:
        """The example that a subscript numbers, counted from the first one: a number, or a loop's variable."""
        affine = self.dependence.affine(index) if isinstance(index, Name | Const) else None
        if affine is None or self.dependence.minimum(affine) < 0:
            return None
        if affine.base is None:
            return affine.offset
        return affine.base if affine.offset == 0 and affine.base in self.dependence.loops else None

    # statements

    def visit(self, stmt: Stmt) -> None:
        match stmt:
            case Assign(target=target, value=value) if self.carries(target):
                if isinstance(self.types[target], Scalar):
                    self.learn(target, self.number(value, stmt))
                else:
                    self.array(target, value, stmt)
            case Store(array=array, index=index, value=Name(id=value)) if self.carries(value):
                self.learn(array, self.stored(array, index, self.seen(value, stmt)))
            case Push(stack=stack, value=Name(id=value)) if self.carries(value):
                self.learn(stack, self.seen(value, stmt))
            case Call():
                given = [arg.id for arg in stmt.args if isinstance(arg, Name) and self.carries(arg.id)]
                for target in outputs(stmt):
                    self.learn(target, _mixed([self.seen(name, stmt) for name in given]))

    def number(self, value: Expr, stmt: Stmt) -> Fact:
        if isinstance(value, Op) and value.fn == "load":
            array, *index = value.args
            assert isinstance(array, Name)
            fact = self.seen(array.id, stmt)
            if isinstance(fact, Along):
                return self.row(index[fact.axis])
            return fact
        operands = [self.seen(name, stmt) for name in differentiable_operands(value) if self.carries(name)]
        return _mixed(operands)

    def row(self, index: Expr) -> Fact:
        """What a row of a batch is known to be."""
        example = self.example(index)
        return _SEVERAL if example is None else Of(example)

    def stored(self, array: str, index: tuple[Expr, ...], fact: Fact) -> Fact:
        """What an array is known to be when a value has been stored into it."""
        if not isinstance(fact, Of):
            return None if fact is None else _SEVERAL
        rows = [axis for axis, sub in enumerate(index) if self.example(sub) == fact.example]
        batch = isinstance(fact.example, int) and rows and self.sizes.rank(array) > 1
        return fact if self.made_in(array, fact.example) and not batch else self.along(array, rows)

    def along(self, array: str, axes: list[int]) -> Fact:
        """One of the axes, that which is known already if it is among them."""
        known = self.facts.get(array)
        if isinstance(known, Along) and known.axis in axes:
            return known
        return Along(axes[0]) if axes else _SEVERAL

    def array(self, target: str, value: Expr, stmt: Stmt) -> None:
        match value:
            case Name(id=source):
                self.shared(target, source, _as_it_is, _as_it_is, stmt)
            case Op(fn="ifelse", args=(_, *chosen)):
                for one in chosen:
                    if isinstance(one, Name):
                        self.shared(target, one.id, _as_it_is, _as_it_is, stmt)
            case Op(fn=fn, args=(Name(id=source), *rest)) if fn in VIEWS:
                self.viewed(target, source, fn, rest, stmt)
            case Op(fn="copy", args=(Name(id=source),)):
                self.learn(target, self.seen(source, stmt))
            case Op(fn="np.dot", args=(Name(id=first), Name(id=second))):
                self.learn(target, self.product(target, first, second, stmt))
            case Op(fn=fn, args=(Name(id=first), Name(id=second))) if fn in _SOLVES and self.facts.get(first) is None:
                fact = self.seen(second, stmt)
                self.learn(target, fact if fact == Along(1) else _mixed([fact]))
            case Op():
                operands = [self.seen(name, stmt) for name in differentiable_operands(value) if self.carries(name)]
                self.learn(target, _mixed(operands))

    def product(self, target: str, first: str, second: str, stmt: Stmt) -> Fact:
        """Rows of the first factor stay rows, columns of the second one columns."""
        left, right = self.seen(first, stmt), self.seen(second, stmt)
        if left == Along(0) and right is None and self.sizes.rank(first) == 2:
            return left
        if left is None and right == Along(1):
            return Along(self.sizes.rank(target) - 1)
        return _mixed([left, right])

    # names for the same memory

    def shared(
        self, view: str, whole: str, down: Callable[[Fact], Fact], up: Callable[[Fact], Fact], stmt: Stmt
    ) -> None:
        self.learn(view, down(self.seen(whole, stmt)))
        fact = self.facts.get(view)
        own = isinstance(fact, Of) and not isinstance(fact.example, int) and self.made_in(whole, fact.example)
        self.learn(whole, fact if own else up(fact))

    def viewed(self, view: str, whole: str, fn: str, args: Sequence[Expr], stmt: Stmt) -> None:
        rank = self.sizes.rank(whole)
        if fn == "reshape":
            size = self.sizes.extent(args[0])
            kept = size is not None and size == self.sizes.extent_of(whole, 0) and self.sizes.c_order(whole)
            axes: list[int | None] = [0 if kept else None, *[None] * (len(args) - 1)]
        elif fn == "transpose":
            axes = list(reversed(range(rank)))
        elif fn == "permute":
            axes = [arg.value if isinstance(arg, Const) and isinstance(arg.value, int) else None for arg in args]
        else:
            axes = self.cut(rank, args)
        taken = self.taken(args) if fn == "view" else {}

        def down(fact: Fact) -> Fact:
            if not isinstance(fact, Along):
                return fact
            if fact.axis in taken:
                return self.row(taken[fact.axis])
            return Along(axes.index(fact.axis)) if fact.axis in axes else _SEVERAL

        def up(fact: Fact) -> Fact:
            if isinstance(fact, Of):
                rows = [axis for axis, sub in taken.items() if self.example(sub) == fact.example]
                return self.along(whole, rows) if rows or not isinstance(fact.example, int) else fact
            axis = axes[fact.axis] if isinstance(fact, Along) else None
            return None if fact is None else _SEVERAL if axis is None else Along(axis)

        self.shared(view, whole, down, up, stmt)

    def cut(self, rank: int, cuts: Sequence[Expr]) -> list[int | None]:
        """For each axis of a view the axis whose first rows it numbers alike; None for others."""
        axes: list[int | None] = []
        place = 0
        for sub in cuts:
            if sub == Const(None):
                axes.append(None)
                continue
            if isinstance(sub, Op):
                low, _, step = sub.args
                axes.append(place if low in (Const(None), Const(0)) and step in (Const(None), Const(1)) else None)
            place += 1
        return [*axes, *range(place, rank)]

    def taken(self, cuts: Sequence[Expr]) -> dict[int, Expr]:
        """The axes of which a view takes one row."""
        whole = [sub for sub in cuts if sub != Const(None)]
        return {axis: sub for axis, sub in enumerate(whole) if not isinstance(sub, Op)}


def _as_it_is(fact: Fact) -> Fact:
    return fact


def _joined(facts: Sequence[Fact]) -> Fact:
    """What holds where one of several facts does."""
    some = {fact for fact in facts if fact is not None}
    return some.pop() if len(some) == 1 else _SEVERAL if some else None


def _mixed(facts: Sequence[Fact]) -> Fact:
    """What holds of a value that depends on several others as a whole."""
    joined = _joined(facts)
    return _SEVERAL if isinstance(joined, Along) else joined


def _read_first(body: Block) -> frozenset[str]:
    """The names that a block may read before it sets them."""
    found: set[str] = set()
    _follow(body, frozenset(), found)
    return frozenset(found)


def _follow(block: Block, known: frozenset[str], found: set[str]) -> frozenset[str] | None:
    """Collect what is read before it is set; returns what is set at the block's end, None if it never gets there."""
    for stmt in block:
        found.update(name for name in reads(stmt) if name not in known)
        match stmt:
            case If(body=body, orelse=orelse):
                ends = [end for side in (body, orelse) if (end := _follow(side, known, found)) is not None]
                if not ends:
                    return None
                known = frozenset.intersection(*ends)
            case For(var=var, body=body):
                _follow(body, known | {var}, found)
            case Loop(body=body):
                _follow(body, known, found)
            case Break() | Raise():
                return None
            case _:
                known = known.union(writes(stmt))
    return known
