"""A function and its generated gradient as lines, each with the place in the source that it belongs to."""

from __future__ import annotations

import types
from dataclasses import dataclass, replace

from tapec.backend import printer
from tapec.backend.fingerprint import trusted
from tapec.backend.program import Program
from tapec.errors import Span
from tapec.frontend.source.function_source import source_of
from tapec.syntax.core import Assign, Block, Name, Note, Op, Push, Stmt, Store, map_blocks, walk, writes


@dataclass(frozen=True)
class ListedLine:
    """One line of text.

    key     file and line of the source that it is, or comes from; empty if there is none
    number  that line's number; 0 if there is none
    sweep   of a generated line: "forward" or "reverse"; else empty
    """

    text: str
    key: str
    number: int
    sweep: str = ""


@dataclass(frozen=True)
class Listing:
    """The lines of one function; `heading` says which."""

    heading: str
    lines: tuple[ListedLine, ...]


def place_key(file: str, line: int) -> str:
    """What links lines of the two sides."""
    return f"{file}:{line}"


def primal_listings(function: types.FunctionType, program: Program) -> list[Listing]:
    """The source of the function and of all that it calls."""
    reached = [function, *(one for one in program.lowered.functions if one is not function)]
    found = []
    for one in reached:
        if trusted(one):
            continue
        source = source_of(one)
        first, last = source.node.lineno, source.node.end_lineno or source.node.lineno
        lines = [
            ListedLine(source.lines[number - 1].rstrip("\n"), place_key(source.file, number), number)
            for number in range(first, last + 1)
        ]
        found.append(Listing(source.name, _dedented(lines)))
    return found


def _dedented(lines: list[ListedLine]) -> tuple[ListedLine, ...]:
    shift = len(lines[0].text) - len(lines[0].text.lstrip())
    return tuple(
        ListedLine(line.text[shift:] if not line.text[:shift].strip() else line.text, line.key, line.number)
        for line in lines
    )


def gradient_listing(program: Program) -> Listing:
    """The generated gradient, without the quotations of the source that an emitted file has."""
    *body, _ = program.core.body
    known = printer.printed(program.core, program.options.whole_arrays)
    whole, quoted = program.source.splitlines(), printer.statements(tuple(body), 1, known=known)
    head = len(whole) - len(quoted) - 1
    texts, origins = printer.traced(_placed(tuple(body)), 1, quote=False, known=known)
    notes = {f"# {stmt.text}" for stmt in body if isinstance(stmt, Note)}
    lines = [ListedLine(text, "", 0) for text in whole[:head] if not text.lstrip().startswith('"""')]
    sweep = "forward"
    for text, origin in zip(texts, origins, strict=True):
        if text.strip() == "# reverse sweep":
            sweep = "reverse"
        line = _generated(text, None if text.strip() in notes or not text.strip() else origin)
        lines.append(replace(line, sweep=sweep))
    # the function's ways out are one here
    lines.append(_generated(whole[-1], None))
    return Listing(program.name, tuple(lines))


def _placed(body: Block) -> Block:
    """A block in which what keeps a value, and what takes it out again, stands at the value's line."""
    made: dict[str, Span | None] = {}
    for stmt in walk(body):
        for name in writes(stmt):
            made[name] = made.get(name) or stmt.span
    kept: dict[str, Span | None] = {}
    for stmt in walk(body):
        match stmt:
            case Store(array=name, value=Name(id=value), span=None) | Push(stack=name, value=Name(id=value), span=None):
                kept[name] = made.get(value)

    def placed(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            match stmt:
                case Store(array=name, span=None) | Push(stack=name, span=None):
                    stmt = replace(stmt, span=kept.get(name))
                case Assign(value=Op(args=(Name(id=name), *_)), span=None) if name in kept:
                    stmt = replace(stmt, span=kept[name])
                case Assign(target=name) if name in kept:
                    stmt = replace(stmt, span=kept[name])
            out.append(map_blocks(stmt, placed))
        return tuple(out)

    return placed(body)


def _generated(text: str, origin: Span | None) -> ListedLine:
    if origin is None:
        return ListedLine(text, "", 0)
    return ListedLine(text, place_key(origin.file, origin.line), origin.line)
