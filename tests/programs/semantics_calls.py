"""Names, calls, containers and whole small algorithms."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import NamedTuple

import numba
import numpy as np

from tests.programs.semantics import collector

CASES, case = collector()


A = np.array([0.3, -0.7, 1.2, 0.5])
M = np.arange(12.0).reshape(3, 4) / 7 - 0.5
G = 3.0
GA = np.array([1.0, 2.0, 3.0, 4.0])
P = namedtuple("P", "a b")
x_bar = 2.5


class Layer(NamedTuple):
    weights: np.ndarray
    bias: float = 0.5
    steepness = 1.5

    def __call__(self, x):
        return np.tanh(self.steepness * (self.weights @ x) + self.bias) * self.width

    @property
    def width(self):
        return self.weights.shape[0]

    @classmethod
    def shifted(cls, weights, by):
        return cls(weights + by * cls.steepness)

    @staticmethod
    def square(x):
        return x * x


class Doubled(Layer):
    def __call__(self, x):
        return 2.0 * Layer.__call__(self, x)

    def square(self, x):
        return x * self.bias


@case(A)
def globs(a):
    return a @ GA * G * x_bar


@case(A)
def shadow(a):
    sum = a[0]
    len = 2.0
    range_ = 3
    max = sum * len
    return max * range_ * a[1]


@case(2.0)
def genericnames(x):
    x_bar = x * 2
    t = x_bar * x
    y_dot = t * 3
    iterations = y_dot
    t_1 = iterations * x
    s_store = t_1
    for i in range(2):
        x_bar = x_bar * t_1
        t = x_bar
    return x_bar * s_store * t


@case(2.0)
def unicode_(x):
    α = x * 2
    β_1 = α**2
    ñ = β_1 + α
    return ñ


@case(P(A, 2.0))
def ntup(p):
    q = P(p.a * p.b, p.b + 1)
    r = q
    return (r.a * p.a).sum() * r.b


@case(A)
def nestedcl(a):
    def mk(k):
        def f(v):
            return v * k

        return f

    f = mk(a[0])
    g = mk(2.0)
    return f(a[1]) + g(f(a[2]))


@case(A)
def fnlist(a):
    s = 0.0
    for f in (np.sin, np.cos, math.exp):
        s += f(a[0])
    for f, k in ((abs, 1), (np.tanh, 2)):
        s += f(a[1]) * k
    return s


@case(A)
def hof(a):
    def apply(f, v, *r):
        return f(v, *r)

    return apply(lambda v, w: v * w, a[0], a[1]) + apply(np.sqrt, a[2])


@case(A, 3)
def whileelse(a, n):
    k = 0
    s = 1.0
    while k < n:
        s *= a[k] + 1
        k += 1
        if s > 50:
            break
    else:
        s += a[3]
    return s


@case(0.5)
def newton(x):
    y = 1.0
    while abs(y * y - x) > 1e-12:
        y = 0.5 * (y + x / y)
    return y


@case(A)
def contin(a):
    s = 0.0
    for i in range(4):
        if a[i] < 0:
            continue
        for j in range(4):
            if i == j:
                continue
            if a[j] < 0:
                s -= a[j]
                continue
            s += a[i] / (1 + j)
    return s


@case(A)
def tripple(a):
    s = 0.0
    for i in range(4):
        for j in range(i, 4):
            for k in range(j, -1, -1):
                s += a[i] * a[j] * a[k]
                if s > 1:
                    s *= 0.5
    return s


@case(M)
def lu(m):
    a = m[:, :3] + 2 * np.eye(3)
    n = 3
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    d = 1.0
    for i in range(n):
        d *= a[i, i]
    return d


@case(A)
def cummax(a):
    m = a[0]
    s = 0.0
    for v in a:
        m = max(m, v)
        s += m - v
    return s * m


@case(A)
def overwrite(a):
    x = a[0]
    for i in range(3):
        y = x
        x = x * a[i] + 1
        a[i] = y * x
    return x * a[1]


@case(A)
def tmpbuf(a):
    tmp = np.empty(4)
    s = 0.0
    for r in range(3):
        for i in range(4):
            tmp[i] = a[i] * (r + 1)
        for i in range(1, 4):
            tmp[i] += tmp[i - 1] ** 2
        s += tmp[3]
    return s


@case(A)
def ringbuf(a):
    h = np.zeros(3)
    s = 0.0
    for k in range(10):
        h[k % 3] = a[k % 4] + h[(k + 1) % 3] * h[(k + 2) % 3]
        s += h[k % 3]
    return s


@case(A)
def state(a):
    st = (a[0], a[1], 0)
    for i in range(4):
        x, v, n = st
        st = (x + 0.1 * v, v - 0.1 * np.sin(x), n + 1)
    return st[0] * st[1] * st[2]


@case(A)
def vecstate(a):
    y = np.array([a[0], a[1]])
    for i in range(3):
        k1 = np.array([y[1], -y[0] * a[2]])
        y2 = y + 0.05 * k1
        k2 = np.array([y2[1], -y2[0] * a[2]])
        y = y + 0.1 * k2
    return y[0] * y[1]


@case(A)
def hist(a):
    h = np.zeros(5)
    for v in a:
        k = int((v + 1) * 2)
        h[k] += v * v
    return (h * np.arange(5.0)).sum()


@case(A)
def search(a):
    k = np.searchsorted(np.array([-1.0, 0.0, 0.4, 1.0]), a[0])
    return a[k] * a[0]


@case(A)
def optdef(a):
    def f(x, w=None, *, scale=None):
        if w is None:
            w = 2.0
        if scale is not None:
            w = w * scale
        return x * w

    return f(a[0]) + f(a[1], a[2]) + f(a[3], scale=a[0])


@case(A)
def swaprows(a):
    m = a.copy().reshape(2, 2)
    t = m[0].copy()
    m[0] = m[1]
    m[1] = t
    m[0], m[1] = m[1].copy(), m[0].copy()
    m[0, 0], m[1, 1] = m[1, 1], m[0, 0]
    return (m * np.array([[1.0, 2.0], [3.0, 4.0]])).sum()


@case(A)
def prangef(a):
    s = 0.0
    o = np.zeros(4)
    for i in numba.prange(4):
        o[i] = a[i] ** 2
        s += o[i] * a[i]
    return s + o.sum()


@numba.njit(fastmath=True)
def helper(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2
    return out[0]


@case(A)
def njhelper(a):
    o = np.zeros_like(a)
    r = helper(a, o)
    return r * o[1] + helper(o, o) * a[0]


@case(A)
def dictconst(a):
    d = {"k": 2.0, "v": a[0]}
    return d["k"] * d["v"]


@case(1.2)
def trig(x):
    return (
        math.atan2(x, 2)
        + math.hypot(x, 1)
        + math.erf(x)
        + math.gamma(x)
        + math.lgamma(x)
        + np.arctan2(1, x)
        + math.copysign(x, -1)
        + np.sinc(x)
        + np.exp2(x)
        + np.log1p(x)
        + np.cbrt(x)
    )


@case(A)
def minmaxax(a):
    return np.max(a) * np.ptp(a) + np.argmax(a) + np.amin(a)


@case(M)
def axisarg(m):
    return (m.argmax(axis=1) * m[:, 0]).sum()


@case(A)
def sel(a):
    return np.where(a < 0, a * 2, np.where(a > 1, a**2, a[0])).sum()


@case(A)
def outarg(a):
    o = np.empty(4)
    np.multiply(a, 2.0, o)
    np.add(o, a, o)
    return (o * a).sum()


@case(M)
def dotout(m):
    o = np.empty((3, 3))
    o[:] = m @ m.T
    return (o @ o).sum()


@case(A)
def complexflow(a):
    best = -1e9
    arg = -1
    for i in range(4):
        sc = a[i]
        for j in range(4):
            if j != i and a[j] > a[i]:
                sc -= a[j] * 0.1
        if sc > best:
            best = sc
            arg = i
    return best * a[arg]


@case(A)
def raiser(a):
    if a[0] > 100:
        raise ValueError("big")
    for i in range(4):
        if a[i] > 100:
            raise RuntimeError
        a[i] = a[i] ** 2
    return a.sum()


@case(A)
def lc(a):
    l = [v * i for i, v in enumerate(a) if v > 0]
    return sum(l) + np.array(l).sum() + np.array([u for u in a])[2]


@case(True, 2.0)
def flag(b, x):
    return x * 2 if b else x


@case(A, "sq")
def strarg(a, mode):
    if mode == "sq":
        return (a**2).sum()
    return a.sum()


@case((A, (2.0, M)))
def nest(p):
    return (p[0] * p[1][0]).sum() * p[1][1][0, 1]


@case([A, 2.0])
def lst(l):
    return (l[0] * l[1]).sum()


@case(A)
def generator_expressions(a):
    total = sum(v * w for v in a for w in a if w > 0)
    return total * max(v * v for v in a if v < 1) + tuple(v for v in (a[0], a[1]))[1]


@case(A)
def first_arguments_by_name(a):
    return np.sum(a=a, axis=0) + np.mean(a=a * 2) + np.zeros(shape=3).sum()


@case(Layer(A, 0.3), GA)
def classes_of_named_tuples(p, a):
    q = Layer.shifted(p.weights, p.bias)
    r = q._replace(bias=p(a))
    return p(a) * r(a) + q.square(p.bias) * p.width


@case(Doubled(A, 0.3), GA)
def classes_above_named_tuples(p, a):
    return p(a) + p.square(a[0]) * p.steepness + Doubled(a).bias


@numba.vectorize
def vectorised(x, y):
    return x * y + math.sin(x) if x > y else y


@numba.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
def vectorised_with_signatures(x, y):
    total = 0.0
    for _ in range(3):
        total += math.sqrt(x * x + total + 1.0)
    return total * y


@numba.vectorize
def vectorised_complex(z):
    return z * z.conjugate() * z


@case(A, GA, M)
def functions_under_vectorize(a, b, m):
    total = vectorised(a[0], 2.0) + vectorised(m, a).sum() + vectorised(2.0, a * b)[1]
    for i in range(2):
        total += vectorised_with_signatures(m[:, i:], 2).sum() * vectorised(b[::-1], m[:, :1])[i, i]
    return total + np.abs(vectorised_complex(a + 1j * b)).sum()


@np.vectorize
def positive_part(x, y):
    return x * x * y if x > 0.0 else -x


@case(A)
def numpys_vectorize(x):
    m = np.outer(x - 1.0, x)
    return np.sum(positive_part(m, x)) + positive_part(x[0], 2.0)
