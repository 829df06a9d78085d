"""Products of two vectors that are added to a matrix after the loop, as one product of matrices."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.contractions.outer_product_batching import batch_outer_products
from tests.optimise.reading import check, read
from tests.oracles import interpreted
from tests.sampling import sampled

LOOP = """
def f(A, B, n, s, a, a1):
    n1 = B.shape[0]
    n2 = B.shape[1]
    i1 = n - 1
    for k in range({range}):
        for i in range({rows}):
            y = a[i]
            a[i] = 0.0
            z = y * s
            for j in range(n2):
                x = {other}
                u = x * z
                {store}
                w = x * x
                a[j] += w
        {after}
    return s
"""
AS_IT_IS = {
    "range": "i1, -1, -1",
    "rows": "n1",
    "other": "a1[j]",
    "store": "A[i, j] += u",
    "after": "a1[k] = s",
}


def test_vectors_are_kept_and_multiplied_at_the_end():
    check(
        batch_outer_products,
        before=LOOP.format(**AS_IT_IS),
        after="""
        def f(A, B, n, s, a, a1):
            n1 = B.shape[0]
            n2 = B.shape[1]
            i1 = n - 1
            t_1 = n >= 8
            t_2 = n1 >= 8
            t_3 = n2 >= 8
            n_1 = n * n1
            n_2 = n * n2
            n_3 = n_1 * n2
            t_4 = n_3 >= 16384
            t_5 = n_1 <= 16777216
            t_6 = n_2 <= 16777216
            t_7 = t_1 and t_2
            t_8 = t_7 and t_3
            t_9 = t_8 and t_4
            t_10 = t_9 and t_5
            t_11 = t_10 and t_6
            n_4 = n if t_11 else 0
            n_5 = n1 if t_11 else 0
            z_kept = np.empty((n_4, n_5))
            n_7 = n2 if t_11 else 0
            x_kept = np.empty((n_4, n_7))
            for k in range(i1, -1, -1):
                if t_11:
                    for j_1 in range(n2):
                        t_12 = a1[j_1]
                        x_kept[k, j_1] = t_12
                for i in range(n1):
                    y = a[i]
                    a[i] = 0.0
                    z = y * s
                    if t_11:
                        z_kept[k, i] = z
                        for j in range(n2):
                            x = a1[j]
                            u = x * z
                            w = x * x
                            a[j] += w
                    else:
                        for j_3 in range(n2):
                            x_2 = a1[j_3]
                            u_2 = x_2 * z
                            A[i, j_3] += u_2
                            w_2 = x_2 * x_2
                            a[j_3] += w_2
                a1[k] = s
            if t_11:
                t_13 = z_kept.T
                p = np.dot(t_13, x_kept)
                for i_1 in range(n1):
                    for j_2 in range(n2):
                        t_14 = p[i_1, j_2]
                        A[i_1, j_2] += t_14
            return s
        """,
        again=False,
    )


@pytest.mark.parametrize(
    "other",
    [
        {"range": "n"},
        {"store": "y1 = -u\n                A[i, j] += y1"},
        {"other": "B[k, j]"},
        {"after": "A[0, 0] += s"},
    ],
    ids=str,
)
def test_these_wait_as_well(other):
    function = read(LOOP.format(**(AS_IT_IS | other)))
    text = printer.function(batch_outer_products(function), quote=False)
    assert "np.dot(" in text


@pytest.mark.parametrize(
    "other",
    [
        # other iterations
        {"range": "1, n"},
        {"range": "0, n, 2"},
        {"rows": "k"},
        # the matrix is read, or overwritten
        {"after": "s2 = A[0, 0]"},
        {"after": "A[0, 0] = s"},
        {"store": "A[i, j] = u"},
        # other elements
        {"store": "A[j, i] += u"},
        {"store": "A[i, k] += u"},
        # no vector of its own
        {"other": "a[j]"},
        {"other": "B[i, j]"},
        {"other": "a1[0]"},
        {"other": "z + z"},
        {"store": "v = s * z\n                A[i, j] += v"},
        # the loop may end early
        {"after": "c = s > 1.0\n        if c:\n            break"},
        # iterations in any order
        {"after": "s3 = s", "other": "B[k, j]", "store": "A[i, j] += u", "rows": "n1"},
    ],
    ids=str,
)
def test_what_stays(other):
    text = LOOP.format(**(AS_IT_IS | other))
    if other.get("after") == "s3 = s":
        text = text.replace("a[i] = 0.0", "y2 = y").replace("a[j] += w", "w1 = w")
    function = read(text)
    assert "np.dot(" not in printer.function(batch_outer_products(function), quote=False)


def recurrent(w, v, x, h0):
    h = h0.copy()
    new = np.zeros_like(h)
    loss = 0.0
    for t in range(x.shape[0]):
        for i in range(w.shape[0]):
            s = 0.0
            for k in range(w.shape[1]):
                s += w[i, k] * h[k]
            for k in range(v.shape[1]):
                s -= v[i, k] * x[t, k]
            new[i] = np.tanh(s)
        for i in range(w.shape[0]):
            h[i] = new[i]
            loss += h[i] * h[i]
    return loss


def layers(w, v, x, h0):
    """Two matrices in one array, and a vector that each iteration makes."""
    h = h0
    loss = 0.0
    for t in range(x.shape[0]):
        z = np.tanh(w @ h + v[0] @ x[t])
        h = h - w @ (z * h) + v[1] @ x[t]
        loss += (h * h).sum()
    return loss


# one of the two products is large enough, both, none; no iteration, no row
SIZES = [(6, 24, 24), (40, 24, 9), (40, 9, 24), (40, 24, 24), (40, 24, 5), (0, 9, 9), (3, 0, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", sampled(["float64", "float32"], 2))
@pytest.mark.parametrize("sizes", sampled([pytest.param(sizes) for sizes in SIZES], 7), ids=str)
def test_gradients_are_those_of_the_textbook_adjoint(sizes, dtype):
    steps, n, m = sizes
    rng = np.random.default_rng(4)
    w, v, x, h = (rng.normal(size=s) / 5 for s in ((n, n), (n, m), (steps, m), (n,)))
    programs = [(recurrent, v)]
    if n:
        programs.append((layers, np.stack((v, 2.0 * v))))
    for f, other in programs:
        args = [a.astype(dtype) for a in (w, other, x, h)]
        with interpreted():
            found, expected = (
                tapec.value_and_grad(f, wrt=(0, 1, 3), opt_level=level)(*args) for level in (2, 0)
            )
        near = 1e-10 if dtype == "float64" else 2e-3
        assert found[0] == pytest.approx(expected[0], rel=near)
        for mine, wanted in zip(found[1], expected[1], strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=near, atol=near * (1.0 + np.abs(wanted).max(initial=0.0)))


def test_the_product_is_there_and_told():
    signature = "f8[:,::1], f8[:,::1], f8[:,::1], f8[::1]"
    text = tapec.emit(recurrent, wrt=(0, 1), signature=signature, opt_level=2)
    assert text.count("np.dot(") == 2
    assert "np.dot(" not in tapec.emit(recurrent, wrt=(0, 1), signature=signature, strict=True, opt_level=2)
    notes = tapec.explain(recurrent, wrt=(0, 1), signature=signature).notes
    told = [str(note) for note in notes if note.by == "outer_product_batching"]
    assert sorted(told) == [
        "added later: where the loops make many iterations, what they add to `v_bar` is one product, after the loop",
        "added later: where the loops make many iterations, what they add to `w_bar` is one product, after the loop",
    ]
