"""Linear algebra in C libraries, over the BLAS and LAPACK of the program that links them."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import numba
import numpy as np
import pytest
import scipy

from tapec.backend.jit import load
from tapec.build.library import write_library
from tapec.build.native import compile_native
from tapec.build.processor import processor
from tapec.build.target import Target, derive_function
from tapec.build.toolchain import toolchain
from tests.build.calling import Entry
from tests.build.functions import dense
from tests.build.test_library import run

ROUTINES = "dot gemv gemm nrm2 getrf getri gesv potrf syevd gesdd"
SYMBOLS = [f"{kind}{name}_" for name in ROUTINES.split() for kind in "sd"]
OPENBLAS = sorted((Path(scipy.__file__).parent.parent / "scipy.libs").glob("libscipy_openblas-*.so"))

pytestmark = pytest.mark.skipif(
    not OPENBLAS or not (shutil.which("cc") or shutil.which("gcc")), reason="no C compiler, or no BLAS beside SciPy"
)


@pytest.fixture(scope="module")
def blas(tmp_path_factory) -> ctypes.CDLL:
    """BLAS and LAPACK under their own names: those of SciPy's library, which have a prefix."""
    folder = tmp_path_factory.mktemp("blas")
    jumps = "\n".join(f'__asm__(".globl {name}\\n{name}: jmp scipy_{name}@PLT");' for name in SYMBOLS)
    (folder / "blas.c").write_text(jumps)
    libraries = [OPENBLAS[-1], f"-Wl,-rpath,{OPENBLAS[-1].parent}"]
    run(*toolchain().compiler, "-shared", "-fPIC", folder / "blas.c", "-o", folder / "libblas.so", *libraries)
    return ctypes.CDLL(str(folder / "libblas.so"), mode=ctypes.RTLD_GLOBAL)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_linear_algebra(blas, tmp_path, dtype):
    array = numba.typeof(np.empty((2, 2), dtype))
    function = derive_function(
        Target("", wrt=(0, 1), name="dense_gradient"), dense, (array, numba.typeof(np.empty(2, dtype)))
    )
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
    value, gradients = entry.found()
    expected, wanted_gradients = load(function.program)(a, b)
    rtol = 1e-10 if dtype == "float64" else 2e-4
    np.testing.assert_allclose(value, expected, rtol=rtol)
    for found, other in zip(gradients, wanted_gradients, strict=True):
        np.testing.assert_allclose(found, other, rtol=rtol, atol=rtol)
    singular = Entry(library, native.interfaces[0], np.zeros((4, 4), dtype), b)
    library.dense_error.restype = ctypes.c_char_p
    assert library.dense_error(singular.call()) == b"LinAlgError: Matrix is singular to machine precision."
