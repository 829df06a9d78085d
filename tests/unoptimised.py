"""Machine code without LLVM's optimisations, which take a third of a compilation.

What a program computes does not depend on them; what they make of our hints, tests ask in the folders that
`fixtures.py` names, and those that are marked `optimised`.  `NUMBA_OPT=3` in the environment has all tests optimise.
How LLVM chooses instructions is decided once for all tests, when this module is imported: before anything is compiled.

The runtime's functions are kept on disk, for other workers and other runs.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from llvmlite.binding import ffi
from numba.core import config
from numba.core.cpu import CPUContext
from numba.core.registry import cpu_target

_ASKED = "NUMBA_OPT" in os.environ
_NONE = config._process_opt_level("0")  # type: ignore[attr-defined, unused-ignore]


@contextmanager
def unoptimised() -> Iterator[None]:
    """A while in which LLVM optimises nothing, unless the environment says how much."""
    if _ASKED:
        yield
        return
    with (
        mock.patch.object(config, "OPT", _NONE),
        mock.patch.object(CPUContext, "add_dynamic_addr", _address),
    ):
        yield


def _address(self: CPUContext, builder: Any, address: int, info: str) -> Any:
    """What `add_dynamic_addr` gives, but nothing for functions of the runtime.

    A call names the address of the function's object, which nobody reads, and LLVM drops what nobody reads.  Where it
    does not, Numba finds the code to depend on the process, and does not keep it.
    """
    if info == "CPUDispatcher":
        function: Any = ctypes.cast(address, ctypes.py_object).value
        if (function.py_func.__module__ or "").startswith("tapec_runtime."):
            return self.get_dummy_value()
    return _add_dynamic_addr(self, builder, address, info)


_add_dynamic_addr = CPUContext.add_dynamic_addr

if not _ASKED:
    # Numba does not tell code by how it was optimised: users of this tree shall find none of ours
    config.CACHE_DIR = str(Path(config.CACHE_DIR or Path(__file__).parents[1] / ".pytest_cache") / "unoptimised")
with unoptimised():
    cpu_target.target_context.codegen()
# Numba makes two events of each question to LLVM, for listeners, of which there are none
ffi.lib._lock._cblist.clear()
