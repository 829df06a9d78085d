"""`tapec grad`, `jvp`, `hvp` and others: the source of a derivative, written or compared with a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tapec.cli.shared_options import (
    WrongInput,
    compiler_flags,
    compiler_options,
    deliver,
    guarded,
    in_order,
    is_current,
    portable,
    progress,
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


@click.command(
    short_help="Print the directional derivative of TARGET.",
    epilog="""\b
    Examples:
      tapec jvp chain.py:energy --wrt u,stiffness --sig "f8[::1], f8[::1]"
    """
)
@target_options
@_output_options
@compiler_options
@guarded
def jvp(**asked: Any) -> None:
    """Print the source of the directional derivative of TARGET (forward mode).

    The function takes a tangent for each argument that `--wrt` names after the arguments, and returns the value
    and its tangent.
    """
    _emit("jvp", "jvp", **asked)


@click.command(
    short_help="Print the Hessian of TARGET times a vector.",
    epilog="""\b
    Examples:
      tapec hvp chain.py:energy --wrt u --sig "f8[::1], f8[::1]" -o energy_hvp.py
    """
)
@target_options
@_output_options
@compiler_options
@guarded
def hvp(**asked: Any) -> None:
    """Print the source of the product of TARGET's Hessian and a vector.

    The function takes the vector after the arguments.
    """
    _emit("hvp", "hvp", **asked)


@click.command(
    "sparse-jacobian",
    short_help="Print the programs of the sparse Jacobian of TARGET.",
    epilog="""\b
    Examples:
      tapec sparse-jacobian chain.py:energy --wrt u --sig "f8[::1], f8[::1]"
    """,
)
@target_options
@_output_options
@compiler_options
@guarded
def sparse_jacobian(**asked: Any) -> None:
    """Print the source of the sparse Jacobian of TARGET: the program of its pattern, and that of its columns.

    The first takes an array for sets after the arguments, and returns the sets of sources that the results depend on.
    The second takes the colours of the columns and an array for the products, a row for each colour.
    """
    _emit("sparse-jacobian", "sparse_jacobian", **asked)


@click.command(
    "sparse-hessian",
    short_help="Print the programs of the sparse Hessian of TARGET.",
    epilog="""\b
    Examples:
      tapec sparse-hessian chain.py:energy --wrt u --sig "f8[::1], f8[::1]"
    """,
)
@target_options
@_output_options
@compiler_options
@guarded
def sparse_hessian(**asked: Any) -> None:
    """Print the source of the sparse Hessian of TARGET: the program of its pattern, and that of its columns.

    They take what those of `tapec sparse-jacobian` take.
    """
    _emit("sparse-hessian", "sparse_hessian", **asked)


def _emit(
    command: str,
    kind: str,
    target: str,
    wrt: str,
    sig: str | None,
    output: Path | None,
    check: bool,
    options: dict[str, Any],
) -> None:
    if check and output is None:
        raise WrongInput("--check compares with a file: name it by -o")
    from tapec.api import PARTS, generate
    from tapec.backend.file_header import header
    from tapec.backend.module import joined_text, title_of
    from tapec.loading import load

    function = load(target)
    with progress(f"differentiating {target}") as listener:
        made = [
            generate(function, sources(wrt), signature_of(function, sig), part, listener, **options)
            for part in PARTS.get(kind, (kind,))
        ]
    given = [("--wrt", wrt, "0"), ("--sig", sig, None), ("--gradient-only", kind == "grad", False)]
    said = spoken_command(command, portable(target), [*given, *compiler_flags(options)])
    programs = tuple(program for _, program in made)
    whole = header(said, programs[0].lowered) + joined_text(programs, title_of(made[0][0]))
    if output is None or not check:
        deliver(whole, output)
    elif not is_current(output, whole):
        raise click.exceptions.Exit(1)
