"""Arrays that NumPy may keep in columns: stores into a `ravel()` of them are NumPy's, or are refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedSyntax
from tests.oracles import interpreted
from tools.fuzz.examination import load

M = np.linspace(0.3, 1.4, 6).reshape(2, 3)
IN_COLUMNS = (
    "m.T * 1.0",
    "-m.T",
    "np.sin(m.T)",
    "(m.T * 1.0) * 2.0",
    "np.where(m.T > 0.5, m.T, 1.0)",
    "np.array(m.T)",
    'np.array(m, order="F")',
    "m.T.astype(float)",
    "np.astype(m.T, np.float64)",
    "np.swapaxes(m, 0, 1) * 1.0",
    "np.full_like(m.T, 2.0) * m[0, 0]",
    "m[:, [0, 1]]",
    "np.linalg.inv(m.T @ m + np.eye(3)).T * 1.0",
    "np.kron(m.T, np.eye(1))",
    # in rows by NumPy, in columns here
    "np.gradient(m, axis=0)",
)
IN_ROWS = ("m * 2.0", "np.sin(m)", "m.T.copy()", "np.copy(m) * 1.0", "m.T @ m", "np.ones((3, 2)) * m[0, 0]")
VIEWS = ("z.ravel()", "z.reshape(-1)", 'np.asarray(z, order="C").reshape(-1)', "np.ascontiguousarray(z)[0]")
STORE = "    g[1] = 5.0 * m[0, 0]\n"


def function(folder, body):
    return load(f"import numpy as np\n\n\ndef f(m):\n{body}", folder).f


def program(folder, made, view, store=STORE):
    return function(folder, f"    z = {made}\n    g = {view}\n{store}    return np.sum(z * z) + np.sum(g)\n")


def value(f):
    with interpreted():
        return tapec.value_and_grad(f)(M.copy())[0]


@pytest.mark.parametrize(("made", "view"), list(product(IN_COLUMNS, VIEWS)))
def test_a_store_is_refused_or_numpys(made, view, tmp_path):
    f = program(tmp_path, made, view)
    try:
        got = value(f)
    except (UnsupportedSyntax, ValueError):
        return
    assert got == pytest.approx(f(M.copy()))


@pytest.mark.parametrize(("made", "view"), list(product(IN_COLUMNS, VIEWS)))
def test_what_nobody_writes_is_taken(made, view, tmp_path):
    f = program(tmp_path, made, view, "")
    assert value(f) == pytest.approx(f(M.copy()))


@pytest.mark.parametrize(("made", "view"), list(product(IN_ROWS, VIEWS)))
def test_stores_into_views_of_rows_are_taken(made, view, tmp_path):
    f = program(tmp_path, made, view)
    assert value(f) == pytest.approx(f(M.copy()))


@pytest.mark.parametrize("view", VIEWS)
def test_the_array_may_be_written_where_the_view_is_not_read_again(view, tmp_path):
    body = f"    z = m.T * 1.0\n    s = np.sum({view} ** 2)\n    z[0, 0] = m[1, 1]\n    return s + z.sum()\n"
    f = function(tmp_path, body)
    assert value(f) == pytest.approx(f(M.copy()))


@pytest.mark.parametrize("chain", ["z.ravel().reshape(3, 2).ravel()", "np.ascontiguousarray(z.reshape(2, 3)).ravel()"])
def test_a_copy_of_a_copy_is_one_of_the_first(chain, tmp_path):
    test_a_store_is_refused_or_numpys("m.T * 1.0", chain, tmp_path)
    test_what_nobody_writes_is_taken("m.T * 1.0", chain, tmp_path)
    with pytest.raises(UnsupportedSyntax, match="ravel|reshape|ascontiguousarray"):
        value(program(tmp_path, "m.T * 1.0", chain))


GAPS = (
    "(m.T * 1.0)[0]",
    "np.array([m[0], m[1]]).T.reshape(3, 2)[0]",
    "(m + 1j * m).real",
    "(m[0] + 2j * m[1]).imag",
    "np.real(m[0] * (1.0 + 2.0j))",
)


@pytest.mark.parametrize(("made", "view"), list(product(GAPS, ("z.ravel()", "np.ascontiguousarray(z).reshape(-1)"))))
def test_rows_of_columns_and_parts_of_complex_arrays_have_gaps(made, view, tmp_path):
    test_what_nobody_writes_is_taken(made, view, tmp_path)
    with pytest.raises(UnsupportedSyntax, match="ravel|ascontiguousarray|reshape"):
        value(program(tmp_path, made, view))


def test_a_reshape_of_a_part_of_a_complex_array_is_a_view(tmp_path):
    f = program(tmp_path, "(m + 1j * m).imag", "z.reshape(-1)")
    assert value(f) == pytest.approx(f(M.copy()))


def shared_columns(a):
    b = np.asfortranarray(a.T)
    b[0, 1] = 3.0
    return np.sum(a * a)


def own_columns(a):
    b = np.asfortranarray(a)
    b[0, 1] = 3.0 * a[1, 0]
    return np.sum(a * a) + np.sum(b)


@pytest.mark.parametrize("f", [shared_columns, own_columns])
def test_asfortranarray_shares_what_is_in_columns(f):
    with interpreted():
        value, gradient = tapec.value_and_grad(f)(np.arange(6.0).reshape(2, 3))
    assert value == f(np.arange(6.0).reshape(2, 3))
    step = 1e-6 * np.eye(6).reshape(6, 2, 3)
    by = [(f(np.arange(6.0).reshape(2, 3) + e) - f(np.arange(6.0).reshape(2, 3) - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(gradient.ravel(), by, rtol=1e-6, atol=1e-6)


def handed_on(m, n):
    z = np.ones((3, 2)) * m[0, 1]
    total = 0.0
    for _ in range(n):
        g = z.ravel()
        g[1] = 5.0 * m[0, 0]
        total += np.sum(z * z) + np.sum(g)
        z = m.T * 1.0
    return total


def read_before(m, n):
    z = np.ones((3, 2)) * m[0, 1]
    total = 0.0
    for _ in range(n):
        total += np.sum(z.ravel() * z.ravel())
        z = m.T * 1.0
    return total


def test_what_an_iteration_hands_on_may_be_in_columns():
    m = np.linspace(0.3, 1.4, 6).reshape(2, 3)
    with interpreted():
        with pytest.raises(UnsupportedSyntax, match="ravel"):
            tapec.grad(handed_on)(m, 2)
        np.testing.assert_allclose(tapec.value_and_grad(read_before)(m, 3)[0], read_before(m, 3), rtol=1e-12)
