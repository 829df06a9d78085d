"""Loops over elements as statements over whole arrays."""

from __future__ import annotations

import re

import numba
import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.loops.array_statements import array_statements
from tests.optimise.reading import check, read, unchanged
from tests.oracles import interpreted
from tests.stages import execute


def shown(text: str) -> str:
    """The text of a function after the pass."""
    return printer.function(array_statements(read(text)), quote=False)


def test_an_elementwise_loop_is_a_statement():
    check(
        array_statements,
        before="""
        def f(a):
            n = a.shape[0]
            a_1 = np.empty(n)
            for i in range(n):
                t = a[i]
                s = np.exp(t)
                a_1[i] = s
            return a_1
        """,
        after="""
        def f(a):
            n = a.shape[0]
            s_1 = np.exp(a)
            a_1 = s_1
            return a_1
        """,
    )


def test_rows_and_columns_broadcast():
    check(
        array_statements,
        before="""
        def f(M, a, a_1):
            n = M.shape[0]
            n_1 = M.shape[1]
            for i in range(n):
                t = a[i]
                for j in range(n_1):
                    s = a_1[j]
                    r = t * s
                    M[i, j] += r
            return M
        """,
        after="""
        def f(M, a, a_1):
            n = M.shape[0]
            n_1 = M.shape[1]
            t_1 = a[:n]
            s_1 = a_1[:n_1]
            r_1 = t_1[:, None] * s_1
            M += r_1
            return M
        """,
    )


def test_sums_along_an_axis_and_of_everything():
    check(
        array_statements,
        before="""
        def f(M, a):
            n = M.shape[0]
            n_1 = M.shape[1]
            total = 0.0
            for i in range(n):
                for j in range(n_1):
                    t = M[i, j]
                    a[j] += t
                    s = total + t
                    total = s
            return total
        """,
        after="""
        def f(M, a):
            n = M.shape[0]
            n_1 = M.shape[1]
            a[:n_1] += np.sum(M, axis=0)
            total_1 = np.sum(M, axis=1)
            total = np.sum(M)
            return total
        """,
    )


def test_what_is_copied_before_it_is_stored():
    check(
        array_statements,
        before="""
        def f(a, a_1):
            n = a.shape[0]
            for i in range(n):
                t = a[i]
                a[i] = 0.0
                a_1[i] += t
            return a_1
        """,
        after="""
        def f(a, a_1):
            n = a.shape[0]
            t_1 = a.copy()
            a[:] = 0.0
            a_1[:n] += t_1
            return a_1
        """,
    )


def test_an_array_that_takes_a_value_and_is_changed_has_its_own():
    check(
        array_statements,
        before="""
        def f(a):
            n = a.shape[0]
            a_1 = np.zeros(n)
            for i in range(n):
                t = a[i]
                a_1[i] += t
            return a_1
        """,
        after="""
        def f(a):
            n = a.shape[0]
            a_1 = a.copy()
            return a_1
        """,
    )


def test_what_is_stored_in_between_is_no_addition():
    check(
        array_statements,
        before="""
        def f(a, a_1):
            n = a.shape[0]
            for i in range(n):
                t = a[i]
                a[i] = 0.0
                s = a_1[i]
                r = t + s
                a[i] = r
            return a
        """,
        after="""
        def f(a, a_1):
            n = a.shape[0]
            t_1 = a.copy()
            a[:] = 0.0
            s_1 = a_1[:n]
            r_1 = t_1 + s_1
            a[:] = r_1
            return a
        """,
    )


def test_the_users_loops_stay():
    unchanged(
        array_statements,
        """
        def f(a):
            n = a.shape[0]
            for i in range(n):
                t = a[i]
                s = t * t
                a[i] = s
            return a
        """,
        words="for i in range(n):",
    )


@pytest.mark.parametrize(
    "line",
    [
        "a[i - 1] = s",  # the next iteration reads it
        "k = n_k[i]",
        "c = s > 0.0\n        if c:\n            a[i] = s",
        "a_1[j] = s",
    ],
)
def test_what_is_no_whole_array_stays(line):
    text = f"""
def f(a, a_1, j, n_k):
    n = a.shape[0]
    for i in range(1, n):
        t = a[i]
        s = t * t
        {line}
    return a
"""
    if "n_k" in line:
        text = text.replace("k = n_k[i]", "a_1[i] = 1.0\n        r = a_1[j]\n        a[i] = r")
    unchanged(array_statements, text)


def test_no_array_is_larger_than_those_of_the_loops():
    check(
        array_statements,
        before="""
        def f(a, a_1):
            n = a.shape[0]
            n_1 = a_1.shape[0]
            total = 0.0
            for i in range(n):
                t = a[i]
                for j in range(n_1):
                    s = a_1[j]
                    r = t * s
                    q = total + r
                    total = q
            return total
        """,
        after="""
        def f(a, a_1):
            n = a.shape[0]
            n_1 = a_1.shape[0]
            total = 0.0
            for i in range(n):
                t = a[i]
                r_2 = t * a_1
                total += np.sum(r_2)
            return total
        """,
    )


def _layer(x, w, b):
    return (np.tanh(x @ w + b) ** 2).sum(axis=0).mean() / x.shape[0]


def _centred(x, w):
    c = x - x.mean(axis=0)
    return np.sum(np.where(c > 0.0, c * w, -c) / (1.0 + np.abs(c)).sum(axis=1)[:, None])


def _steps(u, k):
    for _ in range(3):
        u[1:-1] += k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u[0] = -u[1]
    return (u**2).sum()


def _weighted(x, y):
    w = x.sum(axis=1)
    total = np.sum(y[:3] * x)
    for j in range(2):
        total += np.sum((y[:3] - w[j]) ** 2)
    return total - 0.3 * w.sum()


def _scaled(x, y):
    z = x * y
    z[1:] *= y[:-1]
    z += x.T @ y if x.ndim == 2 else 0.5 * z[::-1]
    return np.sum(z * z)


_X = np.linspace(-1.0, 2.0, 12).reshape(4, 3)
CASES = [
    (_layer, (_X, np.linspace(0.1, 0.7, 6).reshape(3, 2), np.array([0.3, -0.2]))),
    (_centred, (_X, np.array([0.5, 2.0, -1.0]))),
    (_steps, (np.sin(np.arange(7.0)), 0.2)),
    (_weighted, (_X, np.array([0.5, 2.0, -1.0, 4.0]))),
    (_scaled, (np.arange(1.0, 6.0), np.cos(np.arange(5.0)))),
]


def _source(f, arguments):
    every = tuple(range(len(arguments)))
    return tapec.emit(f, wrt=every, signature=tuple(map(numba.typeof, arguments)), opt_level=1)


def _gradient(derivative, arguments):
    value, found = derivative(*(np.copy(one) if isinstance(one, np.ndarray) else one for one in arguments))
    return np.concatenate([np.ravel(one) for one in (value, *found)])


def _loaded(text, f):
    namespace = {}
    exec(text, namespace)
    return namespace[f"{f.__name__}_value_and_grad"]


@pytest.mark.parametrize(("f", "arguments"), CASES)
def test_files_give_what_loops_over_elements_give(f, arguments):
    derivative = tapec.value_and_grad(f, wrt=tuple(range(len(arguments))), opt_level=1)
    text = re.sub(r"@numba.njit.*\n", "", _source(f, arguments))
    found = _gradient(_loaded(text, f), arguments)
    np.testing.assert_allclose(found, _gradient(derivative, arguments), rtol=1e-13, atol=1e-14)


@pytest.mark.compiled
@pytest.mark.slow
def test_files_compile():
    for f, arguments in CASES[1:3]:
        derivative = tapec.value_and_grad(f, wrt=tuple(range(len(arguments))))
        found = _gradient(_loaded(_source(f, arguments), f), arguments)
        np.testing.assert_allclose(found, _gradient(derivative, arguments), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("f", "arguments"), CASES[:2])
def test_the_source_has_no_loops(f, arguments):
    text = _source(f, arguments).partition("_general(")[0]
    assert "\n    for " not in text


def test_what_runs_has_loops_over_elements():
    f, arguments = CASES[0]
    derivative = tapec.value_and_grad(f, opt_level=1)
    derivative(*arguments)
    assert "for i in range(" in derivative.source()


def test_what_is_put_on_a_list_before_it_is_filled_is_made_by_the_statement():
    found = shown(
        """
        def f(M):
            n = M.shape[0]
            n_1 = M.shape[1]
            K_stack = stack()
            K = np.empty((n, n_1))
            K_stack.append(K)
            for i in range(n):
                for j in range(n_1):
                    t = M[i, j]
                    s = np.exp(t)
                    K[i, j] = s
            return K
        """
    )
    assert found.splitlines()[4:] == ["    s_1 = np.exp(M)", "    K = s_1", "    K_stack.append(K)", "    return K"]


def test_an_array_that_has_been_taken_off_the_list_may_be_the_one_that_is_filled():
    found = shown(
        """
        def f(M):
            n = M.shape[0]
            n_1 = M.shape[1]
            K_stack = stack()
            K = np.empty((n, n_1))
            K_stack.append(K)
            L = K_stack.pop()
            for i in range(n):
                for j in range(n_1):
                    t = M[i, j]
                    s = np.exp(t)
                    K[i, j] = s
            return L
        """
    )
    assert "    K = np.empty((n, n_1))\n    K_stack.append(K)\n    L = K_stack.pop()\n" in found


def test_a_new_array_is_not_an_older_one_that_is_read():
    """What `L` stands for may be what the iteration before has made, but not what is being made."""
    found = shown(
        """
        def f(M, m):
            n = M.shape[0]
            n_1 = M.shape[1]
            L = M
            for k in range(m):
                K = np.empty((n, n_1))
                for i in range(n):
                    for j in range(n_1):
                        t = L[i, j]
                        s = np.exp(t)
                        K[i, j] = s
                L = K
            return L
        """
    )
    assert "copy" not in found
    assert "np.empty" not in found


def test_an_array_that_nobody_changes_is_not_copied():
    text = """
        def f(M, x):
            n = M.shape[0]
            n_1 = M.shape[1]
            K = np.exp(M)
            L = np.empty((n, n_1))
            for i in range(n):
                for j in range(n_1):
                    t = K[i, j]
                    L[i, j] = t
            P = np.dot(K, L)
            return P
        """
    assert "P = np.dot(K, t_1)" in shown(text)
    assert "L = t_1.copy()" in shown(text.replace("P = ", "L[0, 0] = x\n            P = "))


def test_a_row_of_a_buffer_is_stored_without_a_name_for_it():
    found = shown(
        """
        def f(B, a_1, i_1):
            n = B.shape[1]
            a = B[i_1]
            for i in range(n):
                t = a_1[i]
                a[i] = t
            return B
        """
    )
    assert found.splitlines()[2:] == ["    t_1 = a_1[:n]", "    B[i_1, :] = t_1", "    return B"]


def relaxed(start, rate, steps):
    y = start
    for _ in range(steps):
        y = y - rate * y
    return np.sum(y * y)


def test_an_argument_is_not_updated_in_place():
    text = tapec.emit(relaxed, (0, 1), "f8[::1], f8, i8")
    derivative = execute(text, "relaxed_value_and_grad")
    start = np.array([1.0, -2.0])
    value, (start_bar, rate_bar) = derivative(start, 0.5, 3)
    assert start.tolist() == [1.0, -2.0]
    assert value == pytest.approx(5 * 0.5**6)
    assert start_bar == pytest.approx(2 * start * 0.5**6)
    assert rate_bar == pytest.approx(-6 * 5 * 0.5**5)


def layered(x, w, c, v, b, steps):
    for _ in range(steps):
        x = np.tanh(x @ w + c) @ v + b
    return np.sum(x * x)


def test_the_guard_at_the_head_asks_for_what_products_in_loops_need():
    signature = "f8[:, ::1], f8[:, ::1], f8[::1], f8[:, ::1], f8[::1], i8"
    text = tapec.emit(layered, (1, 2, 3, 4), signature)
    first = text.partition("def layered_value_and_grad_general")[0]
    assert "w.shape[0] == x_cols" in first
    assert "v.shape[0] == w_cols" in first
    # two sweeps, each a loop over the steps
    assert first.count("for k in ") == 2
    assert "for i in" not in first
    derivative, general = (execute(text, f"layered_value_and_grad{which}") for which in ("", "_general"))
    rng = np.random.default_rng(5)
    x, w, c, v, b = (rng.normal(size=shape) for shape in ((5, 2), (2, 4), (4,), (4, 2), (2,)))
    found, wanted = derivative(x, w, c, v, b, 3), general(x, w, c, v, b, 3)
    assert found[0] == pytest.approx(wanted[0])
    for one, other in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    with pytest.raises(ValueError, match="shapes"):
        general(x, w.T.copy(), c, v, b, 3)


def test_what_a_view_showed_is_kept_where_its_array_is_changed():
    def f(x, a):
        a -= 0.3 * (x * np.exp(-(a[...] ** 2)))
        return np.sum(a)

    space = {}
    exec(tapec.emit(f, (0, 1), "f8, f8[::1]", opt_level=1), space)
    a = np.linspace(0.2, 1.0, 4)
    with interpreted():
        expected = tapec.grad(f, wrt=(0, 1))(0.7, a.copy())
    found = getattr(space["f_value_and_grad"], "py_func", space["f_value_and_grad"])(0.7, a.copy())[1]
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
