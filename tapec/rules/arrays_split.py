"""Splitting an array into a list of views.

The number of parts must be known when a function is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, part, within


def _at(ary, places, axis):
    parts = []
    start = 0
    for stop in places:
        parts.append(part(ary, axis, start, stop))
        start = stop
    parts.append(part(ary, axis, start, ary.shape[axis]))
    return parts


def _known(places):
    """The elements of an array whose length is known."""
    found: tuple[Any, ...] = ()
    for k in AXES[: places.shape[0]]:
        found = found + (places[k],)
    return found


def _even(ary, sections, axis):
    if sections < 1 or sections > len(AXES):
        raise ValueError("the number of sections must be from 1 to 32")
    size = ary.shape[axis]
    length = size // sections
    longer = size % sections
    places: tuple[Any, ...] = ()
    stop = 0
    for k in AXES[: sections - 1]:
        stop += length + (1 if k < longer else 0)
        places = places + (stop,)
    return _at(ary, places, axis)


def array_split(ary, indices_or_sections, axis=0):
    """Views on parts of nearly equal length, or between given places."""
    ary = np.asarray(ary)
    place = within(axis, ary.ndim)
    if isinstance(indices_or_sections, (tuple, list)):
        return _at(ary, indices_or_sections, place)
    if np.ndim(indices_or_sections) > 0:
        return _at(ary, _known(indices_or_sections), place)
    return _even(ary, indices_or_sections, place)


def split(ary, indices_or_sections, axis=0):
    """Views on parts of equal length, or between given places."""
    ary = np.asarray(ary)
    place = within(axis, ary.ndim)
    if isinstance(indices_or_sections, (tuple, list)):
        return _at(ary, indices_or_sections, place)
    if np.ndim(indices_or_sections) > 0:
        return _at(ary, _known(indices_or_sections), place)
    if np.ndim(indices_or_sections) > 0:
        raise TypeError("the places where an array is split are a list or tuple here, whose length is known")
    if ary.shape[place] % indices_or_sections != 0:
        raise ValueError("array split does not result in an equal division")
    return _even(ary, indices_or_sections, place)


def vsplit(ary, indices_or_sections):
    """Views on groups of rows."""
    return split(ary, indices_or_sections, 0)


def hsplit(ary, indices_or_sections):
    """Views on groups of columns; of a 1-D array, on its parts."""
    ary = np.asarray(ary)
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def dsplit(ary, indices_or_sections):
    """Views on parts along the third axis."""
    return split(ary, indices_or_sections, 2)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "array_split": array_split,
    "split": split,
    "vsplit": vsplit,
    "hsplit": hsplit,
    "dsplit": dsplit,
}
