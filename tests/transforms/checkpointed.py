"""Programs with checkpointed loops: of x with 5 elements, the iteration count, and the slots."""

from __future__ import annotations

import numpy as np

import tapec


def numbers(x, n, k):
    a, b = x[0], x[1]
    for t in tapec.checkpointed(range(n), slots=k):
        a, b = b * np.sin(a), a + 0.1 * t * x[2]
    return a * b


def new_array(x, n, k):
    u = x
    for t in tapec.checkpointed(range(n), slots=k):
        u = u * 0.9 + 0.1 * np.sin(u) * x[0]
    return (u * u).sum() + x[1] * u[0]


def two_levels(x, n, k):
    old = x.copy()
    u = 2.0 * x
    for t in tapec.checkpointed(range(n), slots=k):
        new = 2.0 * u - old - 0.1 * u * u
        old = u
        u = new
    return (u * old).sum()


def in_place(x, n, k):
    u = x.copy()
    e = 0.0
    for t in tapec.checkpointed(range(n), slots=k):
        for i in range(1, u.shape[0] - 1):
            u[i] = u[i] + 0.1 * u[i - 1] * u[i + 1]
        e += u[2] * u[2] * t
    return e + u[1]


def buffers(x, n, k):
    a, b, c = x.copy(), 2.0 * x, np.zeros(x.shape[0])
    for _ in tapec.checkpointed(range(n), slots=k):
        for i in range(x.shape[0]):
            c[i] = a[i] * b[i] + 0.1 * c[i]
        a, b, c = b, c, a
    return a[0] + 2.0 * b[1] + 3.0 * c[2]


def rows_of_one(x, n, k):
    w = np.zeros((3, x.shape[0]))
    w[0] = x
    w[1] = 0.5 * x
    a, b, c = w[0], w[1], w[2]
    for _ in tapec.checkpointed(range(n), slots=k):
        for i in range(1, x.shape[0] - 1):
            c[i] = 2.0 * b[i] - a[i] + 0.2 * b[i - 1] * b[i + 1]
        a, b, c = b, c, a
    return (w * w).sum() + a[1] * b[2]


def callers_array(x, n, k):
    for t in tapec.checkpointed(range(n), slots=k):
        for i in range(x.shape[0]):
            x[i] = np.sin(x[i]) * 1.1 + 0.05 * x[i - 1]
    return x[0] * x[1] * x[2]


def history(x, n, k):
    u = np.zeros((n + 1, x.shape[0]))
    u[0] = x
    for t in tapec.checkpointed(range(n), slots=k):
        for i in range(x.shape[0]):
            u[t + 1, i] = np.sin(u[t, i]) * 1.1 + 0.05 * u[t, i - 1]
    return (u[n] * u[n // 2]).sum()


def written_after(x, n, k):
    c = x.copy()
    s = x[0]
    for t in tapec.checkpointed(range(n), slots=k):
        s = s * c[t % c.shape[0]] + c[1]
    c[1] = s * c[2]
    return c[1] * c[0]


def log_only(x, n, k):
    s = x[0]
    out = np.zeros(n)
    for t in tapec.checkpointed(range(n), slots=k):
        s = np.sin(s) + 0.1 * x[1]
        out[t] = s * s
    out[0:1] = 3.0
    return out.sum() * s


def inner_while(x, n, k):
    s = x[3]
    for t in tapec.checkpointed(range(n), slots=k):
        v = s
        m = 0
        while v * v > 0.1 and m < 4:
            v = v * 0.6 + 0.01 * x[0]
            m += 1
        s = s + v
    return s


def nested(x, n, k):
    u = x.copy()
    for t in tapec.checkpointed(range(n), slots=k):
        for r in tapec.checkpointed(range(3), slots=2):
            for i in range(u.shape[0]):
                u[i] = np.sin(u[i]) + 0.1 * u[i - 1] * x[r]
    return (u * x).sum()


def nested_values(x, n, k):
    s = 0.0
    for t in tapec.checkpointed(range(n), slots=k):
        w = x * 0.3
        for r in tapec.checkpointed(range(t), slots=2):
            w = w + 0.1 * np.sin(w) * x[r % 4]
        s += w[1]
    return s + x.sum()


def in_plain_loop(x, n, k):
    u = x.copy()
    s = 0.0
    for e in range(3):
        v = u * x[e]
        for t in tapec.checkpointed(range(n), slots=k):
            for i in range(u.shape[0]):
                u[i] = np.sin(u[i]) + 0.1 * u[i - 1] * v[i]
            v = v * 1.1 + u
        s += (v * u).sum() * x[e]
        u[0] = s * 0.01
    return s


def in_fused_loop(x, n, k):
    total = 0.0
    for e in range(x.shape[0]):
        s = x[e]
        for t in tapec.checkpointed(range(n), slots=k):
            s = np.sin(s) * x[0] + 0.2 * t
        total += s * s
    return total


def after_a_sum(x, n, k):
    s = 0.0
    for i in range(x.shape[0]):
        s += np.sin(x[i])
    for t in tapec.checkpointed(range(n), slots=k):
        s = np.sin(s) * x[0] + 0.2 * t
    return s * s


def in_branch(x, n, k):
    s = x[0]
    if x[1] < 0:
        for t in tapec.checkpointed(range(n), slots=k):
            s = np.sin(s) * x[2]
    else:
        s = s * 2
    return s * s


def two_loops(x, n, k):
    u = x.copy()
    for t in tapec.checkpointed(range(n), slots=k):
        u[1] = u[1] * u[2] + 0.1
        u[2] = np.sin(u[1])
    for t in tapec.checkpointed(range(0, 2 * n, 2), slots=k):
        u[0] = u[1] * u[0] + 0.1 * t
        u[1] = np.cos(u[2]) * u[1]
    return u.sum()


def products(x, n, k):
    m = np.outer(x, x) * 0.05
    v = x.copy()
    for t in tapec.checkpointed(range(n), slots=k):
        v = m @ v + 0.1 * x
    return v @ x


def carried_view(x, n, k):
    u = x.copy()
    v = u[1:4]
    for t in tapec.checkpointed(range(n), slots=k):
        for i in range(3):
            v[i] = v[i] * u[i] + 0.1
        u[0] = np.sin(v[2])
    return u.sum() * v[0]


def unused(x, n, k):
    s = 0
    for t in tapec.checkpointed(range(n), slots=k):
        s += t
    return x[0] * s


TABLE = np.array([0.5, 1.5, 2.5])


def integer_state(x, n, k):
    m = np.zeros(5, np.int64)
    s = x[0]
    for t in tapec.checkpointed(range(n), slots=k):
        m[t % 5] += t
        if m[(t + 1) % 5] > 1:
            s = np.sin(s) * x[1]
        else:
            s = s * x[2] + m[t % 5]
    return s


def conditional(x, n, k):
    u = x.copy()
    v = 2.0 * x
    for t in tapec.checkpointed(range(n), slots=k):
        if u[0] > 0.2:
            u = np.sin(u) + v
        else:
            v = v * u
            u, v = v, u
    return (u * v).sum()


def flag(x, n, k):
    up = True
    s = x[0]
    for t in tapec.checkpointed(range(n), slots=k):
        if up:
            s = s * x[1]
        else:
            s = np.sin(s) + 1.0
        up = not up
    return s


def fortran(x, n, k):
    a = np.outer(x, x).T.copy().T
    for t in tapec.checkpointed(range(n), slots=k):
        a = (a * 0.5).T + a[0, 1]
    return a.sum() * a[0, 2]


def constant_table(x, n, k):
    u = x.copy()
    for t in tapec.checkpointed(range(n), slots=k):
        for i in range(5):
            u[i] = u[i] * TABLE[t % 3] - 0.1 * u[i - 1]
    return (u * u).sum()


def rec(a, d):
    if d <= 0:
        return a
    return np.sin(a) * rec(a * 0.5, d - 1)


def recursive(x, n, k):
    s = x[0]
    for t in tapec.checkpointed(range(n), slots=k):
        s = s + rec(s, 2) * x[1]
    return s


def grad_inside(x, n, k):
    s = x.copy()
    for t in tapec.checkpointed(range(n), slots=k):
        g = tapec.grad(lambda v: (v * v * v).sum() + v[0] * v[1])(s)
        s = s - 0.05 * g
    return (s * x).sum()


def views_of_state(x, n, k):
    w = np.zeros((2, 5))
    w[0] = x
    for t in tapec.checkpointed(range(n), slots=k):
        a = w[t % 2]
        b = w[(t + 1) % 2]
        for i in range(5):
            b[i] = np.sin(a[i]) + 0.3 * a[i - 1]
    return (w * w).sum()


def swapped_values(x, n, k):
    a = x * 1.0
    b = np.cos(x)
    for t in tapec.checkpointed(range(n), slots=k):
        a, b = b, a
    return (a * a * b).sum() + a[0]


def both_orders(x, n, k):
    total = 0.0
    for e in range(2):
        a, b = x * 1.0, np.zeros(5)
        for t in tapec.checkpointed(range(n), slots=k):
            for i in range(5):
                b[i] = a[i] * a[i - 1] + 0.1 * e
            a, b = b, a
        total += (a * b).sum() * x[e]
    return total


def carried_outer(x, n, k):
    u = x.copy()
    for e in range(2):
        for t in tapec.checkpointed(range(n), slots=k):
            u = np.sin(u) * x[e]
        u = u + 1.0
    return u.sum()


def deep(x, n, k):
    s = x[0]
    for t in tapec.checkpointed(range(n), slots=k):
        v = x.copy()
        for q in tapec.checkpointed(range(3), slots=1):
            v = np.sin(v) * s
            for r in tapec.checkpointed(range(2), slots=k):
                s = s + 0.01 * v[r] * v[r + 1]
    return s


def views_of_one_array(x, n, k):
    u = x.copy()
    later, turned = u[1:], u[::-1]
    e = 0.0
    for _ in tapec.checkpointed(range(n), slots=k):
        for i in range(4):
            e += u[i] * later[i]
            later[i] = np.tanh(e) * turned[i]
            turned[i] += 0.1 * u[3]
    return e + u[0]


def initialise_in_threads(x, n, k):
    u = x
    before = 3.0 * x
    for t in tapec.checkpointed(range(n), slots=k):
        last = np.exp(0.1 * u[: t % 4 + 1])
        before = u * x[1]
        u = np.sin(u) + 0.1 * t
    if n > 0:
        return (last * last).sum() + (before * u).sum()
    return before.sum() + u[0]


def set_in_inner_iterations(x, n, k):
    total = 0.0
    for i in range(3):
        for t in tapec.checkpointed(range(n), slots=k):
            step = x * (i + t)
            total = total + step[i] * step[1]
        if n > 0:
            total = np.sin(total) + step[2] * step[2]
    return total


PROGRAMS = (
    numbers,
    new_array,
    two_levels,
    in_place,
    buffers,
    rows_of_one,
    callers_array,
    history,
    written_after,
    log_only,
    inner_while,
    nested,
    nested_values,
    in_plain_loop,
    in_fused_loop,
    after_a_sum,
    in_branch,
    two_loops,
    products,
    carried_view,
    unused,
    integer_state,
    conditional,
    flag,
    fortran,
    constant_table,
    recursive,
    grad_inside,
    views_of_state,
    views_of_one_array,
    swapped_values,
    both_orders,
    carried_outer,
    deep,
    initialise_in_threads,
    set_in_inner_iterations,
)
