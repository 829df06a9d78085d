"""Every array function: those that are inlined, those with rules of their own, and those refused.

LIBRARY     function -> plain Python function with its results, inlined by the frontend
FORMS       dotted name -> the same for calls with more arguments than a rule, or Numba's function, takes
METHODS     method name -> the same for `a.NAME(...)`; its first parameter is the array
STACKS      dotted name -> the same for stacks of matrices
PRIMITIVES  dotted name -> whole-array operation with a hand-written tangent and adjoint
INERT       dotted name -> why its result has no derivative; called as it is
OPAQUE      those of INERT whose result does depend on float arguments: active ones are an error
DRAWS       those of INERT that advance a stream of random numbers: never repeated, never dropped
FRONTEND    dotted names that the frontend lowers itself: creation, shapes, views
STATIC      dotted names that are called while compiling, on objects known by then
REFUSED     dotted name -> why it is not supported
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tapec.rules import (
    arrays_apply,
    arrays_create,
    arrays_fourier,
    arrays_index,
    arrays_inert,
    arrays_nan,
    arrays_norms,
    arrays_order,
    arrays_polynomial,
    arrays_product,
    arrays_quantile,
    arrays_random,
    arrays_reduce,
    arrays_select,
    arrays_shape,
    arrays_split,
    arrays_variance,
    linalg_calls,
    python_lists,
    scalars,
    scipy_functions,
    scipy_special_inert,
)
from tapec.rules.arrays_common import stop_gradient
from tapec.rules.linalg import PRIMITIVES, Primitive


def numpy_object(path: str) -> Any:
    """The NumPy object at a path such as "linalg.norm"; None where this NumPy has none."""
    found: Any = np
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _join(*tables: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    joined: dict[str, Callable[..., Any]] = {}
    for table in tables:
        repeated = joined.keys() & table.keys()
        if repeated:
            raise ValueError(f"array functions defined twice: {sorted(repeated)}")
        joined.update(table)
    return joined


_FUNCTIONS = _join(
    arrays_apply.FUNCTIONS,
    arrays_create.FUNCTIONS,
    arrays_fourier.FUNCTIONS,
    arrays_index.FUNCTIONS,
    arrays_inert.FUNCTIONS,
    arrays_nan.FUNCTIONS,
    arrays_order.FUNCTIONS,
    arrays_polynomial.FUNCTIONS,
    arrays_norms.FUNCTIONS,
    arrays_product.FUNCTIONS,
    arrays_quantile.FUNCTIONS,
    arrays_random.FUNCTIONS,
    arrays_reduce.FUNCTIONS,
    arrays_select.FUNCTIONS,
    arrays_shape.FUNCTIONS,
    arrays_split.FUNCTIONS,
    arrays_variance.FUNCTIONS,
    linalg_calls.FUNCTIONS,
)

LIBRARY: Mapping[object, Callable[..., Any]] = MappingProxyType(
    {numpy_object(path): function for path, function in _FUNCTIONS.items() if numpy_object(path) is not None}
    | scalars.FUNCTIONS
    | python_lists.FUNCTIONS
)



# those of NumPy whose subscripts are the caller's, and may be out of range; others look at what they are given
LOOKUPS = frozenset((arrays_select.take, arrays_select.take_along_axis))


def library_function(obj: Any) -> Callable[..., Any] | None:
    """The plain Python function of a function; None if it has none here."""
    extensions = sys.modules.get("numba.np.extensions")
    # Numba has it for NumPy before 2.5; whoever calls it has imported its module, which takes long
    if extensions is not None and obj is getattr(extensions, "cross2d", extensions):
        return arrays_product.cross2d
    try:
        return LIBRARY.get(obj) or scipy_functions.scipy_function(obj)
    except TypeError:
        return None


FORMS: Mapping[str, Callable[..., Any]] = MappingProxyType(arrays_inert.FORMS | linalg_calls.FORMS)

STACKS: Mapping[str, Callable[..., Any]] = MappingProxyType(linalg_calls.STACKS)

METHODS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    _join(
        *(
            home.METHODS
            for home in (arrays_index, arrays_order, arrays_reduce, arrays_select, arrays_shape, arrays_variance)
        )
    )
)

_REASONS = {
    "an integer or boolean, constant between jumps": (
        "all any allclose array_equal isin count_nonzero nonzero flatnonzero argwhere where argmax argmin"
        " nanargmax nanargmin argsort argpartition searchsorted digitize iscomplex isreal iscomplexobj isrealobj"
        " isscalar isneginf isposinf tril_indices triu_indices tril_indices_from triu_indices_from"
        " linalg.matrix_rank"
    ),
    "a table that depends on integers alone": "bartlett blackman hamming hanning",
    "a table; differentiating it with respect to its shape parameter is an error": "kaiser",
    "a draw: a constant": (
        "random.random random.random_sample random.ranf random.sample random.rand random.randn random.randint"
        " random.standard_normal random.standard_exponential random.standard_cauchy"
    ),
    "an integer draw: a constant": (
        "random.binomial random.geometric random.hypergeometric random.logseries random.multinomial"
        " random.negative_binomial random.poisson random.zipf"
    ),
    "a draw; differentiating it with respect to its parameters is an error": (
        "random.beta random.chisquare random.choice random.dirichlet random.f random.gamma random.gumbel"
        " random.laplace random.logistic random.noncentral_chisquare random.pareto random.permutation"
        " random.power random.rayleigh random.standard_gamma random.standard_t random.triangular"
        " random.vonmises random.wald random.weibull"
    ),
    "it sets the stream of random numbers": "random.seed",
}

INERT: Mapping[str, str] = MappingProxyType(
    {f"np.{name}": reason for reason, names in _REASONS.items() for name in names.split()}
)

OPAQUE = frozenset(name for name, reason in INERT.items() if reason.endswith("is an error"))

DRAWS = frozenset(name for name in INERT if name.startswith("np.random."))

_LOWERED = (
    "zeros empty ones full zeros_like empty_like ones_like full_like array asarray ascontiguousarray asfortranarray"
    " copy reshape ravel transpose permute_dims swapaxes expand_dims shape ndim size where ndindex ndenumerate dtype"
    " lib.stride_tricks.sliding_window_view mask_indices"
)

FRONTEND = frozenset(f"np.{name}" for name in _LOWERED.split())

STATIC = frozenset(
    {"builtins.ord", "np.finfo", "np.iinfo", "np.dtype", "np.result_type", "np.promote_types", "np.issubdtype"}
) | frozenset(scipy_special_inert.TABLES)

_REFUSALS = {
    "call np.linalg.eigvals of the companion matrix": "roots",
    "its views overlap; call np.lib.stride_tricks.sliding_window_view": "lib.stride_tricks.as_strided",
    "whether its result is complex depends on the numbers; call NumPy's own, of `x + 0j` for complex results": (
        "emath.sqrt emath.log emath.log2 emath.logn emath.log10 emath.power emath.arccos emath.arcsin emath.arctanh"
    ),
    "it makes a generator of random numbers; pass what it draws, or call np.random.normal and its kin": (
        "random.default_rng random.Generator random.RandomState random.SeedSequence random.PCG64"
    ),
    "it reads memory that no array owns": "frombuffer from_dlpack",
    "it reads or writes text or files": (
        "array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific"
        " fromfile fromregex fromstring genfromtxt load loadtxt save savetxt savez savez_compressed typename"
    ),
    "it asks about NumPy or about types, or changes what NumPy does": (
        "can_cast common_type einsum_path get_include get_printoptions getbufsize geterr geterrcall info isdtype"
        " isfortran iterable may_share_memory min_scalar_type mintypecode require set_printoptions setbufsize seterr"
        " seterrcall shares_memory show_config show_runtime"
    ),
    "it works on dates": "busday_count busday_offset datetime_as_string datetime_data is_busday isnat",
    "it works on bits": "bitwise_count packbits unpackbits",
    "it makes an object of a class of NumPy's": "asmatrix bmat fromiter frompyfunc nested_iters",
    "call np.histogram": "histogram2d histogramdd",
    "call np.unique": "unique_all unique_counts unique_inverse",
    "it permutes its argument in place": "random.shuffle",
    "iterate over np.ndindex(a.shape)": "nditer",
    "call the functions of np.polynomial.polynomial": "polynomial.polynomial.Polynomial polynomial.polyutils.as_series",
}

REFUSED: Mapping[str, str] = MappingProxyType(
    {f"np.{name}": reason for reason, names in _REFUSALS.items() for name in names.split()}
)

_WHY = {id(numpy_object(name.removeprefix("np."))): reason for name, reason in REFUSED.items()}
_WHY.pop(id(None), None)
_SPECIAL = {name: why for why, names in scipy_special_inert.REFUSALS.items() for name in names.split()}


def refusal(obj: Any) -> str | None:
    """Why a function is not supported; None for those of which no more is known than that."""
    name = getattr(obj, "__name__", "")
    if name in _SPECIAL and getattr(sys.modules.get("scipy.special"), name, None) is obj:
        return _SPECIAL[name]
    return _WHY.get(id(obj))


__all__ = [
    "DRAWS",
    "FORMS",
    "FRONTEND",
    "INERT",
    "LIBRARY",
    "library_function",
    "METHODS",
    "OPAQUE",
    "PRIMITIVES",
    "REFUSED",
    "STACKS",
    "STATIC",
    "Primitive",
    "numpy_object",
    "refusal",
    "stop_gradient",
]
