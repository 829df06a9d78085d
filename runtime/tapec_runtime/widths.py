"""Functions that run on the widest vectors of the processor.

LLVM takes vectors of 256 bits on processors that know 512, since the first of those slowed down for them.  What later
ones gain depends on the program: its functions ask one by one, by LLVM's attribute `prefer-vector-width`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import binding
from numba.core import config, types

from tapec_runtime.registration import register

# which slow down, all cores, for vectors of 512 bits
_SLOW = frozenset({"skylake-avx512", "cascadelake", "cooperlake", "cannonlake", "knl", "knm"})
_ATTRIBUTE = '"prefer-vector-width"="512"'


def wide_vectors() -> None:
    """Have the function that calls this compiled for vectors of 512 bits, on processors that gain by them.

    >>> wide_vectors()
    """


def _resolve(_context: Any) -> Callable[[], Any]:
    def result() -> Any:
        return types.none

    return result


def _lower(context: Any, builder: Any, _signature: Any, _args: Any) -> Any:
    # the variable NUMBA_CPU_NAME
    processor = getattr(config, "CPU_NAME", None) or binding.get_host_cpu_name()
    if processor not in _SLOW:
        # llvmlite knows no attributes with values
        set.add(builder.function.attributes, _ATTRIBUTE)
    return context.get_dummy_value()


register(wide_vectors, _resolve, _lower)
