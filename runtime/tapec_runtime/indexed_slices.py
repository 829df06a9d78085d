"""Gradients of tables of which only some rows were used."""

from __future__ import annotations

from typing import Any

import numpy as np


class IndexedSlices:
    """Some rows of an array of which all others are zero; a row that is named twice counts twice.

    values       the rows, one for each of `indices`
    indices      int64, which rows of the array they are
    dense_shape  the shape of the array

    NumPy takes it as the array that it stands for.  Products and quotients with numbers keep the
    rows apart; sums with arrays are arrays.  `Variable.scatter_sub` and its kin touch these rows alone.

    >>> table = constant([[1.0], [2.0], [3.0]])
    >>> with GradientTape() as tape:
    ...     tape.watch(table)
    ...     y = np.sum(table[np.array([2, 0, 2])] ** 2)
    >>> rows = tape.gradient(y, table, indexed_slices=True)
    >>> rows.indices
    array([2, 0, 2])
    >>> np.asarray(0.5 * rows)
    array([[1.],
           [0.],
           [6.]])
    """

    __slots__ = ("dense_shape", "indices", "values")
    # operators of arrays leave those of this class their turn
    __array_ufunc__ = None

    def __init__(self, values: Any, indices: Any, dense_shape: tuple[int, ...]) -> None:
        self.values, self.indices = np.asarray(values), np.asarray(indices, np.int64)
        self.dense_shape = tuple(dense_shape)
        if self.values.shape != (*self.indices.shape, *self.dense_shape[1:]) or self.indices.ndim != 1:
            raise ValueError(
                f"values of shape {self.values.shape} and indices of shape {self.indices.shape} are no rows of an"
                f" array of shape {self.dense_shape}"
            )

    @property
    def dtype(self) -> Any:
        """NumPy's dtype of the rows."""
        return self.values.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array that it stands for."""
        return self.dense_shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("rows cannot be seen as an array without a copy")
        made = np.zeros(self.dense_shape, self.dtype if dtype is None else dtype)
        np.add.at(made, self.indices, self.values)
        return made

    def _scaled(self, values: Any) -> IndexedSlices:
        return IndexedSlices(values, self.indices, self.dense_shape)

    def __neg__(self) -> IndexedSlices:
        return self._scaled(-self.values)

    def __mul__(self, factor: Any) -> Any:
        if np.ndim(factor) == 0:
            return self._scaled(self.values * np.asarray(factor)[()])
        return np.asarray(self) * np.asarray(factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        if np.ndim(divisor) == 0:
            return self._scaled(self.values / np.asarray(divisor)[()])
        return np.asarray(self) / np.asarray(divisor)

    def __add__(self, other: Any) -> Any:
        return np.asarray(self) + np.asarray(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return np.asarray(self) - np.asarray(other)

    def __rsub__(self, other: Any) -> Any:
        return np.asarray(other) - np.asarray(self)

    def __repr__(self) -> str:
        return f"IndexedSlices(values={self.values!r}, indices={self.indices!r}, dense_shape={self.dense_shape})"
