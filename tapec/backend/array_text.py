"""A program as Python text over whole arrays: statements of NumPy in place of loops over elements.

    for i in range(n):
        for j in range(8):                        t_81 = t_77[:n, :8] + x_1[:8]
            t_79 = t_77[i, j]              ->     t_78[:n, :8] = t_81
            t_80 = x_1[j]
            t_81 = t_79 + t_80
            t_78[i, j] = t_81

It is slower than machine code, and made in a hundredth of the time.  Each loop of a nest has an axis of its own, the
outermost the first one, and values that do not depend on a loop have one element there.  Loops that are no axes
(`array_axes.py`) stay loops.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.backend import printer
from tapec.backend.array_nests import ArrayNests, head_of, times
from tapec.backend.array_values import ArrayNest, NoWholeArrays
from tapec.syntax.core import Assign, Block, For, Function, If, Loop, Name, Note, Op, Store, loop_depth, walk


@dataclass(frozen=True)
class WholeArrays:
    """The text of a program over whole arrays.

    iterations  how often loops that are left run, at most; None if that is not known
    """

    text: str
    iterations: int | None


def whole_arrays(function: Function) -> WholeArrays:
    """The text of a program in the form that `simple` gives it."""
    writer = _Writer(function)
    head = f"def {function.name}({', '.join(function.params)}):"
    writer.block(function.body)
    lines = [head, *(line for line in writer.lines if line is not None)]
    return WholeArrays("\n".join(lines) + "\n", writer.iterations)


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
                    self.iterations = None
                    with self.indented("while True:"):
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
        lines, iterations, depth = len(self.lines), self.iterations, self.depth
        stored = [self.axes.memory(stmt.array) for stmt in walk(loop.body) if isinstance(stmt, Store)]
        self.nest = ArrayNest(1 + loop_depth(loop.body), stored=frozenset[str]().union(*stored))
        try:
            self.as_axis(loop)
        except NoWholeArrays:
            del self.lines[lines:]
            self.iterations, self.depth = iterations, depth
        else:
            self.forget(loop)
            return
        before, self.iterations = self.iterations, 0
        with self.indented(head_of(loop)):
            self.block(loop.body)
        self.iterations = times(loop, before, self.iterations)

    def forget(self, loop: For) -> None:
        """Let go of arrays that only the nest reads."""
        outside = self.read_outside(loop)
        inner = [name for name in dict.fromkeys(self.nest.made) if name not in outside]
        if inner:
            self.line(f"del {', '.join(inner)}")
