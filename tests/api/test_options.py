"""Options are keywords of every transform and flags of the command line."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from click.testing import CliRunner

import tapec
from tapec.backend.fingerprint import Request
from tapec.cli import main
from tapec.errors import UsageError
from tapec.options import Options


def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += math.exp(x[i])
    return s


X = np.array([0.1, 0.2, 0.3, 0.4, 0.5])


@pytest.mark.slow
@pytest.mark.parametrize("transform", [tapec.grad, tapec.value_and_grad, tapec.jacrev])
def test_keywords_reach_the_generated_source(transform):
    texts = {}
    for keywords in ({}, {"math": "libm"}, {"opt_level": 1}, {"opt_level": 0}):
        derivative = transform(total, **keywords)
        derivative(X)
        texts[tuple(keywords.items())] = derivative.source()
    assert "tapec_runtime.exp" in texts[()]
    assert not any("tapec_runtime.exp" in text for keywords, text in texts.items() if keywords)
    assert len(set(texts.values())) == 4


def test_decorators_take_options():
    @tapec.grad(math="libm")
    def f(x):
        s = 0.0
        for i in range(x.shape[0]):
            s += math.exp(x[i])
        return s

    np.testing.assert_allclose(f(X), np.exp(X), rtol=1e-15)
    assert "tapec_runtime.exp" not in f.source()


@pytest.mark.slow
@pytest.mark.parametrize("keywords", [{}, {"math": "libm"}, {"opt_level": 0}])
def test_every_transform_takes_options(keywords):
    gradient = np.exp(X)
    np.testing.assert_allclose(tapec.jvp(total, (X,), (X,), **keywords)[1], gradient @ X, rtol=1e-14)
    np.testing.assert_allclose(tapec.vjp(total, X, **keywords)[1](1.0)[0], gradient, rtol=1e-14)
    for transform in (tapec.jacobian, tapec.jacfwd, tapec.jacrev):
        np.testing.assert_allclose(transform(total, **keywords)(X), gradient, rtol=1e-14)
    np.testing.assert_allclose(tapec.hessian(total, **keywords)(X), np.diag(gradient), rtol=1e-14)
    np.testing.assert_allclose(tapec.hvp(total, **keywords)(X, X), gradient * X, rtol=1e-14)
    assert "def total_value_and_grad" in tapec.emit(total, signature="f8[::1]", **keywords)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"maths": "fast"}, "there is no option `maths`"),
        ({"math": "slow"}, "math must be"),
        ({"opt_level": 3}, "opt_level must be"),
        ({"opt_level": True}, "opt_level must be"),
    ],
)
def test_wrong_options(keywords, message):
    with pytest.raises(UsageError, match=message):
        tapec.grad(total, **keywords)


def test_options_survive_pickling():
    derivative = tapec.grad(total, math="libm")
    again = pickle.loads(pickle.dumps(derivative))
    again(X)
    assert "tapec_runtime.exp" not in again.source()


def test_options_are_part_of_the_cache_key():
    keys = {Request(total, "grad", 0, options=Options(math=math_)).key(()) for math_ in ("fast", "libm")}
    assert len(keys) == 2


def test_flags():
    arguments = ["grad", f"{__file__}:total", "--sig", "f8[::1]"]
    every: list[list[str]] = [["-O2"], ["-O2", "--math", "libm"], ["-O", "0"]]
    texts = [CliRunner().invoke(main, [*arguments, *flags]).output for flags in every]
    assert ["import tapec_runtime" in text for text in texts] == [True, False, False]
    assert ['math="libm"' in text for text in texts] == [True, False, False]
    assert len(set(texts)) == 3


def test_source_is_at_level_1_unless_another_one_is_asked_for():
    every = ({}, {"opt_level": 1}, {"opt_level": 2})
    texts = [tapec.emit(total, signature="f8[::1]", **keywords) for keywords in every]
    assert texts[0] == texts[1] != texts[2]
