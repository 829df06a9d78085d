"""Read an element once where nothing changes it, also across loops.

    p = a[k, k]                               p = a[k, k]
    for i in range(k + 1, n):                 for i in range(k + 1, n):
        q = a[i, k] / a[k, k]                     q = a[i, k] / p
        a[i, k] = q                    ->         a[i, k] = q
        for j in range(k + 1, n):                 for j in range(k + 1, n):
            a[i, j] -= a[i, k] * b[j]                 a[i, j] -= q * b[j]

Bounds of loops tell that no store reaches the element: `i` is above `k`, and so is `j`.  `number_values` does the same
where no store to the array stands between.  Expects one name per value.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.name_origins import Vocabulary
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Expr,
    For,
    Function,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    blocks,
    map_blocks,
    reads,
    walk,
)
from tapec.syntax.types import FLOAT64, Array, Scalar

Element = tuple[str, tuple[Expr, ...]]
Known = dict[Element, Atom]


def drop_redundant_loads(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such elements read once; see the module."""
    worker = _Elements(function)
    return replace(function, body=worker.block(function.body, {}))


class _Elements:
    def __init__(self, function: Function) -> None:
        self.iterations = Iterations(function)
        self.words = Vocabulary(function)

    def block(self, block: Block, known: Known) -> Block:
        """A block in which elements are known at its begin; `known` becomes what is known at its end."""
        out: list[Stmt] = []
        for stmt in block:
            match stmt:
                case Assign(target=target, value=Op(fn="load", args=(Name(id=array), *index))):
                    element = array, tuple(index)
                    if element not in known:
                        self.learn(known, element, Name(target))
                    elif not self.names_it(target, known[element]):
                        stmt = replace(stmt, value=known[element])
                case Store(array=array, index=index, value=value, accumulate=accumulate):
                    self.forget(known, (stmt,))
                    if not accumulate:
                        self.learn(known, (array, index), value)
                case Call():
                    self.forget(known, (stmt,))
                case For() | Loop():
                    # what an iteration begins with holds for every one of them, and after them
                    self.forget(known, (stmt,))
                    stmt = map_blocks(stmt, lambda body: self.block(body, dict(known)))
                case _ if blocks(stmt):
                    stmt = map_blocks(stmt, lambda body: self.block(body, dict(known)))
                    self.forget(known, (stmt,))
            out.append(stmt)
        return tuple(out)

    def learn(self, known: Known, element: Element, value: Atom) -> None:
        array, index = element
        type_ = self.iterations.types[array]
        fixed = all(
            isinstance(atom, Name | Const) and self.iterations.fixed(atom) for atom in (Name(array), *index, value)
        )
        if fixed and isinstance(type_, Array) and self.type_of(value) == type_.element:
            known.pop(element, None)
            known[element] = value
            if len(known) > costs.KNOWN_ELEMENTS:
                del known[next(iter(known))]

    def names_it(self, target: str, value: Atom) -> bool:
        """Whether the load gives the user's name to what has none: it stays, for the reader's sake."""
        users = self.words.is_users
        return users(target) and isinstance(value, Name) and not users(value.id)

    def type_of(self, value: Atom) -> Scalar | None:
        if isinstance(value, Const):
            return FLOAT64 if isinstance(value.value, float) else None
        type_ = self.iterations.types[value.id]
        return type_ if isinstance(type_, Scalar) else None

    def forget(self, known: Known, stmts: Block) -> None:
        """Drop the elements that a run of the statements may change."""
        if not known:
            return
        for stmt in walk(stmts):
            if isinstance(stmt, Store):
                changed: list[Element | str] = [(stmt.array, stmt.index)]
            elif isinstance(stmt, Call):
                changed = [name for name in reads(stmt) if is_memory(self.iterations.types.get(name))]
            else:
                continue
            for element in [one for one in known if any(self.may_change(one, other) for other in changed)]:
                del known[element]

    def may_change(self, element: Element, changed: Element | str) -> bool:
        array = changed if isinstance(changed, str) else changed[0]
        if not self.iterations.may_share(element[0], array):
            return False
        return isinstance(changed, str) or array != element[0] or not self.iterations.different(element[1], changed[1])
