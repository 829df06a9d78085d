"""The plan of how primal values reach the reverse sweep."""

from __future__ import annotations

from dataclasses import dataclass, field

from tapec.analyses.scopes import Scope
from tapec.syntax.core import Assign, Expr, Stmt
from tapec.transforms.carried_shadows import CarriedShadow
from tapec.transforms.iteration_counters import Counting


@dataclass
class Slot:
    """Where a stored value is kept: a buffer with one axis per loop that changes the value, or a stack.

    around   the loops, if any, of which each iteration makes a buffer of its own, that goes on a stack
    late     whether a stack is filled at the end of the block that has the value: what calls in the block put on it
             comes before, see recursive_residuals.py
    """

    name: str
    loops: tuple[Scope, ...]
    dense: bool
    extents: tuple[Expr, ...] = ()
    around: tuple[Scope, ...] = ()
    late: bool = False


@dataclass(frozen=True)
class Snapshot:
    """A copy of an array before a nest of loops; the reverse sweep loads the nest's elements from it.

    statements   make the copy; the first of them says how the reverse sweep has it again
    slot         the buffer whose rows are copies, if it has one
    """

    name: str
    array: str
    statements: tuple[Stmt, ...]
    slot: Slot | None = None


@dataclass
class StoragePlan:
    """The decisions, per region.

    replayed    loop bodies (by id) that are run again in the reverse sweep
    stored      slots by value name; `starts` are values that a loop's iteration begins with
    recomputed  names recomputed at the start of a reversed region
    fused       loop bodies (by id) whose iterations are reversed as soon as they have run
    rotated     names that a loop's iteration permutes, in cycles that the reversed iteration turns back
    handed      shadows that a loop's iterations hand on
    counting    names to which each iteration of a loop adds the same
    snapshots   copies of arrays that are made before a loop, by the loop's id
    reloaded    loads from those copies, or from what else holds a value, by the name that they give
    elements    the arrays whose elements hold values that are loaded from there
    """

    replayed: set[int] = field(default_factory=set)
    fused: frozenset[int] = frozenset()
    stored: dict[str, Slot] = field(default_factory=dict)
    starts: dict[int, dict[str, Slot]] = field(default_factory=dict)
    recomputed: dict[int, list[str]] = field(default_factory=dict)
    buffers: dict[int, list[tuple[Slot, str]]] = field(default_factory=dict)
    counters: dict[int, str] = field(default_factory=dict)
    rotated: dict[int, list[tuple[str, ...]]] = field(default_factory=dict)
    handed: dict[int, list[CarriedShadow]] = field(default_factory=dict)
    counting: dict[int, list[Counting]] = field(default_factory=dict)
    snapshots: dict[int | None, list[Snapshot]] = field(default_factory=dict)
    reloaded: dict[str, Assign] = field(default_factory=dict)
    elements: dict[str, str] = field(default_factory=dict)
