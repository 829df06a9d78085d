"""A tape that is entered again: its blocks become one program.

The inputs of the later block that the earlier one left behind are the earlier one's names; what
happened between the two is in neither.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tapec.errors import LoweringError
from tapec.syntax.core import Assign, Name, Op, Stmt
from tapec.syntax.renaming import renamed
from tapec.syntax.types import Array, Type
from tapec.tape.answers.gradients import request_of
from tapec.tape.answers.object_names import ObjectNames
from tapec.tape.block.watched_copies import latest
from tapec.tape.derivatives.block_derivative import tracked
from tapec.tape.derivatives.branch_connectivity import depends_on_the_way
from tapec.tape.objects.snapshots import PARTS
from tapec.tape.plan.tape_plan import TapePlan
from tapec_runtime.variables import Variable


def joined(
    first: TapePlan, names: ObjectNames, second: TapePlan, objects: tuple[Any, ...]
) -> tuple[TapePlan, dict[str, str]]:
    """The program of both blocks, and the second one's names in it."""
    taken = set(first.types) | set(second.types)
    mapping: dict[str, str] = {}
    if not second.region.was_reset:
        for leaf, obj in zip(second.leaves, objects, strict=True):
            meant = names.of.get(id(obj))
            atom = meant[PARTS.index(leaf.part)] if isinstance(meant, tuple) and leaf.part else meant
            if isinstance(obj, Variable) or not isinstance(atom, Name):
                continue
            if id(obj) in names.doubtful:
                raise LoweringError(
                    f"the number {obj!r} stands for several values in the tape's blocks",
                    hint="make it with tapec.constant",
                )
            known = latest(first.copies, atom.id)
            if first.types[known] != second.types[leaf.name]:
                raise LoweringError(
                    f"`{leaf.name}` is another kind of array in the block that the tape is entered for again",
                    hint="copy it inside the first block",
                )
            mapping[leaf.name] = known
    inputs = set(mapping)
    copies, boundary, kinds = _watched_late(first, second, mapping, taken)
    for name in second.types:
        if name not in mapping:
            mapping[name] = _free(name, first.types, taken)
    old, new = first.region, second.region
    seen = new.as_watched(tuple(mapping[name] for name in new.watched))
    # what the earlier block recorded on one way through it only, the program of both knows itself
    for name in new.inherited & inputs:
        seen.watched.pop(mapping[name], None)
    seen.stopped = {*old.stopped, *(mapping[name] for name in new.stopped)}
    if not new.was_reset:
        seen.watched = {**old.watched, **seen.watched}
    versions = [*first.versions, *(tuple(mapping[v] for v in names) for names in second.versions)]
    return (
        replace(
            second,
            leaves=(*first.leaves, *(replace(one, name=mapping[one.name]) for one in second.leaves
                                     if one.name not in inputs)),
            block=(*first.block, *boundary, *renamed(second.block, mapping)),
            types={**first.types, **kinds, **{mapping[name]: type_ for name, type_ in second.types.items()}},
            constants={**first.constants, **{mapping[name]: one for name, one in second.constants.items()}},
            copies={**first.copies, **copies, **{mapping[one]: mapping[other] for one, other in second.copies.items()}},
            callees=(*first.callees, *second.callees),
            versions=tuple(versions),
            region=seen,
            written=first.written | {mapping[name] for name in second.written if name in mapping},
            recomputed={
                **first.recomputed,
                **{
                    mapping[name]: found and tuple(mapping[copy] for copy in found)
                    for name, found in second.recomputed.items()
                    if name in mapping
                },
            },
            compiled={},
            branching={},
            ways={},
            parts={},
            calls={},
        ),
        mapping,
    )


def _watched_late(
    first: TapePlan, second: TapePlan, mapping: dict[str, str], taken: set[str]
) -> tuple[dict[str, str], list[Stmt], dict[str, Type]]:
    """Copies for what the later block watches and the earlier one did not: its use there is not recorded."""
    copies: dict[str, str] = {}
    boundary: list[Stmt] = []
    kinds: dict[str, Type] = {}
    known = tracked(request_of(first, (), ()))
    for name in second.region.watched:
        original = mapping.get(name)
        if original is None:
            continue
        if original in known:
            if name not in second.region.inherited and original not in first.region.watched:
                _check_recorded(first, original)
            continue
        made, type_ = _free(original, first.types, taken), first.types[original]
        array = isinstance(type_, Array)
        boundary.append(Assign(made, Op("copy", (Name(original),)) if array else Name(original)))
        kinds[made] = Array(type_.dtype, type_.ndim, "C") if isinstance(type_, Array) else type_
        copies[made] = original
        mapping[name] = made
    return copies, boundary, kinds


def _check_recorded(first: TapePlan, name: str) -> None:
    """What the later block watches, the earlier one has recorded on every way through it."""
    if depends_on_the_way(request_of(first, (name,), (tuple(first.region.watched),))):
        raise LoweringError(
            "a watch of a value that a branch of an earlier block has or has not computed from watched ones",
            hint="watch it before the branch, or what it is computed from",
        )


def _free(name: str, types: Any, taken: set[str]) -> str:
    new, count = name, 0
    while new in types or (count and new in taken):
        count += 1
        new = f"{name}_again_{count}"
    taken.add(new)
    return new
