"""Subscripts: what is refused."""

from __future__ import annotations

import numpy as np

from tests.errors import Refusals

cases = Refusals()
refused = cases.refused
VECTOR = np.array([1.0, 2.0, 3.0])
MATRIX = np.ones((3, 4))
PLACES = np.array([0, 2])
SETTINGS = {"low": 1.0}


@refused(1.0)
def subscript_of_a_number(x):
    return x[0]


@refused(VECTOR)
def too_many_subscripts(x):
    return x[0, 1]


@refused(VECTOR)
def float_subscript(x):
    return x[1.0]


@refused(VECTOR)
def word_subscript(x):
    return x["a"]


@refused(np.ones((2, 3)))
def two_ellipses(x):
    return x[..., None, 0, ...].sum()


@refused(VECTOR)
def array_index_of_floats(x):
    return x[x].sum()


@refused(MATRIX, PLACES)
def mask_beside_an_index_array(x, k):
    return x[x[:, 0] > 0.0, k].sum()


@refused({"a": 1.0, "b": 2.0})
def key_that_is_a_number(p):
    return p[0]


@refused({"a": 1.0, "b": 2.0})
def missing_key(p):
    return p["c"]


@refused(1.0)
def missing_setting(x):
    return x * SETTINGS["high"]


@refused(1.0, 2)
def slice_of_a_tuple(x, n):
    t = (x, x * x, 2.0)
    return t[:n][0]


@refused(1.0)
def beyond_a_tuple(x):
    t = (x, x * x)
    return t[2]


@refused(1.0, 0)
def into_an_empty_tuple(x, k):
    t = ()
    return x * t[k]


@refused(np.ones((3, 4)))
def store_into_a_reshaped_view(x):
    y = x * 2.0
    flat = y[:2, :].reshape(8)
    flat[0] = x[0, 0] ** 2
    return y.sum()


@refused(np.ones(3))
def store_beside_a_broadcast_view(x):
    y = x * 2.0
    rows = np.broadcast_to(y, (2, 3))
    y[0] = x[0] ** 2
    return rows.sum()


@refused(np.ones((3, 3)))
def store_beside_a_diagonal_in_a_loop(x):
    y = x * 2.0
    d = y.diagonal()
    s = 0.0
    for i in range(3):
        s += d[i]
        y[i, i] = x[i, 0] ** 2
    return s


@refused(1.0, 9)
def part_of_a_range_of_an_argument(x, n):
    for k in range(n)[1:]:
        x = x * k
    return x
