"""Models of data as people write them."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict

import numpy as np

import tapec
from tests.tape.bodies import body
from tests.tape.layers import dense, rng_of, softmax


@body
def kalman(variable):
    lq, lr = variable(-1.0), variable(0.5)
    z = np.cumsum(rng_of(0).normal(size=12))

    def step(z):
        with tapec.GradientTape() as tape:
            F, H = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
            Q, Rr = np.exp(lq) * np.eye(2), np.exp(lr) * np.eye(1)
            x, P, nll = np.zeros((2, 1)), np.eye(2), 0.0
            for obs in z:
                x, P = F @ x, F @ P @ F.T + Q
                S = H @ P @ H.T + Rr
                v = obs - H @ x
                K = P @ H.T @ np.linalg.inv(S)
                x, P = x + K @ v, (np.eye(2) - K @ H) @ P
                nll += 0.5 * (np.log(np.linalg.det(S)) + (v.T @ np.linalg.solve(S, v)).item())
            loss = nll / len(z)
        return loss, tape.gradient(loss, [lq, lr])

    return step, (z,), [lq, lr]


@body
def kalman2(variable):
    lq, lr = variable(-1.0), variable(0.5)
    z = np.cumsum(rng_of(0).normal(size=12))

    def step(z):
        with tapec.GradientTape() as tape:
            x, P, nll = 0.0, 1.0, 0.0
            for obs in z:
                P = P + np.exp(lq)
                S = P + np.exp(lr)
                v = obs - x
                K = P / S
                x = x + K * v
                P = (1 - K) * P
                nll = nll + 0.5 * (np.log(S) + v * v / S)
            loss = nll
        return loss, tape.gradient(loss, [lq, lr])

    return step, (z,), [lq, lr]


@body
def spline(variable):
    c = variable(rng_of(0).normal(size=6))
    xs, ys = np.linspace(0, 0.99, 9), rng_of(1).normal(size=9)

    def basis(x, k, i, t):
        if k == 0:
            return 1.0 if t[i] <= x < t[i + 1] else 0.0
        a = 0.0 if t[i + k] == t[i] else (x - t[i]) / (t[i + k] - t[i]) * basis(x, k - 1, i, t)
        b = (
            0.0
            if t[i + k + 1] == t[i + 1]
            else (t[i + k + 1] - x) / (t[i + k + 1] - t[i + 1]) * basis(x, k - 1, i + 1, t)
        )
        return a + b

    knots = np.concatenate([np.zeros(3), np.linspace(0, 1, 4), np.ones(3)])

    def step(xs, ys):
        with tapec.GradientTape() as tape:
            pred = np.array([sum(c[i] * basis(x, 3, i, knots) for i in range(6)) for x in xs])
            loss = np.mean((pred - ys) ** 2) + 0.1 * np.sum(np.diff(c, 2) ** 2) + np.interp(0.3, xs, ys) * c[0]
        return loss, tape.gradient(loss, [c])

    return step, (xs, ys), [c]


@body
def neural_ode(variable):
    W, b = variable(rng_of(0).normal(size=(2, 2)) * 0.3), variable(np.zeros(2))
    y0 = np.array([1.0, 0.0])
    target = np.array([0.2, 0.4])

    def f(t, y):
        return np.tanh(W @ y + b) - 0.1 * t * y

    def rk4(f, y, t0, t1, n):
        h = (t1 - t0) / n
        t = t0
        for _ in range(n):
            k1 = f(t, y)
            k2 = f(t + h / 2, y + h / 2 * k1)
            k3 = f(t + h / 2, y + h / 2 * k2)
            k4 = f(t + h, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            t += h
        return y

    def step(y0):
        with tapec.GradientTape() as tape:
            loss = np.sum((rk4(f, y0, 0.0, 1.0, 10) - target) ** 2)
        return loss, tape.gradient(loss, [W, b])

    return step, (y0,), [W, b]


@body
def euler_traj(variable):
    k, m = variable(2.0), variable(1.0)

    def step(n):
        with tapec.GradientTape() as tape:
            x, v, dt = 1.0, 0.0, 0.05
            xs = [x]
            for i in range(n):
                a = -k / m * x - 0.1 * v
                v += a * dt
                x += v * dt
                xs.append(x)
            xs = np.array(xs)
            loss = np.mean((xs - np.cos(np.arange(n + 1) * dt)) ** 2)
        return loss, tape.gradient(loss, [k, m])

    return step, (15,), [k, m]


@body
def curvefit(variable):
    p = [variable(1.0), variable(0.5), variable(0.1)]
    t = np.linspace(0, 1, 9)
    y = 2 * np.exp(-t) + 0.3

    def model(t, a, k, c):
        return a * np.exp(-k * t) + c

    def step(t, y):
        with tapec.GradientTape() as tape:
            r = y - model(t, *p)
            delta = 0.3
            huber = np.where(np.abs(r) <= delta, 0.5 * r**2, delta * (np.abs(r) - 0.5 * delta))
            loss = np.mean(huber)
        return loss, tape.gradient(loss, p)

    return step, (t, y), p


@body
def gp(variable):
    ls, sf, sn = variable(0.0), variable(0.1), variable(-1.0)
    X, y = rng_of(0).normal(size=(7, 2)), rng_of(1).normal(size=7)

    def step(X, y):
        with tapec.GradientTape() as tape:
            d2 = np.sum((X[:, None, :] - X[None, :, :]) ** 2, axis=-1)
            K = np.exp(2 * sf) * np.exp(-0.5 * d2 / np.exp(2 * ls)) + np.exp(2 * sn) * np.eye(len(X))
            L = np.linalg.cholesky(K)
            a = np.linalg.solve(L.T, np.linalg.solve(L, y))
            loss = 0.5 * y @ a + np.sum(np.log(np.diag(L))) + 0.5 * len(X) * np.log(2 * np.pi)
        return loss, tape.gradient(loss, [ls, sf, sn])

    return step, (X, y), [ls, sf, sn]


@body
def matfac(variable):
    U, W, bu, bi = (
        variable(rng_of(0).normal(size=(5, 3))),
        variable(rng_of(1).normal(size=(6, 3))),
        variable(np.zeros(5)),
        variable(np.zeros(6)),
    )
    ratings = [(0, 1, 3.0), (2, 3, 4.0), (4, 5, 1.0), (0, 3, 2.0)]

    def step(ratings):
        with tapec.GradientTape() as tape:
            loss = 0.0
            for u, i, r in ratings:
                e = r - (np.dot(U[u], W[i]) + bu[u] + bi[i])
                loss += e**2 + 0.1 * (np.sum(U[u] ** 2) + np.linalg.norm(W[i]) ** 2)
        return loss, tape.gradient(loss, [U, W, bu, bi])

    return step, (ratings,), [U, W, bu, bi]


@body
def logistic_newton(variable):
    w = variable(np.zeros(3) + 0.1)
    X, y = rng_of(0).normal(size=(9, 3)), (rng_of(1).random(9) > 0.5).astype(float)

    def step(X, y):
        with tapec.GradientTape(persistent=True) as tape:
            z = X @ w
            loss = np.sum(np.logaddexp(0, z) - y * z)
        return loss, [tape.gradient(loss, w)]

    return step, (X, y), [w]


@body
def unet_skip(variable):
    layers = [dense(variable, 4, 4, np.tanh, k) for k in range(4)]
    x = rng_of(0).normal(size=(2, 4))

    def step(x):
        with tapec.GradientTape() as tape:
            skips, h = [], x
            for l in layers[:2]:
                h = l(h)
                skips.append(h)
            for l, s in zip(layers[2:], reversed(skips)):
                h = l(h + s)
            for s in skips[::-1]:
                h = np.concatenate((h, s), axis=-1)
            loss = np.mean(h**2)
        return loss, tape.gradient(loss, [w for l in layers for w in l.trainable_variables])

    return step, (x,), [w for l in layers for w in l.trainable_variables]


@body
def metrics_dict(variable):
    m = dense(variable, 3, 1)
    x, y = rng_of(0).normal(size=(5, 3)), rng_of(1).normal(size=(5, 1))

    class Mean:
        def __init__(self):
            self.total, self.count = 0.0, 0

        def update_state(self, v):
            self.total += v
            self.count += 1

        def result(self):
            return self.total / max(self.count, 1)

    metrics = {"loss": Mean(), "mae": Mean()}
    history = defaultdict(list)

    def step(x, y):
        with tapec.GradientTape() as tape:
            p = m(x)
            losses = {"mse": np.mean((p - y) ** 2), "mae": np.mean(np.abs(p - y))}
            losses["total"] = losses["mse"] + 0.5 * losses["mae"]
            metrics["loss"].update_state(losses["total"])
            for k, v in losses.items():
                history[k].append(v)
            loss = losses["total"]
        return loss, tape.gradient(loss, [m.w, m.b])

    return step, (x, y), [m.w, m.b]


@body
def regularizers(variable):
    ws = OrderedDict(a=variable(rng_of(0).normal(size=(2, 2))), b=variable(rng_of(1).normal(size=3)))
    regs = [lambda w: 0.1 * np.sum(np.abs(w)), functools.partial(lambda c, w: c * np.sum(w**2), 0.3)]

    def step():
        with tapec.GradientTape() as tape:
            loss = sum(r(w) for w in ws.values() for r in regs)
            loss += np.max([np.max(np.abs(w)) for w in ws.values()])
        return loss, tape.gradient(loss, list(ws.values()))

    return step, (), list(ws.values())


@body
def triplet(variable):
    w = variable(rng_of(0).normal(size=(4, 2)))
    A, P, N = (rng_of(k).normal(size=(5, 4)) for k in range(3))

    def step(A, P, N):
        with tapec.GradientTape() as tape:

            def embed(x):
                e = x @ w
                return e / np.linalg.norm(e, axis=1, keepdims=True)

            a, p, n = map(embed, (A, P, N))
            loss = np.mean(np.maximum(0.0, np.sum((a - p) ** 2, 1) - np.sum((a - n) ** 2, 1) + 0.5))
        return loss, tape.gradient(loss, [w])

    return step, (A, P, N), [w]


@body
def ctc_like(variable):
    W = variable(rng_of(0).normal(size=(3, 4)))
    x = rng_of(1).normal(size=(6, 3))
    label = [1, 2, 1]

    def step(x, label):
        with tapec.GradientTape() as tape:
            logits = x @ W
            lp = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
            n, m = len(x), len(label)
            alpha = np.full((n, m), -1e9)
            alpha[0, 0] = lp[0, label[0]]
            for t in range(1, n):
                for s in range(m):
                    stay = alpha[t - 1, s]
                    move = alpha[t - 1, s - 1] if s > 0 else -1e9
                    alpha[t, s] = np.logaddexp(stay, move) + lp[t, label[s]]
            loss = -alpha[-1, -1]
        return loss, tape.gradient(loss, [W])

    return step, (x, label), [W]


@body
def hmm(variable):
    A, B = variable(rng_of(0).normal(size=(3, 3))), variable(rng_of(1).normal(size=(3, 4)))
    obs = [0, 1, 2, 3, 1, 0]

    def step():
        with tapec.GradientTape() as tape:
            a, b = softmax(A, axis=1), softmax(B, axis=1)
            alpha = np.ones(3) / 3 * b[:, obs[0]]
            loss = -np.log(alpha.sum())
            alpha /= alpha.sum()
            for o in obs[1:]:
                alpha = (alpha @ a) * b[:, o]
                z = alpha.sum()
                loss = loss - np.log(z)
                alpha = alpha / z
        return loss, tape.gradient(loss, [A, B])

    return step, (), [A, B]


@body
def flow(variable):
    s, t = dense(variable, 1, 1, np.tanh), dense(variable, 1, 1, None, 4)
    x = rng_of(0).normal(size=(5, 2))

    def step(x):
        with tapec.GradientTape() as tape:
            z, logdet = x, np.zeros(len(x))
            for flip in (False, True):
                a, b = (z[:, 1:], z[:, :1]) if flip else (z[:, :1], z[:, 1:])
                sa = s(a)
                b = b * np.exp(sa) + t(a)
                logdet += sa[:, 0]
                z = np.concatenate([b, a] if flip else [a, b], axis=1)
            loss = -np.mean(-0.5 * np.sum(z**2, axis=1) + logdet)
        return loss, tape.gradient(loss, [s.w, s.b, t.w, t.b])

    return step, (x,), [s.w, s.b, t.w, t.b]


@body
def gcn(variable):
    W1, W2 = variable(rng_of(0).normal(size=(3, 4))), variable(rng_of(1).normal(size=(4, 2)))
    X = rng_of(2).normal(size=(5, 3))
    edges = [(0, 1), (1, 2), (3, 4), (2, 4)]
    graph = {0: [1], 1: [0, 2], 2: [1, 4], 3: [4], 4: [3, 2]}

    def step(X):
        with tapec.GradientTape() as tape:
            A = np.eye(5)
            for i, j in edges:
                A[i, j] = A[j, i] = 1.0
            d = 1 / np.sqrt(A.sum(1))
            An = d[:, None] * A * d[None]
            h = np.maximum(An @ X @ W1, 0)
            out = An @ h @ W2
            msg = [np.mean(out[nb], axis=0) for k, nb in graph.items()]
            loss = np.sum(np.array(msg) ** 2) + np.mean(out)
        return loss, tape.gradient(loss, [W1, W2])

    return step, (X,), [W1, W2]


@body
def ensemble(variable):
    models = [dense(variable, 2, 1, None, k) for k in range(3)]
    x, y = rng_of(0).normal(size=(4, 2)), rng_of(1).normal(size=(4, 1))

    def step(x, y):
        with tapec.GradientTape() as tape:
            preds = np.stack([m(x) for m in models])
            loss = (
                np.mean((preds.mean(axis=0) - y) ** 2)
                + 0.1 * np.mean(np.var(preds, axis=0))
                + np.mean(np.median(preds, axis=0))
            )
        return loss, tape.gradient(loss, [w for m in models for w in (m.w, m.b)])

    return step, (x, y), [w for m in models for w in (m.w, m.b)]


@body
def clip_norm(variable):
    m = dense(variable, 3, 2)
    x = rng_of(0).normal(size=(4, 3))

    def clip(gs, n):
        total = np.sqrt(sum(np.sum(g**2) for g in gs))
        return [g * np.minimum(1.0, n / (total + 1e-12)) for g in gs]

    def step(x):
        with tapec.GradientTape() as tape:
            loss = np.mean(m(x) ** 2)
        gs = tape.gradient(loss, [m.w, m.b])
        cl = clip(gs, 100.0)
        return loss, cl

    return step, (x,), [m.w, m.b]


@body
def accumulate(variable):
    m = dense(variable, 3, 1)
    X = rng_of(0).normal(size=(6, 3))

    def step(X):
        acc = [np.zeros(m.w.shape), np.zeros(m.b.shape)]
        total = 0.0
        for i in range(0, len(X), 2):
            with tapec.GradientTape() as tape:
                loss = np.mean(m(X[i : i + 2]) ** 2)
            for k, g in enumerate(tape.gradient(loss, [m.w, m.b])):
                acc[k] += g
            total += loss
        return total, acc

    return step, (X,), [m.w, m.b]


@body
def perceptual_list_args(variable):
    net = [dense(variable, 3, 3, np.tanh, k) for k in range(3)]

    def features(x, layers=(0, 2)):
        feats = []
        for i, l in enumerate(net):
            x = l(x)
            if i in layers:
                feats.append(x)
        return feats

    def gram(f):
        return f.T @ f / f.shape[0]

    a, b = rng_of(0).normal(size=(4, 3)), rng_of(1).normal(size=(4, 3))

    def step(a, b):
        with tapec.GradientTape() as tape:
            loss = 0.0
            for i, (f, g) in enumerate(zip(features(a), features(b))):
                loss += (0.5**i) * np.mean((gram(f) - gram(g)) ** 2)
        return loss, tape.gradient(loss, [w for l in net for w in (l.w, l.b)])

    return step, (a, b), [w for l in net for w in (l.w, l.b)]


@body
def ising_logZ(variable):
    J = variable(0.3)

    def step(n):
        with tapec.GradientTape() as tape:
            Z = 0.0
            for bits in range(2**n):
                s = [1 if bits >> k & 1 else -1 for k in range(n)]
                e = sum(s[k] * s[(k + 1) % n] for k in range(n))
                Z = Z + np.exp(J * e)
            loss = np.log(Z)
        return loss, tape.gradient(loss, [J])

    return step, (4,), [J]


@body
def fixed_point(variable):
    a = variable(2.0)

    def solve(f, x, tol=1e-10, maxiter=50):
        for it in range(maxiter):
            new = f(x)
            if abs(new - x) < tol:
                return new
            x = new
        raise RuntimeError("no convergence")

    def step():
        with tapec.GradientTape() as tape:
            loss = solve(lambda x: 0.5 * (x + a / x), 1.0) ** 3
        return loss, tape.gradient(loss, [a])

    return step, (), [a]


@body
def train_step_dict(variable):
    class Model:
        def __init__(self):
            self.layers_ = {"enc": dense(variable, 3, 2, np.tanh), "dec": dense(variable, 2, 3, None, 1)}
            self.loss_fns = {"rec": lambda x, y: np.mean((x - y) ** 2)}
            self.weights = {"rec": 2.0}

        def __call__(self, x, training=None, mask=None):
            return {"rec": self.layers_["dec"](self.layers_["enc"](x))}

        def compute_loss(self, x, out):
            return sum(self.weights[k] * fn(x, out[k]) for k, fn in self.loss_fns.items())

        @property
        def trainable_variables(self):
            return [w for l in self.layers_.values() for w in l.trainable_variables]

        def train_step(self, data):
            if isinstance(data, (tuple, list)) and len(data) == 2:
                x, y = data
            else:
                x = y = data
            with tapec.GradientTape() as tape:
                out = self(x, training=True)
                loss = self.compute_loss(y, out)
            grads = tape.gradient(loss, self.trainable_variables)
            return loss, grads

    m = Model()

    def step(x):
        return m.train_step((x, x))

    return step, (rng_of(0).normal(size=(4, 3)),), m.trainable_variables
