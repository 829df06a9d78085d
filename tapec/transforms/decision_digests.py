"""A digest of the decisions that a run takes: whether two runs went the same way.

What a sparsity pattern says holds for one way through a program: for its branches, its numbers of iterations, and the
elements that its subscripts meet.  Extents of arguments fix most of them.  A decision is *dynamic* where it depends on
the numbers in arguments.  Those that depend on integers among the arguments alone are the same where these are; the
others are noted, one by one, where they are known:

    k = np.int64(x[i])                              k = np.int64(x[i])
                                                    trace = tapec_runtime.noted(trace, k)
    y[k] = y[k] + x[i]                              y[k] = y[k] + x[i]

A choice of one of two numbers is none, nor is a branch of which the pattern has what both ways give (see
`joined_branches`): what matters for it are the integers that both ways read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tapec.analyses.activity import reach
from tapec.analyses.aliases import ALLOCATIONS, VIEWS, aliases, is_memory
from tapec.rules.library import PRIMITIVES
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Push,
    Return,
    Stmt,
    Store,
    blocks,
    changed,
    ends_in_error,
    map_blocks,
    names_in,
    reads,
    walk,
    writes,
)
from tapec.syntax.custom_rule import Opaque
from tapec.syntax.types import INT64, Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.joined_branches import Branches, is_joined, marked, outside
from tapec.transforms.ssa import to_ssa

# the extents of what these give follow from extents, and from subscripts, which are decisions
_OF_KNOWN_EXTENTS = ALLOCATIONS | VIEWS | {"copy", "pop", "stack"} | PRIMITIVES.keys()


def traced(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with one more result: a digest of the decisions that depend on the floats among its arguments.

    What functions give that are called as they are counts, too, whatever they are given.  Branches that a pattern has
    both ways of are marked.
    """
    roots = [param for param in function.params if function.types[param].is_float]
    roots += [stmt.target for stmt in walk(function.body) if isinstance(stmt, Assign) and _is_opaque(stmt.value)]
    found, branches = _Decisions(function).dynamic(roots), Branches(function)
    joined = {
        stmt.key
        for stmt in walk(function.body)
        if isinstance(stmt, If) and isinstance(stmt.test, Name) and stmt.test.id in found and branches.fits(stmt)
    }
    function = replace(function, body=marked(function.body, joined))
    wanted = _Decisions(function).dynamic(roots)
    last = function.leaving
    if not wanted:
        return replace(function, body=(*function.body[:-1], replace(last, values=(*last.values, Const(0)))))
    types = dict(function.types)
    out = Emitter(types, set(types))
    trace = out.fresh("trace", INT64)

    def noting(block: Block) -> Block:
        inner = out.child()
        for stmt in block:
            if isinstance(stmt, Return):
                stmt = replace(stmt, values=(*stmt.values, Name(trace)))
            inner.add(map_blocks(stmt, noting))
            for name in writes(stmt):
                if name in wanted and not isinstance(stmt, For):
                    inner.assign(trace, Op("tapec_runtime.noted", (Name(trace), inner.cast(Name(name), INT64))))
        return tuple(inner.out)

    body = (Assign(trace, Const(0)), *noting(function.body))
    return to_ssa(replace(function, body=body, types=types), constants)


def deciding_integers(function: Function) -> tuple[str, ...]:
    """The integers and booleans among the parameters of a function with marks that decide anything."""
    found, types = _Decisions(function), function.types
    return tuple(
        param
        for param in function.params
        if isinstance(types[param], Scalar | Array) and not types[param].is_float and found.dynamic([param])
    )


def digest_of(integers: tuple[str, ...], out: Emitter) -> Atom:
    """A digest of numbers, and of all elements of arrays."""
    trace: Atom = Const(0)
    for name in integers:
        if isinstance(out.types[name], Array):
            noted = Op("tapec_runtime.noted_all", (trace, Name(name)))
        else:
            noted = Op("tapec_runtime.noted", (trace, out.cast(Name(name), INT64)))
        trace = out.let("trace", noted, INT64)
    return trace


class _Decisions:
    """The names that decide what a function does, and on what they depend."""

    def __init__(self, function: Function) -> None:
        self.types = function.types
        self.classes = aliases(function)
        stmts = list(_decided(function.body))
        self.strange = {self._key(stmt.target) for stmt in stmts if isinstance(stmt, Assign) and self._is_strange(stmt)}
        self.names = {
            name
            for stmt in stmts
            for name in self._deciding(stmt)
            if isinstance(self.types.get(name), Scalar) and not self.types[name].is_float
        }
        self.edges: dict[str, list[str]] = {}
        for stmt in stmts:
            for source, target in self._flows(stmt):
                self.edges.setdefault(self._key(source), []).append(self._key(target))

    def dynamic(self, roots: Iterable[str]) -> set[str]:
        """Of the names that decide those that depend on `roots`, but not by way of others of them alone."""
        start = {self._key(root) for root in roots}
        cut = {source: targets for source, targets in self.edges.items() if source not in self.names or source in start}
        return self.names & reach(start, cut)

    def _key(self, name: str) -> str:
        return self.classes.find(name) if is_memory(self.types.get(name)) else name

    def _is_strange(self, stmt: Assign) -> bool:
        """Whether an array's extents may depend on numbers that decide nothing else."""
        value = stmt.value
        return is_memory(self.types.get(stmt.target)) and isinstance(value, Op) and value.fn not in _OF_KNOWN_EXTENTS

    def _flows(self, stmt: Stmt) -> Iterator[tuple[str, str]]:
        """Edges from what a statement reads to what it sets."""
        if is_joined(stmt):
            # which way it goes is seen in what the ways give
            inside = list(walk(stmt.body + stmt.orelse))  # type: ignore[union-attr]
            given = {name for one in inside for name in (*writes(one), *_stored(one))}
            tests = [one.test for one in (stmt, *inside) if isinstance(one, If)]
            for one in inside:
                yield from self._flows(one) if not isinstance(one, If) else ()
            for target in given:
                yield from ((name, target) for test in tests for name in names_in(test))
            return
        match stmt:
            case For():
                return  # what bounds the loop decides
            case Assign(value=Op(fn="dim", args=(Name(id=array), _))) if self._key(array) not in self.strange:
                return
            case Store(array=array, index=index, value=value):
                targets: tuple[str, ...] = (array,)
                sources = [name for part in (*index, value) for name in names_in(part)]
            case Push(stack=stack, value=value):
                targets, sources = (stack,), list(names_in(value))
            case _:
                targets, sources = (*writes(stmt), *changed(stmt)), list(reads(stmt))
        for target in targets:
            for source in sources:
                yield source, target

    def _deciding(self, stmt: Stmt) -> Iterator[str]:
        """The names that decide what a statement does."""
        match stmt:
            case If() if is_joined(stmt):
                yield from outside(stmt)
            case If(test=Name(id=test), body=body, orelse=orelse):
                if not (ends_in_error(body) and not orelse):
                    yield test
            case For(start=start, stop=stop, step=step):
                for bound in (start, stop, step):
                    yield from names_in(bound)
            case Store(array=array, index=index) if self.types[array].is_float:
                for part in index:
                    yield from names_in(part)
            case Assign(value=Op(fn="load", args=(Name(id=array), *places))) if self.types[array].is_float:
                for place in places:
                    yield from names_in(place)
            case Assign(value=Op(fn=fn, args=args)) if fn in ALLOCATIONS or fn in VIEWS:
                for arg in args:
                    yield from names_in(arg)


def _decided(block: Block) -> Iterator[Stmt]:
    """The statements of a block and of the blocks inside it, but for those of branches of which both ways count."""
    for stmt in block:
        yield stmt
        if not is_joined(stmt):
            for inner in blocks(stmt):
                yield from _decided(inner)


def _is_opaque(value: Expr) -> bool:
    return isinstance(value, Op) and isinstance(value.fn, Opaque)


def _stored(stmt: Stmt) -> tuple[str, ...]:
    return (stmt.array,) if isinstance(stmt, Store) else ()
