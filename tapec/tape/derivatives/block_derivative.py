"""The derivative of a stretch of residual program, as a core function.

A source is an input of the stretch or a name defined in it.  The latter is cut: behind its
definition a zero is added, and the derivative is taken by that zero.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from tapec.analyses.activity import Activity
from tapec.analyses.aliases import aliases, origins
from tapec.analyses.batch_extents import of_several
from tapec.analyses.batch_independence import independent_examples
from tapec.errors import LoweringError, Span
from tapec.frontend.evaluator.evaluator import Prepare
from tapec.optimise import simple
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    Loop,
    Name,
    Op,
    Return,
    Stmt,
    Store,
    distinct,
    reads,
    substitute,
    walk,
    writes,
    written_in,
)
from tapec.syntax.renaming import replaced
from tapec.syntax.types import Array, Scalar, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.jacobian import jacobian
from tapec.transforms.packed_columns import Rerolled
from tapec.transforms.rerolled_loops import rerolled
from tapec.transforms.reverse import reverse


@dataclass(frozen=True)
class GradientRequest:
    """What is to be differentiated.

    block      the recorded statements
    types      the type of every name
    constants  arrays that are constant
    targets    float names or literals whose weighted sum is differentiated
    sources    for each source the names of its versions
    watched    names that the tape watches
    stopped    copies behind which the tape sees constants
    copies     names that a watch or stop made; other plain copies mean the same object
    distinct   inputs that are told from every other value by identity
    kind       "gradient", "jacobian", or "batch" for the Jacobians of the examples of a batch
    pairs      the names of both parts of each complex source
    """

    block: Block
    types: dict[str, Type]
    constants: frozenset[str]
    targets: tuple[Atom, ...]
    sources: tuple[tuple[str, ...], ...]
    watched: frozenset[str]
    stopped: frozenset[str] = frozenset()
    copies: frozenset[str] = frozenset()
    distinct: frozenset[str] = frozenset()
    kind: str = "gradient"
    pairs: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Packing:
    """How inputs are packed, and which adjoints those are that come with them.

    sources  the names of the sources, in the order of their adjoints
    results  how many adjoints the function returns: in the order of `sources`, one for all of a column
    """

    program: Rerolled
    sources: tuple[str, ...]
    results: int


@dataclass(frozen=True)
class DerivedProgram:
    """A function that returns the targets' values, then adjoints, or Jacobians.

    function  parameters: `inputs`, then a zero for each of `zeros`, then `seeds`
    inputs    names that the stretch reads from outside
    zeros     (parameter, name): a zero of the type and shape of what was cut
    seeds     parameters for the weights of the targets
    adjoints  for each source the positions of its adjoints among the results; None if unconnected
    packing   of a function that loops over inputs: how they are handed over, and its results given (`packed_inputs.py`)
    """

    function: Function
    inputs: tuple[str, ...]
    zeros: tuple[tuple[str, str], ...]
    seeds: tuple[str, ...]
    adjoints: tuple[tuple[int, ...] | None, ...]
    packing: Packing | None = None

    @property
    def first(self) -> int:
        """How many of the results are values of targets."""
        own = {place for places in self.adjoints for place in places or ()}
        return len(self.function.results) - (len(own) if self.packing is None else self.packing.results)

    def is_called_as(self, other: DerivedProgram) -> bool:
        """Whether it takes the same inputs as another one, and gives its results in the same places."""
        mine, others = (
            (one.inputs, one.zeros, len(one.seeds), one.adjoints, one.first) for one in (self, other)
        )
        return mine == others


def derive(
    request: GradientRequest, prepare: Prepare | None = None, again: bool = False, packs: Collection[str] = ()
) -> DerivedProgram:
    """Differentiate; a source that no path of derivatives reaches is unconnected.

    prepare  what rewrites the program before, so that its derivative is faster: its statements, and the names of
             what is no input, are then others than those of the block
    again    whether the derivative is differentiated in turn
    packs    the inputs that may be packed
    """
    types = dict(request.types)
    emitter = Emitter(types, set(types))
    body = list(stopped_body(request, emitter))
    targets = list(request.targets)
    defined = written_in(body)
    wanted = list(dict.fromkeys(version for source in request.sources for version in source))
    watched = set(request.watched)
    cuts: dict[str, str] = {}
    whole = Function("stretch", (), (*body, Return(tuple(targets))), types)
    varied = Activity(whole, aliases(whole), watched, set())
    reached = {
        name
        for name in wanted
        if name in watched or (name in defined and types[name].is_float and varied.varies(name))
    }
    for name in wanted:
        if name in defined and name in reached:
            _check_identity(name, body, request.copies, request.distinct)
            cuts[name] = _cut(name, body, targets, emitter)
    block = (*body, Return(tuple(targets)))
    zeros = tuple((zero, name) for name, zero in cuts.items())
    outside = (*inputs_of(block), *(name for name in wanted if name not in defined and name in types))
    inputs = tuple(name for name in dict.fromkeys(outside) if name not in cuts.values())
    # a function that the block calls twice stands there twice
    function = Function("stretch", (*inputs, *cuts.values()), distinct(block), types, again=again)
    useful = Activity(function, aliases(function), set(), _floats(targets, types))
    connected = {
        name: cuts.get(name, name)
        for name in wanted
        if name in reached and useful.matters(cuts.get(name, name))
    }
    adjoints = tuple(
        tuple(list(connected).index(v) for v in source if v in connected) or None for source in request.sources
    )
    if not connected:
        return DerivedProgram(Function("gradient", (), (Return(()),), types), (), (), (), adjoints)
    constants = request.constants & set(inputs)
    by = tuple(connected.values())
    packing = None
    if packs and request.kind != "batch":
        rolled = rerolled(function, set(inputs).intersection(packs), (frozenset(by),))
        if rolled is not None:
            function, sources = rolled.function, by
            by = tuple(dict.fromkeys(found[0].items if (found := rolled.place(name)) else name for name in sources))
            packing = Packing(rolled, sources, len(by))
    fuse = prepare is not None
    if prepare is not None:
        function = prepare(function, constants)
    if request.kind != "gradient":
        batch = request.kind == "batch"
        independent = batch and _independent(function, by, constants)
        blocks = jacobian(function, by, constants, values=True, batch=batch, independent=independent, fuse=fuse)
        return DerivedProgram(replace(blocks, name="jacobian"), inputs, zeros, (), adjoints, packing)
    swept = reverse(function, by, constants, fuse=fuse)
    made = swept.function("gradient", (*swept.values, *swept.adjoints))
    return DerivedProgram(made, inputs, zeros, swept.seeds, adjoints, packing)


def _independent(function: Function, sources: tuple[str, ...], constants: frozenset[str]) -> bool:
    """Whether the examples of a batch are proved not to depend on one another."""
    function = simple(function, constants)
    # an answer may lead to others
    for _ in range(3):
        function = simple(of_several(function, sources), constants)
    return independent_examples(function, sources)


def tracked(request: GradientRequest) -> frozenset[str]:
    """The names that depend on a watched one."""
    types = dict(request.types)
    body = stopped_body(request, Emitter(types, set(types)))
    whole = Function("stretch", (), (*body, Return(())), types)
    names = {name for stmt in walk(body) for name in (*writes(stmt), *reads(stmt))}
    activity = Activity(whole, aliases(whole), set(request.watched), names)
    return frozenset(name for name in names if name in activity) | request.watched


def connections(request: GradientRequest) -> tuple[bool, ...]:
    """For each source, whether the targets depend on it."""
    types, watched = dict(request.types), set(request.watched)
    body = stopped_body(request, Emitter(types, set(types)))
    whole = Function("stretch", (), (*body, Return(request.targets)), types)
    activity = Activity(whole, aliases(whole), watched, _floats(request.targets, types))

    def recorded(name: str) -> bool:
        return name in watched or (types[name].is_float and activity.varies(name))

    return tuple(any(recorded(name) and activity.matters(name) for name in source) for source in request.sources)


def _floats(targets: Iterable[Atom], types: Mapping[str, Type]) -> set[str]:
    """Those targets that have a derivative."""
    return {target.id for target in targets if isinstance(target, Name) and types[target.id].is_float}


def inputs_of(block: Iterable[Stmt]) -> tuple[str, ...]:
    """The names that a block reads and does not define."""
    block = tuple(block)
    inside = written_in(block)
    return tuple(dict.fromkeys(name for stmt in walk(block) for name in reads(stmt) if name not in inside))


def stopped_body(request: GradientRequest, emitter: Emitter) -> list[Stmt]:
    """The statements, with the tape's own stops in place of the copies that stand for them."""
    out: list[Stmt] = []
    for stmt in request.block:
        if not isinstance(stmt, Assign) or stmt.target not in request.stopped:
            out.append(stmt)
            continue
        child = emitter.child()
        child.span = stmt.span
        type_ = emitter.types[stmt.target]
        if isinstance(type_, Array):
            assert isinstance(stmt.value, Op) and isinstance(stmt.value.args[0], Name)
            owner = stmt.value.args[0].id
            fresh = child.zeros_like("t", owner)
            _copy_stopped(child, fresh, owner)
            child.assign(stmt.target, Name(fresh))
        else:
            child.assign(stmt.target, Op("stop_gradient", (stmt.value,)))
        out += child.out
    return out


def _copy_stopped(out: Emitter, target: str, owner: str) -> None:
    type_ = out.types[target]
    assert isinstance(type_, Array)
    element = type_.element

    def body(inner: Emitter, index: tuple[Atom, ...]) -> None:
        item = inner.let("t", Op("load", (Name(owner), *index)), element)
        held = inner.let("t", Op("stop_gradient", (item,)), element)
        inner.add(Store(target, index, held, False, out.span))

    out.each(target, body)


def originals(block: Block, copies: frozenset[str]) -> dict[str, str]:
    """Names that are plain copies, on a way without branches: the same object under another name."""
    found: dict[str, str] = {}
    for stmt in block:
        if isinstance(stmt, Assign) and isinstance(stmt.value, Name) and stmt.target not in copies:
            found[stmt.target] = found.get(stmt.value.id, stmt.value.id)
        elif isinstance(stmt, For | Loop):
            for name in (name for inner in walk((stmt,)) for name in writes(inner)):
                found.pop(name, None)
    return found


def other_name(name: str, body: Iterable[Stmt], distinct: Collection[str]) -> tuple[str, Span | None] | None:
    """A value that a branch or loop may have left under `name`, and that is used by another name itself.

    distinct  names whose values are known to be others: the inputs that are told from others by identity
    """
    stmts = list(walk(tuple(body)))
    copies: dict[str, list[Stmt]] = {}
    for stmt in stmts:
        for target in writes(stmt):
            copies.setdefault(target, []).append(stmt)

    def first(one: str) -> str:
        while True:
            made = copies.get(one, [])
            only = made[0] if len(made) == 1 else None
            if not isinstance(only, Assign) or not isinstance(only.value, Name):
                return one
            one = only.value.id

    for stmt in copies.get(name, ()):
        if not isinstance(stmt, Assign) or not isinstance(stmt.value, Name):
            continue
        original = first(stmt.value.id)
        if original in distinct or original == name:
            continue
        for other in stmts:
            plain = isinstance(other, Assign) and isinstance(other.value, Name)
            if original in reads(other) and not (plain and first(other.target) in (original, name)):  # type: ignore[union-attr]
                return original, stmt.span
    return None


def _check_identity(name: str, body: list[Stmt], copies: frozenset[str], distinct: frozenset[str]) -> None:
    """A source that a branch or loop may have left as another value, which is used itself, is not known."""
    if name in copies:
        return
    found = other_name(name, body, distinct)
    if found is not None:
        raise LoweringError(
            f"`{name}` may be the same value as `{found[0]}`, depending on a branch or loop",
            found[1],
            hint="give the source a value of its own, for example by adding zero",
        )


def _cut(name: str, body: list[Stmt], targets: list[Atom], emitter: Emitter) -> str:
    """Add a zero behind the definition of `name`; the zero's name."""
    # merge names are set in several places; the last one leaves the value that is the source
    place = max(k for k, stmt in enumerate(body) if _writes_below(stmt, name))
    type_ = emitter.types[name]
    out = emitter.child()
    zero = emitter.fresh(f"{name}_zero", type_)
    if isinstance(type_, Array):
        place = _complete(name, place, body, emitter)
        emitter.types[zero] = Array(type_.dtype, type_.ndim, "C")
        fresh = emitter.fresh(f"{name}_cut", Array(type_.dtype, type_.ndim, "C"))
        out.assign(fresh, Op("copy", (Name(name),)))
        out.add_elements(fresh, zero)
    else:
        assert isinstance(type_, Scalar)
        fresh = emitter.let(f"{name}_cut", Op("+", (Name(name), Name(zero))), type_).id
        out.out, emitter.out = emitter.out, []
    mapping: dict[str, Expr] = {name: Name(fresh)}
    body[place + 1 :] = [*out.out, *replaced(tuple(body[place + 1 :]), mapping)]
    targets[:] = [_atom(target, mapping) for target in targets]
    return zero


def _writes_below(stmt: Stmt, name: str) -> bool:
    return any(name in writes(inner) for inner in walk((stmt,)))


def _complete(name: str, place: int, body: list[Stmt], emitter: Emitter) -> int:
    """The last statement that builds the array `name`; an error if it is overwritten after use."""
    memory = origins(tuple(body), emitter.types)
    own = memory.get(name, frozenset({name}))

    def touches(array: str) -> bool:
        return not own.isdisjoint(memory.get(array, (array,)))

    stored = [
        k for k, stmt in enumerate(body) if any(isinstance(s, Store) and touches(s.array) for s in walk((stmt,)))
    ]
    last = max((place, *stored))
    if not any(k >= place for k in stored):
        # nothing is written any more: what shares the memory is a value of its own
        return last
    built: set[str] = set()
    for stmt in body[place + 1 : last + 1]:
        inside = list(walk((stmt,)))
        if any(isinstance(emitter.types.get(r), Array) and touches(r) for inner in inside for r in reads(inner)):
            built |= {w for inner in inside for w in writes(inner)}
    earlier = {w for stmt in body[:place] for w in writes(stmt)}
    before = {w for w in earlier if isinstance(emitter.types.get(w), Array) and touches(w)}
    later = {r for stmt in body[last + 1 :] for inner in walk((stmt,)) for r in reads(inner)}
    if (built | before) & later - {name}:
        raise LoweringError(
            f"the array `{name}` is overwritten or shares its memory, so that it cannot be a source",
            getattr(body[last], "span", None),
            hint="use a copy",
        )
    return last


def _atom(atom: Atom, mapping: dict[str, Expr]) -> Atom:
    new = substitute(atom, mapping)
    assert isinstance(new, Name | Const)
    return new
