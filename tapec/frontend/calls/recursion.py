"""Functions that call themselves: lowered once per argument types and captured values, and called by name.

Everything else is inlined.  A recursive function is found when its inlining meets itself; the
inlining is then undone and a call is written instead.  Its result type is that of the ways that
end without recursion.  Arrays that it returns are its caller's own: where Python returns memory that it was given,
or the same memory twice, the call returns copies, and a program that could tell is refused.

What a function's text means depends on the closure that it is: two closures of one text are two functions,
unless what is lowered turns out to be the same.

Of functions that call each other all but one are inlined, unless they call themselves, too: those
are refused.  Numba compiles one of them before it has seen the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tapec.errors import RecursionUnsupported
from tapec.frontend.arrays.copies_of_views import refuse_shared, shared_copy
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode, Frame
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import Complex, Record, Static, Sym, Tup, Value
from tapec.frontend.operations import memory_order
from tapec.frontend.operations.complex_arithmetic import joined
from tapec.frontend.structures.merging import leaves, rebuild
from tapec.syntax.core import (
    Block,
    Call,
    Function,
    Name,
    Op,
    Return,
    Stmt,
    changed,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.syntax.renaming import renamed
from tapec.syntax.types import Array, Type

# what follows the name of a recursive function in those of its derivatives
_DERIVATIVE = re.compile(r"(_(adjoint|tangent|forward|reverse|lanes\d*))+")


class Recursive(Exception):
    """Inlining met a function that is being inlined."""

    def __init__(self, definition: Any) -> None:
        self.definition = definition
        super().__init__(getattr(definition, "name", "<lambda>"))


@dataclass(frozen=True)
class Returned:
    """What is known of a number or array that a recursive function returns.

    given     the positions of the arguments whose memory it shares in Python
    earlier   the positions of the results before it whose memory it shares there
    columns   whether NumPy may have it in columns
    """

    given: frozenset[int] = frozenset()
    earlier: frozenset[int] = frozenset()
    columns: bool = False


@dataclass(eq=False)
class Callee:
    """A recursive function for one tuple of argument types."""

    name: str
    definition: Any
    # what tells its text and arguments from others, whatever closure it is
    text: tuple[Any, ...] = ()
    results: list[Type] | None = None
    structure: Value | None = None
    arrays: tuple[Returned, ...] = ()
    function: Function | None = None
    roots: dict[str, frozenset[str]] = field(default_factory=dict)
    settled: bool = False


@dataclass(eq=False)
class Closure:
    """A recursive function of the program: what it was lowered to, and what that was made of.

    captured  what was read from the frames around it, by frame and name
    held      what its key names by its id
    """

    callee: Callee
    held: tuple[Any, ...]
    captured: dict[tuple[Frame, str], Value] = field(default_factory=dict)

    def reads_the_same(self) -> bool:
        """Whether the variables around the function hold what they held when it was lowered."""

        def same(now: Value | None, then: Value) -> bool:
            # not by `==`, for which 0.0 is -0.0, and 1 is True
            return now is then or (isinstance(now, Sym) and isinstance(then, Sym) and repr(now) == repr(then))

        return all(same(frame.env.get(name), value) for (frame, name), value in self.captured.items())


# how many closures of one definition may be lowered within each other
_CLOSURES = 8


@dataclass
class Callees:
    """All recursive functions of a program, and the closures by definition, types of arguments, and what is known."""

    made: list[Callee] = field(default_factory=list)
    closures: dict[tuple[Any, ...], Closure] = field(default_factory=dict)
    definitions: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    # those that are being lowered, the innermost last
    open: list[Callee] = field(default_factory=list)

    def are_called(self, name: str) -> bool:
        """Whether a name is that of one of them, or of one's derivative."""
        return name in self.names or any(_is_derivative(name, one) for one in self.names)


def call(
    ev: Evaluator,
    frame: Frame,
    definition: Any,
    bind: Any,
    body: Any,
    node: Any,
) -> Value:
    """Write a call of a recursive function.

    `bind()` gives the parameters' values, in order; `body(ev, frame, env)` evaluates the function.
    """
    env: dict[str, Value] = bind()
    label = getattr(definition, "name", "function")
    params = [leaf for key, value in env.items() for leaf in _passed(key, value)]
    if not all(isinstance(value, Sym | Complex | Static) for value in env.values()):
        ev.fail(
            RecursionUnsupported,
            f"`{label}` calls itself and takes arguments that are neither numbers nor arrays",
            node,
            hint="pass their numbers and arrays one by one, or use a loop",
        )
    known = tuple((key, _identity(value.obj)) for key, value in env.items() if isinstance(value, Static))
    text = (id(definition), frame.jitted, frame.flags, tuple((k, v.type) for k, v in params), known)
    key = (*text, id(frame.function), id(frame.parent))
    closure = ev.callees.closures.get(key)
    if closure is None or (closure.callee.settled and not closure.reads_the_same()):
        closure = Closure(Callee(_fresh(ev, label), definition, text), (frame.function, frame.parent, *env.values()))
        _lower_closure(ev, key, closure, frame, env, body, node)
    elif closure.callee in ev.callees.open[:-1]:
        _refuse_cycle(ev, closure.callee, definition, node)
    callee = closure.callee
    ev.captured.update({place: value for place, value in closure.captured.items() if place[0] not in ev.frames})
    if callee.settled and callee.results is None:
        message = f"every way through `{label}` calls it again, or raises"
        ev.fail(RecursionUnsupported, message, node, hint="return something on one of them")
    if callee.results is None or callee.structure is None:
        raise DeadCode  # not known yet: the ways without recursion tell
    targets = tuple(ev.define("t", type_, temporary=True) for type_ in callee.results)
    ev.emit(Call(targets, callee.name, tuple(v.atom for _, v in params), ev.span))
    items = iter(_taken(ev, callee, targets, [v for _, v in params]))
    returned: Value = rebuild(callee.structure, lambda path, leaf: next(items))
    return _with_partners(ev, returned)


def _taken(ev: Evaluator, callee: Callee, targets: tuple[str, ...], given: list[Sym]) -> list[Sym]:
    """The results of a call; its arrays as copies of what they would share memory with in Python."""
    found: list[Sym] = []
    for target, known in zip(targets, callee.arrays, strict=True):
        if isinstance(ev.types[target], Array):
            ev.roots[target] = frozenset({target})
            if known.columns:
                memory_order.mark(ev, target)
        value = Sym(Name(target), ev.types[target])
        sharing = [given[k] for k in known.given] + [found[k] for k in known.earlier]
        memory = frozenset[str]().union(*(ev.roots_of(one.atom.id) for one in sharing if isinstance(one.atom, Name)))
        found.append(shared_copy(ev, value, memory, callee.name) if memory else value)
    return found


def _with_partners(ev: Evaluator, value: Value) -> Value:
    """A result in which the parts of each complex array are known to belong together."""
    if isinstance(value, Complex) and value.is_array:
        return joined(ev, value.re, value.im)
    if isinstance(value, Tup | Record):
        return replace(value, items=tuple(_with_partners(ev, item) for item in value.items))
    return value


def _own_arrays(ev: Evaluator, value: Value, params: list[str]) -> tuple[Value, tuple[Returned, ...]]:
    """A result with arrays that share no memory with each other or with arguments, and what they share in Python."""
    kept: list[Returned] = []
    roots: list[frozenset[str]] = []

    def own(path: tuple[Any, ...], leaf: Sym) -> Sym:
        if not isinstance(leaf.type, Array) or not isinstance(leaf.atom, Name):
            kept.append(Returned())
            roots.append(frozenset())
            return leaf
        memory = ev.roots_of(leaf.atom.id)
        given = frozenset(k for k, param in enumerate(params) if param in memory)
        earlier = frozenset(k for k, other in enumerate(roots) if memory & other)
        columns = leaf.type.layout != "C" or memory_order.is_marked(ev, leaf.atom.id)
        kept.append(Returned(given, earlier, columns))
        roots.append(memory)
        if not (given or earlier) and leaf.type.layout == "C" and memory.isdisjoint(ev.constants):
            return leaf
        return ev.assign(Op("copy", (leaf.atom,)), Array(leaf.type.dtype, leaf.type.ndim, "C"))

    made: Value = rebuild(value, own)
    return made, tuple(kept)


def _is_returned(value: Value) -> bool:
    """Whether a recursive function may return a value: numbers and arrays, in tuples."""
    if isinstance(value, Tup | Record):
        return all(map(_is_returned, value.items))
    return isinstance(value, Sym | Complex)


def _identity(obj: Any) -> Any:
    """What tells a known argument from others; those of its class may be equal, or look alike."""
    return (type(obj), repr(obj)) if isinstance(obj, str | bytes | int | float | complex | np.dtype) else id(obj)


def _lower_closure(
    ev: Evaluator, key: tuple[Any, ...], closure: Closure, frame: Frame, env: dict[str, Value], body: Any, node: Any
) -> None:
    """Lower a recursive function until the types of its results no longer change."""
    callees, callee = ev.callees, closure.callee
    label = getattr(callee.definition, "name", "function")
    if sum(one.definition is callee.definition for one in callees.open) >= _CLOSURES:
        message = f"each call of `{label}` calls a new closure, or hands on another known argument"
        ev.fail(RecursionUnsupported, message, node, hint="pass what changes as numbers")
    before = callees.closures.get(key)
    callees.closures[key] = closure
    callees.made.append(callee)
    callees.definitions.add(id(callee.definition))
    try:
        for _ in range(4):
            results = callee.results, callee.arrays
            callees.open.append(callee)
            try:
                closure.captured = _lower(ev, callee, frame, env, body, node)
            finally:
                callees.open.pop()
            if (callee.results, callee.arrays) == results:
                callee.settled = True
                break
        else:
            ev.fail(RecursionUnsupported, f"the result of `{label}` has no one type", node)
    except BaseException:
        # whoever goes on another way finds no half of a function
        _forget(ev, callee)
        del callees.closures[key]
        if before is not None:
            callees.closures[key] = before
        raise
    closure.callee = _same_as_before(ev, callee)


def _same_as_before(ev: Evaluator, callee: Callee) -> Callee:
    """A function of the same text that was lowered to the same, in place of another one."""
    callees = ev.callees
    for earlier in callees.made:
        if earlier is callee or earlier.text != callee.text or not (earlier.settled and earlier.function):
            continue
        if callee.function is not None and _reads(callee.function) == _reads(earlier.function):
            _forget(ev, callee)
            return earlier
    return callee


def _forget(ev: Evaluator, callee: Callee) -> None:
    ev.callees.made.remove(callee)
    ev.callees.names.discard(callee.name)
    ev.taken.discard(callee.name)


def _reads(function: Function) -> str:
    """What a function does, whatever it and its variables are called."""
    names = dict.fromkeys((*function.params, *(name for stmt in walk(function.body) for name in writes(stmt))))
    short = {name: f"v{k}" for k, name in enumerate(names)}

    def anonymous(block: Block) -> Block:
        return tuple(
            replace(stmt, function="")
            if isinstance(stmt, Call) and stmt.function == function.name
            else map_blocks(stmt, anonymous)
            for stmt in block
        )

    types = [(short[name], function.types.get(name)) for name in names]
    return repr((len(function.params), types, renamed(anonymous(function.body), short)))


def _refuse_cycle(ev: Evaluator, callee: Callee, definition: Any, node: Any) -> None:
    """A call of a function from another recursive one that it calls."""
    names = [one.name for one in ev.callees.open[ev.callees.open.index(callee) :]]
    if all(one.definition is definition for one in ev.callees.open if one.name in names):
        label = getattr(definition, "name", "function")
        message = f"`{label}` calls itself with arguments of other types, and that one with those of the first"
        ev.fail(RecursionUnsupported, message, node, hint="give each argument one type, such as 1.0 in place of 1")
    listed = " and ".join(f"`{name}`" for name in names)
    ev.fail(
        RecursionUnsupported,
        f"{listed} call each other, and themselves",
        node,
        hint="make one function of them, with an argument that says which one it stands for, or use a loop",
    )


def _passed(key: str, value: Value) -> list[tuple[str, Sym]]:
    """The numbers and arrays of an argument, with their names; a complex one has two."""
    if isinstance(value, Complex):
        return [(f"{key}_re", value.re), (f"{key}_im", value.im)]
    return [(key, value)] if isinstance(value, Sym) else []


def _is_derivative(name: str, function: str) -> bool:
    """Whether a name is that of a derivative of a recursive function, as `recursive_callees.py` says."""
    return name.startswith(function) and _DERIVATIVE.fullmatch(name, len(function)) is not None


def _fresh(ev: Evaluator, label: str) -> str:
    """A name that nothing has, such that nothing has the names of its derivatives either."""
    name, count = label, 0
    used = ev.callees.names | ev.taken
    while name in used or ev.callees.are_called(name) or any(_is_derivative(one, name) for one in used):
        count += 1
        name = f"{label}_{count}"
    ev.callees.names.add(name)
    ev.taken.add(name)
    return name


def _lower(
    ev: Evaluator, callee: Callee, frame: Frame, env: dict[str, Value], body: Any, node: Any
) -> dict[tuple[Frame, str], Value]:
    """Lower the function on its own, with what is known of its result so far.

    returns  what it reads from the frames around it
    """
    sub = ev.another()
    params: list[str] = []
    inner: dict[str, Value] = {}
    for key, value in env.items():
        own = []
        for label, leaf in _passed(key, value):
            name = sub.define(label, leaf.type)
            params.append(name)
            own.append(Sym(Name(name), leaf.type))
            if isinstance(leaf.type, Array):
                sub.roots[name] = frozenset({name})
        if isinstance(value, Complex):
            inner[key] = joined(sub, *own) if value.is_array else Complex(own[0], own[1])
        else:
            inner[key] = own[0] if own else value
    fresh = frame.again()
    sub.span = ev.span
    try:
        result = body(sub, fresh, inner)
    except DeadCode:
        return sub.captured
    result = sub.materialise(result)
    if not (_is_returned(result) or result == Static(None)):
        ev.fail(
            RecursionUnsupported,
            f"`{callee.name}` calls itself and returns something else than numbers, arrays, tuples of them or nothing",
            node,
            hint="return its numbers and arrays in a tuple, or use a loop",
        )
    result, callee.arrays = _own_arrays(sub, result, params)
    found = [leaf for _, leaf in leaves(result)]
    block = (*freeze(sub.root), Return(tuple(leaf.atom for leaf in found)))
    block = refuse_shared(sub, tuple(params), block)
    foreign = next((name for stmt in walk(block) for name in reads(stmt) if name not in sub.types), None)
    if foreign is not None:
        ev.fail(
            RecursionUnsupported,
            f"`{callee.name}` calls itself and reads `{foreign}`, a variable of the function around it",
            node,
            hint="pass it as an argument",
        )
    callee.structure = result
    callee.results = [leaf.type for leaf in found]
    callee.function = Function(callee.name, tuple(params), block, sub.types, again=True)
    callee.roots = sub.roots
    ev.boundscheck |= sub.boundscheck
    ev.constants.update(sub.constants)
    ev.functions.update(sub.functions)
    ev.reads.update(sub.reads)
    return sub.captured


def finished(callees: Callees, block: Block) -> tuple[Block, tuple[Function, ...]]:
    """A program and the recursive functions it reaches, with every call saying which arrays it writes into.

    Found by iteration: a function writes into what it stores into, and into what its calls do.
    """
    made = [callee for callee in callees.made if callee.function is not None]
    found: dict[str, tuple[int, ...]] = {}
    while True:
        for callee in made:
            assert callee.function is not None
            callee.function = replace(callee.function, body=_noted(callee.function.body, found))
        now = {callee.name: _written(callee) for callee in made}
        if now == found:
            return _noted(block, found), tuple(c.function for c in made if c.function is not None)
        found = now


def with_changes(ev: Evaluator, block: Block, node: Any) -> Block:
    """A block that is differentiated while the rest is being lowered, its calls as `finished` has them."""
    names = {stmt.function for stmt in walk(block) if isinstance(stmt, Call)}
    for callee in ev.callees.made:
        if callee.name in names and not callee.settled:
            ev.fail(RecursionUnsupported, f"a derivative of `{callee.name}` within itself", node)
    return finished(ev.callees, block)[0]


def writers(callees: Callees) -> list[str]:
    """The recursive functions that write into an argument."""
    finished(callees, ())
    return [callee.name for callee in callees.made if callee.function is not None and _written(callee)]


def _noted(block: Block, found: dict[str, tuple[int, ...]]) -> Block:
    def noted(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Call) and stmt.function in found:
            return replace(stmt, changes=found[stmt.function])
        return map_blocks(stmt, lambda inner: _noted(inner, found))

    return tuple(noted(stmt) for stmt in block)


def _written(callee: Callee) -> tuple[int, ...]:
    """The positions of the parameters that a function writes into."""
    assert callee.function is not None
    arrays = {array for stmt in walk(callee.function.body) for array in changed(stmt)}
    roots = {root for array in arrays for root in callee.roots.get(array, frozenset({array}))}
    return tuple(k for k, param in enumerate(callee.function.params) if param in roots)
