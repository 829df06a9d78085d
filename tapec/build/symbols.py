"""The symbols that compiled functions may want from others, and what each means for a library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tapec.build.llvm_text import Item

# defined by support/memory.c
MEMORY = frozenset(
    {
        "NRT_Allocate", "NRT_Free", "NRT_MemInfo_alloc", "NRT_MemInfo_alloc_aligned", "NRT_MemInfo_alloc_dtor",
        "NRT_MemInfo_data_fast", "NRT_MemInfo_new_varsize", "NRT_MemInfo_new_varsize_dtor",
        "NRT_MemInfo_varsize_alloc", "NRT_MemInfo_varsize_realloc", "NRT_MemInfo_varsize_free",
        "NRT_MemInfo_call_dtor", "NRT_incref", "NRT_decref", "NRT_Reallocate",
    }
)  # fmt: skip
# defined by support/linear.c, over BLAS and LAPACK
LINEAR = frozenset(
    {
        "numba_xxdot", "numba_xxgemv", "numba_xxgemm", "numba_xxnrm2", "numba_xxgetrf", "numba_ez_xxgetri",
        "numba_xgesv", "numba_xxpotrf", "numba_ez_xxxevd", "numba_ez_gesdd", "numba_fatal_error", "numba_gil_ensure",
        "Py_FatalError",
    }
)  # fmt: skip
# defined by support/arrays.c
ARRAYS = frozenset({"numba_attempt_nocopy_reshape"})
SUPPORT = MEMORY | LINEAR | ARRAYS
_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fma fmax "
    "fmin fmod frexp hypot ldexp lgamma log log10 log1p log2 nearbyint nextafter pow remainder rint round roundeven "
    "sin sinh sqrt tan tanh tgamma trunc"
)
_MEMORY = "memcpy memmove memset memcmp malloc realloc free posix_memalign madvise abort fprintf"
LIBC = frozenset({name + end for name in _MATH.split() for end in ("", "f")} | {*_MEMORY.split()})


@dataclass(frozen=True)
class Refusal:
    """Why a function cannot be built."""

    name: str
    reason: str


def support_names(prefix: str, items: Iterable[Item]) -> dict[str, str]:
    """New names of the symbols that the support code defines, which carry the library's name."""
    return {item.name: f"{prefix}_{item.name}" for item in items if item.name in SUPPORT}


def refusal(name: str, items: Sequence[Item]) -> Refusal | None:
    """Why a function that reaches these items cannot be built; None if it can."""
    for item in items:
        if not item.defined and not _known(item.name):
            return Refusal(name, _reason(item.name))
        if item.defined and re.search(r"inttoptr \(?i64 -?\d{4,}", item.text):
            return Refusal(name, "it calls a function at an address of this process")
    return None


def _known(symbol: str) -> bool:
    return symbol in SUPPORT or symbol in LIBC or symbol.startswith("llvm.")


def _reason(symbol: str) -> str:
    """In the user's words, as far as that is known."""
    if "_random_" in symbol or "_rnd_" in symbol or "random_state" in symbol:
        return "it draws random numbers, whose generator is a state of the Python process"
    if symbol == "PyImport_ImportModule":
        return "it calls a function of SciPy's or NumPy's, which it asks Python for"
    if symbol.startswith(("Py", "numba_unpickle", "_Py", "numba_gil")):
        return f"it needs Python while it runs ({symbol}), as printing does"
    if symbol.startswith("numba_parallel") or "gufunc" in symbol:
        return "it runs in parallel"
    return f"it calls {symbol}, which is not a function of C's library"
