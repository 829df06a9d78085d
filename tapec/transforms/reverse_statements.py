"""Questions about the statements of a reverse sweep, before it is written out."""

from __future__ import annotations

from collections.abc import Iterator

from tapec.errors import Span
from tapec.syntax.core import Assign, Const, Name, Op, Stmt, Store, walk, writes
from tapec.transforms.sweep import RevBlock, RevIf, RevLoop


def at(item: Stmt | RevIf | RevLoop) -> Span | None:
    """The user's line that a reversed statement comes from."""
    return item.primal.span if isinstance(item, RevIf | RevLoop) else item.span


def blocks_of(item: RevIf | RevLoop) -> tuple[RevBlock, ...]:
    """The reversed blocks directly inside a reversed statement."""
    return (item.body, item.orelse) if isinstance(item, RevIf) else (item.body,)


def statements(block: RevBlock) -> Iterator[Stmt]:
    """All core statements of a reversed block."""
    for item in block.items:
        yield from flat(item)


def flat(item: Stmt | RevIf | RevLoop) -> Iterator[Stmt]:
    """All core statements of a reversed statement."""
    if isinstance(item, RevIf | RevLoop):
        for block in blocks_of(item):
            yield from statements(block)
    else:
        yield from walk((item,))


def sets(item: Stmt | RevIf | RevLoop, name: str) -> bool:
    """Whether a reversed statement sets a name."""
    return any(name in writes(stmt) for stmt in flat(item))


def clears(stmt: Stmt) -> bool:
    """Whether a statement sets an adjoint to zero."""
    if not isinstance(stmt, Assign):
        return False
    value = stmt.value
    if isinstance(value, Op) and value.fn.startswith("cast."):
        (value,) = value.args
    return value == Const(0.0)


def adds_element(stmt: Stmt, array: str) -> bool:
    """Whether a statement adds to an element of an array, and uses it for nothing else."""
    return isinstance(stmt, Store) and stmt.accumulate and stmt.array == array


def asks_extent(stmt: Stmt) -> bool:
    """Whether a statement reads an extent, and no element."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "dim"


def adds_to(stmt: Stmt, name: str) -> bool:
    """Whether a statement does nothing with a number but add to it."""
    match stmt:
        case Assign(target=target, value=Op(fn="+", args=(Name(id=first), second))):
            return target == name == first and second != Name(name)
    return False
