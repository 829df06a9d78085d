"""On what else values depend, beside the arguments of the call that computes them."""

from __future__ import annotations

from tapec.analyses.activity import call_operands, differentiable_operands
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Sym
from tapec.syntax.core import Assign, Block, Call, Name, Push, Stmt, Store, changed, reads, walk, writes, written_in


def values_from_outside(ev: Evaluator, region: Block, values: list[Sym], operands: list[Sym]) -> list[str]:
    """The floats on which values depend with a derivative, and which neither a region computes nor operands are."""
    stmts = list(walk(region))
    inside = written_in(region)
    known = {one.atom.id for one in operands if isinstance(one.atom, Name)}
    needed = {one.atom.id for one in values if isinstance(one.atom, Name)}
    memory: frozenset[str] = frozenset().union(*(ev.roots.get(name, frozenset()) for name in needed))
    before = -1
    while before != len(needed):
        before = len(needed)
        for stmt in stmts:
            changes = any(ev.roots_of(name) & memory for name in changed(stmt))
            if not changes and not needed & {*writes(stmt)}:
                continue
            for name in _flowing(stmt):
                if ev.types[name].is_float and name not in needed:
                    needed.add(name)
                    memory |= ev.roots.get(name, frozenset())
    found = needed - inside - known - ev.constants.keys()
    # in the order in which they are read
    return list(dict.fromkeys(name for stmt in stmts for name in reads(stmt) if name in found))


def _flowing(stmt: Stmt) -> list[str]:
    match stmt:
        case Assign(value=value):
            return list(differentiable_operands(value))
        case Store(value=Name(id=name)) | Push(value=Name(id=name)):
            return [name]
        case Call():
            return list(call_operands(stmt))
    return []
