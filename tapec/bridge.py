"""What the bridges to other libraries share: values, and products that are differentiated again.

Libraries ask for a product with a Jacobian, then for derivatives of that product.  So a product is a function with
source here, which is differentiated as any other, to any order.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tapec.backend.carrier import from_text
from tapec.errors import UsageError
from tapec.on_demand import CALLS, load
from tapec.options import Options
from tapec.products import jvp, vjp, vjp_by
from tapec.syntax.types import Array, Scalar


def value(f: Callable[..., Any], arguments: tuple[Any, ...], options: Options) -> Any:
    """The value of a function, by compiled code, and no derivative."""
    return vjp_by(f, (), arguments, options)[0]


def result_types(f: Callable[..., Any], numba_types: Sequence[Any]) -> tuple[list[tuple[str, int]], bool]:
    """What a function returns for arguments of these types: dtypes and ranks, and whether they are a tuple.

    raises  TypeError  for results that are not numbers, arrays or a tuple of those;  TapecError
    """
    load(*CALLS, "tapec.frontend.lower", "tapec.backend.signature")
    from tapec.backend.signature import arguments
    from tapec.frontend.lower import lower

    names = [f"argument_{k}" for k in range(len(numba_types))]
    text = f"def called({', '.join(names)}):\n    return f({', '.join(names)})\n"
    called = from_text("called", text, {"f": f, "__name__": __name__})
    structure = lower(called, arguments(tuple(numba_types), names)).result
    several = isinstance(structure, tuple) and structure[0] in ("tuple", "list")
    found = []
    for one in structure[2] if several else (structure,):
        type_ = one[1] if isinstance(one, tuple) and one[0] not in ("tuple", "list") else None
        if not isinstance(type_, Array | Scalar):
            raise TypeError("the function returns something else than real numbers, arrays or a tuple of those")
        found.append((type_.dtype, type_.ndim) if isinstance(type_, Array) else (str(type_), 0))
    return found, several


def with_results(f: Callable[..., Any], count: int, places: Sequence[int]) -> Any:
    """A function of `count` arguments that returns a tuple, with those of its results alone that stand at `places`."""
    given = ", ".join(f"argument_{k}" for k in range(count))
    text = (
        f"def results({given}):\n"
        f"    found = f({given})\n"
        f"    return ({''.join(f'found[{k}], ' for k in places)})\n"
    )
    return from_text("results", text, {"f": f, "__name__": __name__})


def pullback_function(f: Callable[..., Any], wrt: Sequence[int], count: int, cotangents: int | None) -> Any:
    """The product of a cotangent and the Jacobian, as a function.

    f           a function of `count` arguments by position
    wrt         positions of the arguments whose adjoints are wanted
    cotangents  the length of the tuple that `f` returns; None where it returns a number or an array
    returns     a function of the cotangents, then the arguments, which returns a tuple of adjoints
    """
    seeds = [f"cotangent_{k}" for k in range(1 if cotangents is None else cotangents)]
    given = [f"argument_{k}" for k in range(count)]
    whole = seeds[0] if cotangents is None else f"({', '.join(seeds)},)"
    text = (
        f"def pullback({', '.join((*seeds, *given))}):\n"
        f"    _, pull = vjp({', '.join(('f', *given))})\n"
        f"    adjoints = pull({whole})\n"
        f"    return ({', '.join(f'adjoints[{k}]' for k in wrt)},)\n"
    )
    return from_text("pullback", text, {"f": f, "vjp": vjp, "__name__": __name__})


def pushforward_function(f: Callable[..., Any], wrt: Sequence[int], count: int) -> Any:
    """The product of the Jacobian and a tangent, as a function.

    f, count  as for `pullback_function`
    wrt       positions of the arguments that move
    returns   a function of the tangents, then the arguments, which returns a tangent of what `f` returns
    """
    seeds = {k: f"tangent_{k}" for k in wrt}
    given = [f"argument_{k}" for k in range(count)]
    tangents = "".join(f"{seeds.get(k)}, " for k in range(count))
    text = (
        f"def pushforward({', '.join((*seeds.values(), *given))}):\n"
        f"    _, tangent = jvp(f, ({''.join(f'{one}, ' for one in given)}), ({tangents}))\n"
        f"    return tangent\n"
    )
    return from_text("pushforward", text, {"f": f, "jvp": jvp, "__name__": __name__})


def by_position(
    f: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call by position, and those that can be given by name alone.

    raises  TypeError  as the call would: for an argument too many, missing or given twice
    """
    signature = _signature(f)
    if signature is None:
        return arguments, dict(named)
    bound = signature.bind(*arguments, **named)
    return bound.args, bound.kwargs


def positions(f: Callable[..., Any], wrt: Any) -> Collection[int] | None:
    """The positions that `wrt` names: a position, a name or a tuple of those; None for None.

    raises  UsageError  for what names no parameter
    """
    signature = _signature(f)
    if wrt is None or signature is None:
        return None
    names = list(signature.parameters)
    extra = any(one.kind is one.VAR_POSITIONAL for one in signature.parameters.values())
    found = []
    for one in wrt if isinstance(wrt, tuple | list) else (wrt,):
        place = names.index(one) if isinstance(one, str) and one in names else one
        if not isinstance(place, int) or place < -len(names) or (place >= len(names) and not extra):
            raise UsageError(f"there is no parameter `{one}`", hint=f"parameters are: {', '.join(names)}")
        found.append(place if place >= 0 else place + len(names))
    return frozenset(found)


def _signature(f: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a function, None where it has none that Python knows."""
    try:
        return inspect.signature(f)
    except (TypeError, ValueError):
        return None


def mapped(function: Callable[..., Any], first: Any, *more: Any) -> Any:
    """A function of the items of lists, tuples and dicts of one structure; of others, the last of them as it is."""
    if isinstance(first, dict):
        return {key: function(one, *(other[key] for other in more)) for key, one in first.items()}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*map(function, first, *more))
    if isinstance(first, tuple | list):
        return type(first)(map(function, first, *more))
    return (first, *more)[-1]


def number(array: np.ndarray[Any, Any]) -> Any:
    """A 0-dimensional array as a number of its dtype, other arrays as they are."""
    if array.ndim:
        return array
    return array.item() if array.dtype in _PYTHON else array[()]


# dtypes whose numbers are Python's own
_PYTHON = (np.dtype(float), np.dtype(complex), np.dtype(np.int64), np.dtype(bool))
