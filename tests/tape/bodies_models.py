"""Blocks as people write them who train models."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict

import numpy as np

import tapec
from tests.tape.bodies import body

rng_of = np.random.default_rng


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def one_hot(y, n):
    return np.eye(n)[y]


class Layer:
    def __init__(self, name=None):
        self.name = name or type(self).__name__.lower()
        self.built = False
        self._w = []

    def add_weight(self, value, trainable=True):
        self._w.append(value)
        return value

    def build(self, shape):
        pass

    def call(self, x, training=False):
        raise NotImplementedError

    def __call__(self, x, **kw):
        if not self.built:
            self.build(x.shape)
            self.built = True
        return self.call(x, **kw)

    @property
    def trainable_variables(self):
        return [w for w in self._w if w.trainable]


class Dense(Layer):
    def __init__(self, w, b, activation=None, name=None):
        super().__init__(name)
        self.w = self.add_weight(w)
        self.b = self.add_weight(b)
        self.activation = activation

    def call(self, x, training=False):
        y = x @ self.w + self.b
        return self.activation(y) if self.activation is not None else y


class Dropout(Layer):
    def __init__(self, rate, rng):
        super().__init__()
        self.rate, self.rng = rate, rng

    def call(self, x, training=False):
        if not training:
            return x
        mask = self.rng.random(x.shape) >= self.rate
        return x * mask / (1 - self.rate)


class BatchNorm(Layer):
    def __init__(self, gamma, beta, mean, var, momentum=0.9, eps=1e-3):
        super().__init__()
        self.gamma, self.beta = self.add_weight(gamma), self.add_weight(beta)
        self.mean, self.var = self.add_weight(mean), self.add_weight(var)
        self.momentum, self.eps = momentum, eps

    def call(self, x, training=False):
        if training:
            mu, var = np.mean(x, axis=0), np.var(x, axis=0)
            self.mean.assign(self.momentum * self.mean + (1 - self.momentum) * mu)
            self.var.assign(self.momentum * self.var + (1 - self.momentum) * var)
        else:
            mu, var = self.mean, self.var
        return self.gamma * (x - mu) / np.sqrt(var + self.eps) + self.beta


class Sequential(Layer):
    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def call(self, x, training=False):
        for layer in self.layers:
            x = layer(x, training=training)
        return x

    @property
    def trainable_variables(self):
        return [w for l in self.layers for w in l.trainable_variables]


def dense(variable, i, o, act=None, seed=0):
    r = rng_of(seed)
    return Dense(variable(r.normal(size=(i, o)) * 0.5), variable(r.normal(size=o) * 0.1), act)


@body
def mlp(variable):
    m = Sequential([dense(variable, 3, 4, np.tanh), dense(variable, 4, 2, sigmoid, 1)])
    x, y = rng_of(0).normal(size=(5, 3)), rng_of(1).normal(size=(5, 2))

    def step(x, y):
        with tapec.GradientTape() as tape:
            p = m(x, training=True)
            loss = np.mean(np.square(p - y)) + 1e-3 * sum(np.sum(w**2) for w in m.trainable_variables)
        return loss, tape.gradient(loss, m.trainable_variables)

    return step, (x, y), m.trainable_variables


@body
def classifier(variable):
    m = Sequential([dense(variable, 3, 8, lambda z: np.maximum(z, 0)), dense(variable, 8, 4, None, 1)])
    x, y = rng_of(0).normal(size=(6, 3)), rng_of(1).integers(0, 4, 6)

    def ce(logits, labels):
        logits = logits - np.max(logits, axis=1, keepdims=True)
        logp = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
        return -np.mean(logp[np.arange(len(labels)), labels])

    def step(x, y):
        with tapec.GradientTape() as tape:
            loss = ce(m(x), y)
        return loss, tape.gradient(loss, m.trainable_variables)

    return step, (x, y), m.trainable_variables


@body
def onehot_ce(variable):
    w = variable(rng_of(0).normal(size=(3, 4)))
    x, y = rng_of(0).normal(size=(6, 3)), rng_of(1).integers(0, 4, 6)

    def step(x, y):
        with tapec.GradientTape() as tape:
            loss = -np.sum(one_hot(y, 4) * np.log(np.clip(softmax(x @ w), 1e-7, 1.0))) / x.shape[0]
            acc = np.mean(np.argmax(x @ w, axis=1) == y)
        return loss, tape.gradient(loss, [w])

    return step, (x, y), [w]


@body
def dropout(variable):
    m = Sequential([dense(variable, 3, 8, np.tanh), Dropout(0.3, rng_of(7)), dense(variable, 8, 1, None, 1)])
    x = rng_of(0).normal(size=(6, 3))

    def step(x):
        with tapec.GradientTape() as tape:
            loss = np.mean(m(x, training=True) ** 2)
        return loss, tape.gradient(loss, m.trainable_variables)

    return step, (x,), m.trainable_variables


class SimpleRNN:
    def __init__(self, variable, i, h):
        r = rng_of(0)
        self.wx, self.wh, self.b = (
            variable(r.normal(size=(i, h)) * 0.5),
            variable(r.normal(size=(h, h)) * 0.5),
            variable(np.zeros(h)),
        )
        self.h = h

    def step(self, x, h):
        return np.tanh(x @ self.wx + h @ self.wh + self.b)

    def __call__(self, xs, return_sequences=False):
        h = np.zeros((xs.shape[0], self.h))
        out = []
        for t in range(xs.shape[1]):
            h = self.step(xs[:, t], h)
            out.append(h)
        return np.stack(out, axis=1) if return_sequences else h


@body
def rnn(variable):
    rnn = SimpleRNN(variable, 2, 3)
    head = dense(variable, 3, 1, None, 3)
    xs, y = rng_of(0).normal(size=(4, 5, 2)), rng_of(1).normal(size=(4, 1))
    vs = [rnn.wx, rnn.wh, rnn.b, head.w, head.b]

    def step(xs, y):
        with tapec.GradientTape() as tape:
            seq = rnn(xs, return_sequences=True)
            loss = np.mean((head(seq[:, -1]) - y) ** 2) + np.mean(seq**2) + np.mean(rnn(xs))
        return loss, tape.gradient(loss, vs)

    return step, (xs, y), vs


@body
def lstm(variable):
    h = 3
    W = variable(rng_of(0).normal(size=(5, 4 * h)) * 0.4)
    b = variable(np.zeros(4 * h))
    xs = rng_of(0).normal(size=(6, 2, 2))

    def cell(x, state):
        hh, c = state
        z = np.concatenate([x, hh], axis=-1) @ W + b
        i, f, g, o = np.split(z, 4, axis=-1)
        c = sigmoid(f + 1.0) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c

    def step(xs):
        with tapec.GradientTape() as tape:
            state = (np.zeros((2, h)), np.zeros((2, h)))
            outs = []
            for x in xs:
                state = cell(x, state)
                outs.append(state[0])
            loss = np.mean(np.stack(outs) ** 2)
        return loss, tape.gradient(loss, [W, b])

    return step, (xs,), [W, b]


@body
def gru_mask(variable):
    Wz, Wr, Wh = (variable(rng_of(k).normal(size=(5, 3)) * 0.4) for k in range(3))
    xs = rng_of(0).normal(size=(4, 2, 2))
    mask = np.array([[1, 1], [1, 0], [1, 0], [0, 0]], dtype=bool)

    def step(xs, mask):
        with tapec.GradientTape() as tape:
            h = np.zeros((2, 3))
            for x, m in zip(xs, mask):
                hx = np.hstack([x, h])
                z = sigmoid(hx @ Wz)
                r = sigmoid(hx @ Wr)
                cand = np.tanh(np.hstack([x, r * h]) @ Wh)
                h = np.where(m[:, None], (1 - z) * h + z * cand, h)
            loss = np.sum(h**2)
        return loss, tape.gradient(loss, [Wz, Wr, Wh])

    return step, (xs, mask), [Wz, Wr, Wh]


class Optimizer:
    def __init__(self, lr=0.01):
        self.lr = lr
        self.iterations = 0
        self.slots = {}

    def get_slot(self, var, name):
        key = (id(var), name)
        if key not in self.slots:
            self.slots[key] = np.zeros(var.shape)
        return self.slots[key]

    def apply_gradients(self, gv):
        self.iterations += 1
        for g, v in gv:
            if g is None:
                continue
            self.update(g, v)


class Adam(Optimizer):
    def __init__(self, lr=0.01, b1=0.9, b2=0.999, eps=1e-7):
        super().__init__(lr)
        self.b1, self.b2, self.eps = b1, b2, eps

    def update(self, g, v):
        m = self.slots[id(v), "m"] = self.b1 * self.get_slot(v, "m") + (1 - self.b1) * g
        s = self.slots[id(v), "v"] = self.b2 * self.get_slot(v, "v") + (1 - self.b2) * g**2
        t = self.iterations
        v.assign_sub(self.lr * (m / (1 - self.b1**t)) / (np.sqrt(s / (1 - self.b2**t)) + self.eps))


@body
def adam_training(variable):
    w, b = variable(rng_of(0).normal(size=3)), variable(0.1)
    opt = Adam(0.05)
    X = rng_of(1).normal(size=(8, 3))
    y = X @ np.array([1.0, 2.0, 3.0])

    def step(X, y):
        grads = None
        for _ in range(1):
            with tapec.GradientTape() as tape:
                loss = np.mean((X @ w + b - y) ** 2)
            grads = tape.gradient(loss, [w, b])
        return loss, grads

    def outer(X, y):
        loss, g = step(X, y)
        return loss, g

    return step, (X, y), [w, b]


@body
def gan2(variable):
    G = Sequential([dense(variable, 2, 4, np.tanh), dense(variable, 4, 1, None, 1)])
    D = Sequential([dense(variable, 1, 4, lambda x: np.where(x > 0, x, 0.2 * x), 2), dense(variable, 4, 1, None, 3)])
    rng = rng_of(5)

    def bce(logits, label):
        return np.mean(np.maximum(logits, 0) - logits * label + np.log1p(np.exp(-np.abs(logits))))

    real = rng_of(8).normal(size=(6, 1))
    noise = rng.normal(size=(6, 2))

    def step(real, noise):
        with tapec.GradientTape(persistent=True) as tape:
            fake = G(noise, training=True)
            rl, fl = D(real, training=True), D(fake, training=True)
            gl = bce(fl, np.ones_like(fl))
            dl = bce(rl, np.ones_like(rl)) + bce(fl, np.zeros_like(fl))
        gg = tape.gradient([gl, dl], G.trainable_variables)
        dg = tape.gradient([gl, dl], D.trainable_variables)
        return gl + dl, gg + dg

    return step, (real, noise), G.trainable_variables + D.trainable_variables


@body
def vae(variable):
    enc = dense(variable, 4, 4, None)
    dec = dense(variable, 2, 4, sigmoid, 1)
    rng = rng_of(11)
    x = rng_of(8).random(size=(5, 4))

    class VAE:
        def encode(self, x):
            return np.split(enc(x), 2, axis=1)

        def reparameterize(self, mean, logvar):
            eps = rng.normal(size=mean.shape)
            return eps * np.exp(logvar * 0.5) + mean

        def decode(self, z):
            return dec(z)

    vae = VAE()

    def log_normal_pdf(s, mean, logvar, raxis=1):
        return np.sum(-0.5 * ((s - mean) ** 2.0 * np.exp(-logvar) + logvar + np.log(2.0 * np.pi)), axis=raxis)

    def step(x):
        with tapec.GradientTape() as tape:
            mean, logvar = vae.encode(x)
            z = vae.reparameterize(mean, logvar)
            xl = vae.decode(z)
            logpx = np.sum(x * np.log(xl) + (1 - x) * np.log(1 - xl), axis=1)
            loss = -np.mean(logpx + log_normal_pdf(z, 0.0, 0.0) - log_normal_pdf(z, mean, logvar))
        return loss, tape.gradient(loss, [enc.w, enc.b, dec.w, dec.b])

    return step, (x,), [enc.w, enc.b, dec.w, dec.b]


@body
def pinn(variable):
    w1, b1, w2 = (
        variable(rng_of(0).normal(size=(1, 6))),
        variable(rng_of(2).normal(size=6)),
        variable(rng_of(1).normal(size=(6, 1))),
    )
    t = np.linspace(0, 1, 7)[:, None]

    def net(t):
        return np.tanh(t @ w1 + b1) @ w2

    def step(t):
        with tapec.GradientTape() as outer:
            with tapec.GradientTape() as inner:
                inner.watch(t)
                u = net(t)
            du = inner.gradient(u, t)
            loss = np.mean((du + u) ** 2) + (net(np.zeros((1, 1)))[0, 0] - 1.0) ** 2
        return loss, outer.gradient(loss, [w1, b1, w2])

    return step, (t,), [w1, b1, w2]


@body
def pinn2(variable):
    w1, b1, w2 = (
        variable(rng_of(0).normal(size=(1, 4))),
        variable(rng_of(2).normal(size=4)),
        variable(rng_of(1).normal(size=(4, 1))),
    )
    x = np.linspace(0, 1, 5).reshape(-1, 1)

    def step(x):
        with tapec.GradientTape() as outer:
            with tapec.GradientTape() as t2:
                t2.watch(x)
                with tapec.GradientTape() as t1:
                    t1.watch(x)
                    u = np.tanh(x @ w1 + b1) @ w2
                ux = t1.gradient(u, x)
            uxx = t2.gradient(ux, x)
            loss = np.mean((uxx + np.pi**2 * np.sin(np.pi * x)) ** 2)
        return loss, outer.gradient(loss, [w1, b1, w2])

    return step, (x,), [w1, b1, w2]


@body
def maml(variable):
    w, b = variable(rng_of(0).normal(size=(2,))), variable(0.3)
    tasks = [(rng_of(k).normal(size=(4, 2)), rng_of(k + 9).normal(size=4)) for k in range(3)]

    def model(params, x):
        return x @ params["w"] + params["b"]

    def mse(params, x, y):
        return np.mean((model(params, x) - y) ** 2)

    def step(tasks):
        with tapec.GradientTape() as outer:
            losses = []
            for x, y in tasks:
                params = {"w": w, "b": b}
                for _ in range(2):
                    with tapec.GradientTape() as inner:
                        for p in params.values():
                            inner.watch(p)
                        l = mse(params, x, y)
                    grads = inner.gradient(l, params)
                    params = {k: params[k] - 0.1 * grads[k] for k in params}
                losses.append(mse(params, x, y))
            loss = sum(losses) / len(losses)
        return loss, outer.gradient(loss, [w, b])

    return step, (tasks,), [w, b]


@body
def gradient_penalty(variable):
    D = Sequential([dense(variable, 2, 4, np.tanh), dense(variable, 4, 1, None, 3)])
    real, fake = rng_of(1).normal(size=(5, 2)), rng_of(2).normal(size=(5, 2))
    rng = rng_of(3)

    def step(real, fake):
        with tapec.GradientTape() as tape:
            alpha = rng.uniform(size=(real.shape[0], 1))
            mix = alpha * real + (1 - alpha) * fake
            with tapec.GradientTape() as gp:
                gp.watch(mix)
                pred = D(mix, training=True)
            g = gp.gradient(pred, mix)
            norm = np.sqrt(np.sum(np.square(g), axis=1))
            loss = np.mean(D(fake)) - np.mean(D(real)) + 10.0 * np.mean((norm - 1.0) ** 2)
        return loss, tape.gradient(loss, [v for v in D.trainable_variables])

    return step, (real, fake), D.trainable_variables


@body
def reinforce(variable):
    policy = dense(variable, 3, 2, None)
    S, A, Rw = rng_of(0).normal(size=(6, 3)), rng_of(1).integers(0, 2, 6), rng_of(2).normal(size=6)

    def returns(r, gamma=0.9):
        out, g = np.zeros(len(r)), 0.0
        for t in reversed(range(len(r))):
            g = r[t] + gamma * g
            out[t] = g
        return (out - out.mean()) / (out.std() + 1e-8)

    def step(S, A, Rw):
        with tapec.GradientTape() as tape:
            G = returns(Rw)
            probs = softmax(policy(S))
            loss = 0.0
            for t in range(len(A)):
                loss -= np.log(probs[t, A[t]]) * G[t]
            ent = -np.sum(probs * np.log(probs), axis=-1).mean()
            loss = loss - 0.01 * ent
        return loss, tape.gradient(loss, [policy.w, policy.b])

    return step, (S, A, Rw), [policy.w, policy.b]


@body
def actor_critic_env(variable):
    actor, critic = dense(variable, 2, 2), dense(variable, 2, 1, None, 4)

    class Env:
        def reset(self):
            self.s = np.array([0.1, -0.2])
            self.t = 0
            return self.s

        def step(self, a):
            self.s = 0.9 * self.s + (0.1 if a else -0.1)
            self.t += 1
            return self.s, -np.sum(self.s**2), self.t >= 5

    env = Env()
    rng = rng_of(0)

    def step():
        with tapec.GradientTape() as tape:
            logps, values, rewards = [], [], []
            s = env.reset()
            for t in range(20):
                p = softmax(actor(s[None, :]))[0]
                a = int(p[0] < 0.5)
                logps.append(np.log(p[a]))
                values.append(critic(s[None])[0, 0])
                s, r, done = env.step(a)
                rewards.append(r)
                if done:
                    break
            G, rets = 0.0, []
            for r in rewards[::-1]:
                G = r + 0.9 * G
                rets.insert(0, G)
            loss = 0.0
            for lp, v, g in zip(logps, values, rets):
                loss += -lp * (g - 0.3) + (g - v) ** 2
        return loss, tape.gradient(loss, [actor.w, actor.b, critic.w, critic.b])

    return step, (), [actor.w, actor.b, critic.w, critic.b]


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
def seq2seq(variable):
    enc = SimpleRNN(variable, 2, 3)
    dec = SimpleRNN(variable, 2, 3)
    out = dense(variable, 3, 2, None, 5)
    xs, ys = rng_of(0).normal(size=(3, 4, 2)), rng_of(1).normal(size=(3, 3, 2))
    vs = [enc.wx, enc.wh, enc.b, dec.wx, dec.wh, dec.b, out.w, out.b]

    def step(xs, ys):
        with tapec.GradientTape() as tape:
            h = enc(xs)
            inp = np.zeros_like(ys[:, 0])
            loss = 0.0
            for t in range(ys.shape[1]):
                h = dec.step(inp, h)
                pred = out(h)
                loss += np.mean((pred - ys[:, t]) ** 2)
                inp = ys[:, t] if t % 2 else pred
            loss /= ys.shape[1]
        return loss, tape.gradient(loss, vs)

    return step, (xs, ys), vs


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
