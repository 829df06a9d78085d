"""tapec: derivatives of numerical Python, as readable Python."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from numpy import complex64, complex128, float32, float64, int32, int64

from tapec.api import emit, grad, value_and_grad
from tapec.batching import vmap
from tapec.check import check_grads
from tapec.debugging import debug_nans
from tapec.explanation import explain
from tapec.functions import custom_gradient, custom_jvp, function, opaque, register
from tapec.gradient_tape import GradientTape
from tapec.implicit import converged, fixed_point, implicit_root
from tapec.jacobians import hessian, hvp, jacfwd, jacobian, jacrev
from tapec.linear_map import LinearMap, linearize
from tapec.product_functions import gnvp, hessian_diag, hessp, jvp_fun, vjp_fun
from tapec.products import jvp, vjp
from tapec.sparse import sparse_hessian, sparse_jacobian
from tapec.version import __version__ as __version__
from tapec_runtime.indexed_slices import IndexedSlices
from tapec_runtime.variables import UnconnectedGradients, Variable, constant, stop_gradient

if TYPE_CHECKING:
    from tapec_runtime.checkpoint_schedule import checkpointed

__all__ = [
    "GradientTape",
    "IndexedSlices",
    "LinearMap",
    "UnconnectedGradients",
    "Variable",
    "check_grads",
    "checkpointed",
    "complex64",
    "complex128",
    "constant",
    "converged",
    "custom_gradient",
    "custom_jvp",
    "debug_nans",
    "emit",
    "explain",
    "fixed_point",
    "float32",
    "float64",
    "function",
    "gnvp",
    "grad",
    "hessian",
    "hessian_diag",
    "hessp",
    "hvp",
    "implicit_root",
    "int32",
    "int64",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "jvp_fun",
    "linearize",
    "opaque",
    "register",
    "sparse_hessian",
    "sparse_jacobian",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vjp_fun",
    "vmap",
]


def __dir__() -> list[str]:
    return ["__version__", *__all__]


# bridges to other libraries, which are imported with those
_BRIDGES = frozenset({"dask", "jax", "labelled", "ode", "pytensor", "scipy", "sklearn", "torch"})


def __getattr__(name: str) -> Any:
    if name in _BRIDGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "load_ipython_extension":
        # what `%load_ext tapec` asks for
        return importlib.import_module(f"{__name__}.cli.cell_magic").load_ipython_extension
    # its module needs Numba, which takes longer to import than the rest together
    if name != "checkpointed":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import tapec_runtime

    globals()[name] = found = tapec_runtime.checkpointed
    return found
