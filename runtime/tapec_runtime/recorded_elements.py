"""The elements of a matrix in the order in which a program computes them, as `recorded_partials` notes them.

They stand in the array that `index_sets.room_for_sets` makes, which a program uses either way: behind the header, a
pair of numbers for each, that of the result and that of the source, which count from 1.  A source 0 is none: the way
through the program that has it has not been taken.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# places in the header: whether it is used this way, and the end of what is noted; where that begins
MARK, USED, FIRST = 6, 7, 8
# in place of a source: what has been added to the result so far counts no more
OVERWRITTEN = -1


class Recorded(NamedTuple):
    """A pattern, and where a run's partial derivatives go in its elements.

    starts, columns  as those of `index_sets.elements`
    places           (n,), int32; those of a way not taken are one more than there are elements
    adds             whether an element is met several times
    """

    starts: Any
    columns: Any
    places: Any
    adds: bool


def is_recorded(sets: Any) -> bool:
    """Whether a program has noted its elements, not sets."""
    return bool(sets[MARK])


def length_of_record(sets: Any) -> int:
    """How many numbers a program has noted, or would have noted with enough room."""
    return int(sets[USED])


def recorded(sets: Any, found: Any, width: int) -> Recorded | None:
    """The elements in the order of a run.

    sets   an array that a program has noted elements in, which had room for them
    found  the numbers of the results; 0 for those that depend on nothing
    width  how many sources there are
    returns  None if a result is overwritten, or there twice

    >>> sets = np.array([0, 0, 0, 0, 0, 0, 1, 16, 2, 3, 1, 1, 2, 1, 2, 0])
    >>> recorded(sets, np.array([1, 2]), 3)
    Recorded(starts=array([0, 1, 3]), columns=array([0, 0, 2]), places=array([2, 0, 1, 3], dtype=int32), adds=False)
    """
    pairs = sets[FIRST : sets[USED]].reshape(-1, 2)
    numbers, sources = pairs[:, 0], pairs[:, 1]
    row_of = np.full(max(found.max(initial=0), numbers.max(initial=0)) + 1, -1)
    row_of[found] = np.arange(found.size)
    row_of[0] = -1
    if np.count_nonzero(row_of >= 0) != np.count_nonzero(found):
        return None
    rows = row_of[numbers]
    if _overwrites(rows, sources == OVERWRITTEN):
        return None
    kept = sources != OVERWRITTEN
    rows, columns = rows[kept], sources[kept] - 1
    there = (rows >= 0) & (columns >= 0)
    elements, own = np.unique(rows[there] * width + columns[there], return_inverse=True)
    if elements.size >= np.iinfo(np.int32).max:
        return None
    places = np.full(rows.size, elements.size, np.int32)
    places[there] = own
    starts = np.searchsorted(elements, np.arange(found.size + 1) * width)
    return Recorded(starts, elements % max(width, 1), places, bool(elements.size < own.size))


def _overwrites(rows: Any, heads: Any) -> bool:
    """Whether a row begins anew where something has been stored in it."""
    order = np.argsort(rows, kind="stable")
    rows, heads = rows[order], heads[order]
    begins = np.ones(rows.size, bool)
    begins[1:] = rows[1:] != rows[:-1]
    return bool(np.any(heads & ~begins & (rows >= 0)))
