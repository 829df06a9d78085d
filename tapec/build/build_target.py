"""What is built: a derivative of one function for one signature, and the files that hold it.

    Target   one function of the result, such as the gradient of `model:loss` by `theta`
    Output   one file or set of files, with the targets in it
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tapec.backend.program import Program, resolve_wrt
from tapec.errors import UsageError
from tapec.options import DEFAULT, Options

KINDS = ("source", "library", "extension")
# as in `kinds.KINDS` and `composed.KINDS`
MODES = (
    *("value_and_grad", "grad", "jvp", "vjp", "hvp", "gnvp", "hessian_diag", "primal"),
    *("jacobian", "jacfwd", "jacrev", "hessian"),
)
# what is not built, and what is in its place
NOT_BUILT = {
    "hessp": 'mode "hvp" takes the vector last, and computes the same product',
    "jvp_fun": 'mode "jvp"',
    "vjp_fun": 'mode "vjp"',
    "linearize": "it is three functions, which hand arrays of their own to one another: `tapec linearize` prints them; "
    'mode "jvp" takes the point and the direction',
    "vmap": 'set `mapped = tapec.vmap(f, in_axes=...)` in the module, and build mode "primal" of `mapped`',
    **dict.fromkeys(
        ("sparse_jacobian", "sparse_hessian"),
        "its pattern belongs to arguments: `tapec sparse-jacobian` and `tapec sparse-hessian` with `--args` print "
        'a function for the pattern at them; build mode "primal" of that',
    ),
}
# what runs on every processor of the architecture
BASELINE = "baseline"


@dataclass(frozen=True)
class Target:
    """A derivative to build.

    function   `FILE.py:FUNCTION` or `package.module:FUNCTION`
    wrt        position or name of a parameter, or a tuple of those; "primal" takes none
    signature  argument types in Numba's notation; empty: the function's annotations
    mode       one of `MODES`
    name       what the result is called; empty: as in generated source, such as `loss_value_and_grad`
    options    as for `tapec.grad`
    """

    function: str
    wrt: Any = 0
    signature: str = ""
    mode: str = "value_and_grad"
    name: str = ""
    options: Options = DEFAULT


@dataclass(frozen=True)
class Output:
    """Targets that are built into one product.

    kind        one of `KINDS`
    name        a dotted module name (source, extension), or the name of a library
    targets     what is in it, in this order
    cpu         a processor in LLVM's words (`x86-64-v3`), `native`, or `baseline`
    contiguous  library only: arrays of C order alone, without strides in the interface
    root        the folder that files are relative to and modules are found from
    command     what asks for it again
    """

    kind: str
    name: str
    targets: tuple[Target, ...]
    cpu: str = BASELINE
    contiguous: bool = False
    root: Path = Path()
    command: str = "tapec build"


@dataclass(frozen=True)
class DerivedTarget:
    """The generated function of a target.

    target     what was asked for, with its name filled in
    function   the primal
    program    generated source, under the target's name
    arguments  the Numba type of each of `program.params`
    own        how many of those are the function's own; tangents, or a vector, follow
    """

    target: Target
    function: types.FunctionType
    program: Program
    arguments: tuple[Any, ...]
    own: int


def derive(
    targets: Iterable[Target], root: Path = Path(), contiguous: bool = False, apart: bool = False
) -> list[DerivedTarget]:
    """Load the functions of targets and generate their derivatives; what several targets name is one function.

    root        the folder that a target's file, if it names one, is relative to
    contiguous  whether arrays of any strides become arrays of C order
    raises  TapecError (see tapec.errors) for a function that is not found or not differentiable
    """
    from tapec.loading import load
    from tapec.plain_functions import plain_function
    from tapec.signatures import from_annotations, parse

    # a file is run anew whenever it is loaded, and then has other functions
    functions: dict[str, types.FunctionType] = {}
    found = []
    for target in targets:
        if target.function not in functions:
            functions[target.function] = plain_function(load(target.function, root))
        function = functions[target.function]
        signature = parse(target.signature) if target.signature else from_annotations(function)
        taken = tuple(map(_in_c_order, signature)) if contiguous else signature
        found.append(derive_function(target, function, taken, apart))
    return found


def derive_function(
    target: Target, function: types.FunctionType, signature: tuple[Any, ...], apart: bool = False
) -> DerivedTarget:
    """Generate the derivative that a target asks for, of a function at hand, for Numba types of its arguments.

    apart  whether versions of it are functions by themselves
    """
    from tapec.api import program_of
    from tapec.backend.signature import arguments
    from tapec.frontend.source.function_source import parameters

    own = parameters(function)
    labels = list(own)
    variadic = any(one.kind is one.VAR_POSITIONAL for one in own.values())
    if len(signature) > len(labels) and not variadic:
        raise UsageError(
            f"the signature {target.signature!r} has {len(signature)} types, but `{function.__name__}` has "
            f"{len(labels)} parameters",
            hint="give one type for each parameter",
        )
    program = program_of(function, arguments(signature, labels), target.mode, target.wrt, target.options, apart=apart)
    program = program.named(target.name or program.name)
    extra = _extra(target, function, program, signature)
    types_ = (*signature, *extra)
    return DerivedTarget(replace(target, name=program.name), function, program, types_, len(signature))


def _in_c_order(numba_type: Any) -> Any:
    """The type with arrays of C order for its arrays of any strides."""
    from numba.core import types as nt

    if isinstance(numba_type, nt.Array) and numba_type.layout == "A":
        return numba_type.copy(layout="C")
    if isinstance(numba_type, nt.BaseTuple) and not isinstance(numba_type, nt.BaseNamedTuple):
        structure: Any = numba_type
        return nt.Tuple(tuple(_in_c_order(item) for item in structure.types))
    return numba_type


def _extra(target: Target, function: types.FunctionType, program: Program, signature: tuple[Any, ...]) -> list[Any]:
    """The types of what a derivative takes after the function's own arguments: tangents, a cotangent, or a vector."""
    if target.mode == "vjp":
        return [_cotangent(program.lowered.result)]
    if target.mode not in ("jvp", "hvp", "gnvp"):
        return []
    positions, single = resolve_wrt(function, target.wrt)
    moving = [signature[position] for position in positions]
    if target.mode == "jvp" or single:
        return moving
    from numba.core import types as nt

    return [nt.Tuple(moving)]


def _cotangent(result: Any) -> Any:
    """The Numba type of the cotangent of a result; none where there is no float."""
    from numba.core import types as nt

    from tapec.frontend.evaluator.numba_types import to_numba

    if result is None:
        return nt.none
    if result[0] in ("tuple", "list"):
        return nt.Tuple([_cotangent(item) for item in result[2]])
    if result[0] == "complex":
        kind: Any = getattr(nt, result[1].dtype)
        return nt.Array(kind, result[1].ndim, "A") if hasattr(result[1], "ndim") else kind
    return to_numba(result[1]) if result[1].is_float else nt.none
