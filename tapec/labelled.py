"""xarray and pandas: derivatives by labelled arrays, which keep the labels.

    pip install 'tapec[xarray]'

>>> import numpy as np
>>> import pandas as pd
>>> import tapec.labelled
>>> def misfit(w, x, y):
...     return np.mean((x @ w - y) ** 2)
>>> x = pd.DataFrame({"age": [1.0, 2.0], "size": [0.0, 1.0]})
>>> w = pd.Series([1.0, 1.0], index=["age", "size"])
>>> value, w_bar = tapec.labelled.value_and_grad(misfit)(w, x, pd.Series([1.0, 2.0]))
>>> w_bar
age     2.0
size    1.0
dtype: float64

A function gets plain arrays: it does not align by labels, and its axes are by position.  So arguments with the same
labels in another order are refused.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Unpack

from tapec import api
from tapec.bridge import mapped, positions
from tapec.options import Keywords


def value_and_grad(f: Callable[..., Any], wrt: Any = 0, **options: Unpack[Keywords]) -> LabelledDerivative:
    """`tapec.value_and_grad` for arguments with labels.

    f        a function of NumPy arrays that returns one float
    wrt      position or name of a parameter, or a tuple of those
    options  as for `tapec.grad`
    returns  a function of the same arguments: a DataArray, Variable, Series, DataFrame or Index is given to `f` as its
             array, a Dataset as a dict of arrays, lists, tuples and dicts of those item by item, and what has no labels
             as it is.  Values are not copied where the library does not.  A gradient has the type, labels, name and
             attributes of its argument
    raises   ValueError  for two arguments that have the same labels in another order, or, for a dimension of xarray
             that both have, other labels;
             TapecError  (see tapec.errors), such as UnsupportedType for columns of text
    """
    return LabelledDerivative(f, wrt, True, **options)


def grad(f: Callable[..., Any], wrt: Any = 0, **options: Unpack[Keywords]) -> LabelledDerivative:
    """`tapec.grad` for arguments with labels; see `value_and_grad`."""
    return LabelledDerivative(f, wrt, False, **options)


class LabelledDerivative:
    """A derivative whose arguments may have labels, and whose gradients then do."""

    def __init__(self, f: Callable[..., Any], wrt: Any, value: bool, **options: Unpack[Keywords]) -> None:
        self.f, self.wrt, self.value, self.options = f, wrt, value, options
        self.derivative = api.value_and_grad(f, wrt, **options) if value else api.grad(f, wrt, **options)
        positions(f, wrt)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        _check_labels([*arguments, *named.values()])
        by_name = {name: _plain(one) for name, one in named.items()}
        found = self.derivative(*map(_plain, arguments), **by_name)
        gradient = found[1] if self.value else found
        several = isinstance(self.wrt, tuple | list)
        sources = [self._source(one, arguments, named) for one in (self.wrt if several else (self.wrt,))]
        labelled = tuple(map(_labelled, sources, gradient if several else (gradient,)))
        whole = labelled if several else labelled[0]
        return (found[0], whole) if self.value else whole

    def _source(self, wrt: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if wrt in named:
            return named[wrt]
        bound = inspect.signature(self.f).bind(*arguments, **named)
        bound.apply_defaults()
        names = list(bound.signature.parameters)
        (place,) = positions(self.f, wrt) or ()
        return bound.arguments[names[place]]

    def __reduce__(self) -> Any:
        return functools.partial(LabelledDerivative, **self.options), (self.f, self.wrt, self.value)


def _is(argument: Any, library: str, *names: str) -> bool:
    """Whether an argument is of a class of a library, which need not be imported for that."""
    module = sys.modules.get(library)
    return module is not None and isinstance(argument, tuple(getattr(module, name) for name in names))


def _plain(argument: Any) -> Any:
    """An argument without labels."""
    if _is(argument, "xarray", "Dataset"):
        return {str(name): array.values for name, array in argument.data_vars.items()}
    if _is(argument, "xarray", "DataArray", "Variable"):
        return argument.values
    if _is(argument, "pandas", "Series", "DataFrame", "Index"):
        return argument.to_numpy()
    return mapped(_plain, argument)


def _labelled(source: Any, gradient: Any) -> Any:
    """A gradient with the labels of its argument."""
    if _is(source, "xarray", "Dataset"):
        return source.copy(data={name: gradient[str(name)] for name in source.data_vars})
    if _is(source, "xarray", "DataArray", "Variable"):
        return source.copy(data=gradient)
    if _is(source, "pandas", "Series"):
        return source._constructor(gradient, index=source.index, name=source.name).__finalize__(source)
    if _is(source, "pandas", "DataFrame"):
        return source._constructor(gradient, index=source.index, columns=source.columns).__finalize__(source)
    if _is(source, "pandas", "Index"):
        return gradient
    return mapped(_labelled, source, gradient)


def _check_labels(arguments: list[Any]) -> None:
    known = [(k, name, labels) for k, one in enumerate(arguments) for name, labels in _labels(one)]
    for (i, name, labels), (j, other, others) in itertools.combinations(known, 2):
        if i == j or labels.equals(others):
            continue
        if name is not None and name == other:
            raise ValueError(
                f"arguments {i} and {j} have different labels along {name!r}: align them, as by xarray.align"
            )
        if len(labels) == len(others) and labels.difference(others, sort=False).empty:
            raise ValueError(
                f"arguments {i} and {j} have the same labels in another order, and the function goes by position: "
                "reindex one of them"
            )


def _labels(argument: Any) -> Iterator[tuple[Any, Any]]:
    """The labels of an argument's axes, with the name of the dimension where xarray has one."""
    if _is(argument, "xarray", "DataArray", "Dataset"):
        yield from ((name, index) for name, index in argument.indexes.items() if name in argument.dims)
    elif _is(argument, "pandas", "Series"):
        yield None, argument.index
    elif _is(argument, "pandas", "DataFrame"):
        yield from ((None, argument.index), (None, argument.columns))
    elif isinstance(argument, dict | tuple | list):
        for one in argument.values() if isinstance(argument, dict) else argument:
            yield from _labels(one)
