"""Two arrays of zeros of which a branch chooses the one that a loop fills."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tapec
from tapec.optimise.buffers.zero_fill_choices import fuse_chosen_zero_fills
from tests.optimise.reading import check
from tests.oracles import interpreted

BEFORE = """
def f(x, a, n, m):
    n_1 = a.shape[0]
    a_1 = np.zeros(n_1)
    c = n_1 != n
    if c:
        a_2 = np.zeros(n)
        a_3 = a_2
        a_4 = np.empty(n)
        a_5 = a_4
    else:
        a_3 = a_1
        a_5 = a
    n_2 = a_5.shape[0]
    for i in range(n_2):
        a_3[i] += x
    return a_1
"""


def test_the_chosen_array_is_filled():
    check(
        fuse_chosen_zero_fills,
        before=BEFORE,
        after="""
        def f(x, a, n, m):
            n_1 = a.shape[0]
            a_1 = np.empty(n_1)
            c = n_1 != n
            if c:
                for i_1 in range(n_1):
                    a_1[i_1] = 0.0
                a_2 = np.empty(n)
                a_3 = a_2
                a_4 = np.empty(n)
                a_5 = a_4
            else:
                a_3 = a_1
                a_5 = a
            n_2 = a_5.shape[0]
            for i in range(n_2):
                a_3[i] = x
            return a_1
        """,
    )


def test_extents_that_the_branch_compares_are_equal_where_it_is_not_taken():
    changed = fill_text(BEFORE.replace("a_5 = a\n", "a_5 = a_6\n").replace("(x, a,", "(x, a, a_6,"))
    assert "a_1 = np.zeros" in changed
    compared = BEFORE.replace("a_5 = a\n", "a_5 = a_6\n").replace("(x, a, n,", "(x, a, a_6,")
    changed = fill_text(compared.replace("    c =", "    n = a_6.shape[0]\n    c ="))
    assert "a_1 = np.empty" in changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("range(n_2)", "range(m)"),
        ("range(n_2)", "range(1, n_2)"),
        ("a_4 = np.empty(n)", "a_4 = np.empty(m)"),
        ("a_4 = np.empty(n)", "k = n\n        a_4 = np.empty(k)\n        k = m"),
        ("c = n_1 != n", "c = n_1 < n\n    a_1[0] = x"),
        ("a_5 = a\n", "a_5 = a\n        a_1[0] = x\n"),
        ("a_3 = a_2\n", "a_3 = a_2\n        y = a_2[0]\n"),
        ("        a_3[i] += x", "        if c:\n            a_3[i] += x"),
        ("        a_3[i] += x", "        a_3[i] += x\n        a_1[0] += x"),
        ("    n_2 =", "    y = a_1[0]\n    n_2 ="),
        ("    n_2 =", "    a_3 = a_1\n    n_2 ="),
    ],
)
def test_zeros_stay_where_the_loop_may_come_to_other_elements_or_others_meet_the_arrays(old: str, new: str):
    text = BEFORE.replace(old, new)
    assert text != BEFORE
    check(fuse_chosen_zero_fills, text, text)


def test_an_extent_that_changes_between_the_arrays_is_two():
    made = "k = n\n        a_2 = np.zeros(k)\n        a_3 = a_2\n        k = m\n        a_4 = np.empty(k)"
    text = BEFORE.replace("a_2 = np.zeros(n)\n        a_3 = a_2\n        a_4 = np.empty(n)", made)
    assert text != BEFORE
    check(fuse_chosen_zero_fills, text, text)
    assert "a_1 = np.empty" in fill_text(text.replace("        k = m\n", ""))


def fill_text(text: str) -> str:
    from tapec.backend import printer
    from tests.optimise.reading import read

    return printer.function(fuse_chosen_zero_fills(read(text)), quote=False)


def product(x, y, w):
    return (np.exp(x) * np.sin(y) / w).sum()


def chosen(x, y, w):
    first = x if w[0] > 2.0 else y
    return (first * first * 3.0).sum() + w[0]


@pytest.mark.compiled
def test_results_are_the_same_for_operands_of_all_extents():
    rng = np.random.default_rng(1)
    with interpreted():
        for f, extents in ((product, (1, 3, 0)), (chosen, (2, 3))):
            fast, plain = tapec.value_and_grad(f, (0, 1, 2)), tapec.value_and_grad(f, (0, 1, 2), opt_level=0)
            for n, m, k in itertools.product(extents, repeat=3):
                args = (rng.normal(size=n), rng.normal(size=m), rng.uniform(1.0, 3.0, size=k))
                try:
                    expected = plain(*args)
                except (ValueError, IndexError):
                    with pytest.raises((ValueError, IndexError)):
                        fast(*args)
                    continue
                value, gradients = fast(*args)
                assert np.isclose(value, expected[0], rtol=1e-13)
                for found, wanted in zip(gradients, expected[1], strict=True):
                    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)


def test_both_operands_of_an_expression_are_filled():
    text = tapec.emit(product, wrt=(0, 1), signature="f8[::1], f8[::1], f8[::1]", opt_level=2)
    assert "np.zeros" not in text
