"""Statements that are linear in some names: which are, and their transposes."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.errors import NotDifferentiable
from tapec.syntax.core import Function, Name, Return
from tapec.transforms.emitter import Emitter
from tapec.transforms.transposition import NotLinear, not_linear, transposed
from tests.optimise.comparison import run
from tests.optimise.reading import read

BEGIN = "def f(x, a, z, n, c, a_k):\n"


def function_of(text: str, result: str = "y") -> Function:
    """A function of `x` and `a`, in which it may be linear, and of others."""
    lines = "".join(f"    {line}\n" for line in text.strip("\n").splitlines())
    return read(f"{BEGIN}{lines}    return {result}")


LINEAR = {
    "sum": "t = x * z\nu = 3.0 * x\ny = t + u",
    "constant beside": "t = x * 2.0\ny = t + z",
    "quotient": "y = x / z",
    "known branch": "if c:\n    y = x * 2.0\nelse:\n    y = z * 3.0",
    "known loop": "y_1 = 0.0\ny = y_1\nfor i in range(n):\n    t = a[i]\n    u = t * z\n    w = y + u\n    y = w",
    "extents": "k = a.shape[0]\ny = x * k",
    "stores": "a_y = np.zeros(3)\na_y[0] = x\na_y[1] += x\nt = a[0]\na_y[1] += t\nu = a_y[1]\nv = a_y[0]\ny = u - v",
    "view": "a_v = a[::-1]\ny = a_v[0]",
    "select": "y = x if c else z",
    "square of another": "t = z * z\ny = x * t",
    "print": "print(x)\ny = x * 2.0",
    "product of arrays": "y = np.dot(a_k, a)",
}
NOT_LINEAR = {
    "square": "y = x * x",
    "product": "t = a[0]\ny = x * t",
    "inverse": "y = z / x",
    "sine": "y = np.sin(x)",
    "branch": "t = x > 0.0\nif t:\n    y = x\nelse:\n    y = z",
    "select": "t = x > 0.0\ny = x if t else z",
    "step": "t = np.floor(x)\ny = t * z",
    "step that is added": "t = np.floor(x)\nu = x * z\ny = u + t",
    "sign": "t = np.sign(x)\ny = t * x",
    "iterations": "k = int(x)\ny_1 = z\ny = y_1\nfor i in range(k):\n    w = y * 2.0\n    y = w",
    "left early": (
        "k = 0\ny = z\nwhile True:\n    t = x * 2.0\n    c_1 = t > 1.0\n    if c_1:\n        break\n"
        "    else:\n        w = y + 1.0\n        y = w"
    ),
    "subscript": "k = int(x)\ny = a_k[k]",
    "subscript of a store": "k = int(x)\na_y = np.zeros(3)\na_y[k] = z\ny = a_y[1]",
    "in an array": "a_y = np.zeros(3)\na_y[0] = x\nt = a_y[0]\ny = t * x",
    "stopped": "t = stop_gradient(x)\ny = t * z",
    "stopped in an array": "a_y = np.zeros(3)\nt = stop_gradient(x)\na_y[0] = t\ny = a_y[0]",
    "absolute": "y = abs(x)",
    "product of arrays": "y = np.dot(a, a)",
}
POINTS = [(0.0, np.zeros(3)), (1.25, np.array([0.5, -1.5, 2.0])), (-2.75, np.array([-2.5, 1.0, 0.25]))]


def value(function: Function, x: float, a: np.ndarray) -> float:
    return run(function, (x, a, 1.5, 3, True, np.array([2.0, 3.0, 5.0])))[0]


@pytest.mark.parametrize("name", LINEAR)
def test_what_is_linear(name: str):
    function = function_of(LINEAR[name])
    assert not_linear(function, ("x", "a")) is None
    # a sum of arguments has the sum of values, but for a constant
    (x, a), (x_2, a_2) = POINTS[1:]
    zero, one, two = (value(function, *point) for point in POINTS)
    assert value(function, x + 3.0 * x_2, a + 3.0 * a_2) - zero == pytest.approx((one - zero) + 3.0 * (two - zero))


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_what_is_not(name: str):
    found = not_linear(function_of(NOT_LINEAR[name]), ("x", "a"))
    assert isinstance(found, NotLinear) and found.span is not None


def test_what_is_linear_in_one_name_need_not_be_in_two():
    function = function_of("t = a[0]\ny = x * t")
    assert not_linear(function, ("x",)) is None and not_linear(function, ("a",)) is None
    assert not_linear(function, ("x", "a")) is not None


def test_a_zero_with_a_sign_does_not_count():
    stopped = "t = x * 0.0\nu = stop_gradient(t)\nv = x * z\ny = v + u"
    assert not_linear(function_of(stopped), ("x",)) is None
    assert not_linear(function_of(stopped.replace("0.0", "2.0")), ("x",)) is not None


def pulled(text: str, outputs: tuple[str, ...], weights: tuple[str, ...], inputs: tuple[str, ...]) -> Function:
    """A function that returns the derivatives of outputs times weights, by inputs."""
    function = read(text)
    outer = {name: function.types[name] for name in function.params if name not in inputs}
    likes = {name: Name(f"{name}_like") for name in inputs}
    types = outer | {f"{name}_like": function.types[name] for name in inputs}
    types |= {weight: function.types[output] for weight, output in zip(weights, outputs, strict=True)}
    out = Emitter(types, set(types))
    sums = transposed(
        *(out, function.types, function.body[:-1]),
        [(name, likes[name]) for name in inputs],
        [(Name(output), Name(weight)) for output, weight in zip(outputs, weights, strict=True)],
    )
    params = (*outer, *(f"{name}_like" for name in inputs), *weights)
    return Function("pulled", params, (*out.out, Return(tuple(sums))), types)


@pytest.mark.parametrize("outputs", [("y",), ("a_y", "y"), ("y", "y"), ("a",), ("a", "x", "a_y")])
def test_the_transpose_is_that_of_the_matrix(outputs: tuple[str, ...], rng):
    """One output may be weighed twice, and be an input."""
    text = """
    def f(x, a, z, n):
        a_y = np.zeros(n)
        y = 0.0
        for i in range(n):
            t = a[i]
            u = t * z
            a_y[i] = u
            w = y + u
            y = w
        a_y[0] += x
        v = y * 2.0
        s = v - x
        return s
    """
    a_weights = tuple(f"{'a' if one.startswith('a') else 'w'}_weight_{k}" for k, one in enumerate(outputs))
    made = pulled(text, outputs, a_weights, ("x", "a"))
    n, z = 3, 1.5
    draws = [rng.normal(size=n) if one.startswith("a") else float(rng.normal()) for one in outputs]
    x_bar, a_bar = run(made, (z, n, 0.0, np.full(n, 9.0), *draws))[:2]
    expected_x, expected_a = 0.0, np.zeros(n)
    for one, weight in zip(outputs, draws, strict=True):
        if one == "y":
            expected_a += weight * z
        elif one == "x":
            expected_x += weight
        elif one == "a":
            expected_a += weight
        else:
            expected_a += weight * z
            expected_x += weight[0]
    assert x_bar == pytest.approx(expected_x, abs=1e-14)
    np.testing.assert_allclose(a_bar, expected_a, rtol=1e-13, atol=1e-14)


def test_what_is_printed_is_not_printed_by_the_transpose(capsys):
    made = pulled("def f(x, z):\n    print(x)\n    y = x * z\n    return y", ("y",), ("w",), ("x",))
    assert run(made, (3.0, 0.0, 2.0))[0] == 6.0 and capsys.readouterr().out == ""


def test_refusals():
    with pytest.raises(NotLinear):
        pulled("def f(x):\n    y = x * x\n    return y", ("y",), ("w",), ("x",))
    bessel = "tapec_runtime.scipy_special.jv"
    with pytest.raises(NotDifferentiable):
        pulled(f"def f(x, z):\n    y = {bessel}(x, z)\n    return y", ("y",), ("w",), ("x",))
