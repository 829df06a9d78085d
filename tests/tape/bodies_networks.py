"""Networks as people write them, layer by layer."""

from __future__ import annotations

import math

import numpy as np

import tapec
from tests.tape.bodies import body
from tests.tape.layers import Dropout, Sequential, dense, one_hot, rng_of, sigmoid, softmax


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


@body
def attention(variable):
    d, heads = 4, 2
    Wq, Wk, Wv, Wo = (variable(rng_of(k).normal(size=(d, d)) * 0.5) for k in range(4))
    x = rng_of(9).normal(size=(3, 5, d))

    def split(t):
        b, n, _ = t.shape
        return t.reshape(b, n, heads, d // heads).transpose(0, 2, 1, 3)

    def step(x):
        with tapec.GradientTape() as tape:
            q, k, v = split(x @ Wq), split(x @ Wk), split(x @ Wv)
            scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(d // heads)
            causal = np.tril(np.ones((x.shape[1], x.shape[1])))
            scores = np.where(causal == 0, -1e9, scores)
            out = softmax(scores) @ v
            out = out.transpose(0, 2, 1, 3).reshape(x.shape) @ Wo
            mu = out.mean(axis=-1, keepdims=True)
            sd = out.std(axis=-1, keepdims=True)
            loss = np.mean(((out - mu) / (sd + 1e-5) + x) ** 2)
        return loss, tape.gradient(loss, [Wq, Wk, Wv, Wo])

    return step, (x,), [Wq, Wk, Wv, Wo]


@body
def attention_einsum(variable):
    Wq, Wk = variable(rng_of(0).normal(size=(4, 2, 2))), variable(rng_of(1).normal(size=(4, 2, 2)))
    x = rng_of(9).normal(size=(2, 3, 4))

    def step(x):
        with tapec.GradientTape() as tape:
            q = np.einsum("bnd,dhk->bhnk", x, Wq)
            k = np.einsum("bnd,dhk->bhnk", x, Wk)
            s = softmax(np.einsum("bhnk,bhmk->bhnm", q, k) / np.sqrt(2.0))
            loss = np.sum(np.tensordot(s, s, axes=([2, 3], [2, 3])) ** 2) + np.sum(np.einsum("bhnm,bmd", s, x) ** 2)
        return loss, tape.gradient(loss, [Wq, Wk])

    return step, (x,), [Wq, Wk]


@body
def conv1d(variable):
    k = variable(rng_of(0).normal(size=(3, 2, 4)))
    b = variable(np.zeros(4))
    x = rng_of(1).normal(size=(2, 8, 2))

    def conv(x, k, stride=1):
        w = k.shape[0]
        return sum(x[:, i : x.shape[1] - w + 1 + i : stride] @ k[i] for i in range(w))

    def step(x):
        with tapec.GradientTape() as tape:
            h = np.maximum(conv(np.pad(x, ((0, 0), (1, 1), (0, 0))), k) + b, 0.0)
            p = h.reshape(h.shape[0], -1, 2, h.shape[2]).max(axis=2)
            loss = np.mean(p.mean(axis=1) ** 2)
        return loss, tape.gradient(loss, [k, b])

    return step, (x,), [k, b]


@body
def conv2d(variable):
    k = variable(rng_of(0).normal(size=(3, 3, 1, 2)))
    x = rng_of(1).normal(size=(2, 6, 6, 1))

    def step(x):
        with tapec.GradientTape() as tape:
            n, H, W, _ = x.shape
            out = np.zeros((n, H - 2, W - 2, 2))
            for i in range(3):
                for j in range(3):
                    out = out + x[:, i : i + H - 2, j : j + W - 2, :] @ k[i, j]
            flat = np.maximum(out, 0).reshape(n, -1)
            loss = np.mean(np.sum(flat, axis=1) ** 2)
        return loss, tape.gradient(loss, [k])

    return step, (x,), [k]


@body
def conv_windows(variable):
    k = variable(rng_of(0).normal(size=(3, 3)))
    x = rng_of(1).normal(size=(6, 6))

    def step(x):
        with tapec.GradientTape() as tape:
            w = np.lib.stride_tricks.sliding_window_view(x, (3, 3))
            out = np.einsum("ijkl,kl->ij", w, k)
            loss = np.sum(np.tanh(out))
        return loss, tape.gradient(loss, [k])

    return step, (x,), [k]


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
