"""Products by subscripts, padding and windows: what is refused of their arguments."""

from __future__ import annotations

import numpy as np

from tests.errors import Refusals

cases = Refusals()
refused = cases.refused
VECTOR = np.array([1.0, 2.0, 3.0])
MATRIX = np.ones((2, 3))


@refused(1.0)
def padding_of_a_number(x):
    return np.pad(x, 1)[0]


@refused(VECTOR)
def einsum_with_text_of_the_run(x):
    return np.einsum(f"{x[0]}", x)[0]


@refused(VECTOR)
def einsum_of_lists_of_axes(x):
    return np.einsum(x, [60], [60])[0]


@refused(VECTOR)
def einsum_into_an_array(x):
    y = np.empty(3)
    return np.einsum("i->i", x, order="C", out=y)[0]


@refused(VECTOR)
def einsum_of_too_few_arrays(x):
    return np.einsum("i,i->", x)


@refused(VECTOR)
def einsum_into_an_unknown_axis(x):
    return np.einsum("i->j", x)[0]


@refused(VECTOR, 0)
def tensordot_along_axes_of_the_run(x, k):
    return np.tensordot(x, x, axes=([k], [0]))


@refused(VECTOR)
def padding_by_two_values(x):
    return np.pad(x, 1, constant_values=((1.0, 2.0), (1.0, 2.0)))[0]


@refused(VECTOR)
def padding_by_nothing(x):
    return np.pad(x)[0]


@refused(VECTOR)
def einsum_of_nothing(x):
    return x[0] * np.einsum("i->")


@refused(VECTOR)
def padding_of_too_many_axes(x):
    return np.pad(x, ((1, 1), (1, 1), (2, 2)))[0]


@refused(MATRIX)
def windows_along_one_axis(x):
    return np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=0)[0, 0, 0]


@refused(MATRIX, 0)
def tensordot_along_a_number_of_axes_of_the_run(x, k):
    return np.tensordot(x, x, k)[0, 0]


@refused(VECTOR)
def tensordot_along_too_many_axes(x):
    return np.tensordot(x, x, 2)


@refused(MATRIX)
def tensordot_along_axes_without_partners(x):
    return np.tensordot(x, x, axes=([0, 1], [0]))


@refused(VECTOR)
def tensordot_along_an_axis_that_is_none(x):
    return np.tensordot(x, x, axes=([3], [0]))


@refused(VECTOR)
def padding_by_three_widths(x):
    return np.pad(x, (1, 1, 1))[0]


@refused(VECTOR)
def padding_by_a_dict_of_text(x):
    return np.pad(x, {"left": 1})[0]


@refused(VECTOR)
def padding_with_an_argument_of_another_mode(x):
    return np.pad(x, 1, stat_length=2)[0]


@refused(VECTOR)
def padding_at_the_edge_by_a_value(x):
    return np.pad(x, 1, mode="edge", constant_values=1.0)[0]


@refused(VECTOR)
def squeezing_whatever_is_one(x):
    return np.sum(np.squeeze(np.outer(x, x)))


@refused(VECTOR, 1)
def squeezing_an_axis_that_only_the_run_knows(x, k):
    return np.sum(np.squeeze(np.outer(x, x), axis=k))
