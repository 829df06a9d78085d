"""Handlers of XLA's foreign function interface: compiled programs that JAX calls without Python.

XLA calls a handler with the address of a frame.  The structures below are those of `xla/ffi/api/c_api.h`, which jaxlib
ships; they only grow at their ends.  A handler is compiled by Numba for the dtypes and ranks of its arguments and
results.  It calls Python where XLA asks about the handler itself, once, and where the program raises or returns other
shapes than JAX was told: then the function runs again, and XLA is told what it raises.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import uuid
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import Any

import jax
import numba
import numpy as np
from numba.core import types as nt
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from tapec.backend.carrier import from_text

# an argument or result: its dtype and its rank
Kind = tuple[np.dtype[Any], int]


class _Extension(ctypes.Structure):
    _fields_ = (("size", c_size_t), ("kind", c_int), ("next", c_void_p), ("metadata", c_void_p))


class _Version(ctypes.Structure):
    _fields_ = (("size", c_size_t), ("extension", c_void_p), ("major", c_int), ("minor", c_int))


class _Metadata(ctypes.Structure):
    _fields_ = (("size", c_size_t), ("version", _Version), ("traits", ctypes.c_uint32))


class _Api(ctypes.Structure):
    _fields_ = (
        ("size", c_size_t), ("extension", c_void_p), ("version", _Version), ("internal", c_void_p),
        ("create_error", c_void_p),
    )  # fmt: skip


class _Error(ctypes.Structure):
    _fields_ = (("size", c_size_t), ("extension", c_void_p), ("message", c_char_p), ("code", c_int))


class _Buffer(ctypes.Structure):
    _fields_ = (
        ("size", c_size_t), ("extension", c_void_p), ("dtype", c_int), ("data", c_void_p), ("rank", c_int64),
        ("extents", POINTER(c_int64)),
    )  # fmt: skip


class _Buffers(ctypes.Structure):
    _fields_ = (
        ("size", c_size_t), ("extension", c_void_p), ("count", c_int64), ("kinds", c_void_p),
        ("buffers", POINTER(POINTER(_Buffer))),
    )  # fmt: skip


class _Frame(ctypes.Structure):
    _fields_ = (
        ("size", c_size_t), ("extension", POINTER(_Extension)), ("api", POINTER(_Api)), ("context", c_void_p),
        ("stage", c_int), ("arguments", _Buffers), ("results", _Buffers),
    )  # fmt: skip


_CALLBACK = ctypes.CFUNCTYPE(c_size_t, c_size_t)
_METADATA, _UNKNOWN_ERROR = 1, 2
# names that no other process has used: an executable that JAX keeps on disk never finds the handler of another program
_PROCESS = uuid.uuid4().hex
_count = itertools.count()
# XLA cannot forget a handler
_alive: list[Any] = []


def _place(field: Any) -> int:
    """Where a field stands, in steps of 8 bytes."""
    offset: int = field.offset
    return offset // 8


_LISTED_ARGUMENTS = _place(_Frame.arguments) + _place(_Buffers.buffers)
_LISTED_RESULTS = _place(_Frame.results) + _place(_Buffers.buffers)


def register(
    program: Any, arguments: Sequence[Kind], results: Sequence[Kind], several: bool, again: Callable[..., Any]
) -> str:
    """A handler for the CPU; returns the name under which XLA knows it.

    program    what jitted code can call: a function of numbers, where the rank is 0, and of arrays, into which it does
               not write.  It returns a number or an array or, where there are `several` results, a tuple
    again      a function of arrays that returns the results as arrays; it is called where the program raises, and where
               a result has another shape
    raises     what Numba raises where the program cannot be compiled
    """
    names = {
        "program": program, "in_python": _CALLBACK(_InPython(arguments, results, again)), "word": _word,
        "pointer": _pointer, "fixed": _fixed, "carray": carray, "__name__": __name__,
    }  # fmt: skip
    names |= {f"dtype_{k}": numba.from_dtype(dtype) for k, (dtype, _) in enumerate((*arguments, *results))}
    handler = numba.cfunc(nt.uintp(nt.uintp))(from_text("handler", _text(arguments, results, several), names))
    name = f"tapec_{_PROCESS}_{next(_count)}"
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler.ctypes), platform="cpu")
    _alive.append((handler, names))
    return name


class _InPython:
    """Answers for a handler in Python."""

    def __init__(self, arguments: Sequence[Kind], results: Sequence[Kind], again: Callable[..., Any]) -> None:
        self.arguments, self.results, self.again = arguments, results, again

    def __call__(self, address: int) -> int:
        frame = _Frame.from_address(address)
        if frame.extension:
            return self.described(frame)
        try:
            found = self.again(*_arrays(frame.arguments, self.arguments))
            for array, result in zip(_arrays(frame.results, self.results), found, strict=True):
                array[...] = result
        except Exception as error:
            return _error(frame, f"{type(error).__name__}: {error}")
        return 0

    def described(self, frame: _Frame) -> int:
        """Tell XLA that the handler is made for its version."""
        extension = frame.extension.contents
        if extension.kind != _METADATA:
            return _error(frame, f"an extension of kind {extension.kind} of XLA's interface is not known")
        metadata, version = _Metadata.from_address(extension.metadata), frame.api.contents.version
        metadata.version.major, metadata.version.minor, metadata.traits = version.major, version.minor, 0
        return 0


def _arrays(buffers: _Buffers, kinds: Sequence[Kind]) -> list[np.ndarray[Any, Any]]:
    """The memory of buffers as arrays."""
    found = []
    for k, (dtype, _) in enumerate(kinds):
        buffer = buffers.buffers[k].contents
        shape = tuple(buffer.extents[axis] for axis in range(buffer.rank))
        memory = (ctypes.c_byte * (dtype.itemsize * math.prod(shape))).from_address(buffer.data or 0)
        found.append(np.frombuffer(memory, dtype).reshape(shape))
    return found


def _error(frame: _Frame, text: str) -> int:
    """An error of XLA's with a text."""
    given = _Error(ctypes.sizeof(_Error), None, text.encode(), _UNKNOWN_ERROR)
    return int(_CALLBACK(frame.api.contents.create_error)(ctypes.addressof(given)))


def _text(arguments: Sequence[Kind], results: Sequence[Kind], several: bool) -> str:
    """The text of a handler."""
    lines = ["def handler(frame):", f"    if word(frame, {_place(_Frame.extension)}):"]
    lines.append("        return in_python(frame)")
    kinds = (*arguments, *results)
    for k, (_, rank) in enumerate(kinds):
        listed, place = (_LISTED_ARGUMENTS, k) if k < len(arguments) else (_LISTED_RESULTS, k - len(arguments))
        lines.append(f"    buffer_{k} = word(word(frame, {listed}), {place})")
        extents = ", ".join(f"word(word(buffer_{k}, {_place(_Buffer.extents)}), {axis})" for axis in range(rank)) or "1"
        data = f"pointer(word(buffer_{k}, {_place(_Buffer.data)}))"
        # a number is an array of one element
        lines.append(f"    memory_{k} = carray({data}, ({extents},), dtype_{k})")
    given = (f"fixed(memory_{k})" if rank else f"memory_{k}[0]" for k, (_, rank) in enumerate(arguments))
    lines += ["    try:", f"        found = program({', '.join(given)})"]
    lines += ["    except Exception:", "        return in_python(frame)"]
    for k, (_, rank) in enumerate(results):
        found, memory = f"found[{k}]" if several else "found", f"memory_{k + len(arguments)}"
        if rank:
            lines += [f"    if {found}.shape != {memory}.shape:", "        return in_python(frame)"]
        lines.append(f"    {memory}[{'...' if rank else '0'}] = {found}")
    return "\n".join([*lines, "    return 0", ""])


@intrinsic
def _word(_: Any, address: Any, place: Any) -> Any:
    """The integer of 8 bytes at a place of a structure."""

    def generated(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address, place = values
        kind = context.get_value_type(nt.intp)
        start = builder.inttoptr(address, kind.as_pointer())
        return builder.load(builder.gep(start, [place]))

    return nt.intp(nt.uintp, nt.intp), generated


@intrinsic
def _pointer(_: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generated(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(nt.voidptr))

    return nt.voidptr(nt.intp), generated


@intrinsic
def _fixed(_: Any, array: Any) -> Any:
    """An array that may not be written into."""

    def generated(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, values[0])

    return array.copy(readonly=True)(array), generated
