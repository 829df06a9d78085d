"""A BLAS and LAPACK for libraries under test: SciPy's, whose names have a prefix."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import scipy

from tapec.build.toolchain import toolchain

ROUTINES = "dot gemv gemm nrm2 getrf getri gesv potrf syevd gesdd"
SYMBOLS = [f"{kind}{name}_" for name in ROUTINES.split() for kind in "sd"]
OPENBLAS = sorted((Path(scipy.__file__).parent.parent / "scipy.libs").glob("libscipy_openblas-*.so"))


def load_blas(folder: Path) -> ctypes.CDLL:
    """Let libraries that are loaded from now on find BLAS and LAPACK under their own names."""
    jumps = "\n".join(f'__asm__(".globl {name}\\n{name}: jmp scipy_{name}@PLT");' for name in SYMBOLS)
    (folder / "blas.c").write_text(jumps)
    command = [*toolchain().compiler, "-shared", "-fPIC", str(folder / "blas.c"), "-o", str(folder / "libblas.so")]
    command += [str(OPENBLAS[-1]), f"-Wl,-rpath,{OPENBLAS[-1].parent}"]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(folder / "libblas.so"), mode=ctypes.RTLD_GLOBAL)
