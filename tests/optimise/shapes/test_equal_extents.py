"""Extents of variables that stand for several arrays of one size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.shapes.equal_extents import extents_of_kept, extents_of_one_size
from tapec.syntax.core import Assign, Call, For, Name, Op, Stmt
from tests import oracles
from tests.optimise.reading import check, read

BUFFERS = """
def f(a, n, n1, n2):
    {before}
    a1 = np.empty({first})
    a2 = np.zeros({second})
    a3 = a1
    a4 = a2
    for i in range(n):
        k = {asked}
        a5 = a3
        a3 = a4
        a4 = {last}
    return k
"""
AS_IT_IS = {
    "before": "k1 = n1 + 1", "first": "k1", "second": "k1", "asked": "a3.shape[0]", "last": "a5",
}  # fmt: skip


def test_buffers_that_change_places():
    before = BUFFERS.format(**AS_IT_IS)
    after = before.replace("a3.shape[0]", "k1").replace("a5 = a3\n        a3 = a4\n        a4 = a5", "a3, a4 = a4, a3")
    check(extents_of_one_size, before, after.lstrip(), again=False)


def test_products_and_transposed_arrays_have_the_extents_of_theirs():
    before = """
        def f(n):
            M_1 = np.zeros((3, 3))
            for i in range(n):
                k = M_1.shape[1]
                M_2 = np.empty((4, 3))
                M_3 = np.dot(M_1, M_1)
                M_4 = M_2.T
                M_5 = np.dot(M_4, M_2)
                M_6 = M_5.T
                M_1 = np.dot(M_3, M_6)
            return k
        """
    changed = extents_of_one_size(read(before))
    assert "k = 3" in printer.function(changed, quote=False)


def test_a_parameter_whose_extent_was_asked():
    before = BUFFERS.format(**(AS_IT_IS | {"before": "k1 = a.shape[0]", "last": "a"}))
    check(extents_of_one_size, before, before.replace("a3.shape[0]", "k1").lstrip())


@pytest.mark.parametrize(
    "other",
    [
        # other extents; another one of the parameter, or one that nobody asked for
        {"second": "n2"},
        {"last": "a"},
        {"before": "k1 = a1.shape[0]", "last": "a"},
        # a part of an array; an array that is set once
        {"last": "a5[1:]"},
        {"asked": "a1.shape[0]"},
        # a number with two values
        {"before": "k1 = n1\n    k1 = n2"},
        {"before": "for j in range(n):\n        k1 = j"},
        # an array from outside
        {"before": "k1 = 3", "last": "table"},
    ],
    ids=str,
)
def test_what_is_asked_as_before(other):
    function = read(BUFFERS.format(**(AS_IT_IS | other)))
    assert extents_of_one_size(function) == function


TABLE = np.linspace(0.2, 0.8, 4)


def halved(x, c):
    if x[0] > c:
        x = 0.5 * x
    return (x * x).sum()


def one_of_two(x, c):
    y = np.empty(2)
    y[:] = x[:2]
    if x[0] > c:
        y = TABLE
    return (x[0] * y).sum()


@pytest.mark.parametrize("f", [halved, one_of_two])
def test_extents_of_one_way(f):
    x = np.array([0.3, 0.5, 0.7])
    with oracles.interpreted():
        for c in (0.1, 0.4):
            oracles.check(f, (x, c), (0,), forward_level=0)


def heat(u0, kappa, steps):
    u = u0.copy()
    new = u0.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            new[i] = u[i] + kappa * u[i] * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, new = new, u
    return (u * u).sum()


def test_a_stencil_on_two_buffers_keeps_no_lists():
    u0 = np.random.default_rng(5).normal(size=6)
    with oracles.interpreted():
        value, gradients = tapec.value_and_grad(heat, wrt=(0, 1))(u0, 0.2, 3)
        plain, wanted = tapec.value_and_grad(heat, wrt=(0, 1), opt_level=1)(u0, 0.2, 3)
    assert value == pytest.approx(plain, rel=1e-14)
    np.testing.assert_allclose(gradients[0], wanted[0], rtol=1e-12)
    assert gradients[1] == pytest.approx(wanted[1], rel=1e-12)
    assert "append" not in tapec.emit(heat, (0, 1), "f8[::1], f8, i8", opt_level=2)


KEPT = """
def f(a, A, n):
    k1 = a.shape[0]
    one_stack = stack()
    two_stack = stack()
    for i in range(n):
        a1 = np.empty(k1)
        one_stack.append(a1)
        two_stack.append({other})
    for i in range(n):
        a3 = {taken}.pop()
        k = a3.shape[0]
        n1 = {asked}.shape[0]
    return k, n1
"""


def of_lists(text: str, *more: Stmt) -> list[str]:
    """What the last loop says that `k` and `n1` are."""
    function = read(text)
    *body, last = (
        replace(s, value=Op("stack", ())) if isinstance(s, Assign) and s.value == Op("np.stack", ()) else s
        for s in function.body
    )
    changed = extents_of_kept(replace(function, body=(*body, *more, last)))
    loop = [stmt for stmt in changed.body if isinstance(stmt, For)][-1]
    return [printer.expression(stmt.value) for stmt in loop.body if isinstance(stmt, Assign) and stmt.target != "a3"]


@pytest.mark.parametrize(
    ("other", "taken", "asked", "known"),
    [
        ("a1", "one_stack", "a3", ["k1", "k1"]),
        ("a", "two_stack", "a1", ["a.shape[0]", "k1"]),
        # of a parameter that nobody has asked before
        ("A", "two_stack", "A", ["A.shape[0]", "A.shape[0]"]),
    ],
)
def test_what_lists_keep(other, taken, asked, known):
    assert of_lists(KEPT.format(other=other, taken=taken, asked=asked)) == known


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        ("    return", "    three_stack = one_stack\n    return", ()),
        ("    return", "    return", (Call((), "helper", (Name("one_stack"),), None, (0,)),)),
        ("a1 = np.empty(k1)", "a1 = np.empty(i)", ()),
        ("two_stack.append(a)", "one_stack.append(A)", ()),
    ],
)
def test_lists_of_other_names_or_of_arrays_that_differ_are_left_alone(old, new, more):
    text = KEPT.format(other="a", taken="one_stack", asked="a3")
    assert old in text
    assert of_lists(text.replace(old, new), *more) == ["a3.shape[0]"] * 2
