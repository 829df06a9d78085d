"""Variables, constants and the small values that go with tapes.

A `Variable` holds a NumPy value that `assign` replaces.  Its buffer is never written in place, so
a tape may keep a reference to what a variable held.  Reading one tells the tapes that record in
this thread.
"""

from __future__ import annotations

import enum
import itertools
import operator
import threading
from typing import Any, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tapec_runtime.indexed_slices import IndexedSlices

_serial = itertools.count(1)

_IN_PLACE = "a variable cannot be changed in place; use assign, assign_add or assign_sub"


class UnconnectedGradients(enum.Enum):
    """What `gradient` gives for a source that the target does not depend on."""

    NONE = "none"
    ZERO = "zero"


class Recorder(Protocol):
    """What a tape is to the variables that it watches."""

    def accessed(self, variable: Variable) -> None: ...


class _Active(threading.local):
    def __init__(self) -> None:
        self.tapes: list[Recorder] = []


# the tapes whose blocks are running in this thread, outermost first: `active.tapes`
active = _Active()


def plain(value: Any) -> Any:
    """The NumPy value of a variable; anything else as it is."""
    if isinstance(value, Variable):
        return value.value()
    if isinstance(value, list | tuple) and any(isinstance(item, Variable) for item in value):
        return type(value)(plain(item) for item in value)
    return value


def _stored(value: Any, dtype: Any) -> Any:
    """A value of its own: a NumPy scalar, or an array that nobody can write."""
    made = np.array(plain(value), dtype=dtype)
    if made.dtype.kind not in "fiubc":
        raise TypeError(f"a variable holds numbers, not {made.dtype}")
    if made.ndim == 0:
        return made[()]
    made.setflags(write=False)
    return made


class Variable(NDArrayOperatorsMixin):
    """A number or array that can be assigned, and that tapes watch when it is read.

    In expressions it stands for its value: all operators, NumPy's functions, and the methods of
    arrays take it, and so do compiled functions, by value.

    initial_value  a number or array, or a variable, whose value is copied
    trainable      whether tapes watch it by themselves
    name           for the reader
    dtype          NumPy dtype; by default that of `initial_value`, float64 for a Python float
    raises         TypeError  for what is no number or array of numbers

    >>> w = Variable([1.0, 2.0])
    >>> w.assign_add([0.5, 0.5]).numpy()
    array([1.5, 2.5])
    >>> 2.0 * w @ w
    np.float64(17.0)
    """

    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __init__(
        self, initial_value: Any, trainable: bool = True, name: str | None = None, dtype: Any = None
    ) -> None:
        self._value = _stored(initial_value, dtype)
        self._trainable = bool(trainable)
        self._kind = self._describe()
        self._serial = next(_serial)
        self.name = name if name is not None else f"Variable_{self._serial}"

    def _describe(self) -> tuple[Any, ...]:
        """What compiled programs depend on; of it assignments change the order in memory alone."""
        order = self._value.flags.c_contiguous, self._value.flags.f_contiguous
        return self._value.dtype, self._value.shape, self._trainable, *order

    def value(self) -> Any:
        """The value now; a read that tapes notice.  An array is read-only."""
        for tape in active.tapes:
            tape.accessed(self)
        return self._value

    read_value = value

    def numpy(self) -> Any:
        """A copy of the value, which is constant for every tape.

        >>> Variable([1.0, 2.0]).numpy()
        array([1., 2.])
        """
        return self._value.copy()

    @property
    def trainable(self) -> bool:
        """Whether tapes watch the variable by themselves."""
        return self._trainable

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the value, which never change."""
        return self._value.shape

    @property
    def dtype(self) -> Any:
        """NumPy's dtype of the value, which never changes."""
        return self._value.dtype

    @property
    def ndim(self) -> int:
        """The rank of the value."""
        return self._value.ndim

    @property
    def size(self) -> int:
        """How many numbers the value has."""
        return self._value.size

    def assign(self, value: Any) -> Variable:
        """Replace the value by one of the same shape; returns the variable.

        value   anything of the variable's shape, and of a dtype that converts to the variable's
                without loss of kind: an integer to a float, float64 to float32, but no complex to a float
        raises  ValueError for another shape, TypeError for another kind

        >>> Variable(1.0).assign(3)
        <Variable 'Variable_...' shape=() dtype=float64 value=3.0>
        """
        new = np.asarray(plain(value))
        if new.shape != self.shape:
            raise ValueError(f"{self.name} has shape {self.shape}; cannot assign a value of shape {new.shape}")
        if not np.can_cast(new.dtype, self.dtype, casting="same_kind"):
            raise TypeError(f"{self.name} is {self.dtype}; cannot assign a value of {new.dtype}")
        self._value = _stored(new, self.dtype)
        if new.ndim > 1:
            self._kind = self._describe()
        return self

    def take(self, value: Any) -> None:
        """Replace the value by one of its shape and dtype that a compiled function has made and nobody else holds."""
        value.setflags(write=False)
        self._value = value
        if value.ndim > 1:
            self._kind = self._describe()

    def assign_add(self, delta: Any) -> Variable:
        """Add to the value; returns the variable.  Raises as `assign`."""
        return self.assign(self._value + plain(delta))

    def assign_sub(self, delta: Any) -> Variable:
        """Subtract from the value; returns the variable.  Raises as `assign`."""
        return self.assign(self._value - plain(delta))

    def scatter_add(self, delta: IndexedSlices) -> Variable:
        """Add rows to the value, those that are named twice twice; returns the variable.

        raises  ValueError for rows of another shape
        """
        return self._scattered(np.add, delta)

    def scatter_sub(self, delta: IndexedSlices) -> Variable:
        """Subtract rows from the value; returns the variable.  Raises as `scatter_add`."""
        return self._scattered(np.subtract, delta)

    def _scattered(self, ufunc: np.ufunc, delta: IndexedSlices) -> Variable:
        if delta.dense_shape != self.shape:
            raise ValueError(f"{self.name} has shape {self.shape}; the rows are of an array of {delta.dense_shape}")
        new = self._value.copy()
        ufunc.at(new, delta.indices, delta.values.astype(self.dtype, casting="same_kind", copy=False))
        return self.assign(new)

    # as NumPy sees it

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        held = self.value()
        wanted = held.dtype if dtype is None else np.dtype(dtype)
        if copy is False and not (isinstance(held, np.ndarray) and wanted == held.dtype):
            raise ValueError(f"{self.name} cannot be seen as an array of {wanted} without a copy")
        return np.array(held, dtype=wanted) if copy else np.asarray(held, dtype=wanted)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            # the common case, in as few calls as can be
            return ufunc(*[item.value() if type(item) is Variable else plain(item) for item in inputs])
        if any(isinstance(out, Variable) for out in kwargs.get("out", ())):
            raise TypeError(_IN_PLACE)
        if method == "at" and isinstance(inputs[0], Variable):
            raise TypeError(_IN_PLACE)
        kwargs = {key: plain(item) for key, item in kwargs.items()}
        return getattr(ufunc, method)(*(plain(item) for item in inputs), **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        del types
        if isinstance(kwargs.get("out"), Variable):
            raise TypeError(_IN_PLACE)
        return function(*(plain(arg) for arg in args), **{key: plain(arg) for key, arg in kwargs.items()})

    def __getitem__(self, index: Any) -> Any:
        return self.value()[plain(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(_IN_PLACE)

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Any:
        return iter(self.value())

    def __contains__(self, item: Any) -> bool:
        return plain(item) in self.value()

    def __float__(self) -> float:
        return float(self.value())

    def __int__(self) -> int:
        return int(self.value())

    def __index__(self) -> int:
        return operator.index(self.value())

    def __complex__(self) -> complex:
        return complex(self.value())

    def __bool__(self) -> bool:
        return bool(self.value())

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.value()) if digits is None else round(self.value(), digits)

    def __matmul__(self, other: Any) -> Any:
        return self.value() @ plain(other)

    def __rmatmul__(self, other: Any) -> Any:
        return plain(other) @ self.value()

    def __getattr__(self, name: str) -> Any:
        # methods and attributes of the value: v.sum(), v.T
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.value(), name)

    @property
    def _numba_type_(self) -> Any:
        # asked for by Numba at each call with a variable, so that this is a read
        from tapec_runtime.unboxing import type_of

        return type_of(self.value())

    def __repr__(self) -> str:
        return f"<Variable {self.name!r} shape={self.shape} dtype={self.dtype} value={self._value}>"

    def __format__(self, text: str) -> str:
        return format(self._value, text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Variable, (self._value, self._trainable, self.name, self.dtype)

    def __copy__(self) -> Variable:
        return Variable(self._value, self._trainable, self.name, self.dtype)

    def __deepcopy__(self, memo: Any) -> Variable:
        made = self.__copy__()
        memo[id(self)] = made
        return made


# what Python numbers become, by the kind of the array that NumPy makes of them
_KINDS: dict[str, Any] = {"i": np.int64, "b": np.bool_, "c": np.complex128}


def constant(value: Any, dtype: Any = None) -> Any:
    """A fresh number or array with an identity of its own.

    value  a number, a NumPy array, or nested lists of numbers
    dtype  of the result; left out, that of a NumPy value, and of others float64, complex128, int64 or bool
           by the kind of their numbers.  Integers are never differentiable: write `constant(3.0)`

    Two Python floats of equal value can be one object; two constants never are.

    >>> constant(3.0)
    np.float64(3.0)
    """
    plain_value = plain(value)
    kind = dtype
    if kind is None and not isinstance(plain_value, np.ndarray | np.generic):
        kind = _KINDS.get(np.asarray(plain_value).dtype.kind, np.float64)
    made = np.array(plain_value, dtype=kind)
    return made[()] if made.ndim == 0 else made


def stop_gradient(x: Any) -> Any:
    """`x` itself, as a constant for every derivative; arrays are copied, containers item by item.

    >>> stop_gradient(2.0)
    2.0
    """
    x = plain(x)
    if isinstance(x, np.ndarray):
        return x.copy()
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(stop_gradient(item) for item in x))
    if isinstance(x, list | tuple):
        return type(x)(stop_gradient(item) for item in x)
    if isinstance(x, dict):
        return {key: stop_gradient(item) for key, item in x.items()}
    return x
