"""Arguments that Numba has no type for, at the Python boundary.

Lists are passed on as tuples, dicts and objects as named tuples; a gradient by such an argument
comes back as what it was.  Every call is converted, so this is for convenience, not for speed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.backend import object_arguments, packing
from tapec.backend.known_arguments import canonical, is_known
from tapec.errors import UnsupportedType, UsageError
from tapec.frontend.structures import derived_classes
from tapec_runtime.variables import Variable

# the commonest types of what stays as it is, found without asking for what else a value might be
LEAVES = frozenset({float, int, bool, complex, type(None), np.ndarray, np.float64, np.float32, np.int64})


def plain(value: Any, label: str) -> Any:
    """`value` with tuples for its lists, named tuples for its dicts and objects, values for its variables.

    raises  UnsupportedType for other containers, and for one that holds itself
    """
    try:
        return value if type(value) in LEAVES else _plain(value, label)
    except RecursionError:
        raise UnsupportedType(
            f"`{label}` holds itself, or is nested too deeply", hint="pass the numbers and arrays that are used"
        ) from None


def _plain(value: Any, label: str) -> Any:
    if type(value) in LEAVES:
        return value
    if isinstance(value, Variable):
        return value.value()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _with_known(type(value), value, label)
    derived_classes.check(value, f"`{label}`")
    if isinstance(value, list | tuple):
        return _with_known(None, value, label)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return _with_known(_mapping(tuple(value)), value.values(), label)
    if isinstance(value, dict | set | frozenset):
        raise UnsupportedType(
            f"`{label}` is a {type(value).__name__}, which is not supported as an argument",
            hint="pass a tuple, a dataclass, or a dict with strings as keys",
        )
    return object_arguments.plain(value, label, _plain) if object_arguments.is_object(value) else value


def _with_known(cls: Any, items: Any, label: str) -> Any:
    """Items as a tuple, or as the named tuple `cls`; functions and the like among them are in the class alone."""
    known = tuple((k, canonical(item)) for k, item in enumerate(items) if type(item) not in LEAVES and is_known(item))
    if not known:
        converted = tuple(_plain(item, label) for item in items)
        return cls(*converted) if cls is not None else converted
    places = dict(known)
    made = _class_with_known(cls, len(items), known)
    return made(*(None if k in places else _plain(item, label) for k, item in enumerate(items)))


@functools.lru_cache(maxsize=512)
def _class_with_known(cls: Any, count: int, known: tuple[tuple[int, Any], ...]) -> Any:
    """The named tuple that stands for a tuple, or for `cls`, with items that are known while compiling."""
    made = object_arguments.stand_in("Known", [f"item_{k}" for k in range(count)])
    made.stands_for, made.known_items = cls, dict(known)
    return made


def like(original: Any, found: Any) -> Any:
    """A gradient by `plain(original)`, in the structure of `original`."""
    if type(original) in LEAVES:
        return found
    if hasattr(type(found), "packed"):
        items = packing.unpacked(original, found, plain, like)
        return items if isinstance(original, list) else tuple(items)
    if isinstance(original, list):
        return [like(item, inner) for item, inner in zip(original, found, strict=True)]
    if isinstance(original, tuple):
        items = [like(item, inner) for item, inner in zip(original, found, strict=True)]
        return type(original)(*items) if hasattr(original, "_fields") else tuple(items)
    if isinstance(original, dict):
        return {key: like(item, inner) for (key, item), inner in zip(original.items(), found, strict=True)}
    return object_arguments.like(original, found, like) if object_arguments.is_object(original) else found


def result_like(kind: str, result: Any, sources: list[Any], single: bool) -> Any:
    """The result of a derivative of some kind, with its gradients in the structure of their sources."""
    if kind in ("jacobian", "jacfwd", "jacrev", "hessian"):
        if single and _has_packed(result):
            return _packed_blocks(result, sources[0], 2 if kind == "hessian" else 1)
        return _blocks_like(result, {_class_of(source): source for source in sources})
    if kind == "vjp_directions":
        kind = "vjp"
    if kind not in ("grad", "value_and_grad", "vjp", "hvp", "hessp", "gnvp", "hessian_diag"):
        return result
    gradients = result[1] if kind in ("value_and_grad", "vjp") else result
    if single:
        made = like(sources[0], gradients)
    else:
        made = tuple(like(source, one) for source, one in zip(sources, gradients, strict=True))
    return (result[0], made) if gradients is not result else made


def returned(value: Any, given: Sequence[Any], derivative: Any = None) -> Any:
    """What a function returned, in the types of its arguments `given`: dicts and objects of which named tuples stood.

    derivative  the function, if it is a derivative, whose results have the structure of their sources
    """
    if type(value) in LEAVES:
        return value
    if derivative is not None:
        positions, single = derivative.sources
        if all(position < len(given) for position in positions):
            return result_like(derivative.kind, value, [given[position] for position in positions], single)
    stood = [one for one in given if isinstance(one, dict) or object_arguments.is_object(one)]
    return _blocks_like(value, {_class_of(one): one for one in stood})


def _class_of(source: Any) -> Any:
    """The class that results have where an argument stands."""
    made = type(plain(source, ""))
    return getattr(made, "stands_for", made)


def matched(value: Any, pattern: Any, what: str) -> Any:
    """A tangent or cotangent with the items of its dicts in the order that those of `pattern` have.

    raises  UsageError if their keys are others
    """
    if isinstance(pattern, dict) and isinstance(value, dict):
        if value.keys() != pattern.keys():
            raise UsageError(f"{what} has the keys {', '.join(map(repr, value))}, not {', '.join(map(repr, pattern))}")
        return {key: matched(value[key], item, what) for key, item in pattern.items()}
    if isinstance(pattern, tuple | list) and isinstance(value, tuple | list) and len(value) == len(pattern):
        items = [matched(one, item, what) for one, item in zip(value, pattern, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _has_packed(found: Any) -> bool:
    return isinstance(found, tuple) and (hasattr(type(found), "packed") or any(map(_has_packed, found)))


def _packed_blocks(found: Any, source: Any, order: int) -> Any:
    """Blocks by a packed list, in the structure of a function's results, then of the list."""
    if hasattr(type(found), "packed"):
        items = packing.unpacked_blocks(source, found, order, plain, like)
        return items if isinstance(source, list) else tuple(items)
    if not isinstance(found, tuple):
        return found
    items = [_packed_blocks(item, source, order) for item in found]
    return type(found)(*items) if hasattr(found, "_fields") else tuple(items)


def _blocks_like(found: Any, sources: dict[type, Any]) -> Any:
    """Blocks in the structure of a function's results, then of the sources, which their types tell apart."""
    if not isinstance(found, tuple):
        return found
    items = [_blocks_like(item, sources) for item in found]
    made = type(found)(*items) if hasattr(found, "_fields") else tuple(items)
    source = sources.get(type(found))
    if source is None or isinstance(source, tuple):
        return made
    if isinstance(source, list):
        raise UnsupportedType("a Jacobian with respect to a list", hint="pass a tuple")
    return like(source, made)


@functools.cache
def _mapping(keys: tuple[str, ...]) -> Any:
    """The named tuple that stands for a dict; subscripts find its items by `mapping_keys`."""
    made = object_arguments.stand_in("Mapping", [f"item_{k}" for k in range(len(keys))])
    made.mapping_keys = keys
    return made
