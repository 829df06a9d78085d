"""Blocks that use Python's statements and containers in every way that people do."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np

import tapec
from tests.tape.bodies import body

log = logging.getLogger("x")


@body
def uses_match(variable):
    w = variable([1.0, 2.0])

    def act(kind, x):
        match kind:
            case "relu":
                return np.maximum(x, 0.0)
            case "tanh" | "sigmoid":
                return np.tanh(x)
            case ("scale", s):
                return x * s
            case _:
                return x

    def step(x):
        with tapec.GradientTape() as tape:
            y = act("tanh", w * x)
            y = act(("scale", 3.0), y)
            y = act("none", y)
            loss = np.sum(y)
        return loss, tape.gradient(loss, [w])

    return step, (np.array([0.5, 1.5]),), [w]


@body
def uses_match_class(variable):
    w = variable([1.0, 2.0])

    @dataclasses.dataclass
    class Dense:
        units: int
        act: str = "tanh"

    @dataclasses.dataclass
    class Scale:
        by: float

    layers = [Dense(3), Scale(2.0), Dense(2, act="id")]

    def step(x):
        with tapec.GradientTape() as tape:
            y = w * x
            for layer in layers:
                match layer:
                    case Dense(units=u, act="tanh"):
                        y = np.tanh(y) * u
                    case Dense(units=u):
                        y = y * u
                    case Scale(by=b) if b > 1:
                        y = y * b
                    case _:
                        raise ValueError
            loss = np.sum(y)
        return loss, tape.gradient(loss, [w])

    return step, (np.array([0.5, 1.5]),), [w]


@body
def uses_match_seq(variable):
    w = variable([1.0, 2.0])
    cfg = {"kind": "mlp", "sizes": [2, 3]}

    def step(x):
        with tapec.GradientTape() as tape:
            match cfg:
                case {"kind": "mlp", "sizes": [a, *rest]}:
                    y = w * x * a + len(rest)
                case {"kind": k}:
                    y = w
            match x.shape:
                case (n,):
                    y = y / n
                case (n, m):
                    y = y / m
            loss = np.sum(y * y)
        return loss, tape.gradient(loss, [w])

    return step, (np.array([0.5, 1.5]),), [w]


@body
def uses_match_number(variable):
    w = variable(1.3)

    def f(n, x):
        match n:
            case 0:
                return x
            case 1:
                return x * x
            case k if k < 0:
                return -x
            case _:
                return x**3

    def step(n):
        with tapec.GradientTape() as tape:
            loss = f(n, w) + f(2, w) + f(1, w)
        return loss, tape.gradient(loss, [w])

    return step, (1,), [w]


@body
def uses_lru_cache(variable):
    w = variable([1.0, 2.0])

    @functools.cache
    def grid(n):
        return np.linspace(0.0, 1.0, n)

    @functools.cache
    def fact(n):
        return 1.0 if n < 2 else n * fact(n - 1)

    def step(x):
        with tapec.GradientTape() as tape:
            loss = np.sum(w * x * grid(2)) + np.sum(w) * fact(4)
        return loss, tape.gradient(loss, [w])

    return step, (np.array([0.5, 1.5]),), [w]


@body
def uses_defaultdict(variable):
    a, b = variable(1.0), variable(2.0)

    def step(x):
        with tapec.GradientTape() as tape:
            losses = defaultdict(list)
            for k, v in [("a", a), ("b", b), ("a", b)]:
                losses[k].append(v * x)
            totals = defaultdict(float)
            for k, items in losses.items():
                for i in items:
                    totals[k] += i * i
            loss = totals["a"] + 3 * totals["b"]
        return loss, tape.gradient(loss, [a, b])

    return step, (1.5,), [a, b]


@body
def uses_ordereddict(variable):
    a, b = variable(1.0), variable(2.0)
    params = OrderedDict([("a", a), ("b", b)])

    def step(x):
        with tapec.GradientTape() as tape:
            out = OrderedDict()
            for k, v in params.items():
                out[k] = v * x
            out.move_to_end("a")
            loss = sum(out.values()) + out["a"] ** 2
        return loss, tape.gradient(loss, [a, b])

    return step, (1.5,), [a, b]


@body
def uses_counter_deque(variable):
    a, b = variable(1.0), variable(2.0)

    def step(x):
        with tapec.GradientTape() as tape:
            window = deque(maxlen=2)
            total = 0.0
            for k in range(4):
                window.append(a * k + b * x)
                total = total + sum(window) / len(window)
            counts = Counter(["u", "v", "u"])
            loss = total * counts["u"]
        return loss, tape.gradient(loss, [a, b])

    return step, (1.5,), [a, b]


@body
def uses_live_deque(variable):
    a = variable(1.0)
    history = deque([1.0, 2.0, 3.0], maxlen=3)

    def step(x):
        with tapec.GradientTape() as tape:
            loss = a * np.mean(list(history)) + a * a * history[-1] * x
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_try_in_block(variable):
    a = variable(1.0)
    cfg = {"lr": 0.1}

    def get(k):
        try:
            return cfg[k]
        except KeyError:
            return 2.0

    def step(x):
        with tapec.GradientTape() as tape:
            loss = a * get("lr") + a * a * get("wd") * x
            try:
                s = cfg["scale"]
            except KeyError:
                s = 3.0
            finally:
                loss = loss * s
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_walrus(variable):
    a = variable(1.2)

    def step(x):
        with tapec.GradientTape() as tape:
            if (y := a * x) > 1.0:
                loss = y * y
            else:
                loss = y
            values = [t := y * 2, t + 1, t * t]
            loss = loss + sum(values) + (z := a * 3) * z
            n = 0
            while (n := n + 1) < 3:
                loss = loss * 1.5
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_star(variable):
    a = variable([1.2, 0.3, 0.4])

    def f(first, *rest, k=1.0, **kw):
        return first * k + sum(rest) + kw.get("c", 0.0)

    def step(x):
        with tapec.GradientTape() as tape:
            p, *q = [a[0], a[1], a[2]]
            *u, v = q
            lst = [p, *q, *u]
            args = (*lst, v)
            opts = {"k": 2.0, **{"c": a[1] * a[1]}}
            loss = f(*args, **opts) + f(*[a[0] * a[0]], *q) + f(*(t * t for t in q))
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


STATE = 0.0


@body
def uses_global(variable):
    a = variable(1.2)

    def bump(y):
        global STATE
        STATE = y * 2.0
        return y

    def step(x):
        with tapec.GradientTape() as tape:
            bump(a * x)
            loss = a * a + 3 * STATE
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_nonlocal(variable):
    a = variable(1.2)

    def step(x):
        count = 0
        acc = 0.0

        def add(v):
            nonlocal acc, count
            acc = acc + v
            count += 1

        with tapec.GradientTape() as tape:
            for k in range(3):
                add(a * k * x)
            loss = acc * count
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_print_log(variable):
    a = variable(1.2)

    def step(x):
        with tapec.GradientTape() as tape:
            loss = a * a * x
            log.info("loss %s", loss)
            log.debug(f"loss {loss:.3f}")
            name = f"layer_{3}"
            msg = f"{loss:.2f}" + " text"
            msg += f"more {3}"
            text = f"{name} {loss}"
            assert loss > -100.0, f"negative {loss}"
            parts = ", ".join([name, "b"])
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


class Timer:
    def __init__(self):
        self.calls = 0

    def __enter__(self):
        self.calls += 1
        return self

    def __exit__(self, *exc):
        return False


@body
def uses_user_context(variable):
    a = variable(1.2)
    timer = Timer()

    def step(x):
        with tapec.GradientTape() as tape:
            with timer:
                y = a * x
            with Timer() as t, contextlib.suppress(ValueError):
                y = y * t.calls
            with contextlib.nullcontext(a) as b:
                y = y * b
            loss = y
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]


@body
def uses_generators(variable):
    a = variable(1.2)

    def gen(n):
        for k in range(n):
            yield a * k

    def sub():
        r = yield from gen(3)
        yield a * 10

    def step(x):
        with tapec.GradientTape() as tape:
            loss = sum(gen(4)) + sum(v * v for v in sub()) + max(v for v in gen(3))
            for i, v in enumerate(gen(3), start=1):
                loss = loss + i * v * x
        return loss, tape.gradient(loss, [a])

    return step, (1.5,), [a]
