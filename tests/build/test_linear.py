"""Linear algebra in C libraries, over the BLAS and LAPACK of the program that links them."""

from __future__ import annotations

import ctypes
import shutil
import sys

import numba
import numpy as np
import pytest

from tapec.backend.jit import load
from tapec.build.build_target import Output, Target, derive_function
from tapec.build.c_library import write_library
from tapec.build.extension import build_extension
from tapec.build.object_code import compile_native
from tapec.build.processor import processor
from tapec.options import chosen
from tests.build.blas import OPENBLAS, SYMBOLS, load_blas
from tests.build.calling import Entry
from tests.build.functions import dense
from tests.build.test_c_library import run
from tests.oracles import interpreted, leaves

pytestmark = pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="no C compiler")


def few(a, b):
    """A product and a system, of which single precision has routines of its own."""
    return np.dot(np.linalg.solve(a @ a, b), b)


@pytest.fixture(scope="module")
def blas(tmp_path_factory) -> None:
    load_blas(tmp_path_factory.mktemp("blas"))


@pytest.mark.slow
@pytest.mark.skipif(not OPENBLAS, reason="no BLAS beside SciPy")
@pytest.mark.parametrize(("dtype", "f", "wrt"), [("float64", dense, (0, 1)), ("float32", few, (1,))])
def test_linear_algebra(blas, tmp_path, dtype, f, wrt):
    array = numba.typeof(np.empty((2, 2), dtype))
    # routines are asked for at any level, and this one compiles in a third of the time
    target = Target("", wrt=wrt, name="dense_gradient", options=chosen({"opt_level": 1}))
    function = derive_function(target, f, (array, numba.typeof(np.empty(2, dtype))))
    native = compile_native("dense", [function], processor("baseline"))
    assert native.libraries == ("lapack", "blas", "m")
    write_library("dense", [function], native, tmp_path)
    listed = run("nm", "-D", tmp_path / "lib" / "libdense.so").splitlines()
    wanted = {line.split()[-1] for line in listed if " U " in line and "@" not in line}
    assert {"dgemm_" if dtype == "float64" else "sgemm_"} <= wanted <= set(SYMBOLS)
    assert "-llapack -lblas" in (tmp_path / "lib" / "pkgconfig" / "dense.pc").read_text()
    library = ctypes.CDLL(str(tmp_path / "lib" / "libdense.so"))
    rng = np.random.default_rng(3)
    a, b = (3.0 * np.eye(4) + 0.3 * rng.normal(size=(4, 4))).astype(dtype), rng.normal(size=4).astype(dtype)
    entry = Entry(library, native.interfaces[0], a, b)
    assert entry.call() == 0
    with interpreted():
        expected = load(function.program)(a, b)
    rtol = 1e-10 if dtype == "float64" else 2e-4
    for found, other in zip(leaves(entry.found()), leaves(expected), strict=True):
        np.testing.assert_allclose(found, other, rtol=rtol, atol=rtol)
    singular = Entry(library, native.interfaces[0], np.zeros((4, 4), dtype), b)
    library.dense_error.restype = ctypes.c_char_p
    assert library.dense_error(singular.call()) == b"LinAlgError: Matrix is singular to machine precision."


@pytest.mark.slow
def test_an_extension_needs_no_blas(tmp_path):
    (tmp_path / "model.py").write_text(
        "import numpy as np\n\n"
        "def f(a, b):\n    x = np.linalg.solve(a, b)\n    return x @ x + np.linalg.eigh(a @ a.T)[0][0]\n"
    )
    target = Target(f"{tmp_path / 'model.py'}:f", wrt=(0, 1), signature="f8[:, ::1], f8[::1]", name="f_gradient")
    build_extension(Output("extension", "model_gradient", (target,)), tmp_path)
    code = """
import numpy as np, model_gradient as m
a, b = np.array([[3.0, 1.0], [0.5, 2.0]]), np.array([1.0, -1.0])
value, (a_bar, b_bar) = m.f_gradient(a, b)
x = np.linalg.solve(a, b)
seed = np.linalg.solve(a.T, 2 * x)
w, v = np.linalg.eigh(a @ a.T)
assert np.isclose(value, x @ x + w[0]) and np.allclose(b_bar, seed)
assert np.allclose(a_bar, -np.outer(seed, x) + 2 * np.outer(v[:, 0], v[:, 0]) @ a)
try:
    m.f_gradient(np.zeros((2, 2)), b)
except np.linalg.LinAlgError as error:
    print(error)
"""
    assert run(sys.executable, "-c", code, cwd=tmp_path) == "Matrix is singular to machine precision.\n"
