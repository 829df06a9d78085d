"""Layers and functions of networks, as people write them on NumPy."""

from __future__ import annotations

import numpy as np

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
