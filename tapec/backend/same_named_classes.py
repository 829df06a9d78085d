"""The classes of named tuples among arguments.

Calls of a compiled function tell such classes apart by their names and fields alone, and take one for the other where
these are the same: `isinstance` in the function would give another answer, and a gradient would be of another class.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numba.core import types as nt

Classes = tuple[type, ...]


def of_values(values: Iterable[Any]) -> Classes:
    """The classes among values, and in their items, in the order in which they stand."""
    found: list[type] = []
    for value in values:
        if isinstance(value, tuple):
            if type(value) is not tuple:
                found.append(type(value))
            found += of_values(value)
    return tuple(found)


def structure(value: Any) -> Any:
    """The type of a value; of a tuple with those of its items."""
    return (type(value), *map(structure, value)) if isinstance(value, tuple) else type(value)


def of_types(types_: Iterable[Any]) -> Classes:
    """The classes among Numba types of values; of arguments that are left out, none."""
    found: list[type] = []
    for one in types_:
        structure: Any = one
        if isinstance(one, nt.BaseNamedTuple):
            found.append(structure.instance_class)
        if isinstance(one, nt.BaseTuple):
            found += of_types(structure.types)
    return tuple(found)


def names(classes: Classes) -> tuple[str, ...]:
    return tuple(cls.__name__ for cls in classes)
