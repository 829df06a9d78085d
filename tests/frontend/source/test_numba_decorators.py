"""Numba's decorators mean what Numba says: casts of signatures, types of variables, error models, checks of bounds."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings

import numba
import numpy as np
import pytest

import tapec
from tapec.backend.fingerprint import Walk
from tests.frontend.source.decorated import CASES, INSIDE, MACHINE_CODE, REFUSED, module
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("mostly_plainly")

X = 1.5


def of_tape(f):
    def both(x):
        v = tapec.Variable(x)
        with tapec.GradientTape() as tape:
            y = f(v)
        return y, tape.gradient(y, v)

    return both


def of_vjp(f):
    def both(x):
        value, pull = tapec.vjp(f, x)
        return value, pull(1.0)[0]

    return both


WAYS = {
    "value_and_grad": tapec.value_and_grad,
    "jvp": lambda f: lambda x: tapec.jvp(f, (x,), (1.0,)),
    "vjp": of_vjp,
    "tape": of_tape,
    "function": lambda f: lambda x: (tapec.function(f)(x), tapec.grad(f)(x)),
}


def marked(names):
    """The cases, those that need it compiled."""
    return [pytest.param(name, marks=pytest.mark.compiled) if name in MACHINE_CODE else name for name in names]


@pytest.mark.parametrize("name", sampled(marked(CASES), 9))
@pytest.mark.filterwarnings("ignore")
def test_values_and_slopes(name: str, request: pytest.FixtureRequest):
    """By a gradient and another way, or by all of `--exhaustive`."""
    text, slope = CASES[name]
    f = module(text)["f"]
    whole = request.config.getoption("exhaustive")
    other = [*WAYS][1 + [*CASES].index(name) % (len(WAYS) - 1)]
    ways = {name: way for name, way in WAYS.items() if whole or name in ("value_and_grad", other)}
    try:
        value = f(X)
    except (ArithmeticError, IndexError, TypeError) as error:
        for way in ways.values():
            with pytest.raises(type(error)):
                way(f)(X)
        return
    for name_of_way, way in ways.items():
        got, derivative = way(f)(X)
        assert float(got) == pytest.approx(float(value), rel=1e-12), name_of_way
        assert float(derivative) == pytest.approx(slope, rel=1e-6), name_of_way


@pytest.mark.parametrize("name", INSIDE)
def test_decorators_inside(name: str):
    text, value, slope = INSIDE[name]
    assert tapec.value_and_grad(module(text)["f"])(X) == (value, slope)


@pytest.mark.parametrize("name", sampled(REFUSED, 3))
def test_refused_at_the_line(name: str):
    text, underlined, words = REFUSED[name]
    f = module(text)["f"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(tapec.errors.TapecError) as caught:
            tapec.value_and_grad(f)(X)
    span = caught.value.span
    assert span is not None and span.text[span.column : span.end_column] in (underlined, f"@{underlined}")
    assert words in str(caught.value)


def digest(obj):
    walk = Walk(lambda position, owner: [])
    walk.value(obj)
    return walk.digest()


def test_what_a_decorator_says_is_in_the_key():
    texts = ["@njit", '@njit("f8(f8)")', '@njit("f4(f8)")', '@njit(locals={"k": int64})', "@njit(boundscheck=True)"]
    texts += ['@njit(error_model="numpy")', '@njit(inline="always")', '@cfunc("f8(f8)")', '@cfunc("f4(f8)")']
    texts += ["@vectorize", '@vectorize(["f8(f8)"])', '@vectorize(["f4(f8)"], boundscheck=True)']
    digests = [digest(module(f"{text}\ndef f(x):\n    k = x\n    return k\n")["f"]) for text in texts]
    assert len(set(digests)) == len(texts)


def test_a_function_that_can_be_called_is_no_dispatcher_by_its_attributes():
    class Called:
        py_func = staticmethod(lambda x: x * x)

        def __call__(self, x):
            return 3.0 * x

    called = Called()
    assert tapec.grad(lambda x: called(x))(X) == 3.0


@numba.njit
def square(x):
    return x * x


def test_derivatives_of_jitted_functions_are_pickled():
    for made in (tapec.value_and_grad(square), tapec.function(square)):
        again = pickle.loads(pickle.dumps(made))
        assert again(X) == made(X)


SCRIPT = """
import numpy as np, tapec
def f(x, i): return x[i] * x[0]
try:
    print(tapec.grad(f)(np.ones(3), 7))
except IndexError:
    print("IndexError")
"""


@pytest.mark.slow
def test_the_environment_asks_for_checks(tmp_path):
    path = tmp_path / "asks.py"
    path.write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "TAPEC_CACHE_DIR": str(tmp_path)}
    found = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout == "IndexError\n", found.stderr


@pytest.mark.slow
def test_jit_module(tmp_path, monkeypatch):
    text = """
import numba
def scaled(x): return x / 3
numba.jit_module(error_model="numpy", locals={"y": numba.int64})
"""
    (tmp_path / "jitted_module.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import jitted_module  # type: ignore[import-not-found]

    assert tapec.value_and_grad(jitted_module.scaled)(X) == (0.5, pytest.approx(1 / 3))


def test_arrays_that_a_signature_takes_as_read_only():
    f = module("@njit(types.float64(types.Array(types.float64, 1, 'C', readonly=True)))\ndef f(a): return a.sum()")["f"]
    constant = np.ones(3)
    constant.flags.writeable = False
    for array in (np.ones(3), constant):
        np.testing.assert_array_equal(tapec.grad(f)(array), np.ones(3))
