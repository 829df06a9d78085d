"""Statements that loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gast

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode
from tapec.frontend.evaluator.unfinished_blocks import OpenIteration, OpenLoop
from tapec.frontend.evaluator.values import (
    Contents,
    Dct,
    Items,
    Iteration,
    Lst,
    Maybe,
    Poison,
    Sym,
    Tup,
    Value,
    number,
    static_int,
)
from tapec.frontend.iteration import fed_loops
from tapec.frontend.iteration.generators import Generator
from tapec.frontend.iteration.iterables import as_iteration, grid, iterable, iteration_item, iteration_length
from tapec.frontend.iteration.iterators import LEFT, NOTHING, count, each, note, taken
from tapec.frontend.source.source_liveness import SourceLiveness, assigned
from tapec.frontend.source.tail_exits import RETURN
from tapec.frontend.statements.assignments import bind
from tapec.frontend.statements.branches import branch
from tapec.frontend.statements.loop_carried import LoopCarriedValues, LoopContext
from tapec.frontend.statements.rolled_loops import attempted, counted, is_long, may_be_unrolled
from tapec.frontend.statements.unrolled_loops import guarded_for, guarded_iterations, unrolled_for, unrolled_while
from tapec.frontend.structures.merging import copy_all
from tapec.syntax.core import Atom, Break, Name
from tapec.syntax.types import Scalar

Heap = Mapping[Lst, Contents]
# the label of a loop's variable, its bounds and step; whether it is parallel; the atom of its snapshots
Header = tuple[str, Value, Value, Value, bool, Atom | None]


def break_(ev: Evaluator, node: gast.Break) -> None:
    if ev.deciding:
        ev.broke = ev.dead = True
        return
    context: LoopContext = ev.loops[-1]
    copies: list[Any] = []  # filled once the loop's merge names are known
    ev.emit(copies)
    context.exits.append((copies, dict(ev.frame.env), dict(ev.heap)))
    context.broke.append(copies)
    ev.emit(Break(ev.span))
    ev.dead = True


def while_(ev: Evaluator, node: gast.While) -> None:
    if ev.deciding:
        unrolled_while(ev, node)
        return
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
    value = iterable(ev, ev.expr(node.iter), node.iter)
    if ev.deciding:
        unrolled_for(ev, value, node)
        return
    if isinstance(value, Generator):
        _fed(ev, value, node)
        return
    iteration = as_iteration(ev, value, node.iter)
    outer = ev.frame.flags
    if outer is not None and iteration.parallel:
        ev.frame.flags = outer.in_parallel
    run_iteration(ev, iteration, node)
    ev.frame.flags = outer


def _fed(ev: Evaluator, generator: Generator, node: gast.For) -> None:
    """A loop over a generator."""
    body, may_stop = fed_loops.without_breaks(node.body)
    scope = ev.frame
    outer = scope.liveness
    assert outer is not None
    names = assigned([node]) | ({fed_loops.STOP} if may_stop else set())
    if RETURN in names:
        hint = "set a variable, leave the loop by `break`, and return after it"
        ev.fail(UnsupportedSyntax, "`return` inside a loop over a generator", node, hint=hint)
    later = outer.after.get(id(node), frozenset()) | outer.head.get(id(node), frozenset())
    liveness = SourceLiveness(body, later | names & {fed_loops.STOP}) if may_stop else outer

    def iteration(item: Value) -> None:
        scope.liveness = liveness
        bind(ev, node.target, item, node)
        ev.statements(body)
        scope.liveness = outer

    fed_loops.feed(ev, generator, iteration, names, node)


def run_iteration(ev: Evaluator, iteration: Iteration, node: gast.For) -> None:
    assert ev.frame.liveness is not None
    live = ev.frame.liveness.after.get(id(node), frozenset())
    head = ev.frame.liveness.head.get(id(node), frozenset())
    names = assigned([node])
    if not _has_break(node.body) and may_be_unrolled(iteration, node):
        if not attempted(ev, lambda: _run(ev, iteration, node, live | head, names)):
            _unrolled(ev, iteration, node)
        return
    if _unrolls(ev, iteration, node) and not _has_break(node.body):
        iterations = None if iteration.kind == "filter" else count(ev, replace(iteration, progress=None), node)
        if (
            iterations is not None
            and is_long(node, iterations)
            and attempted(ev, lambda: _rolled(ev, iteration, node, live))
        ):
            return
        _unrolled(ev, iteration, node)
        return
    _run(ev, iteration, node, live | head, names)


def _unrolled(ev: Evaluator, iteration: Iteration, node: gast.For) -> None:
    """A loop, iteration by iteration."""
    begun = dict(ev.heap)
    for item in each(ev, iteration, node):
        bind(ev, node.target, item, node)
        ev.statements(node.body)
        if ev.dead:
            return
        _same_lengths(ev, iteration, begun, ev.heap, node)


def _run(ev: Evaluator, iteration: Iteration, node: gast.For, live: frozenset[str], names: frozenset[str]) -> bool:
    """A loop with one body; always true."""
    iterations = guarded_iterations(ev, iteration)
    if iterations is not None and not _has_break(node.body):
        begun = dict(ev.heap)
        guarded_for(ev, iteration, node, iterations)
        _same_lengths(ev, iteration, begun, ev.heap, node)
        return True
    progress, iteration = iteration.progress, taken(ev, iteration, node)
    if iteration == NOTHING:
        return True
    # a `break` leaves one loop only: then the whole grid is counted through
    if iteration.kind == "ndindex" and not _has_break(node.body):
        _nested_ranges(ev, iteration, node, names, live)
        return True
    if iteration.slots is not None:
        _all_iterations_run(ev, node)
    direct = iteration.kind == "range" and (iteration.slots is None or _counts(iteration))
    if direct:
        start, stop, step = iteration.args
    else:
        start, stop, step = number(0), iteration_length(ev, iteration, node), number(1)

    def body(index: Sym) -> None:
        item: Value = index if direct else iteration_item(ev, iteration, index, node)
        bind(ev, node.target, item, node)
        ev.statements(node.body)

    label = node.target.id if iteration.kind == "range" and isinstance(node.target, gast.Name) else "k"
    header = (label, start, stop, step, iteration.parallel, iteration.slots)
    context = counted_loop(ev, header, body, names, live, node)
    for block, _, heap in context.exits:
        if not any(block is left for left in context.broke):
            _same_lengths(ev, iteration, context.lists, heap, node)
    if context.broke:
        note(ev, progress, LEFT)
    return True


def _rolled(ev: Evaluator, iteration: Iteration, node: gast.For, live: frozenset[str]) -> bool:
    """One body for all iterations, whose items are numbers of an array or range; False if something is not known
    then.
    """
    one = counted(ev, iteration, node)
    if one is None:
        return False
    run_iteration(ev, one, node)
    return not any(isinstance(ev.frame.env.get(name), Poison | Maybe) for name in assigned([node]) & live)


def _same_lengths(ev: Evaluator, iteration: Iteration, begun: Heap, ended: Heap, node: gast.For) -> None:
    """Refuse a loop over a list that an iteration makes longer or shorter: it would make other iterations."""
    for owner in iteration.args:
        if isinstance(owner, Iteration):
            _same_lengths(ev, owner, begun, ended, node)
        if isinstance(owner, Lst) and owner in begun and _count(begun[owner]) != _count(ended[owner]):
            ev.fail(
                UnsupportedSyntax,
                "a list that grows or shrinks while a loop runs over it",
                node,
                hint="count through it: `k = 0`, then `while k < len(values)`",
            )


def _count(contents: Contents) -> int | Atom:
    return len(contents.values) if isinstance(contents, Items) else contents.count.atom


def _counts(iteration: Iteration) -> bool:
    """Whether a range counts 0, 1, 2, ..."""
    return [static_int(bound) for bound in (iteration.args[0], iteration.args[2])] == [0, 1]


def _all_iterations_run(ev: Evaluator, node: gast.For) -> None:
    """The schedule of snapshots rests on the iteration count."""
    if _has_break(node.body):
        ev.fail(
            UnsupportedSyntax,
            "a checkpointed loop cannot be left early",
            node,
            reason="its snapshots are placed by the number of its iterations",
            hint="loop over range() itself, or let the iterations that remain do nothing",
        )


def _nested_ranges(
    ev: Evaluator, iteration: Iteration, node: gast.For, names: frozenset[str], live: frozenset[str]
) -> None:
    """`for index in np.ndindex(shape)`: one loop per axis."""
    dims, array = grid(iteration)

    def nest(axis: int, index: tuple[Value, ...]) -> None:
        if axis == len(dims):
            item: Value = Tup(index)
            if array is not None:
                item = Tup((item, ev.load(array, item, node)))
            bind(ev, node.target, item, node)
            ev.statements(node.body)
            return
        header = ("ijklmn"[axis % 6], number(0), dims[axis], number(1), False, None)
        counted_loop(ev, header, lambda k: nest(axis + 1, (*index, k)), names, live, node)

    nest(0, ())


def _unrolls(ev: Evaluator, iteration: Iteration, node: Any) -> bool:
    """Whether a loop runs over structure, iteration by iteration known."""
    if iteration.kind == "filter" or not _structure(ev, iteration):
        return iteration.kind == "filter"
    # beside an array of unknown length, the items of a tuple are picked by their number
    return count(ev, replace(iteration, progress=None), node) is not None


def _structure(ev: Evaluator, iteration: Iteration) -> bool:
    """Whether items come from a tuple, or from a list of known length."""
    return any(
        _structure(ev, arg)
        if isinstance(arg, Iteration)
        else isinstance(arg, Tup | Dct) or (isinstance(arg, Lst) and isinstance(ev.heap[arg], Items))
        for arg in iteration.args
    )


def _has_break(stmts: list[Any]) -> bool:
    for stmt in stmts:
        if isinstance(stmt, gast.Break):
            return True
        if isinstance(stmt, gast.If) and (_has_break(stmt.body) or _has_break(stmt.orelse)):
            return True
    return False


def counted_loop(
    ev: Evaluator,
    header: Header,
    body: Callable[[Sym], None],
    names: frozenset[str],
    live: frozenset[str],
    node: Any,
) -> LoopContext:
    """A `for` over a range; `body` is called with the loop variable."""
    return loop(ev, header, body, names, live, node)


def loop(
    ev: Evaluator,
    header: Header | None,
    body: Callable[..., None],
    names: frozenset[str],
    live: frozenset[str],
    node: Any,
) -> LoopContext:
    """Lower a loop: find the variables that it carries and their types, then write it.

    A variable's type at the head depends on what the body makes of it, so the body is lowered
    until the types no longer change.
    """
    bounds = _bounds(ev, header, node)
    entry, taken, outer = ev.snapshot(), set(ev.taken), ev.block
    carried = LoopCarriedValues(entry, sorted(names & live))
    for _ in range(60):
        ev.restore(entry)
        ev.taken = taken | ev.fixed
        ev.dead = False
        before: list[Any] = []
        context = carried.begin(ev, before)
        root: list[Any] = []
        ev.block = root
        ev.loops.append(context)
        var = None if header is None else ev.define(header[0], Scalar("int64"))
        counted = var is not None and bounds[2].constant == 1
        if var is not None and counted:
            ev.counters[var] = bounds[0].atom, bounds[1].atom
            ev.open_iterations.append(OpenIteration(bounds[0], bounds[1], outer, before, root, frozenset(taken)))
        try:
            body(*(() if var is None else (Sym(Name(var), Scalar("int64")),)))
        except DeadCode:
            ev.dead = True  # an item of a comprehension raises: the iteration ends there
        finally:
            # also where a function is found to call itself, and the call is lowered again
            ev.loops.pop()
            if counted:
                ev.open_iterations.pop()
        if not ev.dead:
            context.exits.append((ev.block, {n: ev.frame.env.get(n) for n in carried.names}, dict(ev.heap)))
        if carried.settled(ev, context, root):
            break
    else:
        ev.fail(TypeMismatch, "the types of the variables that this loop carries do not settle", node)
    for block, env, heap in context.exits:
        copy_all(ev, block, carried.copies(ev, context, env, heap))
    copy_all(ev, before, [(name, value) for name, value in context.initial])
    outer.extend(before)
    ev.block = outer
    ev.restore(entry)
    ev.dims.update(carried.invariant.extents)
    ev.frame.env.update(context.variables)
    ev.heap.update({**context.lists, **context.contents})
    built = None if header is None or var is None else (var, *(b.atom for b in bounds), *header[4:])
    ev.emit(OpenLoop(built, root, ev.span))  # type: ignore[arg-type]
    # a `while True` without `break` never ends normally
    ev.dead = header is None and not any(block is not None for block in context.broke)
    return context


def _bounds(ev: Evaluator, header: Header | None, node: Any) -> list[Sym]:
    if header is None:
        return []
    bounds = [ev.scalar(bound, node) for bound in header[1:4]]
    for bound in bounds:
        if bound.type.is_float:
            ev.fail(TypeMismatch, "the bounds of a range must be integers", node)
    if bounds[2].constant == 0:
        ev.fail(TypeMismatch, "the step of a range must not be zero", node)
    return bounds
