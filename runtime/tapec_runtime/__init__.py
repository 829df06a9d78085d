"""What generated code may call at run time; imports nothing of the compiler."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tapec_runtime.index_errors import IndexOutOfRange
from tapec_runtime.non_finite import NonFiniteValue
from tapec_runtime.variables import UnconnectedGradients, Variable, constant, stop_gradient

if TYPE_CHECKING:
    from tapec_runtime.aliasing import (
        AliasedArguments,
        AliasedElements,
        AliasedInside,
        meet,
        overlap,
        overlaps_itself,
    )
    from tapec_runtime.array_tests import first_not_finite, largest
    from tapec_runtime.checkpoint_schedule import checkpointed, next_checkpoint
    from tapec_runtime.complex_parts import complex64_array, complex_array
    from tapec_runtime.decompositions import pseudo_inverse, thin_qr, thin_svd
    from tapec_runtime.eigenvalues import eigen, eigen_of_parts
    from tapec_runtime.error_function import erf
    from tapec_runtime.exp_log import exp, expm1, log, log1p
    from tapec_runtime.extremes import maximum, minimum
    from tapec_runtime.factorisations import factorised, factorised_lower, solved, solved_transposed
    from tapec_runtime.fourier import dft, real_dft, real_inverse
    from tapec_runtime.gamma_function import digamma, lgamma
    from tapec_runtime.hyperbolic import cosh, sinh, tanh
    from tapec_runtime.independence import independent
    from tapec_runtime.index_sets import lies_in, noted, noted_all, set_at, union, union_of
    from tapec_runtime.lambert import lambert_w
    from tapec_runtime.looked_up_places import lie_behind
    from tapec_runtime.matrix_products import product, product_in_rows
    from tapec_runtime.opaque_numbers import opaque
    from tapec_runtime.other_version import OtherVersion
    from tapec_runtime.powers import power
    from tapec_runtime.remainders import remainder
    from tapec_runtime.sorted_search import places, searchsorted, searchsorted_right
    from tapec_runtime.sparse_systems import sparse_solved
    from tapec_runtime.special import exponent, polygamma, sinc_derivative
    from tapec_runtime.stack_arrays import stack_array
    from tapec_runtime.triangular import cholesky_seed
    from tapec_runtime.trigonometric import arctan, cos, sin, tan
    from tapec_runtime.unsupported import Unsupported
    from tapec_runtime.widths import wide_vectors

__all__ = [
    "AliasedArguments",
    "AliasedElements",
    "AliasedInside",
    "IndexOutOfRange",
    "NonFiniteValue",
    "OtherVersion",
    "UnconnectedGradients",
    "Unsupported",
    "Variable",
    "arctan",
    "checkpointed",
    "cholesky_seed",
    "complex64_array",
    "complex_array",
    "constant",
    "cos",
    "cosh",
    "dft",
    "digamma",
    "eigen",
    "eigen_of_parts",
    "erf",
    "exp",
    "expm1",
    "exponent",
    "factorised",
    "factorised_lower",
    "first_not_finite",
    "independent",
    "lambert_w",
    "largest",
    "lgamma",
    "lie_behind",
    "lies_in",
    "log",
    "log1p",
    "maximum",
    "meet",
    "minimum",
    "next_checkpoint",
    "noted",
    "noted_all",
    "opaque",
    "overlap",
    "overlaps_itself",
    "places",
    "polygamma",
    "power",
    "product",
    "product_in_rows",
    "pseudo_inverse",
    "real_dft",
    "real_inverse",
    "remainder",
    "searchsorted",
    "searchsorted_right",
    "set_at",
    "sin",
    "sinc_derivative",
    "sinh",
    "solved",
    "solved_transposed",
    "sparse_solved",
    "stack_array",
    "stop_gradient",
    "tan",
    "tanh",
    "thin_qr",
    "thin_svd",
    "union",
    "union_of",
    "wide_vectors",
]

# these modules need Numba, which takes longer to import than the rest together
_LAZY = {
    "AliasedArguments": "aliasing",
    "AliasedElements": "aliasing",
    "AliasedInside": "aliasing",
    "OtherVersion": "other_version",
    "Unsupported": "unsupported",
    "arctan": "trigonometric",
    "checkpointed": "checkpoint_schedule",
    "cholesky_seed": "triangular",
    "complex64_array": "complex_parts",
    "complex_array": "complex_parts",
    "cos": "trigonometric",
    "cosh": "hyperbolic",
    "dft": "fourier",
    "digamma": "gamma_function",
    "eigen": "eigenvalues",
    "eigen_of_parts": "eigenvalues",
    "erf": "error_function",
    "exp": "exp_log",
    "expm1": "exp_log",
    "exponent": "special",
    "factorised": "factorisations",
    "factorised_lower": "factorisations",
    "first_not_finite": "array_tests",
    "independent": "independence",
    "lambert_w": "lambert",
    "largest": "array_tests",
    "lgamma": "gamma_function",
    "lie_behind": "looked_up_places",
    "lies_in": "index_sets",
    "log": "exp_log",
    "log1p": "exp_log",
    "maximum": "extremes",
    "meet": "aliasing",
    "minimum": "extremes",
    "next_checkpoint": "checkpoint_schedule",
    "noted": "index_sets",
    "noted_all": "index_sets",
    "opaque": "opaque_numbers",
    "overlap": "aliasing",
    "overlaps_itself": "aliasing",
    "places": "sorted_search",
    "polygamma": "special",
    "power": "powers",
    "product": "matrix_products",
    "product_in_rows": "matrix_products",
    "pseudo_inverse": "decompositions",
    "real_dft": "fourier",
    "real_inverse": "fourier",
    "remainder": "remainders",
    "scipy_special": "scipy_special",
    "searchsorted": "sorted_search",
    "searchsorted_right": "sorted_search",
    "set_at": "index_sets",
    "sin": "trigonometric",
    "sinc_derivative": "special",
    "sinh": "hyperbolic",
    "solved": "factorisations",
    "solved_transposed": "factorisations",
    "sparse_solved": "sparse_systems",
    "stack_array": "stack_arrays",
    "tan": "trigonometric",
    "tanh": "hyperbolic",
    "thin_qr": "decompositions",
    "thin_svd": "decompositions",
    "union": "index_sets",
    "union_of": "index_sets",
    "wide_vectors": "widths",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tapec_runtime.locking import compiler_lock, refresh

    with compiler_lock:
        module = importlib.import_module(f"{__name__}.{_LAZY[name]}")
        found = module if name == _LAZY[name] else getattr(module, name)
        # a compilation may be under way, which knows what had been registered when it began
        refresh()
        globals()[name] = found
    return found
