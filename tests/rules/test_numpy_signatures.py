"""Functions of ours take arguments where NumPy's take them: by position, by name, with the same defaults."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.rules.library import LIBRARY

# what a function takes in another way, and why that binds no argument to another parameter
ELSEWHERE = {
    "arange": "NumPy names the first argument for both things that it may be; the dtype may stand fourth there, too",
    "clip": "limits that are left out are None, in NumPy and here",
    "diff": "nothing before and behind is None here",
    "eye": "a type of NumPy for one of Python's",
    "tri": "a type of NumPy for one of Python's",
    "identity": "a type of NumPy for None",
    "squeeze": "without an axis the rank would not be known",
}
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def by_position(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    return [one for one in parameters if one.kind in _BY_POSITION]


def stars(parameters: list[inspect.Parameter]) -> bool:
    return any(one.kind is one.VAR_POSITIONAL for one in parameters)


def differences(theirs: Any, ours: Any) -> list[str]:
    """Where arguments would be bound to other parameters than NumPy's."""
    there, here = (list(inspect.signature(one).parameters.values()) for one in (theirs, ours))
    found = [f"*args: {stars(here)}"] if stars(there) != stars(here) else []
    for place, own in enumerate(by_position(here)):
        if place >= len(by_position(there)):
            found.append(f"`{own.name}` is taken by position {place}")
            continue
        known = by_position(there)[place]
        if own.name != known.name:
            found.append(f"position {place}: `{own.name}` for `{known.name}`")
        if str(own.default) != str(known.default):
            found.append(f"`{own.name}={own.default}` for `{known.default}`")
    return found


def audited() -> dict[str, tuple[Any, Any]]:
    found = {}
    for theirs, ours in LIBRARY.items():
        try:
            inspect.signature(theirs)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
        # arguments of ufuncs have no names
        if (getattr(theirs, "__module__", None) or "").startswith("numpy") and not isinstance(theirs, np.ufunc):
            found[getattr(theirs, "__name__", "")] = theirs, ours
    return found


def test_signatures_are_those_of_numpy():
    pairs = audited()
    wrong = {name: found for name, pair in pairs.items() if (found := differences(*pair)) and name not in ELSEWHERE}
    assert wrong == {}
    assert len(pairs) > 100
    assert all(name in pairs and differences(*pairs[name]) for name in ELSEWHERE)


def test_a_parameter_that_we_do_not_take_is_refused_by_its_name():
    x = np.array([1.0, 2.0])
    with pytest.raises(tapec.errors.TapecError, match="`weights`"):
        tapec.grad(lambda x: np.quantile(x, 0.5, weights=x))(x)
    with pytest.raises(tapec.errors.TapecError, match="'ij' is no array"):
        tapec.grad(lambda x: np.meshgrid(x, x, "ij")[0].sum())(x)
    with pytest.raises(tapec.errors.TapecError, match="takes 3 arguments, not 4"):
        tapec.grad(lambda x: np.unwrap(x, None, -1, 3.0).sum())(x)


X, Y, Z = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0]), np.array([0.5, 0.25])


@pytest.mark.slow
@pytest.mark.generated
@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_grids_of_any_number_of_axes(indexing: str):
    def f(x, y, z):
        a, b, c = np.meshgrid(x, y, z, indexing=indexing)
        return (a * b**2 * c)[0].sum() + np.meshgrid(x)[0][1] * np.meshgrid(y, x)[0][0, 0]

    value, by = tapec.value_and_grad(f, (0, 1, 2))(X, Y, Z)
    assert value == pytest.approx(f(X, Y, Z))
    moved = sum(float(np.sum(one * given)) for one, given in zip(by, (X, Y, Z), strict=True))
    assert moved == pytest.approx(tapec.jvp(f, (X, Y, Z), (X, Y, Z))[1])


def copied(x):
    y = np.ones((2, 3))
    np.copyto(y, 2.0 * x)
    np.copyto(y, x, where=x > 1.5)
    return (y**2).sum()


@pytest.mark.generated
def test_copyto_and_issubdtype():
    x = np.array([1.0, 2.0, 3.0])
    value, by = tapec.value_and_grad(copied)(x)
    assert value == copied(x) and np.array_equal(by, [16.0, 8.0, 12.0])
    def kind(x):
        return x.sum() * 2.0 if np.issubdtype(x.dtype, np.floating) else x.sum()
    assert np.array_equal(tapec.grad(kind)(x), np.full(3, 2.0))
    with pytest.raises(tapec.errors.TapecError, match="same_kind"):
        tapec.grad(lambda x: np.copyto(np.zeros(3, np.int64), x) or x.sum())(x)
