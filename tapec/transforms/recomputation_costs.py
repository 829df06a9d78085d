"""What it costs to have a primal value again in the reverse sweep.

Relative to a multiplication in a loop; the figures are measured.
"""

from __future__ import annotations

from tapec.analyses.activity import is_callee
from tapec.analyses.aliases import ALLOCATIONS, VIEWS, Memory
from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, Call, Const, For, Name, Op, Stmt, Store, names_in, reads, walk
from tapec.syntax.types import Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.iteration_counters import Counting, counting
from tapec.transforms.loop_exits import Exits
from tapec.transforms.storage_plan import StoragePlan

# relative costs; a store and its load cost STORE
STORE = 2.6
LOAD = 0.7
_COST = {
    "/": 1.5,
    "//": 1.5,
    "%": 1.5,
    "load": LOAD,
    "np.sqrt": 2.0,
    "math.sqrt": 2.0,
    **dict.fromkeys(("+", "-", "*", "neg", "dim", "ifelse"), 0.3),
    **dict.fromkeys(("not", "and", "or"), 0.15),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 0.3),
    **dict.fromkeys(("math.floor", "math.ceil", "np.floor", "np.ceil"), 0.5),
    **dict.fromkeys(("min", "max", "abs", "np.abs", "math.fabs", "cast.float64", "cast.int64"), 0.4),
}
# of an elementary function where a program is to be short: keeping its value takes two lines
_BRIEF = 0.4
# a few multiplications each
_SMALL_POWERS = tuple(map(Const, (3, 3.0, 4, 4.0, 6, 6.0)))
STORE_OUTSIDE = 0.3
STORE_ARRAY = 15.0
EXPENSIVE = 20.0


class Costs:
    """Estimates for one function, given what is planned so far."""

    def __init__(
        self, emitter: Emitter, scopes: Scopes, memory: Memory, exits: Exits, shadows: frozenset[str]
    ) -> None:
        self.emitter = emitter
        self.types = emitter.types
        self.scopes = scopes
        self.memory = memory
        self.exits = exits
        self.shadows = shadows
        self.plan = StoragePlan()
        # arrays whose stores the reverse sweep undoes
        self.undone: frozenset[str] = frozenset()
        # of a function whose values go on lists that are handed down, the body of the loop that stands for its calls
        self.tape: Scope | None = None
        # whether a program is to be short rather than fast
        self.brief = False
        # the calls that put values on such lists, by id
        self.handed: frozenset[int] = frozenset()
        # the shadows that those calls take, and may put on lists
        self.given: frozenset[str] = frozenset()
        self._kept: set[str] = set()
        # by region, for the loops that are replayed and fused so far
        self._chains: dict[int, tuple[Scope, ...]] = {}
        self._chains_for: tuple[int, frozenset[int]] = (0, frozenset())
        self._done: set[tuple[str, int]] = set()

    def root(self, region: Scope) -> Scope:
        """The region whose run, forward or replayed, records what `region` needs."""
        for around in region.ancestors():
            if around.parent is None or around.key in self.plan.replayed or around.key in self.plan.fused:
                return around
        raise AssertionError("a region without a root")

    def chain(self, region: Scope) -> tuple[Scope, ...]:
        """The loop bodies around a region up to its root, outermost first."""
        # asked for every operand of every value; loops are only ever added to those that are replayed
        decided = (len(self.plan.replayed), self.plan.fused)
        if decided != self._chains_for:
            self._chains, self._chains_for = {}, decided
        found = self._chains.get(region.key)
        if found is None:
            root = self.root(region)
            found = tuple(r for r in reversed(region.loops()) if r is not root and r.inside(root))
            self._chains[region.key] = found
        return found

    def calls_in(self, region: Scope) -> bool:
        """Whether a block, or one inside it, has calls that put values on lists."""
        return bool(self.handed) and any(stmt.key in self.handed for stmt in walk(region.block))

    def counting(self, name: str, loop: Scope) -> Counting | None:
        """How a name counts the iterations of a loop that carries it: see iteration_counters.py."""
        return counting(name, loop, self.scopes, self.types)

    def _same_in(self, name: str, loop: Scope, depth: int = 0) -> bool:
        """Whether a value is the same in all iterations of a loop, the loops around it standing still."""
        scope = self.scopes.scope_of.get(name)
        if scope is None or not scope.inside(loop):
            # what the loop carries differs from iteration to iteration
            return scope is None or not (self.scopes.merged(name) and self.scopes.loop_of(name) is loop)
        defs = self.scopes.defs[name]
        if depth > 12 or len(defs) != 1:
            return False
        if isinstance(defs[0], For):
            # compared at the same value of an inner loop's variable
            return scope is not loop and all(self._same_in(read, loop, depth + 1) for read in reads(defs[0]))
        if not isinstance(defs[0], Assign) or not repeatable(defs[0]):
            return False
        value = defs[0].value
        if isinstance(value, Op) and value.fn == "load":
            array = value.args[0]
            assert isinstance(array, Name)
            if not self.memory.constant_in(defs[0], array.id, loop):
                return False
        elif any(not isinstance(self.types.get(read), Scalar) for read in names_in(value)):
            return False
        return all(self._same_in(read, loop, depth + 1) for read in names_in(value))

    def _cost(self, name: str, region: Scope, depth: int = 0) -> float:
        """What recomputing a value in the reversed iteration costs."""
        if depth > 12:
            return EXPENSIVE
        scope = self.scopes.scope_of.get(name)
        if scope is None:
            return 0.0
        loop = self.scopes.loop_of(name) if self.scopes.merged(name) else None
        if loop is not None and region.inside(loop):
            if (name, loop.key) in self._done or loop.key in self.plan.fused:
                return 0.0
            if self.counting(name, loop) is not None:
                return _COST["+"]
            # once for all iterations of a loop inside
            return STORE_OUTSIDE if len(self.chain(loop)) < len(self.chain(region)) else STORE
        if not self.chain(scope):
            return 0.0
        if (name, scope.key) in self._done:
            return 0.0
        outside = isinstance(self.types[name], Scalar) and len(self.chain(scope)) < len(self.chain(region))
        defs = self.scopes.defs[name]
        if len(defs) == 1 and isinstance(defs[0], For):
            return 0.0
        again = self._again(name, scope, depth)
        loaded = self._loaded(name, scope, again, depth)
        cost = again if loaded is None else loaded
        # at worst it is stored once for all iterations of the inner loop
        return min(cost, STORE_OUTSIDE) if outside else cost

    def _again(self, name: str, scope: Scope, depth: int = 0) -> float:
        """What running the operation again costs, and having its operands."""
        defs = self.scopes.defs[name]
        stmt = defs[0] if len(defs) == 1 else None
        if not isinstance(stmt, Assign) or not repeatable(stmt):
            return EXPENSIVE
        operands = names_in(stmt.value)
        if isinstance(stmt.value, Op) and stmt.value.fn == "load" and self.copied(stmt):
            next(operands)
        return self._own_cost(stmt, scope) + sum(self._cost(operand, scope, depth + 1) for operand in operands)

    def _loaded(self, name: str, scope: Scope, again: float, depth: int = 0) -> float | None:
        """What loading a value costs from an element that holds it, if that is less than `again`."""
        held = self.holder(name, scope, again)
        if held is None:
            return None
        cost = LOAD + sum(self._cost(operand, scope, depth + 1) for operand in reads(held) if operand != name)
        return cost if cost < again else None

    def holder(self, name: str, scope: Scope, again: float) -> Store | None:
        """The store of a value into an element that the reverse sweep can load it from."""
        return None

    def _kept_class(self, array: str) -> bool:
        """Whether a name that is kept by reference may share the memory of an array."""
        if not self._kept:
            self._kept = {
                self.memory.aliases.find(name)
                for name, type_ in self.types.items()
                if name in self.given
                or (not isinstance(type_, Scalar) and not self._refers(name) and not self._allocated(name))
            }
        return self.memory.aliases.find(array) in self._kept

    def copied(self, stmt: Stmt) -> bool:
        """Whether a load reads an element that is overwritten later, of an array that is or would be copied for it."""
        return False

    def _is_there(self, load: Stmt, array: str, scope: Scope) -> bool:
        """Whether an array holds what a load reads when the load's block is reversed."""
        return self.memory.stable(load, array) or self._is_back(array, scope)

    def _is_back(self, array: str, scope: Scope) -> bool:
        """Whether an array is as a block of loads found it when the block is reversed."""
        return array in self.undone and self.memory.whole_in(array, scope)

    def expensive(self, stmt: Assign) -> bool:
        """Whether keeping a value takes less than its operation alone."""
        return self._own_cost(stmt, self.scopes.scope_of[stmt.target]) >= STORE

    def _refers(self, name: str) -> bool:
        """Whether an array is found again by naming it again: a view, another name, one of two arrays.

        What that needs are numbers, which are cheaper to keep than a reference to an array.
        """
        defs = self.scopes.defs.get(name, ())
        value = defs[0].value if len(defs) == 1 and isinstance(defs[0], Assign) else None
        return isinstance(value, Name) or (isinstance(value, Op) and value.fn in (*VIEWS, "ifelse"))

    def _allocated(self, name: str) -> bool:
        defs = self.scopes.defs.get(name, ())
        return len(defs) == 1 and allocates(defs[0])

    def _own_cost(self, stmt: Assign, scope: Scope) -> float:
        value = stmt.value
        if not isinstance(value, Op):
            return 0.1
        if value.fn in VIEWS:
            return 1.0
        if value.fn == "zeros" and stmt.target in self.shadows:
            # a shadow of zeros can be made anew if nothing outside the iteration shares it, and if nothing that is
            # kept by reference does: that one would be restored to the shadow of the forward sweep
            anew = self.memory.local_to(stmt.target, scope) and not self._kept_class(stmt.target)
            return 1.0 if anew else EXPENSIVE
        if value.fn == "load":
            array = value.args[0]
            assert isinstance(array, Name)
            return LOAD if self._is_there(stmt, array.id, scope) or self.copied(stmt) else EXPENSIVE
        if value.fn == "**" and value.args[1] in (Const(2), Const(2.0)):
            return 0.3
        if self.brief and value.fn == "**" and value.args[1] in _SMALL_POWERS:
            return 1.0
        if self.brief and _is_function(value.fn) and isinstance(self.types[stmt.target], Scalar) and _of_users(scope):
            return min(_BRIEF, _COST.get(value.fn, _BRIEF))
        return _COST.get(value.fn, EXPENSIVE)


def _is_function(fn: str) -> bool:
    """Whether an operation on numbers is a division or an elementary function."""
    return fn == "/" or fn.startswith(("np.", "math."))


def _of_users(scope: Scope) -> bool:
    """Whether the user wrote the loop in whose iterations a block stands."""
    loop = next(iter(scope.loops()), None)
    owner = None if loop is None else loop.owner
    return owner is not None and owner.span is not None and owner.span.begins_loop


def repeatable(stmt: Stmt) -> bool:
    """Whether a statement gives the same values when it is run again."""
    if isinstance(stmt, Assign) and isinstance(stmt.value, Op):
        return stmt.value.fn != "pop" and not stmt.value.fn.startswith("np.random")
    if isinstance(stmt, Call):
        return not stmt.function.startswith("np.random") and not is_callee(stmt.function)
    return True


def allocates(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in ALLOCATIONS
