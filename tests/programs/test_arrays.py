"""Indexing, views, broadcasting and creation of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import Case, Cases, arr
from tests.sampling import sampled
from tests.typed import interpreted

cases = Cases()

MASK = np.array([True, False, True, True])
PICK = np.array([2, 0, 2, -1])


@cases((arr(3), arr(3)))
def update_by_an_array_literal(m, a):
    # where the extents differ the literal does not fit: that side of the test always raises
    a += np.array([m[0], 2.0, a[1]])
    return np.sum(a * a)


@cases((arr(2, 3, 4),))
def slices(a):
    b = a[1]
    c = a[:, 1:, ::2]
    d = a[..., -1]
    e = a[0, ::-1, 1:3]
    f = a[-1, ..., None]
    g = b[:, np.newaxis, 1]
    return b * 2.0, c * c, d[1] * d[0], e * 3.0, f * f, g * 2.0, a[1, 2, 3] * a[-1, -1, -1], a[1:1] * 2.0


@cases((arr(6), arr(2)))
def slice_stores(a, b):
    a[1:3] = b * a[0]
    a[::3] = 0.5
    a[-1:-3:-1] += b
    a[...] *= a[1]
    a[2:2] = 7.0
    m = np.zeros((3, 2))
    m[:] = b
    m[1:, 0] = a[:2]
    m[0] -= m[1] * b
    return a.copy(), m


@cases((arr(4), PICK))
def integer_array_index(a, pick):
    b = a[pick]
    m = arr_of(a)[pick]
    return b * b, m * 2.0, arr_of(a)[:, pick] * 3.0


def arr_of(a):
    return np.outer(a, a)


@cases((arr(4), np.array([2, 0]), arr(2)), compiled="reverse")
def integer_array_store(a, pick, b):
    a[pick] = b * a[1]
    a[pick] += b
    a[pick] *= 2.0
    return a.copy()


@cases((arr(4), PICK))
def accumulate_at_repeated_indices(a, pick):
    out = np.zeros(4)
    for k in range(pick.size):
        out[pick[k]] += a[k] ** 2
    out[pick] += a
    return out


@cases((arr(4), MASK))
def mask_index(a, mask):
    return a[mask] * 2.0, a[a > 1.0] ** 2, a[~mask].sum()


@cases((arr(4), MASK, 1.7), compiled="both")
def mask_store(a, mask, x):
    a[mask] = x * a[1]
    a[a > 1.6] = 0.25
    b = a * x
    b[~mask] += 2.0 * x
    b[mask] *= x
    b[mask] = a[mask] ** 2
    return a * x, b


@cases((arr(1), arr(3)), (arr(3), arr(3)), (arr(3), arr(1)))
def written_between_two_expressions(a, b):
    # the copy of full shape that the first expression reads is out of date in the second
    c = a * b
    a[0] = 5.0 * b[0]
    d = a * b
    return c[0] + np.sum(d * d)


@cases((arr(1), arr(3)), (arr(3), arr(3)), compiled="reverse")
def written_in_a_loop_between_sums(a, b):
    total = np.sum(a * b)
    for _ in range(3):
        total += np.sum(a * b)
        a[0] = 0.1 * total
    return total + np.sum(a * b)


@cases((arr(1), arr(3)), (arr(3), arr(3)))
def written_through_a_view_on_one_way(a, b):
    c = a * b
    if c[0] > -100.0:
        view = a[:]
        view[0] *= 2.0
    return np.sum(c * (a * b))


@cases((arr(2, 1, 3), arr(4, 1), 2.0))
def broadcasting(a, b, x):
    c = a * b
    d = c + a[0, 0] - x
    e = np.maximum(d, b) / (1.0 + a)
    c += b
    c[:, 1] *= a[:, 0]
    return c, e, x * b, a[:, :, :1] * b.T


@cases(
    (arr(3, 4), arr(3), arr(4)),
    (arr(1, 4), arr(1), arr(4)),
    (arr(3, 4), arr(1), arr(4)),
    (arr(3, 1), arr(3), arr(1)),
)
def stores_of_columns_and_rows(m, column, row):
    m[:] += column[:, None]
    m[1:, :] *= column[-2:, np.newaxis] + row[None]
    m[:, ::2] = column[:, None]
    return m * row


@cases((arr(2, 3, 4), arr(2)), compiled="reverse")
def stores_into_a_face(a, b):
    a[:, 1] += b[:, None]
    a[0, ...] -= a[1, :, 0][:, None]
    return a


@cases((arr(3), 1.4))
def creation(a, x):
    z = np.zeros(3) + x
    o = np.ones((2, 3)) * a
    f = np.full((2, 2), x) * 2.0
    e = np.empty(3)
    e[:] = a * x
    k = np.arange(3) * x + np.arange(0.5, 2.0, 0.5)
    i = np.eye(3) * a + np.identity(3)
    zl = np.zeros_like(a) + a
    ol = np.ones_like(o) * o
    fl = np.full_like(a, 2.0) * a
    el = np.empty_like(a)
    el[:] = x
    return z, o, f, e, k, i, zl, ol, fl, el


@cases((0.3, 2.1))
def linspaces(lo, hi):
    return np.linspace(lo, hi, 4) ** 2, np.full(2, lo) * hi, np.arange(1.0, 3.0) * lo


@cases((arr(3), 1.4), compiled="reverse")
def array_copies(a, x):
    b = np.array(a)
    c = np.asarray(a)
    d = np.copy(a)
    e = a.astype(np.float64)
    f = np.ascontiguousarray(a)
    b[0] *= x
    d[1] = x
    e *= 2.0
    return b, c * x, d, e, f[0] * x


@cases((arr(3, 2),))
def shapes_of_arrays(a):
    n, m = a.shape
    return a.sum() * n * m * a.size * a.ndim * len(a) * a.T.shape[0]


@cases((arr(2, 3), arr(3)))
def in_place_operators(a, b):
    a += b
    a *= a
    a -= 1.0
    a /= b + 1.0
    a[0] **= 2
    return a.copy()


@cases((arr(4),))
def elementwise_functions(a):
    return (
        np.exp(a) + np.log(a) * np.sqrt(a) - np.sin(a) * np.cos(a) + np.tan(0.3 * a),
        np.tanh(a) + np.arctan2(a, 2.0) + np.hypot(a, 1.0) + np.log1p(a) + np.expm1(a),
        np.abs(a - 1.0) * np.sign(a) + np.power(a, 1.5) + np.square(a) + np.float_power(a, 2.0),
        np.minimum(a, 1.0) * np.maximum(a, a[::-1]) + np.where(a > 1.0, a * a, -a) + np.clip(a, 0.5, 1.2),
    )


@cases((arr(3, 3), arr(3)))
def element_access_forms(a, b):
    s = 0.0
    for i, j in np.ndindex(a.shape):
        idx = (i, j)
        s += a[idx] * a[i][j] * b[-j]
    for i in range(-1, 2):
        s += a[i, -i] * b[i]
    for v in a.flat:
        s += v**2
    for i, v in np.ndenumerate(b):
        s += v * i[0]
    return s + b[:1].item()


@cases((np.zeros((0, 3)), np.zeros(0)), compiled="reverse")
def zero_size_arrays(a, b):
    return a * 2.0, (a * a).sum() + b.sum(), np.cumsum(b), np.concatenate((b, b))


@pytest.mark.parametrize("case", sampled(cases, 8), ids=str)
def test_arrays(case: Case):
    case.check()


def masked_load(a, mask):
    return (a[mask] ** 2).sum()


def masked_store(a, mask):
    a[mask] = 2.0
    return (a * a).sum()


@pytest.mark.parametrize("extent", [3, 6])
@pytest.mark.parametrize("f", [masked_load, masked_store])
def test_a_mask_of_another_extent_is_an_error(f, extent):
    # Numba takes what it finds behind the end of the array or of the mask
    mask = np.arange(extent) % 2 == 0
    with interpreted(), pytest.raises(IndexError, match="boolean index did not match"):
        tapec.grad(f)(arr(4), mask)
