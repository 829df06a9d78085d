"""The types of arguments are those that Numba gives them, in tuples too; a dict or a list has none."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.typing.typeof import Purpose, typeof

import tapec
from tapec.backend.argument_types import argument_types


class Point(NamedTuple):
    place: Any
    weight: Any


class Row(tuple[Any, ...]):
    """A tuple of a class of its own."""


ARRAYS = np.ones(3), np.ones((2, 3)), np.ones((4, 3))[::2], np.asfortranarray(np.ones((2, 3))), np.ones(3, np.float32)


@pytest.mark.parametrize(
    "value",
    [
        (),
        (1.0, 2.0),
        (1.0, 2),
        (1, True, None, 1j, np.float32(1.0)),
        ARRAYS,
        (ARRAYS[0], ARRAYS[0]),
        ((ARRAYS[1], ARRAYS[0]), (ARRAYS[3], 2.0)),
        Point(ARRAYS[0], 1.0),
        Point(1.0, 1.0),
        (Point((1, 2), ARRAYS[4]),),
    ],
    ids=lambda value: f"{type(value).__name__} of {len(value)}",
)
def test_tuples(value):
    for _ in range(2):
        # the second time arrays are known
        assert argument_types((value,)) == (typeof(value, Purpose.argument),)


def test_read_only():
    array = np.ones(3)
    array.flags.writeable = False
    assert argument_types(((array,),)) == (typeof((array,), Purpose.argument),)


@pytest.mark.parametrize("inner", [{"w": 1.0}, [1.0], [], np.ma.array([1.0], mask=[True]), object(), Row((1.0,))])
def test_none(inner):
    for value in (inner, (inner,), (1.0, (inner, 2.0)), Point(inner, 1.0)):
        assert argument_types((value,)) is None


def weighed(p: Any) -> Any:
    return p[0] * p[0] * p[1]


def test_class_of_tuples():
    # Numba has no type for it: it is passed on as a tuple
    assert tapec.grad(weighed)(Row((2.0, 3.0))) == (12.0, 4.0)
