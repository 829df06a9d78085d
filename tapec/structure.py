"""Nests of lists, tuples, dicts and sparse matrices, as tapes take them: their leaves, and a nest of gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec_runtime.variables import Variable, plain

# what is a leaf without another look
NUMBERS = frozenset({float, np.float64, np.float32, np.ndarray})


def flat(value: Any, what: str) -> list[Any]:
    """The leaves of nested lists, tuples and dicts."""
    if type(value) in NUMBERS:
        return [value]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in flat(item, what)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in flat(item, what)]
    if what == "source" and is_sparse(value):
        return [value.data]
    if not isinstance(value, int | float | complex | np.ndarray | np.generic | Variable):
        raise TypeError(f"a {what} must be a number, an array or a variable, not {type(value).__name__}")
    return [value]


def rebuilt(structure: Any, leaves: Any) -> Any:
    """The structure with the next of `leaves` in place of each leaf."""
    if type(structure) in NUMBERS:
        return next(leaves)
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(rebuilt(item, leaves) for item in structure))
    if isinstance(structure, list | tuple):
        return type(structure)(rebuilt(item, leaves) for item in structure)
    if isinstance(structure, dict):
        return {key: rebuilt(item, leaves) for key, item in structure.items()}
    found = next(leaves)
    if found is None or not is_sparse(structure):
        return found
    from tapec.frontend.structures.sparse_classes import with_data

    return with_data(structure, found)


def is_sparse(value: Any) -> bool:
    """Whether a value is a matrix of `scipy.sparse`, of which the numbers are a leaf."""
    return type(value).__module__.startswith("scipy.sparse.") and hasattr(value, "data")


def check_target(target: Any) -> None:
    """A Jacobian is of one number or array."""
    if isinstance(target, Variable):
        raise ValueError("a variable cannot be a target; use a value computed from it")
    if isinstance(target, list | tuple | dict):
        raise TypeError("a Jacobian has one target: a number or an array")
    flat(target, "target")


def weights_of(given: Any, targets: list[Any]) -> list[Any]:
    """The output gradients, one per target; None for ones.  Raises ValueError where they do not fit."""
    if given is None:
        return [None] * len(targets)
    found = flat(given, "output gradient") if not isinstance(given, list | tuple) else [
        leaf for item in given for leaf in ([None] if item is None else flat(item, "output gradient"))
    ]
    if len(found) != len(targets):
        raise ValueError(f"{len(found)} output gradients for {len(targets)} targets")
    for weight, target in zip(found, targets, strict=True):
        if np.iscomplexobj(plain(weight)) and not np.iscomplexobj(plain(target)):
            raise ValueError("a complex output gradient for a real target")
        if weight is not None and np.shape(weight) != np.shape(target):
            raise ValueError(f"an output gradient of shape {np.shape(weight)} for a target of {np.shape(target)}")
    return found
