"""Arrays of an iteration that are none which it began with, though the last iteration takes one from before the loop.

    carried = filled if n > 0 else first
    for k in range(n - 1, -1, -1):
        made = first if k == 0 else np.zeros(m)
        ...
        carried = made

A reversed loop has such shadows where iterations hand an array on (`transforms.passed`).  `made` is `first` in the last
iteration alone, which begins with what another iteration has made, or with `filled`: within an iteration, `made` and
`carried` are apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.analyses.buffer_rotation import is_fresh, last_copies
from tapec.analyses.integers import Integers
from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, Atom, Block, Const, Expr, For, Function, If, Name, Op, Stmt, walk


@dataclass(frozen=True)
class CarriedArrays:
    """What an iteration of a loop began with, and the loop's body.

    made       what it takes for the next iteration, which is `new` but in the last iteration, and `first` there
    """

    carried: str
    iteration: Scope
    made: str
    new: str
    first: str


def carried_arrays(function: Function, scopes: Scopes, integers: Integers) -> dict[str, CarriedArrays]:
    """Such arrays by the name that an iteration gives them; see the module."""
    found: dict[str, CarriedArrays] = {}
    for loop in walk(function.body):
        if isinstance(loop, For) and loop.step in (Const(1), Const(-1)):
            asked = _Asked(loop, scopes, integers)
            for copy in last_copies(loop.body):
                branch = _choice(copy.value.id, loop.body) if isinstance(copy.value, Name) else None
                if not isinstance(copy.value, Name) or branch is None:
                    continue
                if asked.is_disjoint(copy, copy.value.id, *branch):
                    _, first, new = branch
                    found[copy.value.id] = CarriedArrays(copy.target, asked.iteration, copy.value.id, new, first)
    return found


class _Asked:
    def __init__(self, loop: For, scopes: Scopes, integers: Integers) -> None:
        self.loop, self.scopes, self.integers = loop, scopes, integers
        (self.iteration,) = scopes.body[loop.key]
        self.around = scopes.of[loop.key]

    def is_disjoint(self, copy: Assign, made: str, test: Atom, first: str, new: str) -> bool:
        """Whether what ends an iteration copies such an array."""
        starts = [stmt for stmt in self.scopes.defs[copy.target] if stmt is not copy]
        if len(self.scopes.defs[made]) != 2 or len(starts) != 1:
            return False
        start = starts[0]
        if not isinstance(start, Assign) or not isinstance(start.value, Name) or not self.beside(start):
            return False
        own = is_fresh(first, self.scopes) and is_fresh(new, self.scopes)
        if not own or self.made_inside(first) or not self.made_inside(new):
            return False
        return self.is_last(test) and self.begins_disjoint(start.value.id, first)

    def made_inside(self, name: str) -> bool:
        """Whether a name that is set once is set in the loop."""
        (made,) = self.scopes.defs[name]
        return self.scopes.of[made.key].inside(self.iteration)

    def beside(self, stmt: Stmt) -> bool:
        """Whether a statement stands in the block of the loop: it runs as often."""
        return self.scopes.of.get(stmt.key) is self.around

    def is_last(self, test: Atom) -> bool:
        """Whether a test asks for the number of the last iteration."""
        match self.definition(test):
            case Op(fn="==", args=(Name(id=var), number)) if var == self.loop.var:
                last = self.difference(self.loop.stop, self.loop.step)
                return last is not None and last == self.integers.bound(number, self.loop)
        return False

    def begins_disjoint(self, name: str, first: str) -> bool:
        """Whether an array is not `first` when the loop begins, if it makes an iteration."""
        if is_fresh(name, self.scopes):
            return name != first
        blocks = (stmt for stmt in self.around.block if isinstance(stmt, If))
        for branch in blocks:
            chosen = _choice(name, (branch,))
            if chosen is not None and len(self.scopes.defs[name]) == 2:
                test, filled, other = chosen
                own = is_fresh(filled, self.scopes) and is_fresh(other, self.scopes)
                return own and filled != first and self.makes_iterations(test)
        return False

    def makes_iterations(self, test: Atom) -> bool:
        """Whether a test asks whether the loop makes an iteration."""
        bounds = (self.loop.stop, self.loop.start) if self.loop.step == Const(1) else (self.loop.start, self.loop.stop)
        match self.definition(test):
            case Op(fn=">", args=(one, other)):
                apart = self.difference(one, other)
                return apart is not None and apart == self.difference(*bounds)
        return False

    def definition(self, test: Atom) -> Expr | None:
        """What computes a test; None if nobody knows."""
        defs = self.scopes.defs.get(test.id, []) if isinstance(test, Name) else []
        return defs[0].value if len(defs) == 1 and isinstance(defs[0], Assign) else None

    def difference(self, one: Expr, other: Expr) -> object:
        first, second = self.integers.bound(one, self.loop), self.integers.bound(other, self.loop)
        return None if first is None or second is None else first.plus(second, -1)


def _choice(name: str, block: Block) -> tuple[Atom, str, str] | None:
    """The test of the branch that sets a name to one of two others, and those; None if there is none."""
    for stmt in block:
        if isinstance(stmt, If):
            sides = [[one for one in side if isinstance(one, Assign) and one.target == name] for side in _sides(stmt)]
            if all(len(side) == 1 and isinstance(side[0].value, Name) for side in sides):
                (first,), (second,) = sides
                assert isinstance(first.value, Name) and isinstance(second.value, Name)
                return stmt.test, first.value.id, second.value.id
    return None


def _sides(branch: If) -> tuple[Block, Block]:
    return branch.body, branch.orelse
