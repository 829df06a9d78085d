"""Lists that are filled at the same places: one list of tuples."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.optimise.buffers.tuple_lists import join_lists
from tapec.syntax.types import BOOL, Stack
from tests.optimise.reading import check, read
from tests.oracles import check as check_derivative
from tests.oracles import interpreted

PROGRAM = """
def f(x, n):
    x_stack = stack()
    {second} = stack()
    s = x
    while True:
        {first}
        x_stack.append({pushed})
        {between}
        {put}
        c = s < 0.1
        if c:
            break
    for k in range(n):
        t = x_stack.pop()
        {while_taking}
        {take}
        s = s + t
    return s
"""


def program(**parts: str) -> str:
    usual = {
        **{"second": "y_stack", "first": "s = s * 0.5", "pushed": "s", "between": "y = s * x"},
        **{"put": "y_stack.append(y)", "while_taking": "s = s * 0.9", "take": "u = y_stack.pop()"},
    }
    text = PROGRAM.format(**{**usual, **parts})
    return "\n".join(line for line in text.splitlines() if line.strip()) + "\n"


def test_two_lists_are_one():
    check(
        join_lists,
        program(),
        """
        def f(x, n):
            kept_stack = [(0.0, 0.0)][:0]
            s = x
            while True:
                s *= 0.5
                y = s * x
                kept_stack.append((s, y))
                c = s < 0.1
                if c:
                    break
            for k in range(n):
                t, u = kept_stack.pop()
                s *= 0.9
                s += t
            return s
        """,
    )


@pytest.mark.parametrize(
    "parts",
    [
        # what is put first is another number by then
        {"between": "s = s * x\n        y = s"},
        {"between": "for k in range(2):\n            s = s * x\n        y = s"},
        # what is taken last had another value, or lets another one go
        {"while_taking": "s = s + u"},
        {"while_taking": "u = s * 2.0\n        s = u"},
        # the loop may end in between
        {"between": "y = s * x\n        c1 = y < 0.0\n        if c1:\n            break"},
        # one list has more than the other
        {"put": "if s > 0.0:\n            y_stack.append(s)"},
        {"take": "if s > 0.0:\n            u = y_stack.pop()"},
        {"take": "u = y_stack.pop()\n        u = y_stack.pop()"},
        # a list that has another name, too
        {"take": "z_stack = y_stack\n        u = z_stack.pop()"},
        # numbers of another size
        {"second": "b_stack", "put": "b_stack.append(c)", "take": "c2 = b_stack.pop()"},
    ],
)
def test_others_stay(parts: dict[str, str]):
    function = read(program(**parts))
    if "b_stack" in parts.values():
        function.types["b_stack"] = Stack(BOOL)
    assert join_lists(function) == function


def pooled(y, w):
    """Neighbours out of order become one, as long as there are some."""
    val = np.zeros(y.shape[0])
    wt = np.zeros(y.shape[0])
    k = 0
    for i in range(y.shape[0]):
        val[k] = y[i]
        wt[k] = w[i]
        k += 1
        while k > 1 and val[k - 2] > val[k - 1]:
            tot = wt[k - 2] + wt[k - 1]
            val[k - 2] = (wt[k - 2] * val[k - 2] + wt[k - 1] * val[k - 1]) / tot
            wt[k - 2] = tot
            k -= 1
    total = 0.0
    for b in range(k):
        total += val[b] ** 2 * np.sqrt(wt[b])
    return total


def chosen(y, w):
    """Numbers of three sizes: floats, an index, and two outcomes."""
    total, x, at = 0.0, 1.0, 0
    while x > 1e-3:
        c = y[at] * x
        if c > 0.1:
            total += np.sin(c) * w[at]
            at = (at + 2) % y.shape[0]
        else:
            at = (at + 3) % y.shape[0]
        x *= 0.5 + 0.3 * np.sin(c) ** 2
        if total * x > 0.2:
            total *= 0.9 * w[at]
    return total


def pooled_again(y, w):
    """An iteration of another loop fills and empties the lists."""
    total = 0.0
    for shift in range(3):
        total += pooled(np.cos(y + shift), w) * chosen(y, w)
    return total


Y = np.array([0.7, 0.4, 0.9, 0.2, 0.3, 0.8, 0.1])
W = np.array([1.1, 0.6, 0.9, 1.4, 0.8, 0.7, 1.2])


@pytest.mark.parametrize("f", [pooled, chosen, pooled_again], ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [7, 1, 2])
def test_derivatives(f: Callable[..., Any], size: int):
    with interpreted():
        check_derivative(f, (Y[:size], W[:size]), wrt=(0, 1))


@pytest.mark.parametrize("f", [pooled, chosen], ids=lambda f: f.__name__)
def test_said_and_left_out_below_level_2(f: Callable[..., Any]):
    signature = "f8[::1], f8[::1]"
    assert "kept_stack.append((" in tapec.emit(f, (0, 1), signature=signature, opt_level=2)
    assert "kept_stack.append((" not in tapec.emit(f, (0, 1), signature=signature, opt_level=1)
    assert "lists of numbers are one list of tuples" in str(tapec.explain(f, (0, 1), signature=signature))


def test_those_of_an_iteration_are_filled_by_position():
    text = tapec.emit(pooled_again, (0, 1), signature="f8[::1], f8[::1]", opt_level=2)
    assert re.search(r"kept_stack(_\d)? = \[\(0.0, 0.0, 0.0, 0.0\)\] \* 64\n", text)
    assert re.search(r"kept_stack(_\d)?\[height(_\d)?\] = \(", text)
    assert re.search(r"\w+, \w+, \w+, \w+ = kept_stack(_\d)?\[height(_\d)?\]\n", text)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("f", [pooled, chosen, pooled_again], ids=lambda f: f.__name__)
def test_compiled(f: Callable[..., Any]):
    value, bars = tapec.value_and_grad(f, (0, 1))(Y, W)
    with interpreted():
        wanted, wanted_bars = tapec.value_and_grad(f, (0, 1), opt_level=0)(Y, W)
    assert value == pytest.approx(wanted, rel=1e-14)
    for bar, other in zip(bars, wanted_bars, strict=True):
        np.testing.assert_allclose(bar, other, rtol=1e-13)
