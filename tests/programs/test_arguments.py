"""Argument kinds: dtypes, layouts, empty and zero-dimensional arrays, read-only arrays."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import arr, check, interpreted
from tests.sampling import sampled


def weighted(a, c):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j] ** 2 * c * (i + 2 * j)
    return s + (a * c).sum()


LAYOUTS = {
    "C": arr(2, 3),
    "F": np.asfortranarray(arr(2, 3)),
    "transposed": arr(3, 2).T,
    "strided": arr(4, 6)[::2, 1::2],
    "reversed": arr(2, 3)[::-1, ::-1],
    "empty": np.zeros((0, 3)),
    "broadcast": np.broadcast_to(arr(3), (2, 3)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str):
    check(weighted, (LAYOUTS[layout], 1.5))


def in_place(a, c):
    a *= c
    for i in range(a.shape[0]):
        a[i, 0] += a[i, -1] ** 2
    return (a * a).sum()


@pytest.mark.parametrize("layout", sampled(["strided", "F", "reversed", "empty"], 2))
def test_layouts_in_place(layout: str):
    check(in_place, (LAYOUTS[layout], 1.5))


def test_read_only_array():
    a = arr(2, 3)
    a.setflags(write=False)
    check(weighted, (a, 1.5))


def zero_dimensional(a, x):
    b = a * x
    return b * a[()]


def test_zero_dimensional_array():
    gradient = tapec.grad(zero_dimensional)(np.array(1.5), 2.0)
    assert gradient.shape == ()
    assert gradient == pytest.approx(6.0)


@pytest.mark.slow
def test_single_precision():
    def f(a, x):
        s = x * 0
        for v in a:
            s += v * v * x
        return s

    for a, x in ((arr(3).astype(np.float32), np.float32(1.5)), (arr(3).astype(np.float32), 1.5)):
        check(f, (a, x))
        gradient = tapec.grad(f)(a, x)
        assert gradient.dtype == np.float32
        np.testing.assert_allclose(gradient, 2 * a * np.float64(x), rtol=1e-6)


def mixed(a, n, flag, k):
    s = 0.0
    for i in range(n):
        s += a[i] * k[i] * k[i]
    if flag:
        s *= s
    return s


@pytest.mark.parametrize("dtype", sampled([np.int64, np.int32, np.uint8, np.bool_], 4))
def test_inert_arguments(dtype: type):
    k = np.array([1, 0, 2]).astype(dtype)
    check(mixed, (arr(3), 3, True, k), wrt=(0,))
    check(mixed, (arr(3), np.int32(2), np.bool_(False), k), wrt=(0,))


def test_integer_source_is_refused():
    with pytest.raises(tapec.errors.NotDifferentiable):
        tapec.grad(weighted, wrt="a")(np.ones((2, 2), dtype=np.int64), 1.0)
    with pytest.raises(tapec.errors.NotDifferentiable):
        tapec.grad(mixed, wrt="n")(arr(3), 3, True, arr(3))


def test_complex_argument_is_refused():
    with pytest.raises(tapec.errors.TapecError):
        tapec.grad(weighted)(np.ones((2, 2), dtype=complex), 1.0)


def doubled(a, c):
    return a * c


def test_output_that_is_not_scalar_is_refused():
    with pytest.raises(tapec.errors.NotDifferentiable):
        tapec.grad(doubled)(arr(2), 1.0)


def four_deep(a):
    s = 0.0
    for i, j, k, m in np.ndindex(a.shape):
        s += a[i, j, k, m] ** 2 * (i + j + k + m)
    return s


def test_rank_four():
    check(four_deep, (arr(2, 1, 3, 2),))


@pytest.mark.slow
def test_arguments_of_new_types_specialise():
    gradient = tapec.grad(scaled_sum)
    np.testing.assert_allclose(gradient(arr(2), 2.0), [2.0, 2.0])
    np.testing.assert_allclose(gradient(arr(2, 2), 3), np.full((2, 2), 3.0))
    product = tapec.grad(doubled)
    assert product(1.5, 2.0) == pytest.approx(2.0)
    assert product(np.float32(1.5), 2) == pytest.approx(2.0)


def scaled_sum(a, c):
    return np.sum(a * c)


DICT_QUESTIONS = {
    "in": lambda p: p["b"] * (2.0 if "b" in p else 3.0),
    "not in": lambda p: p["b"] * (2.0 if "q" not in p else 3.0),
    "a loop": lambda p: sum([np.sum(p[key]) for key in p]),
    "a test in a loop": lambda p: p["b"] * float(len([key for key in p if key != "w"])),
    "any": lambda p: p["b"] * (2.0 if any(key == "b" for key in p) else 3.0),
    "sorted": lambda p: sum([np.sum(p[key]) * k for k, key in enumerate(sorted(p))]),
    "list": lambda p: np.sum(p[list(p)[0]]),
    "next": lambda p: np.sum(p[next(iter(p))]),
    "length": lambda p: len(p) * p["b"],
    "zip": lambda p: sum([np.sum(p[key]) * k for key, k in zip(p, (1.0, 2.0))]),
    "items": lambda p: sum([np.sum(value * value) * len(key + "?") for key, value in p.items()]),
    "keys": lambda p: p["b"] * (2.0 if "w" in p.keys() else 3.0) * len(p.keys()),
    "values": lambda p: sum(np.sum(value**3) for value in p.values()),
    "get": lambda p: p.get("b") * p.get("q", 3.0),
    "copy": lambda p: sum([np.sum(value) for value in changed(p.copy()).values()]),
    "dict": lambda p: sum([np.sum(value) for value in changed(dict(p)).values()]),
    "literal": lambda p: sum([np.sum(value) for value in {**p, "b": p["b"] ** 2}.values()]),
    "comprehension": lambda p: {key: value * value for key, value in p.items() if key != "w"}["b"],
    "call": lambda p: product(**p),
    "union": lambda p: (p | {"b": p["b"] ** 3, "c": 1.0})["b"] * len({"c": 1.0} | p),
    "pattern": lambda p: matched(p),
    "sequence pattern": lambda p: p["b"] if is_pair(p) else 2.0 * p["b"],
    "attributes": lambda p: p["b"] * (2.0 * hasattr(p, "items") + hasattr(p, "w")),
}


def changed(p):
    p["b"] = p["b"] * p["w"][0]
    p |= {"c": p["b"]}
    return p


def product(b, w):
    return b * np.sum(w)


def matched(p):
    match p:
        case {"w": w, **rest}:
            return np.sum(w) * rest["b"]
    return 0.0


def is_pair(p):
    match p:
        case [_, _]:
            return True
    return False


@pytest.mark.parametrize("question", DICT_QUESTIONS)
def test_a_dict_has_keys(question: str):
    """It comes as a named tuple of its values; what is asked of it is about its keys."""
    f, given = DICT_QUESTIONS[question], {"w": np.array([1.0, 2.0]), "b": 0.5}
    with interpreted():
        value, gradient = tapec.value_and_grad(f)(given)
    assert value == f(given)
    step = 1e-6
    slope = (f({**given, "b": 0.5 + step}) - f({**given, "b": 0.5 - step})) / (2.0 * step)
    assert abs(gradient["b"] - slope) < 1e-6
