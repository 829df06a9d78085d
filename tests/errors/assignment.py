"""Assignment, unpacking, deletion, raising: what is refused."""

from __future__ import annotations

import numpy as np

from tests.errors import Refusals

cases = Refusals()
refused = cases.refused
VECTOR = np.array([1.0, 2.0, 3.0])
FIXED = np.array([1.0, 2.0])
FIXED.setflags(write=False)


class Model:
    weight = 1.0


class OwnError(Exception):
    pass


MODEL = Model()


@refused(1.0)
def too_many_values(x):
    a, b = x, x * 2.0, 3.0
    return a * b


@refused(1.0)
def too_few_values_for_a_star(x):
    a, *b, c = (x,)
    return a * c


@refused(np.ones((3, 2)))
def star_of_rows(x):
    a, *b = x
    return np.sum(a * b[0])


@refused(1.0)
def unpacks_a_number(x):
    a, b = x * 2.0
    return a + b


@refused(1.0)
def stores_an_attribute(x):
    MODEL.weight = x
    return x


@refused(1.0)
def updates_an_attribute(x):
    MODEL.weight += x
    return x


@refused(VECTOR, FIXED)
def updates_a_read_only_array(x, fixed):
    fixed += 1.0
    return x.sum()


@refused(VECTOR, FIXED)
def stores_into_a_read_only_array(x, fixed):
    fixed[0] = 2.0
    return x.sum()


@refused(1.0)
def raises_again(x):
    if x > 0.0:
        raise
    return x


@refused(1.0)
def raises_something_else(x):
    if x > 0.0:
        raise MODEL
    return x


@refused(VECTOR)
def deletes_an_element(x):
    del x[0]
    return x.sum()


@refused(VECTOR, np.array([1, 2, 3]))
def stores_floats_into_integers(x, n):
    n += x
    return x.sum()


@refused(np.eye(2), np.eye(2, dtype=np.int64))
def multiplies_integers_in_place(x, n):
    n @= x
    return x.sum()


@refused(VECTOR, np.array(2))
def stores_a_float_into_an_integer_without_axes(x, n):
    n += x[0]
    return x.sum() * n


@refused(VECTOR)
def stores_into_a_tuple(x):
    t = (x[0], 2.0)
    t[0] = 1.0
    return t[0]


@refused(VECTOR)
def stores_a_function(x):
    x[:] = len
    return x.sum()


@refused(VECTOR)
def stores_a_matrix_into_a_vector(x):
    x[:] = np.ones((2, 3))
    return x.sum()


@refused(1.0)
def stores_beyond_a_list(x):
    values = [x, 2.0]
    values[2] = 3.0
    return values[0]
