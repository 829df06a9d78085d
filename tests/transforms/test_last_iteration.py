"""Arrays that the last iteration of a checkpointed loop leaves: a copy of them, where a copy is as good."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.errors import NotDifferentiable
from tapec.transforms.last_iteration import of_last_iteration
from tests.optimise.comparison import identical, run
from tests.optimise.reading import check, read
from tests.oracles import interpreted

LOOP = """
def f(a_x, n):
    a_none = np.empty(0)
    s = 0.0
    {before}
    a_z = a_none
    for i in tapec_runtime.checkpointed(range(n), 2):
        k = i + 1
        a_w = np.empty(k)
        {inside}
        a_w[i] = a_x[0]
        s_1 = s * 2.0
        s = s_1
        {copy}
    {after}
    return a_z, s
"""
PLAIN = {"before": "pass", "inside": "pass", "copy": "a_z = a_w", "after": "pass"}


def of(**parts: str) -> str:
    return LOOP.format(**(PLAIN | parts))


def test_before_and_after():
    check(
        of_last_iteration,
        before=of(),
        after="""
        def f(a_x, n):
            a_none = np.empty(0)
            s = 0.0
            a_z = a_none
            last_iteration = n - 1
            for i in tapec_runtime.checkpointed(range(n), 2):
                k = i + 1
                a_w = np.empty(k)
                a_w[i] = a_x[0]
                s_1 = s * 2.0
                t = i == last_iteration
                if t:
                    a_w_1 = a_w.copy()
                    a_z_1 = a_w_1
                else:
                    a_z_1 = a_z
                s = s_1
                a_z = a_z_1
            return a_z, s
        """,
    )


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("after", ["pass", "a_z[0] = 7.0", "a_v = a_z[1:]; a_v[0] = 7.0"])
def test_computes_the_same(n: int, after: str):
    core = read(of(inside="a_w[0] = 3.0", after=after if n > 1 else "pass"))
    args = (np.array([0.5, 2.0]), n)
    assert identical(run(of_last_iteration(core), args), run(core, args))


@pytest.mark.parametrize(
    "parts",
    [
        {"inside": "s = a_z[0]"},
        {"inside": "a_z[0] = 1.0"},
        {"inside": "a_z = a_none"},
        {"copy": "a_z = a_none"},
        {"copy": "s_3 = a_w[0]"},
        # what is written into the array later, under whichever name
        {"inside": "a_y = a_x[1:]", "copy": "a_z = a_y", "after": "a_x[1] = 5.0"},
        {"inside": "a_y = a_x[1:]", "copy": "a_z = a_y", "after": "a_z[1] = 5.0"},
        {"copy": "a_z = a_x", "after": "a_z[1] = 5.0"},
        {"before": "a_q = a_none", "copy": "a_z = a_w; a_q = a_w", "after": "a_q[0] = 4.0"},
    ],
)
def test_refusals(parts: dict[str, str]):
    core = read(of(**parts))
    assert of_last_iteration(core) is core


@pytest.mark.parametrize("loop", ["for i in range(n)", "for i in tapec_runtime.checkpointed(range(n), 2)"])
def test_only_checkpointed_loops(loop: str):
    core = read(of().replace("for i in tapec_runtime.checkpointed(range(n), 2)", loop))
    assert (of_last_iteration(core) is core) == ("checkpointed" not in loop)


@pytest.mark.parametrize("copy", ["a_z = a_y", "a_z = a_w"])
def test_a_view_that_nobody_writes_into(copy: str):
    core = read(of(before="a_u = np.empty(2); a_u[0] = 1.0; a_u[1] = 2.0", inside="a_y = a_u[1:]", copy=copy))
    assert of_last_iteration(core).body != core.body


NESTED = """
def f(a_x, n):
    a_none = np.empty(0)
    s = 0.0
    a_u = np.empty(2)
    for j in range(2):
        a_z = a_none
        for i in tapec_runtime.checkpointed(range(n), 2):
            a_w = np.empty(2)
            a_w[0] = s
            a_y = a_u[1:]
            a_u[1] = 3.0
            {copy}
        s_1 = a_z[0]
        s = s_1
    return s
"""


@pytest.mark.parametrize(("copy", "changes"), [("a_z = a_w", True), ("a_z = a_y", False)])
def test_in_another_loop_all_that_it_does_comes_later(copy: str, changes: bool):
    core = read(NESTED.format(copy=copy))
    assert (of_last_iteration(core).body != core.body) == changes


def changed_later(x, n):
    u = x.copy()
    for _ in tapec.checkpointed(range(n), slots=2):
        z = u[1:]
        u[0] = np.sin(u[0]) * u[1]
    u[2] = 5.0 * x[0]
    return z.sum() + u[0]


def test_such_a_program_is_refused():
    """It used to be given the value, and the gradient, of another one."""
    with interpreted(), pytest.raises(NotDifferentiable, match="cannot hand on the array `z`"):
        tapec.value_and_grad(changed_later)(np.array([0.3, 0.5, 0.7]), 3)
