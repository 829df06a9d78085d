"""What a pass puts before the outermost loop, and which loops it is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapec.backend import printer
from tapec.optimise.loops.loop_preheader import Around, LoopPass, Outside
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Const, For, Function, Name, Op, Stmt, Store
from tests.optimise.reading import check, read, unchanged


class _Kept(LoopPass):
    """Puts what a loop adds into a buffer that is made before the outermost loop around it."""

    def loop(self, loop: For, around: Around) -> list[Stmt] | None:
        assert around[-1] is loop
        (first, *others) = loop.body
        if others or not isinstance(first, Store) or not first.accumulate:
            return None
        buffer = self.outside.buffer(first, "empty", (self.outside.size(loop.stop, 1, loop),))
        store = replace(first, array=buffer, index=(Name(loop.var),), accumulate=False)
        return [replace(loop, body=(store,))]


def kept(function: Function, by_iteration: bool = False) -> Function:
    worker = _Kept(function, by_iteration)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


NEST = """
def f(A, a, k, n, x):
{outside}    for i in range(n):
{inside}        for j in range(k):
            {store}
{last}    return x
"""
MADE = ["size = max(k, 0)", "size_1 = size + 1", "x_kept = np.empty(size_1)"]


def nest(indent: str | None, last: str = "") -> str:
    if indent is None:
        return NEST.format(outside="", inside="", store="A[i, j] += x", last=last)
    made = "".join(f"{indent}{line}\n" for line in MADE)
    parts = {"outside": made, "inside": ""} if indent == "    " else {"outside": "", "inside": made}
    return NEST.format(**parts, store="x_kept[j] = x", last=last)


def test_it_stands_before_the_outermost_loop():
    check(kept, nest(None), nest("    "))
    other = "        a[0] += x\n"
    check(kept, nest(None, other), nest("    ", other))


@pytest.mark.parametrize("last", ["", "        a[i] += x\n"])
def test_by_iteration_it_stands_in_independent_iterations(last: str):
    check(lambda function: kept(function, by_iteration=True), nest(None, last), nest("        ", last))


@pytest.mark.parametrize("last", ["        a[0] += x\n", "        a[0] = x\n", "        print(x)\n"])
def test_iterations_that_share_something_do_not_have_it(last: str):
    check(lambda function: kept(function, by_iteration=True), nest(None, last), nest("    ", last))


def test_a_loop_alone_and_loops_of_any_kind_have_it_before_them():
    alone = "def f(a, n, x):\n{}    for i in range(n):\n        {}\n    return x\n"
    made = "    size = max(n, 0)\n    size_1 = size + 1\n    x_kept = np.empty(size_1)\n"
    for by_iteration in (False, True):
        check(
            lambda function, by_iteration=by_iteration: kept(function, by_iteration),
            alone.format("", "a[i] += x"),
            alone.format(made, "x_kept[i] = x"),
        )
    check(
        kept,
        """
        def f(a, n, x, c):
            if c:
                while True:
                    for i in range(n):
                        a[i] += x
                    break
            return x
        """,
        """
        def f(a, n, x, c):
            if c:
                size = max(n, 0)
                size_1 = size + 1
                x_kept = np.empty(size_1)
                while True:
                    for i in range(n):
                        x_kept[i] = x
                    break
            return x
        """,
    )


def test_other_loops_stay():
    unchanged(kept, nest(None).replace("+=", "="))


def test_extents_and_buffers():
    core = read("def f(a, n, x):\n    for i in range(n):\n        a[i] += x\n    a[0] = 2.0\n    return x")
    outside = Outside(Fresh(core.types))
    loop, store = core.body[:2]
    assert isinstance(loop, For) and isinstance(store, Store)
    assert outside.computed(Name("n"), loop) == Name("n")
    assert outside.computed(Const(3), loop) == Const(3)
    assert not outside.taken()
    assert outside.size(Op("+", (Name("n"), Const(2))), 0, loop) == Name("size_1")
    assert outside.buffer(store, "zeros", (Name("size_1"), Const(3))) == "t_kept"
    assert [line.strip() for line in printer.statements(tuple(outside.taken()), 0, quote=False)] == [
        "size = n + 2",
        "size_1 = max(size, 0)",
        "t_kept = np.zeros((size_1, 3))",
    ]
    assert not outside.taken()
