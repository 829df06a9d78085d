"""Python's heaps and sorted lists: `heapq`, `bisect`, and methods of lists whose length the run knows.

The steps are those of CPython, so that equal elements come in the order that Python gives them.  Which element is the
smallest has no derivative; the elements that come out have those of what went in.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable
from typing import Any


def _towards_the_root(heap, start, place):  # type: ignore[no-untyped-def]
    item = heap[place]
    while place > start:
        parent = (place - 1) >> 1
        above = heap[parent]
        if not item < above:
            break
        heap[place] = above
        place = parent
    heap[place] = item


def _towards_the_leaves(heap, place):  # type: ignore[no-untyped-def]
    stop, start = len(heap), place
    item = heap[place]
    child = 2 * place + 1
    while child < stop:
        right = child + 1
        if right < stop and not heap[child] < heap[right]:
            child = right
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = item
    _towards_the_root(heap, start, place)


def heappush(heap, item):  # type: ignore[no-untyped-def]
    """Put a number, or a tuple of numbers, on a heap."""
    heap.append(item)
    _towards_the_root(heap, 0, len(heap) - 1)


def heappop(heap):  # type: ignore[no-untyped-def]
    """Take the smallest element off a heap."""
    smallest = heap.pop()
    if len(heap) > 0:
        last = smallest
        smallest = heap[0]
        heap[0] = last
        _towards_the_leaves(heap, 0)
    return smallest


def heapreplace(heap, item):  # type: ignore[no-untyped-def]
    """Take the smallest element off a heap, and put another one on it."""
    smallest = heap[0]
    heap[0] = item
    _towards_the_leaves(heap, 0)
    return smallest


def heappushpop(heap, item):  # type: ignore[no-untyped-def]
    """Put an element on a heap, and take the smallest one off it."""
    smallest = item
    if len(heap) > 0 and heap[0] < item:
        smallest = heap[0]
        heap[0] = item
        _towards_the_leaves(heap, 0)
    return smallest


def heapify(x):  # type: ignore[no-untyped-def]
    """Make a list a heap."""
    for place in range(len(x) // 2 - 1, -1, -1):
        _towards_the_leaves(x, place)


def bisect_left(a, x, lo=0, hi=None):  # type: ignore[no-untyped-def]
    """Where `x` belongs in a sorted list, before those that equal it; it has no derivative."""
    low, high = lo, len(a) if hi is None else hi
    while low < high:
        middle = (low + high) // 2
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def bisect_right(a, x, lo=0, hi=None):  # type: ignore[no-untyped-def]
    """Where `x` belongs in a sorted list, behind those that equal it; it has no derivative."""
    low, high = lo, len(a) if hi is None else hi
    while low < high:
        middle = (low + high) // 2
        if x < a[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def insort_left(a, x, lo=0, hi=None):  # type: ignore[no-untyped-def]
    """Insert `x` into a sorted list, before those that equal it."""
    inserted(a, bisect_left(a, x, lo, hi), x)


def insort_right(a, x, lo=0, hi=None):  # type: ignore[no-untyped-def]
    """Insert `x` into a sorted list, behind those that equal it."""
    inserted(a, bisect_right(a, x, lo, hi), x)


def inserted(values, index, item):  # type: ignore[no-untyped-def]
    """`values.insert(index, item)`."""
    length = len(values)
    place = max(index + length, 0) if index < 0 else min(index, length)
    values.append(item)
    for k in range(length, place, -1):
        values[k] = values[k - 1]
    values[place] = item


def turned(values):  # type: ignore[no-untyped-def]
    """`values.reverse()`."""
    last = len(values) - 1
    for k in range(len(values) // 2):
        left, right = values[k], values[last - k]
        values[k] = right
        values[last - k] = left


FUNCTIONS: dict[object, Callable[..., Any]] = {
    heapq.heappush: heappush,
    heapq.heappop: heappop,
    heapq.heapreplace: heapreplace,
    heapq.heappushpop: heappushpop,
    heapq.heapify: heapify,
    bisect.bisect_left: bisect_left,
    bisect.bisect_right: bisect_right,
    bisect.insort_left: insort_left,
    bisect.insort_right: insort_right,
}
