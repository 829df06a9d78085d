"""One object under several names: what variables hold where ways met.

A branch or loop gives a variable a name of its own in the program, though it holds an object that has one already.

    with GradientTape() as tape:
        tape.watch(x)
        a, b = x * x, x**3
    r = a if x > 1.0 else b        # r is a or b: nothing is computed behind the block
    tape.gradient(r, x)

`joined_behind` gives the block together with the branches behind it that choose its targets.  Other names must be told
apart: what is asked of a tape is noted as a `Claim`, which `check_claims` examines when the whole program is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tapec.errors import LoweringError, Span
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.unfinished_blocks import OpenIf, OpenLoop, freeze
from tapec.frontend.evaluator.values import Sym
from tapec.syntax.core import Assign, Atom, Block, Expr, For, If, Loop, Name, Op, Stmt, reads, walk, writes, written_in
from tapec.tape.block.watched_copies import original
from tapec.tape.derivatives.block_derivative import GradientRequest, inputs_of

if TYPE_CHECKING:
    from tapec.tape.block.tape_region import TapeRegion


# branches behind a block


def joined_behind(
    region: TapeRegion, ev: Evaluator, block: Block, targets: list[Sym], node: Any
) -> tuple[Block, tuple[Atom, ...]]:
    """The block, with what chooses among its values behind it, and what the targets are called there."""
    atoms = tuple(target.atom for target in targets)
    behind = freeze(region.behind())
    chosen = _Chosen(ev, behind, node)
    asked = tuple(chosen.inside(atom) for atom in atoms)
    if asked == atoms:
        return block, atoms
    kept = chosen.block(behind)
    own = written_in(block) | region.watched.keys()
    if any(name in own for stmt in walk(kept) for name in reads(stmt)):
        return (*block, *kept), asked
    return block, atoms


class _Chosen:
    """What sets the targets behind a block, and nothing but that; the names that it sets are new ones.

    values  behind the block, what each name is set to
    names   the new names, by those that stand for the same value in the program
    """

    def __init__(self, ev: Evaluator, behind: Block, node: Any) -> None:
        self.ev, self.node = ev, node
        self.names: dict[str, str] = {}
        self.values: dict[str, list[Expr]] = {}
        self.nested: set[str] = set()
        for stmt in walk(behind):
            if isinstance(stmt, Assign):
                self.values.setdefault(stmt.target, []).append(stmt.value)
            if isinstance(stmt, If):
                self.nested |= written_in((*stmt.body, *stmt.orelse))

    def inside(self, atom: Atom) -> Atom:
        """What stands for a value of the program in the block."""
        if not isinstance(atom, Name) or atom.id not in self.values:
            return atom
        if atom.id not in self.names:
            self.names[atom.id] = self.ev.define(atom.id, self.ev.types[atom.id])
        return Name(self.names[atom.id])

    def block(self, block: Block, depth: int = 0) -> Block:
        out: list[Stmt] = []
        for stmt in reversed(block):
            set_here = self.names.keys() & written_in((stmt,))
            if not set_here:
                continue
            if isinstance(stmt, Assign):
                out.append(Assign(self.names[stmt.target], self._value(stmt, depth), stmt.span))
            elif isinstance(stmt, If) and not (depth and isinstance(stmt.test, Name) and stmt.test.id in self.nested):
                orelse, body = self.block(stmt.orelse, depth + 1), self.block(stmt.body, depth + 1)
                out.append(If(stmt.test, body, orelse, stmt.span))
            else:
                self._refuse()
        return tuple(reversed(out))

    def _value(self, stmt: Assign, depth: int) -> Atom:
        value = stmt.value
        made = self.values.get(value.id, []) if isinstance(value, Name) else [value]
        computed = [one for one in made if isinstance(one, Op)]
        if any(_one_of(one) or (depth and one.fn.startswith("cast.")) for one in computed):
            # one of the values itself; the same object or a new one, as its class decides
            self._refuse()
        if not computed and not isinstance(value, Op):
            return self.inside(value)
        if depth > 1:
            self._refuse()
        # computed behind the block: for the tape it is what it is
        return Name(stmt.target)

    def _refuse(self) -> None:
        self.ev.fail(
            LoweringError,
            "a target that a branch or loop behind the tape's block has chosen",
            self.node,
            hint="ask for the gradient in the branch or loop",
        )


# names that must be different objects


@dataclass(frozen=True)
class Claim:
    """That none of `names` is an object which the block of a tape knows under another name, in `known`.

    place  the list of statements where the tape was asked
    """

    names: frozenset[str]
    known: frozenset[str]
    place: list[Any]
    span: Span | None


def claims_of(
    region: TapeRegion, ev: Evaluator, request: GradientRequest, groups: Iterable[list[str]], node: Any
) -> list[Claim]:
    """What a question to a tape takes for granted.

    groups  the names of the versions of each variable
    """
    inside = written_in(request.block)
    read = set(inputs_of(request.block))
    targets = {atom.id for atom in request.targets if isinstance(atom, Name)} - inside
    # what was not chosen is known by the names that the block gives it
    chosen = {stmt.target for stmt in walk(request.block) if isinstance(stmt, Assign) and _one_of(stmt.value)}
    # what a branch behind the block sets, and the choice of a target reads, may be one of the block's values
    told = (inside | read) - chosen - written_in(freeze(region.behind()))
    asked = [(set(names), targets | (read if set(names) <= told else read | inside)) for names in request.sources]
    asked += [({name}, read) for name in region.watched]
    asked += [({name}, read | inside | region.watched.keys()) for name in targets]
    versions = {name: set(group) for group in groups for name in group}
    out: list[Claim] = []
    for names, known in asked:
        own = {original(ev.copies, one) for name in names for one in versions.get(name, {name})}
        others = {name for name in known if ev.types[name].is_float and original(ev.copies, name) not in own}
        if others:
            out.append(Claim(frozenset(names), frozenset(others), ev.block, ev.where(node)))
    return out


def check_claims(claims: Iterable[Claim], root: list[Any]) -> None:
    """Raise LoweringError where a branch or loop may have left one object under two names of a claim."""
    claims = tuple(claims)
    if not claims:
        return
    written = {id(block) for block in _open_blocks(root)}
    meetings = Meetings(freeze(root))
    for claim in claims:
        # what was written on trial is not part of the program
        if id(claim.place) not in written:
            continue
        for name in sorted(claim.names):
            other = next((one for one in sorted(claim.known) if one != name and meetings.may_be(name, one)), None)
            if other is not None:
                raise LoweringError(
                    f"`{name}` may be the same value as `{other}`, depending on a branch or loop",
                    claim.span,
                    hint="give it a value of its own, for example by adding zero",
                )


def _open_blocks(block: list[Any]) -> Iterator[list[Any]]:
    yield block
    for item in block:
        inner = [item] if isinstance(item, list) else []
        if isinstance(item, OpenIf):
            inner = [item.body, item.orelse]
        elif isinstance(item, OpenLoop):
            inner = [item.body]
        for one in inner:
            yield from _open_blocks(one)


class Meetings:
    """Which names of a program may hold one object at the same time."""

    def __init__(self, block: Block) -> None:
        # by name: where it is first set; the blocks that set it by a copy, with what is copied
        self.places: dict[str, int] = {}
        self.copies: dict[str, dict[int, Atom]] = {}
        self.known: dict[tuple[str, str], bool] = {}
        self._note(block)

    def _note(self, block: Block) -> None:
        for stmt in block:
            for name in writes(stmt):
                self.places.setdefault(name, len(self.places))
            if isinstance(stmt, Assign):
                value = stmt.value
                if isinstance(value, Op) and value.fn.startswith("cast."):
                    value = value.args[0]
                if not isinstance(value, Op):
                    self.copies.setdefault(stmt.target, {})[id(block)] = value
                for k, one in enumerate(_one_of(value)):
                    self.copies.setdefault(stmt.target, {})[-1 - k] = one
            for inner in _blocks_of(stmt):
                self._note(inner)

    def may_be(self, first: str, second: str) -> bool:
        if first == second:
            return True
        # what is set later is a copy of what was there before, or new
        if self.places.get(first, -1) < self.places.get(second, -1):
            first, second = second, first
        key = first, second
        if key not in self.known:
            self.known[key] = False
            own, other = self.copies.get(first, {}), self.copies.get(second, {})
            self.known[key] = any(
                isinstance(value, Name) and isinstance(beside := other.get(place, Name(second)), Name)
                and self.may_be(value.id, beside.id)
                for place, value in own.items()
            )
        return self.known[key]


def _one_of(value: Expr) -> tuple[Atom, ...]:
    """The values of which Python's `min` and `max` give one."""
    if not isinstance(value, Op) or value.fn not in ("min", "max"):
        return ()
    return tuple(arg for arg in value.args if not isinstance(arg, Op))


def _blocks_of(stmt: Stmt) -> tuple[Block, ...]:
    match stmt:
        case If(body=body, orelse=orelse):
            return body, orelse
        case For(body=body) | Loop(body=body):
            return (body,)
    return ()
