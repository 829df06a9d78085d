"""Methods, partial functions and objects that are called, as functions to differentiate; objects as arguments."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
from dataclasses import dataclass
from unittest import mock

import numba
import numpy as np
import pytest

import tapec
from tapec.backend import staleness
from tapec.errors import TypeMismatch, UndefinedName, UnsupportedSyntax, UnsupportedType, UsageError

X = np.array([0.3, 0.5, -0.2])


@pytest.fixture(autouse=True)
def interpreted(request):
    with mock.patch.object(numba.config, "DISABLE_JIT", not request.node.name.startswith("test_compiled")):
        yield


class Base:
    power = 2.0

    def raised(self, x):
        return self.power * x


class Unit:
    def __init__(self, weight):
        self._weight = weight

    def __call__(self, x):
        return self._weight * x**3


class Model(Base):
    table = [1.0, 2.0]

    def __init__(self, w, activation=np.tanh, kind="twice"):
        self.w, self.activation, self.kind = w, activation, kind
        self.bias, self.count, self.none = 0.5, 3, None
        self.units = [Unit(1.0), Unit(-2.0)]
        self.options = {"rate": 1.5}
        self.generator = np.random.default_rng(0)
        self.itself = self

    @property
    def doubled(self):
        return 2 * self.w

    @staticmethod
    def squared(x):
        return x * x

    @classmethod
    def scaled(cls, x, by=1.0):
        return cls.power * x * by

    def raised(self, x):
        return super().raised(x) * x

    def unit(self, x, power=2):
        return self.activation(x) ** power + self.bias

    def loss(self, x, scale=1.0):
        s = 0.0
        for i in range(self.count):
            s += self.unit(x[i]) * self.doubled[i] + self.squared(x[i]) * self.scaled(1.0) + self.raised(x[i])
            s += self.table[1] * x[i]
        if self.kind == "twice":
            s = s * 2.0
        for unit in self.units:
            s += unit(x[0])
        if self.none is None:
            s += self.options["rate"] * x[1] * getattr(self, "missing", 2.0) * getattr(self, "bias")
        return s * scale

    def __call__(self, x):
        return self.loss(x) ** 2

    def each(self, x):
        return self.w * x * x

    @tapec.value_and_grad(wrt="x")
    def both(self, x):
        return self.loss(x)


def differences(f, x, step=1e-6):
    return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(x.size)])


def model(**options):
    return Model(np.array([1.0, 2.0, 3.0]), **options)


def test_a_method_meets_its_object_as_it_is_at_each_call():
    m = model()
    derivative = tapec.grad(m.loss)
    np.testing.assert_allclose(derivative(X), differences(m.loss, X), rtol=1e-8)
    m.w = np.array([3.0, -1.0, 0.5])
    np.testing.assert_allclose(derivative(X), differences(m.loss, X), rtol=1e-8)
    m.w[0], m.count, m.kind, m.bias = 7.0, 2, "once", 1.5
    np.testing.assert_allclose(derivative(X), differences(m.loss, X), rtol=1e-8)
    m.activation, m.units = (lambda x: x * x), [Unit(5.0)]
    np.testing.assert_allclose(derivative(X), differences(m.loss, X), rtol=1e-8)


@pytest.mark.slow
def test_compiled_methods():
    m = model()
    derivative = tapec.grad(m.loss)
    np.testing.assert_allclose(derivative(X), differences(m.loss, X), rtol=1e-8)
    m.w[0], m.kind = 7.0, "once"
    np.testing.assert_allclose(derivative(X), differences(m.loss, X), rtol=1e-8)
    np.testing.assert_allclose(m.both(X)[1], derivative(X))


def test_dicts_of_other_keys_are_other_arguments():
    def f(p):
        return 3.0 * p["a"] ** 2 + 5.0 * p["b"]

    derivative = tapec.grad(f)
    assert derivative({"a": 1.0, "b": 2.0}) == {"a": 6.0, "b": 5.0}
    assert derivative({"b": 2.0, "a": 1.0}) == {"b": 5.0, "a": 6.0}


@pytest.mark.slow
def test_every_transform_takes_methods():
    m = model()
    gradient = tapec.grad(m.loss)(X)
    assert tapec.jvp(m.loss, (X,), (np.ones(3),))[1] == pytest.approx(gradient.sum())
    _, pullback = tapec.vjp(m.each, X)
    (pulled,) = pullback(np.ones(3))
    np.testing.assert_allclose(pulled, 2 * m.w * X)
    np.testing.assert_allclose(tapec.jacobian(m.each)(X), np.diag(2 * m.w * X))
    hessian = tapec.hessian(m.loss)(X)
    np.testing.assert_allclose(tapec.hvp(m.loss)(X, scale=1.0, v=np.ones(3)), hessian.sum(axis=1))
    tapec.check_grads(m.loss, (X,), order=2)


def test_objects_that_are_called_and_methods_of_classes():
    m = model()
    np.testing.assert_allclose(tapec.grad(m)(X), differences(m, X), rtol=1e-7)
    assert tapec.grad(Model.scaled)(3.0) == tapec.grad(m.scaled)(3.0) == 2.0


def weighed(a, b, c=2.0, *, p=1.0):
    return a * b**2 * c * p


def test_partial_functions():
    assert tapec.grad(functools.partial(weighed, 3.0))(2.0) == 24.0
    assert tapec.grad(functools.partial(weighed, b=2.0), wrt="a")(1.0) == 8.0
    both = tapec.value_and_grad(functools.partial(weighed, 1.0, p=5.0), wrt=("b", "c"))
    assert both(2.0) == (40.0, (40.0, 20.0))
    assert tapec.hvp(functools.partial(weighed, 3.0, p=2.0))(2.0, 2.0, 1.0) == 24.0
    m = model()
    doubled = functools.partial(functools.partial(m.loss), scale=2.0)
    np.testing.assert_allclose(tapec.grad(doubled)(X), 2 * tapec.grad(m.loss)(X))


def test_the_signature_is_what_is_left():
    derivative = tapec.grad(model().loss)
    assert str(inspect.signature(derivative)) == "(x, scale=1.0)"
    np.testing.assert_allclose(derivative(x=X, scale=2.0), 2 * derivative(X))
    with pytest.raises(TypeError, match="misses its argument 'x'"):
        derivative()
    with pytest.raises(TypeError, match="1 arguments too many"):
        derivative(X, 1.0, 2.0)
    with pytest.raises(UsageError, match="has its argument already"):
        tapec.grad(functools.partial(weighed, 3.0), wrt="a")
    with pytest.raises(UsageError, match="has no parameter 7 that is free"):
        tapec.grad(functools.partial(weighed, 3.0), wrt=7)
    with pytest.raises(UsageError, match="is a method of an object"):
        tapec.emit(model().loss, opt_level=2)


def test_derivatives_of_methods_are_pickled():
    partial = tapec.grad(functools.partial(weighed, 3.0))
    assert pickle.loads(pickle.dumps(partial))(2.0) == 24.0
    assert copy.deepcopy(partial)(2.0) == 24.0


class Line:
    def __init__(self, slope, start):
        self.slope, self._start, self.name = slope, start, "line"

    def at(self, x):
        return np.sum(self.slope * x) + self._start

    def misuse(self, x):
        return self[0] * x[0]

    def unknown(self, x):
        return self.nothing * x[0]


@dataclass(frozen=True)
class Frozen:
    slope: np.ndarray
    kind: str

    def at(self, x):
        return np.sum(self.slope * x) if self.kind == "plain" else np.sum(self.slope**2 * x)


class Doubling:
    def __get__(self, owner, cls=None):
        return 2.0 * vars(owner)["rate"]

    def __set__(self, owner, value):
        vars(owner)["rate"] = value


class Guarded:
    rate = Doubling()

    def __init__(self, rate):
        self.rate = rate

    def scaled(self, x):
        return self.rate * x


class Found:
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return 1.0

    def scaled(self, x):
        return self.rate * x


def at(line, x):
    return line.at(x)


class Private:
    def __init__(self):
        self.__rate, self.stages = 2.0, [np.sin, np.cos]

    def scaled(self, x):
        return self.__rate * sum([stage(x) for stage in self.stages])


def test_private_attributes_and_functions_in_lists():
    assert tapec.grad(Private().scaled)(0.5) == pytest.approx(2 * (np.cos(0.5) - np.sin(0.5)))


def test_the_gradient_by_an_object_is_such_an_object():
    found = tapec.grad(at)(Line(np.ones(3), 2.0), X)
    assert isinstance(found, Line) and found.name == "line" and found._start == 1.0
    np.testing.assert_array_equal(found.slope, X)
    frozen = tapec.grad(at)(Frozen(np.full(3, 2.0), "squared"), X)
    assert isinstance(frozen, Frozen)
    np.testing.assert_allclose(frozen.slope, 4 * X)


def test_objects_are_asked_for_their_class_and_attributes():
    def asked(line, x):
        known = isinstance(line, Line) and not isinstance(line, Base) and type(line) is Line
        return x[0] if known and hasattr(line, "_start") and not hasattr(line, "end") else x[1]

    np.testing.assert_array_equal(tapec.grad(asked, wrt="x")(Line(1.0, 2.0), X), [1.0, 0.0, 0.0])


def test_what_an_object_cannot_do_is_refused():
    line = Line(np.ones(3), 2.0)
    with pytest.raises(TypeMismatch, match="an object of Line cannot be indexed"):
        tapec.grad(line.misuse)(X)
    with pytest.raises(UndefinedName, match="an object of Line has no attribute `nothing`"):
        tapec.grad(line.unknown)(X)

    with pytest.raises(UnsupportedSyntax, match="the attribute `rate` of Guarded is a descriptor, a Doubling"):
        tapec.grad(Guarded(2.0).scaled)(3.0)
    with pytest.raises(UnsupportedType, match="is a Found, which has no Numba type"):
        tapec.grad(Found().scaled)(3.0)

    def drawn(m, x):
        return m.generator.normal() * x[0]

    with pytest.raises(UnsupportedType, match="the attribute `generator` of an object .* is a Generator"):
        tapec.grad(drawn, wrt="x")(model(), X)


RATE = 2.0
TABLE = np.array([1.0, 2.0])
LISTED = [1.0]


def scaled(x):
    return RATE * x * x * TABLE[0] * LISTED[0]


def test_jvp_and_vjp_follow_what_the_module_holds(monkeypatch):
    def both():
        value, tangent = tapec.jvp(scaled, (1.0,), (1.0,))
        again, pullback = tapec.vjp(scaled, 1.0)
        assert value == again == scaled(1.0) and pullback(1.0) == (tangent,)
        return tangent

    assert both() == 4.0
    monkeypatch.setitem(globals(), "RATE", 3.0)
    assert both() == 6.0
    monkeypatch.setitem(globals(), "TABLE", np.array([5.0]))
    assert both() == 30.0
    TABLE[0] = 7.0
    assert both() == 42.0
    LISTED[0] = 0.5
    assert both() == 21.0


def test_jvp_follows_closures_and_objects():
    def outer():
        k = 1.0

        def inner(x):
            return k * x * UNIT.factor

        found = [tapec.jvp(inner, (1.0,), (1.0,))[1]]
        k = 5.0
        found.append(tapec.jvp(inner, (1.0,), (1.0,))[1])
        UNIT.factor = 3.0
        return [*found, tapec.jvp(inner, (1.0,), (1.0,))[1]]

    assert outer() == [2.0, 10.0, 15.0]


class Holder:
    factor = 2.0


UNIT = Holder()


def test_a_pullback_is_of_what_its_value_was(monkeypatch):
    monkeypatch.setitem(globals(), "RATE", 2.5)
    _, pulled = tapec.vjp(scaled, 1.0)
    _, late = tapec.vjp(lambda x: RATE * x, 1.0)
    before = pulled(1.0)
    monkeypatch.setitem(globals(), "RATE", 4.0)
    assert pulled(1.0) == before
    with pytest.raises(UsageError, match="is not what it was when `vjp` ran it"):
        late(1.0)


def gathers(x, *rest, k=2.0, **named):
    return x * k * len(rest) + sum(rest) * named.get("z", 1.0)


def test_arguments_are_gathered_as_python_does():
    assert tapec.value_and_grad(gathers)(3.0, 1.0, 2.0, k=5.0, z=7.0) == (51.0, 10.0)
    assert tapec.grad(gathers, (0, 1, 2))(3.0, 1.0, 2.0, k=5.0, z=7.0) == (10.0, 7.0, 7.0)
    assert tapec.grad(gathers, "k")(3.0, 1.0, 2.0) == 6.0
    assert tapec.vjp(gathers, 3.0, 4.0, 5.0)[1](1.0) == (4.0, 1.0, 1.0)
    assert tapec.grad(lambda x, **named: x * named["a"], "named")(3.0, a=2.0) == {"a": 3.0}
    assert str(inspect.signature(tapec.grad(gathers))) == "(x, *rest, k=2.0, **named)"
    with pytest.raises(tapec.errors.UsageError, match="has no parameter 1 that is free"):
        tapec.grad(lambda x, **named: x * named["a"], 1)
    with pytest.raises(tapec.errors.UsageError, match="has its argument already"):
        tapec.grad(functools.partial(gathers, k=3.0), "k")
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        tapec.grad(lambda x, *rest, k: x)(1.0, k=1.0, q=2.0)


def applied(x, function, dtype=np.float64):
    return function(x) + np.zeros(1, dtype)[0]


def test_functions_and_types_are_arguments():
    made = tapec.grad(applied)
    assert [made(3.0, lambda z: z * z) for _ in range(2)] == [6.0, 6.0]
    assert [made(3.0, lambda z, k=k: z * k) for k in (2.0, 5.0, 2.0)] == [2.0, 5.0, 2.0]
    assert made(0.5, np.sin, np.float32) == np.cos(0.5)
    assert made(3.0, functools.partial(pow, 2.0)) == pytest.approx(np.log(2.0) * 8.0)
    assert tapec.jvp(applied, (3.0, np.square), (1.0, None)) == (9.0, 6.0)
    assert tapec.vjp(applied, 3.0, np.square)[1](1.0) == (6.0, None)
    assert tapec.hessian(applied)(2.0, lambda z: z**3) == 12.0


def test_a_function_that_is_an_argument_is_as_it_is_at_each_call():
    table = np.array([2.0])
    made = tapec.grad(applied)

    def scaled(x):
        return x * table[0]

    assert made(3.0, scaled) == 2.0
    table[0] = 5.0
    assert made(3.0, scaled) == 5.0


def product(d):
    return d["a"] * d["b"] ** 2


def test_results_and_cotangents_have_the_callers_types():
    point = {"a": 2.0, "b": 3.0}
    value, pull = tapec.vjp(tapec.grad(product), point)
    assert value == {"a": 9.0, "b": 12.0}
    assert pull({"b": 0.0, "a": 1.0}) == ({"a": 0.0, "b": 6.0},)
    assert tapec.jvp(product, (point,), ({"b": 0.0, "a": 1.0},)) == (18.0, 9.0)
    assert tapec.hvp(product)(point, {"b": 1.0, "a": 0.0}) == {"a": 6.0, "b": 4.0}
    assert tapec.vjp(lambda l: l, [1.0, 2.0])[0] == (1.0, 2.0)
    for wrong in ({"a": 1.0, "c": 1.0}, {"a": 1.0}):
        with pytest.raises(tapec.errors.UsageError, match="has the keys"):
            pull(wrong)


def test_one_derivative_for_one_function():
    made = lambda: (lambda x: x * x)  # noqa: E731
    assert tapec.grad(made()) is tapec.grad(made())
    assert tapec.grad(made()) is not tapec.grad(made(), opt_level=1)
    numbers = [tapec.grad(lambda x, k=k: x * k)(1.0) for k in (2.0, 3.0, 2.0)]
    assert numbers == [2.0, 3.0, 2.0]

    def holding(values):
        return lambda x: (x * values).sum()

    # nothing is made anew, or kept, by transforms of a lambda that is made anew
    kept = len(staleness._made)
    for _ in range(3):
        assert tapec.jvp(made(), (2.0,), (1.0,)) == (4.0, 4.0)
        assert tapec.vjp(made(), 2.0)[1](1.0) == (4.0,)
    assert len(staleness._made) <= kept + 2

    # nothing keeps the array alive
    assert tapec.grad(holding(X)) is not tapec.grad(holding(X))

    def itself(x, n):
        return x if n == 0 else x * itself(x, n - 1)

    assert tapec.grad(itself)(2.0, 2) == 12.0


def counted(k):
    def f(x):
        return x * k

    def bind(value):
        nonlocal k
        k = value

    return f, bind


def test_a_function_whose_variable_is_bound_anew_stands_for_no_other_one():
    for ask in (lambda f: tapec.grad(f)(1.0), lambda f: tapec.grad(lambda x, g: g(x))(1.0, f)):
        first, bind = counted(2.0)
        assert ask(first) == 2.0
        bind(5.0)
        assert ask(counted(2.0)[0]) == 2.0
        assert ask(first) == 5.0
    # compiled at a later call than it was made
    first, bind = counted(2.0)
    second = tapec.grad(counted(2.0)[0])
    assert tapec.grad(first)(1.0) == 2.0
    bind(5.0)
    assert second(1.0) == 2.0


def scaled_by(x, *rest):
    return rest[0](x) * rest[1]


@pytest.mark.parametrize("function", [np.sin, lambda z: np.sin(z)])
def test_functions_among_extra_arguments(function):
    assert tapec.value_and_grad(scaled_by)(1.0, function, 3.0) == pytest.approx((3.0 * np.sin(1.0), 3.0 * np.cos(1.0)))
    assert tapec.grad(scaled_by, wrt=(0, 2))(1.0, function, 3.0) == pytest.approx((3.0 * np.cos(1.0), np.sin(1.0)))
    assert tapec.hessian(scaled_by)(1.0, function, 3.0) == pytest.approx(-3.0 * np.sin(1.0))
    assert tapec.jacobian(scaled_by, wrt=2)(1.0, function, 3.0) == pytest.approx(np.sin(1.0))


def test_an_argument_that_a_method_is_given_twice():
    class Scaled:
        k = 2.0

        def by(self, x, y=1.0):
            return self.k * x * y

    gradient = tapec.grad(Scaled().by)
    assert gradient(3.0, y=2.0) == gradient(y=2.0, x=3.0) == 4.0
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        gradient(1.0, x=2.0)
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        tapec.grad(functools.partial(Scaled().by, x=2.0))(1.0)


def test_what_is_read_before_it_is_set_says_where():
    def unset(x):
        if x > 0.0:
            y = x
        return y * 2.0

    gradient = tapec.grad(unset)
    assert gradient(1.0) == 2.0
    with pytest.raises(UnboundLocalError, match=r"before it is set: `return y \* 2.0` in .*unset, test_bound.py"):
        gradient(-1.0)


def kept(x, *rest):
    total = x * x
    for one in rest:
        total = total * one + x**3
    return total


def named_alone(x, *, k):
    return k * x**3


def with_default(x, y=2.0):
    return x**3 * y


def with_both(x, *rest, k=1.0, **more):
    return k * x**3 * len(rest) * len(more)


class Cubes:
    def __init__(self, k):
        self.k = k

    def cubes(self, x, *rest):
        return self.k * x**3 * len(rest)


# twice by x: the vector is the last argument by position
@pytest.mark.parametrize(
    ("f", "args", "named", "wanted"),
    [
        (kept, (2.0, 3.0, 4.0), {}, 84.0),
        (kept, (2.0,), {}, 2.0),
        (named_alone, (2.0,), {"k": 3.0}, 36.0),
        (with_default, (2.0,), {}, 24.0),
        (with_default, (2.0, 3.0), {}, 36.0),
        (with_default, (2.0,), {"y": 3.0}, 36.0),
        (with_both, (2.0, 1.0, 1.0), {"k": 3.0, "other": 1.0}, 72.0),
        (Cubes(2.0).cubes, (2.0, 3.0, 3.0), {}, 48.0),
        (functools.partial(with_default, y=3.0), (2.0,), {}, 36.0),
    ],
)
def test_hessian_vector_products_take_arguments_in_every_way(f, args, named, wanted):
    for made in (tapec.hvp(f), pickle.loads(pickle.dumps(tapec.hvp(f)))):
        assert np.isclose(made(*args, 1.0, **named), wanted)
        assert np.isclose(made(*args, 2.0, **named), 2.0 * wanted)


def test_a_hessian_vector_product_that_lacks_its_vector():
    for f in (kept, with_default, Cubes(2.0).cubes):
        with pytest.raises(TypeError, match="misses its vector"):
            tapec.hvp(f)()
    made = tapec.hvp(kept)
    made(2.0, 1.0)
    assert "kept_hvp" in made.source() and repr(made) == "<tapec hvp of kept with respect to x>"


def inner_product(x):
    return tapec.hvp(with_default)(x, 1.0) + tapec.hvp(kept)(x, 3.0, 1.0)


def test_a_vector_that_is_known_inside_differentiated_code():
    # the second derivatives are 12 x, and 6 + 6 x
    assert np.isclose(tapec.grad(inner_product)(2.0), 12.0 + 6.0)


def test_compiled_products_are_called_from_jitted_code():
    product = tapec.hvp(with_default)

    @numba.njit
    def caller(x):
        return product(x, 2.0, 1.0)

    assert caller(2.0) == 24.0


def squared_once(v):
    return v * v


def of_a_dict(x, p):
    return p["act"](x) * p["s"]


def of_a_tuple(x, p):
    return p[0](x) * p[1]


def of_names(x, **p):
    return p["act"](x) * p["s"]


def of_a_nest(x, p):
    return p["a"][0](x) * p["a"][1]["s"]


def chained(x, functions):
    for one in functions:
        x = one(x)
    return x


def test_functions_inside_arguments():
    d = {"act": squared_once, "s": 2.0}
    assert tapec.grad(of_a_dict)(3.0, d) == 12.0
    assert tapec.grad(of_a_dict)(3.0, {"act": np.exp, "s": 2.0}) == 2.0 * np.exp(3.0)
    assert tapec.grad(of_a_dict)(3.0, {"act": lambda z: z**3, "s": 2.0}) == 54.0
    assert tapec.grad(of_a_tuple)(3.0, (squared_once, 2.0)) == 12.0
    assert tapec.grad(of_a_tuple)(3.0, (functools.partial(np.power, 2.0), 2.0)) == 16.0 * np.log(2.0)
    assert tapec.grad(of_names)(3.0, act=squared_once, s=2.0) == 12.0
    assert tapec.grad(of_a_nest)(3.0, {"a": [squared_once, {"s": 2.0}]}) == 12.0
    assert np.isclose(tapec.grad(chained)(3.0, [squared_once, np.sin]), 6.0 * np.cos(9.0))
    assert tapec.hessian(of_a_dict)(3.0, d) == tapec.hvp(of_a_dict)(3.0, d, 1.0) == 4.0


def test_none_stands_where_there_is_a_function_in_what_is_differentiated():
    d = {"act": squared_once, "s": 2.0}
    assert tapec.grad(of_a_dict, 1)(3.0, d) == {"act": None, "s": 9.0}
    assert tapec.vjp(of_a_dict, 3.0, d)[1](1.0) == (12.0, {"act": None, "s": 9.0})
    assert tapec.vjp(tapec.grad(of_a_dict), 3.0, d)[1](1.0) == (4.0, {"act": None, "s": 6.0})
    assert tapec.jvp(of_a_dict, (3.0, d), (1.0, {"act": None, "s": 1.0})) == (18.0, 21.0)
    assert tapec.jacobian(of_a_dict, (0, 1))(3.0, d) == (12.0, {"act": None, "s": 9.0})
    by_x, by_d = tapec.hessian(of_a_dict, (0, 1))(3.0, d)
    assert by_x == (4.0, {"act": None, "s": 6.0}) and by_d == {"act": None, "s": (6.0, {"act": None, "s": 0.0})}
    assert tapec.grad(lambda x, p: x * p[0] if p[1] is None else x, 1)(3.0, (2.0, None)) == (3.0, None)
    assert tapec.grad(lambda x: tapec.grad(of_a_dict, 1)(x, {"act": squared_once, "s": 2.0})["s"])(3.0) == 6.0
    with pytest.raises(UsageError, match="None where a number has to be"):
        tapec.jvp(of_a_dict, (3.0, d), (1.0, {"act": None, "s": None}))


def by_position_alone(x, /, **named):
    return x * named["x"]


def test_a_name_that_is_given_by_position_alone_is_free():
    assert tapec.grad(by_position_alone)(2.0, x=5.0) == 5.0
    with pytest.raises(TypeMismatch, match="`weighted` has no parameter `x` to give by name"):
        tapec.grad(calls_by_name)(2.0)


def weighted(x, /, k):
    return x * k


def calls_by_name(x):
    return weighted(x=x, k=2.0)
