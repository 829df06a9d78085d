"""Lists and tuples among arguments, packed for a program that loops over them (see frontend/arrays/packed_lists.py)."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core import types as nt

from tapec.backend import object_arguments
from tapec.frontend.arrays.packed_lists import Form, ItemLeaf, ItemNest, fields_of, leaves_of

# of fewer items a program is compiled for each number, and of a few large ones, which would be copied at each call
_LEAST, FEW, LARGE = 4, 16, 2**26
_FLOATS = frozenset({"float64", "float32"})

# elements of what is packed, and their shape
Cut = tuple[slice, tuple[int, ...]]


class _Unlike(Exception):
    """Items that are not alike, or hold what is not packed."""


def packed(value: Any) -> Any:
    """An argument, as `structured_arguments.plain` makes it, with its lists of items that are alike packed."""
    if not isinstance(value, tuple):
        return value
    if type(value) is tuple and len(value) >= _LEAST:
        try:
            form = _form_of_all(value)
            if len(value) > FEW or sum(map(np.size, _leaves(value))) < LARGE // 8:
                return _packed(value, form)
        except _Unlike:
            pass
    items = tuple(map(packed, value))
    if all(new is old for new, old in zip(items, value, strict=True)):
        return value
    return items if type(value) is tuple else type(value)(*items)


def packed_as(pattern: Any, original: Any, value: Any) -> Any:
    """A tangent or vector of `original`, with its lists packed as they are in `pattern`.

    returns  None for one of another structure, or of other shapes or dtypes
    """
    try:
        return _packed_as(pattern, original, value)
    except _Unlike:
        return None


def _packed_as(pattern: Any, original: Any, value: Any) -> Any:
    if not isinstance(pattern, tuple):
        return value
    if _kind(original) != _kind(value):
        raise _Unlike
    form = getattr(type(pattern), "packed", None)
    if form is not None:
        if any(np.shape(one) != np.shape(other) for one, other in zip(_leaves(original), _leaves(value), strict=True)):
            raise _Unlike
        return _packed(value, form)
    items = [_packed_as(*three) for three in zip(pattern, original, value, strict=True)]
    return tuple(items) if type(value) is tuple else type(value)(*items)


def numbers_and_arrays(value: Any) -> Iterator[Any]:
    """What is differentiated of a packed argument: not where arrays begin, nor their extents."""
    form = getattr(type(value), "packed", None)
    if form is not None:
        for k, leaf in enumerate(leaves_of(form)):
            yield getattr(value, leaf.fields(k)[0])
    elif isinstance(value, tuple):
        for item in value:
            yield from numbers_and_arrays(item)
    elif value is not None:
        yield value


def may_pack(numba_type: Any) -> bool:
    """Whether an argument of a type has a tuple of items that are alike."""
    if not isinstance(numba_type, nt.BaseTuple):
        return False
    items: Any = numba_type
    alike = type(numba_type) is nt.UniTuple and len(items) >= _LEAST and _is_of_floats(items[0])
    return alike or any(map(may_pack, items))


def _is_of_floats(numba_type: Any) -> bool:
    if isinstance(numba_type, nt.BaseTuple):
        return all(map(_is_of_floats, iter(numba_type)))  # type: ignore[call-overload]
    if isinstance(numba_type, nt.Array):
        return numba_type.ndim > 0 and isinstance(numba_type.dtype, nt.Float)
    return numba_type == nt.float64


def _form_of_all(items: tuple[Any, ...]) -> Form:
    first = _kind(items[0])
    if any(_kind(item) != first for item in items):
        raise _Unlike
    form = _form(items[0])
    if not leaves_of(form):
        raise _Unlike
    return form


def _kind(value: Any) -> Any:
    """What tells forms from each other, made quickly."""
    if type(value) is np.ndarray:
        return value.dtype.char, value.ndim
    if isinstance(value, tuple):
        return (type(value), *map(_kind, value))
    return type(value)


def _form(value: Any) -> Form:
    """The structure of an item, without the extents of its arrays."""
    if value is None:
        return None
    if type(value) is float or type(value) is np.float64:
        return ItemLeaf("float64", 0)
    if type(value) is np.ndarray and value.ndim and value.dtype.name in _FLOATS and value.dtype.isnative:
        return ItemLeaf(value.dtype.name, value.ndim)
    if isinstance(value, tuple):
        return ItemNest(None if type(value) is tuple else type(value), tuple(map(_form, value)))
    raise _Unlike


def _leaves(value: Any) -> list[Any]:
    found: list[Any] = []
    _add_leaves(value, found)
    return found


def _add_leaves(value: Any, found: list[Any]) -> None:
    if isinstance(value, tuple):
        for item in value:
            _add_leaves(item, found)
    elif value is not None:
        found.append(value)


def shares(before: list[Any], given: list[Any]) -> bool:
    """Whether an array that a program may write shares memory with one that was packed, which is a copy."""
    kept = [one for arg in given for one in _leaves(arg) if isinstance(one, np.ndarray)]
    written = [one for one in kept if one.flags.writeable]
    if not written:
        return False
    # an array may be both, and then stands more often in what there was
    left = Counter(map(id, kept))
    for arg in before:
        for one in _leaves(arg):
            if not isinstance(one, np.ndarray):
                continue
            left[id(one)] -= 1
            if left[id(one)] < 0 and any(np.may_share_memory(one, other) for other in written):
                return True
    return False


def _packed(items: tuple[Any, ...], form: Form) -> Any:
    columns = zip(*map(_leaves, items), strict=True)
    parts: list[Any] = []
    for leaf, column in zip(leaves_of(form), columns, strict=True):
        if leaf.ndim == 0:
            parts.append(_fixed(np.array(column)))
        else:
            parts += packed_arrays(column)[0]
    return _stand_in(form)(*parts, len(items))


def packed_arrays(arrays: Sequence[Any]) -> tuple[tuple[Any, ...], Layout]:
    """The elements of arrays of one dtype and number of axes; where each begins; for several axes their extents."""
    layout = layout_of(tuple([one.shape for one in arrays]))
    # the program may not write into what is packed
    return (_fixed(np.concatenate([one.ravel() for one in arrays])), *layout.numbers), layout


@dataclass(frozen=True)
class Layout:
    """Where packed arrays are.

    numbers  where each begins, and their extents, as a program has them
    parts    for each array its elements, and its shape
    """

    numbers: tuple[Any, ...]
    parts: tuple[tuple[slice, tuple[int, ...]], ...]


@functools.lru_cache(maxsize=512)
def layout_of(shapes: tuple[tuple[int, ...], ...]) -> Layout:
    """The layout of arrays of some shapes."""
    extents = np.array(shapes, np.int64)
    starts = np.zeros(len(shapes) + 1, np.int64)
    np.cumsum(extents.prod(axis=1), out=starts[1:])
    ndim = extents.shape[1]
    numbers = [starts, *(np.ascontiguousarray(extents[:, axis]) for axis in range(ndim if ndim > 1 else 0))]
    ends = starts.tolist()
    parts = tuple((slice(ends[k], ends[k + 1]), shape) for k, shape in enumerate(shapes))
    return Layout(tuple(map(_fixed, numbers)), parts)


def _fixed(array: Any) -> Any:
    array.flags.writeable = False
    return array


@functools.lru_cache(maxsize=512)
def _stand_in(form: Form) -> Any:
    """The named tuple for lists of items of a form."""
    made = object_arguments.stand_in("Packed", fields_of(form))
    made.packed, made.has_places = form, True
    return made


def unpacked(
    original: Any, found: Any, plain: Callable[[Any, str], Any], like: Callable[[Any, Any], Any]
) -> list[Any]:
    """A gradient by a packed list, item by item.

    plain  tells the arrays of an item;  like  makes an item like another one of what was found
    """
    form = type(found).packed
    flats = iter([getattr(found, leaf.fields(k)[0]) for k, leaf in enumerate(leaves_of(form))])
    columns = [[next(flats), 0] for _ in leaves_of(form)]

    def taken(item: Any, places: Iterator[Any]) -> Any:
        if isinstance(item, tuple):
            items = [taken(one, places) for one in item]
            return type(item)(*items) if hasattr(item, "_fields") else tuple(items)
        if item is None:
            return None
        column = next(places)
        flat, first = column
        column[1] += np.size(item)
        if isinstance(item, np.ndarray):
            return flat[first : column[1]].reshape(item.shape)
        return float(flat[first])

    return [like(item, taken(plain(item, ""), iter(columns))) for item in original]



def unpacked_blocks(
    original: Any, found: Any, order: int, plain: Callable[[Any, str], Any], like: Callable[[Any, Any], Any]
) -> list[Any]:
    """The derivatives, of some order, by a packed list: item by item, and of those item by item again.

    found  in place of an array of the list, for each array a block with an axis for its elements, and one more for each
           order
    """

    def made(found: Any, order: int, cuts: tuple[Cut, ...]) -> list[Any]:
        form = type(found).packed
        flats = [getattr(found, leaf.fields(k)[0]) for k, leaf in enumerate(leaves_of(form))]
        first = [0] * len(flats)

        def taken(item: Any, places: Iterator[int]) -> Any:
            if isinstance(item, tuple):
                items = [taken(one, places) for one in item]
                return type(item)(*items) if hasattr(item, "_fields") else tuple(items)
            if item is None:
                return None
            k = next(places)
            start, first[k] = first[k], first[k] + np.size(item)
            own = (*cuts, (slice(start, first[k]), np.shape(item)))
            return made(flats[k], order - 1, own) if order > 1 else _block(flats[k], own)

        return [like(item, taken(plain(item, ""), iter(range(len(flats))))) for item in original]

    return made(found, order, ())


def _block(whole: Any, cuts: tuple[Cut, ...]) -> Any:
    """A part of a block: its last axes are of elements that are packed."""
    part = whole[(..., *(elements for elements, _ in cuts))]
    ahead = part.shape[: part.ndim - len(cuts)]
    made = part.reshape(ahead + tuple(extent for _, shape in cuts for extent in shape))
    return made if made.ndim else float(made)
