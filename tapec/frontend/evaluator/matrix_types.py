"""Result types of linear algebra, as Numba gives them.

Numba types one of these functions by compiling its own implementation, which takes seconds and
which a program that is only printed, or run by the interpreter, never needs.  Arguments that are
not in this table are left to Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types as nt

from tapec.frontend.evaluator import numba_types
from tapec.syntax.types import Array, Type

_RANKS: dict[str, tuple[tuple[int, ...], ...]] = {
    "np.dot": ((1, 1), (1, 2), (2, 1), (2, 2)),
    **dict.fromkeys(("np.linalg.solve", "tapec_runtime.solved", "tapec_runtime.solved_transposed"), ((2, 1), (2, 2))),
    "tapec_runtime.cholesky_seed": ((2, 2),),
    **dict.fromkeys(("tapec_runtime.factorised", "tapec_runtime.factorised_lower"), ((2,),)),
    **dict.fromkeys(("tapec_runtime.thin_svd", "tapec_runtime.thin_qr", "tapec_runtime.eigen"), ((2,),)),
    "tapec_runtime.eigen_of_parts": ((2, 2),),
    **{f"np.linalg.{name}": ((2,),) for name in ("inv", "pinv", "det", "slogdet", "cholesky", "eigh")},
}


# what gives as many axes as it is given, and takes a number, too
_ONE_RESULT = frozenset({"tapec_runtime.pseudo_inverse", "tapec_runtime.real_inverse"})
_TRANSFORMS = frozenset({"tapec_runtime.dft", "tapec_runtime.real_dft", *_ONE_RESULT})


def result_type(name: str, function: Callable[..., Any], args: tuple[Type, ...]) -> nt.Type | None:
    """The Numba type that `name` returns for arguments of these types; None if Numba refuses them."""
    arrays = [arg for arg in args if isinstance(arg, Array)]
    ranks = tuple(arg.ndim for arg in arrays)
    one_dtype = len({arg.dtype for arg in arrays}) == 1 and arrays[0].is_float
    if len(arrays) == len(args) and one_dtype and ranks in _RANKS.get(name, ()):
        return _known(name, numba_types.to_numba(arrays[0].element), ranks)
    if name == "tapec_runtime.sparse_solved" and isinstance(args[0], Array) and args[0].is_float:
        return nt.Array(numba_types.to_numba(args[0].element), 2, "C")
    if name in _TRANSFORMS and isinstance(args[0], Array) and args[0].is_float:
        part = nt.Array(numba_types.to_numba(args[0].element), args[0].ndim, "C")
        return part if name in _ONE_RESULT else nt.UniTuple(part, 2)
    return numba_types.result_type(function, args)


def _known(name: str, element: nt.Type, ranks: tuple[int, ...]) -> nt.Type:
    match name:
        case "np.dot":
            rank = sum(ranks) - 2
            return nt.Array(element, rank, "C") if rank else element
        case "np.linalg.solve" | "tapec_runtime.solved" | "tapec_runtime.solved_transposed":
            return nt.Array(element, ranks[1], "C" if ranks[1] == 1 else "F")
        case "np.linalg.det":
            return nt.float64
        case "np.linalg.slogdet":
            return nt.UniTuple(nt.float64, 2)
        case "tapec_runtime.thin_svd":
            return nt.Tuple((nt.Array(element, 2, "C"), nt.Array(element, 1, "C"), nt.Array(element, 2, "C")))
        case "tapec_runtime.thin_qr":
            return nt.UniTuple(nt.Array(element, 2, "C"), 2)
        case "tapec_runtime.eigen" | "tapec_runtime.eigen_of_parts":
            values, vectors = nt.Array(element, 1, "C"), nt.Array(element, 2, "C")
            return nt.Tuple((values, values, vectors, vectors))
        case "np.linalg.eigh":
            return nt.Tuple((nt.Array(element, 1, "C"), nt.Array(element, 2, "F")))
    in_columns = ("np.linalg.inv", "np.linalg.pinv")
    return nt.Array(element, 2, "F" if name in in_columns else "C")
