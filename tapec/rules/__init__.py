"""The rules: what the derivative of every operation is.

`rule_for` finds the rule of an operation, `function_name` the operation that a Python function stands for.

Functions of numbers, and of arrays element by element, as lines of a table:

| subject | module |
|---|---|
| how a line is read, turned round and joined with others | `formula.py`, `table.py` |
| operators, `exp`, `sin`, `maximum` and the like | `elementary.py` |
| special functions of `math`, NumPy and our own runtime: `erf`, `gamma`, `sinc` | `math_special_functions.py` |
| functions of `scipy.special` | `scipy_special_formulas.py` |
| those of them that are distributions | `scipy_special_distributions.py` |
| those of them with several results, or made of others | `scipy_special_calls.py` |
| tables of them, and what is refused | `scipy_special_inert.py` |
| operations without a derivative, with the reason | `constant.py` |
| functions made of others, such as `np.frexp`; complex numbers | `scalars.py`, `complex_numbers.py` |

Functions of whole arrays (`library.py` has the list, and what is refused):

| subject | module |
|---|---|
| tangent and adjoint written out: products, solves, inverses, `cholesky`, `eigh`, `pinv` | `linalg.py` |
| systems factorised once; least squares | `factorised_systems.py`, `least_squares.py` |
| the same of `svd`, `qr` and Fourier transforms | `svd_and_qr.py`, `fourier_rules.py` |
| the same of eigenvalues of general matrices | `eigen_rules.py` |
| solves in several directions at once | `systems_in_lanes.py` |
| `np.linalg`, `scipy.linalg`, as they are called | `linalg_calls.py`, `scipy_linalg.py` |
| factors of general matrices; complex matrices | `scipy_lu.py`, `complex_linalg.py` |
| `np.fft`, `scipy.fft`; its cosine and sine transforms | `arrays_fourier.py`, `cosine_transforms.py` |
| ranges and grids; joining and rearranging | `arrays_create.py`, `arrays_shape.py` |
| lists of views; padding | `arrays_split.py`, `arrays_pad.py` |
| picking, inserting, storing | `arrays_select.py`, `arrays_index.py` |
| sums, means, extremes; without nan | `arrays_reduce.py`, `arrays_nan.py` |
| medians and quantiles; sorting, sets, histograms | `arrays_quantile.py`, `arrays_order.py` |
| products of vectors, interpolation | `arrays_product.py` |
| norms; variances, deviations, covariance | `arrays_norms.py`, `arrays_variance.py` |
| `einsum`, stacks of matrices, windows; polynomials | `arrays_tensor.py`, `arrays_polynomial.py` |
| functions applied to lanes and axes; random draws | `arrays_apply.py`, `arrays_random.py` |
| results without derivative | `arrays_inert.py` |
| heaps and sorted lists of Python's | `python_lists.py` |
| coefficients of power series, of whole arrays and of powers | `power_series.py` |
| what these share; functions that lowering calls for syntax | `arrays_common.py`, `internal.py` |
| SciPy: integrals of samples, of functions | `scipy_integrate.py`, `scipy_quadrature.py` |
| SciPy: images, between pixels; signals | `scipy_ndimage.py`, `scipy_image_places.py`, `scipy_signal.py` |
| SciPy: sparse matrices; two of them | `scipy_sparse.py`, `sparse_pairs.py` |
| SciPy: polynomials between points, tables | `scipy_interpolate.py` |
| SciPy: distributions; functions of other parts | `scipy_stats.py`, `scipy_functions.py` |
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapec.rules.constant import CONSTANT
from tapec.rules.elementary import ELEMENTARY
from tapec.rules.formula import SCIPY
from tapec.rules.math_special_functions import SPECIAL
from tapec.rules.table import Rule, Table, join

__all__ = ["RULES", "Rule", "Table", "function_name", "rule_for", "scipy_rules", "shown"]

RULES: Table = join(ELEMENTARY, SPECIAL, CONSTANT)

# the functions behind the operators' signs
_OPERATORS: dict[str, tuple[Any, ...]] = {
    "+": (operator.add,),
    "-": (operator.sub,),
    "*": (operator.mul,),
    "/": (operator.truediv,),
    "//": (operator.floordiv,),
    "%": (operator.mod,),
    "**": (operator.pow, builtins.pow),
    "<<": (operator.lshift,),
    ">>": (operator.rshift,),
    "&": (operator.and_,),
    "|": (operator.or_,),
    "^": (operator.xor,),
    "<": (operator.lt,),
    "<=": (operator.le,),
    ">": (operator.gt,),
    ">=": (operator.ge,),
    "==": (operator.eq,),
    "!=": (operator.ne,),
    "neg": (operator.neg,),
    "pos": (operator.pos,),
    "~": (operator.invert,),
    "not": (operator.not_,),
    "abs": (builtins.abs, operator.abs),
    "cast.float64": (builtins.float, np.float64),
    "cast.int64": (builtins.int, np.int64),
    "cast.bool": (builtins.bool, np.bool_),
}

_RUNTIME = "tapec_runtime"
_NUMPY = os.path.dirname(np.__file__) + os.sep


# what SciPy calls functions that NumPy and Python have, too
_SCIPY_TOO = {"erf": "math.erf", "erfc": "math.erfc", "exp2": "np.exp2", "expm1": "np.expm1", "log1p": "np.log1p"}
_SCIPY_TOO |= {"cbrt": "np.cbrt"}


def rule_for(fn: str) -> Rule | None:
    """The rule of an operation such as "+", "np.sin", "math.sin" or "cast.float32"."""
    found = RULES.get(fn)
    return scipy_rules().get(fn) if found is None and fn.startswith(SCIPY) else found


def shown(fn: str) -> str:
    """The name of an operation as the user knows it."""
    return fn.replace(SCIPY, "scipy.special")


@functools.cache
def scipy_rules() -> Table:
    """The rules of SciPy's special functions; programs without them do not pay for reading them."""
    from tapec.rules.scipy_special_formulas import SCIPY_SPECIAL

    return SCIPY_SPECIAL


def _scipy_name(function: np.ufunc) -> str | None:
    """The operation that a function of `scipy.special` stands for."""
    name = function.__name__
    if getattr(sys.modules.get("scipy.special"), name, None) is not function:
        return None
    own = f"{SCIPY}.{name}"
    return _SCIPY_TOO.get(name) or (own if own in scipy_rules() else None)


def function_name(obj: object) -> str | None:
    """The operation that a Python function stands for; None if there is no rule."""
    module = getattr(obj, "__module__", None)
    if isinstance(module, str) and module.partition(".")[0] == _RUNTIME:
        name = getattr(obj, "__name__", "")
        if module == SCIPY:
            return f"{SCIPY}.{name}" if f"{SCIPY}.{name}" in scipy_rules() else None
        # `functools.wraps` has another function say that it is from there
        own = getattr(sys.modules.get(module), name, None) is obj
        return f"{_RUNTIME}.{name}" if own and f"{_RUNTIME}.{name}" in RULES else None
    try:
        found = _names().get(obj)
    except TypeError:  # unhashable
        return None
    if found is not None or "scipy.special" not in sys.modules:
        return found
    if isinstance(obj, np.ufunc):
        return _scipy_name(obj)
    return f"{_RUNTIME}.polygamma" if obj is getattr(sys.modules["scipy.special"], "polygamma", None) else None


@functools.lru_cache(maxsize=1)
def _names() -> dict[object, str]:
    names: dict[object, str] = {}
    for fn in RULES:
        for function in _functions(fn):
            # a function's first name in the table is the one that code is written with
            names.setdefault(function, fn)
    return names


def _functions(fn: str) -> Iterator[object]:
    """The Python functions that an operation's name stands for."""
    yield from _OPERATORS.get(fn, ())
    module, _, name = fn.rpartition(".")
    homes: dict[str, Any] = {"": builtins, "np": np, "cast": np, "math": math}
    # NumPy 1 lacks the names of the array API
    if fn not in _OPERATORS and module in homes and hasattr(homes[module], name):
        found = getattr(homes[module], name)
        # where somebody has put a function of his own in its place, the name says nothing
        if not isinstance(found, types.FunctionType) or found.__code__.co_filename.startswith(_NUMPY):
            yield found
