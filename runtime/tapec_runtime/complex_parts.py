"""Complex arrays from their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(error_model="numpy")
def complex_array(re: Any, im: Any) -> Any:
    """The complex128 array with these real and imaginary parts.

    re, im   arrays of one shape, float64
    returns  a new array in C order

    >>> import numpy as np
    >>> complex_array(np.array([1.0, 2.0]), np.array([0.0, -1.0]))
    array([1.+0.j, 2.-1.j])
    """
    out = np.empty(re.shape, np.complex128)
    for k in np.ndindex(re.shape):
        out[k] = complex(re[k], im[k])
    return out


@njit(error_model="numpy")
def complex64_array(re: Any, im: Any) -> Any:
    """The complex64 array with these real and imaginary parts.

    re, im   arrays of one shape, float32
    returns  a new array in C order

    >>> import numpy as np
    >>> complex64_array(np.ones(1, np.float32), np.zeros(1, np.float32))
    array([1.+0.j], dtype=complex64)
    """
    out = np.empty(re.shape, np.complex64)
    for k in np.ndindex(re.shape):
        out[k] = np.complex64(complex(re[k], im[k]))
    return out
