"""Programs under other names."""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Expr,
    For,
    If,
    Loop,
    Name,
    Print,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    substitute,
)


def renamed(block: Block, names: dict[str, str]) -> Block:
    """The block under new names, where there are such."""
    values: dict[str, Expr] = {old: Name(new) for old, new in names.items()}

    def atoms(given: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple(substitute(one, values) for one in given)  # type: ignore[misc]

    def atom(given: Atom) -> Atom:
        return substitute(given, values)  # type: ignore[return-value]

    def new(name: str) -> str:
        return names.get(name, name)

    def one(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign():
                return Assign(new(stmt.target), substitute(stmt.value, values), stmt.span)
            case Store():
                return replace(stmt, array=new(stmt.array), index=atoms(stmt.index), value=atom(stmt.value))
            case If():
                return replace(stmt, test=atom(stmt.test), body=inside(stmt.body), orelse=inside(stmt.orelse))
            case For():
                start, stop, step = atoms((stmt.start, stmt.stop, stmt.step))
                slots = None if stmt.slots is None else atom(stmt.slots)
                body = inside(stmt.body)
                return replace(
                    stmt, var=new(stmt.var), start=start, stop=stop, step=step, body=body, slots=slots
                )
            case Loop():
                return replace(stmt, body=inside(stmt.body))
            case Push():
                return replace(stmt, stack=new(stmt.stack), value=atom(stmt.value))
            case Call():
                return replace(stmt, targets=tuple(map(new, stmt.targets)), args=atoms(stmt.args))
            case Raise() | Print():
                return replace(stmt, args=atoms(stmt.args))
            case Return():
                return replace(stmt, values=atoms(stmt.values))
        return stmt

    def inside(stmts: Block) -> Block:
        return tuple(one(stmt) for stmt in stmts)

    return inside(block)
