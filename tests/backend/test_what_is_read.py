"""Everything that a derivative reads is replaced, one thing at a time: each derivative gives the new answer."""

from __future__ import annotations

import enum
import functools
import inspect
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import pytest

import tapec
import tapec_runtime.special
from tapec.backend.fingerprint import trusted
from tests.sampling import sampled

Case = tuple[Callable[..., Any], Callable[[pytest.MonkeyPatch], None], float, float]
HERE = globals()
GLOBAL = 2.0
MODULE = types.ModuleType("settings")
MODULE.k = 2.0  # type: ignore[attr-defined]


def times(x, k=2.0, *, by=1.0):
    return x * k * by


class Scale:
    k = 2.0

    @staticmethod
    def of(x):
        return x * 2.0


class Child(Scale):
    pass


def cell() -> Case:
    k = 2.0

    def f(x):
        return x * k

    def change(patch: pytest.MonkeyPatch) -> None:
        nonlocal k
        k = 5.0

    return f, change, 2.0, 5.0


def patched(f: Callable[..., Any], target: Any, name: str, value: Any, before: float = 2.0, after: float = 5.0) -> Case:
    def change(patch: pytest.MonkeyPatch) -> None:
        patch.setitem(target, name, value) if isinstance(target, dict) else patch.setattr(target, name, value)

    return f, change, before, after


def stored(read: Callable[[Any], Any], table: Any, owner: Any) -> Case:
    def f(x):
        return x * read(table)

    def change(patch: pytest.MonkeyPatch) -> None:
        owner[0] = 5.0

    return f, change, 2.0, 5.0


def in_array() -> Case:
    table = np.array([2.0])
    return stored(lambda a: a[0], table, table)


def in_dict() -> Case:
    nested = {"a": [2.0]}
    return stored(lambda d: d["a"][0], nested, nested["a"])


def fives(x):
    return 5.0 * x


def of_function() -> Case:
    def f(x):
        return x * f.table[0]  # type: ignore[attr-defined]

    f.table = np.array([2.0])  # type: ignore[attr-defined]
    return patched(f, f, "table", np.array([5.0]))


class Settings:
    def __init__(self) -> None:
        self.scale = 1.0

    @property
    def k(self):
        return self.scale * 2.0

    def times(self, x):
        return x * self.scale * 2.0


SETTINGS = Settings()


CASES: dict[str, Callable[[], Case]] = {
    "a cell": cell,
    "a global number": lambda: patched(lambda x: x * GLOBAL, HERE, "GLOBAL", 5.0),
    "a global function": lambda: patched(lambda x: times(x), HERE, "times", fives),
    "code": lambda: patched(lambda x: times(x), times, "__code__", (lambda x, k=2.0, *, by=1.0: x * 5.0).__code__),
    "a default": lambda: patched(lambda x: times(x), times, "__defaults__", (5.0,)),
    "a default by name": lambda: patched(lambda x: times(x), times, "__kwdefaults__", {"by": 2.5}),
    "an element of an array": in_array,
    "an item of a list in a dict": in_dict,
    "an attribute of a module": lambda: patched(lambda x: x * MODULE.k, MODULE, "k", 5.0),
    "an attribute of a class": lambda: patched(lambda x: x * Child.k, Scale, "k", 5.0),
    "a method of a class": lambda: patched(lambda x: Child.of(x), Scale, "of", staticmethod(fives)),
    "an attribute of a function": of_function,
    "a property of an argument": lambda: patched(
        functools.partial(lambda o, x: o.k * x, SETTINGS), Settings, "k", property(lambda self: self.scale * 5.0)
    ),
    "a method of an argument": lambda: patched(
        functools.partial(lambda o, x: o.times(x), SETTINGS), Settings, "times", lambda self, x: x * self.scale * 5.0
    ),
    "a class": lambda: patched(lambda x: x * Scale.k, HERE, "Scale", type("Scale", (), {"k": 5.0})),
    "a function of NumPy": lambda: patched(lambda x: np.negative(x) * -2.0, np, "negative", lambda x: -2.5 * x),
    "a function of math": lambda: patched(lambda x: 2.0 * math.fabs(x), math, "fabs", lambda x: 2.5 * x),
    "a builtin": lambda: patched(lambda x: 2.0 * abs(x), HERE, "abs", lambda x: 2.5 * x),
    "what was set on a library": lambda: patched(lambda x: x * np.of_ours, np, "of_ours", 5.0),
}


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    monkeypatch.setattr(np, "of_ours", 2.0, raising=False)
    yield


APIS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: tapec.grad(f)(3.0),
    "value_and_grad": lambda f: tapec.value_and_grad(f)(3.0)[1],
    "jvp": lambda f: tapec.jvp(f, (3.0,), (1.0,))[1],
    "vjp": lambda f: tapec.vjp(f, 3.0)[1](1.0)[0],
    "jacobian": lambda f: tapec.jacobian(f)(3.0),
    "inside": lambda f: tapec.grad(lambda x: tapec.grad(f)(x) * x)(3.0),
    "argument": lambda f: applied()(3.0, f),
    "function": lambda f: tapec.function(lambda x: f(x))(3.0) / 3.0,
}


@functools.cache
def applied() -> Any:
    return tapec.grad(lambda x, f: f(x))


@pytest.mark.parametrize("name", sampled(CASES, 6))
def test_each_derivative_follows(name: str, monkeypatch: pytest.MonkeyPatch):
    f, change, before, after = CASES[name]()
    assert {api: ask(f) for api, ask in APIS.items()} == dict.fromkeys(APIS, before)
    with monkeypatch.context() as patch:
        change(patch)
        assert {api: ask(f) for api, ask in APIS.items()} == dict.fromkeys(APIS, after)


def scaled(function: Any, k: float) -> Any:
    @functools.wraps(function)
    def wrapper(x):
        return function(x) * k

    return wrapper


def loss(g: Any) -> Any:
    def f(x):
        return g(x)

    return f


LIBRARIES = {"numpy": np.square, "runtime": tapec_runtime.special.exponent, "tapec": tapec.grad}


@pytest.mark.parametrize("function", LIBRARIES.values(), ids=LIBRARIES)
def test_trust_follows_from_where_code_lives(function: Any):
    assert not trusted(scaled(function, 2.0))
    assert not trusted(type("ndarray", (), {"__module__": "numpy"}))
    assert not trusted(types.ModuleType("numpy"))
    assert trusted(np.ndarray) and trusted(tapec.grad) and trusted(np)


def test_a_wrapper_that_says_it_is_a_librarys_is_the_users():
    assert [tapec.grad(loss(scaled(np.square, k)))(3.0) for k in (2.0, 5.0)] == [12.0, 30.0]
    fake = functools.wraps(tapec_runtime.special.exponent)(lambda x: x * x)
    assert tapec.grad(lambda x: fake(x))(3.0) == 6.0


@tapec.custom_gradient
def doubled(x):
    return x * 2.0, lambda u: u * 2.0


def plain(x):
    return x * x


AROUND: dict[str, Any] = {
    "a derivative": tapec.grad(plain),
    "a jitted function": numba.njit(plain),
    "a custom gradient": doubled,
    "a compiled function": tapec.function(plain),
    "a transform": tapec.grad,
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_a_wrapper_is_not_what_it_wraps(around: Any):
    # functools.wraps copies what tapec and Numba set on what they make
    wrapper = functools.wraps(around)(lambda x: x * 5.0)
    assert {api: ask(wrapper) for api, ask in APIS.items()} == dict.fromkeys(APIS, 5.0)
    assert tapec.function(wrapper)(3.0) == 15.0


def test_what_is_set_on_a_function_does_not_replace_what_is_set_on_a_compiled_one():
    def f(x, k=2.0):
        return x * x * k

    f.options = f.py_func = f.source = f._plans = "mine"  # type: ignore[attr-defined]
    compiled = tapec.function(f)
    assert compiled(3.0) == 18.0 and "def" in compiled.source()
    assert str(inspect.signature(compiled)) == "(x, k=2.0)"
    f.__defaults__ = (3.0,)
    assert compiled(3.0) == 27.0


def test_a_function_is_called_as_it_is_and_not_as_it_says():
    def f(x, k=2.0):
        return x * x * k

    place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    says = [inspect.Parameter("k", place), inspect.Parameter("x", place, default=9.0)]
    f.__signature__ = inspect.Signature(says)  # type: ignore[attr-defined]
    assert tapec.grad(f)(3.0) == tapec.jvp(f, (3.0,), (1.0,))[1] == 12.0
    assert tapec.grad(f)(3.0, k=1.0) == 6.0
    assert tapec.function(f)(3.0) == 18.0

    @functools.wraps(f)
    def other(z):
        return f(z) + z

    assert tapec.grad(other)(z=3.0) == 13.0 and tapec.function(other)(z=3.0) == 21.0


RANGE, SET = range(3), {1, 2}
Mode = enum.Enum("Mode", ["SQUARE", "TWICE"])


def chosen(x, mode=Mode.SQUARE):
    total = 0.0
    for i in RANGE:
        total += x * i if i in SET else 0.0
    return total + (x * x if mode is Mode.SQUARE else 2.0 * x)


def test_ranges_sets_and_members_of_enums(monkeypatch: pytest.MonkeyPatch):
    compiled = tapec.function(chosen)
    for change, slope in (("", 3.0), ("RANGE", 1.0), ("SET", 0.0)):
        if change:
            monkeypatch.setitem(HERE, change, {"RANGE": range(2), "SET": frozenset({5})}[change])
        assert tapec.grad(chosen)(3.0) == slope + 6.0
        assert tapec.grad(chosen)(3.0, Mode.TWICE) == slope + 2.0
        assert compiled(3.0, Mode.TWICE) == slope * 3.0 + 6.0
        x = np.array(3.0)
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = chosen(x)
        assert tape.gradient(y, x) == slope + 6.0


def test_a_derivative_of_a_derivative_made_anew_is_the_same_one():
    assert tapec.grad(tapec.grad(plain)) is tapec.grad(tapec.grad(plain))
    assert tapec.vmap(tapec.grad(plain)) is tapec.vmap(tapec.grad(plain))
    held = [lambda x, k=np.ones(1): x * x * k[0] for _ in range(2)]
    assert tapec.grad(tapec.grad(held[0])) is not tapec.grad(tapec.grad(held[1]))


def test_jvp_of_what_always_raises():
    def refuses(x):
        raise ValueError("not now")

    with pytest.raises(tapec.errors.NotDifferentiable, match="never returns"):
        tapec.jvp(refuses, (1.0,), (1.0,))
