"""Recursive functions that put what their derivatives take on lists of their callers.

    def f_forward(x, n, f_float64s):               def f_reverse(x, n, t_seed, f_float64s):
        if n == 0:                                     if n == 0:
            return x                                       return t_seed
        y = np.sin(x)                                  y = f_float64s.pop()
        t = f_forward(y, n - 1, f_float64s)            y_bar = f_reverse(y, n - 1, t_seed, f_float64s)
        f_float64s.append(y)                           return y_bar * np.cos(x)
        return t

A tree of calls is reversed from its last call to its first, so one list per type serves all of them: a call puts its
values there when it ends, and its pullback takes them when it begins.  Without the lists an adjoint runs its function
again, at each level of the recursion those below, and needs arrays as they were before each call, as copies.

For the planner (`storage.py`) the body of the function is the iteration of a loop that makes any iteration count.  A
value that a block keeps goes on the list when the block ends, after what the calls in it have put there
(`late_pushes.py`). What loops keep has lists of its own.  A forward sweep that hands on shadows, as for names of one
array or another, takes those of the caller, too.  Where an array has none, and where a `break` may leave a loop before
the last call in an iteration, the adjoint runs the function again.

Griewank & Walther, Evaluating Derivatives, 2nd ed., section 4.3 (call tree reversal in split mode).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tapec.analyses.activity import reach
from tapec.analyses.aliases import ALLOCATIONS, VIEWS, aliases
from tapec.syntax.core import (
    Assign,
    Block,
    Call,
    Const,
    For,
    Function,
    Name,
    Op,
    Return,
    Stmt,
    Store,
    has_checkpoints,
    map_blocks,
    reads,
    walk,
)
from tapec.syntax.types import Array, Scalar, Stack, Type
from tapec.transforms.grown_shadows import GrownShadow
from tapec.transforms.residual_requests import Asks, Unhandable
from tapec.transforms.reverse import Reversal, Reversed
from tapec.transforms.slots import stack_args
from tapec.transforms.storage import Planner
from tapec.transforms.storage_plan import Slot
from tapec.transforms.sweep import RevLoop

# what asks for an array's extents, or names it, but for none of its elements
_NO_ELEMENTS = frozenset({"dim", "stride", *VIEWS, *ALLOCATIONS})
# a list of a function: the function, and the number of the list
Key = tuple[str, int]


@dataclass(frozen=True)
class CallerLists:
    """The functions of a program that are handed lists.

    functions  by name: `NAME_forward` and `NAME_reverse` of each
    lists      by function: the lists that it takes, with those of the functions that it calls
    asked      by function: what it asks of those that call it
    """

    functions: dict[str, Function]
    lists: dict[str, tuple[tuple[Key, Stack], ...]]
    asked: dict[str, Asks]

    def begun(self, swept: Reversed) -> Reversed:
        """The sweeps of a program that calls such functions, with the lists."""
        types = dict(swept.types)
        names: dict[Key, str] = {}
        forward = _with_lists(swept.forward, self.lists, names, types)
        backward = _with_lists(swept.backward, self.lists, names, types)
        made: list[Stmt] = []
        for name in names.values():
            kind = types[name]
            assert isinstance(kind, Stack)
            made.append(Assign(name, Op("stack", stack_args(kind.element))))
        return replace(swept, forward=(*made, *forward), backward=backward, types=types)


@dataclass
class _Sides:
    """A function's two sides, as they are before the lists of others are known."""

    swept: Reversed
    own: list[str] = field(default_factory=list)


def with_caller_lists(functions: Iterable[Function], constants: frozenset[str]) -> CallerLists:
    """What the recursive functions of a program become.

    raises  Unhandable if one of them cannot be handed lists
    """
    known = {function.name: function for function in functions}
    asked = dict.fromkeys(known, Asks())
    while True:
        sides = {name: _sides(function, constants, asked) for name, function in known.items()}
        found = {name: _asks(known[name], one, asked) for name, one in sides.items()}
        if found == asked:
            return _finished(known, sides, asked)
        asked = found


class _Taped(Reversal):
    """The reversal of a function whose body is the iteration of a loop."""

    def begin_plan(self, planner: Planner) -> None:
        (loop,) = self.program.body
        (planner.tape,) = self.scopes.body[loop.key]
        planner.label = self.function.name

    def sides(self) -> _Sides:
        seeds, seeding, swept, shadows = self.analyse()
        (loop,) = self.program.body
        (iteration,) = self.scopes.body[loop.key]
        forward = self.record(iteration.block, iteration)
        values, kept = self.keep_results(self.function.leaving)
        out = self.emitter.child()
        self.zeros(swept.adjoints, out)
        for item in swept.items:
            assert isinstance(item, RevLoop)
            out.extend(self.reverse_block(item.body, seeding))
        if not swept.items:
            out.extend(seeding)
        adjoints, extra = self.adjoints(shadows)
        made: list[tuple[Slot, str]] = self.plan.buffers.get(loop.key, [])
        lists = dict.fromkeys(slot.name for slot, _ in made)
        bars = frozenset(shadows.names.values())
        sweep = _without_unread((*forward, *kept), bars)
        both = Reversed(sweep, (*out.out, *extra), values, adjoints, seeds, self.types, self.function.params)
        return _Sides(both, list(lists))


def _without_unread(block: Block, shadows: frozenset[str]) -> Block:
    """A forward sweep without the shadows that the reverse sweep makes anew."""
    while True:
        read = {name for stmt in walk(block) for name in reads(stmt)}
        unread = shadows - read
        if not any(isinstance(stmt, Assign) and stmt.target in unread for stmt in walk(block)):
            return block
        block = _without(block, unread)


def _without(block: Block, names: frozenset[str]) -> Block:
    kept = (stmt for stmt in block if not isinstance(stmt, Assign) or stmt.target not in names)
    return tuple(map_blocks(stmt, lambda inner: _without(inner, names)) for stmt in kept)


def _sides(function: Function, constants: frozenset[str], asked: Mapping[str, Asks]) -> _Sides:
    if has_checkpoints(function.body):
        raise Unhandable("it has a checkpointed loop")
    types = dict(function.types)
    call = "call"
    while call in types:
        call += "_"
    types[call] = Scalar("int64")
    iteration = For(call, Const(0), Const(1), Const(1), function.body[:-1])
    whole = replace(function, body=(iteration, function.body[-1]), types=types)
    sources = tuple(p for p in function.params if function.types[p].is_float)
    given = GrownShadow(whole), sources, constants, False, True, False
    return _Taped(*given, None, asked=asked).sides()


def _asks(function: Function, sides: _Sides, asked: Mapping[str, Asks]) -> Asks:
    """What a function asks of those that call it, from what those that it calls ask."""
    swept = sides.swept
    found: set[str] = set()
    whole = Function(function.name, swept.params, (*swept.forward, *swept.backward), swept.types)
    classes = aliases(whole)
    for stmt in walk(swept.backward):
        match stmt:
            case Assign(value=Name()) | Store():
                pass
            case Assign(value=Op(fn=fn)) if fn in _NO_ELEMENTS:
                pass
            case Call(function=fn, args=args) if fn.removesuffix("_reverse") in asked:
                mine = asked[fn.removesuffix("_reverse")].elements
                found |= {a.id for k, a in enumerate(args) if k in mine and isinstance(a, Name)}
            case _:
                found.update(reads(stmt))
    read = {classes.find(name) for name in found if isinstance(swept.types.get(name), Array)}
    elements = frozenset(k for k, param in enumerate(function.params) if classes.find(param) in read)
    before = asked[function.name]
    needed = {name for stmt in walk(swept.forward) for name in reads(stmt)}
    return Asks(before.elements | elements, before.shadows or not needed.isdisjoint(_shadows(swept)))


def _shadows(swept: Reversed) -> tuple[str, ...]:
    """The shadows of the arrays that a function is given, which stand behind the seeds of its results."""
    arrays = [name for name in swept.params if isinstance(kind := swept.types[name], Array) and kind.is_float]
    return swept.seeds[len(swept.seeds) - len(arrays) :]


def _finished(known: dict[str, Function], sides: dict[str, _Sides], asked: dict[str, Asks]) -> CallerLists:
    own = {name: tuple((name, k) for k in range(len(one.own))) for name, one in sides.items()}
    kinds = {(name, k): one.swept.types[label] for name, one in sides.items() for k, label in enumerate(one.own)}
    calls = {name: _called(one.swept, known) for name, one in sides.items()}
    lists: dict[str, tuple[tuple[Key, Stack], ...]] = {}
    for name in known:
        reached = reach({name}, calls)
        keys = [key for one in known if one in reached for key in own[one]]
        lists[name] = tuple((key, kind) for key in keys if isinstance(kind := kinds[key], Stack))
    functions: dict[str, Function] = {}
    for name, one in sides.items():
        swept, types = one.swept, dict(one.swept.types)
        names = {(name, k): label for k, label in enumerate(one.own)}
        forward = _with_lists((*swept.forward, Return(swept.values)), lists, names, types)
        backward = _with_lists((*swept.backward, Return(swept.adjoints)), lists, names, types)
        given = tuple(_label(key, kind, names, types) for key, kind in lists[name])
        augmented, pullback = f"{name}_forward", f"{name}_reverse"
        shadows = _shadows(swept) if asked[name].shadows else ()
        functions[augmented] = Function(augmented, (*swept.params, *shadows, *given), forward, types)
        functions[pullback] = Function(pullback, (*swept.params, *swept.seeds, *given), backward, types)
    return CallerLists(functions, lists, asked)


def _called(swept: Reversed, known: Mapping[str, Function]) -> set[str]:
    stmts = walk((*swept.forward, *swept.backward))
    names = {stmt.function for stmt in stmts if isinstance(stmt, Call)}
    return {name for name in known if not names.isdisjoint((f"{name}_forward", f"{name}_reverse"))}


def _label(key: Key, kind: Stack, names: dict[Key, str], types: dict[str, Type]) -> str:
    """The name of a list in a function."""
    if key not in names:
        base = f"{key[0]}_{kind.element.dtype}s"
        label, count = base, 0
        while label in types:
            count += 1
            label = f"{base}_{count}"
        names[key] = label
        types[label] = kind
    return names[key]


def _with_lists(
    block: Block,
    lists: Mapping[str, tuple[tuple[Key, Stack], ...]],
    names: dict[Key, str],
    types: dict[str, Type],
) -> Block:
    """A block whose calls hand on the lists."""

    def handing(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Call):
            origin = stmt.function.removesuffix("_forward").removesuffix("_reverse")
            if origin == stmt.function or origin not in lists:
                return stmt
            given = tuple(Name(_label(key, kind, names, types)) for key, kind in lists[origin])
            places = range(len(stmt.args), len(stmt.args) + len(given))
            return replace(stmt, args=(*stmt.args, *given), changes=(*stmt.changes, *places))
        return map_blocks(stmt, lambda inner: _with_lists(inner, lists, names, types))

    return tuple(handing(stmt) for stmt in block)
