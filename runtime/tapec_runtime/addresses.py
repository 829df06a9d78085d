"""C functions whose addresses compiled code asks Python for when it first calls them, and keeps.

So code from a cache finds the functions of the libraries that are there.
"""

from __future__ import annotations

import ctypes
from typing import Any

from llvmlite import ir
from numba.core import cgutils

# before the name of a function, the attribute of a module that is its address
PREFIX = "address_of_"


class _Ufunc(ctypes.Structure):
    """The head of NumPy's PyUFuncObject, which is part of its C interface."""

    _fields_ = [
        ("head", ctypes.c_byte * object.__basicsize__),
        *((name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    ]


def loop_of(ufunc: Any, kind: str) -> tuple[int, int]:
    """Where a loop of a ufunc, for types as in `ufunc.types`, and the data that goes with it are.

    raises  ImportError if there is no such loop
    """
    found = _Ufunc.from_address(id(ufunc))
    if (found.nin, found.nout, found.ntypes) != (ufunc.nin, ufunc.nout, len(ufunc.types)) or kind not in ufunc.types:
        raise ImportError(f"`{ufunc.__name__}` has no loop for {kind}")
    place = ufunc.types.index(kind)
    data = int(found.data[place] or 0) if found.data else 0
    return int(found.functions[place] or 0), data


def known_address(context: Any, builder: Any, module: str, name: str, missing: str) -> Any:
    """The pointer that the attribute `address_of_NAME` of a module is, asked for once.

    missing  what an ImportError says where there is none
    """
    held = f"{module.replace('.', '_')}_{name}"
    if held in builder.module.globals:
        known = builder.module.globals[held]
    else:
        known = cgutils.add_global_variable(builder.module, cgutils.voidptr_t, held)
        known.initializer, known.linkage = ir.Constant(cgutils.voidptr_t, None), "internal"
    with builder.if_then(cgutils.is_null(builder, builder.load(known)), likely=False):
        builder.store(_asked(context, builder, module, name), known)
        with builder.if_then(cgutils.is_null(builder, builder.load(known)), likely=False):
            context.call_conv.return_user_exc(builder, ImportError, (missing,))
    return builder.load(known)


def _asked(context: Any, builder: Any, module: str, name: str) -> Any:
    """An address, from Python; null if there is none."""
    python = context.get_python_api(builder)
    lock = python.gil_ensure()
    home = python.import_module(context.insert_const_string(builder.module, module))
    found = cgutils.alloca_once_value(builder, ir.Constant(cgutils.voidptr_t, None))
    with builder.if_then(cgutils.is_not_null(builder, home)):
        number = python.object_getattr_string(home, f"{PREFIX}{name}")
        with builder.if_then(cgutils.is_not_null(builder, number)):
            builder.store(python.long_as_voidptr(number), found)
            python.decref(number)
        python.decref(home)
    python.err_clear()
    python.gil_release(lock)
    return builder.load(found)


def call_loop(builder: Any, loop: Any, data: Any, operands: list[Any], counts: list[Any], steps: list[Any]) -> None:
    """Call a loop of a ufunc.

    loop, data  pointers to bytes;  operands  pointers to where the operands begin
    counts      how often, and the extents of core axes;  steps  of the operands, and of their core axes, in bytes
    """
    place, byte = ir.IntType(64), cgutils.voidptr_t
    held = [_array(builder, byte, [builder.bitcast(one, byte) for one in operands])]
    held += [_array(builder, place, row) for row in (counts, steps)]
    kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), place.as_pointer(), place.as_pointer(), byte])
    builder.call(builder.bitcast(loop, kind.as_pointer()), [*held, data])


def _array(builder: Any, kind: Any, items: list[Any]) -> Any:
    """Items one behind the other in memory of the stack."""
    room = cgutils.alloca_once(builder, kind, size=len(items))
    for k, item in enumerate(items):
        builder.store(item, builder.gep(room, [ir.Constant(ir.IntType(32), k)]))
    return room
