"""`tapec grad`, `tapec jvp` and others: the source of a derivative, written or compared with a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from tapec.cli.shared_options import (
    WrongInput,
    arguments_option,
    compiler_flags,
    compiler_options,
    deliver,
    guarded,
    in_order,
    is_current,
    portable,
    progress,
    signature_option,
    spoken_command,
    target_argument,
    target_options,
)
from tapec.cli.target_argument import arguments_of, signature_of, sources

if TYPE_CHECKING:
    from tapec.backend.program import Program
    from tapec.options import Keywords

_output_options = in_order(
    click.option(
        "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, not stdout."
    ),
    click.option(
        "--check",
        "check",
        is_flag=True,
        help="Write nothing; show what is out of date in the file, and fail if anything is.",
    ),
)


@click.command(
    epilog="""\b
    Examples:
      tapec grad chain.py:energy --wrt u,stiffness --sig "f8[::1], f8[::1]"
      tapec grad chain.py:energy --args "np.ones(4), np.ones(3)"
      tapec grad chain.py:energy --sig "f8[:], f8[:]" --gradient-only -o energy_gradient.py
      tapec grad chain.py:energy --sig "f8[:], f8[:]" --gradient-only -o energy_gradient.py --check
    """
)
@target_options
@_output_options
@click.option(
    "--value/--gradient-only",
    default=True,
    help="Return (value, gradient), which is the default, or the gradient alone.",
)
@compiler_options
@guarded
def grad(value: bool, **asked: Any) -> None:
    """Print the source of the gradient of TARGET.

    The output is a module of its own that needs numpy, numba and, for vectorised and for special
    functions, tapec_runtime, as its import statements say.
    """
    _emit("grad", "value_and_grad" if value else "grad", **asked)


# kind of derivative: what is printed, and what the printed function takes and returns
_FURTHER = {
    "jvp": (
        "the directional derivative of TARGET (forward mode)",
        "The function takes a tangent for each argument that `--wrt` names after the arguments, and returns the value "
        "and its tangent.",
    ),
    "vjp": (
        "the product of a cotangent and TARGET's Jacobian (reverse mode)",
        "The function takes the cotangent after the arguments, and returns the value and the adjoints.",
    ),
    "hvp": (
        "the product of TARGET's Hessian and a vector",
        "The function takes the vector after the arguments.",
    ),
    "hessp": (
        "the product of TARGET's Hessian and a vector, in SciPy's order",
        "The function takes the vector after the argument that `--wrt` names.",
    ),
    "gnvp": (
        "the Gauss-Newton product of TARGET's Jacobian and a vector",
        "The function takes the vector after the arguments.",
    ),
    "hessian_diag": ("the diagonal of TARGET's Hessian", "The function takes the arguments."),
    "jacobian": ("the Jacobian of TARGET", "The function takes the arguments."),
    "jacfwd": ("the Jacobian of TARGET by columns", "The function takes the arguments."),
    "jacrev": ("the Jacobian of TARGET by rows", "The function takes the arguments."),
    "hessian": ("the Hessian of TARGET", "The function takes the arguments."),
    "sparse_jacobian": (
        "the sparse Jacobian of TARGET: the program of its pattern, and that of its columns",
        "The first takes an array for sets after the arguments, and returns the sets of sources that the results "
        "depend on. The second takes the colours of the columns and an array for the products, a row for each colour. "
        "With `--args` the pattern at these arguments is printed, and a function of the arguments "
        "that returns the values of its elements.",
    ),
    "sparse_hessian": (
        "the sparse Hessian of TARGET: the program of its pattern, and that of its columns",
        "They take what those of `tapec sparse-jacobian` take.",
    ),
    "linearize": (
        "the linear map of TARGET at a point: the program of its tangents, and the two of the transposed map",
        "The first takes a tangent for each argument that `--wrt` names after the arguments. The second returns the "
        "value and two tuples of what the third needs, which takes these and the cotangents, and returns the adjoints.",
    ),
}


def _further(kind: str, what: str, taken: str) -> click.Command:
    """The command for one kind of derivative."""
    name = kind.replace("_", "-")

    def command(**asked: Any) -> None:
        _emit(name, kind, **asked)

    command.__doc__ = f"Print the source of {what}.\n\n{taken}"
    example = f'tapec {name} chain.py:energy --wrt u --sig "f8[::1], f8[::1]" -o energy_{kind}.py'
    decorated = target_options(_output_options(compiler_options(guarded(command))))
    made = click.command(name, short_help=f"Print {what}.", epilog=f"\b\nExample:\n  {example}\n")
    return made(decorated)


further = [_further(kind, *words) for kind, words in _FURTHER.items()]


@click.command(
    short_help="Print the Taylor coefficients of TARGET.",
    epilog="""\b
    Example:
      tapec taylor chain.py:energy --order 4 --sig "f8[::1], f8[::1]" -o energy_taylor.py
    """,
)
@target_options
@_output_options
@click.option("--order", type=click.IntRange(min=1), required=True, help="The highest power of the expansion.")
@compiler_options
@guarded
def taylor(**asked: Any) -> None:
    """Print the source of the Taylor coefficients of TARGET along a line.

    The function takes a tangent for each argument that `--wrt` names after the arguments, and returns a tuple of the
    coefficients, the value first.
    """
    _emit("taylor", "taylor", **asked)


@click.command(
    short_help="Print TARGET for a batch of examples.",
    epilog="""\b
    Example:
      tapec vmap chain.py:energy --in-axes "0, None" --sig "f8[:, ::1], f8[::1]" -o energies.py
    """,
)
@target_argument
@signature_option
@arguments_option
@_output_options
@click.option(
    "--in-axes", default="0", show_default=True, metavar="AXES", help="The axis of the examples, or one per argument."
)
@click.option("--out-axes", type=int, default=0, show_default=True, help="The axis of the examples in the results.")
@compiler_options
@guarded
def vmap(in_axes: str, out_axes: int, **asked: Any) -> None:
    """Print the source of TARGET for a batch of examples: a loop over them.

    AXES has a number for each argument, or None for one that all examples share, and comma between; one number is for
    all arguments.  `--sig` has the types of the batches.
    """
    from tapec.batching import axes_of, batched
    from tapec.plain_functions import plain_function

    def looped(f: Any) -> Any:
        function = plain_function(f)
        return batched(function, axes_of(function, _axes(in_axes), out_axes), out_axes)

    given = ("--in-axes", in_axes, "0"), ("--out-axes", out_axes, 0)
    _emit("vmap", "primal", wrt="", made_of=looped, further=given, **asked)


def _axes(text: str) -> Any:
    """The axes that `--in-axes` says.

    >>> _axes("0"), _axes("0, None,1"), _axes("0,")
    (0, (0, None, 1), (0,))
    """
    parts = [part.strip() for part in text.split(",")]
    try:
        axes = tuple(None if part == "None" else int(part) for part in parts if part)
    except ValueError:
        raise WrongInput(f"--in-axes {text!r}: write numbers or None, comma between") from None
    return axes if len(parts) > 1 else axes[0] if axes else axes


def _emit(
    command: str,
    kind: str,
    target: str,
    wrt: str,
    sig: str | None,
    args: str | None,
    output: Path | None,
    check: bool,
    options: dict[str, Any],
    order: int = 0,
    made_of: Callable[[Any], Any] = lambda function: function,
    further: tuple[tuple[str, Any, Any], ...] = (),
) -> None:
    if check and output is None:
        raise WrongInput("--check compares with a file: name it by -o")
    from tapec.backend.file_header import header
    from tapec.loading import load

    function = made_of(load(target))
    with progress(f"differentiating {target}") as listener:
        if kind.startswith("sparse") and args is not None:
            programs, text = _with_pattern(function, kind, wrt, args, cast("Keywords", options))
        else:
            by = sources(wrt) if wrt else ()
            programs, text = _programs(function, kind, by, signature_of(function, sig, args), listener, order, options)
    types = ("--sig", sig, None), ("--args", args, None)
    own = [("--wrt", wrt, "0"), ("--order", order, 0)] if wrt else []
    given = [*own, *further, *types, ("--gradient-only", kind == "grad", False)]
    said = spoken_command(command, portable(target), [*given, *compiler_flags(options)])
    whole = header(said, programs[0].lowered) + text
    if output is None or not check:
        deliver(whole, output)
    elif not is_current(output, whole):
        raise click.exceptions.Exit(1)


def _programs(
    function: Any, kind: str, wrt: Any, signature: Any, listener: Any, order: int, options: dict[str, Any]
) -> tuple[tuple[Program, ...], str]:
    """The programs of a kind of derivative, and the module of them."""
    from tapec.api import PARTS, generate
    from tapec.backend.module import joined_text, title_of

    parts = PARTS.get(kind, (kind,))
    made = [generate(function, wrt, signature, part, listener, order, **options) for part in parts]
    programs, title = tuple(program for _, program in made), title_of(made[0][0])
    if kind == "primal":
        programs = tuple(one.named(made[0][0].__name__) for one in programs)
        title = title_of(made[0][0], "The source of")
    return programs, joined_text(programs, title)


def _with_pattern(
    function: Any, kind: str, wrt: str, args: str, options: Keywords
) -> tuple[tuple[Program, ...], str]:
    """A sparse derivative with its pattern at given arguments."""
    from tapec.plain_functions import plain_function
    from tapec.sparse_source import with_fixed_pattern

    return with_fixed_pattern(plain_function(function), sources(wrt), arguments_of(function, args), kind, options)
