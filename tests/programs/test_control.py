"""Control flow: loops that stop early or never run, branches on data, early returns, recursion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

from tests.oracles import Case, Cases, arr
from tests.sampling import sampled

cases = Cases()


@cases((arr(3, 4),))
def grids_counted_through(a):
    """`break` out of a grid, and a grid beside something else."""
    s = 0.0
    for i, j in np.ndindex(3, 2):
        if i * 2 + j > 3:
            break
        s += a[i, j] ** 3
    for k, (i, j) in enumerate(np.ndindex(a.shape)):
        s += a[i, j] * k
    for (i, j), v in np.ndenumerate(a):
        if v > 1.4:
            break
        s += v * v * i + j
    for (i,), v in zip(np.ndindex(3), a[0]):
        s *= v + a[i, 1]
    return s


@cases((1.3, 3), (1.3, 0))
def overwritten_in_a_loop_and_used_after(x, n):
    y = x
    for _ in range(n):
        y = math.sin(y) * x
    return y * x + y


@cases((arr(3), 0), (arr(3), 3))
def loop_that_may_not_run(a, n):
    s = 2.0
    for i in range(n):
        s *= a[i]
    for i in range(n, 0):
        s += a[i]
    return s + a[0]


@cases((arr(5), 1.0), (arr(5), 99.0), (arr(5), -1.0), compiled="reverse")
def break_after_writes(a, limit):
    out = np.zeros(a.size)
    s = 0.0
    for i in range(a.size):
        out[i] = a[i] * a[i]
        s += out[i] * a[0]
        if s > limit:
            break
        out[i] *= s
    return out, s


@cases((arr(4, 3), 1.2), (arr(4, 3), 9.0), (np.zeros((0, 3)), 1.0))
def return_from_nested_loops(a, limit):
    s = 0.0
    for i in range(a.shape[0]):
        p = 1.0
        for j in range(a.shape[1]):
            p *= a[i, j]
            if a[i, j] > limit:
                return p + s
        s += p * p
    return s * limit


@cases((arr(6), 0), (arr(6), 2), (arr(6), 7))
def return_in_while(a, k):
    i = 0
    s = 1.0
    while True:
        if i == k:
            return s
        if i >= a.size:
            break
        s = s * a[i] + 0.5
        i += 1
    return -s


@cases((1.2, 2.0), (2.0, 1.2), (-0.3, 1.0))
def branches_on_active_values(x, y):
    if x > y:
        z = x * y
    elif x < 0:
        z = math.exp(x)
        if z > 0.5:
            z = z * y
    else:
        z = x - y * y
    return z * z


@cases((arr(5), 2), (arr(5), 9))
def continue_in_for(a, skip):
    s = 1.0
    for i in range(a.size):
        if i == skip:
            continue
        s *= a[i]
        if s < 0.3:
            continue
        s = s * s
    return s


@cases((3.0,), (0.5,))
def continue_in_while(x):
    n = 0
    s = x
    while n < 6:
        n += 1
        if n % 2 == 0:
            continue
        s = math.sin(s) + n * x
    return s


@cases((arr(5), 1.1), (arr(5), 7.0), (arr(0), 1.0))
def for_else(a, limit):
    s = 0.5
    for v in a:
        if v > limit:
            s *= v
            break
        s += v * v
    else:
        s = s * limit
    return s


@cases((1.5, 3.0), (1.5, 500.0), compiled="reverse")
def while_else(x, limit):
    s = x
    n = 0
    while n < 5:
        s = s * x
        if s > limit:
            break
        n += 1
    else:
        s = math.log(s)
    return s


@cases((1.5, True), (1.5, False))
def defined_in_one_branch_only(x, flag):
    if flag:
        y = x * x
    z = x + 1.0
    if flag:
        z = z * y
    return z


@cases((1.5, 3), (1.5, 0))
def loop_variable_used_after(x, n):
    i = 7
    y = x
    for i in range(n):
        y = y * x
    return y * i


@cases((0.7, 2), (0.7, 3), (0.2, 2))
def return_from_nested_ifs(x, n):
    if x > 0.5:
        if n % 2 == 0:
            return x * x
    return 3.0 * x


@cases((1.4, 5))
def loop_variable_reassigned(x, n):
    s = 0.0
    for i in range(n):
        i = i * 2
        s += x**i
    return s


@cases((arr(4, 4),))
def triangular_nested_loops(a):
    s = 0.0
    for i in range(4):
        for j in range(i, 4):
            for k in range(j, i - 1, -2):
                s += a[i, j] * a[j, k]
    return s


@cases((1.5, 4, 3), (1.5, 3, 0), (1.5, 0, 5))
def while_inside_for(x, n, m):
    s = x
    for i in range(n):
        k = 0
        while k < m - i:
            s = math.sin(s) + x * k
            k += 1
        s = s * x
    return s


@cases((30.0, 1.5), (1.0, 1.5), compiled="both")
def while_on_active_condition(x, r):
    n = 0
    while x > 2.0:
        x = x / r - 0.1 * math.sin(x)
        n += 1
    return x * (n + 1)


@cases((2.0, 3), (2.0, 1))
def break_from_inner_loop_alone(x, m):
    s = 0.0
    for i in range(3):
        t = x
        for j in range(5):
            if j == m + i:
                break
            t *= x
        s += t
    return s


@cases((arr(6),), compiled="reverse")
def several_exits(a):
    s = 1.0
    for i in range(6):
        if i == 4:
            break
        if a[i] > 1.5:
            s *= 2.0 * a[i]
            continue
        if a[i] > 1.0:
            s -= a[i] ** 2
            if s < -50.0:
                return s
        s = s * a[i] + 1.0
    return s + a[0]


@njit
def factorial_like(x, n):
    if n <= 0:
        return 1.0
    return (x + n) * factorial_like(x, n - 1)


@cases((0.7, 4), (0.7, 0))
def recursion(x, n):
    return factorial_like(x, n) * x


@njit
def fold(a, lo, hi):
    if hi - lo == 1:
        return a[lo] * a[lo]
    mid = (lo + hi) // 2
    left = fold(a, lo, mid)
    right = fold(a, mid, hi)
    return left * right + left


@cases((arr(5),), (arr(1),), compiled="reverse")
def recursion_over_an_array(a):
    return fold(a, 0, a.size)


@cases((0.3, 0.0), (0.0, 0.0), (-0.2, 1.0), wrt=(0,), compiled="reverse")
def untaken_branch_is_not_finite(x, y):
    return (math.sqrt(x) if x > 0.1 else 3.0 * x) + (1.0 / y if y != 0.0 else y)


@cases((1.5, 2.0), (0.5, 2.0))
def conditional_assignment_chain(x, y):
    best = x
    other = y
    if other > best:
        best, other = other, best
    if best > 1.0:
        other = best * other
    return best - other * other


@cases((1.7,), compiled="reverse")
def guard_that_raises(x):
    if x < 0.0:
        raise ValueError("x must not be negative")
    assert x != 3.0, "not three"
    return math.sqrt(x)


@cases((1.3, 8))
def series_until_converged(x, most):
    term = 1.0
    total = 1.0
    for k in range(1, most):
        term = term * x / k
        total = total + term
        if abs(term) < 1e-3 * abs(total):
            return total
    raise ValueError("series did not converge")


@cases((arr(4), 3), (arr(4), 0))
def integer_accumulator_becomes_float(a, n):
    s = 0
    for i in range(n):
        s += a[i] * i
    return s + a[0]


@cases((arr(4),), compiled="reverse")
def state_machine(a):
    state = 0
    s = 1.0
    i = 0
    while state != 3:
        if state == 0:
            s = s * a[i]
            state = 1 if a[i] > 1.0 else 2
        elif state == 1:
            s = s + a[i] ** 2
            state = 2
        else:
            i += 1
            state = 0 if i < 4 else 3
    return s


@cases((0.3,), (1.2,))
def series_left_by_a_return_alone(x):
    if x >= 1.0:
        return x * x
    else:
        total, term, k = 1.0, 1.0, 1
        while True:
            term *= x * k / (k + 1)
            old = total
            total += term
            if total - old < 1e-9:
                return total
            k += 1


@cases((0.6, 5), (1.2, 5), (0.9, 2), (1.2, 0))
def endless_loops_in_a_loop(x, n):
    s = 0.0
    for i in range(n):
        t = x
        while True:
            t *= 0.5 * x
            if t < 0.2:
                break
            if s > 2.0:
                return s * t
        s += t
        while 1:
            t += 0.3
            if t > 1.0 and i == 3:
                return s * t * x
            if t > 1.5:
                if i == 1:
                    break
                while True:
                    t = t * t
                    if t > 3.0:
                        return s - t * x
    return s * x


@cases((arr(6), 5), (arr(6), 0))
def stack_of_places(x, start):
    stack = [start]
    stack.append(0)
    s = 0.0
    while len(stack) > 0:
        place = stack[-1]
        stack.pop(-1)
        s = s * 0.9 + x[place] ** 2 * (1 + len(stack))
        if place > 1:
            stack.append(place - 1)
            stack.append(place - 2)
    return s


@pytest.mark.parametrize("case", sampled(cases, 9), ids=str)
def test_control(case: Case):
    case.check()
