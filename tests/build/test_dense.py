"""The routines that stand in for BLAS and LAPACK, against NumPy."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess

import numpy as np
import pytest

from tapec.build.object_code import SUPPORT
from tapec.build.toolchain import toolchain

pytestmark = pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="no C compiler")

RTOL = {"d": 1e-11, "s": 2e-4}
DTYPES = {"d": np.float64, "s": np.float32}


@pytest.fixture(scope="module")
def dense(tmp_path_factory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("dense")
    for name in ("dense.c", "dense_kind.h", "linear.h", "native.h"):
        # names are hidden in products
        text = (SUPPORT / name).read_text().replace("visibility push(hidden)", "visibility push(default)")
        (folder / name).write_text(text)
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-DPREFIX=own", "-DOWN_ROUTINES=1", "-fPIC", "-shared"]
    command = [*toolchain().compiler, *flags, str(folder / "dense.c"), "-lm", "-o", str(folder / "dense.so")]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "dense.so"))


class Routines:
    """Routines of one type of numbers; arrays are passed by address, integers and characters by reference."""

    def __init__(self, library: ctypes.CDLL, kind: str) -> None:
        self.library, self.kind, self.dtype, self.rtol = library, kind, DTYPES[kind], RTOL[kind]

    def __call__(self, name: str, *arguments: object) -> None:
        getattr(self.library, f"own_{self.kind}{name}")(*map(self.reference, arguments))

    def reference(self, value: object) -> object:
        if isinstance(value, np.ndarray):
            return ctypes.c_void_p(value.ctypes.data)
        if isinstance(value, int):
            return ctypes.byref(ctypes.c_int32(value))
        if isinstance(value, float):
            return ctypes.byref(ctypes.c_double(value) if self.kind == "d" else ctypes.c_float(value))
        assert isinstance(value, str)
        return ctypes.c_char_p(value.encode())

    def array(self, values: object) -> np.ndarray:
        return np.array(values, self.dtype, order="F")

    def info(self) -> np.ndarray:
        return np.full(1, 77, np.int32)

    def room(self, name: str, *arguments: object) -> int:
        """How much working memory a routine asks for, given its arguments with a place for that."""
        wanted = np.zeros(1, self.dtype)
        self(name, *[wanted if one is None else one for one in arguments])
        return int(wanted[0])

    def same(self, found: np.ndarray, expected: np.ndarray) -> None:
        scale = max(float(np.max(np.abs(expected), initial=0.0)), 1.0)
        np.testing.assert_allclose(found, expected, rtol=self.rtol, atol=self.rtol * scale)


@pytest.fixture(params=["d", "s"])
def call(dense, request) -> Routines:
    return Routines(dense, request.param)


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 3, 4, 9])
def test_dot_and_norm(dense, n, rng):
    x, y = rng.normal(size=2 * n), rng.normal(size=n)
    for name in ("own_ddot", "own_dnrm2"):
        getattr(dense, name).restype = ctypes.c_double
    count, two, one = (ctypes.byref(ctypes.c_int32(k)) for k in (n, 2, 1))
    assert np.isclose(dense.own_ddot(count, x.ctypes, two, y.ctypes, one), x[::2] @ y)
    assert np.isclose(dense.own_dnrm2(count, x.ctypes, two), np.linalg.norm(x[::2]))
    huge = np.full(2, 1e300)
    assert np.isclose(dense.own_dnrm2(two, huge.ctypes, one), np.sqrt(2) * 1e300)


@pytest.mark.parametrize(("turned_a", "turned_b"), list(itertools.product([False, True], repeat=2)))
def test_products(call, turned_a, turned_b, rng):
    for m, n, k in [(1, 1, 1), (3, 2, 5), (7, 4, 9), (4, 6, 0)]:
        a, b = rng.normal(size=(m, k)), rng.normal(size=(k, n))
        left, right = call.array(a.T if turned_a else a), call.array(b.T if turned_b else b)
        out = call.array(np.full((m, n), np.nan))
        flags = "t" if turned_a else "n", "t" if turned_b else "n"
        call(
            "gemm", *flags, m, n, k, 1.0, left, max(left.shape[0], 1), right, max(right.shape[0], 1), 0.0, out, m, 1, 1
        )
        call.same(out, a @ b)
        if n == 1 or k == 0:
            continue
        vector, y = call.array(rng.normal(size=k)), call.array(np.full(m, np.nan))
        rows, columns = left.shape
        call("gemv", flags[0], rows, columns, 1.0, left, rows, vector, 1, 0.0, y, 1, 1)
        call.same(y, a @ vector)


@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_solve_and_inverse(call, n, rng):
    a, b = call.array(rng.normal(size=(n, n)) + 2 * np.eye(n)), call.array(rng.normal(size=(n, 3)))
    factors, x, pivots, info = a.copy("F"), b.copy("F"), np.zeros(n, np.int32), call.info()
    call("gesv", n, 3, factors, n, pivots, x, n, info)
    assert info[0] == 0
    call.same(a @ x, b)
    factors = a.copy("F")
    call("getrf", n, n, factors, n, pivots, info)
    room = call.room("getri", n, factors, n, pivots, None, -1, info)
    call("getri", n, factors, n, pivots, np.empty(room, call.dtype), room, info)
    assert info[0] == 0
    call.same(factors @ a, np.eye(n))


def test_a_singular_matrix_is_told(call):
    pivots, info = np.zeros(3, np.int32), call.info()
    call("getrf", 3, 3, call.array([[1, 2, 3], [2, 4, 6], [1, 1, 1]]), 3, pivots, info)
    assert info[0] == 3
    call("gesv", 3, 1, call.array(np.zeros((3, 3))), 3, pivots, call.array(np.ones(3)), 3, info)
    assert info[0] == 1
    call("potrf", "U", 2, call.array([[1, 2], [2, 1]]), 2, info, 1)
    assert info[0] == 2


@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_cholesky(call, n, rng):
    half, info = rng.normal(size=(n, n)), call.info()
    a = call.array(half @ half.T + n * np.eye(n))
    factor = a.copy("F")
    call("potrf", "U", n, factor, n, info, 1)
    assert info[0] == 0
    call.same(np.triu(factor), np.linalg.cholesky(a).T)


@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_eigenvectors(call, n, rng):
    half, info, integers = rng.normal(size=(n, n)), call.info(), np.zeros(1, np.int32)
    a = call.array(half + half.T)
    vectors, values = call.array(np.tril(a)), call.array(np.empty(n))
    asked = ("V", "L", n, vectors, n, values)
    room = call.room("syevd", *asked, None, -1, integers, -1, info, 1, 1)
    call("syevd", *asked, np.empty(room, call.dtype), room, integers, 1, info, 1, 1)
    assert info[0] == 0
    call.same(values, np.linalg.eigvalsh(a))
    call.same(a @ vectors, vectors * values)
    call.same(vectors.T @ vectors, np.eye(n))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (5, 3), (3, 5), (9, 9)])
def test_singular_values(call, m, n, rng):
    for rank in (min(m, n), 1):
        a = call.array(rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n)))
        p, info, integers = min(m, n), call.info(), np.zeros(8 * min(m, n), np.int32)
        s, u, vt = call.array(np.empty(p)), call.array(np.empty((m, p))), call.array(np.empty((p, n)))
        asked = ("S", m, n, a.copy("F"), m, s, u, m, vt, p)
        room = call.room("gesdd", *asked, None, -1, integers, info, 1)
        call("gesdd", *asked, np.empty(room, call.dtype), room, integers, info, 1)
        assert info[0] == 0
        call.same(s, np.linalg.svd(a, compute_uv=False))
        call.same(u * s @ vt, a)
        if rank == p:
            call.same(vt @ vt.T, np.eye(p))
