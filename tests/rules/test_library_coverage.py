"""Every array function and method that Numba supports is in the tables, or refused with a reason."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
import scipy.special
from numba.core.registry import cpu_target

from tapec.rules import function_name
from tapec.rules.library import (
    DRAWS,
    FRONTEND,
    INERT,
    LIBRARY,
    METHODS,
    OPAQUE,
    PRIMITIVES,
    REFUSED,
    STATIC,
    numpy_object,
)
from tools.coverage import kind


def _overloaded() -> dict[str, Any]:
    """The NumPy functions that this Numba supports, by dotted name."""
    context = cpu_target.typing_context
    context.refresh()
    cpu_target.target_context.refresh()
    found = {}
    for home in ("", "linalg", "random", "polynomial.polynomial", "polynomial.polyutils", "lib.stride_tricks"):
        space = numpy_object(home) if home else np
        for name in dir(space):
            obj = getattr(space, name, None)
            if name.startswith("_") or isinstance(obj, np.ufunc) or not callable(obj):
                continue
            if isinstance(obj, type) and (issubclass(obj, (np.generic, Exception)) or obj is np.ndarray):
                continue
            try:
                context.resolve_value_type(obj)
            except (numba.core.errors.NumbaError, TypeError, ValueError, NotImplementedError):
                continue
            found[f"np.{home}.{name}" if home else f"np.{name}"] = obj
    return found


def test_every_array_function_of_numba_is_accounted_for():
    known = INERT.keys() | PRIMITIVES.keys() | REFUSED.keys() | FRONTEND | STATIC
    missing = [
        name
        for name, obj in _overloaded().items()
        if name not in known and obj not in LIBRARY and function_name(obj) is None
    ]
    assert missing == []


def test_every_array_method_of_numba_is_accounted_for():
    templates = cpu_target.typing_context._get_attribute_templates(numba.types.Array(numba.types.float64, 2, "C"))
    names = {name.removeprefix("resolve_") for t in templates for name in dir(t) if name.startswith("resolve_")}
    names |= {getattr(t, "_attr", "") for t in templates}
    attributes = {"", "T", "shape", "size", "ndim", "dtype", "flat", "flags", "itemsize", "nbytes", "strides", "ctypes"}
    attributes |= {"real", "imag"}
    lowered = {"astype", "copy", "reshape", "ravel", "flatten", "transpose", "fill", "item", "dot"}
    inert = {"all", "any", "argmax", "argmin", "argsort", "nonzero", "allclose"}
    refused = {"view", "tobytes", "_zero_fill", "__hash__"}
    assert names - attributes - lowered - inert - refused - METHODS.keys() == set()


@pytest.mark.parametrize("module", [np, np.linalg, np.fft, scipy.special])
def test_every_public_function_is_in_one_class(module):
    names = getattr(module, "__all__", None) or dir(module)
    found = [(name, getattr(module, name, None)) for name in names]
    functions = [(name, one) for name, one in found if hasattr(one, "__name__") and callable(one)]
    functions = [(name, one) for name, one in functions if not isinstance(one, type)]
    assert [name for name, one in functions if not kind(one)] == []


def test_the_tables_do_not_contradict_one_another():
    named = [{*PRIMITIVES}, {*INERT}, {*REFUSED}, {*FRONTEND} - {"np.where"}]
    library = {name for table in named for name in table if numpy_object(name.removeprefix("np.")) in LIBRARY}
    assert library == set()
    for first in range(len(named)):
        for second in range(first):
            assert named[first] & named[second] == set()
    assert OPAQUE < INERT.keys() and DRAWS < INERT.keys()


def test_every_function_says_what_it_does():
    for function in {*LIBRARY.values()} - {METHODS["conj"]}:
        assert function.__doc__, function.__name__
