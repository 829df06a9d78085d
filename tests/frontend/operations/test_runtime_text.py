"""Text that only the run knows: asked for numbers, compared, and as the key of a dict."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError
from tapec.frontend.evaluator.values import Sym, Template
from tapec.frontend.operations import runtime_text
from tapec.syntax.core import Name
from tapec.syntax.types import FLOAT64, INT64
from tests.typed import interpreted

pytestmark = pytest.mark.compiled
X = np.array([1.234567, 2.0])
SQUARES = float(np.sum(X * X))


def rounded(x):
    y = np.sum(x * x)
    return y * float(f"{float(y):.2f}")


def formatted(x):
    y = np.sum(x * x)
    given = float(format(y, ".1f")) * float("%.2f" % y) * float("{:.1f}".format(y))  # noqa: UP031, UP032
    return y * given * int(str(int(y)))


def compared(x):
    y = np.sum(x * x)
    s, q = f"{float(y):.1f}", f"{float(x[0]):.1f}"
    r = 0.0
    if s == "5.5":
        r += y
    if s != q:
        r += 2 * y
    if q < s:
        r += 4 * y
    if "5" in s:
        r += 8 * y
    if s in ("5.5", "a"):
        r += 16 * y
    if s:
        r += 32 * y
    if q.upper() + s == "1.25.5":
        r += 64 * y
    if s.zfill(6).startswith("000"):
        r += 128 * y
    return r * len(s + q) * s.find(".")


def of_a_loop(x):
    t, y = 0.0, np.sum(x)
    for _ in range(3):
        s = f"{float(y):.1f}"
        y = y * 2.0
        t += y * float(s)
    return t


def of_single_precision(x):
    return x[0] * float(str(x[0]))


def of_integers_and_truth(x):
    n = x.shape[0]
    return x[0] * float(f"{n}.{n:03d}") * len(f"{x[0] > 1}")


@pytest.mark.slow
@pytest.mark.parametrize("f", [rounded, formatted, compared, of_a_loop, of_integers_and_truth])
def test_text_has_no_derivative(f):
    value, gradient = tapec.value_and_grad(f)(X)
    assert np.isclose(value, f(X), rtol=1e-14)
    step = 1e-6
    by = [(f(X + step * e) - f(X - step * e)) / (2 * step) for e in np.eye(2)]
    assert np.allclose(gradient, by, rtol=1e-6)
    with interpreted():
        assert np.isclose(tapec.jvp(f, (X,), (X,))[1], gradient @ X, rtol=1e-14)


@pytest.mark.slow
def test_numbers_of_single_precision_are_written_as_such():
    x = X.astype(np.float32)
    assert np.isclose(tapec.grad(of_single_precision)(x)[0], np.float32(1.234567))


@pytest.mark.slow
def test_text_that_is_no_number_raises_as_in_python():
    with pytest.raises(ValueError, match="could not convert string to float: 'a1.234567'"):
        tapec.grad(lambda x: x[0] * float(f"a{x[0]}"))(X)


def test_in_tapes():
    with tapec.GradientTape() as tape:
        tape.watch(X)
        y = np.sum(X * X)
        sizes = {f"{float(y):.1f}": y}
        first = float(f"{float(y):.2f};".split(";")[0])
        try:
            w = float("a" + str(y))
        except ValueError:
            w = 3.0
        z = sizes[f"{y:.1f}"] * float(f"{float(y):.2f}") * first * w
    assert np.allclose(tape.gradient(z, X), 2 * X * 5.52 * 5.52 * 3.0)


@tapec.function
def compiled(x):
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x * x)
        z = y * float(f"{float(y):.2f}")
    return tape.gradient(z, x)


@pytest.mark.slow
def test_in_compiled_functions():
    for x in (X, 1.5 * X, X + 0.25):
        assert np.allclose(compiled(x), 2 * x * round(float(np.sum(x * x)), 2))


def layers(x, p):
    for i in range(len(p) // 2):
        x = np.tanh(x @ p[f"W{i}"] + p["b" + str(i)])
    return np.sum(x)


def written_out(x, p):
    return np.sum(np.tanh(np.tanh(x @ p["W0"] + p["b0"]) @ p["W1"] + p["b1"]))


@pytest.mark.slow
@pytest.mark.parametrize("width", [2, 3])
def test_the_key_of_a_dict_in_a_loop(width: int):
    rng = np.random.default_rng(0)
    p = {"W0": rng.random((2, width)), "b0": rng.random(width), "W1": rng.random((width, 2)), "b1": rng.random(2)}
    by, wanted = tapec.grad(layers, 1)(X, p), tapec.grad(written_out, 1)(X, p)
    for key in p:
        assert np.allclose(by[key], wanted[key], rtol=1e-13)


def product(x, p, n):
    for i in range(n):
        x = x * p[f"w{i}"]
    return x


def test_a_key_that_is_not_there():
    p = {"w0": 2.0, "w1": 3.0}
    assert tapec.grad(product)(1.0, p, 2) == 6.0
    with pytest.raises(KeyError):
        tapec.grad(product)(1.0, p, 3)


def test_which_numbers_make_a_key():
    i, j = Sym(Name("i"), INT64), Sym(Name("j"), INT64)
    one = Template.of("w{i}", (i,), lambda n: f"w{n}")
    assert runtime_text.places(one, ("w0", "w12", "w03", "v1", "w", 3)) == {(0,): "w0", (12,): "w12"}
    padded = Template.of("w{i:03d}", (i,), lambda n: f"w{n:03d}")
    assert runtime_text.places(padded, ("w003", "w3")) == {(3,): "w003"}
    two = Template.of("w{i}_{j}", (i, j), lambda n, m: f"w{n}_{m}")
    assert runtime_text.places(two, ("w0_1", "w_1")) == {(0, 1): "w0_1"}
    # where one number ends and the next begins is not known
    assert runtime_text.places(Template.of("w{i}{j}", (i, j), lambda n, m: f"w{n}{m}"), ("w01",)) == {}
    assert runtime_text.places(Template.of("{x}", (Sym(Name("x"), FLOAT64),), str), ("1.0",)) == {}


def late(x):
    s, t, y = "0", 0.0, np.sum(x)
    for _ in range(3):
        t += y * float(s)
        s = f"{float(y):.1f}"
        y = y * 2.0
    return t


def on_two_ways(x):
    y = np.sum(x)
    s = f"{float(y):.1f}" if y > 1 else f"{float(2 * y):.1f}"
    return y * float(s)


def shown(x):
    return x[0] * len(f"{x}")


def told_apart(x):
    return x[0] * len(f"{x[0]!r}")


@pytest.mark.parametrize("f", [late, on_two_ways, shown, told_apart])
def test_what_is_refused(f):
    with pytest.raises(TapecError) as refused:
        tapec.grad(f)(X)
    assert "test_runtime_text.py" in str(refused.value)


def conversions(x):
    name, y = "ä", np.sum(x * x)
    known = repr(name) + f"{name!r}{name!a:>7}" + repr(3)
    if known != "'ä''ä' '\\xe4'3":
        raise ValueError(repr(y))
    return y * len(known)


def test_conversions_of_known_text():
    assert np.allclose(tapec.grad(conversions)(X), 2 * X * 14)
    with tapec.GradientTape() as tape:
        tape.watch(X)
        y = conversions(X)
    assert np.allclose(tape.gradient(y, X), 2 * X * 14)
