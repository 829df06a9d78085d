"""Loops that leave one iteration out are two loops."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import tapec
from tapec.optimise.loops.index_set_splitting import split_index_sets
from tests import oracles
from tests.optimise.comparison import identical, run
from tests.optimise.reading import check, read
from tests.sampling import sampled

SUM = """
def f(a, n, n1, k, k1, s):
    for i in range({start}, n):
        j = i + {shift}
        c = {test}
        x = a[i]
        if c:
            {body}
        {beside}
    return s
"""
USUAL = {"start": "0", "shift": "1", "test": "i != k", "body": "s += x", "beside": "y = s"}


def test_the_iterations_before_and_after():
    check(
        split_index_sets,
        SUM.format(**USUAL),
        """
        def f(a, n, n1, k, k1, s):
            size = min(k, n)
            size_2 = size + 1
            size_4 = max(size_2, 0)
            s_2 = s
            for i in range(size):
                x = a[i]
                s_3 = s_2 + x
                s_2 = s_3
            s_4 = s_2
            for i_3 in range(size_4, n):
                x_3 = a[i_3]
                s_5 = s_4 + x_3
                s_4 = s_5
            return s_4
        """,
        again=False,
    )


@pytest.mark.parametrize(
    "changed",
    [
        # compared otherwise, with a literal, with what an iteration sets, or with no place of the loop
        {"test": "i < k"},
        {"test": "i != 3"},
        {"test": "i != k1", "beside": "k1 = j"},
        {"test": "k != k1"},
        # the iteration itself has statements of its own
        {"body": "s += x\n        else:\n            s += 2.0"},
        {"test": "i == k"},
        # ends early; has a loop inside
        {"beside": "if c:\n            break"},
        {"beside": "for i1 in range(n):\n            s += 1.0"},
    ],
)
def test_what_stays(changed):
    function = read(SUM.format(**(USUAL | changed)))
    assert split_index_sets(function) == function


@pytest.mark.slow
@pytest.mark.parametrize("test", sampled(["i != k", "j != k", "k == j"], 3))
@pytest.mark.parametrize("beside", sampled(["s += 0.5 * x", "a[i] = s"], 2))
def test_all_iterations_run_in_their_order(test: str, beside: str):
    """Wherever the iteration is, in loops of few iterations and of none: what is computed is the same bit by bit."""
    body = "pass\n        else:\n            s += x" if "==" in test else "s += x"
    for shift, start in itertools.product(("0", "-2", "1"), ("0", "n1", "2")):
        text = SUM.format(start=start, shift=shift, test=test, body=body, beside=beside)
        function = read(text)
        parted = split_index_sets(function)
        assert parted != function
        for n, k, n1 in itertools.product((0, 1, 4), (-3, 0, 1, 2, 3, 9, 2**62), (0, 1, 3, 6)):
            args = np.linspace(1.0, 2.0, 12), n, n1, k, 0, 0.25
            assert identical(run(parted, args), run(function, args)), (text, args)


def forces(pos, mass):
    acc = np.zeros((pos.shape[0], 2))
    for i in range(pos.shape[0]):
        for j in range(pos.shape[0]):
            if j == i:
                continue
            d, e = pos[j, 0] - pos[i, 0], pos[j, 1] - pos[i, 1]
            w = mass[j] / np.sqrt(d * d + e * e) ** 3
            acc[i, 0] += w * d
            acc[i, 1] += w * e
    return (acc * acc).sum()


def relaxed(a, b):
    x, new = np.zeros(b.size), np.empty(b.size)
    for _ in range(4):
        for i in range(b.size):
            s = b[i]
            for j in range(b.size):
                if j != i:
                    s -= a[i, j] * x[j]
            new[i] = s / a[i, i]
        x[:] = new
    return (x * b).sum()


@pytest.mark.parametrize("f", [forces, relaxed])
def test_derivatives_are_the_same(f, rng: np.random.Generator):
    with oracles.interpreted():
        fast, plain = (tapec.value_and_grad(f, (0, 1), opt_level=level) for level in (2, 0))
        for rows in (0, 1, 2, 7):
            given = rng.normal(size=(rows, 2 if f is forces else rows)), rng.uniform(1, 2, rows)
            for one, other in zip(fast(*given)[1], plain(*given)[1], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    source = fast.source()
    assert not re.search(r"(?<!\w)i !=|!= i\b", source)
