"""Colours of the columns of a sparse matrix, for derivatives that are computed several columns at a time.

Columns of one colour are summed, and their elements read from the sum.  For any matrix no two of them may meet in a
row: greedy distance-2 colouring.  For a symmetric one an element may be read in either of its two places, which takes
fewer colours: greedy star colouring.

Gebremedhin, Manne & Pothen, What color is your Jacobian?, SIAM Review 47 (2005) 629-705, algorithms 3.1 and 4.1.

A pattern is given by where each row begins in `columns`, (m + 1,), and `columns`, sorted in each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# columns with more elements than that have a colour of their own in a star colouring, whose cost is else quadratic
HUB = 256


@njit(cache=True, error_model="numpy")
def transposed(starts: Any, columns: Any, width: int) -> tuple[Any, Any, Any]:
    """The pattern of the transposed matrix.

    width    how many columns there are
    returns  where its rows begin, their elements, and the place that each of them had

    >>> transposed(np.array([0, 2, 3]), np.array([0, 1, 1]), 2)
    (array([0, 1, 3]), array([0, 0, 1]), array([0, 1, 2]))
    """
    first = np.zeros(width + 1, np.int64)
    for column in columns:
        first[column + 1] += 1
    for k in range(width):
        first[k + 1] += first[k]
    rows, places = np.empty(columns.size, np.int64), np.empty(columns.size, np.int64)
    free = first[:-1].copy()
    for row in range(starts.size - 1):
        for place in range(starts[row], starts[row + 1]):
            k = free[columns[place]]
            rows[k], places[k] = row, place
            free[columns[place]] = k + 1
    return first, rows, places


@njit(cache=True, error_model="numpy")
def merged(starts: Any, columns: Any, others: Any, more: Any) -> tuple[Any, Any]:
    """The pattern that has the elements of two patterns of one shape.

    >>> merged(np.array([0, 1, 2]), np.array([1, 0]), np.array([0, 2, 2]), np.array([0, 1]))
    (array([0, 2, 3]), array([0, 1, 0]))
    """
    first = np.zeros(starts.size, np.int64)
    made = np.empty(columns.size + more.size, np.int64)
    used = 0
    for row in range(starts.size - 1):
        i, j = starts[row], others[row]
        while i < starts[row + 1] or j < others[row + 1]:
            if j == others[row + 1] or (i < starts[row + 1] and columns[i] <= more[j]):
                value = columns[i]
                j += j < others[row + 1] and more[j] == value
                i += 1
            else:
                value = more[j]
                j += 1
            made[used] = value
            used += 1
        first[row + 1] = used
    return first, made[:used].copy()


@njit(cache=True, error_model="numpy")
def distance_two(starts: Any, columns: Any, order: Any) -> Any:
    """Colours of the columns of which no two that meet in a row are alike; -1 for those without elements.

    order    all columns, in the order in which they get the first colour that is free

    >>> distance_two(np.array([0, 2, 3]), np.array([0, 2, 1]), np.arange(4))
    array([ 0,  0,  1, -1])
    """
    width = order.size
    first, rows, _ = transposed(starts, columns, width)
    colours = np.full(width, -1)
    # the column for which a colour was met last
    met = np.full(width + 1, -1)
    for column in order:
        if first[column] == first[column + 1]:
            continue
        for k in range(first[column], first[column + 1]):
            for place in range(starts[rows[k]], starts[rows[k] + 1]):
                colour = colours[columns[place]]
                if colour >= 0:
                    met[colour] = column
        colour = 0
        while met[colour] == column:
            colour += 1
        colours[column] = colour
    return colours


@njit(cache=True, error_model="numpy")
def star(starts: Any, columns: Any) -> Any:
    """Colours of the columns of a symmetric pattern: neighbours differ, and no path of four columns has two colours.

    returns  (n,), int64; -1 for columns without elements

    >>> star(np.array([0, 3, 5, 7]), np.array([0, 1, 2, 0, 1, 0, 2]))
    array([0, 1, 1])
    """
    width = starts.size - 1
    colours = np.full(width, -1)
    met = np.full(width + 1, -1)
    most = -1
    for column in range(width):
        if starts[column] == starts[column + 1] or starts[column + 1] - starts[column] > HUB:
            continue
        for k in range(starts[column], starts[column + 1]):
            one = columns[k]
            if one == column or starts[one + 1] - starts[one] > HUB:
                continue
            if colours[one] >= 0:
                met[colours[one]] = column
            for i in range(starts[one], starts[one + 1]):
                two = columns[i]
                if two in (column, one) or colours[two] < 0:
                    continue
                if met[colours[two]] == column:
                    continue
                if colours[one] < 0 or _meets(starts, columns, colours, two, one):
                    met[colours[two]] = column
        colour = 0
        while met[colour] == column:
            colour += 1
        colours[column] = colour
        most = max(most, colour)
    for column in range(width):
        if starts[column + 1] - starts[column] > HUB:
            most += 1
            colours[column] = most
    return colours


@njit(cache=True, error_model="numpy")
def _meets(starts: Any, columns: Any, colours: Any, column: int, one: int) -> bool:
    """Whether a column has a neighbour other than `one` of the colour of `one`."""
    for k in range(starts[column], starts[column + 1]):
        if columns[k] != one and columns[k] != column and colours[columns[k]] == colours[one]:
            return True
    return False


@njit(cache=True, error_model="numpy")
def places_by_columns(starts: Any, columns: Any, colours: Any, places: Any) -> None:
    """Where the elements of a pattern stand in what is computed by columns: at [colour, row].

    places   filled with row + m * colour, for m rows, but for those of columns without a colour, which stay
    """
    height = starts.size - 1
    for row in range(height):
        for k in range(starts[row], starts[row + 1]):
            if colours[columns[k]] >= 0:
                places[k] = row + height * colours[columns[k]]


@njit(cache=True, error_model="numpy")
def places_in_star(starts: Any, columns: Any, colours: Any, places: Any) -> None:
    """`places_by_columns`, for a star colouring of a symmetric pattern."""
    width = starts.size - 1
    # how many elements of the row have a colour, and for which row it was counted
    count, met = np.zeros(width + 1, np.int64), np.full(width + 1, -1)
    for row in range(width):
        for k in range(starts[row], starts[row + 1]):
            colour = colours[columns[k]]
            if met[colour] != row:
                met[colour], count[colour] = row, 0
            count[colour] += 1
        for k in range(starts[row], starts[row + 1]):
            colour = colours[columns[k]]
            # where the row has other elements of the colour, the element is read across the diagonal
            alone = count[colour] == 1
            places[k] = row + width * colour if alone else columns[k] + width * colours[row]


@njit(cache=True, error_model="numpy")
def gathered(products: Any, places: Any, values: Any) -> None:
    """`values[:] = products[places]`."""
    for k in range(places.size):
        values[k] = products[places[k]]
