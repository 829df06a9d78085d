"""The text of every stage is a module that runs on its own and computes the same thing."""

from __future__ import annotations

from collections import namedtuple
from functools import partial

import numba
import numpy as np
import pytest

from tapec.api import show_stage
from tapec.backend import stage_text
from tests.oracles import Mismatch, arr, check
from tests.sampling import sampled
from tests.stages import check_stages, execute

STAGES = stage_text.STAGES
TABLE = np.array([1.5, -0.5])
Pair = namedtuple("Pair", ["low", "high"])


def structured(x, t, n):
    a, (b, c) = t
    total = 0
    for i in range(n):
        total += x[i] * a + TABLE[i % 2]
        if total > 3.0:
            break
    y = np.sin(x) * b + x[::-1]
    return total + y.sum() * c


def named(p, x):
    x[0] *= p.low
    return Pair(p.high * x[0], x)


def deep(x, n):
    return 1.0 if n == 0 else x * deep(x, n - 1)


def single(x, k):
    return (x * 0.5 + k).sum()


CASES = (
    (structured, (arr(4), (0.7, (1.1, 0.3)), 3)),
    (named, (Pair(1.2, 0.4), arr(3))),
    (deep, (1.3, 4)),
    (single, (np.float32([0.5, 1.5]), 2)),
)


@pytest.mark.parametrize(("f", "args"), sampled(CASES, 4), ids=lambda value: getattr(value, "__name__", ""))
def test_every_stage_computes_the_same(f, args):
    check(f, args, also=partial(check_stages, f, args))


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_a_module(stage: str):
    text = show_stage(structured, 0, tuple(numba.typeof(arg) for arg in CASES[0][1]), stage)
    assert text.startswith('"""')
    assert "import numpy as np" in text
    kind = "primal" if stage in ("core", "typed") else "value_and_grad"
    assert execute(text).__name__ == f"structured_{kind}"


def test_typed_core_says_every_type():
    text = show_stage(structured, 0, tuple(numba.typeof(arg) for arg in CASES[0][1]), "typed")
    lines = text.splitlines()
    assert "    # x: float64[:]C" in lines
    assert all("  # " in line for line in lines if line.startswith("    ") and " = np." in line)


@pytest.mark.slow
def test_a_stage_that_computes_something_else_is_found(monkeypatch: pytest.MonkeyPatch):
    def wrong(program, function, title="Derivative of"):
        return module_text(program, function, title).replace("np.sin", "np.cos" if "Typed" in title else "np.sin")

    module_text = stage_text.module_text
    monkeypatch.setattr(stage_text, "module_text", wrong)
    f, args = CASES[0]
    with pytest.raises(Mismatch, match="value of stage typed"):
        check(f, args, also=partial(check_stages, f, args))
