"""Blocks that use objects and the standard library in every way that people do."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import logging
import math
import operator
import types
import typing
from collections import namedtuple

import numpy as np

import tapec
from tests.tape.bodies import body

log = logging.getLogger("x")


@dataclasses.dataclass
class Params:
    w: object
    hist: list = dataclasses.field(default_factory=list)
    opts: dict = dataclasses.field(default_factory=dict)
    scale: float = dataclasses.field(default=2.0, repr=False)
    total: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self):
        self.total = self.scale * 2


@dataclasses.dataclass(frozen=True, slots=True)
class Cfg:
    lr: float = 0.1
    act: typing.Callable = np.tanh


@body
def uses_dataclass(variable):
    a = variable(1.2)
    cfg = Cfg()

    def step(x):
        with tapec.GradientTape() as tape:
            p = Params(a)
            p.hist.append(p.w * x)
            p.opts["k"] = p.w * p.scale
            q = dataclasses.replace(p, scale=4.0)
            c2 = dataclasses.replace(cfg, lr=3.0)
            loss = sum(p.hist) + p.opts["k"] * p.total + q.scale * q.w * c2.lr + cfg.act(p.w) * cfg.lr
            fields = dataclasses.asdict(cfg)
            loss = loss * fields["lr"]
            for f in dataclasses.fields(cfg):
                loss = loss + (f.name == "lr") * a
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a
        self.b = 2.0


class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        return getattr(obj, self.name) * 2.0

    def __set__(self, obj, value):
        setattr(obj, self.name, value)


class WithDesc:
    x = Positive()

    def __init__(self, x):
        self.x = x


class Proxy:
    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)


class Vec:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y)

    def __mul__(self, s):
        return Vec(self.x * s, self.y * s)

    __rmul__ = __mul__

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def __abs__(self):
        return (self.x**2 + self.y**2) ** 0.5

    def __getitem__(self, k):
        return (self.x, self.y)[k]

    def __iter__(self):
        yield self.x
        yield self.y

    def __len__(self):
        return 2

    def __iadd__(self, o):
        self.x = self.x + o.x
        self.y = self.y + o.y
        return self

    def __eq__(self, o):
        return self.x == o.x and self.y == o.y

    def __lt__(self, o):
        return abs(self) < abs(o)

    def __bool__(self):
        return True

    def __contains__(self, v):
        return v == self.x

    def __matmul__(self, o):
        return self.x * o.x + self.y * o.y

    def __call__(self, t):
        return self.x + t * self.y

    def __float__(self):
        return float(self.x)

    def __setitem__(self, k, v):
        if k == 0:
            self.x = v
        else:
            self.y = v

    __hash__ = None


@body
def uses_slots(variable):
    a = variable(1.2)
    s = Slotted(3.0)

    def step(x):
        with tapec.GradientTape() as tape:
            t = Slotted(a * x)
            s.b = t.a * 2
            loss = t.a * t.b + s.b * s.a
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_descriptor(variable):
    a = variable(1.2)
    d = WithDesc(3.0)

    def step(x):
        with tapec.GradientTape() as tape:
            e = WithDesc(a * x)
            loss = e.x * d.x
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_getattr(variable):
    a = variable(1.2)
    d = Proxy(Slotted(3.0))

    def step(x):
        with tapec.GradientTape() as tape:
            e = Proxy(Slotted(a * x))
            loss = e.a * d.a * d.b
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_vec(variable):
    a, b = variable(1.2), variable(0.7)
    origin = Vec(1.0, 2.0)

    def step(x):
        with tapec.GradientTape() as tape:
            u = Vec(a, b)
            v = 2.0 * u + origin * 3.0 + -u
            v += u
            p, q = v
            loss = abs(v) * u[0] + p * q + v @ u + v(2.0) + len(u)
            if u:
                loss = loss * 2
            if u < v:
                loss = loss + a
            if origin == origin:
                loss = loss * 1.5
            u[1] = a * a
            loss = loss + u[1] + sum(u)
            if 5.0 in origin:
                loss = loss * 100
        return loss, tape.gradient(loss, [a, b])

    return step, (1.5,), [a, b]


class Base:
    registry = {}

    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        Base.registry[cls.__name__] = cls

    def __init__(self, scale=1.0, **kw):
        self.scale = scale

    def forward(self, x):
        raise NotImplementedError

    def __call__(self, x, **kw):
        return self.forward(x, **kw) * self.scale

    @classmethod
    def make(cls, *a, **k):
        return cls(*a, **k)

    @staticmethod
    def helper(x):
        return x * 2

    @property
    def doubled(self):
        return self.scale * 2

    @functools.cached_property
    def tripled(self):
        return self.scale * 3


class Tanh(Base):
    def forward(self, x, gain=1.0):
        return np.tanh(x) * gain


class Chain(Base):
    def __init__(self, *layers, **kw):
        super().__init__(**kw)
        self.layers = list(layers)

    def forward(self, x):
        for l in self.layers:
            x = l(x)
        return x


class Mixin:
    def forward(self, x):
        return super().forward(x) + 1.0


class Mixed(Mixin, Tanh):
    pass


@body
def uses_inherit(variable):
    a = variable([1.2, 0.3])
    net = Chain(Tanh(2.0), Mixed(scale=3.0), scale=0.5)

    def step(x):
        with tapec.GradientTape() as tape:
            y = net(a * x)
            t = Base.registry["Tanh"].make(scale=4.0)
            y = t(y, gain=2.0) + Base.helper(y) * t.doubled + net.tripled
            loss = np.sum(y)
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


def logged(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        log.debug("calling %s", fn.__name__)
        out = fn(*args, **kwargs)
        wrapper.calls += 1
        return out

    wrapper.calls = 0
    return wrapper


def scaled(by):
    def deco(fn):
        def wrapper(*args):
            return fn(*args) * by

        return wrapper

    return deco


@logged
@scaled(2.0)
def sq(x):
    return x * x


class Memo:
    def __init__(self, fn):
        self.fn = fn
        functools.update_wrapper(self, fn)

    def __call__(self, *a):
        return self.fn(*a) + 1.0


@Memo
def cube(x):
    return x**3


@body
def uses_decorators(variable):
    a = variable(1.2)

    def step(x):
        with tapec.GradientTape() as tape:
            loss = sq(a) * x + cube(a)
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_math(variable):
    a = variable([1.2, 0.4, 0.8])

    def step(x):
        with tapec.GradientTape() as tape:
            items = [a[0], a[1] * x, a[2]]
            loss = math.prod(items) + math.fsum(items) + math.hypot(a[0], a[1]) + math.dist([a[0], a[1]], [0.0, 1.0])
            loss += math.sqrt(a[0]) + math.atan2(a[0], a[1]) + math.pow(a[1], 2) + math.erf(a[0]) + math.log(a[0], 2)
            loss += (
                functools.reduce(operator.mul, items, 1.0)
                + sum(itertools.accumulate(items))
                + max(items, key=lambda v: -v)
            )
            loss += sorted(items)[0] * 2 + sorted(items, key=lambda v: -v, reverse=True)[1]
            loss += min(items, default=0.0)
            loss += sum(map(lambda u, v: u * v, items, items)) + sum(filter(lambda u: u > 0.5, items))
            if any(v > 1.0 for v in items) and all([v > 0 for v in items]):
                loss = loss * 2
            if 0.0 < a[0] < 2.0 <= 3.0:
                loss = loss + a[1]
            loss += math.sumprod(items, items) if hasattr(math, "sumprod") else 0.0
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_itertools(variable):
    a = variable([1.2, 0.4, 0.8])

    def step(x):
        with tapec.GradientTape() as tape:
            items = [a[0], a[1] * x, a[2]]
            loss = 0.0
            for u, v in itertools.combinations(items, 2):
                loss = loss + u * v
            for u, v in itertools.product(items, [1.0, 2.0]):
                loss = loss + u * v
            for u in itertools.chain(items, items[:1]):
                loss = loss + u * u
            for u, v in itertools.pairwise(items):
                loss = loss + (u - v) ** 2
            for u, n in zip(items, itertools.count(1)):
                loss = loss + u * n
            for u, n in zip(items, itertools.cycle([1.0, -1.0])):
                loss = loss + u * n
            for u, v in itertools.zip_longest(items, [1.0], fillvalue=2.0):
                loss = loss + u * v
            for u in itertools.islice(items, 1, None):
                loss = loss + u
            for u in itertools.repeat(a[0], 3):
                loss = loss + u
            for u in itertools.permutations(items, 2):
                loss = loss + u[0] / u[1]
            for u, v in itertools.starmap(lambda p, q: (p, q * p), [(a[0], 2.0)]):
                loss = loss + u * v
            for u in itertools.takewhile(lambda v: v > 0.5, items):
                loss = loss + u
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_while_true(variable):
    a = variable(2.5)

    def step(x):
        with tapec.GradientTape() as tape:
            y = a * 1.0
            n = 0
            while True:
                y = 0.5 * (y + a / y)
                n += 1
                if n >= 20 or abs(y * y - a) < 1e-12:
                    break
            else:
                y = 0.0
            for k in range(10):
                if k == 3:
                    continue
                if k == 6:
                    break
                y = y + k * a * x
            else:
                y = y * 100
            loss = y
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


class Mode(enum.Enum):
    TRAIN = "train"
    EVAL = "eval"


@body
def uses_misc(variable):
    a = variable([1.2, 0.4, 0.8])
    mode = Mode.TRAIN
    Point = namedtuple("Point", "x y")
    ns = types.SimpleNamespace(k=2.0, w=a)

    def step(x):
        with tapec.GradientTape() as tape:
            p = Point(a[0], y=a[1])
            y = p.x * p.y if mode is Mode.TRAIN else p.x
            y = y * (3.0 if mode == Mode.TRAIN else 1.0) * (mode.value == "train")
            ns.last = y
            z = ns.last * ns.k + np.sum(ns.w)
            m = max((1, 2), (3, 1))[0]
            s = {1, 2, 3}
            if 2 in s:
                z = z * m
            t = type(p).__name__
            lo, hi = divmod(7, 2)
            z = z * lo * int("3") * float("2.5") * round(2.6) * len("abc") * bool(1)
            if not isinstance(z, (int, str)) and callable(step) and t == "Point":
                z = z + a[2]
            q = {"y": p._replace(x=1.0).y}
            del p
            z = z + q["y"]
            xs = [v for v in [0.3, 0.7] if v > 0.5]
            d = {k: v * 2 for k, v in zip("ab", [a[0], a[1]])}
            z = z + sum(d[k] for k in sorted(d)) + sum(xs)
            e = [[0.0] * 2 for _ in range(2)]
            e[0][1] = a[0]
            z = z + sum(sum(r) for r in e) + sum([i * v for i, v in enumerate(reversed([a[0], a[1]]))])
            (u, v), w = (a[0], a[1]), a[2]
            u = v = w
            z = z + u * v
            z = (lambda q, r=2.0: q * r)(z)
            loss = z
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_random(variable):
    a = variable(np.ones((2, 3)))
    rng = np.random.default_rng(3)

    def step(x):
        np.random.seed(4)
        with tapec.GradientTape() as tape:
            eps = rng.normal(size=(2, 3))
            mask = rng.random((2, 3)) < 0.5
            idx = rng.permutation(3)
            c = rng.choice(3, size=2)
            u = np.random.randn(2, 3)
            loss = np.sum(np.tanh(a * eps) * mask) + np.sum(a[:, idx[:2]] * a[:, c]) + np.sum(a * u)
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_set_ops(variable):
    a = variable(2.0)
    frozen = {"b"}
    params = {"w": a, "b": 1.0}

    def step(x):
        with tapec.GradientTape() as tape:
            loss = 0.0
            for k in params.keys() - frozen:
                loss = loss + params[k] ** 2
            for k in sorted(set(params) | {"c"}):
                loss = loss + params.get(k, 0.0) * x
            n = len({k for k in params})
            seen = set()
            for k in params:
                if k in seen:
                    continue
                seen.add(k)
            loss = loss * n * len(seen)
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_strings(variable):
    a = variable(2.0)
    layers = {"dense_1/w": a, "dense_2/w": 3.0}

    def step(x):
        with tapec.GradientTape() as tape:
            loss = 0.0
            for name, v in layers.items():
                if name.startswith("dense") and name.endswith("w"):
                    part = name.split("/")[0]
                    k = int(part.rsplit("_", 1)[1])
                    loss = loss + k * v * v
                if "dense_2" in name or name[-1] == "q":
                    loss = loss + a
                loss = loss + len(name.upper().strip().replace("D", "")) * a
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


class Module:
    def __setattr__(self, name, value):
        if hasattr(value, "assign"):
            self.__dict__.setdefault("_vars", []).append(value)
        object.__setattr__(self, name, value)


class Lin(Module):
    def __init__(self, w):
        self.w = w
        self.last = 0.0

    def __call__(self, x):
        self.last = self.w * x
        return self.last


@body
def uses_setattr(variable):
    a = variable(2.0)
    lin = Lin(a)

    def step(x):
        with tapec.GradientTape() as tape:
            y = lin(x)
            loss = y * lin.last + sum(v * v for v in lin._vars)
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]
