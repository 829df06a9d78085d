"""Objects that differentiated functions make: attributes that are set, operators, jitclasses, dataclasses, `vars`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numba import float64, int64, njit
from numba.experimental import jitclass

import tapec
from tapec.errors import UnsupportedSyntax
from tests.oracles import check

X = np.array([0.7, 1.3, 2.1, 0.4, 1.9])


class Plain:
    def __init__(self, a, b):
        self.a = a
        self.b = b
        self.n = 0

    def step(self, v):
        self.a = self.a * v + self.b
        self.n += 1
        return self.a


class Vector:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __add__(self, other):
        return Vector(self.a + other.a, self.b + other.b)

    def __rmul__(self, k):
        return Vector(k * self.a, k * self.b)

    def __neg__(self):
        return Vector(-self.a, -self.b)

    def __iadd__(self, other):
        self.a += other.a
        return self

    def __getitem__(self, k):
        return self.a if k == 0 else self.b

    def __setitem__(self, k, value):
        if k == 0:
            self.a = value
        else:
            self.b = value

    def __len__(self):
        return 2

    def __iter__(self):
        return iter([self.a, self.b])

    def __eq__(self, other):
        return False

    def __bool__(self):
        return False

    def __contains__(self, value):
        return True

    def __call__(self, t):
        return self.a * t + self.b


class Base:
    def __init__(self, a):
        self.a = a

    def value(self):
        return self.a * 2

    @property
    def doubled(self):
        return self._doubled

    @doubled.setter
    def doubled(self, value):
        self._doubled = 2 * value

    @classmethod
    def square(cls, value):
        return cls(value, value)


class Derived(Base):
    K = 3.0

    def __init__(self, a, b):
        super().__init__(a * b)
        self.b = b
        self.doubled = a

    def value(self):
        return super().value() * self.b + self.K


class Options:
    def __init__(self, **options):
        self.__dict__.update(options)


@dataclass
class Scaled:
    a: float
    b: float = 2.0

    def scale(self, k):
        self.a *= k
        return self


@dataclass(frozen=True)
class Frozen:
    a: float
    b: float = 2.0

    def __post_init__(self):
        object.__setattr__(self, "product", self.a * self.b)


@jitclass([("n", int64), ("a", float64), ("w", float64[:])])
class Spring:
    def __init__(self, a, w):
        self.a = a
        self.w = w
        self.n = 0

    def step(self, v):
        self.a += v * self.w[0]
        self.n += 1

    @property
    def total(self):
        return self.a * self.w.sum() / self.n


def steps(x):
    p = Plain(x[0], x[1])
    for v in x:
        p.step(v)
    return p.a * p.n


def later_attributes(x):
    p = Plain(x[0], x[1])
    p.c = x[2] * 2
    p.a += p.c
    return p.a * p.c


def operators(x):
    r = 2.0 * (Vector(x[0], x[1]) + Vector(x[2], x[3]))
    r += -Vector(x[2], x[3])
    r[1] = r[0] * x[3]
    s = r(x[4]) + r[0] * r[1] * len(r)
    for v in r:
        s += v * v
    if r or r == r:
        s *= 100.0
    a, b = r
    return s + a * b if 3 in r else s


def inheritance(x):
    d = Derived(x[0], x[1])
    e = Derived.square(x[2])
    return d.value() * d.doubled + e.value() * getattr(d, "b") + (x[3] if hasattr(d, "b") else 0.0)


def branches(x):
    p = Plain(x[0], x[1])
    if x[2] > 1:
        p.a = p.a * x[2]
    else:
        p.b = 0.0
    i = 0
    while p.a < 50:
        p.step(x[2] + i)
        i += 1
        if i > 3:
            break
    q = p
    q.b *= 2
    return p.a * p.b


def of_objects(x):
    parts = [Plain(v, v * v) for v in (x[0], x[1], x[2])]
    for k in range(3):
        for p in parts:
            p.step(x[k])
    p = Plain(Plain(x[0], x[1]), [x[2], x[3]])
    p.a.a = p.a.b * 3
    p.b.append(x[4])
    p.b[0] = p.a.a
    return sum([p.a for p in parts]) + p.a.a * p.b[0] * p.b[2]


def arrays(x):
    p = Plain(np.zeros(3), x)
    for i in range(3):
        p.a[i] += p.b[i] ** 2
    p.a = p.a * 2
    y = p.a
    y[0] = x[4]
    return (p.a**2).sum()


def rebound(x):
    p = Vector(x[0], x[1])
    for i in range(3):
        p = p + Vector(x[i], 1.0)
    if x[1] > 1:
        p = Vector(x[1], p.b * 2)
    return p.a * p.b**2


def dataclasses(x):
    d = Scaled(x[0])
    d.scale(x[2]).scale(2.0)
    d.b = d.a * d.b
    f, g = Frozen(x[0]), Frozen(x[0], b=x[1])
    h = replace(f, b=x[3])
    return (d.a + d.b + f.product * g.product) * h.product + (1.0 if f == g else x[2])


def dicts_of_attributes(x):
    p = Plain(x[0], x[1])
    held = vars(p)
    p.late = x[3]
    held["b"] = x[2] * 2
    p.__dict__["a"] = x[4]
    o = Options(a=x[0], b=x[1])
    setattr(o, "c", 3 * x[2])
    return sum([v * v for k, v in held.items() if k != "n"]) * p.b * len(held) + o.a * o.b * o.c


@njit
def of_a_jitclass(x):
    s = Spring(x[0], x * 2.0)
    for v in x:
        s.step(v)
    s.w[1] = x[2]
    s.w = s.w * s.a
    s.a = s.a * s.total
    return s.total


CASES = [steps, later_attributes, operators, inheritance, branches, of_objects, arrays, rebound, dataclasses]
CASES += [dicts_of_attributes, of_a_jitclass]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_derivatives(f):
    check(f, (X,))


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("f", [steps, of_a_jitclass], ids=lambda f: f.__name__)
def test_derivatives_as_machine_code(f):
    check(f, (X,), compiled="both")


def test_second_derivatives():
    def plainly(x):
        a, b = x[0], x[1]
        for v in x:
            a = a * v + b
        return a * 5

    assert np.allclose(tapec.hessian(steps)(X), tapec.hessian(plainly)(X))


def other_list(x):
    first = values = [x[0], x[1]]
    if x[2] > 3:
        values = [x[3], x[4]]
    first[0] = x[4] * 5
    return values[0] * values[1]


def other_list_of_a_loop(x):
    first, values, s = [x[0], x[1]], [x[2], x[3]], 0.0
    for i in range(3):
        first[0] = first[0] + x[i]
        s += values[0] * values[1]
        values = first if x[i] > 0 else values
    return s


def other_dict(x):
    first = values = {"a": x[0], "b": x[1]}
    if x[2] > 3:
        values = {"a": x[0], "b": x[1]}
    first["a"] = x[4] * 5
    return values["a"] * values["b"]


def inner_list(x):
    first = values = [[x[0], x[1]], [x[2]]]
    if x[2] > 3:
        values = [[x[3], x[3]], [x[1]]]
    inner = first[0]
    inner[0] = x[4] * 5
    return values[0][0] * values[1][0]


@pytest.mark.parametrize("f", [other_list, other_list_of_a_loop, other_dict, inner_list], ids=lambda f: f.__name__)
def test_what_has_met_others_is_not_changed(f):
    with pytest.raises(UnsupportedSyntax, match="another name may stand for the same"):
        tapec.grad(f)(X)


def test_what_is_changed_before_it_meets_others():
    def f(x):
        first = values = [x[0], x[1]]
        first[0] = x[4] * 5
        if x[2] > 3:
            values = [x[3], x[4]]
        return values[0] * values[1]

    check(f, (X,))
