"""Sets of sources that values depend on, each set being a number.

Set 0 is empty, and set k of 1 to n holds source k - 1 alone.  Other sets are made by `union`.  A small one is a sorted
list, and equal ones are one set, so that a loop that joins the same sets again needs no memory.  A large one is only
noted as the union of two others: its elements are collected for the sets that are asked for, in the end.

All stands in one array of int64, `sets`: a header, two words for each set beyond the sources, a hash table of the sets,
and the lists.  Where it has become full, nothing more is made, and the program has to run with a larger one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# elements of a set that is a list
_SMALL = 32
# the header: sources, sets that there is room for, sets, words of lists, words in use, whether it was full
_SOURCES, _ROOM, _COUNT, _WORDS, _USED, _FULL, _END, _HEADER = 0, 1, 2, 3, 4, 5, 7, 8
# 2**64 / golden ratio, odd, and digits of pi
_MIX, _ADD = -7046029254386353131, 3141592653589793238


def room_for_sets(sources: int, room: int) -> Any:
    """An array for the sets of a program.

    sources  how many sources there are
    room     how many sets beyond the sources there is room for, at least; a power of two is used
    returns  (words,), int64

    >>> sets = room_for_sets(3, 8)
    >>> one = union(sets, 1, 3)
    >>> elements(sets, np.array([one, 0, 2]))
    (array([0, 2, 2, 3]), array([0, 2, 1]))
    """
    room = 1 << max(room - 1, 1).bit_length()
    words = sources + 8 * room + 4 * _SMALL
    sets = np.zeros(_HEADER + 4 * room + words, np.int64)
    sets[:_HEADER] = (sources, room, 0, words, sources, 0, 0, 0)
    first = _HEADER + 4 * room
    sets[first : first + sources] = np.arange(sources)
    return sets


def is_full(sets: Any) -> bool:
    """Whether there was no room for a set, or for what `recorded_elements` reads."""
    return bool(sets[_FULL]) or bool(sets[_END] > sets.size)


def room_of(sets: Any) -> int:
    """How many sets there is room for."""
    return int(sets[_ROOM])


@njit(cache=True, error_model="numpy")
def union(sets: Any, *several: int) -> int:
    """The set of the elements of several sets, at least one."""
    found: Any = np.int64(several[0])
    alike = True
    for one in several:
        alike = alike and (one == found or one == 0 or found == 0)
        found = one if found == 0 else found
    if alike:
        return found
    return _joined(sets, several[0], several[1]) if len(several) == 2 else _all_joined(sets, several)


@njit(cache=True, error_model="numpy")
def union_of(sets: Any, several: Any) -> int:
    """The set of the elements of all sets in an array of any shape."""
    found: Any = np.int64(0)
    for one in several.flat:
        found = union(sets, found, one)
    return found


@njit(cache=True, error_model="numpy")
def lies_in(sets: Any, *index: int) -> bool:
    """Whether an array has an element with these subscripts, which may count from its end."""
    found = True
    for axis in range(len(index)):
        found = found and -sets.shape[axis] <= index[axis] < sets.shape[axis]
    return found


@njit(cache=True, error_model="numpy")
def set_at(sets: Any, *index: int) -> int:
    """The set of an element; the empty one where there is no such element."""
    return sets[index] if lies_in(sets, *index) else 0


@njit(cache=True, error_model="numpy")
def noted(trace: int, value: int) -> int:
    """A digest of the decisions in `trace` and one more, of 64 bits; the same for the same ones in the same order.

    >>> noted(0, 0) == noted(noted(0, 0), 0)
    False
    """
    # not zero times a number: a decision of 0 counts as others do
    mixed: Any = ((np.int64(trace) ^ np.int64(value)) + np.int64(_ADD)) * np.int64(_MIX)
    return mixed ^ (mixed >> np.int64(29))


@njit(cache=True, error_model="numpy")
def noted_all(trace: int, values: Any) -> int:
    """`noted`, for all elements of an array of integers or booleans."""
    for value in values.flat:
        trace = noted(trace, int(value))
    return trace


@njit(cache=True, error_model="numpy")
def _list_of(sets: Any, one: int) -> tuple[int, int]:
    """Where the list of a set begins, and how long it is: a negative number for a large set."""
    lists = _HEADER + 4 * sets[_ROOM]
    if one <= sets[_SOURCES]:
        return lists + one - 1, 1
    place = _HEADER + 2 * (one - sets[_SOURCES] - 1)
    return lists + sets[place], sets[place + 1]


@njit(cache=True, error_model="numpy")
def _joined(sets: Any, first: int, second: int) -> int:
    """The union of two sets, none of them empty."""
    start, size = _list_of(sets, first)
    other, rest = _list_of(sets, second)
    if sets[_FULL] != 0 or not _has_room(sets):
        return 0
    if size < 0 or rest < 0:
        return _large(sets, first, second)
    made = _HEADER + 4 * sets[_ROOM] + sets[_USED]
    count = _merge(sets, start, size, other, rest, made)
    if count == size:
        return first
    if count == rest:
        return second
    return _large(sets, first, second) if count > _SMALL else _set_of(sets, made, count)


@njit(cache=True, error_model="numpy")
def _all_joined(sets: Any, several: Any) -> int:
    """The union of several sets, of which no set is made that only some of them are in."""
    if sets[_FULL] != 0 or not _has_room(sets):
        return 0
    made = _HEADER + 4 * sets[_ROOM] + sets[_USED]
    before, count = made + 2 * _SMALL, 0
    for one in several:
        if one == 0:
            continue
        start, size = _list_of(sets, one)
        if size >= 0:
            into = made if before != made else made + 2 * _SMALL
            count = _merge(sets, before, count, start, size, into)
            before = into
        if size < 0 or count > _SMALL:
            found: Any = np.int64(0)
            for other in several:
                found = other if found == 0 else _joined(sets, found, other) if other not in (0, found) else found
            return found
    if before != made:
        for k in range(count):
            sets[made + k] = sets[before + k]
    return _set_of(sets, made, count)


@njit(cache=True, error_model="numpy")
def _has_room(sets: Any) -> bool:
    """Whether there is room to write two lists behind those that there are."""
    if sets[_USED] + 4 * _SMALL > sets[_WORDS]:
        sets[_FULL] = 1
    return sets[_FULL] == 0


@njit(cache=True, error_model="numpy")
def _merge(sets: Any, start: int, size: int, other: int, rest: int, made: int) -> int:
    """Write the sorted list of what is in one of two lists, and say how long it is."""
    i, j, count = 0, 0, 0
    while i < size and j < rest:
        first, second = sets[start + i], sets[other + j]
        i += first <= second
        j += second <= first
        sets[made + count] = min(first, second)
        count += 1
    for k in range(i, size):
        sets[made + count] = sets[start + k]
        count += 1
    for k in range(j, rest):
        sets[made + count] = sets[other + k]
        count += 1
    return count


@njit(cache=True, error_model="numpy")
def _set_of(sets: Any, made: int, count: int) -> int:
    """The set with a list that is written behind the others."""
    if count == 1:
        return sets[made] + 1
    digest = 0
    for k in range(made, made + count):
        digest = noted(digest, sets[k])
    found, slot = _same_list(sets, digest, made, count)
    return found if found != 0 else _added(sets, slot, sets[_USED], count, count)


@njit(cache=True, error_model="numpy")
def _large(sets: Any, first: int, second: int) -> int:
    """The union of two sets, as no more than that."""
    room = sets[_ROOM]
    table, mask = _HEADER + 2 * room, 2 * room - 1
    digest = noted(noted(1, first), second)
    slot = digest & mask
    while sets[table + slot] != 0:
        one = sets[table + slot]
        place = _HEADER + 2 * (one - sets[_SOURCES] - 1)
        if sets[place] == first and sets[place + 1] == -second:
            return one
        slot = (slot + 1) & mask
    return _added(sets, slot, first, -second, 0)


@njit(cache=True, error_model="numpy")
def _same_list(sets: Any, digest: int, made: int, count: int) -> tuple[int, int]:
    """The set with the list that begins at `made`, or 0; where it stands, or would stand, in the table."""
    room = sets[_ROOM]
    table, mask = _HEADER + 2 * room, 2 * room - 1
    slot = digest & mask
    while sets[table + slot] != 0:
        one = sets[table + slot]
        start, size = _list_of(sets, one)
        if size == count:
            k = 0
            while k < count and sets[start + k] == sets[made + k]:
                k += 1
            if k == count:
                return one, slot
        slot = (slot + 1) & mask
    return 0, slot


@njit(cache=True, error_model="numpy")
def _added(sets: Any, slot: int, first: int, second: int, words: int) -> int:
    """A new set, whose two words these are, with a list of so many words."""
    count = sets[_COUNT]
    if count == sets[_ROOM]:
        sets[_FULL] = 1
        return 0
    place = _HEADER + 2 * count
    sets[place], sets[place + 1] = first, second
    sets[_COUNT] = count + 1
    sets[_USED] += words
    one = sets[_SOURCES] + count + 1
    sets[_HEADER + 2 * sets[_ROOM] + slot] = one
    return one


@njit(cache=True, error_model="numpy")
def elements(sets: Any, wanted: Any) -> tuple[Any, Any]:
    """The elements of some sets, as the rows of a sparse matrix.

    wanted   (m,), the numbers of sets
    returns  where each row begins in the elements (m + 1,), and the elements, sorted in each row

    Of large sets they are collected by a walk for each row, or, where such walks take longer, by bits for 64 sources at
    a time.
    """
    sources = sets[_SOURCES]
    steps, most = 0, sets[_COUNT] * (sources // 64 + 1) // 4 + wanted.size
    starts = np.empty(wanted.size + 1, np.int64)
    found = np.empty(max(4 * wanted.size, 64), np.int64)
    # the row for which an element, or a set, was met last
    met = np.full(sources, -1)
    seen = np.full(sets[_COUNT], -1)
    pending = np.empty(64, np.int64)
    used = 0
    for row in range(wanted.size):
        starts[row] = used
        one = wanted[row]
        if one == 0:
            continue
        count, is_list = 1, True
        pending[0] = one
        while count > 0:
            count -= 1
            one = pending[count]
            start, size = _list_of(sets, one)
            if size < 0:
                is_list = False
                place = one - sources - 1
                if seen[place] == row:
                    continue
                seen[place] = row
                steps += 1
                if steps > most:
                    return _elements_by_bits(sets, wanted)
                if count + 2 > pending.size:
                    pending = _twice(pending)
                pending[count] = start - _HEADER - 4 * sets[_ROOM]
                pending[count + 1] = -size
                count += 2
                continue
            if used + size > found.size:
                found = _twice(found)
            for k in range(start, start + size):
                if met[sets[k]] != row:
                    met[sets[k]] = row
                    found[used] = sets[k]
                    used += 1
        if not is_list:
            found[starts[row] : used].sort()
    starts[wanted.size] = used
    return starts, found[:used].copy()


@njit(cache=True, error_model="numpy")
def _elements_by_bits(sets: Any, wanted: Any) -> tuple[Any, Any]:
    """`elements`, for 64 sources at a time."""
    sources, count = sets[_SOURCES], sets[_COUNT]
    needed = np.zeros(count, np.bool_)
    for one in wanted:
        if one > sources:
            needed[one - sources - 1] = True
    # the sets that one is the union of were made before it
    for place in range(count - 1, -1, -1):
        first, second = sets[_HEADER + 2 * place], sets[_HEADER + 2 * place + 1]
        if needed[place] and second < 0:
            for one in (first, -second):
                if one > sources:
                    needed[one - sources - 1] = True
    bits = np.zeros(count, np.uint64)
    starts = np.zeros(wanted.size + 1, np.int64)
    for block in range(sources // 64 + 1):
        _set_bits(sets, needed, block, bits)
        for row in range(wanted.size):
            word = _bits_of(sets, wanted[row], block, bits)
            while word != 0:
                word &= word - np.uint64(1)
                starts[row + 1] += 1
    for row in range(wanted.size):
        starts[row + 1] += starts[row]
    found, free = np.empty(starts[wanted.size], np.int64), starts[:-1].copy()
    for block in range(sources // 64 + 1):
        _set_bits(sets, needed, block, bits)
        for row in range(wanted.size):
            word = _bits_of(sets, wanted[row], block, bits)
            source = 64 * block
            while word != 0:
                if word & np.uint64(1) != 0:
                    found[free[row]] = source
                    free[row] += 1
                word >>= np.uint64(1)
                source += 1
    return starts, found


@njit(cache=True, error_model="numpy")
def _set_bits(sets: Any, needed: Any, block: int, bits: Any) -> None:
    """The bits of all large sets that are needed, for the sources of one block."""
    for place in range(needed.size):
        first, second = sets[_HEADER + 2 * place], sets[_HEADER + 2 * place + 1]
        if needed[place] and second < 0:
            bits[place] = _bits_of(sets, first, block, bits) | _bits_of(sets, -second, block, bits)


@njit(cache=True, error_model="numpy")
def _bits_of(sets: Any, one: int, block: int, bits: Any) -> Any:
    word = np.uint64(0)
    if one == 0:
        return word
    start, size = _list_of(sets, one)
    if size < 0:
        return bits[one - sets[_SOURCES] - 1]
    for k in range(start, start + size):
        if sets[k] // 64 == block:
            word |= np.uint64(1) << np.uint64(sets[k] % 64)
    return word


@njit(cache=True, error_model="numpy")
def _twice(values: Any) -> Any:
    """The same numbers at the beginning of an array of twice the size, and somewhat more."""
    made = np.empty(2 * values.size + _SMALL, values.dtype)
    made[: values.size] = values
    return made
