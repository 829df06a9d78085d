"""Memory of large arrays: kept by the process when it is freed, and taken from the system in large pages.

A page that a program touches for the first time costs as much as some hundred additions, which is most of the time of
an expression over fresh arrays.  Two requests of functions that make arrays avoid that:

- The C library gives memory back to the system when a block of more than its threshold is freed (128 KB at first), or
  when more than twice that lies free at the end of its heap; the next call then waits for fresh pages.  Whoever frees a
  larger block raises the threshold to its size, up to 32 MB.  So a function asks for such a block once, and frees it
  unused.
- What is larger comes from the system each time.  On Linux it comes in pages of 2 MB if that is asked for (or for all
  processes; `/sys/kernel/mm/transparent_hugepage/enabled`), as NumPy does from 4 MB on.

Other systems are asked for neither, and where the C library is another one, nothing changes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll
from numba.core import cgutils

_KEPT_FROM = 2**15
# the library counts what it needs itself, and whole pages, against its limit of 32 MB
_KEPT = 2**25 - 2**16
_ALIGNMENT = 2**12
_PAGED_FROM = 2**22
_PAGE = 2**21
_MADV_HUGEPAGE = 14


def keep_freed(builder: Any, size: Any) -> None:
    """Before a block of `size` bytes is asked for: raise the C library's threshold, once per module and process."""
    if not _on_linux(builder):
        return
    flag, name = ll.IntType(8), "tapec.memory_is_kept"
    if name not in builder.module.globals:
        asked = ll.GlobalVariable(builder.module, flag, name)
        asked.linkage = "internal"
        asked.initializer = ll.Constant(flag, 0)
    asked = builder.module.globals[name]
    with builder.if_then(builder.icmp_unsigned(">=", size, ll.Constant(size.type, _KEPT_FROM)), likely=False):
        first = builder.icmp_unsigned("==", builder.load(asked), ll.Constant(flag, 0))
        with builder.if_then(first, likely=False):
            # threads that come here together do it twice, which does no harm
            builder.store(ll.Constant(flag, 1), asked)
            _make_and_free(builder, size.type)


def _make_and_free(builder: Any, number: Any) -> None:
    """Ask for a block and free it, by a function of which LLVM does not know that nobody would miss it.

    Nor does Python, which counts what Numba's functions ask for as the program's.
    """
    pointer, code = ll.IntType(8).as_pointer(), ll.IntType(32)
    place = cgutils.alloca_once(builder, pointer)
    kind = ll.FunctionType(code, [pointer.as_pointer(), number, number])
    make = cgutils.get_or_insert_function(builder.module, kind, "posix_memalign")
    failed = builder.call(make, [place, ll.Constant(number, _ALIGNMENT), ll.Constant(number, _KEPT)])
    with builder.if_then(builder.icmp_unsigned("==", failed, ll.Constant(code, 0))):
        free = cgutils.get_or_insert_function(builder.module, ll.FunctionType(ll.VoidType(), [pointer]), "free")
        builder.call(free, [builder.load(place)])


def ask_for_large_pages(builder: Any, data: Any, size: Any) -> None:
    """After a block of `size` bytes was made: let what nobody has touched yet of it come in large pages."""
    if not _on_linux(builder):
        return
    number, pointer = size.type, data.type
    with builder.if_then(builder.icmp_unsigned(">=", size, ll.Constant(number, _PAGED_FROM)), likely=False):
        begin = builder.ptrtoint(data, number)
        mask = ll.Constant(number, -_PAGE)
        first = builder.and_(builder.add(begin, ll.Constant(number, _PAGE - 1)), mask)
        end = builder.and_(builder.add(begin, size), mask)
        code = ll.IntType(32)
        advise = cgutils.get_or_insert_function(
            builder.module, ll.FunctionType(code, [pointer, number, code]), "madvise"
        )
        # what it answers does not matter: without large pages the array is as good
        builder.call(
            advise,
            [builder.inttoptr(first, pointer), builder.sub(end, first), ll.Constant(code, _MADV_HUGEPAGE)],
        )


def _on_linux(builder: Any) -> bool:
    return "linux" in builder.module.triple
