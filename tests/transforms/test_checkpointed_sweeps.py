"""A checkpointed loop on its two ways: few snapshots, iterations that run again, and what may be left out of those."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.backend import printer
from tapec.syntax.core import For, Function, walk
from tapec.transforms.checkpointed_sweeps import never_read, sharing, without_stores
from tapec.transforms.forward import forward
from tapec.transforms.reverse import Reversed, reverse
from tapec.transforms.ssa import to_ssa
from tests.optimise.comparison import run
from tests.optimise.reading import read

LOOP = """
def f(a, x, n, k):
    {before}
    s = x
    for i in tapec_runtime.checkpointed(range(n), k):
        {body}
    {after}
    return y
"""
NUMBERS = {"before": "z = 1.0", "body": "t = sin(s); u = t * x; s = u + z; z = u", "after": "y = s * s"}
BUFFERS = {
    "before": "a_v = a.copy(); a_w = np.zeros(3)",
    "body": """for j in range(3):
            t = a_v[j]; u = t * s; v = sin(u); a_w[j] = v
        w = a_w[1]; s = s + w; a_t = a_v; a_v = a_w; a_w = a_t""",
    "after": "t_1 = a_v[2]; y = t_1 * s",
}
NEW_ARRAYS = {
    "before": "a_v = a.copy()",
    "body": """a_w = np.empty(3)
        for j in range(3):
            t = a_v[j]; u = t * x; v = sin(u); a_w[j] = v
        a_v = a_w""",
    "after": "y = a_v[1]",
}
IN_PLACE = {
    "before": "pass",
    "body": "for j in range(1, 3):\n            i_1 = j - 1; t = a[i_1]; u = a[j]; v = t * u; a[j] = v + x",
    "after": "y = a[2]",
}
ADDED = {
    "before": "a_o = np.zeros(3)",
    "body": "t = sin(s); a_o[1] += t; a[0] += t; s = t * x",
    "after": "u = a_o[1]; v = a[0]; w = u * v; y = w * s",
}
PROGRAMS = {"added to": ADDED, "numbers": NUMBERS, "buffers": BUFFERS, "new arrays": NEW_ARRAYS, "in place": IN_PLACE}


def of(parts: dict[str, str]) -> Function:
    text = LOOP.format(**parts).replace("a[j] = v + x", "w = v + x; a[j] = w")
    return to_ssa(read(text))


def swept(core: Function) -> Reversed:
    return reverse(core, ("a", "x"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_and_last_contents(name: str):
    core = of(PROGRAMS[name])
    made = swept(core)
    both = made.function("g", (*made.values, *made.adjoints))
    plain = forward(core, ("a", "x"))
    a, a_dot, x_dot = np.array([0.3, 1.2, 0.7]), np.array([0.5, -1.0, 2.0]), 0.4
    for n in (0, 1, 2, 7):
        for slots in (1, 2, 9):
            value, a_bar, x_bar, a_after, *_ = run(both, (a, 0.8, n, slots, 1.0))
            wanted, dot, a_wanted, *_ = run(plain, (a, 0.8, n, slots, a_dot, x_dot))
            assert value == wanted
            np.testing.assert_array_equal(a_after, a_wanted)
            assert a_bar @ a_dot + x_bar * x_dot == pytest.approx(dot, rel=1e-12)


def test_the_forward_sweep_keeps_snapshots_where_the_schedule_says():
    made = swept(of(NUMBERS))
    text = printer.function(Function("g", (), made.forward, made.types), False)
    assert "if t" in text and text.count("next_checkpoint(") == 1
    # of all numbers that the loop hands on
    assert "s_saved[depth] = s" in text and "z_saved[depth] = z" in text
    # no list, and no buffer that has a place for each iteration
    assert "append" not in text and "np.empty(n" not in text


def test_the_reverse_sweep_runs_iterations_again():
    made = swept(of(NUMBERS))
    loops = [stmt for stmt in walk(made.backward) if isinstance(stmt, For)]
    assert [loop.var for loop in loops[:2]] == ["i_1", "again"]
    text = printer.function(Function("g", (), made.backward, made.types), False)
    # in the iterations that run again, and in the one that is reversed
    assert text.count("np.sin(") == 2 and text.count("np.cos(") == 1


def test_a_loop_without_derivatives_stays():
    made = swept(of(NUMBERS | {"body": "k_1 = i + k", "after": "y = s * s"}))
    text = printer.function(made.function("g"), False)
    assert "checkpoint" not in text and "saved" not in text


CONTENTS = """
def f(a, a_b, a_d, A, x):
    a_v = a[1:]
    for i in range(3):
        a_v[i] = x
        a_b[i] = x
        c = x > 1.0
        if c:
            a_b[0] = 2.0
    y = a_d[0]
    a_r = A[0]
    a_r[0] = y
    return y
"""


def test_never_read():
    """Through views as well; an array of which only a view is written is not read."""
    assert never_read(read(CONTENTS)) == {"a", "a_v", "a_b", "A", "a_r"}
    assert never_read(read(CONTENTS.replace("y = a_d[0]", "y = a_v[0]"))) == {"a_b", "a_d", "A", "a_r"}
    # what is added to is not read by that
    assert "a_b" in never_read(read(CONTENTS.replace("a_b[0] = 2.0", "a_b[0] += 2.0")))
    assert "a" not in never_read(read(CONTENTS.replace("return y", "a_q = a.copy()\n    return y, a_q")))


def test_sharing():
    core = read(CONTENTS)
    assert sharing(core, frozenset({"a_v"})) == {"a", "a_v"}
    assert sharing(core, frozenset()) == frozenset()


def test_without_stores():
    core = read(CONTENTS)
    left = without_stores(core.body, frozenset({"a_b"}))
    text = printer.function(Function("f", core.params, left, core.types), False)
    assert "a_b[" not in text and "a_v[i] = x" in text
    assert without_stores(core.body, frozenset()) == core.body
