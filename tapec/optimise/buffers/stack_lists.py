"""The lists of a generated function that are used as stacks: where each is made, filled and emptied."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, Call, Function, Name, Op, Push, Stmt, reads, walk, writes
from tapec.syntax.types import Array, Scalar, Stack, Tuples, Type


@dataclass
class NumberList:
    """A list of numbers, or of tuples, that a function makes at one place, fills and empties, and uses for no more."""

    name: str
    made: Assign
    pushes: list[Stmt] = field(default_factory=list)
    pops: list[Stmt] = field(default_factory=list)


def number_lists(function: Function) -> list[NumberList]:
    """All of them; those that are parameters or results, or stand in other lists, are not among them."""
    made: dict[str, list[Assign]] = {
        name: []
        for name, type_ in function.types.items()
        if _holds_numbers(type_) and name not in function.params
    }
    pushes: dict[str, list[Stmt]] = {name: [] for name in made}
    pops: dict[str, list[Stmt]] = {name: [] for name in made}
    other: set[str] = set()
    for stmt in walk(function.body):
        match stmt:
            case Assign(target=name, value=Op(fn="stack" | "tuples")) if name in made:
                made[name].append(stmt)
            case Call(function="list.append", args=(Name(id=name), *values)) if name in made:
                pushes[name].append(stmt)
                other.update(value.id for value in values if isinstance(value, Name))
            case Call(function="list.pop", args=(Name(id=name),)) if name in made:
                pops[name].append(stmt)
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


def _holds_numbers(type_: Type) -> bool:
    """Whether a type is that of a list of numbers, or of tuples of them."""
    return isinstance(type_, Tuples) or (isinstance(type_, Stack) and isinstance(type_.element, Scalar))


@dataclass(frozen=True)
class ArrayList:
    """A list of arrays: where it is begun, and where an iteration makes an array, puts it there and takes it back."""

    stack: str
    begun: Assign
    made: Assign
    put: Push
    taken: Assign


def array_lists(function: Function, where: Scopes) -> list[ArrayList]:
    """Those that are used in no other way, and whose arrays a loop's iteration makes by `empty`, keeps under one name
    and puts on no other list.
    """
    stmts = list(walk(function.body))
    sets = Counter(name for stmt in stmts for name in writes(stmt))
    begun: dict[str, Assign] = {}
    made: dict[str, Assign] = {}
    puts: dict[str, list[Push]] = {}
    takes: dict[str, list[Assign]] = {}
    other: set[str] = set()
    for stmt in stmts:
        match stmt:
            case Assign(target=target, value=Op(fn="stack")):
                begun[target] = stmt
            case Assign(target=target, value=Op(fn="empty")):
                made[target] = stmt
            case Assign(value=Op(fn="pop", args=(Name(id=stack),))):
                takes.setdefault(stack, []).append(stmt)
            case Push(stack=stack, value=value):
                puts.setdefault(stack, []).append(stmt)
                other |= {value.id} if isinstance(value, Name) else set()
            case _:
                other.update(name for name in reads(stmt) if isinstance(function.types.get(name), Stack))
    held = Counter(put.value.id for pushed in puts.values() for put in pushed if isinstance(put.value, Name))
    found: list[ArrayList] = []
    for stack, first in begun.items():
        type_ = function.types[stack]
        pushed, taken = puts.get(stack, []), takes.get(stack, [])
        if len(pushed) != 1 or len(taken) != 1 or sets[stack] != 1 or stack in other:
            continue
        (put,), (take,) = pushed, taken
        if not isinstance(type_, Stack) or not isinstance(type_.element, Array) or not isinstance(put.value, Name):
            continue
        if held[put.value.id] != 1:
            continue
        array = made.get(put.value.id)
        if array is None or sets[put.value.id] != 1 or sets[take.target] != 1:
            continue
        here = where.of[put.key]
        if where.of[array.key] is here and here.loops() and where.of[take.key].loops():
            found.append(ArrayList(stack, first, array, put, take))
    return found


def of_one_height(lists: list[NumberList], where: Scopes) -> list[tuple[NumberList, ...]]:
    """The lists, together those that the same blocks fill and the same blocks empty: they have one height."""
    together: dict[object, list[NumberList]] = {}
    for one in lists:
        together.setdefault(_blocks(one, where), []).append(one)
    return [tuple(group) for group in together.values()]


def _blocks(one: NumberList, where: Scopes) -> object:
    """What lists of one height have in common; the list's own name if it has a height of its own."""
    pushed = [where.of[stmt.key] for stmt in one.pushes]
    popped = [where.of[stmt.key] for stmt in one.pops]
    if not _side_by_side(pushed) or not _side_by_side(popped):
        return one.name
    return where.of[one.made.key].key, frozenset({one.key for one in pushed}), frozenset({one.key for one in popped})


def _side_by_side(blocks: list[Scope]) -> bool:
    """Whether no block is another one's part, or comes twice."""
    return not any(one.inside(other) for k, one in enumerate(blocks) for n, other in enumerate(blocks) if k != n)
