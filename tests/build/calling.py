"""Call entries of built libraries through ctypes, with the arguments of the Python function."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapec.build.interface import Interface, ParameterGroup, Result, Tree

_LIBC = ctypes.CDLL(None)
_LIBC.free.argtypes = [ctypes.c_void_p]
_LIBC.free.restype = None


class Entry:
    """An entry with arguments in C's form; results of a former call are overwritten.

    call()  the status
    found() the results in their Python structure; memory that the entry allocated is freed
    """

    def __init__(self, library: ctypes.CDLL, interface: Interface, *arguments: Any) -> None:
        self.interface = interface
        self.values: dict[int, Any] = {}
        for (_, tree), value in zip(interface.arguments, arguments, strict=True):
            self.values.update(_leaves(tree, value))
        self.results = [self._room(one) for one in interface.results]
        passed = [*self._parameters(), *self._places()]
        function = getattr(library, interface.entry)
        self.call: Callable[[], int] = lambda: function(*passed)

    def _parameters(self) -> Iterator[Any]:
        for k, one in enumerate(self.interface.parameters):
            value = self.values[k]
            if not one.array:
                yield number(one.dtype)(value)
                continue
            value = self.values[k] = np.asarray(value)
            assert value.dtype == one.dtype and value.ndim == one.rank, (value.dtype, one)
            yield ctypes.c_void_p(value.ctypes.data)
            if one.rank:
                yield (ctypes.c_int64 * one.rank)(*value.shape)
            if one.strided:
                yield (ctypes.c_int64 * one.rank)(*value.strides)

    def _room(self, one: Result) -> Any:
        """Memory for a result, or what receives the address of its memory and its extents."""
        if not one.array:
            return number(one.dtype)()
        if one.like is not None:
            return np.full(np.shape(self.values[one.like]), 77, one.dtype, order=one.layout)  # type: ignore[call-overload]
        return ctypes.c_void_p(), (ctypes.c_int64 * one.rank)()

    def _places(self) -> Iterator[Any]:
        for one, room in zip(self.interface.results, self.results, strict=True):
            if not one.array:
                yield ctypes.byref(room)
            elif one.like is not None:
                yield ctypes.c_void_p(room.ctypes.data)
            else:
                yield ctypes.byref(room[0])
                if one.rank:
                    yield room[1]

    def found(self) -> Any:
        leaves = [_taken(one, room) for one, room in zip(self.interface.results, self.results, strict=True)]
        return _structure(self.interface.returned, leaves)


def number(dtype: str) -> Any:
    """The type of ctypes for NumPy's name of a type."""
    return np.ctypeslib.as_ctypes_type(np.dtype(dtype))


def _leaves(tree: Tree, value: Any) -> Iterator[tuple[int, Any]]:
    if isinstance(tree, ParameterGroup):
        for item, inner in zip(tree.items, value, strict=True):
            yield from _leaves(item, inner)
    elif tree is not None:
        yield tree, value


def _taken(one: Result, room: Any) -> Any:
    if not one.array:
        return room.value
    if one.like is not None:
        return room.copy(order="K")
    pointer, shape = room
    extents = tuple(shape)
    size = int(np.prod(extents)) * np.dtype(one.dtype).itemsize
    found = np.frombuffer(ctypes.string_at(pointer.value, size), one.dtype).reshape(extents)
    _LIBC.free(pointer)
    return found


def _structure(tree: Tree, leaves: list[Any]) -> Any:
    if isinstance(tree, ParameterGroup):
        return tuple(_structure(item, leaves) for item in tree.items)
    return None if tree is None else leaves[tree]
