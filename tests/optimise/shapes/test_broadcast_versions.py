"""Programs of two versions: for operands that need no broadcasting, and for others."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests import oracles
from tests.sampling import sampled


def cosine(x, y):
    return (x * y).sum() / (np.sqrt((x * x).sum()) * np.sqrt((y * y).sum()))


def trapezoid(x, y):
    return (0.5 * (y[1:] + y[:-1]) * (x[1:] - x[:-1])).sum()


def steps(x, y):
    return ((x[1:] - x[:-1]) * y).sum() + (y * y).sum()


def three(x, y, z):
    s = np.exp(x) * y
    return ((s - z) ** 2).sum() + (x * z).sum()


def on_complex(x, y):
    wave = np.exp(1j * x) * y
    return np.sum(np.abs(wave) ** 2 * x)


# the shapes of the arguments, beginning with those of the first version
CASES = [
    (cosine, [(5, 5), (1, 5), (5, 1), (1, 1)]),
    (trapezoid, [(5, 5), (2, 5), (5, 2), (1, 1), (1, 2), (0, 0)]),
    (steps, [(5, 4), (5, 1), (2, 4), (1, 0)]),
    pytest.param(three, [(4, 4, 4), (1, 4, 4), (4, 1, 4), (4, 4, 1), (1, 1, 4)], marks=pytest.mark.slow),
    pytest.param(on_complex, [(4, 4), (1, 4), (4, 1), (0, 0)], marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("f", "extents"), sampled(CASES, 2))
def test_both_forms_give_what_the_program_gives_without_them(rng: np.random.Generator, f, extents):
    with oracles.interpreted():
        wrt = tuple(range(len(extents[0])))
        in_two, in_one = tapec.value_and_grad(f, wrt), tapec.value_and_grad(f, wrt, opt_level=0)
        for sizes in extents:
            args = [rng.uniform(0.5, 1.5, n) for n in sizes]
            value, gradients = in_two(*args)
            expected, plain = in_one(*args)
            np.testing.assert_allclose(value, f(*args), rtol=1e-12)
            np.testing.assert_allclose(value, expected, rtol=1e-12)
            for one, other in zip(gradients, plain, strict=True):
                assert one.shape == other.shape, sizes
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=str(sizes))


def test_what_does_not_fit_is_an_error():
    with oracles.interpreted():
        gradient = tapec.value_and_grad(cosine, (0, 1))
        for n, m in ((4, 3), (2, 7)):
            with pytest.raises(ValueError, match="broadcast"):
                gradient(np.ones(n), np.ones(m))


def texts(f, count, **options):
    """The function of the first version, and that for all arrays."""
    signature = ", ".join(["f8[::1]"] * count)
    _, _, text = tapec.emit(f, tuple(range(count)), signature, **{"opt_level": 2, **options}).partition("_general(")
    first, _, second = text.partition("def ")
    return first, second


def test_the_form_without_stretching_comes_first_and_joins_its_loops():
    first, second = texts(cosine, 2)
    assert "raise" not in first and first.count("for i in range(n)") == 2
    assert "raise" in second


def test_a_program_asks_for_all_extents_that_it_needs():
    text = tapec.emit(three, (0, 1, 2), "f8[::1], f8[::1], f8[::1]", opt_level=2)
    assert "if y.shape[0] != x.shape[0] or z.shape[0] != x.shape[0]:" in text
    assert "raise" not in texts(three, 3)[0]


def test_an_extent_may_be_that_of_a_slice():
    text = tapec.emit(steps, (0, 1), "f8[::1], f8[::1]", opt_level=2).partition("_general(")[0]
    assert "max(x.shape[0] - 1, 0)" in text and "y.shape[0] !=" in text and "raise" not in texts(steps, 2)[0]


def test_slices_of_arrays_of_one_extent_have_the_same_elements():
    first, _ = texts(trapezoid, 2)
    assert "x[i + 1] - x[i]" in first and "= x[1:]" not in first


def test_a_program_in_the_users_order_has_two_forms():
    assert "raise" not in texts(cosine, 2, opt_level=1)[0]


@pytest.mark.parametrize("options", [{"opt_level": 0}, {"strict": True}, {"memory": "1 GB"}])
def test_programs_that_stay_as_they_are_or_may_keep_little_have_one_form(options):
    assert "_general(" not in tapec.emit(cosine, (0, 1), "f8[::1], f8[::1]", **options)


@pytest.mark.compiled
@pytest.mark.slow
def test_both_forms_are_compiled(rng: np.random.Generator):
    gradient = tapec.value_and_grad(cosine, (0, 1))
    for n, m in ((5, 5), (1, 5)):
        x, y = rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, m)
        value, (x_bar, y_bar) = gradient(x, y)
        assert x_bar.shape == x.shape and y_bar.shape == y.shape
        np.testing.assert_allclose(value, cosine(x, y), rtol=1e-12)
        # of equal degree zero in either: nothing changes along the arrays themselves
        assert abs(y_bar @ y) < 1e-12 and (n == 1 or abs(x_bar @ x) < 1e-12)


def as_a_column(a, b, m, n):
    b[:, n] = m[:, n]
    m[:] = np.concatenate((b[:, n][:1], a[1:])).reshape(3, 1)
    return m.sum()


@pytest.mark.slow
def test_the_form_for_others_may_always_raise_an_error():
    """One row must be three rows, if those of `m` are not as many as those of `b`."""
    oracles.check(as_a_column, (np.arange(3.0), np.ones((3, 4)), np.ones((3, 4)), 1), forward_level=0)
    with oracles.interpreted(), pytest.raises(ValueError, match="could not broadcast"):
        tapec.grad(as_a_column)(np.arange(3.0), np.ones((3, 4)), np.ones((1, 4)), 1)
