"""Turn an array into a number of an iteration where each iteration finds zero in its element, and leaves zero there.

    a_bar = np.zeros(n)
    for k in range(m):                            for k in range(m):
        for i in range(n):                            for i in range(n):
            a_bar[i] += v * w                             a_bar_0 = v * w
            t = a_bar[i]                  ->              x_bar[i] += a_bar_0
            a_bar[i] = 0.0
            x_bar[i] += t

So are adjoints of scratch arrays, after the loop that uses an element has been joined with the loop that stored it
(`neighbour_fusion`): what an iteration of the reverse sweep adds is taken by the same iteration.

An array qualifies if one run of statements, without exits, has all that use it: always the same element, which it
either sets before it reads it, or finds zero, in an array made of zeros, and sets to zero in the end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapec.analyses.iterations import Access, Iterations
from tapec.optimise.buffers.scalar_replacement import replace_small_arrays
from tapec.optimise.simplify.value_numbering import number_values
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    may_leave,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Array


def replace_zeroed_elements(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with numbers for such arrays; see the module."""
    worker = _Spent(function)
    for stmt in walk(function.body):
        if worker.waiting and isinstance(stmt, For):
            worker.look(stmt)
    if not worker.found:
        return function
    function = replace(function, body=worker.block(function.body), types=worker.types)
    return number_values(replace_small_arrays(function), constants)


class _Spent:
    def __init__(self, function: Function) -> None:
        self.iterations = Iterations(function)
        self.types = dict(function.types)
        used = Counter(name for stmt in walk(function.body) for name in {*reads(stmt), *writes(stmt)})
        used.update(function.params)
        classes = Counter(map(self.iterations.aliases.find, used))
        # arrays that have one name, what makes them, and how many statements use them
        self.waiting: dict[str, tuple[Op, int]] = {}
        for stmt in walk(function.body):
            match stmt:
                case Assign(target=name, value=Op(fn="zeros" | "empty") as value):
                    alone = classes[self.iterations.aliases.find(name)] == 1
                    if alone and self.iterations.fixed(Name(name)):
                        self.waiting[name] = value, used[name] - 1
        self.found: dict[str, Op] = {}
        # statements, by key: the first one of an iteration that uses an array, with what it uses, and the last
        # ones
        self.first: dict[int, list[str]] = {}
        self.last: set[int] = set()

    def look(self, loop: For) -> None:
        """Find the arrays of which an iteration of a loop spends one element."""
        by_array: dict[str, list[Access]] = {}
        for access in self.iterations.accesses(loop.body):
            if access.array in self.waiting:
                by_array.setdefault(access.array, []).append(access)
        here = {stmt.key for stmt in loop.body}
        for array, accesses in by_array.items():
            made, uses = self.waiting[array]
            inside = len(accesses) == uses and all(one.stmt.key in here for one in accesses)
            if inside and not may_leave(loop.body) and self.spends(made, accesses):
                del self.waiting[array]
                self.found[array] = made
                why = "each iteration spends one element"
                remark(loop.span, "zeroed_elements", "`{0}` became a number", why, Named(array))
                self.first.setdefault(accesses[0].stmt.key, []).append(array)
                if accesses[-1].kind == "store":
                    self.last.add(accesses[-1].stmt.key)

    def spends(self, made: Op, accesses: list[Access]) -> bool:
        """Whether all are of one element, and the last one sets it to zero."""
        index = accesses[0].index
        if index is None or any(one.index != index for one in accesses):
            return False
        if not all(isinstance(sub, Name | Const) and self.iterations.fixed(sub) for sub in index):
            return False
        last = accesses[-1]
        zero = last.kind == "store" and isinstance(last.stmt, Store) and last.stmt.value == Const(0.0)
        return accesses[0].kind == "store" or (zero and made.fn == "zeros")

    def block(self, block: Block) -> Block:
        """A block with numbers for the arrays that were found."""
        out: list[Stmt] = []
        for stmt in block:
            for array in self.first.get(stmt.key, ()):
                out.append(self.number(array))
            if stmt.key in self.last or (isinstance(stmt, Assign) and stmt.target in self.found):
                continue
            out.append(map_blocks(self.element(stmt), self.block))
        return tuple(out)

    def number(self, array: str) -> Assign:
        """What makes an array of one element."""
        type_ = self.types[array]
        assert isinstance(type_, Array)
        self.types[array] = replace(type_, ndim=1, layout="C")
        return Assign(array, Op("zeros", (self.found[array].args[0], Const(1))))

    def element(self, stmt: Stmt) -> Stmt:
        """A statement with the only element of an array in the place of the one that it used."""
        match stmt:
            case Store(array=array) if array in self.found:
                return replace(stmt, index=(Const(0),))
            case Assign(value=Op(fn="load", args=(Name(id=array), *_))) if array in self.found:
                return replace(stmt, value=Op("load", (Name(array), Const(0))))
        return stmt
