"""Two arrays take turns where each iteration of a loop makes one and hands it to the next."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests import oracles
from tests.sampling import sampled

SIGNATURE = "f8[:, ::1], f8[:, ::1]"


def likeliest(score, jump):
    best = score[0].copy()
    for t in range(1, score.shape[0]):
        new = np.empty(score.shape[1])
        for j in range(score.shape[1]):
            top = -np.inf
            for i in range(score.shape[1]):
                value = best[i] - jump[i, j]
                if value > top:
                    top = value
            new[j] = top + score[t, j]
        best = new
    return np.max(best)


def two_steps_back(score, jump):
    """What an iteration makes lasts for two more."""
    older, best = score[0].copy(), score[0].copy()
    for t in range(1, score.shape[0]):
        new = np.empty(score.shape[1])
        for j in range(score.shape[1]):
            top = -np.inf
            for i in range(score.shape[1]):
                value = best[i] + older[i] - jump[i, j]
                if value > top:
                    top = value
            new[j] = 0.5 * top + score[t, j]
        older = best
        best = new
    return np.max(best)


def kept_sometimes(score, jump):
    """What an iteration makes may be left behind, and what was there before goes on."""
    best = score[0].copy()
    for t in range(1, score.shape[0]):
        new = np.empty(score.shape[1])
        for j in range(score.shape[1]):
            top = -np.inf
            for i in range(score.shape[1]):
                if best[i] - jump[i, j] > top:
                    top = best[i] - jump[i, j]
            new[j] = top + score[t, j]
        if new[0] > best[0]:
            best = new
    return np.max(best)


def first_kept(score, jump):
    """What the first iteration makes is read in all others."""
    first, best = score[0].copy(), score[0].copy()
    for t in range(1, score.shape[0]):
        new = np.empty(score.shape[1])
        for j in range(score.shape[1]):
            top = -np.inf
            for i in range(score.shape[1]):
                if best[i] + first[i] - jump[i, j] > top:
                    top = best[i] + first[i] - jump[i, j]
            new[j] = 0.5 * top + score[t, j]
        if t == 1:
            first = new
        best = new
    return np.max(best)


def smoothed(score, jump):
    """A stencil, which LLVM runs on vectors of arrays that are apart."""
    best = score[0].copy()
    for _ in range(jump.shape[0]):
        new = np.zeros(best.shape[0])
        for i in range(1, best.shape[0] - 1):
            new[i] = 0.3 * best[i - 1] + 0.4 * best[i] + 0.3 * np.sin(best[i + 1]) + 0.1 * best[i] * best[i - 1]
        best = new
    return np.sum(best * best)


@pytest.mark.parametrize("f", sampled([likeliest, two_steps_back, kept_sometimes, first_kept, smoothed], 2))
@pytest.mark.parametrize("shape", sampled([pytest.param(s) for s in ((7, 5), (1, 3), (2, 4), (4, 1))], 4))
def test_gradients_are_what_they_were(rng: np.random.Generator, f, shape):
    args = rng.normal(size=shape), rng.normal(size=(shape[1], shape[1]))
    with oracles.interpreted():
        value, gradients = tapec.value_and_grad(f, (0, 1))(*args)
        plain, expected = tapec.value_and_grad(f, (0, 1), opt_level=0)(*args)
    assert value == pytest.approx(plain, rel=1e-12)
    for one, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled_they_are_too(rng: np.random.Generator):
    args = rng.normal(size=(30, 9)), rng.normal(size=(9, 9))
    with oracles.interpreted():
        plain = tapec.grad(likeliest, (0, 1), opt_level=0)(*args)
    for one, other in zip(tapec.grad(likeliest, (0, 1))(*args), plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_no_iteration_makes_an_array():
    text = tapec.emit(likeliest, wrt=(0, 1), signature=SIGNATURE, opt_level=2)
    forward, reverse = (part[part.index("    for t in range(") :] for part in text.split("# reverse sweep"))
    assert "new = new_turns[first:first + score_cols]" in forward
    assert "best_bar_2 = best_bar_4_turns[first_1:first_1 + score_cols]" in reverse
    assert "= np.empty(score_cols)" not in forward and "= np.zeros(score_cols)" not in reverse
    assert "two arrays take turns at `new`" in str(tapec.explain(likeliest, (0, 1), SIGNATURE))


@pytest.mark.parametrize("f", [two_steps_back, first_kept, smoothed])
def test_others_make_their_own(f):
    assert "new_turns" not in tapec.emit(f, wrt=(0, 1), signature=SIGNATURE, opt_level=2)
