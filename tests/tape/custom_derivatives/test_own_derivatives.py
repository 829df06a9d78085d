"""`custom_jvp`, both modes of rules, and what rules may be made of; the oracle is the same function without a rule."""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
import pytest

import tapec
from tapec import custom_gradient, custom_jvp
from tapec.errors import GradientMismatch, NotDifferentiable, NoTranspose
from tests.tape import random_rules
from tests.typed import interpreted

pytestmark = pytest.mark.usefixtures("mostly_plainly")

X = np.array([0.3, -0.2, 1.1])
TABLE = np.array([1.0, 2.0, 4.0])


def agree(ruled: Any, plain: Any, *args: Any, wrt: Any = 0) -> None:
    """All derivatives of a function with rules are those of a plain one."""
    with interpreted():
        _same(ruled(*args), plain(*args))
        kinds = [tapec.jacfwd, tapec.jacrev]
        if np.ndim(plain(*args)) == 0:
            kinds += [tapec.grad, tapec.hessian]
        for kind in kinds:
            _same(kind(ruled, wrt)(*args), kind(plain, wrt)(*args))


def _same(found: Any, wanted: Any) -> None:
    for one, other in zip(_flat(found), _flat(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def _flat(tree: Any) -> list[Any]:
    return [leaf for one in tree for leaf in _flat(one)] if isinstance(tree, tuple | list) else [tree]


@custom_jvp
def squared(x):
    """The square."""

    def tangent(dx):
        return 2.0 * x * dx

    return x * x, tangent


@custom_jvp
def cubed(x):
    return x**3


@cubed.defjvp
def cubed_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return cubed(x), 3.0 * squared(x) * dx


@custom_gradient
def turned(x):
    def gradient(da, db):
        return da * np.cos(x) - db * np.sin(x)

    return (np.sin(x), np.cos(x)), gradient


def both(x):
    return np.sin(x), np.cos(x)


# one rule gives both modes


@pytest.mark.slow
def test_tangents_are_transposed():
    assert squared(3.0) == 9.0 and squared.__doc__ == "The square."
    agree(lambda x: np.sum(squared(x) * x), lambda x: np.sum(x**3), X)
    agree(lambda x: cubed(x) * x, lambda x: x**4, 0.7)
    with interpreted():
        assert tapec.grad(tapec.grad(tapec.grad(cubed)))(2.0) == pytest.approx(6.0)


@pytest.mark.compiled
def test_compiled_and_from_jitted_code():
    slope = tapec.grad(lambda x: np.sum(turned(x)[0] * turned(x)[1] * squared(x)))

    @numba.njit
    def twice(x):
        return 2.0 * slope(x)

    plain = tapec.grad(lambda x: np.sum(np.sin(x) * np.cos(x) * x * x))
    np.testing.assert_allclose(twice(X), 2.0 * plain(X), rtol=1e-13)


@pytest.mark.slow
def test_several_results():
    def in_a_loop(function):
        def loss(x):
            s = 0.0
            for i in range(x.shape[0]):
                a, b = function(x[i] + s)
                s += a * b
            return s

        return loss

    agree(in_a_loop(turned), in_a_loop(both), X)
    agree(lambda x: turned(x)[1] * x, lambda x: np.cos(x) * x, X)
    with interpreted():
        first, second = tapec.jacfwd(turned)(X)
        _same((first, second), (np.diag(np.cos(X)), np.diag(-np.sin(X))))

    @custom_gradient
    def named(x, n):
        def gradient(d):
            return d["twice"] * 2.0 + d["more"][0] * np.ones(x.shape), None

        return {"twice": 2.0 * x, "more": [np.sum(x), n + 1]}, gradient

    def loss(x):
        made = named(x, 2)
        return np.sum(made["twice"] * made["more"][0]) * made["more"][1]

    agree(loss, lambda x: np.sum(2.0 * x * np.sum(x)) * 3, X)


def test_tangents_of_a_rule_that_is_not_linear_are_given():
    @custom_gradient
    def clipped(x):
        return 3.0 * x, lambda dy: min(max(dy, -1.0), 1.0)

    assert clipped.defjvp(lambda primals, tangents: (0.0, 3.0 * tangents[0]))
    with interpreted():
        assert tapec.grad(clipped)(2.0) == 1.0 and tapec.jvp(clipped, (2.0,), (1.0,)) == (6.0, 3.0)


def test_what_is_not_linear():
    rules = (
        lambda x: (x, lambda dy: abs(dy)),
        lambda x: (x, lambda dy: dy * dy),
        lambda x: (x, lambda dy: 2.0 * dy if dy > 0.0 else dy),
        lambda x: (x, lambda dy: dy / (1.0 + dy)),
        # the derivative by the adjoint is zero, or less than all
        lambda x: (x, lambda dy: tapec.stop_gradient(dy) * 2.0 * x),
        lambda x: (x, lambda dy: dy + np.floor(dy)),
        lambda x: (x, lambda dy: x * (dy > 0.0)),
    )
    for rule in rules:
        with pytest.raises(NoTranspose, match="it is not linear"), interpreted():
            tapec.jvp(custom_gradient(rule), (1.0,), (1.0,))

    @custom_gradient
    def gathered(x):
        def gradient(dy):
            return dy[::-1].copy() * (dy[np.argmax(dy)] > 0.0)

        return x[::-1].copy(), gradient

    with pytest.raises(NoTranspose, match="it is not linear"), interpreted():
        tapec.jvp(gathered, (X,), (X,))


def test_what_rules_print_is_printed_in_their_own_mode(capsys):
    @custom_gradient
    def told(x):
        def gradient(dy):
            print("pulled", dy)
            return 2.0 * x * dy

        return x * x, gradient

    with interpreted():
        assert tapec.jvp(told, (3.0,), (1.0,)) == (9.0, 6.0) and tapec.grad(told)(3.0) == 6.0
    assert capsys.readouterr().out == "pulled 1.0\n"


@pytest.mark.slow
def test_linear_rules_of_every_kind():
    @custom_gradient
    def summed(x):
        y, s = np.empty(x.shape), 0.0
        for i in range(x.shape[0]):
            s += x[i]
            y[i] = s

        def gradient(dy):
            out, s = np.empty(dy.shape), 0.0
            for i in range(dy.shape[0] - 1, -1, -1):
                s += dy[i]
                out[i] = s
            return out

        return y, gradient

    @custom_gradient
    def solved(a, b):
        x = np.linalg.solve(a, b)

        def gradient(dy):
            w = np.linalg.solve(a.T, dy)
            return -np.outer(w, x), w

        return x, gradient

    agree(lambda x: np.sum(summed(x) ** 2 * x), lambda x: np.sum(np.cumsum(x) ** 2 * x), X)
    a = 3.0 * np.eye(3) + np.arange(9.0).reshape(3, 3) / 9.0
    agree(lambda a: np.sum(solved(a, X) ** 2), lambda a: np.sum(np.linalg.solve(a, X) ** 2), a)


@pytest.mark.slow
def test_in_place():
    """What a rule writes into is its own, and results and tangents share no memory."""

    @custom_jvp
    def changed(x):
        def tangent(dx):
            for i in range(dx.shape[0]):
                dx[i] *= 2.0 * x[i]
            return dx

        return x * x, tangent

    same = custom_jvp(lambda x: (x * 1.0, lambda dx: dx))

    def written(function):
        def loss(x):
            y = function(x)
            y[0] = 7.0
            return y * x

        return loss

    agree(written(changed), written(lambda x: x * x), X)
    agree(written(same), written(lambda x: x * 1.0), X)


# what a rule reads, and what it is given


def by_weight(weight, dy):
    return dy * weight


def rules_that_read():
    """`x * x` by rules that keep what they need in all kinds of ways."""

    def in_a_list(x):
        kept = [x, (2.0, {"x": x})]
        return x * x, lambda dy: dy * kept[1][0] * kept[1][1]["x"]

    def in_a_partial(x):
        return x * x, functools.partial(by_weight, 2.0 * x)

    def in_a_closure(x):
        def of(k):
            def inner(dy):
                return dy * k

            return inner

        return x * x, of(2.0 * x)

    def in_a_pullback(x):
        y, pull = tapec.vjp(lambda z: z * z, x)
        return y, lambda dy: pull(dy)[0]

    def in_a_derivative(x):
        slope = tapec.grad(lambda z: np.sum(z * z))
        return x * x, lambda dy: dy * slope(x)

    def by_itself(x):
        def gradient(dy):
            return 2.0 * dy * x + 0.0 * itself(x)

        return x * x, gradient

    itself = custom_gradient(by_itself)
    return [itself, *map(custom_gradient, (in_a_list, in_a_partial, in_a_closure, in_a_pullback, in_a_derivative))]


@pytest.mark.slow
@pytest.mark.parametrize("rule", rules_that_read(), ids=lambda rule: rule.__name__)
def test_what_a_rule_reads(rule):
    agree(lambda x: np.sum(rule(x) * x), lambda x: np.sum(x**3), X)


@pytest.mark.slow
def test_a_list_that_grew():
    @custom_gradient
    def total(x):
        kept = []
        for i in range(x.shape[0]):
            kept.append(2.0 * x[i])

        def gradient(dy):
            out = np.empty(x.shape)
            for i in range(x.shape[0]):
                out[i] = dy * kept[i]
            return out

        return np.sum(x * x), gradient

    agree(lambda x: total(x) * x[0], lambda x: np.sum(x * x) * x[0], X)


@pytest.mark.slow
def test_inside_another_function():
    def loss(x):
        @custom_gradient
        def sine(z):
            return np.sin(z), lambda dy: dy * np.cos(z) * np.ones(z.shape)

        @custom_jvp
        def minus_cosine(z):
            return -np.cos(z)

        @minus_cosine.defjvp
        def rule(primals, tangents):
            return 0.0, sine(primals[0]) * tangents[0]

        return np.sum(minus_cosine(x) * x)

    agree(loss, lambda x: np.sum(-np.cos(x) * x), X)


def test_arguments_by_name_defaults_and_options():
    @custom_gradient
    def scaled(x, k=2.0, *rest, how="square", power=2):
        if how == "square":
            return k * x * x, lambda dy: (2.0 * k * x * dy, x * x * dy, *(0.0 for _ in rest))
        return k * x**power, lambda dy: (k * power * x ** (power - 1) * dy, x**power * dy, *(0.0 for _ in rest))

    with interpreted():
        assert tapec.grad(lambda x: scaled(k=x, x=3.0))(0.3) == 9.0
        assert tapec.grad(lambda x: scaled(x=x))(3.0) == 12.0
        assert tapec.grad(lambda x: scaled(x, 2.0, x, 1.0))(3.0) == 12.0
        assert tapec.grad(lambda x: scaled(x, how="power", power=3))(2.0) == 24.0
        assert tapec.jvp(lambda x: scaled(x, x), (2.0,), (1.0,)) == (8.0, 12.0)

    short = custom_gradient(lambda x, k=2.0: (k * x * x, lambda dy: 2.0 * k * x * dy))
    with interpreted():
        assert tapec.grad(short)(3.0) == 12.0


def test_structures_as_arguments():
    @custom_gradient
    def product(pair):
        return pair[0] * pair[1], lambda dy: (dy * pair[1], dy * pair[0])

    @custom_gradient
    def of_a_dict(d):
        return d["a"] * d["b"], lambda dy: {"b": dy * d["a"], "a": dy * d["b"]}

    agree(lambda x: product((x, x * x)), lambda x: x**3, 0.7)
    agree(lambda x: product([x, x * x]), lambda x: x**3, 0.7)
    agree(lambda x: of_a_dict({"a": x, "b": x * x}), lambda x: x**3, 0.7)
    with interpreted():
        assert tapec.grad(of_a_dict)({"a": 2.0, "b": 3.0}) == {"a": 3.0, "b": 2.0}


def test_methods_and_integers():
    class Model:
        k = 3.0

        @custom_gradient
        def loss(self, x, n):
            return self.k * x**n, lambda dy: (None, self.k * n * x ** (n - 1) * dy, None)

    model = Model()
    power = custom_jvp(lambda x, n: (x**n, lambda dx, dn: dx * n * x ** (n - 1)))
    with interpreted():
        assert tapec.grad(model.loss)(2.0, 3) == tapec.grad(lambda x: model.loss(x, 3))(2.0) == 36.0
        assert tapec.grad(power)(2.0, 3) == tapec.jvp(power, (2.0, 3), (1.0, None))[1] == 12.0


def table_times(x):
    return x * TABLE


@pytest.mark.slow
def test_arrays_of_modules_in_functions_that_rules_call():
    ruled = custom_gradient(lambda x: (table_times(x), lambda dy: table_times(dy)))
    agree(lambda x: np.sum(ruled(x) ** 2), lambda x: np.sum((x * TABLE) ** 2), X)


def test_single_precision_and_complex_numbers():
    ruled = custom_gradient(lambda x: (x * x, lambda dy: 2.0 * x.astype(np.float64) * dy))
    x = X.astype(np.float32)
    with interpreted():
        assert tapec.grad(lambda x: np.sum(ruled(x)))(x).dtype == np.float32
        value, tangent = tapec.jvp(ruled, (x,), (x,))
        assert value.dtype == tangent.dtype == np.float32
    z = np.array([1.0 + 2.0j, 0.3 - 1.0j])
    by_adjoints = custom_gradient(lambda z: (z * z, lambda dy: dy * np.conj(2.0 * z)))
    by_tangents = custom_jvp(lambda z: (z * z, lambda dz: dz * 2.0 * z))
    with interpreted():
        wanted = tapec.grad(lambda z: np.sum(np.abs(z * z) ** 2))(z)
        for ruled in (by_adjoints, by_tangents):
            _same(tapec.grad(lambda z, f=ruled: np.sum(np.abs(f(z)) ** 2))(z), wanted)
            _same(tapec.jvp(lambda z, f=ruled: f(z) * z, (z,), (z,)), (z**3, 3.0 * z**3))


def test_shapes_are_checked_when_the_program_runs():
    wrong = custom_gradient(lambda x: (np.sum(x), lambda dy: dy * np.ones(7)))
    with pytest.raises(ValueError, match="returns an adjoint of another shape"), interpreted():
        tapec.grad(wrong)(X)


# tapes


@pytest.mark.slow
def test_in_tapes():
    v = tapec.Variable(X)
    with interpreted():
        with tapec.GradientTape() as outer:
            with tapec.GradientTape() as tape:
                a, b = turned(v)
                y = np.sum(a * b * cubed(v))
            first = tape.gradient(y, v)
            z = np.sum(first)
        second = outer.gradient(z, v)
        plain = lambda x: np.sum(np.sin(x) * np.cos(x) * x**3)  # noqa: E731
        _same((first, second), (tapec.grad(plain)(X), tapec.hessian(plain)(X).sum(axis=0)))


def test_variables():
    w, u = tapec.Variable(3.0), tapec.Variable(np.ones(2))

    @custom_gradient
    def weighted(x):
        def gradient(dy, variables=None):
            first, second = variables
            return dy * first * second[0], [dy * x * second[0], dy * x * first * np.array([1.0, 0.0])]

        return x * w * u[0], gradient

    @tapec.function
    def compiled(x):
        with tapec.GradientTape() as tape:
            y = weighted(2.0 * x)
        return tape.gradient(y, [w, u])

    with interpreted():
        with tapec.GradientTape(persistent=True) as tape:
            y = weighted(w)
        # by the argument as well as by what the function reads
        _same(tape.gradient(y, [w, u]), (6.0, np.array([9.0, 0.0])))
        _same(compiled(1.0), (2.0, np.array([6.0, 0.0])))


# checks


def test_check_grads_finds_wrong_rules():
    wrong = lambda x: (x * x, lambda d: 3.0 * x * d)  # noqa: E731
    right = lambda x: (x * x, lambda d: 2.0 * x * d)  # noqa: E731
    for decorator in (custom_gradient, custom_jvp):
        with interpreted():
            tapec.check_grads(decorator(right), (2.0,), order=2)
            with pytest.raises(GradientMismatch, match="central differences"):
                tapec.check_grads(decorator(wrong), (2.0,))
    unequal = custom_gradient(right)
    unequal.defjvp(lambda primals, tangents: (0.0, 3.0 * primals[0] * tangents[0]))
    with pytest.raises(GradientMismatch, match="reverse mode gives .* forward mode"), interpreted():
        tapec.check_grads(unequal, (2.0,))


def test_check_grads_of_one_mode():
    sums, back = tapec.opaque(np.cumsum), tapec.opaque(lambda dy: np.cumsum(dy[::-1])[::-1])
    adjoints = custom_gradient(lambda x: (sums(x), lambda dy: back(dy)))
    tangents = custom_jvp(lambda x: (sums(x), lambda dx: sums(dx)))
    with interpreted():
        tapec.check_grads(adjoints, (X,))
        tapec.check_grads(tangents, (X,))
        with pytest.raises(GradientMismatch, match="reverse mode gives .* central differences"):
            tapec.check_grads(custom_gradient(lambda x: (sums(x), lambda dy: sums(dy))), (X,))
        with pytest.raises(NoTranspose, match="jvp= of tapec.register"):
            tapec.jvp(adjoints, (X,), (X,))


def test_the_way_out_of_one_mode():
    """What the hint says."""
    sums, back = tapec.opaque(np.cumsum), tapec.opaque(lambda dy: np.cumsum(dy[::-1])[::-1])
    adjoints = custom_gradient(lambda x: (sums(x), lambda dy: back(dy)))
    adjoints.defjvp(lambda primals, tangents: (primals[0], sums(tangents[0])))
    with interpreted():
        _same((tapec.jacfwd(adjoints)(X), tapec.jacrev(adjoints)(X)), (np.tri(3), np.tri(3)))
        tapec.check_grads(adjoints, (X,))


def test_stop_gradient_of_what_is_read_is_a_way_out():
    def loss(x, stop):
        @custom_gradient
        def scaled(z):
            k = tapec.stop_gradient(x) if stop else x
            return z * k, lambda dy: dy * k

        return scaled(x)

    with interpreted():
        with pytest.raises(NotDifferentiable, match=r"or read `tapec.stop_gradient\(x\)`"):
            tapec.grad(lambda x: loss(x, False))(3.0)
        assert tapec.grad(lambda x: loss(x, True))(3.0) == 3.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_random_rules(seed):
    with interpreted():
        random_rules.check(seed)


