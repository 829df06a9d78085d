"""The lists of a generated function that are used as stacks: where each is made, filled and emptied."""

from __future__ import annotations

from dataclasses import dataclass, field

from tapec.analyses.regions import Region, Regions
from tapec.syntax.core import Assign, Function, Name, Op, Push, reads, walk
from tapec.syntax.types import Scalar, Stack


@dataclass
class NumberList:
    """A list of numbers that a function makes at one place, fills and empties, and uses in no other way."""

    name: str
    made: Assign
    pushes: list[Push] = field(default_factory=list)
    pops: list[Assign] = field(default_factory=list)


def number_lists(function: Function) -> list[NumberList]:
    """All of them; those that are parameters or results, or stand in other lists, are not among them."""
    made: dict[str, list[Assign]] = {
        name: []
        for name, type_ in function.types.items()
        if isinstance(type_, Stack) and isinstance(type_.element, Scalar) and name not in function.params
    }
    pushes: dict[str, list[Push]] = {name: [] for name in made}
    pops: dict[str, list[Assign]] = {name: [] for name in made}
    other: set[str] = set()
    for stmt in walk(function.body):
        match stmt:
            case Assign(target=name, value=Op(fn="stack")) if name in made:
                made[name].append(stmt)
            case Assign(value=Op(fn="pop", args=(Name(id=name),))) if name in made:
                pops[name].append(stmt)
            case Push(stack=name, value=value) if name in made:
                pushes[name].append(stmt)
                other |= {value.id} if isinstance(value, Name) else set()
            case Assign(target=name):
                other |= {name, *reads(stmt)}
            case _:
                other.update(reads(stmt))
    return [
        NumberList(name, places[0], pushes[name], pops[name])
        for name, places in made.items()
        if len(places) == 1 and pushes[name] and name not in other
    ]


def of_one_height(lists: list[NumberList], where: Regions) -> list[tuple[NumberList, ...]]:
    """The lists, together those that the same blocks fill and the same blocks empty: they have one height."""
    together: dict[object, list[NumberList]] = {}
    for one in lists:
        together.setdefault(_blocks(one, where), []).append(one)
    return [tuple(group) for group in together.values()]


def _blocks(one: NumberList, where: Regions) -> object:
    """What lists of one height have in common; the list's own name if it has a height of its own."""
    pushed = [where.of[id(stmt)] for stmt in one.pushes]
    popped = [where.of[id(stmt)] for stmt in one.pops]
    if not _side_by_side(pushed) or not _side_by_side(popped):
        return one.name
    return id(where.of[id(one.made)]), frozenset(map(id, pushed)), frozenset(map(id, popped))


def _side_by_side(blocks: list[Region]) -> bool:
    """Whether no block is another one's part, or comes twice."""
    return not any(one.inside(other) for k, one in enumerate(blocks) for n, other in enumerate(blocks) if k != n)
