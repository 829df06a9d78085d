"""What Numba's decorators say: what is refused."""

from __future__ import annotations

import numba
import numpy as np
from numba import float64, njit, objmode, types
from numba.extending import overload
from numba.typed import Dict, List

import tapec
from tests.errors import Refusals

cases = Refusals()
misuse, refused = cases.misuse, cases.refused
VECTOR = np.array([1.0, 2.0, 3.0])


@misuse
def an_option_that_numba_does_not_have():
    @njit(fast=True)
    def f(x):
        return x * x

    tapec.grad(f)(1.0)


@misuse
def a_decision_about_inlining():
    @njit("f8(f8)", inline=lambda *parts: True)
    def k(x):
        return x

    @njit
    def f(x):
        return k(x) * x

    tapec.grad(f)(1.0)


@misuse
def signatures_that_fit_equally_well():
    @njit(["f8(f4, f8)", "f8(f8, f4)"])
    def f(x, y):
        return x * y

    tapec.grad(f)(1, 2)


@misuse
def no_signature_that_fits():
    @njit("f8(f8)")
    def f(x):
        return x * x

    tapec.grad(f)(np.ones(3))


@misuse
def no_signature_that_fits_a_call():
    @njit("f8(f8)")
    def k(x):
        return x * x

    def f(x):
        return k(np.ones(3) * x)

    tapec.grad(f)(1.0)


@misuse
def an_argument_of_another_function_type():
    @njit(float64(types.FunctionType(types.int64(float64)), float64))
    def apply(g, x):
        return g(x)

    @njit
    def k(x):
        return x * 2.5

    tapec.grad(lambda x: apply(k, x) * x)(1.0)


@misuse
def a_function_that_is_decorated_twice():
    def f(x):
        @njit
        @njit
        def k(x):
            return x * x

        return k(x)

    tapec.grad(f)(1.0)


@refused(1.0)
def a_signature_that_numba_does_not_read(x):
    @njit("f8(f8", nogil=True)
    def k(x):
        return x

    return k(x)


@refused(1.0)
def a_signature_that_only_the_run_knows(x):
    @njit([float64(float64), x])
    def k(x):
        return x

    return k(x)


def chosen(x):
    raise NotImplementedError


@overload(chosen)
def overload_chosen(x):
    if isinstance(x, types.Float):
        return "text"
    return None


@misuse
def an_overload_that_gives_no_function():
    @njit
    def f(x):
        return chosen(x)

    tapec.grad(f)(1.0)


@misuse
def no_overload_that_fits():
    @njit
    def f(x):
        return chosen(np.ones(2) * x)

    tapec.grad(f)(1.0)


@refused(1.0)
def a_type_of_objmode_that_numba_does_not_have(x):
    with objmode(y="f9"):
        y = x * x
    return y


@refused(1.0)
def a_type_of_objmode_that_is_none(x):
    with objmode(y=x):
        y = x * x
    return y


@refused(np.ones(2))
def another_type_than_objmode_says(x):
    with objmode(y="f4[:]"):
        y = x * x
    return y[0]


@refused(1.0)
def a_variable_of_objmode_that_is_not_set(x):
    with objmode(y="f8"):
        z = x * x
    return z


@refused(1.0)
def a_typed_dict_without_types(x):
    parts = Dict()
    parts["a"] = x
    return parts["a"]


@refused(1.0)
def a_typed_dict_of_narrow_numbers(x):
    parts = Dict.empty(types.unicode_type, types.float32)
    parts["a"] = x
    return parts["a"] * x


@refused(1.0)
def a_typed_list_of_what_is_no_type(x):
    return List.empty_list(x)


@refused(np.ones(2))
def a_typed_list_that_gets_an_item_of_another_type(x):
    held = List.empty_list(types.float64)
    held.append(x)
    return held[0]


@numba.guvectorize(["f8[:],f8,f8[:]"], "(n),()->(n)")
def scaled(a, k, out):
    out[:] = k * a


@numba.guvectorize("(n)->(n)")
def copied(a, out):
    out[:] = a


@numba.guvectorize(["f8[:],f8[:]"], "(n)->(n)", writable_args=(0,))
def cleared(a, out):
    out[:] = a
    a[:] = 0.0


@numba.guvectorize(["f8[:],f8[:],f8[:]"], "(n),(m)->(m)")
def second(a, b, out):
    out[:] = b


@refused(VECTOR)
def a_generalised_function_with_a_keyword(x):
    return scaled(x, 2.0, axis=0).sum()


@refused(VECTOR)
def a_generalised_function_that_writes_into_inputs(x):
    return cleared(x).sum()


@refused(VECTOR)
def a_generalised_function_without_an_argument(x):
    return scaled(x).sum()


@refused(VECTOR)
def a_generalised_function_in_place(x):
    y = x * x
    scaled(y, 2.0, y)
    return y.sum()


@refused(VECTOR)
def a_number_in_place_of_an_axis(x):
    return scaled(x[0], 2.0).sum()


@refused(VECTOR)
def a_generalised_function_of_unknown_results(x):
    return copied(x).sum()


@refused(VECTOR)
def no_signature_of_a_generalised_function_fits(x):
    return scaled(x * 1j, 2.0).real.sum()


@numba.stencil
def neighbours(a):
    return a[-1] + a[1]


@numba.stencil
def beside(a, b):
    return a[-1] * b[1]


@numba.stencil
def far(a):
    step = 2
    return a[step]


@numba.stencil(neighborhood=((0, 1),))
def row(a):
    return a[0:2].sum()


@numba.stencil
def pair(a):
    return a[0], a[1]


@numba.stencil(cval=0.5)
def counted(a):
    return int(a[0])


@numba.stencil(neighborhood=((-1, 1),))
def around(a):
    return a[-1] + a[1]


@refused(VECTOR)
def a_stencil_with_a_keyword(x):
    return neighbours(x, axis=0).sum()


@refused(VECTOR)
def a_stencil_of_a_number(x):
    return neighbours(x[0])[0]


@refused(VECTOR)
def a_stencil_of_two_ranks(x):
    return beside(x, np.outer(x, x)).sum()


@refused(VECTOR)
def a_stencil_that_looks_anywhere(x):
    return far(x).sum()


@refused(VECTOR)
def a_stencil_of_slices(x):
    return row(x).sum()


@refused(VECTOR)
def a_stencil_of_tuples(x):
    return pair(x)[0]


@refused(VECTOR)
def a_border_of_another_dtype(x):
    return x[0] * counted(x)[1]


@refused(VECTOR)
def a_neighborhood_of_another_rank(x):
    return around(np.outer(x, x)).sum()


@refused(VECTOR)
def a_stencil_in_place(x):
    y = x * x
    neighbours(y, out=y)
    return y.sum()
