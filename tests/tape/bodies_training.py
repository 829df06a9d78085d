"""Steps of training as people write them."""

from __future__ import annotations

import numpy as np

import tapec
from tests.tape.bodies import body
from tests.tape.layers import Sequential, dense, rng_of, sigmoid, softmax


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
def embedding(variable):
    E = variable(rng_of(0).normal(size=(10, 4)))
    C = variable(rng_of(1).normal(size=(10, 4)))
    t, c, neg = np.array([1, 2, 3]), np.array([4, 5, 1]), rng_of(2).integers(0, 10, (3, 2))

    def step(t, c, neg):
        with tapec.GradientTape() as tape:
            we, ce, ne = E[t], np.take(C, c, axis=0), C[neg]
            pos = np.sum(we * ce, axis=1)
            ng = np.einsum("bd,bnd->bn", we, ne)
            loss = -np.mean(np.log(sigmoid(pos)) + np.sum(np.log(sigmoid(-ng)), axis=1))
        return loss, tape.gradient(loss, [E, C])

    return step, (t, c, neg), [E, C]


@body
def mdn(variable):
    net = dense(variable, 1, 9)
    x, y = rng_of(0).normal(size=(6, 1)), rng_of(1).normal(size=(6, 1))

    def step(x, y):
        with tapec.GradientTape() as tape:
            out = net(x)
            pi, mu, ls = out[:, :3], out[:, 3:6], out[:, 6:]
            logpi = pi - np.log(np.sum(np.exp(pi), axis=1, keepdims=True))
            lp = logpi - 0.5 * ((y - mu) / np.exp(ls)) ** 2 - ls - 0.5 * np.log(2 * np.pi)
            m = np.max(lp, axis=1, keepdims=True)
            loss = -np.mean(m[:, 0] + np.log(np.sum(np.exp(lp - m), axis=1)))
            loss2 = -np.mean(np.logaddexp.reduce(lp, axis=1))
        return loss, tape.gradient(loss, [net.w, net.b])

    return step, (x, y), [net.w, net.b]
