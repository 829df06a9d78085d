"""Arrays that iterations make and keep: rows of one array where a loop counts its iterations, and on lists
elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.optimise.buffers.iteration_rows import keep_in_rows
from tests.optimise.reading import check, read
from tests.oracles import check as check_derivative
from tests.oracles import interpreted
from tests.sampling import sampled

PROGRAM = """
def f(X, n):
    n1 = X.shape[0]
    {before}
    P_stack = stack()
    s = 0.0
    for k in range({start}, n):
        P = np.empty(({extent}, n1))
        {put}
        P[0, 0] = s
        {between}
    n2 = n - {behind}
    {after}
    for k1 in range(n2, {end}, -1):
        Q = P_stack.pop()
        u = Q[0, 0]
        t = s + u
        s = t
    return {result}
"""


def program(**parts: str) -> str:
    usual = {
        **{"before": "", "start": "0", "extent": "n1", "put": "P_stack.append(P)", "between": ""},
        **{"behind": "1", "after": "", "end": "-1", "result": "s"},
    }
    text = PROGRAM.format(**{**usual, **parts})
    return "\n".join(line for line in text.splitlines() if line.strip()) + "\n"


def test_a_row_stands_for_each_array():
    check(
        keep_in_rows,
        program(),
        """
        def f(X, n):
            n1 = X.shape[0]
            s = 0.0
            size = max(n, 0)
            P_rows = np.empty((size, n1, n1))
            for k in range(n):
                P = P_rows[k]
                P[0, 0] = s
            n2 = n - 1
            for k1 in range(n2, -1, -1):
                Q = P_rows[k1]
                u = Q[0, 0]
                t = s + u
                s = t
            return s
        """,
    )


@pytest.mark.parametrize(
    "parts",
    [
        # not in every iteration, or not all of them
        {"put": "if s > 0.0:\n            P_stack.append(P)"},
        {"between": "if s > 9.0:\n            break"},
        {"start": "1"},
        {"end": "0"},
        {"behind": "2"},
        # an extent that may be negative, or is another one in each iteration
        {"extent": "n"},
        {"extent": "k"},
        # the list is asked for more, or has another name
        {"after": "R = P_stack.pop()"},
        {"between": "R_stack = P_stack"},
        # an array that the caller gets
        {"before": "R = X", "between": "R = P", "result": "R"},
    ],
)
def test_others_stay_on_lists(parts: dict[str, str]):
    function = read(program(**parts))
    assert keep_in_rows(function) == function


def filtered(a, c, x, steps):
    """Matrices of each step, one of which the next one begins with."""
    p = np.eye(a.shape[0])
    total = 0.0
    for _ in range(steps):
        p = a @ p @ a.T + 0.1 * np.tanh(p)
        s = c @ p @ c.T + np.eye(c.shape[0])
        k = p @ c.T @ np.linalg.inv(s)
        x = x + k @ (c @ x)
        p = p - k @ c @ p
        total += (x * x).sum() + s[0, 0]
    return total


def handed_back(a, x, steps):
    """The last row is a result, too."""
    y = x
    for _ in range(steps):
        y = np.tanh(a @ y) + y[::-1] * 0.5
    return y


def left_early(a, x, steps):
    y = x.copy()
    for _ in range(steps):
        y = np.tanh(a @ y) * 2.0
        if y[0] > 1.2:
            break
    return (y * y).sum()


def twice_deep(a, x, steps):
    """The inner loop runs once for each iteration of the outer one."""
    total = 0.0
    for _ in range(2):
        y = x
        for _ in range(steps):
            y = np.tanh(a @ y) + 0.1
        total += (y * y).sum()
    return total


A = np.array([[0.6, -0.3, 0.2], [0.1, 0.8, -0.4], [-0.5, 0.3, 0.7]])
C = np.array([[0.5, -0.2, 0.9], [0.3, 0.4, -0.1]])
V = np.array([0.7, -0.4, 1.1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "args"),
    sampled([(filtered, (A, C, V)), (handed_back, (A, V)), (left_early, (A, V)), (twice_deep, (A, V))], 4),
    ids=["filtered", "handed_back", "left_early", "twice_deep"],
)
def test_derivatives(f: Callable[..., Any], args: tuple[Any, ...]):
    made = cache(tapec.value_and_grad)
    with interpreted():
        for steps in (3, 0, 1, -2):
            check_derivative(f, (*args, steps), wrt=tuple(range(len(args))), gradient=made)


@pytest.mark.slow
def test_a_filter_keeps_its_steps_in_rows():
    signature = "f8[:, ::1], f8[:, ::1], f8[::1], i8"
    text = tapec.emit(filtered, (0, 1, 2), signature=signature, opt_level=2)
    assert re.findall(r"(\w+) = \w+_rows\[k\]", text)
    told = str(tapec.explain(filtered, (0, 1, 2), signature=signature))
    assert "row of one array for all iterations" in told
