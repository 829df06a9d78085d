"""Order of evaluation, control flow and numbers, as Python has them."""

from __future__ import annotations

import functools
import math

import numpy as np

from tests.programs.semantics import collector

CASES, case = collector()


A = np.array([0.3, -0.7, 1.2, 0.5])
M = np.arange(12.0).reshape(3, 4) / 7


@case(A)
def order1(a):
    b = a.copy()
    i = 0
    i, b[i] = 1, 5.0 * a[2]
    return b.sum() * b[1]


@case(A)
def order2(a):
    b = a.copy()
    i = 2
    b[i], i = a[0] * 2, 0
    b[i] += 3 * a[1]
    return (b * np.arange(4.0)).sum()


@case(A, 3)
def loopvar(a, n):
    for i in range(n):
        pass
    return a[i] * 2 + i


@case(A)
def latebind(a):
    fs = []
    k = 1.0

    def f(x):
        return x * k

    k = 3.0
    return f(a[0])


@case(2.5)
def defaults(x):
    k = x

    def f(y, c=k):
        return y * c

    k = 100.0
    return f(x)


@case(A)
def slicesoverlap(a):
    b = a.copy()
    b[1:] = b[:-1]
    b[:-1] += b[1:] * 2
    return (b**2).sum()


@case(A)
def revassign(a):
    b = a.copy()
    b[::-1] = b * a
    return (b * np.arange(4.0)).sum()


@case(A)
def selfadd(a):
    b = a.copy()
    b += b[::-1]
    return (b * np.arange(4.0)).sum()


@case(-7.3, 2.0)
def mods(x, y):
    return x % y + (x // y) * y * 1.5 + divmod(x, y)[1]


@case(1.3)
def intpow(x):
    n = 3
    m = -2
    return x * (n**2) + x**m + float(2) ** m * x


@case(0.4)
def chain(x):
    return x * 2 if 0.0 < x < 0.5 < 1.0 else x * 3


@case(A)
def walrus(a):
    s = 0.0
    while (n := s * 1.1 + a[0]) < 5.0:
        s += n
    return s * n


@case(A)
def forelse(a):
    s = 0.0
    for v in a:
        if v > 1:
            s += v * v
            break
        s += v
    else:
        s *= 100.0
    for v in a:
        if v > 100:
            break
    else:
        s *= 1.5
    return s


@case(A)
def shortcirc(a):
    c = np.zeros(1)

    def f(v):
        c[0] += v
        return v > 0

    if f(a[0]) or f(a[1] * 10):
        c[0] *= 2
    if f(a[1]) and f(a[2] * 10):
        c[0] *= 3
    return c[0]


@case(A)
def emptyred(a):
    return a[:0].sum() + a[2:1].sum() + np.prod(a[:0]) * a[0] + (a[:0].max() if len(a[:0]) else 2.0 * a[1])


@case(A)
def argm(a):
    return a[np.argmax(a)] * a[np.argmin(a)] ** 2 + a[a.argmax() - 1]


@case(A)
def ziplen(a):
    s = 0.0
    for i, (u, v) in enumerate(zip(a, a[1:]), start=2):
        s += i * u * v
    return s


@case(M)
def nested(m):
    return sum([sum([v * v for v in row]) for row in m])


@case(M)
def flat(m):
    s = 0.0
    for i, v in enumerate(m.flat):
        s += i * v
    for v in m.T:
        s += v[0] * v[1]
    for v in m[::-1, ::2]:
        s += v.sum() ** 2
    return s


@case(A)
def boolar(a):
    mask = a > 0
    b = np.where(mask, a * 2, a * 3)
    b[~mask] = a[~mask] ** 2
    return (b * (mask * 1.0 + 1)).sum() + mask.sum() * a[0]


@case(A)
def fancy(a):
    idx = np.array([0, 0, 2, 3, 3])
    b = np.zeros(4)
    b[idx] += a[idx] * np.arange(5.0)
    c = a[idx]
    c[1] = 7 * a[1]
    return (b * a).sum() + (c**2).sum()


@case(A)
def npadd(a):
    b = np.zeros(4)
    for k in (0, 0, 1):
        b[k] += a[k]
    return (b**2).sum()


@case(2.0, 3)
def retype(x, n):
    y = n
    for i in range(2):
        y = y * x
    z = 1
    z = z / 2
    z = z * y
    return z


@case(A)
def tuples(a):
    p = (a[0], (a[1], a[2]))
    q, (r, s) = p
    l = [q, r]
    l.append(s)
    l[0] = l[0] * 3
    l[-1] += 1
    u, *v = l
    return u * v[0] + v[1] ** 2 + sum(l) + max(l) + len(l)


@case(A)
def ternview(a):
    b = a.copy()
    v = b[1:3] if a[0] > 0 else b[2:]
    v *= 3
    v[0] = b[0] * v[1]
    return (b**2).sum()


@case(A)
def whileview(a):
    b = a.copy()
    v = b
    i = 0
    while i < 3:
        v = v[1:] if len(v) > 1 else v
        v[0] *= b[0] + 1.5
        i += 1
    return (b * np.arange(1.0, 5)).sum()


@case(A)
def aliasswap(a):
    x = a.copy()
    y = a * 2
    for i in range(3):
        x, y = y, x
        x[i] += y[i + 1] * 0.5
    return (x * y).sum() + x[0]


@case(A)
def nanmax(a):
    return max(a[0], a[1], a[2]) * min(a[0], a[1]) + max(a) * np.max(a)


@case(A)
def delete(a):
    b = a * 2
    c = b
    del b
    return c.sum()


@case(A)
def strs(a):
    mode = "sq"
    s = 0.0
    for k in ("a", "sq"):
        if k == mode:
            s += a[0] ** 2
        elif k in ("a", "b"):
            s += a[1]
    return s


@case(A)
def cumul(a):
    b = np.cumsum(a)
    c = np.cumprod(a + 1)
    d = np.diff(c)
    return b @ c + (d**2).sum()


@case(M)
def axis(m):
    return (m.sum(axis=0) ** 2).sum() + (m.sum(1) * np.arange(3.0)).sum()


@case(M)
def trans(m):
    n = m.T.copy()
    n[0, :] = m[:, 1] * 2
    v = n.ravel()
    v[3] = m[0, 0]
    w = m.reshape(4, 3)
    return (n @ w[:3]).sum() + np.trace(w[:3] @ n[:3])


@case(A)
def augview(a):
    b = a.copy()
    c = b
    c *= 2.0
    b = b + 1
    c -= b
    return (b * c).sum()


@case(A)
def nestbreak(a):
    s = 0.0
    for i in range(4):
        for j in range(4):
            if j > i:
                break
            if a[j] < 0:
                continue
            s += a[i] * a[j]
        else:
            s += 10 * a[i]
            continue
        if s > 1.5:
            break
    return s


@case(A)
def earlyret(a):
    for i in range(4):
        for j in range(i):
            if a[i] * a[j] < 0:
                return a[i] * a[j] * 3
    return a[0]


@case(A)
def intarr(a):
    k = np.array([3, 1, 2, 0])
    s = 0.0
    for i in range(4):
        k[i] = (k[i] * 3 + 1) % 4
        s += a[k[i]] * k[i] / 2
    return s + (k // 2 * a).sum()


@case(1.7)
def roundint(x):
    return round(x) * x + int(x * 2) * x + math.floor(x) * x**2 + round(x, 1) * 0


@case(0.5)
def notx(x):
    f = not (x > 1)
    return x * f + (x if f else 0.0) + True * x


@case(A)
def rng(a):
    s = 0.0
    for i in range(3, -1, -2):
        s += a[i] * (i + 1)
    for i in range(5, 2):
        s += 1e9
    for i in reversed(range(4)):
        s = s * 1.1 + a[i]
    return s + i


@case(A)
def printing(a):
    assert a[0] > 0, "no"
    return a[0] ** 2


@case(A, None)
def nonearg(a, w=None):
    if w is None:
        w = np.ones(4)
    return (a * w).sum()


@case(A)
def lam(a):
    f = lambda x, k=2: x**k  # noqa: E731
    g = [lambda x: x * 2, lambda x: x * 3]
    return f(a[0]) + g[1](a[1]) + g[0](a[2])


@case(A)
def starargs(a):
    def f(x, *r, k=1.0):
        return x * k + len(r) * sum(r)

    t = (a[1], a[2])
    return f(a[0], *t, k=a[3])


@case(M)
def outerp(m):
    return np.outer(m[0], m[1])[2, 3] * np.dot(m[0], m[1]) + (m[:, None, :] * m[None, :, :]).sum()


@case(A)
def ifexparr(a):
    b = a if a[0] > 100 else a * 2
    b = b[1:] if len(b) > 3 else b[:2]
    return b.sum() ** 2


@case(A)
def matmulvec(a):
    W = np.eye(4)
    W[0] = a
    return a @ W @ a + (W @ W).sum()


@case(A)
def condoverwrite(a):
    x = a[0]
    if x > 0:
        x = x * a[1]
        y = x
    else:
        y = a[2]
    if y < 0:
        z = y * x
    else:
        z = x
    return z * x * y


@case(A, np.arange(1.0, 10.0) / 7)
def exchanged_sums(a, x):
    """Iterations exchange what they add to, so their order matters."""
    p, q = a[0], a[1] * 2
    s = 0.0
    for i, (u, v) in enumerate(zip(x[:-1], x[1:])):
        p, q = (q, p) if i % 3 == 0 else (p, q)
        s += p * u - q * v**2
    return s


@case(A, np.arange(1.0, 10.0) / 7)
def exchanged_totals(a, x):
    p, q = a[0], a[1] * 2
    for i in range(len(x)):
        q += math.sin(x[i]) * a[2]
        if i % 3 == 0:
            p, q = q, p
    return p + 3 * q


@case(A, np.arange(1.0, 10.0) / 7)
def rotated_totals(a, x):
    p, q, r = 0.0, 0.0, 0.0
    for v in x:
        p, q, r = q, r, p + math.sin(v * a[1])
    return p + 2 * q * r


@case(np.array([0.6, 0.7, 0.8, 0.9, 1.0, 1.1]))
def all_but_those(x):
    """Where a mask is computed as a number of Python's, its opposite is none of `~`."""
    y = x.copy()
    even = np.arange(len(y)) % 2 == 0
    y[even] -= y[~even].sum()
    return np.sum(y * y)


@case(np.array([0.6, 0.7, 0.8, 0.9, 1.0, 1.1]))
def below_zero(x):
    """Two values of a loop's variable, -3 and 3, mean one element: what the first stores the other reads."""
    y, total = np.zeros(6), 0.0
    for i in range(-3, 4):
        total += y[i] * x[i]
        y[i] = x[i] ** 2
    return total


@case(np.array([0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2]))
def longest_in_the_middle(x):
    """The inner loop makes most iterations neither in the first nor in the last iteration of the outer one."""
    n, total = len(x), 0.0
    y = x.copy()
    for i in range(n):
        for j in range(max(i, n - 1 - i), n):
            t = y[j] * x[i]
            y[j] = np.sin(t)
            total += t * y[j]
    return total


@case(np.array([0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2]))
def bands(x):
    """Bounds that bend both ways."""
    n, total = len(x), 0.0
    y = x.copy()
    for i in range(n):
        for j in range(max(0, i - 2), min(n, i + 3)):
            t = np.sin(y[j] * x[i])
            y[j] = t * t
            for k in range(0, min(j, n - i), 2):
                total = np.cos(total * t + y[k])
        for j in range(min(n - 1, i + 1), max(-1, i - 3), -1):
            total = np.sin(total + y[j])
            y[j] *= total
    return total + y.sum()


@case(A)
def starred(x):
    """`*` takes what the other names leave of a list that grows."""
    values = [v * v for v in x]
    first, *rest = values
    *most, last = values
    head, *middle, tail = values
    rest[0] *= 2
    return 10 * first + rest[-1] * rest[0] + len(rest) + most[-1] * last + head * middle[-1] - tail * len(middle)


def _clobber(y):
    y[0] = 5.0
    y *= 1.5
    return y


@case(A)
def computed_once(x):
    """What a loop runs over, what is compared and what a default is are computed before what follows changes y."""
    y = x.copy()
    total = 0.0
    for v in y * 2:
        y *= 1.1
        total += v * y[0]
    for k, v in enumerate(x + y):
        y[-1] -= 0.3
        total += k * v

    def weighted(k, w=y * 3, *, z=y * x):
        return w[k] * y[k] + z[k]

    y[0] = x[1] * 3
    total += weighted(0) - weighted(1)
    mask = y * 2 > _clobber(y) - 1
    return total + (x * mask).sum()


@case(A, np.array([0, 1, 10, 2, 11, 3, 0, 12, 10]))
def stack_machine(x, code):
    """A list that is empty or short in the first iteration, as far as the types of its items tell."""
    stack = [1.0]
    for op in code:
        if op < 10:
            stack.append(x[op])
        else:
            b = stack.pop()
            a = stack.pop()
            if op == 10:
                stack.append(a + b)
            elif op == 11:
                stack.append(a * b)
            else:
                stack.append(a / b)
    return stack[-1] * stack[0] + len(stack)


@case(A, 5.0)
def folds(a, y):
    """functools.reduce over an array, over known items, and with built-in functions."""
    first = functools.reduce(lambda s, v: s * v + 1, a, y)
    second = functools.reduce(max, a)
    third = functools.reduce(lambda s, v: s - v * v, [y, a[0], 2.0])
    return first * second + third


@case(A)
def verdicts_of_many(a):
    """`all` and `any` of as many items as an array has."""
    s = a[0] if all(v > -1.0 for v in a) else a[1]
    small = [v for v in a if v < 1.0]
    if any([v > 0.4 for v in small]) and not all([v > 0.4 for v in small]):
        s = s * len(small) * a[2]
    return s * a[3] if any(v > 2.0 for v in a[:0]) else s + a[3] ** 2 * all(v > 2.0 for v in a[:0])


@case(A)
def known_orders(a):
    s = 0.0
    for k in sorted([3, 1, 2]):
        s = s * a[0] + k
    for k, name in sorted([(2, "b"), (1, "z"), (2, "a")]):
        s = s * a[1] + k * (name == "a")
    return s + max([len(word) for word in ("a", "bcd")]) * a[2] + max(range(3)) * sum(range(4)) * a[3]


def _never():
    raise ValueError("never called")


@case(A)
def raises_where_it_is_evaluated(x):
    """A call that always raises ends the ways that evaluate it, and no others."""
    total = 0.0
    for i in range(4):
        if x[i] > 100 and _never():
            total += 1
        total += x[i] ** 2
        if x[i] < 100 or _never():
            total *= 1.1
        assert x[i] < 100 or _never()
        empty = [_never() for _ in range(i - 9)]
        total += x[i] + len(empty)
        if total > 2.5:
            break
    return total


@case(np.array([0.5, 1.5, -2.0]))
def any_and_all_of_arrays(x):
    factor = 1.0 if any(x > 1.2) else 2.0
    for k in range(3):
        if not all(x * k > -1.0):
            factor += x[k]
    return factor * x.sum() + (any(x[:0] > 0) or all(x[:0] > 0)) * x[0] + all(x) * x[1]
