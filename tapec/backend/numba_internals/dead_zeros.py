"""Drop the zeros that a function's variables hold at its start, where nobody reads them.

Numba fills the place of each variable with zeros in the first block.  LLVM, which turns places into values, then has
to tell those zeros from the value that is set later wherever ways meet: a variable that is set once has one value
without them.  In long functions that took more than half of LLVM's time.

A place is read by a load, of all or of a field, and by whatever else gets hold of its address.  Zeros of a field are
dropped if on every way from the start to such a read the field has been stored to before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from llvmlite import ir as ll
from llvmlite.ir import instructions as kinds

_INDEX = ll.IntType(32)


@dataclass(frozen=True)
class _Place:
    """Memory of a variable: its fields are bits of sets, the first one at `first`."""

    memory: Any
    zeros: Any
    first: int
    count: int

    @property
    def all(self) -> int:
        return ((1 << self.count) - 1) << self.first


@dataclass
class _Step:
    """What an instruction does: fields that it reads, or sets."""

    reads: int = 0
    sets: int = 0


# an address within a place: the place, the fields that it stands for, and whether for all of them
_Address = tuple[_Place, int, bool]


def drop_zeros(function: Any) -> None:
    """Drop what `function`, of llvmlite, stores at its start in vain."""
    entry = function.blocks[0]
    places = _places(entry)
    following = {id(block): _targets(block) for block in function.blocks}
    if not places or any(blocks is None for blocks in following.values()):
        return
    zeros = {id(place.zeros) for place in places}
    known = _addresses(function, places)
    steps = {id(block): list(_steps(block, known, zeros)) for block in function.blocks}
    everything = sum(place.all for place in places)
    before = {id(block): everything for block in function.blocks}
    before[id(entry)] = 0
    waiting = [entry]
    seen = {id(entry)}
    while waiting:
        block = waiting.pop()
        after = before[id(block)]
        for step in steps[id(block)]:
            after |= step.sets
        for target in following[id(block)] or ():
            met = before[id(target)] & after
            if met != before[id(target)] or id(target) not in seen:
                before[id(target)] = met
                seen.add(id(target))
                waiting.append(target)
    needed = 0
    for key in seen:
        present = before[key]
        for step in steps[key]:
            needed |= step.reads & ~present
            present |= step.sets
    _without(entry, places, needed)


def _places(entry: Any) -> list[_Place]:
    """The variables that the first block fills with zeros as soon as they are there."""
    found: list[_Place] = []
    first = 0
    for memory, store in pairwise(entry.instructions):
        if not isinstance(memory, kinds.AllocaInstr) or memory.operands or not isinstance(store, kinds.StoreInstr):
            continue
        value, address = store.operands
        if address is memory and isinstance(value, ll.Constant) and value.constant in (None, 0):
            count = len(value.type.elements) if isinstance(value.type, ll.LiteralStructType) else 1
            found.append(_Place(memory, store, first, count))
            first += count
    return found


def _addresses(function: Any, places: list[_Place]) -> dict[int, _Address]:
    """The addresses within places, by the identity of what computes them."""
    known = {id(place.memory): (place, place.all, True) for place in places}
    computed = [one for block in function.blocks for one in block.instructions if isinstance(one, kinds.GEPInstr)]
    while new := [one for one in computed if id(one.operands[0]) in known and id(one) not in known]:
        known.update({id(one): _field(one, known[id(one.operands[0])]) for one in new})
    return known


def _targets(block: Any) -> list[Any] | None:
    """The blocks that may follow a block; None if it ends in a way that is not known here."""
    match block.terminator:
        case kinds.Branch() | kinds.ConditionalBranch() as branch:
            return [target for target in branch.operands if isinstance(target, ll.Block)]
        case kinds.SwitchInstr() as switch:
            return [switch.default, *(target for _, target in switch.cases)]
        case kinds.Ret() | kinds.Unreachable():
            return []
    return None


def _steps(block: Any, known: dict[int, _Address], zeros: set[int]) -> Iterator[_Step]:
    """What the instructions of a block do with the addresses that are known."""
    for one in block.instructions:
        if id(one) in known or id(one) in zeros:
            continue
        if isinstance(one, kinds.LoadInstr):
            found = known.get(id(one.operands[0]))
            if found:
                yield _Step(reads=found[1])
            continue
        read = [value for value, _ in one.incomings] if isinstance(one, kinds.PhiInstr) else one.operands
        if isinstance(one, kinds.StoreInstr):
            read, address = read[:1], known.get(id(read[1]))
            if address and address[2]:
                yield _Step(sets=address[1])
        for value in read:
            # whoever gets hold of an address may read all that is there
            found = known.get(id(value))
            if found:
                yield _Step(reads=found[0].all)


def _field(address: Any, of: _Address) -> _Address:
    """What an address that is computed from another one stands for."""
    place, fields, whole = of
    _, *path = address.operands
    # fields of a structure are asked for by constants
    numbers: list[Any] = [getattr(step, "constant", None) for step in path]
    if whole and fields == place.all and place.count > 1 and len(numbers) > 1 and numbers[0] == 0:
        return place, 1 << (place.first + numbers[1]), len(numbers) == 2
    return place, fields, False


def _without(entry: Any, places: Iterable[_Place], needed: int) -> None:
    """Keep of the zeros those of fields that are needed."""
    builder = ll.IRBuilder(entry)
    dropped: set[int] = set()
    for place in places:
        if needed & place.all == place.all:
            continue
        dropped.add(id(place.zeros))
        builder.position_before(place.zeros)
        for field in range(place.count):
            if needed >> (place.first + field) & 1:
                address = builder.gep(place.memory, [_INDEX(0), _INDEX(field)], inbounds=True)
                builder.store(address.type.pointee(None), address)
    entry.instructions[:] = [one for one in entry.instructions if id(one) not in dropped]
