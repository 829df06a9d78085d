"""A negative extent of a new array is NumPy's ValueError, and tested where it is not proved to be none."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import interpreted

MAKERS = {
    "zeros": lambda x, n: x * np.sum(np.zeros(n) + 1.0),
    "zeros in two axes": lambda x, n: x * np.sum(np.zeros((2, n)) + 1.0),
    "empty": lambda x, n: x * np.empty(n).size,
    "ones": lambda x, n: x * np.ones(n).sum(),
    "full": lambda x, n: np.full((3, n), x).sum(),
    "zeros_like": lambda x, n: x * np.sum(np.zeros_like(np.ones(2), shape=n) + 1.0),
    "eye": lambda x, n: (x * np.eye(n)).sum(),
    "identity": lambda x, n: (x * np.identity(n)).sum(),
    "repeat": lambda x, n: np.repeat(x, n).sum(),
    "repeat by counts": lambda x, n: np.repeat(np.array([x, 1.0]), np.array([2, n])).sum(),
    "broadcast_to": lambda x, n: np.broadcast_to(x, (n,)).sum(),
    "bincount": lambda x, n: np.bincount(np.array([0, 1]), np.array([x, x]), n).sum(),
    "in a loop": lambda x, n: sum([np.ones(n).sum() * x for _ in range(3)]),
}


@pytest.mark.parametrize("made", MAKERS)
def test_a_negative_extent_is_refused(made):
    f = MAKERS[made]
    with interpreted():
        derivative = tapec.value_and_grad(f)
        assert derivative(2.0, 2)[0] == f(2.0, 2)
        with pytest.raises(ValueError, match="negative"):
            f(2.0, -1)
        with pytest.raises(ValueError, match="negative"):
            derivative(2.0, -1)


# each was zero, where NumPy finds the extent
@pytest.mark.parametrize("n", [-1, -2])
def test_an_extent_that_only_the_run_knows_to_be_unknown(n):
    def total(x, n):
        return (np.reshape(x * np.arange(6.0), (n, 3)) * 2.0).sum()

    def of_a_literal(x):
        return (np.reshape(x * np.arange(6.0), (-2, 3)) * 2.0).sum()

    with interpreted():
        assert tapec.grad(total)(2.0, 2) == tapec.grad(of_a_literal)(2.0) == 30.0
        with pytest.raises(ValueError, match="as a literal -1"):
            tapec.grad(total)(2.0, n)


def test_a_list_that_is_repeated_a_negative_number_of_times_is_empty():
    def f(x, n):
        return x + sum([x] * n)

    with interpreted():
        assert [tapec.grad(f)(2.0, n) for n in (-3, 0, 2)] == [1.0, 1.0, 3.0]


def test_extents_are_not_tested():
    def f(x, a):
        n, m = x.size, a.shape[0] * a.shape[1]
        made = np.zeros(n * 2 + 1).sum() + np.ones((n, m + 3)).sum() + np.eye(len(x[1:])).sum()
        for k in range(n):
            made += np.empty(k).size
        return made * x[0] + np.broadcast_to(x, (2, n)).sum() + np.repeat(x, n).sum() + x.reshape(1, n)[0, 0]

    assert "negative" not in tapec.emit(f, signature="f8[:],f8[:,:]", opt_level=2)
