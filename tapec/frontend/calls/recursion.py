"""Functions that call themselves: lowered once per argument types, and called by name.

Everything else is inlined.  A recursive function is found when its inlining meets itself; the
inlining is then undone and a call is written instead.  Its result type is that of the ways that
end without recursion.

Of functions that call each other all but one are inlined, unless they call themselves, too: those
are refused.  Numba compiles one of them before it has seen the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from tapec.errors import RecursionUnsupported
from tapec.frontend.arrays.copies_of_views import refuse_shared
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode, Frame
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import Complex, Static, Sym, Tup, Value, is_scalar
from tapec.frontend.operations.complex_arithmetic import joined
from tapec.frontend.structures.merging import leaves, rebuild
from tapec.syntax.core import (
    Block,
    Call,
    Function,
    Name,
    Return,
    Stmt,
    changed,
    map_blocks,
    reads,
    walk,
)
from tapec.syntax.types import Array, Type

# what follows the name of a recursive function in those of its derivatives
_DERIVATIVE = re.compile(r"(_(adjoint|tangent|forward|reverse|lanes\d*))+")


class Recursive(Exception):
    """Inlining met a function that is being inlined."""

    def __init__(self, definition: Any) -> None:
        self.definition = definition
        super().__init__(getattr(definition, "name", "<lambda>"))


@dataclass(eq=False)
class Callee:
    """A recursive function for one tuple of argument types."""

    name: str
    results: list[Type] | None = None
    structure: Value | None = None
    function: Function | None = None
    roots: dict[str, frozenset[str]] = field(default_factory=dict)
    settled: bool = False


@dataclass
class Callees:
    """All recursive functions of a program, by definition and argument types."""

    known: dict[tuple[Any, ...], Callee] = field(default_factory=dict)
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
    known = tuple((key, value.obj) for key, value in env.items() if isinstance(value, Static))
    if not all(isinstance(value, Sym | Complex | Static) for value in env.values()):
        ev.fail(
            RecursionUnsupported,
            f"`{label}` calls itself and takes arguments that are neither numbers nor arrays",
            node,
            hint="pass their numbers and arrays one by one, or use a loop",
        )
    key = (id(definition), frame.jitted, frame.flags, tuple((k, v.type) for k, v in params), repr(known))
    callee = ev.callees.known.get(key)
    if callee is None:
        callee = Callee(_fresh(ev, label))
        ev.callees.known[key] = callee
        ev.callees.definitions.add(id(definition))
        for _ in range(4):
            before = callee.results
            ev.callees.open.append(callee)
            try:
                _lower(ev, callee, frame, env, body, node)
            finally:
                ev.callees.open.pop()
            if callee.results == before:
                callee.settled = True
                break
        else:
            ev.fail(RecursionUnsupported, f"the result of `{label}` has no one type", node)
    elif callee in ev.callees.open[:-1]:
        _refuse_cycle(ev, callee, definition, node)
    if callee.results is None or callee.structure is None:
        raise DeadCode  # not known yet: the ways without recursion tell
    targets = tuple(ev.define("t", type_, temporary=True) for type_ in callee.results)
    ev.emit(Call(targets, callee.name, tuple(v.atom for _, v in params), ev.span))
    items = iter([Sym(Name(t), type_) for t, type_ in zip(targets, callee.results, strict=True)])
    returned: Value = rebuild(callee.structure, lambda path, leaf: next(items))
    return returned


def _refuse_cycle(ev: Evaluator, callee: Callee, definition: Any, node: Any) -> None:
    """A call of a function from another recursive one that it calls."""
    names = [one.name for one in ev.callees.open[ev.callees.open.index(callee) :]]
    keys = {id(one): key for key, one in ev.callees.known.items()}
    if all(keys[id(one)][0] == id(definition) for one in ev.callees.open if one.name in names):
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


def _lower(ev: Evaluator, callee: Callee, frame: Frame, env: dict[str, Value], body: Any, node: Any) -> None:
    """Lower the function on its own, with what is known of its result so far."""
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
        return
    items = result.items if isinstance(result, Tup) else () if result == Static(None) else (result,)
    if not all(is_scalar(item) or (isinstance(item, Complex) and not item.is_array) for item in items):
        ev.fail(
            RecursionUnsupported,
            f"`{callee.name}` calls itself and returns something else than numbers or nothing",
            node,
            hint="write the results into an array of the caller's, or use a loop",
        )
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


def finished(callees: Callees, block: Block) -> tuple[Block, tuple[Function, ...]]:
    """A program and the recursive functions it reaches, with every call saying which arrays it writes into.

    Found by iteration: a function writes into what it stores into, and into what its calls do.
    """
    made = [callee for callee in callees.known.values() if callee.function is not None]
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
    for callee in ev.callees.known.values():
        if callee.name in names and not callee.settled:
            ev.fail(RecursionUnsupported, f"a derivative of `{callee.name}` within itself", node)
    return finished(ev.callees, block)[0]


def writers(callees: Callees) -> list[str]:
    """The recursive functions that write into an argument."""
    finished(callees, ())
    return [callee.name for callee in callees.known.values() if callee.function is not None and _written(callee)]


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
