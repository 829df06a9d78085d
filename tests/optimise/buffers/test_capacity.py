"""How many iterations a loop makes in all: counted before the loops, and compared with how many it makes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tapec.backend import printer
from tapec.optimise.buffers.capacity import Capacity
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import For, Function, Loop, Return, walk
from tests.optimise.comparison import run
from tests.optimise.reading import read

NEST = """
def f(a, n, k, c, x):
    k_all = 0
    {before}
    {outer}:
{inside}
    return k_all
"""


def program(outer: str, inside: str, before: str = "") -> Function:
    """Loops, of which the innermost one counts its iterations in `k_all`."""
    lines = "\n".join(f"        {line}" for line in inside.splitlines())
    return read(NEST.format(outer=outer, inside=lines, before=before or "x1 = x"))


def counting(function: Function) -> Function | None:
    """The function that counts the iterations of its innermost loop, and makes none; None if that is refused."""
    fresh = Fresh(function.types)
    capacity = Capacity(function, fresh)
    loops = [stmt for stmt in walk(function.body) if isinstance(stmt, For | Loop)]
    (body,) = capacity.iterations.scopes.body[loops[-1].key]
    assert isinstance(loops[0], For)
    found = capacity.of(body, loops[0])
    if found is None:
        return None
    counted, total = found
    head = function.body[: function.body.index(loops[0])]
    return replace(function, body=(*head, *counted, Return((total,))), types=fresh.types)


ALL = "k_all = k_all + 1"
COUNTED = [
    ("for i in range(n)", f"for j in range(k):\n    {ALL}"),
    ("for i in range(n)", f"for j in range(i):\n    {ALL}"),
    ("for i in range(n, k, -2)", f"for j in range(i, n, 3):\n    {ALL}"),
    ("for i in range(n)", f"j1 = i * k\nj2 = j1 - 3\nfor j in range(j2, j1):\n    {ALL}"),
    ("for i in range(n)", f"c1 = i > k\nif c1:\n    for j in range(i):\n        {ALL}"),
    ("for i in range(n)", f"if c:\n    x = 1.0\nelse:\n    for j in range(k):\n        {ALL}"),
    ("for i in range(n)", f"for j in range(i, k):\n    for k1 in range(j, n):\n        {ALL}"),
    ("for i in range(n)", f"n1 = a.shape[0]\nfor j in range(n1):\n    {ALL}"),
]


@pytest.mark.parametrize(("outer", "inside"), COUNTED)
def test_so_many_iterations_are_made(outer, inside):
    function = program(outer, inside)
    counted = counting(function)
    assert counted is not None
    for n, k, c in itertools.product((-1, 0, 1, 4), (-2, 0, 1, 3), (False, True)):
        args = (np.zeros(3), n, k, c, 0.5)
        assert run(counted, args)[0] == run(function, args)[0], (printer.function(counted), n, k, c)


@pytest.mark.parametrize(
    ("inside", "before"),
    [
        # an iteration decides how many the next one makes
        (f"for j in range(j1):\n    {ALL}\nj2 = j1 + k\nj1 = j2", "j1 = k"),
        (f"j1 = a_1[i]\nfor j in range(j1):\n    {ALL}\n    a_1[j] = 2.0", "a_1 = a"),
        (f"j1 = a_1[i]\nfor j in range(j1):\n    {ALL}\n    a[j] = 2.0", "a_1 = a[1:]"),
        (f"if c:\n    j1 = 1\nelse:\n    j1 = k\nfor j in range(j1):\n    {ALL}", ""),
        # which is not told by whole numbers
        (f"j1 = math.floor(x)\nfor j in range(j1):\n    {ALL}", ""),
        (f"for j in range(0, n, k):\n    {ALL}", ""),
        # loops that may end early, or with an error
        (f"for j in range(k):\n    {ALL}\n    if c:\n        break", ""),
        (f"for j in range(k):\n    {ALL}\n    if c:\n        raise ValueError()", ""),
        (f"if c:\n    break\nfor j in range(k):\n    {ALL}", ""),
        (f"while True:\n    {ALL}\n    if c:\n        break", ""),
    ],
)
def test_others_are_not_counted_beforehand(inside, before):
    assert counting(program("for i in range(n)", inside, before)) is None
