"""Write one run of a function in the middle of another one."""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Atom, Block, For, Function, If, Loop, Name, Print, Raise, Stmt
from tapec.transforms.emitter import Emitter
from tapec.transforms.ssa import Binding, to_ssa


def spliced(
    out: Emitter, function: Function, bound: dict[str, Atom], constants: frozenset[str], prints: bool = False
) -> tuple[Atom, ...]:
    """Write one run of `function` with some parameters bound to atoms; what it returns.

    Its other parameters stand for the names in `out` that are called the same.
    """
    given = tuple(param for param in function.params if param not in bound)
    whole = Function(function.name, given, function.body, function.types)
    atoms = {atom.id: out.types[atom.id] for atom in bound.values() if isinstance(atom, Name)}
    single = to_ssa(whole, constants, frozenset(out.types), Binding(bound, atoms))
    out.types.update(single.types)
    out.taken |= set(single.types)
    out.extend(single.body[:-1] if prints else quiet(single.body[:-1]))
    return single.results


def quiet(block: Block) -> Block:
    """The statements of a block that runs once more: it has printed what it prints, and did not raise."""
    out: list[Stmt] = []
    for stmt in block:
        match stmt:
            case Print() | If(body=(*_, Raise()), orelse=()):
                pass
            case If(body=body, orelse=orelse):
                body, orelse = quiet(body), quiet(orelse)
                if body or orelse:
                    out.append(If(stmt.test, body, orelse, stmt.span))
            case For(body=body):
                out.append(replace(stmt, body=quiet(body)))
            case Loop(body=body):
                out.append(Loop(quiet(body), stmt.span))
            case _:
                out.append(stmt)
    return tuple(out)
