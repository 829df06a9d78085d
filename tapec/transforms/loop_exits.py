"""Count iterations and number the exits of loops that may be left by `break`.

The reverse sweep must know how many iterations ran and where the last one ended.  `iterations` counts
iterations that began; `exit` is 0 for a loop that ran to its end, else the number of the `break`.
A loop that does nothing but test before it leaves, as a `while` does, has whole iterations alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Const,
    For,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import INT64
from tapec.transforms.emitter import Emitter


@dataclass
class LoopExits:
    """Bookkeeping of one loop, keyed by its counter's name.

    headed  whether nothing but a test precedes the only exit: `iterations` counts whole iterations then
    """

    iterations: str
    exit: str | None
    headed: bool = False
    numbers: dict[int, int] = field(default_factory=dict)


@dataclass
class Exits:
    """`of[loop.key]` for every loop with a break; `number[break.key]` of each break."""

    of: dict[int | None, LoopExits] = field(default_factory=dict)
    number: dict[int, int] = field(default_factory=dict)


def instrument(block: Block, emitter: Emitter, results: tuple[Atom, ...]) -> tuple[Block, Exits]:
    """Add the counters; `results` are read after the block."""
    exits = Exits()
    uses = Counter(name for stmt in walk(block) for name in reads(stmt))
    uses.update(result.id for result in results if isinstance(result, Name))
    return _block(block, emitter, exits, None, uses), exits


def _headed(stmt: For | Loop, uses: Counter[str]) -> bool:
    """Whether a loop is a `while`: its values before the test are used by its iterations alone."""
    *before, last = stmt.body
    if isinstance(stmt, For) or not isinstance(last, If) or count_breaks(stmt.body) != 1:
        return False
    if not any(len(side) == 1 and isinstance(side[0], Break) for side in (last.body, last.orelse)):
        return False
    if not all(isinstance(one, Assign) for one in before):
        return False
    if any(isinstance(one, Assign) and isinstance(one.value, Op) and one.value.fn == "pop" for one in before):
        return False
    inside = Counter(name for one in walk(stmt.body) for name in reads(one))
    return all(uses[name] == inside[name] for one in before for name in writes(one))


def count_breaks(block: Block) -> int:
    """The breaks that leave the loop whose body this is."""
    total = 0
    for stmt in block:
        if isinstance(stmt, Break):
            total += 1
        elif isinstance(stmt, If):
            total += count_breaks(stmt.body) + count_breaks(stmt.orelse)
    return total


def _block(
    block: Block, emitter: Emitter, exits: Exits, loop: LoopExits | None, uses: Counter[str]
) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        span = getattr(stmt, "span", None)
        match stmt:
            case If(test=test, body=body, orelse=orelse):
                first, second = (_block(side, emitter, exits, loop, uses) for side in (body, orelse))
                out.append(If(test, first, second, span))
            case For(slots=slots) if slots is not None:
                # its iterations are reversed by themselves
                out.append(stmt)
            case For(body=body) | Loop(body=body) if (breaks := count_breaks(body)) > 0:
                own = LoopExits(emitter.fresh("iterations", INT64), None, _headed(stmt, uses))
                if breaks > 1 or isinstance(stmt, For):
                    own.exit = emitter.fresh("exit", INT64)
                    out.append(Assign(own.exit, Const(0), span))
                out.append(Assign(own.iterations, Const(0), span))
                count = Assign(own.iterations, Op("+", (Name(own.iterations), Const(1))), span)
                loop_stmt = _with_body(stmt, (count, *_block(body, emitter, exits, own, uses)))
                exits.of[loop_stmt.key] = own
                out.append(loop_stmt)
            case For(body=body) | Loop(body=body):
                out.append(_with_body(stmt, _block(body, emitter, exits, None, uses)))
            case Break():
                assert loop is not None
                number = len(loop.numbers) + 1
                if loop.exit is not None:
                    out.append(Assign(loop.exit, Const(number), span))
                loop.numbers[stmt.key] = number
                exits.number[stmt.key] = number
                out.append(stmt)
            case _:
                out.append(stmt)
    return tuple(out)


def _with_body(stmt: For | Loop, body: Block) -> For | Loop:
    return replace(stmt, body=body)


def leads_to(block: Block, exits: Exits) -> set[int]:
    """The numbers of the breaks in a block."""
    found: set[int] = set()
    for stmt in block:
        if isinstance(stmt, Break):
            found.add(exits.number[stmt.key])
        elif isinstance(stmt, If):
            found |= leads_to(stmt.body, exits) | leads_to(stmt.orelse, exits)
    return found
