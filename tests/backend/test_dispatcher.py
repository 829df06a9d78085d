"""Derivatives as callables: from Python, from jitted code, from threads, through pickles."""

from __future__ import annotations

import collections
import dataclasses
import functools
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import cloudpickle
import numba
import numpy as np
import pytest
from numba import njit

import tapec
from tapec.errors import TypeMismatch, UnsupportedType
from tests.backend.processes import COMPILED, Project
from tests.sampling import sampled


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAPEC_CACHE", raising=False)
    monkeypatch.setenv("TAPEC_CACHE_DIR", str(tmp_path / "cache"))


def square(x, scale=1.0):
    """A function with a docstring."""
    return scale * x * x


def weighted(x, weight=None):
    if weight is None:
        return x * x
    return weight * x


def spread(x, *factors):
    total = x
    for factor in factors:
        total *= factor
    return total


def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] ** 2
    return s


def product(p):
    return p[0] * p[1]


def inverse(x):
    return 1.0 / x


class Pair(NamedTuple):
    a: float
    b: float


@dataclasses.dataclass
class Model:
    weights: Any
    bias: float


@tapec.grad
def decorated(x):
    return x**3


def test_keywords_defaults_and_none() -> None:
    gradient = tapec.grad(square)
    assert gradient(3.0) == 6.0
    assert gradient(3.0, 2.0) == gradient(x=3.0, scale=2.0) == gradient(scale=2.0, x=3.0) == 12.0
    gradient = tapec.grad(weighted)
    assert (gradient(3.0), gradient(3.0, None), gradient(3.0, weight=5.0)) == (6.0, 6.0, 5.0)
    with pytest.raises(TypeError):
        gradient(3.0, unknown=1.0)


RATES = SimpleNamespace(rate=2.0)


def in_list(x, p=[1.0, 2.0]):
    return x * p[1]


def in_dict(x, p={"a": 2.0}):
    return x * p["a"]


def in_namespace(x, p=RATES):
    return x * p.rate


def by_function(x, p=lambda z: 2.0 * z):
    return p(x)


def by_array(x, p=np.full(2, 2.0)):
    return x * p[0]


@pytest.mark.slow
@pytest.mark.parametrize("function", [in_list, in_dict, in_namespace, by_function, by_array])
def test_defaults_that_numba_has_no_type_for(function: Callable[..., float]) -> None:
    gradient = tapec.grad(function)
    assert gradient(3.0) == gradient(x=4.0) == 2.0


@pytest.mark.slow
def test_such_defaults_in_calls_from_jitted_code() -> None:
    gradient = tapec.grad(in_list)

    @numba.njit
    def caller(x):
        return gradient(x)

    assert caller(3.0) == 2.0


@pytest.mark.slow
def test_extra_positional_arguments() -> None:
    gradient = tapec.grad(spread)
    assert (gradient(3.0), gradient(3.0, 2.0), gradient(3.0, 2.0, 5)) == (1.0, 2.0, 10.0)

    @numba.njit
    def caller(x):
        return gradient(x, 2.0, 7.0)

    assert caller(3.0) == 14.0


@pytest.mark.filterwarnings("ignore:First-class function type feature is experimental")
def test_derivatives_as_pointers_to_functions() -> None:
    first, second = tapec.grad(lambda x: x * x), tapec.grad(inverse)
    kind = numba.types.FunctionType(numba.float64(numba.float64))

    @numba.njit(numba.float64(kind, numba.float64))
    def called(f, x):
        return f(x)

    @numba.njit
    def chosen(which, x):
        f = first if which else second
        return f(x)

    assert (called(second, 2.0), called(second, 4.0)) == (-0.25, -0.0625)
    assert (chosen(True, 3.0), chosen(False, 2.0)) == (6.0, -0.25)


def test_tuples_come_back_as_they_went_in() -> None:
    assert tapec.grad(product)((2.0, 5.0)) == (5.0, 2.0)
    found = tapec.grad(product)(Pair(2.0, 5.0))
    assert found == Pair(5.0, 2.0) and isinstance(found, Pair)


@pytest.mark.slow
def test_lists_and_dataclasses_come_back_as_they_went_in() -> None:
    def nested(p):
        return p[0] * p[1][0] * p[1][1]

    assert tapec.grad(nested)([2.0, [5.0, 3.0]]) == [15.0, [6.0, 10.0]]

    def linear(model, x):
        return np.sum(model.weights * x) + model.bias

    value, (model, x) = tapec.value_and_grad(linear, wrt=(0, 1))(Model(np.array([1.0, 2.0]), 0.5), np.array([3.0, 4.0]))
    assert value == 11.5 and isinstance(model, Model) and model.bias == 1.0
    np.testing.assert_array_equal(model.weights, [3.0, 4.0])
    np.testing.assert_array_equal(x, [1.0, 2.0])


@pytest.mark.slow
def test_dicts_come_back_as_they_went_in() -> None:
    def linear(params, x):
        return np.sum(params["weights"] * x) * params["layer"]["scale"]

    params = {"weights": np.array([1.0, 2.0]), "layer": {"scale": 3.0}}
    found = tapec.grad(linear)(params, np.array([3.0, 4.0]))
    np.testing.assert_array_equal(found["weights"], [9.0, 12.0])
    assert found["layer"] == {"scale": 11.0}
    with pytest.raises(TypeMismatch, match="no key 'weights'"):
        tapec.grad(linear)({"other": 1.0}, np.ones(2))


@pytest.mark.parametrize("argument", [{1: 1.0}, object(), [object()]])
def test_other_arguments_are_refused(argument: Any) -> None:
    with pytest.raises(UnsupportedType):
        tapec.grad(square)(argument)


def test_name_and_docstring_are_kept() -> None:
    gradient = tapec.grad(square)
    assert (gradient.__name__, gradient.__module__) == ("square", __name__)
    assert gradient.__doc__ == f"The gradient of `square` with respect to `x`.\n\nsquare: {square.__doc__}"


def test_pickles() -> None:
    again = pickle.loads(pickle.dumps(tapec.grad(square, wrt="scale")))
    assert again(3.0, 2.0) == 9.0
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    factor = 5.0
    closed = cloudpickle.loads(cloudpickle.dumps(tapec.value_and_grad(lambda x: factor * x)))
    assert closed(2.0) == (10.0, 5.0)


@pytest.mark.slow
def test_from_jitted_code_parallel_too() -> None:
    gradient = tapec.grad(total)

    @numba.njit
    def step(x):
        return x - 0.25 * gradient(x)

    np.testing.assert_array_equal(step(np.ones(3)), np.full(3, 0.5))

    @numba.njit(parallel=True)
    def rows(table):
        out = np.empty_like(table)
        for i in numba.prange(table.shape[0]):
            out[i] = gradient(table[i])
        return out

    table = np.arange(40.0).reshape(10, 4)
    np.testing.assert_array_equal(rows(table), 2 * table)


def test_an_error_passes_through_jitted_code_with_its_text() -> None:
    def refused(x):
        return np.roots(x)[0]

    gradient = tapec.grad(refused)

    @numba.njit
    def caller(x):
        return gradient(x)

    with pytest.raises(numba.TypingError, match="roots"):
        caller(np.ones(3))


@pytest.mark.slow
def test_threads_may_ask_at_the_same_time() -> None:
    gradient = tapec.grad(total)

    @numba.njit
    def caller(x):
        return gradient(x).sum()

    found: list[float] = []
    barrier = threading.Barrier(6)

    def run(k: int) -> None:
        barrier.wait()
        x = np.ones(3, np.float32 if k % 3 == 0 else np.float64)
        found.append(float(caller(x) if k % 2 else gradient(x).sum()))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert found == [6.0] * 6


def test_two_derivatives_of_one_function_are_independent() -> None:
    first, second = tapec.grad(total), tapec.grad(total)
    np.testing.assert_array_equal(first(np.ones(2)), second(np.ones(2)))
    del first
    np.testing.assert_array_equal(second(np.ones(2)), [2.0, 2.0])


def test_a_call_costs_as_much_as_a_jitted_one() -> None:
    """No Python stands around it: one frame takes as long as the whole call."""
    primal = numba.njit(lambda x, scale: scale * x * x)

    def entered(function: Any) -> int:
        function(1.0, 2.0)
        events: list[str] = []
        sys.setprofile(lambda frame, event, _: events.append(event))
        try:
            function(1.0, 2.0)
        finally:
            sys.setprofile(None)
        return events.count("call")

    # Numba tells profilers of what it calls, on Python 3.11
    assert entered(tapec.grad(square)) == entered(primal) <= 1


@pytest.mark.slow
def test_advice_on_speed_is_not_for_generated_code() -> None:
    def product(a, x):
        return np.sum(np.dot(a, x))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tapec.grad(product, wrt=1)(np.ones((6, 6))[::2, ::2], np.ones(6)[::2])
    np.testing.assert_array_equal(found, [3.0, 3.0, 3.0])


def fitted(x, y):
    return np.sum(x * y)


@pytest.mark.slow
def test_of_several_forms_calls_compile_the_one_that_they_need_until_another_is_needed():
    derivative = tapec.grad(fitted)
    x, one = np.array([3.0, 4.0]), np.array([2.0])
    for y, alone in ((x, True), (x, True), (one, False), (x, False)):
        np.testing.assert_array_equal(derivative(x, y), np.ones(2) * y)
        assert ("tapec_runtime.OtherVersion" in derivative.source()) == alone
    assert len(derivative.overloads) == 1
    # from the disk, where one form stands alone, and all do
    again = tapec.grad(fitted)
    np.testing.assert_array_equal(again(x, y=one), [2.0, 2.0])
    assert "tapec_runtime.OtherVersion" not in again.source()


@pytest.mark.slow
def test_jitted_code_and_signatures_get_all_forms():
    derivative = tapec.grad(fitted)
    x, one = np.array([3.0, 4.0]), np.array([2.0])
    derivative(x, x)

    @njit
    def called(x, y):
        return derivative(x, y)

    np.testing.assert_array_equal(called(x, one), [2.0, 2.0])
    np.testing.assert_array_equal(derivative(x, x), x)
    assert "tapec_runtime.OtherVersion" not in derivative.source()
    early = tapec.grad(fitted)
    early.compile("f8[::1], f8[::1]")
    assert "tapec_runtime.OtherVersion" not in early.source()


def test_the_generated_source_can_be_seen() -> None:
    def seen(x, scale):
        return scale * x**2

    gradient = tapec.grad(seen)
    assert gradient.source() == ""
    gradient(2.0, 1.0)
    assert "def seen_grad(x, scale):" in gradient.source()
    assert gradient.source(numba.float64, numba.float64) == gradient.source() == gradient.source(3.0, 1.0)


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    def squared(self, x, power=2.0):
        return self.scale * x**power


def test_the_source_for_examples_of_arguments() -> None:
    factor = 2.0
    for made, arguments in (
        (tapec.grad(square), (1.0,)),
        (tapec.grad(square), (1.0, 2.0)),
        (tapec.grad(lambda x: factor * x), (1.0,)),
        (tapec.grad(lambda p, g: g(p["a"]) * p["b"]), ({"a": 1.0, "b": 2.0}, np.sin)),
        (tapec.value_and_grad(Scaled(2.0).squared), (1.0,)),
        (tapec.hvp(square), (1.0, 1.0)),
        (tapec.hvp(Scaled(2.0).squared), (1.0, 3.0, 1.0)),
    ):
        assert "def " in made.source(*arguments), made
    with pytest.raises(UnsupportedType, match="`x` of `square` is a object"):
        tapec.grad(square).source(object())


def test_compile_and_source_take_as_many_arguments_as_a_call() -> None:
    for made in (tapec.grad(square), tapec.grad(Scaled(2.0).squared), tapec.hvp(square)):
        for method in (made.compile, made.source):
            with pytest.raises(TypeError, match="too many|mismatch"):
                method(*[1.0] * 6)
        with pytest.raises(TypeError, match="miss"):
            made.compile()


CALLER = """
    import numba, tapec
    from model import loss

    gradient = tapec.grad(loss)

    @numba.njit
    def helper(x):
        return gradient(x)

    @numba.njit(cache=True)
    def direct(x):
        return gradient(x) + 1.0

    @numba.njit(cache=True)
    def indirect(x):
        return helper(x) + 2.0

    @numba.njit(cache=True)
    def other(x):
        return x + 3.0
"""


@pytest.mark.slow
def test_a_users_cached_function_notices_edits_of_the_differentiated_one(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("model.py", "def loss(x):\n    return 2.0 * x\n")
    project.write("caller.py", CALLER)
    call = "import warnings; warnings.simplefilter('ignore'); import caller;"
    call += (
        "print(caller.direct(1.0), caller.indirect(1.0), caller.other(1.0), caller.other.stats.cache_hits)" + COMPILED
    )
    assert project.run(call).startswith("3.0 4.0 4.0 Counter()\ncompiled")
    again = project.run(call)
    assert again.startswith("3.0 4.0 4.0 Counter({") and again.endswith("cached")
    project.edit("model.py", "2.0 * x", "20.0 * x")
    assert project.run(call).startswith("21.0 22.0 4.0 Counter({")


@pytest.mark.slow
def test_without_the_jit_the_generated_python_runs(tmp_path: Path) -> None:
    project = Project(tmp_path)
    program = """
        import numpy as np, tapec, numba
        from tests.backend import test_dispatcher as t

        print(tapec.grad(t.total)(np.arange(3.0)), tapec.grad(t.square)(3.0), tapec.grad(t.square)(x=3.0, scale=2.0))
        print(tapec.grad(t.weighted)(3.0), tapec.grad(t.spread)(3.0, 2.0, 5), t.decorated(2.0))
        print(tapec.grad(t.product)([2.0, 5.0]), tapec.grad(t.square).__doc__.splitlines()[0])
        @numba.njit
        def caller(x):
            return tapec.grad(t.square)(x)
        print(caller(1.0), tapec.vjp(t.square, 3.0)[1](1.0), tapec.jvp(t.square, (3.0,), (1.0,)))
        print(tapec.value_and_grad(t.inverse)(0.0))
    """
    assert project.run(program, NUMBA_DISABLE_JIT="1").splitlines() == [
        "[0. 2. 4.] 6.0 12.0",
        "6.0 10.0 12.0",
        "[5.0, 2.0] The gradient of `square` with respect to `x`.",
        "2.0 (6.0,) (9.0, 6.0)",
        "(inf, -inf)",
    ]


def test_keyword_only_parameters_are_passed_by_name():
    def scaled(x, *, m, k=2.0):
        return x * k * m

    assert tapec.grad(scaled)(2.0, m=3.0) == 6.0
    assert tapec.grad(scaled, wrt="m")(2.0, m=3.0) == 4.0
    assert tapec.grad(scaled, wrt=("x", "k"))(2.0, m=3.0, k=5.0) == (15.0, 6.0)


def cube(x, y=2.0):
    return x**3 * y


def thrice(f):
    @functools.wraps(f)
    def wrapper(*args):
        return 3.0 * f(*args)

    return wrapper


@thrice
def wrapped(x):
    return x * x


def decorated_inside(x):
    @thrice
    def inner(y):
        return y * y

    @njit("f8(f8)", fastmath=True)
    def jitted(y):
        return y + 1.0

    return inner(x) * jitted(x)


@pytest.mark.slow
def test_a_derivative_of_a_derivative():
    second = tapec.grad(tapec.grad(cube))
    assert second(2.0) == 24.0
    assert second(2.0, y=3.0) == 36.0
    assert tapec.grad(second)(2.0) == 12.0
    assert tapec.value_and_grad(tapec.grad(cube, wrt="y"), wrt="x")(2.0) == (8.0, 12.0)
    assert tapec.vjp(tapec.grad(cube), 2.0, 2.0)[1](1.0) == (24.0, 12.0)
    assert cloudpickle.loads(cloudpickle.dumps(second))(2.0) == 24.0
    assert tapec.grad(tapec.grad(lambda *x: x[0] ** 2 * x[1]))(2.0, 3.0) == 6.0


def test_what_wraps_a_function_is_differentiated_with_it():
    # a decorator that names its result after the function does not stand for the function
    assert tapec.value_and_grad(wrapped)(2.0) == (12.0, 12.0)
    assert tapec.value_and_grad(lambda x: wrapped(x))(2.0) == (12.0, 12.0)


def test_decorators_of_inner_functions_apply():
    assert tapec.value_and_grad(decorated_inside)(2.0) == (36.0, 48.0)


def of_one_name(fields: str) -> Any:
    return collections.namedtuple("Shape", fields)


Circle, Square, Turned = of_one_name("a b"), of_one_name("a b"), of_one_name("b a")


def area(shape, factor=2.0):
    if isinstance(shape, Circle):
        return factor * shape.a * shape.a * shape.b
    return factor * shape.a * shape.b


@pytest.mark.slow
def test_classes_of_one_name_are_told_apart():
    derivative = tapec.grad(area)
    for cls, expected in ((Circle, (24.0, 8.0)), (Square, (6.0, 4.0)), (Turned, (6.0, 4.0))) * 2:
        shape = cls(2.0, 3.0)
        for found in (derivative(shape), derivative(shape=shape), derivative(factor=2.0, shape=shape)):
            assert type(found) is cls and found == expected


def area_of_both(pair, out):
    out[0] = area(pair[0]) + 10.0 * area(pair[1])
    return out[0]


def test_classes_of_one_name_in_other_tuples_are_told_apart():
    derivative = tapec.grad(area_of_both)
    circle, square, out = Circle(2.0, 3.0), Square(2.0, 3.0), np.zeros(1)
    for pair in ((circle, square), (square, circle), (circle, square)):
        first, second = derivative(pair, out)
        assert (type(first), type(second)) == (type(pair[0]), type(pair[1]))
        assert out[0] == area(pair[0]) + 10.0 * area(pair[1])


def scaled_sum(x, k=2.0, *rest):
    return (x * x).sum() * k + sum(rest)


@pytest.mark.parametrize(
    ("examples", "arguments"),
    sampled(
        [
            ((np.zeros(3),), (np.ones(4),)),
            ((np.zeros(3), 1.0), (np.ones(4), 3.0)),
            ((np.zeros(3), 1.0, 2.0, 3), (np.ones(4), 1.0, 2.0, 5)),
            (("f8[::1], f8",), (np.ones(4), 1.0)),
            ((numba.float64[::1], numba.float64), (np.ones(4), 1.0)),
            (((numba.float64[::1], numba.float64),), (np.ones(4), 1.0)),
        ],
        3,
    ),
    ids=["default", "positional", "rest", "text", "types", "signature"],
)
def test_compilation_ahead_of_the_first_call(examples, arguments) -> None:
    gradient = tapec.grad(scaled_sum, cache=False).uncompiled()
    gradient.compile(*examples)
    made = list(gradient.overloads)
    scale = arguments[1] if len(arguments) > 1 else 2.0
    np.testing.assert_array_equal(gradient(*arguments), 2.0 * scale * np.ones(4))
    assert list(gradient.overloads) == made


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: float


@pytest.mark.slow
def test_structures_and_what_is_known_are_compiled_ahead() -> None:
    def loss(layers, x, function):
        for layer in layers:
            x = function(x * layer.w) + layer.b
        return x.sum()

    def layers(count, extent):
        return [Layer(np.linspace(0.1, 0.9, extent), 0.5) for _ in range(count)]

    gradient = tapec.grad(loss)
    assert gradient.compile(layers(4, 3), np.zeros(3), np.tanh) is None
    before = staleness_of(gradient)
    found = gradient(layers(5, 2), np.ones(2), np.tanh)
    assert len(found) == 5 and isinstance(found[0], Layer)
    assert staleness_of(gradient) == before
    product = tapec.hvp(lambda x: (x**3).sum())
    product.compile(np.zeros(2), np.zeros(2))
    np.testing.assert_array_equal(product(np.ones(2), np.ones(2)), [6.0, 6.0])
    with pytest.raises(tapec.errors.UnsupportedType, match="is a set"):
        tapec.grad(scaled_sum).compile({1.0})


def staleness_of(gradient) -> int:
    """How many programs a derivative has, for all that it knows of its arguments."""
    return len(gradient.overloads) + sum(len(one.overloads) for one, _ in gradient._for_known.values())
