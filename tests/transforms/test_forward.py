"""Beside every statement the one for its tangent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.errors import NotDifferentiable
from tapec.syntax.core import Call, Function, Name, Return
from tapec.syntax.types import FLOAT64, Array
from tapec.transforms.forward import forward, forward_callee
from tapec.transforms.reverse import reverse
from tests.optimise.comparison import run
from tests.optimise.reading import check, read
from tests.oracles import interpreted

PROGRAM = """
def f(a, x, n):
    a_y = np.zeros(n)
    a_v = a_y[1:]
    s = x
    for i in range(n):
        t = a[i]
        u = sin(t)
        v = u * x
        a_y[i] = v
        a_y[i] += 2.0
        c = v > n
        if c:
            s = s + v
    z = a_v[0]
    w = z / s
    return a_y, w, n
"""


def test_before_and_after():
    check(
        lambda core: forward(core, ("a",), name="f"),
        before=PROGRAM,
        after="""
        def f(a, x, n, a_dot):
            a_y = np.zeros(n)
            a_y_dot = np.zeros(n)
            a_v = a_y[1:]
            a_v_dot = a_y_dot[1:]
            s = x
            s_dot = 0.0
            for i in range(n):
                t = a[i]
                t_1 = a_dot[i]
                t_dot = t_1
                u = np.sin(t)
                t_2 = np.cos(t)
                t_3 = t_2 * t_dot
                u_dot = t_3
                v = u * x
                t_4 = x * u_dot
                v_dot = t_4
                a_y_dot[i] = v_dot
                a_y[i] = v
                a_y[i] += 2.0
                c = v > n
                if c:
                    t_5 = s_dot + v_dot
                    s_dot = t_5
                    s += v
            z = a_v[0]
            t_6 = a_v_dot[0]
            z_dot = t_6
            w = z / s
            t_7 = w * s_dot
            t_8 = z_dot - t_7
            t_9 = t_8 / s
            w_dot = t_9
            return a_y, a_y_dot, w, w_dot, n
        """,
        again=False,
    )


def tangents(core: Function, sources: tuple[str, ...], args: tuple, dots: tuple, step: float = 1e-6) -> None:
    """Compare with differences of the program itself."""
    made = forward(core, sources)
    count = 2 * sum(core.types[v.id].is_float for v in core.results if isinstance(v, Name))
    found = run(made, (*args, *dots))[:count][1::2]

    def moved(by: float) -> tuple:
        changed = {name: by * dot for name, dot in zip(sources, dots, strict=True)}
        at = [arg + changed.get(param, 0) for param, arg in zip(core.params, args, strict=True)]
        return run(core, tuple(at))[: len(found)]

    for one, ahead, behind in zip(found, moved(step), moved(-step), strict=True):
        np.testing.assert_allclose(one, (np.asarray(ahead) - behind) / (2.0 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("sources", [("a",), ("x",), ("a", "x")])
@pytest.mark.parametrize("x", [0.5, 40.0])
def test_tangents_are_differences(sources: tuple[str, ...], x: float):
    given = {"a": np.array([0.3, 1.2, -0.7]), "x": x}
    moving = {"a": np.array([1.0, -2.0, 0.5]), "x": 0.7}
    tangents(read(PROGRAM), sources, (given["a"], x, 3), tuple(moving[one] for one in sources))


@pytest.mark.parametrize(
    "body",
    [
        # an element that is set to a constant
        "a[0] = 2.0; y = a[0] * x",
        "a[1] += 2.0; t = a[1]; y = t * x",
        # other names for the memory
        "a_v = a[1:]; a_v[0] = x; t = a[1]; y = t * t",
        "a_w = a.copy(); a_w[1] = x; t = a[1]; u = a_w[1]; y = t * u",
        "w_stack = stack(); w_stack.append(x); w_stack.append(3.0); t = w_stack.pop(); u = w_stack.pop(); y = t * u",
        # numbers that take others' values
        "s = x; t = s; s = 2.0; y = t * s",
        "s = x\n    for i in range(3):\n        t = s * x\n        s = t\n    y = s",
        "s = x\n    while True:\n        c = s > 5.0\n        if c:\n            break\n        s = s + x\n    y = s",
    ],
)
def test_what_changes_has_a_tangent_that_changes(body: str):
    body = body.replace("y = a[0] * x", "t = a[0]; y = t * x")
    core = read(f"def f(a, x):\n    {body}\n    return y")
    tangents(core, ("a", "x"), (np.array([0.4, 0.9]), 1.3), (np.array([0.2, -0.4]), 0.5))


def test_an_array_that_may_share_memory_has_a_tangent_of_its_own():
    core = read("""
        def f(a, a_b, x):
            a_v = a
            c = x > 0.0
            if c:
                a_v = a_b
            a_v[0] = x
            y = a_b[0]
            return y
        """)
    text = printer.function(forward(core, ("a",)), False)
    assert text.splitlines()[1:3] == ["    size = a_b.shape[0]", "    a_b_dot = np.zeros(size)"]
    for x in (0.5, -0.5):
        tangents(core, ("a", "x"), (np.ones(2), np.ones(2), x), (np.ones(2), 0.3))


def test_results_without_a_tangent_have_zeros():
    core = read("def f(x, y, a, n):\n    return y, a, n, 2.0")
    made = run(forward(core, ("x",)), (1.0, 2.0, np.ones(2), 3, 0.5))
    assert (made[1], made[4], made[5:7]) == (0.0, 3, (2.0, 0.0))
    np.testing.assert_array_equal(made[3], np.zeros(2))


def test_the_parameters_of_others_are_those_of_floats():
    core = read("def f(x, a, n):\n    return x")
    assert forward(core, ("x",)).params == ("x", "a", "n", "x_dot")
    made = forward_callee(core, frozenset())
    assert (made.name, made.params) == ("f_tangent", ("x", "a", "n", "x_dot", "a_dot"))


def test_a_recursive_function_is_called_with_all_tangents():
    types = {"x": FLOAT64, "y": FLOAT64, "a": Array("float64", 1)}
    body = (Call(("y",), "g_recursive", (Name("x"), Name("a")), None, (1,)), Return((Name("y"),)))
    (call,) = [s for s in forward(Function("f", ("x", "a"), body, types), ("x",)).body if isinstance(s, Call)]
    assert call.function == "g_recursive_tangent"
    assert call.targets == ("y", "y_dot") and len(call.args) == 4 and call.changes == (1, 3)


@pytest.mark.parametrize("mode", [forward, reverse])
def test_what_has_no_rule_is_refused(mode):
    """It may depend on its operands; a derivative of zero would be wrong."""
    with pytest.raises(NotDifferentiable, match="`np.unknown` has no derivative rule"):
        mode(read("def f(x):\n    y = np.unknown(x)\n    return y"), ("x",))
    mode(read("def f(x, z):\n    y = np.unknown(z)\n    w = y * x\n    return w"), ("x",))


def test_strong_zeros():
    """A tangent of zero contributes zero where a partial derivative is infinite."""
    core = read("def f(x):\n    y = sqrt(x)\n    return y")
    with np.errstate(all="ignore"):
        assert np.isnan(run(forward(replace(core, strong_zero=False), ("x",)), (0.0, 0.0))[1])
        assert run(forward(core, ("x",)), (0.0, 0.0))[1] == 0.0
        assert run(forward(core, ("x",)), (0.0, 1.0))[1] == np.inf


@tapec.custom_jvp
def twice(x):
    return 2.0 * x


@twice.defjvp
def _(primals, tangents):
    return twice(primals[0]), 7.0 * tangents[0]


def test_derivatives_of_the_user():
    with interpreted():
        value, dot = tapec.jvp(lambda x: twice(x) * x, (3.0,), (1.0,))
    assert (value, dot) == (18.0, 27.0)
