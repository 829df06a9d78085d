"""Programs with optimisers, containers, classes and helpers of the standard library.

Each is given the tape's module and a NumPy for it, and returns values and gradients.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math

from tests.tape.reference.collection import collector

CASES, case = collector()

SCALE = 1.5


def helper_global(v):
    return v * SCALE


class Adam:
    def __init__(self, lr=0.05, b1=0.9, b2=0.99, eps=1e-7):
        self.lr, self.b1, self.b2, self.eps = lr, b1, b2, eps
        self.m = {}
        self.v = {}
        self.t = 0

    def apply_gradients(self, gv):
        self.t += 1
        for i, (g, var) in enumerate(gv):
            self.m[i] = self.b1 * self.m.get(i, 0.0) + (1 - self.b1) * g
            self.v[i] = self.b2 * self.v.get(i, 0.0) + (1 - self.b2) * g * g
            mh = self.m[i] / (1 - self.b1**self.t)
            vh = self.v[i] / (1 - self.b2**self.t)
            var.assign_sub(self.lr * mh / (vh**0.5 + self.eps))


@case
def adam(tf, np):
    w, b = tf.Variable([[0.3], [-0.2]]), tf.Variable([0.1])
    X = tf.constant([[1.0, 2.0], [0.5, -1.0], [2.0, 0.3]])
    y = tf.constant([[1.0], [0.0], [2.0]])
    opt = Adam()
    hist = []
    for epoch in range(8):
        with tf.GradientTape() as tape:
            pred = np.dot(X, w) + b
            loss = np.mean(np.square(pred - y)) + 0.01 * np.sum(w**2)
        opt.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
        hist.append(loss)
    return [hist, w, b]


@case
def minibatches(tf, np):
    w = tf.Variable(0.1)
    data = [(float(i), 2.0 * i + 1) for i in range(6)]
    for lo in range(0, 6, 2):
        batch = data[lo : lo + 2]
        with tf.GradientTape() as tape:
            loss = 0.0
            for x, y in batch:
                loss += (w * x - y) ** 2
            loss /= len(batch)
        w.assign_sub(0.01 * tape.gradient(loss, w))
    return w


@case
def accumulate(tf, np):
    ws = [tf.Variable(1.0), tf.Variable([1.0, 2.0])]
    acc = [0.0, np.zeros(2)]
    for k in range(3):
        with tf.GradientTape() as tape:
            l = np.sum(ws[1] * (ws[0] * (k + 1.0)))
        gs = tape.gradient(l, ws)
        acc = [a + g for a, g in zip(acc, gs)] if k else list(gs)
    return acc


@case
def clip_global(tf, np):
    ws = [tf.Variable(3.0), tf.Variable([1.0, 2.0])]
    with tf.GradientTape() as tape:
        l = ws[0] ** 2 * np.sum(ws[1] ** 2)
    gs = tape.gradient(l, ws)
    n = np.sqrt(sum(np.sum(g * g) for g in gs))
    return [g * (1.0 / n) for g in gs]


@case
def gan_two_tapes(tf, np):
    g, d = tf.Variable(0.5), tf.Variable(-0.3)
    z, x = tf.constant([0.1, 0.2]), tf.constant([1.0, 1.1])
    with tf.GradientTape() as gt, tf.GradientTape() as dt:
        fake = g * z
        rf = 1 / (1 + np.exp(-d * fake))
        rr = 1 / (1 + np.exp(-d * x))
        gl = -np.mean(np.log(rf))
        dl = -np.mean(np.log(rr) + np.log(1 - rf))
    return [gt.gradient(gl, g), dt.gradient(dl, d)]


@case
def attention(tf, np):
    x = tf.constant([[0.1, 0.2, 0.3], [0.5, -0.1, 0.2]])
    P = {k: tf.Variable([[0.1 * (i + j * s) for i in range(3)] for j in range(3)]) for s, k in enumerate("qkv", 1)}
    with tf.GradientTape() as tape:
        q, k, v = (np.dot(x, P[n]) for n in "qkv")
        s = np.dot(q, np.transpose(k)) / math.sqrt(3)
        e = np.exp(s - np.max(s, axis=-1, keepdims=True))
        a = e / np.sum(e, axis=-1, keepdims=True)
        out = np.sum(np.dot(a, v) ** 2)
    return tape.gradient(out, P)


@case
def early_stop(tf, np):
    w = tf.Variable(2.0)
    n = 0
    for step in range(50):
        with tf.GradientTape() as tape:
            loss = (w - 0.5) ** 2
        if loss < 0.1:
            break
        w.assign_sub(0.3 * tape.gradient(loss, w))
        n += 1
    return [n, w]


@case
def weight_sharing(tf, np):
    w = tf.Variable([[0.5, 0.1], [0.2, 0.3]])
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        h = np.tanh(np.dot(x, w))
        o = np.dot(h, np.transpose(w))
        l = np.sum((o - x) ** 2)
    return tape.gradient(l, w)


class Seq:
    def __init__(self, *layers):
        self.layers = list(layers)

    def __getitem__(self, k):
        return self.layers[k]

    def __len__(self):
        return len(self.layers)

    def __iter__(self):
        return iter(self.layers)

    def __call__(self, x, training=False):
        for l in self:
            x = l(x)
        return x * (0.5 if training else 1.0)


@case
def container_class(tf, np):
    a, b = tf.Variable(2.0), tf.Variable(3.0)
    m = Seq(lambda x: x * a, lambda x: x + b, np.sin)
    with tf.GradientTape() as tape:
        y = m(1.0, training=True) + m[1](a) * len(m)
    return tape.gradient(y, [a, b])


@case
def defaults_kwargs(tf, np):
    v = tf.Variable(2.0)

    def f(x, *args, p=2, **kw):
        out = x**p
        for a in args:
            out = out * a
        for k in sorted(kw):
            out = out + kw[k] * x
        return out

    with tf.GradientTape() as tape:
        y = f(v, 2.0, v, p=3, b=v, a=1.0)
    return tape.gradient(y, v)


@case
def global_const(tf, np):
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = helper_global(v) * SCALE
    return tape.gradient(y, v)


@case
def dict_comp(tf, np):
    d = {i: tf.Variable(float(i + 1)) for i in range(3)}
    with tf.GradientTape() as tape:
        e = {k: v ** (k + 1) for k, v in d.items() if k != 1}
        y = sum(e.values())
    return [tape.gradient(y, [d[i] for i in range(3)]), sorted(e)]


@case
def nested_with(tf, np):
    v = tf.Variable(2.0)

    @contextlib.contextmanager
    def scope(x):
        yield x * 2.0

    with tf.GradientTape() as tape:
        with scope(v) as s, contextlib.nullcontext():
            y = s * v
    return tape.gradient(y, v)


@case
def prints_asserts(tf, np):
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = v * 3.0
        assert y > 1.0, f"y is {y}"
        name = f"{'a'}-{len([1, 2])}"
        y = y * len(name)
    return tape.gradient(y, v)


@case
def isinstance_branch(tf, np):
    v = tf.Variable(2.0)

    def f(x):
        if isinstance(x, (list, tuple)):
            return sum(f(i) for i in x)
        if callable(x):
            return x(v)
        if isinstance(x, dict):
            return f(list(x.values()))
        return x * v

    with tf.GradientTape() as tape:
        y = f([1.0, (2.0, lambda q: q * q), {"a": 3.0, "b": [v]}])
    return tape.gradient(y, v)


@case
def itertools_use(tf, np):
    vs = [tf.Variable(float(i + 1)) for i in range(3)]
    with tf.GradientTape() as tape:
        y = 0.0
        for a, b in itertools.combinations(vs, 2):
            y = y + a * b
        for a, b in itertools.product(vs[:1], vs[1:]):
            y = y + a * b * b
    return tape.gradient(y, vs)


@case
def partial_and_lambda(tf, np):
    v = tf.Variable(2.0)
    f = functools.partial(lambda a, b, c=1.0: a * b + c, v)
    with tf.GradientTape() as tape:
        y = f(3.0) + f(v, c=v)
    return tape.gradient(y, v)


@case
def static_class_methods(tf, np):
    class M:
        k = 3.0

        @staticmethod
        def s(x):
            return x * 2.0

        @classmethod
        def c(cls, x):
            return x * cls.k

        @property
        def p(self):
            return self.v * self.v

        @p.setter
        def p(self, value):
            self.v = value

    m = M()
    m.v = tf.Variable(2.0)
    v = m.v
    with tf.GradientTape() as tape:
        y = M.s(m.p) + M.c(m.v)
        m.p = y * 2.0
        z = m.p
    return tape.gradient(z, v)


@case
def while_list_pop(tf, np):
    v = tf.Variable(1.2)
    with tf.GradientTape() as tape:
        stack = [(v, 1), (v * 2.0, 2)]
        total = 0.0
        while stack:
            x, n = stack.pop()
            total = total + x**n
            if n == 2:
                stack.extend([(x * 0.5, 3), (x, 1)])
    return tape.gradient(total, v)


@case
def memo(tf, np):
    v = tf.Variable(1.2)
    cache = {}

    def fib(n):
        if n in cache:
            return cache[n]
        cache[n] = v if n < 2 else fib(n - 1) * 0.9 + fib(n - 2) * v
        return cache[n]

    with tf.GradientTape() as tape:
        y = fib(6)
    return [tape.gradient(y, v), len(cache)]


@case
def tree_lstm(tf, np):
    W = tf.Variable(0.4)

    def enc(t):
        if not isinstance(t, tuple):
            return np.tanh(W * t)
        l, r = map(enc, t)
        return np.tanh(W * (l + r) + l * r)

    with tf.GradientTape() as tape:
        y = enc(((0.1, 0.2), (0.3, (0.4, 0.5))))
    return tape.gradient(y, W)


@case
def neural_ode(tf, np):
    A = tf.Variable([[-0.1, 2.0], [-2.0, -0.1]])
    with tf.GradientTape() as tape:
        y = tf.constant([[2.0, 0.0]])
        for _ in range(6):
            k1 = np.dot(y**3, A)
            k2 = np.dot((y + 0.025 * k1) ** 3, A)
            y = y + 0.05 * k2
        l = np.mean(np.abs(y))
    return tape.gradient(l, A)


@case
def lagrangian(tf, np):
    q, qd = tf.constant(0.3), tf.constant(-0.7)
    with tf.GradientTape() as t2:
        t2.watch(q)
        with tf.GradientTape() as t1:
            t1.watch(qd)
            L = 0.5 * qd**2 * (1.0 + q**2) - np.cos(q)
        p = t1.gradient(L, qd)
    return [p, t2.gradient(p, q)]


@case
def pinn(tf, np):
    w1, w2 = tf.Variable([0.3, -0.2, 0.5]), tf.Variable([0.1, 0.4, -0.3])
    xs = [0.1, 0.5]
    with tf.GradientTape() as tw:
        loss = 0.0
        for xv in xs:
            x = tf.constant(xv)
            with tf.GradientTape() as t2:
                t2.watch(x)
                with tf.GradientTape() as t1:
                    t1.watch(x)
                    u = np.sum(w2 * np.tanh(w1 * x))
                ux = t1.gradient(u, x)
            uxx = t2.gradient(ux, x)
            loss = loss + (uxx + u) ** 2
    return [loss, tw.gradient(loss, [w1, w2])]


@case
def hvp_forward_over(tf, np):
    w = tf.Variable([1.0, -0.5])
    v = tf.constant([0.3, 2.0])
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            l = np.sum(np.sin(w) * w**2) * w[0]
        g = t1.gradient(l, w)
        gv = np.sum(g * tf.stop_gradient(v))
    return t2.gradient(gv, w)


@case
def per_layer_grads(tf, np):
    ls = [tf.Variable(0.5 + 0.1 * i) for i in range(3)]
    with tf.GradientTape(persistent=True) as tape:
        acts = [tf.constant(1.0)]
        for l in ls:
            acts.append(np.tanh(acts[-1] * l))
        loss = acts[-1] ** 2
    return [tape.gradient(loss, acts[1:]), tape.gradient(loss, {"l": ls, "a": acts[1]}), tape.gradient(acts[2], ls)]


@case
def exception_then_next(tf, np):
    v = tf.Variable(2.0)
    out = []
    for i in range(4):
        try:
            with tf.GradientTape() as tape:
                y = v * (i + 1.0)
                if i == 2:
                    raise KeyError("x")
                y = y * v
        except KeyError:
            pass
        out.append(tape.gradient(y, v))
    return out


@case
def unpack_star(tf, np):
    vs = [tf.Variable(float(i + 1)) for i in range(4)]
    with tf.GradientTape() as tape:
        a, *rest, z = vs
        y = a * z + sum(r**2 for r in rest)
        (p, q), r = (rest, a * 2.0)
        y = y * p + q * r
    return tape.gradient(y, vs)


@case
def slices_scatter(tf, np):
    v = tf.Variable([1.0, 2.0, 3.0, 4.0])
    with tf.GradientTape() as tape:
        y = (
            np.sum(v[1:] * v[:-1])
            + np.sum(v[::2] ** 2)
            + v[-1] * v[0]
            + np.sum(v[::-1] * np.array([1.0, 2.0, 3.0, 4.0], "float32"))
        )
    return tape.gradient(y, v)


@case
def augmented_scalars(tf, np):
    v = tf.Variable(2.0)
    w = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = v * 1.0
        y += w
        y *= v
        y -= v / w
        y /= 2.0
        y **= 2
        z = -y - -v - (v if y > 0 else w)
    return tape.gradient(z, v)


@case
def unused_and_const_paths(tf, np):
    a, b, c = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        u = a * b
        w = b * 0.0
        x = tf.stop_gradient(u) * c
        y = u - u
    return [
        tape.gradient(u, [a, b, c]),
        tape.gradient(w, [a, b, c]),
        tape.gradient(x, [a, b, c]),
        tape.gradient(y, [a, b, c]),
    ]
