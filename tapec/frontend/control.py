"""Statements that branch and loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gast

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend import numba_types
from tapec.frontend.evaluator import Evaluator, OpenIf, OpenLoop
from tapec.frontend.lists import element_type, growing
from tapec.frontend.liveness import assigned
from tapec.frontend.merge import Way, blank, copy_all, leaves, merge, note_roots, rebuild
from tapec.frontend.values import (
    Contents,
    Growing,
    Items,
    Iteration,
    Lst,
    Maybe,
    Poison,
    State,
    Sym,
    Tup,
    Value,
    is_array,
    number,
    static_int,
)
from tapec.syntax.core import Break, Const, Name
from tapec.syntax.types import Array, Scalar, Type


def if_(ev: Evaluator, node: gast.If) -> None:
    test = ev.truth(ev.expr(node.test), node.test)
    if isinstance(test.atom, Const):
        ev.statements(node.body if test.atom.value else node.orelse)
        return
    assert ev.frame.liveness is not None
    live = ev.frame.liveness.after.get(id(node), frozenset())
    branch(ev, test, lambda: ev.statements(node.body), lambda: ev.statements(node.orelse), live)


def branch(
    ev: Evaluator,
    test: Sym,
    body: Callable[[], None],
    orelse: Callable[[], None],
    live: frozenset[str] | None = None,
) -> None:
    """Lower both sides of an `if`, and merge what they leave behind."""
    outer = ev.block
    entry = ev.snapshot()
    sides: list[tuple[list[Any], State | None]] = []
    roots: list[list[Any]] = []
    for side in (body, orelse):
        root: list[Any] = []
        roots.append(root)
        ev.block, ev.dead = root, False
        ev.restore(entry)
        side()
        sides.append((ev.block, None if ev.dead else ev.snapshot()))
    (then_block, then_state), (else_block, else_state) = sides
    then_root, else_root = roots
    ev.block, ev.dead = outer, False
    span = ev.span
    if then_state is None and else_state is None:
        ev.emit(OpenIf(test.atom, then_root, else_root, span))
        ev.dead = True
        return
    if (then_state is None or else_state is None) and not _breaks(then_root if then_state is None else else_root):
        # one side raises: what follows is not part of the other one
        if else_state is None:
            ev.block, ev.dead = outer, False
            ev.restore(entry)
            test = ev.op("not", test)
        ev.emit(OpenIf(test.atom, then_root if then_state is None else else_root, [], span))
        root, cursor, state = (
            (else_root, else_block, else_state) if then_state is None else (then_root, then_block, then_state)
        )
        outer.extend(root)
        assert state is not None
        ev.restore(state)
        ev.block = outer if cursor is root else cursor
        return
    if then_state is None or else_state is None:
        # one side never goes on: what follows is written inside the other one
        ev.emit(OpenIf(test.atom, then_root, else_root, span))
        state = then_state or else_state
        assert state is not None
        ev.restore(state)
        ev.block = then_block if else_state is None else else_block
        return
    if _breaks(then_root) or _breaks(else_root):
        # the end of the loop's body: each way that goes on ends the trip where it is
        context: LoopContext = ev.loops[-1]
        for block, state in ((then_block, then_state), (else_block, else_state)):
            context.exits.append((block, state.env, state.heap))
        ev.emit(OpenIf(test.atom, then_root, else_root, span))
        ev.dead = True
        return
    ways = (Way(then_block), Way(else_block))
    merged = State(dims={key: dim for key, dim in then_state.dims.items() if else_state.dims.get(key) == dim})
    for name in sorted(then_state.env.keys() | else_state.env.keys()):
        if live is not None and name not in live and not name.startswith("$"):
            first, second = then_state.env.get(name), else_state.env.get(name)
            if first is second:
                merged.env[name] = first  # type: ignore[assignment]
            continue
        value = merge(ev, name, then_state.env.get(name), else_state.env.get(name), ways)
        if value is not None:
            merged.env[name] = value
    for key in then_state.heap.keys() & else_state.heap.keys():
        merged.heap[key] = _merge_contents(ev, key, then_state.heap[key], else_state.heap[key], ways)
    ev.restore(merged)
    if then_root or else_root:
        ev.emit(OpenIf(test.atom, then_root, else_root, span))


def _breaks(block: list[Any]) -> bool:
    """Whether a block under construction leaves the loop around it."""
    for item in block:
        if isinstance(item, Break):
            return True
        if isinstance(item, OpenIf) and (_breaks(item.body) or _breaks(item.orelse)):
            return True
    return False


def _merge_contents(ev: Evaluator, key: Lst, first: Contents, second: Contents, ways: tuple[Way, Way]) -> Contents:
    if first == second:
        return first
    if isinstance(first, Items) and isinstance(second, Items) and len(first.values) == len(second.values):
        merged = merge(ev, key.label, Tup(first.values), Tup(second.values), ways)
        if isinstance(merged, Tup):
            return Items(merged.items)
    sides = []
    dtype = None
    for contents in (first, second):
        if not isinstance(contents, Items):
            dtype = contents.buffer.type
    for contents, way in zip((first, second), ways, strict=True):
        outer, ev.block = ev.block, way.block
        element = dtype.element if isinstance(dtype, Array) else element_type(ev, first, second)
        sides.append(growing(ev, contents, element))
        ev.block = outer
    new = [merge(ev, key.label, a, b, ways) for a, b in zip(*map(_parts, sides), strict=True)]
    buffer, count = new
    if not isinstance(buffer, Sym) or not isinstance(count, Sym):
        ev.fail(TypeMismatch, f"the list `{key.label}` holds different types after each branch")
    return type(sides[0])(buffer, count)


def _parts(contents: Any) -> tuple[Sym, Sym]:
    return contents.buffer, contents.count


@dataclass
class LoopContext:
    """One attempt at a loop: its merge names, and the state that each way out of a trip leaves."""

    carried: dict[str, Any] = field(default_factory=dict)
    lists: dict[Lst, Any] = field(default_factory=dict)
    heads: dict[tuple[Any, ...], str] = field(default_factory=dict)
    initial: list[tuple[str, Sym]] = field(default_factory=list)
    exits: list[tuple[list[Any], dict[str, Any], dict[Lst, Any]]] = field(default_factory=list)
    broke: list[list[Any]] = field(default_factory=list)


def break_(ev: Evaluator, node: gast.Break) -> None:
    context: LoopContext = ev.loops[-1]
    copies: list[Any] = []  # filled once the loop's merge names are known
    ev.emit(copies)
    context.exits.append((copies, dict(ev.frame.env), dict(ev.heap)))
    context.broke.append(copies)
    ev.emit(Break(ev.span))
    ev.dead = True


def while_(ev: Evaluator, node: gast.While) -> None:
    assert ev.frame.liveness is not None
    liveness = ev.frame.liveness
    live = liveness.after.get(id(node), frozenset())
    head = liveness.head.get(id(node), frozenset())

    def body() -> None:
        test = ev.truth(ev.expr(node.test), node.test)
        if test.constant is True:
            ev.statements(node.body)
            return
        if test.constant is False:
            break_(ev, node)
            return
        branch(ev, test, lambda: ev.statements(node.body), lambda: break_(ev, node))

    loop(ev, None, body, assigned([node]), live | head, node)


def for_(ev: Evaluator, node: gast.For) -> None:
    iteration = as_iteration(ev, ev.expr(node.iter), node.iter)
    run_iteration(ev, iteration, node)


def as_iteration(ev: Evaluator, value: Value, node: Any) -> Iteration:
    if isinstance(value, Iteration):
        return value
    if isinstance(value, Tup) or is_array(value):
        return Iteration("items", (value,))
    if isinstance(value, Lst):
        return Iteration("items", (value,))
    ev.fail(UnsupportedSyntax, "cannot iterate over this", node, hint="loop over a range, an array or a tuple")


def run_iteration(ev: Evaluator, iteration: Iteration, node: gast.For) -> None:
    assert ev.frame.liveness is not None
    live = ev.frame.liveness.after.get(id(node), frozenset())
    head = ev.frame.liveness.head.get(id(node), frozenset())
    names = assigned([node])
    if _unrolls(ev, iteration) and not _has_break(node.body):
        count = static_int(ev.iteration_length(iteration, node))
        assert count is not None
        for k in range(count):
            ev.bind_target(node.target, ev.iteration_item(iteration, number(k), node), node)
            ev.statements(node.body)
            if ev.dead:
                return
        return
    if iteration.kind == "ndindex":
        _nested_ranges(ev, iteration, node, names, live | head)
        return
    if iteration.kind == "range":
        start, stop, step = iteration.args
    else:
        start, stop, step = number(0), ev.iteration_length(iteration, node), number(1)

    def body(index: Sym) -> None:
        item: Value = index if iteration.kind == "range" else ev.iteration_item(iteration, index, node)
        ev.bind_target(node.target, item, node)
        ev.statements(node.body)

    label = node.target.id if iteration.kind == "range" and isinstance(node.target, gast.Name) else "k"
    header = (label, start, stop, step, iteration.parallel)
    counted_loop(ev, header, body, names, live | head, node)


def _nested_ranges(
    ev: Evaluator, iteration: Iteration, node: gast.For, names: frozenset[str], live: frozenset[str]
) -> None:
    """`for index in np.ndindex(shape)`: one loop per axis."""
    dims = iteration.args
    array = None
    if dims and is_array(dims[-1]):  # np.ndenumerate
        *dims, array = dims
    if _has_break(node.body):
        ev.fail(UnsupportedSyntax, "cannot `break` out of a loop over np.ndindex", node)

    def nest(axis: int, index: tuple[Value, ...]) -> None:
        if axis == len(dims):
            item: Value = Tup(index)
            if array is not None:
                item = Tup((item, ev.load(array, item, node)))
            ev.bind_target(node.target, item, node)
            ev.statements(node.body)
            return
        header = ("ijklmn"[axis % 6], number(0), dims[axis], number(1), False)
        counted_loop(ev, header, lambda k: nest(axis + 1, (*index, k)), names, live, node)

    nest(0, ())


def _unrolls(ev: Evaluator, iteration: Iteration) -> bool:
    """Whether a loop runs over structure, trip by trip known."""
    match iteration.kind:
        case "items" | "reversed" | "zip" | "enumerate":
            return any(
                _unrolls(ev, arg)
                if isinstance(arg, Iteration)
                else isinstance(arg, Tup) or (isinstance(arg, Lst) and isinstance(ev.heap[arg], Items))
                for arg in iteration.args
            )
    return False


def _has_break(stmts: list[Any]) -> bool:
    for stmt in stmts:
        if isinstance(stmt, gast.Break):
            return True
        if isinstance(stmt, gast.If) and (_has_break(stmt.body) or _has_break(stmt.orelse)):
            return True
    return False


def counted_loop(
    ev: Evaluator,
    header: tuple[str, Value, Value, Value, bool],
    body: Callable[[Sym], None],
    names: frozenset[str],
    live: frozenset[str],
    node: Any,
) -> None:
    """A `for` over a range; `body` is called with the loop variable."""
    loop(ev, header, body, names, live, node)


def loop(
    ev: Evaluator,
    header: tuple[str, Value, Value, Value, bool] | None,
    body: Callable[..., None],
    names: frozenset[str],
    live: frozenset[str],
    node: Any,
) -> None:
    """Lower a loop: find the variables that it carries and their types, then write it.

    A variable's type at the head depends on what the body makes of it, so the body is lowered
    until the types no longer change.
    """
    bounds = _bounds(ev, header, node)
    entry, taken, outer = ev.snapshot(), set(ev.taken), ev.block
    carried = Carried(entry, sorted(names & live))
    for _ in range(60):
        ev.restore(entry)
        ev.taken = taken | ev.fixed
        ev.dead = False
        before: list[Any] = []
        context = carried.begin(ev, before)
        root: list[Any] = []
        ev.block = root
        ev.loops.append(context)
        if header is None:
            var = None
            body()
        else:
            var = ev.define(header[0], Scalar("int64"))
            body(Sym(Name(var), Scalar("int64")))
        ev.loops.pop()
        if not ev.dead:
            context.exits.append((ev.block, {n: ev.frame.env.get(n) for n in carried.names}, dict(ev.heap)))
        if carried.settled(ev, context):
            break
    else:
        ev.fail(TypeMismatch, "the types of the variables that this loop carries do not settle", node)
    for block, env, heap in context.exits:
        copy_all(ev, block, carried.copies(context, env, heap))
    copy_all(ev, before, [(name, value) for name, value in context.initial])
    outer.extend(before)
    ev.block = outer
    ev.restore(entry)
    ev.frame.env.update(context.carried)
    ev.heap.update(context.lists)
    built = None if header is None or var is None else (var, *(b.atom for b in bounds), header[4])
    ev.emit(OpenLoop(built, root, ev.span))  # type: ignore[arg-type]
    # a `while True` without `break` never ends normally
    ev.dead = header is None and not any(block is not None for block in context.broke)


def _bounds(ev: Evaluator, header: tuple[str, Value, Value, Value, bool] | None, node: Any) -> list[Sym]:
    if header is None:
        return []
    bounds = [ev.scalar(bound, node) for bound in header[1:4]]
    for bound in bounds:
        if bound.type.is_float:
            ev.fail(TypeMismatch, "the bounds of a range must be integers", node)
    if bounds[2].constant == 0:
        ev.fail(TypeMismatch, "the step of a range must not be zero", node)
    return bounds


class Carried:
    """The variables and lists that a loop carries from trip to trip, as far as known."""

    def __init__(self, entry: State, names: list[str]) -> None:
        self.names = names
        self.entry = entry
        self.values: dict[str, Value] = {n: entry.env[n] for n in names if n in entry.env}
        self.missing: dict[str, Value] = {}
        self.lists: dict[Lst, Scalar | None] = {}
        self.types: dict[tuple[Any, ...], Type] = {}

    def begin(self, ev: Evaluator, before: list[Any]) -> LoopContext:
        """Bind every carried variable to its merge name at the head of the loop."""
        context = LoopContext()
        for name, value in self.values.items():
            self._bind(ev, context, name, value, ("name", name))
        for name, like in self.missing.items():
            dummy = blank(ev, like, before)
            if dummy is None:
                self.values[name] = Poison("it is not set before the loop", name)
                continue
            start = dummy if name.startswith("$") else Maybe(dummy, Const(False), name)
            self._bind(ev, context, name, start, ("name", name))
        for key, element in self.lists.items():
            contents = self.entry.heap[key]
            if element is not None:
                outer, ev.block = ev.block, before
                contents = growing(ev, contents, element)
                ev.block = outer
            new = rebuild(contents, self._maker(ev, context, key.label, ("list", key)))
            ev.heap[key] = context.lists[key] = new
        return context

    def _bind(self, ev: Evaluator, context: LoopContext, name: str, value: Value, key: tuple[Any, ...]) -> None:
        new = rebuild(value, self._maker(ev, context, name, key))
        ev.frame.env[name] = context.carried[name] = new

    def _maker(
        self, ev: Evaluator, context: LoopContext, label: str, key: tuple[Any, ...]
    ) -> Callable[[tuple[Any, ...], Sym], Sym]:
        def make(path: tuple[Any, ...], leaf: Sym) -> Sym:
            full = (*key, *path)
            type_ = self.types.get(full, leaf.type)
            base = f"{label}_set" if "flag" in path else f"{label}_count" if "count" in path else label
            name = ev.define(base, type_)
            note_roots(ev, name, leaf)
            context.initial.append((name, leaf))
            context.heads[full] = name
            return Sym(Name(name), type_)

        return make

    def settled(self, ev: Evaluator, context: LoopContext) -> bool:
        """Compare what trips end with to what they began with; True if nothing was learned."""
        stable = True
        for _, env, heap in context.exits:
            for name in self.names:
                stable &= self._compare_name(ev, context, name, env.get(name))
            for key, contents in heap.items():
                stable &= self._compare_list(ev, context, key, contents)
        return stable

    def _compare_name(self, ev: Evaluator, context: LoopContext, name: str, value: Value | None) -> bool:
        if value is None:
            return True
        head = context.carried.get(name)
        if head is None:
            if isinstance(value, Poison) or name in self.missing or name in self.values:
                return True
            self.missing[name] = value.value if isinstance(value, Maybe) else value
            return False
        if isinstance(head, Poison) or head == value:
            return True
        paths, head_paths = self._leaves(head, value), dict(leaves(head))
        if paths is None or not head_paths:
            reason = "it changes its structure from trip to trip"
            self.values[name] = Poison(reason, name)
            self.missing.pop(name, None)
            return False
        return self._unify(ev, context, ("name", name), paths)

    def _leaves(self, head: Any, value: Any) -> dict[tuple[Any, ...], Sym] | None:
        """The leaves of `value` under the paths of `head`; None if the structures differ."""
        if isinstance(head, Maybe) and not isinstance(value, Maybe):
            value = Maybe(value, Const(True), head.name)
        paths = dict(leaves(value))
        same = paths.keys() == dict(leaves(head)).keys() and _shape(head) == _shape(value)
        return paths if same else None

    def _unify(
        self, ev: Evaluator, context: LoopContext, key: tuple[Any, ...], paths: dict[tuple[Any, ...], Sym]
    ) -> bool:
        stable = True
        for path, leaf in paths.items():
            head = context.heads[(*key, *path)]
            type_ = numba_types.unify(ev.types[head], leaf.type)
            if type_ is None:
                name = key[1] if isinstance(key[1], str) else key[1].label
                ev.fail(
                    TypeMismatch,
                    f"`{name}` is {ev.types[head]} when the loop begins and {leaf.type} after a trip",
                    reason="Numba has no type for both",
                )
            if type_ != ev.types[head]:
                self.types[(*key, *path)] = type_
                stable = False
            elif isinstance(leaf.atom, Name) and isinstance(leaf.type, Array):
                new = ev.roots.get(head, frozenset()) | ev.roots.get(leaf.atom.id, frozenset())
                ev.roots[head] = new
        return stable

    def _compare_list(self, ev: Evaluator, context: LoopContext, key: Lst, contents: Contents) -> bool:
        if key not in self.entry.heap:
            return True
        head = context.lists.get(key, self.entry.heap[key])
        if head == contents:
            return True
        paths = self._leaves(head, contents)
        if key in context.lists and paths is not None:
            return self._unify(ev, context, ("list", key), paths)
        same_length = isinstance(head, Items) and isinstance(contents, Items) and paths is not None
        if key not in self.lists and same_length:
            self.lists[key] = None
        else:
            self.lists[key] = element_type(ev, head, contents)
        return False

    def copies(
        self, context: LoopContext, env: dict[str, Any], heap: dict[Lst, Any]
    ) -> list[tuple[str, Sym]]:
        """What a trip's end assigns to the merge names."""
        pairs: list[tuple[str, Sym]] = []
        for key, head, value in [
            *((("name", name), head, env.get(name)) for name, head in context.carried.items()),
            *((("list", key), head, heap.get(key)) for key, head in context.lists.items()),
        ]:
            if value is None or isinstance(head, Poison):
                continue
            found = self._leaves(head, value) or {}
            pairs += [(context.heads[(*key, *path)], leaf) for path, leaf in found.items()]
        return pairs


def _shape(value: Any) -> Any:
    """The structure of a value without its numbers."""
    match value:
        case Sym():
            return "leaf"
        case Tup(items=items, cls=cls):
            return (cls, *map(_shape, items))
        case Maybe(value=inner):
            return ("maybe", _shape(inner))
        case Items(values=values):
            return ("items", *map(_shape, values))
        case Growing():
            return "growing"
    return value
