"""`tapec show` and `tapec explain`: what the compiler makes of a function, and why."""

from __future__ import annotations

from typing import Any

import click

from tapec.cli.shared_options import compiler_options, deliver, guarded, progress, target_options
from tapec.cli.target_argument import arguments_of, signature_of, sources

_STAGES = ("core", "typed", "adjoint", "optimised")


@click.command(
    short_help="Print TARGET after a stage of the compiler.",
    epilog="""\b
    Examples:
      tapec show chain.py:energy --sig "f8[::1], f8[::1]"
      tapec show chain.py:energy --sig "f8[::1], f8[::1]" --stage adjoint
    """,
)
@target_options
@click.option("--stage", type=click.Choice(_STAGES), default="core", show_default=True, help="What to print.")
@guarded
def show(target: str, wrt: str, sig: str | None, args: str | None, stage: str) -> None:
    """Print TARGET as it stands after a stage of the compiler; each stage is valid Python.

    \b
    core       the function as it is lowered: one operation a statement, calls inlined
    typed      the same, with the type of every name
    adjoint    value and gradient as differentiated
    optimised  value and gradient as they are compiled
    """
    from tapec import api
    from tapec.loading import load

    function = load(target)
    with progress(f"compiling {target}"):
        text = api.show_stage(function, sources(wrt), signature_of(function, sig, args), stage)
    deliver(text, None)


@click.command(
    short_help="Say what the compiler does with TARGET, and why.",
    epilog="""\b
    Examples:
      tapec explain chain.py:energy --wrt u,stiffness --sig "f8[::1], f8[::1]"
      tapec explain chain.py:energy --args "np.linspace(0.0, 1.0, 6), np.full(5, 3.0)" --all
    """
)
@target_options
@click.option(
    "--mode",
    type=click.Choice(["grad", "jacobian", "jacfwd", "jacrev", "hessian"]),
    default="grad",
    show_default=True,
    help="Which derivative.",
)
@click.option("--all", "everything", is_flag=True, help="Also variables, arrays, and the reason of each decision.")
@compiler_options
@guarded
def explain(
    target: str, wrt: str, sig: str | None, args: str | None, mode: str, everything: bool, options: dict[str, Any]
) -> None:
    """Say what the compiler does with the gradient of TARGET, line by line: what costs most first.

    With --all also which variables carry a derivative; why a value is stored (bytes, as a formula in the
    shapes), computed again or run again; what keeps a loop from being reversed as soon as it has run,
    or from running on vectors; which arrays the generated function makes.

    With --args it is run, and the largest adjoint of each line is told: which are zero, infinite or nan.
    """
    from tapec.explanation import explain
    from tapec.explanation.summary import summary
    from tapec.loading import load

    function = load(target)
    signature = signature_of(function, sig, args)
    values = None if args is None else arguments_of(function, args)
    with progress(f"compiling {target}"):
        told = explain(function, sources(wrt), signature if values is None else None, values, mode, **options)
    click.echo(str(told) if everything else summary(told), nl=False)
