"""Derivatives that are programs of other ones: functions with source, which the compiler reads as it reads the user's.

    gnvp          the tangent in a direction, then its pullback
    hessian_diag  for each number of an argument, a Hessian-vector product of which one number is kept
    hessp         a Hessian-vector product, in another order of arguments
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.backend.carrier import of_count, written
from tapec.backend.program import directions, resolve_wrt
from tapec.errors import UsageError
from tapec.frontend.source.function_source import parameters


class Maker:
    """Stands for the function that makes derivatives of a kind, in code that is only lowered."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, f: Any, wrt: Any = 0) -> Any:
        raise NotImplementedError

    def __tapec_lower__(self, ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        from tapec.transforms.nested_calls import lower_maker

        return lower_maker(self.kind)(ev, args, kwargs, node)

    def __tapec_key__(self) -> tuple[Any, ...]:
        return "maker", self.kind


grad, hvp, jvp, vjp = map(Maker, ("grad", "hvp", "jvp", "vjp"))


def composed(function: types.FunctionType, kind: str, wrt: Any) -> types.FunctionType:
    """The function that computes a derivative of a kind in `KINDS`.

    raises  UsageError  for `wrt` as `grad` does, and for several arguments in SciPy's order
    """
    own = parameters(function)
    names = list(own)
    positions, single = resolve_wrt(function, wrt)
    heads, passed, defaults = [], [], {}
    for name, one in own.items():
        star = "*" if one.kind is one.VAR_POSITIONAL else ""
        passed.append(f"{star}{name}")
        heads.append(passed[-1])
        if one.default is not one.empty and kind != "gnvp":
            defaults[f"default_{name}"] = one.default
            heads[-1] += f"=default_{name}"
    vector = [_free("p" if kind == "hessp" else "v", names)] if kind != "hessian_diag" else []
    place = _place(positions, single) if kind == "hessp" else len(heads)
    heads[place:place] = vector
    # products take arguments by position
    named_only = any(one.kind is one.KEYWORD_ONLY for one in own.values())
    called = of_count(function, function, len(names)) if named_only else function
    f = _free("differentiated", [*names, function.__name__])
    handed = [f, f"({''.join(f'{one}, ' for one in passed)})", str(positions[0] if single else positions), *vector]
    made = written(KINDS[kind], function, heads, handed, [], **{f: called}, **defaults)
    made.__name__ = made.__qualname__ = f"{made.__name__}_{kind}"
    found: types.FunctionType = made
    return found


class ComposedMaker:
    """How the public function that makes derivatives of a kind is lowered."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        from tapec.frontend.evaluator.values import Static, number

        return Static(_ComposedCall(self.kind, args[0], kwargs.get("wrt", args[1] if len(args) > 1 else number(0))))


class _ComposedCall:
    """A derivative that exists only while its caller is lowered."""

    def __init__(self, kind: str, callee: Any, wrt: Any) -> None:
        self.kind, self.callee, self.wrt = kind, callee, wrt

    def __tapec_lower__(self, ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        from tapec.errors import UnsupportedSyntax
        from tapec.frontend.evaluator.values import Static, Tup
        from tapec.transforms.nested import parameter_names
        from tapec.transforms.nested_calls import known

        names = parameter_names(self.callee)
        wrt = self.wrt
        by = known(ev, wrt, node)
        places = [names.index(one) if one in names else one for one in (by if isinstance(by, tuple) else (by,))]
        last = () if self.kind == "hessian_diag" else (places[0] + 1 if self.kind == "hessp" else len(args) - 1,)
        if kwargs or not all(isinstance(one, int) and 0 <= one < len(args) for one in (*places, *last)):
            ev.fail(UnsupportedSyntax, f"`{self.kind}` takes all arguments by position in differentiated code", node)
        own = Tup(tuple(arg for k, arg in enumerate(args) if k not in last))
        return ev.apply(Static(KINDS[self.kind]), [self.callee, own, wrt, *(args[k] for k in last)], {}, node)


def _place(positions: Sequence[int], single: bool) -> int:
    """Where the vector stands in SciPy's order: behind the argument that it belongs to."""
    if not single:
        raise UsageError("`hessp` takes products by one argument, as SciPy does", hint="use tapec.hvp for several")
    return positions[0] + 1


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def with_vector(function: types.FunctionType, kind: str, wrt: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types of the arguments of a composed derivative, of those of its function."""
    positions, single = resolve_wrt(function, wrt)
    if kind == "hessp":
        place = _place(positions, single)
        return *arguments[:place], arguments[positions[0]], *arguments[place:]
    if not directions(function, kind, wrt):
        return arguments
    from tapec.frontend.evaluator.values import Tup

    moving = tuple(arguments[position] for position in positions)
    return *arguments, moving[0] if single else Tup(moving)


# what follows runs in compiled code alone


def _gauss_newton(f: Any, arguments: Any, wrt: Any, vector: Any) -> Any:
    tangents = vector if isinstance(wrt, tuple) else (vector,)
    _, tangent = jvp(f, wrt)(*arguments, *tangents)
    return vjp(f, wrt)(*arguments, tangent)[1]


def _scipy_order(f: Any, arguments: Any, wrt: Any, vector: Any) -> Any:
    return hvp(f, wrt)(*arguments, vector)


def _diagonals(f: Any, arguments: Any, wrt: Any) -> Any:
    if isinstance(wrt, tuple):
        return tuple([_diagonals(f, arguments, one) for one in wrt])
    return _diagonal(lambda v: hvp(f, wrt)(*arguments, v), arguments[wrt])


def _diagonal(product: Any, x: Any) -> Any:
    """The diagonal of a symmetric matrix of the size of `x`, which `product` multiplies by vectors."""
    if isinstance(x, (tuple, list, dict)):
        items = _items(x)
        return tuple([_diagonal(_part(product, items, k), item) for k, item in enumerate(items)])
    if isinstance(x, (float, np.floating)):
        return product(1.0)
    unit = np.zeros(x.size, x.dtype)
    found = np.zeros(x.size, x.dtype)
    for i in range(x.size):
        unit[i] = 1.0
        found[i] = np.ravel(product(unit.reshape(x.shape)))[i]
        unit[i] = 0.0
    return found.reshape(x.shape)


def _part(product: Any, items: Any, k: int) -> Any:
    """The product with vectors that are zero but for one of several items, of which that item is wanted."""
    return lambda v: _items(product(tuple([v if j == k else _zeros(one) for j, one in enumerate(items)])))[k]


def _zeros(x: Any) -> Any:
    if isinstance(x, (tuple, list, dict)):
        return tuple([_zeros(item) for item in _items(x)])
    return np.zeros_like(x)


def _items(x: Any) -> Any:
    return tuple(x.values()) if isinstance(x, dict) else tuple(x)


KINDS = {"gnvp": _gauss_newton, "hessian_diag": _diagonals, "hessp": _scipy_order}
