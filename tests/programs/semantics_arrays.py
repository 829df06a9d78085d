"""Views, aliases, broadcasting and indexing, as NumPy has them."""

from __future__ import annotations

import numpy as np

from tests.programs.semantics import collector

CASES, case = collector()


A = np.array([0.3, -0.7, 1.2, 0.5])
M = np.arange(12.0).reshape(3, 4) / 7 - 0.5
Z = np.zeros((0, 3))
F32 = A.astype(np.float32)
I = np.array([2, 0, 1])


@case(M)
def cols(m):
    b = m.copy()
    b[:, 0] = b[:, 1] * 2
    b[1] += b[0]
    b[:, ::2] *= 3
    b[-1, -1] -= b[0, 0]
    return (b**2).sum()


@case(M)
def rowviews(m):
    b = m.copy()
    r = b[1]
    r[:] = r[::-1]
    c = b[:, 2]
    c += r[0]
    r[2] = 7 * m[0, 0]
    return (b * np.arange(4.0)).sum()


@case(A)
def inplace_arg(a):
    a[1:] *= a[0]
    a[0] = a[1]
    b = a
    b[2] = b[3] ** 2
    return a.sum() * b[2]


@case(M, A)
def bcast(m, a):
    b = m * a + a[:3, None]
    b[:] = b + m[:1]
    b += a
    return (b * m).sum()


@case(M)
def maskops(m):
    b = m.copy()
    k = b > 0
    b[k] *= 2
    b[~k] = -b[~k] + 1
    b[b > 1.5] = 0.5
    return (b * m).sum()


@case(A)
def chainview(a):
    b = np.zeros((2, 2, 2))
    v = b[1]
    w = v[:, 0]
    w[:] = a[:2]
    v.T[0, 1] += a[2]
    b[0] = b[1] * b[1]
    return b.sum() + (b[..., 0] * a[3]).sum()


@case(A)
def reshview(a):
    b = a.copy()
    m = b.reshape(2, 2)
    m[0] *= 2
    m.ravel()[3] = a[0]
    b[0] += m[1, 1]
    return (m @ m).sum()


@case(F32)
def f32(a):
    s = a[0] * 2
    b = a * a
    b[0] = s
    return b.sum()


@case(F32, 2.0)
def mixed(a, x):
    b = a * x
    c = np.empty(4, np.float32)
    c[:] = b
    return (c * b).sum()


@case(A, I)
def intidx(a, i):
    b = a[i]
    b[0] = 3 * a[1]
    c = np.zeros(5)
    c[i] = b * 2
    c[i + 1] += a[:3]
    return (c**2).sum() + a.take(i).sum()


@case(M, I)
def rowidx(m, i):
    b = m[i]
    b[0] += m[1]
    m2 = m.copy()
    m2[i] = b * 2
    return (m2 * m).sum()


@case(M)
def twoidx(m):
    i = np.array([0, 2])
    return (m[i][:, 1] ** 2).sum() + m[1:, 1:][0, 0]


@case(Z)
def zeros(z):
    return z.sum() + (z * 2).sum(0).sum() + np.sum(z @ np.ones((3, 2)))


@case(A)
def stacks(a):
    b = np.stack((a, a * 2))
    c = np.concatenate((a, b[1]))
    d = np.vstack((a, a**2))
    h = np.hstack((a, a))
    return (b @ b.T).sum() + (c * h).sum() + (d[1] * a).sum()


@case(A)
def appendf(a):
    l = []
    for v in a:
        if v > 0:
            l.append(v * v)
    l.append(a[0])
    s = 0.0
    while len(l) > 1:
        s += l.pop() * len(l)
    return s + l[0]


@case(A)
def listmut(a):
    l = [a[0], a[1], a[2]]
    m = l
    m[0] = m[1] * 2
    m[2] += l[0]
    return l[0] * l[2] + sum(m)


@case(A)
def lofarr(a):
    l = [a, a * 2, a[::2]]
    l[0] = l[1] + 1
    s = 0.0
    for v in l:
        s += v.sum() * v[0]
    return s


@case(M)
def reductions(m):
    return m.mean() * m.std() + m.var() + np.prod(m[0] + 1) + m.max() * m.min() + np.median(m)


@case(M)
def argmax2(m):
    k = np.argmax(m)
    i = k // 4
    j = k % 4
    return m[i, j] ** 2 * m[j % 3, i]


@case(A)
def sorts(a):
    b = np.sort(a)
    c = a[np.argsort(a)]
    d = a.copy()
    d.sort()
    return (b * np.arange(4.0)).sum() + (c * d).sum()


@case(A)
def interp(a):
    return np.interp(0.3, np.array([0.0, 0.5, 1.0, 2.0]), a) + np.interp(a, np.arange(4.0), a * 2).sum()


@case(A)
def cond_array_alias(a):
    b = a.copy()
    c = np.zeros(4)
    for i in range(4):
        if a[i] > 0:
            v = b
        else:
            v = c
        v[i] += a[i] ** 2
        v[3 - i] *= 2
    return (b * c).sum() + b.sum()


@case(A)
def loop_alias(a):
    b = a * 1
    prev = b
    for i in range(3):
        cur = prev * 2 if i % 2 else prev
        cur[i] += 1.5 * prev[3]
        prev = cur
    return (prev * b).sum()


@case(A)
def retview(a):
    b = a * 2
    return b[1:3]


@case(A)
def rettuple(a):
    b = a * 2
    c = b[1:]
    c[0] *= 5
    return b, (c, a[0]), 3


@case(A)
def retarg(a):
    a[0] = a[1] * 2
    return a


@case(M)
def tril(m):
    q = m[:, :3]
    return (np.tril(q) @ np.triu(q)).sum() + np.trace(q) + np.diag(q).sum() + np.diag(m[0])[1, 1]


@case(A)
def flips(a):
    return (a[::-1] * np.flip(a) * np.roll(a, 1)).sum() + np.repeat(a, 2)[3]


@case(A)
def clip(a):
    return np.clip(a, -0.5, 0.6).sum() + np.minimum(a, 0.4).sum() * np.maximum(a, a[0]).sum() + np.abs(a).sum()


@case(A)
def linsp(a):
    x = np.linspace(a[0], a[2], 5)
    y = np.arange(3) * a[1]
    f = np.full(3, a[3])
    o = np.ones_like(a) * a
    return (x**2).sum() + y.sum() * f.sum() + o.sum()


@case(A)
def poly(a):
    return a[0] + a[1] * 1.3**2


@case(2.0, A)
def scalarfirst(x, a):
    return (x**a * 1).sum() + (a + 2)[0] ** x


@case(M)
def lin(m):
    q = m[:, :3] + 3 * np.eye(3)
    return np.linalg.det(q) + np.linalg.inv(q)[0, 1] + np.linalg.solve(q, m[:, 0])[1] + np.linalg.norm(m)


@case(M)
def iterrows(m):
    s = 0.0
    for i, row in enumerate(m):
        row = row * 2
        for j, v in enumerate(row[1:]):
            s += v * i + j * row[0]
    return s


@case(M)
def writerows(m):
    b = m.copy()
    for row in b:
        row[0] = row[1] * row[2]
    for i in range(b.shape[0] - 1):
        b[i + 1] += b[i] * 0.5
    return (b**2).sum()


@case(A)
def kw(a):
    return np.sum(a=a, axis=0) + np.sum(a * 2, axis=-1) + a.sum(axis=0) + np.var(a) + np.mean(a=a)


@case(A)
def ints(a):
    n = int(a[2] * 3)
    m = n // 2
    k = -7 // 2
    r = -7 % 3
    u = 1 << 2 | 1
    v = ~u & 7
    w = 5 ^ 3
    return a[0] * (n + m + k + r + u + v + w) + a[m]


@case(A)
def uints(a):
    k = np.uint8(200)
    j = np.int32(5)
    return a[0] * k + a[1] * j + a[np.int32(2)] * np.float32(0.5)


@case(A)
def strideneg(a):
    b = a.copy()
    b[::-2] = a[:2]
    b[3:0:-1] += a[:3]
    return (b * np.arange(1.0, 5)).sum()


@case(A)
def empties(a):
    b = np.empty(4)
    for i in range(4):
        b[i] = a[i]
    c = np.empty_like(b)
    c.fill(a[0])
    c[:] = b + c
    return (c * b).sum()


@case(A)
def nestedfn(a):
    buf = np.zeros(4)

    def put(i, v):
        buf[i] = v * 2

    def get(i):
        return buf[i]

    for i in range(4):
        put(i, a[i] * get(i - 1) + 1)
    return buf.sum()


@case(A, A * 2)
def twoargs(a, b):
    a[0] = b[0]
    b[1] = a[1] * a[0]
    a, b = b, a
    a[2] *= b[2]
    return (a * b).sum()


@case(np.asfortranarray(M))
def fort(m):
    b = m.copy()
    b[0] *= m[1]
    return (b.T @ m).sum() + m.ravel()[2] + m.flatten()[5]


@case(M[:, ::2])
def strided(m):
    b = m * 2
    m[0, 0] = b[1, 1]
    return (m * b).sum()


@case(np.array(2.0))
def zerod(x):
    return x * x + x[()] * np.sin(x)


@case(A)
def assertmsg(a):
    assert a.shape[0] == 4 and a.ndim == 1, f"bad {a.shape}"
    if len(a) != 4:
        raise ValueError("x")
    return a[0] * a.size


@case(A)
def bools(a):
    b = (a > 0) & (a < 1) | (a == 0.5)
    n = b.sum()
    return a[0] * n + (a * b).sum() + np.any(b) * a[1] + np.all(b) * a[2] + np.count_nonzero(b) * a[3]


@case(1.5)
def sums_of_booleans(x):
    return x * ((x > 1.0) + (x < 2.0)) + ((x > 1.0) - (x < 1.0))


@case(1.5)
def early(x):
    def f(y):
        if y > 1:
            return y * 2
        return y * 3

    z = f(x)
    if z > 2.5:
        return f(z) * x
    return z


@case(np.array([[0.2, 1.1], [0.9, -0.4], [0.3, 0.8], [-1.0, 0.1]]), np.array([[0.1, 0.9], [0.5, -0.5]]))
def nearest(points, start):
    """Rows of a sum that is made in a loop are found by what the data say."""
    centres = start.copy()
    for _ in range(2):
        sums, counts = np.zeros_like(centres), np.zeros(len(centres))
        for i in range(len(points)):
            best, least = -1, np.inf
            for k in range(len(centres)):
                d = ((points[i] - centres[k]) ** 2).sum()
                if d < least:
                    least, best = d, k
            sums[best] += points[i]
            counts[best] += 1
        for k in range(len(centres)):
            if counts[k] > 0:
                centres[k] = sums[k] / counts[k]
    return (centres**2).sum() + centres[0, 0]


@case(np.array([0.9, 1.3, 0.6, 1.1, 0.8, 1.4, 0.7, 1.2]))
def sliding(x):
    """What an iteration reads through a window, a later window overwrites under another subscript."""
    total = 0.0
    y = x.copy()
    for i in range(len(x) - 3):
        window = y[i : i + 3]
        total += window[1] ** 3
        window[0] = window[2] * window[2]
    return total + y.sum()


@case(np.array([0.9, 1.3, 0.6, 1.1]))
def same_place(x):
    """Subscripts that tell iterations apart name one element all the same: the view moves against them."""
    n = len(x)
    y = np.ones(2 * n)
    for i in range(n):
        tail = y[n - i :]
        tail[i] = tail[i] * x[i] + x[i] * x[i]
    return (y * np.arange(2 * n)).sum()


@case(np.array([[0.9, 1.3], [0.6, 1.1], [0.8, 1.4]]), np.array([0, 1, 1, 0, 2]))
def chosen_rows(m, which):
    """A row that the data choose is written in several iterations."""
    b = np.zeros((3, 2))
    total = 0.0
    for t in range(len(which)):
        row = b[which[t]]
        for j in range(2):
            row[j] = row[j] * m[t % 3, j] + m[(t + 1) % 3, j]
            total += row[j] ** 2
    return total


@case(A)
def columns_of_a_vector(x):
    """A vector's columns are contiguous: no copy is made."""
    y = x * 1.0
    v = np.asfortranarray(y)
    v[1:] = y[:-1] * v[1:]
    y[0] = x[1]
    return (v * np.arange(4.0)).sum() + v[0] * y[3]


@case(np.array([1.2, 0.7, 1.1, 0.6, 0.9]))
def viewed_in_branches(x):
    """Small arrays of two branches that are viewed there, too: what is stored later is seen through the views."""
    total = 0.0
    for i in range(3):
        if x[i] > 0.9:
            pair = np.array([x[0], x[i]])
            seen = pair[::-1]
        else:
            pair = np.array([x[i], x[2]])
            seen = pair[:]
        pair[0] = 3 * x[1] * pair[1]
        total += seen[0] * seen[1] ** 2 + pair[0]
    return total


@case(A)
def results_into_arrays(x):
    """`out` names an array that may be an operand, too."""
    y = x.copy()
    z = np.empty(4)
    np.add(x[:-1], x[1:], out=y[1:])
    np.multiply(y[::-1], y, out=y)
    s = np.sin(y, out=z)
    z[0] *= 2
    return (y * z).sum() + s[0]


@case(np.array([[0.6, 0.3, 0.9], [0.2, 0.7, 0.4], [0.5, 0.1, 0.8]], dtype=np.float32))
def shrinking_products(a):
    """Arrays that become smaller, in single precision: an iteration that is run again reads none of another
    iteration.
    """
    r = a.copy()
    total = 0.0
    for k in range(2):
        x = r[k:, k].copy()
        r[k:, k:] -= 2 * np.outer(x, x @ r[k:, k:])
        total += x[-1] * r[k, k]
    return total


@case(M)
def copies_that_nobody_can_tell(m):
    """NumPy gives views for some of these: nothing is stored while both sides are read."""
    total = 0.0
    y = m * 1.0
    for t in range(3):
        inner = y[:, 1:].reshape(-1)
        total += inner @ inner
        y[:, 1:] *= 0.5 + t
    rows = np.broadcast_to(y[0], (2, 4))
    total += (rows * m[:2]).sum()
    z = y[:2].copy()
    flat = z[:, :2].ravel()
    if total > 1.0:
        y[0] = 3.0
        total += y.sum()
    else:
        total += rows[0, 0]
    flat[0] = m[0, 1] ** 2
    return total + flat.sum()


@case(M)
def a_product_of_a_copy_of_what_changes(m):
    """An iteration that is run again would copy what later iterations have left."""
    total = 0.0
    y, column = m * 1.0, m[0] * 1.0
    for t in range(3):
        inner = y[:, 1].copy()
        total += inner @ inner + (y * 2.0 @ m[0])[0]
        y[:, 1:] *= 0.5 + t
        ordered = np.sort(column)
        total += ordered @ ordered
        column *= 0.7 + t
    return total


@case(M)
def elements_in_column_order(m):
    columns = m.ravel(order="F") * np.arange(12.0)
    return columns.sum() + (m.flatten("F")[1:5] * m[0]).sum() + np.ravel(m.T, "F")[3] + m.swapaxes(0, 1)[2, 1]


@case(M)
def columns_taken_out_and_put_back(m):
    y = m * 1.0
    for j in range(3):
        column = np.ascontiguousarray(y[:, j])
        column *= y[0, j] + 2.0
        total = y.sum()
        y[:, j] = column * total
        ring = y[::2, 1].ravel()
        ring[0] = 5.0 * y[0, 0]
    return (y * m).sum() + ring @ ring


@case(M, np.arange(24.0).reshape(2, 3, 4) / 20)
def no_subscripts(m, c):
    """An empty tuple of subscripts stands for all of an array; so does the `@` of a matrix and a stack."""
    c[:] -= m[:, ::-2] @ c[:, :2]
    y = m * 1.0
    y[()] *= 2.0
    y[()][1] = m[0]
    return c.sum() * y[()][1, 1] + (y[()] * m).sum()


@case(A, np.arange(4.0), 0)
def kept_in_a_branch(x, w, n):
    """What one branch of the forward sweep computes, the same branch of the reverse sweep reads."""
    if n == 0:
        x[:] /= 1.5 + x.astype(np.int64) * 0.1 * np.clip(w, 0.6, 0.6)
    return x.sum()


@case(np.linspace(-1.0, 2.0, 20).reshape(5, 4) ** 3, np.linspace(0.3, 1.9, 12).reshape(3, 4))
def elementwise_functions_at_places(v, t):
    places = np.array([0, 2, 2, 1, -1])
    out = t * 2.0
    np.add.at(out, places, v)
    np.subtract.at(out, (places, np.array([0, 1, 1, 1, 3])), v[:, 0] ** 2)
    np.add.at(out, (slice(None), places[:4]), v[:3, 1][:, None])
    np.maximum.at(out[:, 0], [0, 1, 1], v[:3, 3] * 2)
    np.add.at(out, out > 1.5, 0.3)
    return (out**2).sum()


@case(np.array([0.5, -0.3, 1.2, 0.9, 2.0]), np.linspace(-1.0, 1.3, 15).reshape(3, 5) ** 2)
def running_elementwise_functions(x, m):
    drawdown = (x - np.maximum.accumulate(x)).min() + np.minimum.accumulate(m, axis=1).sum()
    ranks = np.maximum.accumulate(np.array([0, 2, 1]))
    return drawdown * np.subtract.accumulate(m)[2, 1] * ranks[2] + np.subtract.accumulate(x)[3]
