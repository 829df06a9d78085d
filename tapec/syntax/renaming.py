"""Programs under other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
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

# the bases of the compiler's names for temporaries and extents, and what a variable of the user's is called in core
# that has such a name
TEMPORARIES = frozenset({"t", "size"})
USERS_OWN = {base: f"{base}_own" for base in TEMPORARIES}
OF_USERS = {own: base for base, own in USERS_OWN.items()}


def renamed(block: Block, names: dict[str, str]) -> Block:
    """The block under new names, where there are such."""
    return _changed(block, {old: Name(new) for old, new in names.items()}, names)


def replaced(block: Block, values: Mapping[str, Expr]) -> Block:
    """The block with other atoms where names are read, or are arrays that are stored into."""
    return _changed(block, dict(values), {})


def _changed(block: Block, values: dict[str, Expr], targets: dict[str, str]) -> Block:
    """The block with other atoms where names are read, and other names where they are set."""

    def atoms(given: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple(map(atom, given))

    def atom(given: Atom) -> Atom:
        new = substitute(given, values)
        assert isinstance(new, Name | Const)
        return new

    def memory(name: str) -> str:
        new = atom(Name(name))
        assert isinstance(new, Name)
        return new.id

    def target(name: str) -> str:
        return targets.get(name, name)

    def one(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign():
                return Assign(target(stmt.target), substitute(stmt.value, values), stmt.span)
            case Store():
                return replace(stmt, array=memory(stmt.array), index=atoms(stmt.index), value=atom(stmt.value))
            case If():
                return replace(stmt, test=atom(stmt.test), body=inside(stmt.body), orelse=inside(stmt.orelse))
            case For():
                start, stop, step = atoms((stmt.start, stmt.stop, stmt.step))
                slots = None if stmt.slots is None else atom(stmt.slots)
                var, body = target(stmt.var), inside(stmt.body)
                return replace(stmt, var=var, start=start, stop=stop, step=step, body=body, slots=slots)
            case Loop():
                return replace(stmt, body=inside(stmt.body))
            case Push():
                return replace(stmt, stack=memory(stmt.stack), value=atom(stmt.value))
            case Call():
                return replace(stmt, targets=tuple(map(target, stmt.targets)), args=atoms(stmt.args))
            case Raise() | Print():
                return replace(stmt, args=atoms(stmt.args))
            case Return():
                return replace(stmt, values=atoms(stmt.values))
        return stmt

    def inside(stmts: Block) -> Block:
        return tuple(map(one, stmts))

    return inside(block)
