"""Take a matrix apart once for all systems that are solved with it.

                                          a_factors = tapec_runtime.factorised(a)
    x = np.linalg.solve(a, b)       ->    x = tapec_runtime.solved(a_factors, b)
    t = a.T
    y = np.linalg.solve(t, x)             y = tapec_runtime.solved_transposed(a_factors, x)

The adjoint of a solution is a solution, too, of the matrix in transpose: the reverse sweep finds its factors there.  In
a loop that does not change the matrix they are what `value_hoisting` takes out.  A matrix that `np.linalg.cholesky` has
returned is triangular, so that nothing need be eliminated.

Factors hold for as long as nothing may have written into the matrix.  Expects one name per value, as
`number_values` leaves it.
"""

from __future__ import annotations

import functools
from dataclasses import replace

from tapec.analyses.facts import facts
from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    changed,
    map_blocks,
    walk,
    written_in,
)
from tapec.syntax.types import Array

_SOLVE, _CHOLESKY = "np.linalg.solve", "np.linalg.cholesky"


def reuse_factorisations(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with systems that are solved from factors; see the module."""
    if not any(isinstance(stmt, Assign) and _calls(stmt, _SOLVE) for stmt in walk(function.body)):
        return function
    worker = _Factors(function)
    body = worker.block(function.body, {})
    return replace(function, body=body, types=worker.fresh.types)


def _calls(stmt: Stmt, name: str) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == name


# the factors of a matrix; those of a triangular one are only made when somebody asks for them
Known = dict[str, str | None]


class _Factors:
    def __init__(self, function: Function) -> None:
        found = facts(function)
        self.defs = found.scopes.defs
        self.aliases = found.aliases
        self.fresh = Fresh(function.types)

    def block(self, block: Block, known: Known) -> Block:
        """A block that begins where some factors are known."""
        known = dict(known)
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Assign) and _calls(stmt, _SOLVE):
                self.solve(stmt, known, out)
            elif isinstance(stmt, For | Loop):
                # an iteration may come behind another one that has changed the matrix
                out.append(map_blocks(stmt, functools.partial(self.block, known=self.holding(known, stmt))))
            elif isinstance(stmt, If):
                out.append(map_blocks(stmt, functools.partial(self.block, known=known)))
            else:
                out.append(stmt)
            known = self.holding(known, stmt)
            if isinstance(stmt, Assign) and _calls(stmt, _CHOLESKY):
                known[stmt.target] = None
        return tuple(out)

    def holding(self, known: Known, stmt: Stmt) -> Known:
        """What is still known behind a statement."""
        if not known:
            return known
        set_anew = written_in((stmt,))
        touched = {self.aliases.find(name) for one in walk((stmt,)) for name in changed(one)}
        return {
            matrix: factors
            for matrix, factors in known.items()
            if matrix not in set_anew and self.aliases.find(matrix) not in touched
        }

    def solve(self, stmt: Assign, known: Known, out: list[Stmt]) -> None:
        """A system, solved from the factors of its matrix, which are made first if they are not known."""
        assert isinstance(stmt.value, Op)
        given, side = stmt.value.args
        if not isinstance(given, Name):
            out.append(stmt)
            return
        matrix, turned = self.origin(given.id)
        factors = known.get(matrix)
        if factors is None:
            type_ = self.fresh.types[matrix]
            assert isinstance(type_, Array)
            factors = self.fresh(f"{matrix}_factors", replace(type_, layout="C"))
            made = "factorised_lower" if matrix in known else "factorised"
            out.append(Assign(factors, Op(f"tapec_runtime.{made}", (Name(matrix),)), stmt.span))
            known[matrix] = factors
        else:
            why = "the factors of its matrix are known from a system before"
            remark(
                stmt.span,
                "factorisation_reuse",
                "`{0}` is solved without another factorisation",
                why,
                Named(stmt.target, stmt.span),
            )
        solved = "solved_transposed" if turned else "solved"
        out.append(replace(stmt, value=Op(f"tapec_runtime.{solved}", (Name(factors), side))))

    def origin(self, matrix: str) -> tuple[str, bool]:
        """The matrix that another one is the transpose of, and whether it is."""
        match self.only(matrix):
            case Op(fn="transpose", args=(Name(id=owner),)) if len(self.defs.get(owner, ())) <= 1:
                found, turned = self.origin(owner)
                return found, not turned
        return matrix, False

    def only(self, name: str) -> object:
        """What a name is set to, at one place."""
        made = self.defs.get(name, ())
        return made[0].value if len(made) == 1 and isinstance(made[0], Assign) else None
