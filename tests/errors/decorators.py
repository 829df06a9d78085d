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
def a_generalised_function(x):
    return generalised(np.ones(3) * x)


@numba.guvectorize(["f8[:],f8[:]"], "(n)->()")
def generalised(a, out):
    out[0] = a.sum()


@refused(1.0)
def a_stencil(x):
    return neighbours(np.ones(3) * x).sum()


@numba.stencil
def neighbours(a):
    return a[-1] + a[1]


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
