"""Programs with layers, optimisers, containers and control flow, as users of TensorFlow write them.

Each is given the tape's module and a NumPy for it, and returns values and gradients.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

from tests.tape.reference.collection import collector

CASES, case = collector()


class Dense:
    def __init__(self, tf, np, n, act=None, name="d"):
        self.tf, self.np, self.n, self.act, self.name = tf, np, n, act, name
        self.w = None

    def build(self, m):
        self.w = self.tf.Variable([[0.1 * (i - j) + 0.05 for i in range(self.n)] for j in range(m)])
        self.b = self.tf.Variable([0.01] * self.n)

    def __call__(self, x):
        if self.w is None:
            self.build(int(x.shape[-1]))
        y = self.np.dot(x, self.w) + self.b
        return self.act(y) if self.act else y

    @property
    def variables(self):
        return [self.w, self.b] if self.w is not None else []


class Model:
    def __init__(self, tf, np):
        self.layers = [
            Dense(tf, np, 4, np.tanh),
            Dense(tf, np, 3, lambda z: np.maximum(z, 0.0) if False else z * z),
            Dense(tf, np, 1),
        ]

    def __call__(self, x):
        return functools.reduce(lambda h, l: l(h), self.layers, x)

    @property
    def trainable_variables(self):
        return [v for l in self.layers for v in l.variables]


@case
def train(tf, np):
    m = Model(tf, np)
    x = tf.constant([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]])
    t = tf.constant([[1.0], [0.0], [0.5]])
    losses = []
    for step in range(5):
        with tf.GradientTape() as tape:
            loss = np.mean((m(x) - t) ** 2)
        grads = tape.gradient(loss, m.trainable_variables)
        for v, g in zip(m.trainable_variables, grads):
            v.assign_sub(0.1 * g)
        losses.append(loss)
    return [losses, m.trainable_variables]


@case
def momentum(tf, np):
    class Momentum:
        def __init__(self, lr, mu):
            self.lr, self.mu, self.slots = lr, mu, {}

        def apply(self, pairs):
            for g, v in pairs:
                k = id(v)
                self.slots[k] = self.mu * self.slots.get(k, 0.0) + g
                v.assign_sub(self.lr * self.slots[k])

    a, b = tf.Variable(1.0), tf.Variable([2.0, -1.0])
    opt = Momentum(0.1, 0.9)
    for _ in range(6):
        with tf.GradientTape() as tape:
            loss = np.sum((a * b - 1.0) ** 2) + a**2
        opt.apply(zip(tape.gradient(loss, [a, b]), [a, b]))
    return [a, b]


@case
def rnn(tf, np):
    W = tf.Variable([[0.1, 0.2], [0.3, -0.1]])
    U = tf.Variable([[0.5, -0.5], [0.2, 0.1]])
    b = tf.Variable([0.0, 0.1])
    xs = [tf.constant([[0.1 * i, 0.2]]) for i in range(5)]
    with tf.GradientTape(persistent=True) as tape:
        h = tf.constant([[0.0, 0.0]])
        hs = []
        for x in xs:
            h = np.tanh(np.dot(x, W) + np.dot(h, U) + b)
            hs.append(h)
        loss = np.sum(hs[-1] * hs[2])
    return [tape.gradient(loss, [W, U, b]), tape.gradient(loss, hs[2]), tape.gradient(loss, hs[0])]


@dataclass
class Params:
    w: Any
    b: Any


@case
def dataclass_params(tf, np):
    p = Params(tf.Variable([1.0, 2.0]), tf.Variable(0.5))
    with tf.GradientTape() as tape:
        y = np.sum(p.w * p.w) * p.b
    return tape.gradient(y, [p.w, p.b])


@case
def generator(tf, np):
    v = tf.Variable(2.0)

    def gen(n):
        for i in range(n):
            yield v**i

    with tf.GradientTape() as tape:
        y = 0.0
        for t in gen(4):
            y = y + t
    return tape.gradient(y, v)


@case
def tape_to_helper(tf, np):
    def helper(t, v):
        t.watch(v)
        return v * v

    c = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = helper(tape, c)
    return tape.gradient(y, c)


@case
def returned_tape(tf, np):
    def make(v):
        with tf.GradientTape() as tape:
            y = np.sin(v) * v
        return tape, y

    v = tf.Variable(0.7)
    t, y = make(v)
    return t.gradient(y, v)


@case
def namedtuple_sources(tf, np):
    P = namedtuple("P", "a b")
    p = P(tf.Variable(1.0), tf.Variable(2.0))
    with tf.GradientTape() as tape:
        y = p.a * p.b**2
    g = tape.gradient(y, p)
    return [type(g).__name__, g.a, g.b]


@case
def cond_watch_loop(tf, np):
    cs = [tf.constant(float(i)) for i in range(4)]
    with tf.GradientTape() as tape:
        s = tf.constant(0.0)
        for i, c in enumerate(cs):
            if i % 2:
                tape.watch(c)
            s = s + c * c
    return tape.gradient(s, cs)


@case
def while_float(tf, np):
    x = tf.Variable(1.3)
    with tf.GradientTape() as tape:
        y = x
        n = 0
        while y < 50.0:
            y = y * x + 1.0
            n += 1
    return [n, tape.gradient(y, x)]


@case
def rebind_source(tf, np):
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        old = x
        x = x * 3.0
        y = x * old
    return tape.gradient(y, [x, old])


@case
def swap(tf, np):
    a, b = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(a)
        a, b = b, a
        y = a * a + b * b * b
    return tape.gradient(y, [a, b])


@case
def list_store(tf, np):
    a = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        box = [a * 2.0]
        box.append(box[0] * a)
        box[0] = box[1] + 1.0
        d = {"q": box[0] * box[1]}
        y = d["q"] + box[-1]
    return tape.gradient(y, [a, box[0], box[1], d["q"]])


@case
def attr_store(tf, np):
    class Box:
        pass

    o = Box()
    o.v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        o.y = o.v * o.v
        o.z = o.y * o.v
        o.y2 = o.y
    return tape.gradient(o.z, [o.y, o.v, o.y2])


@case
def recursion(tf, np):
    x = tf.Variable(1.1)

    def power(b, n):
        return b if n == 1 else b * power(b, n - 1)

    with tf.GradientTape() as tape:
        y = power(x, 5)
    return tape.gradient(y, x)


@case
def tree(tf, np):
    ws = {"a": tf.Variable(1.0), "b": [tf.Variable(2.0), (tf.Variable(3.0), tf.Variable(4.0))]}

    def walk(t):
        if isinstance(t, dict):
            return sum(walk(t[k]) for k in sorted(t))
        if isinstance(t, (list, tuple)):
            out = 1.0
            for i in t:
                out = out * walk(i)
            return out
        return t * t

    with tf.GradientTape() as tape:
        y = walk(ws)
    g = tape.gradient(y, ws)
    return [g["a"], g["b"][0], g["b"][1][0], g["b"][1][1]]


@case
def maml(tf, np):
    w = tf.Variable(0.5)
    x, t = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            l = (w * x - t) ** 2
        g = inner.gradient(l, w)
        w2 = w - 0.1 * g
        l2 = (w2 * x * 1.1 - t) ** 2
    return outer.gradient(l2, w)


@case
def gp_penalty(tf, np):
    W = tf.Variable([[0.3], [-0.2]])
    x = tf.constant([[1.0, 2.0], [0.5, -1.0]])
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            t1.watch(x)
            out = np.tanh(np.dot(x, W))
        g = t1.gradient(out, x)
        pen = np.mean((np.sqrt(np.sum(g**2, axis=1)) - 1.0) ** 2)
    return [pen, t2.gradient(pen, W)]


@case
def jac_of_model(tf, np):
    m = Model(tf, np)
    x = tf.constant([[0.1, 0.2]])
    m(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = m(x)
    return tape.jacobian(y, [x, m.layers[0].w])


@case
def bjac_model(tf, np):
    d = Dense(tf, np, 3, np.tanh)
    x = tf.constant([[0.1, 0.2], [0.5, -0.3]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = d(x)
    return tape.batch_jacobian(y, x)


@case
def hess_matrix(tf, np):
    d1 = Dense(tf, np, 3, np.tanh)
    d2 = Dense(tf, np, 1)
    x = tf.constant([[0.1, 0.2], [0.5, -0.3]])
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            h = d1(x)
            l = np.mean(d2(h) ** 2)
        g = t1.gradient(l, d1.w)
    return t2.jacobian(g, d1.w)


@case
def multi_tape(tf, np):
    x0, x1 = tf.constant(0.5), tf.constant(1.0)
    with tf.GradientTape() as ta, tf.GradientTape() as tb:
        ta.watch(x0)
        tb.watch(x1)
        y0 = np.sin(x0)
        y1 = 1.0 / (1.0 + np.exp(-x1))
        ys = y0 + y1
    return [ta.gradient(ys, x0), tb.gradient(ys, x1)]


@case
def partial_none(tf, np):
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    gs = []
    for flag in (True, False, True):
        with tf.GradientTape() as t:
            y = a * 2.0 if flag else b * 3.0
        gs.append(t.gradient(y, [a, b]))
    return gs


@case
def changing_layers(tf, np):
    layers = [tf.Variable(1.5)]
    out = []
    for k in range(4):
        with tf.GradientTape() as t:
            h = 1.0
            for v in layers:
                h = h * v * 1.1
        out.append(t.gradient(h, layers))
        if k == 1:
            layers.append(tf.Variable(2.5))
        if k == 2:
            layers[0] = tf.Variable(0.5)
    return out


@case
def changing_python_number(tf, np):
    v = tf.Variable(2.0)
    out = []
    for n in (2, 3, 4):
        with tf.GradientTape() as t:
            y = v**n * n
        out.append(t.gradient(y, v))
    return out


@case
def changing_shape(tf, np):
    out = []
    v = tf.Variable(2.0)
    for n in (2, 3):
        c = tf.constant([float(i) for i in range(n)])
        with tf.GradientTape() as t:
            t.watch(c)
            y = np.sum(c * c) * v
        out.append(t.gradient(y, [c, v]))
    return out


@case
def changing_function(tf, np):
    v = tf.Variable(0.5)
    out = []
    for f in (np.sin, np.cos, lambda z: z * z):
        with tf.GradientTape() as t:
            y = f(v)
        out.append(t.gradient(y, v))
    return out


@case
def closure_counter(tf, np):
    v = tf.Variable(0.5)
    calls = []

    def f(z):
        calls.append(1)
        return z * len(calls)

    out = []
    for _ in range(3):
        with tf.GradientTape() as t:
            y = f(v) + f(v)
        out.append(t.gradient(y, v))
    return [out, len(calls)]


@case
def assign_in_loop(tf, np):
    v = tf.Variable(1.0)
    w = tf.Variable(2.0)
    with tf.GradientTape() as t:
        s = 0.0
        for i in range(3):
            s = s + v * w
            v.assign(v * 2.0)
    return [t.gradient(s, [v, w]), v]


@case
def assign_from_source(tf, np):
    v = tf.Variable(1.0)
    w = tf.Variable(2.0)
    with tf.GradientTape() as t:
        v.assign(w * 3.0)
        s = v * w
    return t.gradient(s, [v, w])


@case
def var_numpy_const(tf, np):
    v = tf.Variable(3.0)
    with tf.GradientTape() as t:
        y = v * v.numpy()
    return t.gradient(y, v)


@case
def softmax_ce(tf, np):
    logits = tf.Variable([[1.0, 2.0, 0.5], [0.1, 0.2, 3.0]])
    onehot = tf.constant([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    with tf.GradientTape() as t:
        z = logits - np.max(logits, axis=1, keepdims=True)
        lse = np.log(np.sum(np.exp(z), axis=1, keepdims=True))
        loss = -np.mean(np.sum(onehot * (z - lse), axis=1))
    return [loss, t.gradient(loss, logits)]


@case
def layernorm(tf, np):
    x = tf.Variable([[1.0, 2.0, 0.5], [0.1, 0.2, 3.0]])
    g = tf.Variable([1.0, 1.5, 0.5])
    with tf.GradientTape() as t:
        m = np.mean(x, axis=-1, keepdims=True)
        s = np.mean((x - m) ** 2, axis=-1, keepdims=True)
        y = np.sum(((x - m) / np.sqrt(s + 1e-3) * g) ** 3)
    return t.gradient(y, [x, g])


@case
def elementwise_mix(tf, np):
    x = tf.Variable([0.3, 1.2, 2.5])
    with tf.GradientTape() as t:
        y = np.sum(
            np.where(x > 1.0, np.sqrt(x), np.exp(-x)) * np.log1p(x)
            + np.arctan(x) / (1.0 + np.square(x))
            - np.power(x, 1.5)
        )
    return t.gradient(y, x)


@case
def reshape_etc(tf, np):
    x = tf.Variable([[0.3, 1.2, 2.5], [1.0, 2.0, 3.0]])
    with tf.GradientTape() as t:
        y = np.reshape(x, (3, 2))
        z = np.transpose(x)
        w = np.concatenate([y, z], axis=0)
        v = np.stack([w[:, 0], w[:, 1]], axis=1)
        s = np.sum(v * w * np.cumsum(w, axis=0)) + np.sum(np.expand_dims(x, 0)[0, :, 1] ** 2)
    return t.gradient(s, x)


@case
def outer_einsum_free(tf, np):
    a = tf.Variable([1.0, 2.0])
    b = tf.Variable([3.0, 4.0, 5.0])
    with tf.GradientTape() as t:
        s = np.sum(np.outer(a, b) ** 2) + np.prod(b) * np.max(a) - np.min(b)
    return t.gradient(s, [a, b])


@case
def early_return_helper(tf, np):
    v = tf.Variable(0.5)

    def f(z):
        for i in range(10):
            z = z * 1.5
            if z > 2.0:
                return z * i
        return z

    with tf.GradientTape() as t:
        y = f(v)
    return t.gradient(y, v)


@case
def try_in_body(tf, np):
    v = tf.Variable(0.5)
    with tf.GradientTape() as t:
        try:
            y = v * 2.0
            raise ValueError
        except ValueError:
            y = y * v
        finally:
            y = y + v
    return t.gradient(y, v)


@case
def method_chain(tf, np):
    class A:
        scale = 2.0

        def __init__(self, v):
            self.v = v

        def f(self, x):
            return self.v * x * self.scale

    class B(A):
        scale = 3.0

        def f(self, x):
            return super().f(x) + self.v

    b = B(tf.Variable(1.5))
    with tf.GradientTape() as t:
        y = b.f(b.f(2.0))
    return t.gradient(y, b.v)


@case
def inside_function_twice(tf, np):
    def step(v, k):
        with tf.GradientTape() as t:
            y = v**2 * k
        return t.gradient(y, v)

    a, b = tf.Variable(1.0), tf.Variable([1.0, 2.0])
    return [step(a, 1.0), step(b, 2.0), step(a, 3.0), step(b, 1.0)]


@case
def stop_then_resume(tf, np):
    v = tf.Variable(2.0)
    w = tf.Variable(5.0)
    with tf.GradientTape(persistent=True) as t:
        with t.stop_recording():
            k = v * 3.0
            inner = w * 1.0
        y = v * k
        z = w * inner
    return [t.gradient(y, [v, k]), t.gradient(z, [w, inner]), [x.numpy() for x in t.watched_variables()]]


@case
def outgrad_nested(tf, np):
    v = tf.Variable([1.0, 2.0])
    u = tf.Variable([0.5, 3.0])
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            y = v**3
        g = t1.gradient(y, v, output_gradients=u * 2.0)
        s = np.sum(g * g)
    return t2.gradient(s, [v, u])


@case
def double_backward_trick(tf, np):
    v = tf.Variable([1.0, 2.0])
    tang = tf.constant([1.0, -1.0])
    with tf.GradientTape() as t2:
        u = tf.constant([1.0, 1.0])
        t2.watch(u)
        with tf.GradientTape() as t1:
            y = np.sin(v) * v
        g = t1.gradient(y, v, output_gradients=u)
    return t2.gradient(g, u, output_gradients=tang)


@case
def list_comp_vars(tf, np):
    vs = [tf.Variable(float(i + 1)) for i in range(4)]
    with tf.GradientTape() as t:
        y = sum([v * w for v, w in zip(vs, vs[1:])]) + max(range(3)) * vs[0]
    return t.gradient(y, vs)


@case
def global_state(tf, np):
    v = tf.Variable(2.0)

    def f(x, *, power=2, **kw):
        return x**power * kw.get("scale", 1.0)

    with tf.GradientTape() as t:
        y = f(v, power=3, scale=2.0) + f(v)
    return t.gradient(y, v)
