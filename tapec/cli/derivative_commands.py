"""`tapec grad`, `tapec jvp` and others: the source of a derivative, written or compared with a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tapec.cli.shared_options import (
    WrongInput,
    compiler_flags,
    deliver,
    guarded,
    in_order,
    is_current,
    portable,
    progress,
    source_options,
    spoken_command,
    target_options,
)
from tapec.cli.target_argument import signature_of, sources

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
@source_options
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
    "hessian": ("the Hessian of TARGET", "The function takes the arguments."),
    "sparse_jacobian": (
        "the sparse Jacobian of TARGET: the program of its pattern, and that of its columns",
        "The first takes an array for sets after the arguments, and returns the sets of sources that the results "
        "depend on. The second takes the colours of the columns and an array for the products, a row for each colour.",
    ),
    "sparse_hessian": (
        "the sparse Hessian of TARGET: the program of its pattern, and that of its columns",
        "They take what those of `tapec sparse-jacobian` take.",
    ),
}


def _further(kind: str, what: str, taken: str) -> click.Command:
    """The command for one kind of derivative."""
    name = kind.replace("_", "-")

    def command(**asked: Any) -> None:
        _emit(name, kind, **asked)

    command.__doc__ = f"Print the source of {what}.\n\n{taken}"
    example = f'tapec {name} chain.py:energy --wrt u --sig "f8[::1], f8[::1]" -o energy_{kind}.py'
    decorated = target_options(_output_options(source_options(guarded(command))))
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
@source_options
@guarded
def taylor(**asked: Any) -> None:
    """Print the source of the Taylor coefficients of TARGET along a line.

    The function takes a tangent for each argument that `--wrt` names after the arguments, and returns a tuple of the
    coefficients, the value first.
    """
    _emit("taylor", "taylor", **asked)


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
) -> None:
    if check and output is None:
        raise WrongInput("--check compares with a file: name it by -o")
    from tapec.api import PARTS, generate
    from tapec.backend.file_header import header
    from tapec.backend.module import joined_text, title_of
    from tapec.loading import load
    from tapec.options import FILE_LEVEL

    function = load(target)
    with progress(f"differentiating {target}") as listener:
        made = [
            generate(function, sources(wrt), signature_of(function, sig, args), part, listener, order, **options)
            for part in PARTS.get(kind, (kind,))
        ]
    types = ("--sig", sig, None), ("--args", args, None)
    given = [("--wrt", wrt, "0"), ("--order", order, 0), *types, ("--gradient-only", kind == "grad", False)]
    said = spoken_command(command, portable(target), [*given, *compiler_flags(options, FILE_LEVEL)])
    programs = tuple(program for _, program in made)
    whole = header(said, programs[0].lowered) + joined_text(programs, title_of(made[0][0]))
    if output is None or not check:
        deliver(whole, output)
    elif not is_current(output, whole):
        raise click.exceptions.Exit(1)
