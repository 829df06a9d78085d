"""Options of tapes and of compiled functions."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

from tapec import GradientTape, constant, function
from tapec.errors import UsageError

pytestmark = pytest.mark.compiled

X = np.linspace(0.1, 1.0, 20)


def program_of(**options):
    """The text of the derivative of one block, for some options; and the gradient."""
    with GradientTape(**options) as tape:
        tape.watch(X)
        y = np.sum(np.exp(X) * X)
    plan = tape._record.plan
    gradient = tape.gradient(y, X)
    (program,) = [one.printed.program.text for key, one in plan.compiled.items() if key[-1] == "gradient"]
    return program, gradient


@pytest.mark.parametrize("options", [{"opt_level": 0}, {"opt_level": 1}, {"math": "libm"}, {}])
def test_a_tape_at_every_level(options):
    for _ in range(3):
        # one place for all, and programs of its own for each
        program, gradient = program_of(**options)
        np.testing.assert_allclose(gradient, np.exp(X) * (1.0 + X), rtol=1e-14)
        assert ("= np.exp(" in program) == (options != {})
        assert ("total_seed +=" in program or "t_bar" in program) == (options == {"opt_level": 0})


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"opt_level": 0}, {"opt_level": 1}, {"math": "libm"}, {}])
def test_a_compiled_function_at_every_level(options):
    @function(**options)
    def slope(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = np.sum(np.exp(x) * x)
        return tape.gradient(y, x)

    np.testing.assert_allclose(slope(X), np.exp(X) * (1.0 + X), rtol=1e-14)
    assert ("= np.exp(" in slope.source()) == (options != {})


@function(math="libm")
def exponential(x):
    return np.exp(x)


def test_a_compiled_function_keeps_its_options():
    assert exponential.options.math == "libm"
    assert pickle.loads(pickle.dumps(exponential)) is exponential
    assert function(exponential, math="libm") is exponential
    assert function(exponential) is exponential
    other = function(exponential, math="fast")
    assert other is not exponential and other.options.math == "fast" and other(0.0) == 1.0


def test_a_tape_in_a_compiled_function_takes_the_options_of_the_function():
    @function(opt_level=1)
    def slope(x):
        with GradientTape(persistent=False, jit=False, math="libm") as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    assert slope(3.0) == 6.0


@pytest.mark.parametrize("make", [GradientTape, lambda **options: function(lambda x: x, **options)])
def test_what_is_no_option(make):
    with pytest.raises(UsageError, match="no option `level`"):
        make(level=1)
    with pytest.raises(UsageError, match="opt_level must be"):
        make(opt_level=3)
    with pytest.raises(UsageError, match="math must be"):
        make(math="exact")


@pytest.mark.slow
def test_a_block_of_many_structures_is_told_once():
    x, line = constant(2.0), inspect.currentframe().f_lineno + 4

    def slope(names):
        # every length of the list is another structure
        with GradientTape(jit=False) as tape:
            tape.watch(x)
            y = x * x if names else x
        return tape.gradient(y, x)

    with pytest.warns(RuntimeWarning, match="read the block of this tape in more than 64 ways") as caught:
        for count in range(70):
            assert slope(["name"] * (count + 1)) == 4.0
    [warning] = caught
    assert warning.filename == __file__ and warning.lineno == line
