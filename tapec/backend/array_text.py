"""A program as Python text over whole arrays: statements of NumPy in place of loops over elements.

    for i in range(n):
        for j in range(8):                        t_81 = t_77[:n, :8] + x_1[:8]
            t_79 = t_77[i, j]              ->     t_78[:n, :8] = t_81
            t_80 = x_1[j]
            t_81 = t_79 + t_80
            t_78[i, j] = t_81

It is slower than machine code, and made in a hundredth of the time.  Each loop of a nest has an axis of its own, the
outermost the first one, and values that do not depend on a loop have one element there.  Loops that are no axes
(`analyses/array_axes.py`) stay loops.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.backend import printer
from tapec.backend.array_nests import ArrayNests, head_of
from tapec.backend.array_values import ArrayNest, NoWholeArrays
from tapec.syntax.core import Assign, Block, For, Function, If, Loop, Name, Note, Op, Store, changed, loop_depth, walk


@dataclass(frozen=True)
class WholeArrays:
    """The text of a program over whole arrays.

    steps   the parameter that says how many statements loops that stay may run, or "" if there are no loops
    length  the number of statements
    written  positions of the parameters that it writes into
    """

    text: str
    steps: str
    length: int
    written: tuple[int, ...]


def whole_arrays(function: Function) -> WholeArrays:
    """The text of a program in the form that `simple` gives it."""
    writer = _Writer(function)
    writer.block(function.body)
    steps = [f"{writer.steps}=np.inf"] if writer.counts else []
    head = f"def {function.name}({', '.join((*function.params, *steps))}):"
    lines = [head, *(line for line in writer.lines if line is not None)]
    body = list(walk(function.body))
    changes = frozenset[str]().union(*(writer.axes.memory(name) for stmt in body for name in changed(stmt)))
    written = tuple(k for k, param in enumerate(function.params) if not changes.isdisjoint(writer.axes.memory(param)))
    return WholeArrays("\n".join(lines) + "\n", writer.steps if writer.counts else "", len(body), written)


class _Writer(ArrayNests):
    """The lines of a program."""

    def block(self, block: Block) -> None:
        for stmt in block:
            match stmt:
                case For():
                    self.whole_or_loop(stmt)
                case If(test=test, body=body, orelse=orelse):
                    with self.indented(f"if {printer.expression(test)}:"):
                        self.block(body)
                    if orelse:
                        with self.indented("else:"):
                            self.block(orelse)
                case Loop(body=body):
                    with self.indented("while True:"):
                        self.count(body)
                        self.block(body)
                case Note():
                    pass
                case Assign(target=target, value=Op(fn=fn, args=args)) if wide := self.wide(fn, args, target):
                    found = [Name(f"{wide[arg]}({printer.expression(arg)})") if arg in wide else arg for arg in args]
                    self.line(f"{target} = {printer.expression(Op(fn, tuple(found)))}")
                case Assign(target=target, value=Op(fn="load", args=(Name(id=array), *_))) if self.axes.is_short(array):
                    self.line(f"{target} = np.int64({printer.expression(stmt.value)})")
                case _:
                    self.lines += printer.statements((stmt,), self.depth, False)

    def whole_or_loop(self, loop: For) -> None:
        lines, depth = len(self.lines), self.depth
        stored = [self.axes.memory(stmt.array) for stmt in walk(loop.body) if isinstance(stmt, Store)]
        self.nest = ArrayNest(1 + loop_depth(loop.body), stored=frozenset[str]().union(*stored))
        try:
            self.as_axis(loop)
        except NoWholeArrays:
            del self.lines[lines:]
            self.depth = depth
        else:
            self.forget(loop)
            return
        with self.indented(head_of(loop)):
            self.count(loop.body)
            self.block(loop.body)

    def forget(self, loop: For) -> None:
        """Let go of arrays that only the nest reads."""
        made = dict.fromkeys(self.nest.made)
        outside = self.read_outside(loop, made)
        inner = [name for name in made if name not in outside]
        if inner:
            self.line(f"del {', '.join(inner)}")
