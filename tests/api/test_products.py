"""`vjp` by split reversal: what it returns, how often it can be pulled, and what it is independent of."""

from __future__ import annotations

import collections
import dataclasses

import numpy as np
import pytest

import tapec
from tapec import pipeline, products
from tapec.errors import UnsupportedSyntax, UsageError
from tapec.options import DEFAULT
from tests.oracles import check, interpreted
from tests.sampling import sampled

Pair = collections.namedtuple("Pair", "w b")
TABLE = np.arange(3.0)


@dataclasses.dataclass
class Model:
    w: np.ndarray
    b: float


def overwritten(x, a, n):
    y = x.copy()
    s = 0.0
    for k in range(n):
        for i in range(1, x.shape[0]):
            y[i] = np.sin(y[i - 1]) * a + y[i]
        s += y[k] ** 2
    return y, s


def through_views(x):
    y = x[1:]
    z = x[::2]
    for i in range(y.shape[0]):
        y[i] = y[i] * x[i]
    return z


def swapped_buffers(x, n):
    a, b = x.copy(), np.zeros_like(x)
    for _ in range(n):
        for i in range(1, len(x) - 1):
            b[i] = a[i - 1] * a[i] + a[i + 1]
        a, b = b, a
    return a


def grown(x):
    s = 0.0
    i = 0
    while s < 3.0:
        if x[i % 3] > 0.5:
            s += x[i % 3] ** 2
        else:
            s += 0.3 * x[i % 3]
        i += 1
    return s * x


def one_side(x, c):
    if c > 0:
        t = x * 2
        u = np.sin(t)
        return u * u
    return x


def product(x, *rest):
    for r in rest:
        x = x * r
    return x


CASES = [
    (overwritten, (np.linspace(0.1, 1.0, 6), 0.7, 3)),
    (overwritten, (np.linspace(0.1, 1.0, 6), 0.7, 0)),
    (through_views, (np.arange(1.0, 6.0),)),
    (swapped_buffers, (np.arange(1.0, 6.0), 3)),
    (grown, (np.array([0.2, 0.6, 0.9]),)),
    (one_side, (np.arange(3.0), 1.0)),
    (one_side, (np.arange(3.0), -1.0)),
    (product, (2.0, 3.0, np.arange(3.0))),
    (lambda x: TABLE * x, (np.ones(3),)),
    (lambda x: x[::-1] * x, (np.arange(4.0)[::-1],)),
    (lambda x: x * 2, (np.zeros((0, 3)),)),
    (lambda x: x * x, (np.array(3.0),)),
    (lambda x: x, (np.arange(3.0),)),
    (lambda x, n: (x, n, 2.0), (np.arange(3.0), 4)),
    (lambda a, b: a @ b, (np.arange(6.0).reshape(2, 3), np.ones((3, 2)))),
    (lambda x: x * x, (np.arange(3, dtype=np.float32),)),
]


@pytest.mark.parametrize(("f", "args"), sampled(CASES, 4), ids=lambda value: getattr(value, "__name__", ""))
def test_pulls_agree_with_forward_mode_and_repeat(f, args):
    check(f, args, split=True)


@pytest.mark.slow
def test_structures_come_back_as_they_were():
    def cost(p):
        return (p.w * p.b).sum()

    for given in (Pair(np.arange(3.0), 2.0), Model(np.arange(3.0), 2.0)):
        _, pullback = tapec.vjp(cost, given)
        (found,) = pullback(1.0)
        assert type(found) is type(given)
        np.testing.assert_array_equal(found.w, [2.0, 2.0, 2.0])
        assert found.b == 3.0
    _, pullback = tapec.vjp(lambda items: items[0] * items[1], [2.0, 3.0])
    assert pullback(1.0) == ([3.0, 2.0],)


def test_the_forward_sweep_runs_once():
    def noisy(x):
        print(x)
        return x * x

    _, pullback = tapec.vjp(noisy, 3.0)
    text = products._sweep(noisy, "augmented", (0,), 1, DEFAULT).source()
    assert "print" in text
    assert pullback(1.0) == (6.0,)
    (pulled,) = products._pullbacks[products._sweep(noisy, "augmented", (0,), 1, DEFAULT)].values()
    assert "print" not in pulled.source()


@pytest.mark.slow
def test_residuals_hold_no_temporaries():
    tapec.vjp(overwritten, np.ones(4), 0.5, 2)
    text = products._sweep(overwritten, "augmented", (0, 1), 3, DEFAULT).source()
    kept = text.rsplit("return ", 1)[1]
    assert "i_1" not in kept and kept.count("_store") == 3


def kept_buffers(x, n):
    a, b = x.copy(), np.zeros_like(x)
    for k in range(n):
        if k % 3 == 0:
            for i in range(1, len(x) - 1):
                b[i] = a[i - 1] * a[i] + a[i + 1]
            a, b = b, a
    return a


@pytest.mark.slow
def test_a_split_that_cannot_be_is_not_tried_again(monkeypatch):
    kinds = []

    def build(*args, **kwargs):
        kinds.append(args[2])
        return original(*args, **kwargs)

    original = pipeline.build
    monkeypatch.setattr(pipeline, "build", build)
    monkeypatch.setenv("TAPEC_CACHE", "0")
    for _ in range(3):
        _, pullback = tapec.vjp(kept_buffers, np.arange(1.0, 6.0), 4)
        pullback(np.ones(5))
    assert kinds == ["augmented", "primal", "vjp"]


@pytest.mark.slow
def test_arguments_that_share_memory_are_pulled_on_copies():
    x = np.arange(4.0)
    value, pullback = tapec.vjp(lambda a, b: a * b, x, x)
    x[:] = 0.0
    np.testing.assert_array_equal(value, [0.0, 1.0, 4.0, 9.0])
    for adjoint in pullback(np.ones(4)):
        np.testing.assert_array_equal(adjoint, [0.0, 1.0, 2.0, 3.0])


def test_an_integer_argument_has_no_adjoint():
    _, pullback = tapec.vjp(lambda x, n: x * n, 2.0, 3)
    assert pullback(1.0) == (3.0, None)


def test_floats_beside_integers_in_one_argument_are_an_error():
    with pytest.raises(UsageError, match="argument 0 has floats beside other values"):
        tapec.vjp(lambda p: p[0] * p[1], (2.0, 3))


def test_a_cotangent_of_another_structure_is_an_error():
    _, pullback = tapec.vjp(lambda x: (x, x), 2.0)
    with pytest.raises(UsageError, match="another structure"):
        pullback(1.0)


@pytest.mark.slow
def test_tangents_in_dataclasses_and_dicts():
    def by_key(p):
        return (p["w"] * p["b"]).sum()

    def by_attribute(p):
        return (p.w * p.b).sum()

    w, ones = np.arange(3.0), np.ones(3)
    assert tapec.jvp(by_attribute, (Model(w, 2.0),), (Model(ones, 1.0),)) == (6.0, 9.0)
    assert tapec.jvp(by_key, ({"w": w, "b": 2.0},), ({"w": ones, "b": 1.0},)) == (6.0, 9.0)
    assert tapec.jvp(lambda items: items[0] * items[1], ([2.0, 3.0],), ([1.0, 0.0],)) == (6.0, 3.0)


def test_what_was_made_without_the_jit_is_not_taken_for_what_is_made_with_it():
    def cube(x):
        return x**3

    def made():
        return products.directional(cube, (0,), DEFAULT)

    with interpreted():
        without = made()
        assert made() is without
    assert type(made()) is not type(without)
    assert made()(2.0, 1.0) == without(2.0, 1.0) == (8.0, 12.0)


def by_keyword(x, *, s=2.0):
    return s * x * x * x


def factor(x, k=1.0, *, scale=1.0):
    return scale * k * x


def calling(x):
    return factor(x) * abs(1.0)


CHANGES = {
    "defaults": lambda patch: patch.setattr(factor, "__defaults__", (2.0,)),
    "keyword-only defaults": lambda patch: patch.setitem(factor.__kwdefaults__, "scale", 2.0),
    "code": lambda patch: patch.setattr(factor, "__code__", (lambda x, k=1.0: 2.0 * k * x).__code__),
    "a name of Python's": lambda patch: patch.setitem(globals(), "abs", lambda x: 2.0 * x),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_functions_are_made_of_may_change(change, monkeypatch):
    with interpreted():
        for wanted in (1.0, 2.0):
            assert tapec.jvp(calling, (3.0,), (1.0,)) == (3.0 * wanted, wanted)
            value, pull = tapec.vjp(calling, 3.0)
            assert (value, *pull(1.0)) == (3.0 * wanted, wanted)
            if wanted == 1.0:
                CHANGES[change](monkeypatch)


def test_derivatives_of_derivatives_with_keyword_only_parameters():
    slope = tapec.grad(by_keyword)
    with interpreted():
        assert tapec.vjp(slope, 2.0, 3.0)[1](1.0) == (36.0, 12.0)
        assert tapec.vjp(slope, 2.0)[1](1.0) == (24.0,)
        assert tapec.jvp(slope, (2.0, 3.0), (1.0, None)) == (36.0, 36.0)
        assert tapec.grad(slope)(2.0, s=3.0) == tapec.jacfwd(slope)(2.0, s=3.0) == 36.0
        assert tapec.grad(tapec.grad(slope), wrt="s")(2.0, s=3.0) == 12.0
        assert tapec.grad(tapec.hvp(by_keyword))(2.0, s=3.0, v=1.0) == 18.0


def with_default(x, y=2.0):
    return x * x * y


def test_positions_of_inner_derivatives_count_parameters():
    def last(x):
        return tapec.grad(with_default, wrt=-1)(x, y=3.0) + tapec.grad(by_keyword, wrt=-1)(x, s=1.0)

    def left_out(x):
        return tapec.grad(with_default, wrt=-1)(x)

    with interpreted():
        assert tapec.value_and_grad(last)(5.0) == (25.0 + 125.0, 10.0 + 75.0)
        with pytest.raises(UnsupportedSyntax, match="no argument `y`"):
            tapec.grad(left_out)(5.0)


def test_an_argument_too_many_is_an_error():
    with pytest.raises(TypeError, match="too many arguments: expected 1, got 2"):
        tapec.vjp(lambda x: x * x, 1.0, 2.0)
