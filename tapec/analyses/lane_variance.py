"""What differs between the iterations of a loop, for running many of them side by side.

    for i in range(n):
        for c in range(d):              c, d and w: the same in all iterations
            w = icf[c]
            image[c] += w * x[i, c]     x[i, c] and the elements of `image` differ
        total = total + image[0]        a sum of all iterations

Expects a loop whose iterations are parallel (`analyses/iterations.py`).  What differs takes one value per iteration;
memory that an iteration makes for itself and fills with such values has to be made once per iteration.
"""

from __future__ import annotations

from tapec.analyses.aliases import ALLOCATIONS, VIEWS, is_memory
from tapec.analyses.index_ranges import of_viewed
from tapec.analyses.iterations import Iterations
from tapec.errors import Span
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Const,
    Expr,
    For,
    If,
    Loop,
    Name,
    Note,
    Op,
    Stmt,
    Store,
    blocks,
    mentions,
    names_in,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Scalar

# slices of all elements
_WHOLE = tuple(
    Op("slice", (low, Const(None), step)) for low in (Const(None), Const(0)) for step in (Const(None), Const(1))
)


class Lanes:
    """What differs between the iterations of `loop`.

    names     numbers
    classes   memory of an iteration's own, by its class of aliases
    rows      views of other memory: another part of it in each iteration
    controls  the branches and loops (by id) that take other ways in other iterations
    sums      the names of what all iterations add to, by each name that holds a part of it

    Where inner loops stay `whole`, each iteration runs them by itself, as if they took other ways.
    """

    def __init__(self, loop: For, iterations: Iterations, whole: bool = False) -> None:
        self.loop = loop
        self.iterations = iterations
        self.whole = whole
        inner = [stmt for stmt in walk(loop.body) if whole and isinstance(stmt, For | Loop)]
        self.names = {loop.var, *(stmt.var for stmt in inner if isinstance(stmt, For))}
        self.classes: set[str] = set()
        self.rows: set[str] = set()
        self.controls = {one.key for one in inner}
        self.sums: dict[str, str] = {}
        self._inside = {stmt.key for stmt in walk((loop,))}
        self._ordered = True
        self._collect_sums()
        before = None
        while before != (before := (len(self.names), len(self.classes), len(self.rows), len(self.controls))):
            self._visit(loop.body, differs=False)

    def separate(self) -> bool:
        """Whether each iteration can work on elements of its own, all iterations taking each step together."""
        return self._ordered and all(self._possible(stmt) for stmt in walk(self.loop.body)) and self._same_arrays()

    def differs(self, stmt: Stmt) -> bool:
        """Whether a statement has to run for each iteration by itself, with all that is in it."""
        match stmt:
            case Assign(target=target):
                return target in self.names or target in self.sums
            case Store(array=array):
                return not self.own(array) or self.iterations.aliases.find(array) in self.classes
        return stmt.key in self.controls

    def own(self, array: str) -> bool:
        """Whether the memory of an array is made in the iteration."""
        return array not in self.rows and self.iterations.own(array, self.loop.body)

    def widened(self, name: str) -> bool:
        """Whether a name stands for memory that has to be made once per iteration."""
        return (
            is_memory(self.iterations.types.get(name))
            and self.own(name)
            and (self.iterations.aliases.find(name) in self.classes)
        )

    def element(self, array: str, index: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]] | None:
        """An element of a view that differs, as one of the array that is viewed; None if that is not as simple."""
        while array in self.rows:
            made = self.iterations.definition(Name(array))
            if not isinstance(made, Op) or made.fn != "view" or not isinstance(made.args[0], Name):
                return None
            rest, outer = list(index), []
            for cut in made.args[1:]:
                if cut == Const(None):
                    rest.pop(0)
                elif cut in _WHOLE:
                    outer.append(rest.pop(0))
                elif isinstance(cut, Name | Const) and self.iterations.fixed(cut):
                    outer.append(cut)
                else:
                    return None
            array, index = made.args[0].id, (*outer, *rest)
        return array, index

    def place(self, stmt: Store) -> Span | None:
        """The place of a store, with the open axes of its element in the array that is viewed."""
        span, array = stmt.span, stmt.array
        while array in self.rows:
            (made,) = self.iterations.scopes.defs[array]
            assert isinstance(made, Assign) and isinstance(made.value, Op) and isinstance(made.value.args[0], Name)
            span, array = of_viewed(span, made), made.value.args[0].id
        return span

    # what differs

    def _collect_sums(self) -> None:
        """The sums of the loop; each is in one name at a time, so that one name can stand for all its parts."""
        for name in dict.fromkeys(name for stmt in walk(self.loop.body) for name in writes(stmt)):
            if all(stmt.key in self._inside for stmt in self.iterations.scopes.defs[name]):
                continue
            parts = self.iterations.sum_of(name, self._inside)
            self.sums |= dict.fromkeys(parts or (), name)
            held = None if parts is None else self._held(self.loop.body, parts, frozenset({name}))
            if held is None or name not in held:
                self._ordered = False

    def _held(self, block: Block, parts: set[str], held: frozenset[str]) -> frozenset[str] | None:
        """The names that hold a sum after a block; None if something is added to an earlier value of it."""
        for stmt in block:
            match stmt:
                case Assign(target=target, value=Name(id=source)) if target in parts:
                    if source not in held:
                        return None
                    held |= {target}
                case Assign(target=target, value=value) if target in parts:
                    if not mentions(value, held):
                        return None
                    held = frozenset({target})
                case If(body=body, orelse=orelse):
                    first, second = self._held(body, parts, held), self._held(orelse, parts, held)
                    if first is None or second is None:
                        return None
                    held = first & second
                case For(body=body) | Loop(body=body):
                    added = any(name in parts for inner in walk(body) for name in writes(inner))
                    if added and any(isinstance(inner, Break) for inner in walk(body)):
                        return None
                    while added:
                        after = self._held(body, parts, held)
                        if after is None:
                            return None
                        if held <= after:
                            break
                        held &= after
        return held

    def _visit(self, block: Block, differs: bool) -> None:
        for stmt in block:
            match stmt:
                case Assign(target=target, value=value):
                    self._assigned(target, value, differs)
                case Store(array=array) if self.own(array) and (differs or self._any(stmt)):
                    self.classes.add(self.iterations.aliases.find(array))
                case If(test=test) if differs or mentions(test, self.names):
                    self.controls.add(stmt.key)
                case For(var=var) if differs or self._any(stmt) or self._breaks(stmt):
                    self.controls.add(stmt.key)
                    self.names.add(var)
                case Loop() if differs or self._breaks(stmt):
                    self.controls.add(stmt.key)
            for inner in blocks(stmt):
                self._visit(inner, stmt.key in self.controls)

    def _breaks(self, loop: For | Loop) -> bool:
        """Whether something ends a loop early, in which something differs."""
        return any(isinstance(s, Break) for s in walk(loop.body)) and any(self.differs(s) for s in walk(loop.body))

    def _assigned(self, target: str, value: Expr, differs: bool) -> None:
        if target in self.sums:
            return
        if isinstance(self.iterations.types[target], Scalar):
            if differs or any(self._one_differs(name) for name in _scalars(value)):
                self.names.add(target)
        elif isinstance(value, Op) and value.fn in VIEWS and (differs or self._any(Assign(target, value))):
            source = value.args[0]
            if isinstance(source, Name) and (source.id in self.rows or not self.own(source.id)):
                self.rows.add(target)

    def _any(self, stmt: Stmt) -> bool:
        return any(name in self.names or name in self.rows for name in reads(stmt))

    def _one_differs(self, name: str) -> bool:
        return name in self.names or name in self.rows or self.widened(name)

    # whether it can be kept apart

    def _possible(self, stmt: Stmt) -> bool:
        match stmt:
            case Assign(target=target, value=Op(fn=fn, args=args)) if is_memory(self.iterations.types[target]):
                return self._makes_possible(target, fn, args)
            case Assign(target=target, value=Name(id=source)) if is_memory(self.iterations.types[target]):
                return source not in self.rows and target not in self.rows
            case Assign(value=Op(fn="load", args=(Name(id=array), *index))):
                return self.element(array, tuple(index)) is not None
            case Assign(value=Op(fn="dim", args=(Name(id=array), _))):
                return array not in self.rows
            case Assign(value=value):
                return not any(name in self.rows or self.widened(name) for name in names_in(value))
            case Store(array=array, index=index):
                return self.element(array, index) is not None
        return isinstance(stmt, If | For | Loop | Break | Note)

    def _makes_possible(self, target: str, fn: str, args: tuple[Expr, ...]) -> bool:
        """Whether an array can be made for all iterations at once."""
        if target in self.rows:
            return fn == "view"
        operands = [name for arg in args for name in names_in(arg)]
        if any(name in self.names or name in self.rows for name in operands):
            return False
        # a function of whole arrays takes those of one iteration
        if fn not in VIEWS and any(self.widened(name) for name in operands):
            return False
        return not self.widened(target) or fn in ALLOCATIONS or fn == "view"

    def _same_arrays(self) -> bool:
        """Whether which array a name stands for is the same in all iterations."""
        apart = [stmt for stmt in walk(self.loop.body) if stmt.key in self.controls]
        return not any(
            is_memory(self.iterations.types.get(name)) and name not in self.rows
            for outer in apart
            for stmt in walk((outer,))
            for name in writes(stmt)
        )


def _scalars(value: Expr) -> list[str]:
    """The names on whose contents a number depends."""
    if isinstance(value, Op) and value.fn in ("dim", "stride"):
        return []
    return list(names_in(value))
