"""Nests of loops that are products of matrices."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.contractions.loop_products import multiply_matrices
from tests.optimise.comparison import close, run
from tests.optimise.reading import check, read
from tests.oracles import check as check_derivative
from tests.oracles import interpreted
from tests.sampling import sampled

NEST = """
def f(A, B, C, a, c, n, n1, n2, s):
    for i in range({rows}):
        for j in range({middle}):
            {before}
            for k in range({inner}):
                {body}
            {after}
    {end}
    return s
"""
BODY = """x = A[i, j]
                y = B[j, k]
                z = x * y
                C[i, k] += z"""


def program(
    body: str = BODY,
    *,
    before: str = "n = n",
    after: str = "n = n",
    rows: str = "n",
    middle: str = "n1",
    inner: str = "n2",
    end: str = "n = n",
) -> str:
    text = NEST.format(body=body, before=before, after=after, rows=rows, middle=middle, inner=inner, end=end)
    return "\n".join(line for line in text.splitlines() if line.strip() != "n = n") + "\n"


def test_a_product_of_matrices():
    check(
        multiply_matrices,
        program(),
        """
        def f(A, B, C, a, c, n, n1, n2, s):
            t = n >= 8
            t_1 = n1 >= 8
            t_2 = n2 >= 8
            n_1 = n * n1
            n_2 = n_1 * n2
            n_3 = min(n, n1)
            n_4 = min(n_3, n2)
            n_5 = n_4 * 16777216
            t_3 = n_2 >= 16384
            t_4 = n_2 <= n_5
            t_5 = t and t_1
            t_6 = t_5 and t_2
            t_7 = t_6 and t_3
            t_8 = t_7 and t_4
            if t_8:
                a_1 = np.empty((n, n1))
                for i in range(n):
                    for j in range(n1):
                        x = A[i, j]
                        a_1[i, j] = x
                a_2 = np.empty((n1, n2))
                for j_2 in range(n1):
                    for k in range(n2):
                        y = B[j_2, k]
                        a_2[j_2, k] = y
                p = np.dot(a_1, a_2)
                for i_2 in range(n):
                    for k_2 in range(n2):
                        z = p[i_2, k_2]
                        C[i_2, k_2] += z
            else:
                for i_3 in range(n):
                    for j_3 in range(n1):
                        for k_3 in range(n2):
                            x_2 = A[i_3, j_3]
                            y_2 = B[j_3, k_3]
                            z_2 = x_2 * y_2
                            C[i_3, k_3] += z_2
            return s
        """,
        again=False,
    )


@pytest.mark.parametrize(
    "parts",
    [
        # the same loops tell both factors apart, or none of the loops is shared
        {"body": "x = A[i, j]\n                y = B[i, j]\n                z = x * y\n                C[i, k] += z"},
        {"body": "x = a[i]\n                y = B[j, k]\n                z = x * y\n                C[i, k] += z"},
        # the product is not added up, or something else is done with it
        {"body": BODY.replace("+=", "=")},
        {"body": BODY.replace("C[i, k]", "C[i, j]")},
        {"body": BODY.replace("C[i, k] += z", "z1 = z * z\n                C[i, k] += z1")},
        {"body": BODY.replace("C[i, k] += z", "z1 = z + x\n                C[i, k] += z1")},
        {"body": BODY, "end": "s = z"},
        # what is added to is read
        {"body": BODY.replace("C[i, k]", "A[i, k]")},
        {"body": BODY, "after": "s = C[i, 0]\n            a[j] += s"},
        # something else happens in the nest
        {"body": BODY, "before": "if c:\n                a[j] = s"},
        {"body": BODY, "before": "print(s)"},
        # loops that do not begin at zero, or in which it matters how often the third one runs
        {"body": BODY, "rows": "1, n"},
        {"body": BODY, "inner": "i"},
        {"body": BODY, "inner": "0, n2, 2"},
        {"body": BODY, "inner": "j, j + 4"},
    ],
)
def test_what_stays(parts):
    function = read(program(**parts))
    assert "p" not in multiply_matrices(function).types


TWO = {
    "before": "s1 = 0.0",
    "middle": "n2",
    "body": """x = A[i, j]
                x1 = A[i, k]
                y = B[j, k]
                z = x * y
                C[i, k] += z
                z1 = {other} * y
                s1_1 = s1 + z1
                s1 = s1_1""",
    "after": "C[i, j] += s1",
}


@pytest.mark.parametrize(
    ("products", "changes"),
    [
        (1, {}),
        (1, {"after": "s2 = -s1\n            C[i, j] += s2\n            C[i, j] += s1", "twice": "z2 = -z\n"}),
        # another sign, another matrix, something more; other first factors; other sizes
        (2, {"after": "s2 = -s1\n            C[i, j] += s2"}),
        (2, {"after": "a[j] += s1"}),
        (2, {"after": "C[i, j] += s1\n            C[i, j] += s1"}),
        (2, {"other": "w"}),
        (2, {"middle": "n1"}),
        (2, {"before": "s1 = 1.0"}),
    ],
)
def test_two_products_that_are_one(products: int, changes: dict[str, str]):
    parts = TWO | {key: changes[key] for key in TWO.keys() & changes.keys()}
    body = parts["body"].format(other="w" if "other" in changes else "x1")
    if "other" in changes:
        body = body.replace("x1 = A[i, k]", "w1 = A[i, k]\n                w = w1 * 3.0")
    if "twice" in changes:
        body = body.replace("C[i, k] += z", "z2 = -z\n                C[i, k] += z2\n                C[i, k] += z")
    text = program(**(parts | {"body": body}))
    changed = multiply_matrices(read(text))
    assert printer.function(changed).count("np.dot(") == products
    rng = np.random.default_rng(3)
    args = (*(rng.normal(size=(29, 29)) for _ in range(3)), rng.normal(size=29), True, 29, 29, 29, 0.5)
    assert close(run(read(text), args), run(changed, args), 1e-12)


def matmul(a, b):
    """The textbook's product, in a variable."""
    c = np.empty((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.5
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s * s
    total = c.sum()
    return total * total


def added(a, b):
    """The same with the contracted loop outside, and a factor."""
    c = np.zeros((a.shape[0], b.shape[1]))
    for k in range(a.shape[1]):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                c[i, j] -= 2.0 * np.sin(a[i, k]) * b[k, j]
    return (c * c).sum()


def lower(x, w):
    """A triangle, with its diagonal."""
    y = np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s = 0.0
            for k in range(j + 1):
                s += x[i, k] * w[j, k]
            y[i, j] = s * x[i, j]
    return (y.T @ y).sum()


def upper(x, w):
    """The covariance of what is above the diagonal, which does not count."""
    cov = np.zeros((x.shape[1], x.shape[1]))
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(j + 1, x.shape[1]):
                cov[j, k] += (x[i, j] - w[j, 0]) * (x[i, k] - w[k, 0])
    return (cov**3).sum()


def covariance(x, w):
    """What is below the diagonal: deviations are multiplied by themselves."""
    cov = np.zeros((x.shape[1], x.shape[1]))
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(j + 1):
                cov[j, k] += (x[i, j] - w[j, 0]) * (x[i, k] - w[k, 0])
    return (cov**3).sum()


PROGRAMS = (matmul, added, lower, upper, covariance)


def gradients(f, args):
    with interpreted(), np.errstate(all="ignore"):
        return [tapec.value_and_grad(f, (0, 1), opt_level=level)(*args) for level in (1, 2)]


@pytest.mark.parametrize("f", sampled(PROGRAMS, 2), ids=[f.__name__ for f in PROGRAMS])
@pytest.mark.parametrize(("rows", "columns"), sampled([(29, 25), (3, 2), (1, 1)], 3))
def test_derivatives_are_the_same(rng: np.random.Generator, f, rows: int, columns: int):
    args = rng.normal(size=(rows, columns)), rng.normal(size=(columns, columns))
    (value, one), (again, other) = gradients(f, args)
    assert value == pytest.approx(again, rel=1e-12)
    for mine, wanted in zip(other, one, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-10, atol=1e-7)


@pytest.mark.parametrize("f", sampled(PROGRAMS, 2), ids=[f.__name__ for f in PROGRAMS])
def test_every_gradient_has_products(f):
    source = tapec.emit(f, (0, 1), signature="f8[:, ::1], f8[:, ::1]", opt_level=2)
    assert "np.dot(" in source and ">= 16384" in source
    assert ">= 16384" not in tapec.emit(f, (0, 1), signature="f8[:, ::1], f8[:, ::1]", strict=True, opt_level=2)
    assert ">= 16384" not in tapec.emit(f, (0, 1), signature="f8[:, ::1], f8[:, ::1]", memory="1GB", opt_level=2)


@pytest.mark.slow
@pytest.mark.parametrize("f", (lower, upper), ids=["lower", "upper"])
@pytest.mark.parametrize("special", [np.inf, np.nan])
def test_a_triangle_has_nothing_to_do_with_what_is_outside(rng: np.random.Generator, f, special: float):
    x, w = rng.normal(size=(29, 25)), rng.normal(size=(25, 25))
    x[3, 24] = x[7, 11] = special
    (value, one), (again, other) = gradients(f, (x, w))
    assert str(value) == str(again)
    for mine, wanted in zip(other, one, strict=True):
        np.testing.assert_array_equal(np.isnan(mine), np.isnan(wanted))
        np.testing.assert_allclose(mine, wanted, rtol=1e-10, atol=1e-7)


def test_infinite_elements_of_whole_matrices(rng: np.random.Generator):
    a, b = rng.normal(size=(29, 25)), rng.normal(size=(25, 25))
    a[3, 4], b[5, 6], b[7, 8] = np.inf, -np.inf, np.nan
    (value, one), (again, other) = gradients(matmul, (a, b))
    assert str(value) == str(again)
    for mine, wanted in zip(other, one, strict=True):
        np.testing.assert_array_equal(np.isnan(mine), np.isnan(wanted))


@pytest.mark.slow
def test_a_layer_is_differentiated(rng: np.random.Generator):
    with interpreted():
        check_derivative(lower, (0.1 * rng.normal(size=(29, 25)), 0.1 * rng.normal(size=(25, 25))))
