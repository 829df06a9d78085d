"""Exceptions that differentiated functions raise, of builtin classes and of others."""

import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedType
from tests.oracles import interpreted

# what leaves machine code
pytestmark = pytest.mark.compiled


class Refused(Exception):
    """Not a builtin."""


class TimeoutError(Exception):
    """Called like a builtin, and another class."""


class Errors:
    class Nested(ValueError):
        """Not importable by its name alone."""


def refusing(x: float):
    if x < 0.0:
        raise Refused("negative")
    if x > 100.0:
        raise TimeoutError("too large")
    if x > 10.0:
        raise np.linalg.LinAlgError("singular")
    return x * x


def nested(x: float):
    if x < 0.0:
        raise Errors.Nested("negative")
    return x * x


def shadowed(x: float):
    Refused_ = Refused
    Refused_1 = x * x
    if x < 0.0:
        raise Refused_("negative")
    return Refused_1


def steps(n: int, x: float):
    if n > 5:
        raise Refused("too many")
    if n == 0:
        return x
    return x * steps(n - 1, x)


CASES = [(-1.0, Refused, "negative"), (200.0, TimeoutError, "too large"), (20.0, np.linalg.LinAlgError, "singular")]


@pytest.mark.parametrize("x, cls, text", CASES)
def test_the_class_is_the_functions_own(x, cls, text):
    derivative = tapec.grad(refusing)
    assert derivative(3.0) == 6.0
    with pytest.raises(cls, match=f"^{text}$") as caught:
        derivative(x)
    assert type(caught.value) is cls


@pytest.mark.slow
def contradiction(x):
    n = x.shape[0]
    if n != 1:
        raise ValueError("not one")
    y = x * 2.0
    if n != 3:
        raise ValueError("not three")
    return y.sum()


@pytest.mark.parametrize("opt_level", [0, 1, 2])
@pytest.mark.parametrize("derivative", [tapec.grad, tapec.hessian])
def test_whatever_the_arguments_are(derivative, opt_level):
    with interpreted():
        for count, text in ((1, "not three"), (3, "not one")):
            with pytest.raises(ValueError, match=text):
                derivative(contradiction, opt_level=opt_level)(np.ones(count))


def test_recursion():
    derivative = tapec.grad(steps, wrt="x")
    assert derivative(2, 3.0) == 27.0
    with pytest.raises(Refused, match="^too many$"):
        derivative(6, 3.0)


def test_names_of_variables():
    derivative = tapec.grad(shadowed)
    assert derivative(3.0) == 6.0
    with pytest.raises(Refused):
        derivative(-3.0)


def test_jvp_and_vjp():
    with pytest.raises(Refused):
        tapec.jvp(refusing, (-1.0,), (1.0,))
    with pytest.raises(Refused):
        tapec.vjp(refusing, -1.0)


def test_printed_source_imports_the_class():
    text = tapec.emit(refusing, opt_level=2)
    assert f"from {__name__} import Refused\n" in text
    space = {}
    exec(text, space)
    with pytest.raises(TimeoutError):
        space["refusing_value_and_grad"](200.0)


def test_a_class_that_cannot_be_imported():
    with pytest.raises(Errors.Nested):
        tapec.grad(nested)(-1.0)
    with pytest.raises(UnsupportedType, match="`Nested` is a type, which cannot be printed"):
        tapec.emit(nested, opt_level=2)


def test_on_a_tape():
    x = tapec.Variable(-2.0)

    def failing(x):
        if x < 0.0:
            raise Refused("negative")
        return x * x

    with pytest.raises(Refused, match="^negative$"), tapec.GradientTape():
        failing(x)
