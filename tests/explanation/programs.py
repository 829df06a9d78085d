"""Programs whose explanations are known; lines are told by what stands in them."""

import math

import numpy as np


def chain(u, stiffness):
    total = 0.0
    for i in range(1, u.shape[0]):
        stretch = u[i] - u[i - 1]
        total += 0.5 * stiffness[i - 1] * stretch**2
    return total


def heat(u0, kappa, steps):
    u = u0.copy()
    for t in range(steps):
        left = u[0]
        for i in range(1, u.shape[0] - 1):
            here = u[i]
            u[i] = here + kappa * math.sin(left - 2.0 * here + u[i + 1])
            left = here
    total = 0.0
    for i in range(u.shape[0]):
        total += u[i] ** 2
    return total


def recurrent(w, x, steps):
    h = np.zeros(w.shape[0])
    for t in range(steps):
        new = np.empty(w.shape[0])
        for i in range(w.shape[0]):
            s = 0.0
            for j in range(w.shape[1]):
                s += w[i, j] * h[j]
            new[i] = math.tanh(s + x[t])
        h = new
    return np.sum(h)


def newton(a, tol):
    x = a
    while abs(x * x - a) > tol:
        x = 0.5 * (x + a / x)
    return x


def nearest(x, mu):
    total = 0.0
    d = np.empty(2)
    for i in range(x.shape[0]):
        best = 1.0e300
        for j in range(mu.shape[0]):
            d[0] = x[i, 0] - mu[j, 0]
            d[1] = x[i, 1] - mu[j, 1]
            s = d[0] ** 2 + d[1] ** 2
            if s < best:
                best = s
        total += best
    return total


def search(x, limit):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
        if total > limit:
            break
    return total


SIGNATURES = {
    chain: "f8[::1], f8[::1]",
    heat: "f8[::1], f8, i8",
    recurrent: "f8[:, ::1], f8[::1], i8",
    newton: "f8, f8",
    nearest: "f8[:, ::1], f8[:, ::1]",
    search: "f8[::1], f8",
}
