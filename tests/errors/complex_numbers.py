"""Complex numbers: what is refused."""

from __future__ import annotations

import numpy as np

import tapec
from tests.errors import Refusals

cases = Refusals()
refused = cases.refused
misuse = cases.misuse
VECTOR = np.array([1.0, 2.0, 3.0])
COMPLEX = np.array([1.0 + 2j, 0.5j, 3.0])


@refused(1j)
def orders_numbers(z):
    return abs(z) if z < 2j else 0.0


@refused(COMPLEX)
def largest_number(z):
    return np.maximum(z, 1.0)[0].real


@refused(COMPLEX)
def sorts_numbers(z):
    return np.sort(z)[0].real


@refused(COMPLEX)
def rounds_numbers(z):
    return np.sum(np.abs(np.round(z)))


@refused(COMPLEX)
def sorts_in_place(z):
    z.sort()
    return z[0].real


@refused(COMPLEX)
def place_of_the_largest(z):
    return z[z.argmax()].real


@refused(1j)
def becomes_a_float(z):
    return float(z)


@refused(COMPLEX)
def array_becomes_real(z):
    return z.astype(np.float64).sum()


@refused(1j, VECTOR)
def stored_into_a_real_array(z, x):
    x[0] = z
    return x[0]


@refused(COMPLEX, VECTOR)
def array_stored_into_a_real_array(z, x):
    x[:] = z * 2.0
    return x[0]


@refused(COMPLEX, VECTOR)
def array_stored_by_a_mask(z, x):
    x[x > 0] = z
    return x[0]


@refused(COMPLEX, VECTOR)
def added_to_a_real_array(z, x):
    x += z
    return x[0]


@refused(COMPLEX)
def read_as_floats(z):
    return z.view(np.float64)[0]


@refused(COMPLEX)
def written_in_another_shape(z):
    rows = z.reshape(3, 1)
    rows[0] = 1j
    return abs(z[0])


@refused(COMPLEX)
def index_is_complex(z):
    return z[z[0]].real


@refused(COMPLEX, 1.0)
def array_and_number_meet(z, x):
    w = z if x > 0 else 1j
    return abs(w[0])


@refused(1j)
def complex_result(z):
    return z * z


@refused(COMPLEX)
def complex_array_result(z):
    return z * z


@refused(COMPLEX, call=tapec.jacobian)
def jacobian_by_a_complex_argument(z):
    return np.abs(z)


@refused(COMPLEX)
def jacobian_inside(z):
    return tapec.jacrev(lambda w: np.abs(w))(z)[0, 0].real


@misuse
def complex_tangent_of_a_float():
    tapec.jvp(lambda x: x * x, (1.0,), (1j,))


@misuse
def complex_cotangent_of_real_results():
    tapec.vjp(lambda x: x * x, VECTOR)[1](COMPLEX)
