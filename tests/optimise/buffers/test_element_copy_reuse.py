"""Elements of an array that two loops of an iteration keep for the reverse sweep, kept once."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.buffers.element_copy_reuse import share_element_copies
from tests.optimise.reading import check, read
from tests.oracles import check as check_derivative
from tests.oracles import interpreted

LOOPS = """
def f(a, a1, n, A):
    B = np.empty((n, n))
    C = np.empty((n, n))
    for k in range(1, n):
        k1 = k - 1
        for i in range({first}):
            x = {one}
            B[k1, i] = x
            {beside}
        {between}
        for j in range({second}):
            n2 = k1 - j
            y = {other}
            C[k1, j] = y
            {after}
    for k2 in range(1, n):
        k3 = k2 - 1
        for i2 in range(k2):
            x1 = B[k3, i2]
            y1 = C[k3, i2]
            z = x1 * y1
            a1[i2] += z
"""
AS_IT_IS = {
    "first": "k",
    "one": "a[i]",
    "beside": "w = x",
    "between": "w1 = 1.0",
    "second": "k",
    "other": "a[n2]",
    "after": "w2 = y",
}


def test_a_record_in_reverse_is_read_from_the_other_one():
    check(
        share_element_copies,
        before=LOOPS.format(**AS_IT_IS),
        after="""
        def f(a, a1, n, A):
            B = np.empty((n, n))
            for k in range(1, n):
                k1 = k - 1
                for i in range(k):
                    x = a[i]
                    B[k1, i] = x
                    w = x
                w1 = 1.0
                for j in range(k):
                    n2 = k1 - j
                    y = a[n2]
                    w2 = y
            for k2 in range(1, n):
                k3 = k2 - 1
                for i2 in range(k2):
                    x1 = B[k3, i2]
                    size = k3 - i2
                    y1 = B[k3, size]
                    z = x1 * y1
                    a1[i2] += z
        """,
    )


@pytest.mark.parametrize(
    ("other", "gone"),
    [
        # the second loop goes over less, or stores what it has read
        ({"first": "n", "other": "a[j]"}, "C"),
        ({"first": "n", "other": "a[j]", "second": "n"}, "B"),
        ({"other": "a[j]", "after": "a[j] = 2.0"}, "B"),
        # the first one goes over less
        ({"second": "n", "other": "a[j]"}, "B"),
        # an element of a row that stands still
        ({"one": "A[k, i]", "other": "A[k, n2]"}, "C"),
        # only some elements
        ({"after": "w2 = y\n            if w2 > 1.0:\n                w3 = y"}, "C"),
    ],
    ids=str,
)
def test_these_are_kept_once(other, gone):
    function = read(LOOPS.format(**(AS_IT_IS | other)))
    text = printer.function(share_element_copies(function), quote=False)
    assert f"{gone} = np.empty" not in text and f"{gone}[" not in text
    assert text.count("np.empty(") == 1


@pytest.mark.parametrize(
    "other",
    [
        # the array changes from one to the other
        {"between": "a[0] = 1.0"},
        {"beside": "a[i] = 1.0"},
        {"beside": "a[i] += 1.0"},
        {"after": "a[n2] = 1.0"},
        {"after": "a[j] = 1.0"},
        {"between": "a = a1"},
        # neither has all elements of the other one
        {"first": "2, n", "other": "a[j]"},
        {"first": "0, n, 2", "other": "a[j]", "second": "0, n, 3"},
        # other arrays
        {"other": "a1[j]"},
        {"one": "A[k, i]", "other": "A[k1, j]"},
        {"one": "A[i, i]", "other": "A[j, j]"},
        # a record that is read before it is complete
        {"between": "w1 = C[0, 0]"},
        # every iteration the same element
        {"one": "a[k]", "other": "a[j]"},
        # a loop that may end early
        {"beside": "if x > 1.0:\n                break", "after": "if y > 1.0:\n                break"},
    ],
    ids=str,
)
def test_these_are_not(other):
    text = LOOPS.format(**(AS_IT_IS | other))
    check(share_element_copies, text, printer.function(read(text), quote=False))


def test_a_parameter_may_be_stored_beside_them():
    text = LOOPS.format(**(AS_IT_IS | {"between": "a2[k1] = s"})).replace("A):", "A, s):")
    text = text.replace("    for k in", "    a2 = np.empty(n)\n    for k in", 1)
    text = text.replace("z = x1 * y1", "w4 = a2[k3]\n            z = x1 * w4")
    found = printer.function(share_element_copies(read(text)), quote=False)
    assert found.count("np.empty(") == 2 and "a2[k1] = s" in found


def durbin(r):
    n = r.shape[0]
    y = np.zeros(n)
    other = np.zeros(n)
    y[0] = -r[0]
    alpha = -r[0]
    beta = 1.0
    for k in range(1, n):
        beta *= 1.0 - alpha * alpha
        s = r[k]
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -s / beta
        for i in range(k):
            other[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = other[i]
        y[k] = alpha
    return (y * y).sum()


def normalised(y, w, steps):
    y = y.copy()
    for t in range(steps):
        s = 1.0
        for i in range(len(y)):
            s += y[i] * y[i] * w[i]
        for i in range(len(y)):
            y[i] = np.sin(y[i]) / s + y[i]
    return y.sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "args", "signature", "array", "stores"),
    [
        (durbin, lambda rng: (0.1 * rng.normal(size=6),), "f8[::1]", "y", 1),
        (normalised, lambda rng: (*rng.normal(size=(2, 4)), 3), "f8[::1], f8[::1], i8", "y", 2),
    ],
)
def test_gradients_of_programs_with_such_records(rng, f, args, signature, array, stores):
    wrt = tuple(range(signature.count("f8")))
    with interpreted():
        check_derivative(f, args(rng))
    text = tapec.emit(f, wrt, signature=signature, opt_level=2)
    # those with two axes
    assert text.count("_store = np.empty((") == stores
    told = [str(note) for note in tapec.explain(f, wrt, signature=signature).notes if note.by == "element_copy_reuse"]
    assert told == [f"not kept again: an iteration keeps these elements of `{array}` already"]


def test_a_parameter_that_is_kept_is_no_element():
    def filled(x, a, m):
        m += np.prod(np.full((3, 4, 3), x), axis=-1) > 0.44
        a = np.append(a[1], a[1])
        return (m * m).sum() + a.sum()

    assert "np.prod" in tapec.emit(filled, (0, 1), "f8, f8[:], f8[:, :]", opt_level=2)
