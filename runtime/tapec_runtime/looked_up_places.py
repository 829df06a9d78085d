"""Do places that are looked up lie behind?"""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True, error_model="numpy")
def lie_behind(places: Any, first: int) -> bool:
    """Whether the places in each row of an array are from 0 to below the row's number plus `first`.

    places   (n,) or of more axes, integers
    returns  True for an empty array

    >>> import numpy as np
    >>> lie_behind(np.array([0, 2, 3]), 2), lie_behind(np.array([0, 3]), 2), lie_behind(np.array([-1]), 2)
    (True, False, False)
    """
    found = True
    for k in range(places.shape[0]):
        for place in places[k : k + 1].flat:
            found = found and 0 <= place < first + k
    return found
