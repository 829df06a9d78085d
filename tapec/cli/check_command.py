"""`tapec check`: forward mode, reverse mode and differences, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tapec.cli.shared_options import WrongInput, guarded, progress, target_argument
from tapec.cli.target_argument import arguments_of


@click.command(
    short_help="Compare forward mode, reverse mode and differences.",
    epilog="""\b
    Examples:
      tapec check chain.py:energy --args "np.linspace(0.0, 1.0, 6), np.full(5, 3.0)"
      tapec check chain.py:energy --args "np.linspace(0.0, 1.0, 6), np.full(5, 3.0)" --order 2
    """
)
@target_argument
@click.option("--args", required=True, metavar="EXPR", help="Argument values, written as in a call.")
@click.option("--wrt", metavar="WRT", help="Names or positions, comma between; default: all floats and arrays of them.")
@click.option("--order", type=click.IntRange(1), default=1, show_default=True, help="Derivatives to check.")
@click.option("--rtol", type=click.FloatRange(0.0), help="Relative tolerance against differences.")
@click.option("--atol", type=click.FloatRange(0.0), help="Absolute tolerance; default: the relative one.")
@guarded
def check(target: str, args: str, wrt: str | None, order: int, rtol: float | None, atol: float | None) -> None:
    """Compare the derivatives of TARGET by forward mode, by reverse mode and by central differences.

    A line for each argument that moves, in a random direction, and one for all of them together.  The exit
    code is 1 if any two disagree.
    """
    from tapec.check import compare
    from tapec.loading import load

    function = load(target)
    values = arguments_of(function, args)
    _runs(function, values)
    with progress(f"differentiating {target}"):
        rows = list(compare(function, values, _positions(function, wrt), order, rtol, atol))
    width = max(len(row.moved) for row in rows)
    click.echo(f"order  {'moved':<{width}}  {'forward':>22}  {'reverse':>22}  {'differences':>22}  agree")
    for row in rows:
        found = (row.forward, row.reverse, row.differences)
        figures = "  ".join(f"{'-':>22}" if figure is None else f"{figure:>22.15g}" for figure in found)
        click.echo(f"{row.order:>5}  {row.moved:<{width}}  {figures}  {'yes' if row.agrees else 'NO'}")
    if not all(row.agrees for row in rows):
        raise click.exceptions.Exit(1)


def _runs(function: Callable[..., Any], values: tuple[Any, ...]) -> None:
    """Refuse arguments for which the function itself raises."""
    import numpy as np

    from tapec.frontend.source.function_source import undecorated

    plain = undecorated(function) or function
    try:
        plain(*(value.copy(order="K") if isinstance(value, np.ndarray) else value for value in values))
    except Exception as error:
        raise WrongInput(f"with --args the function raises {type(error).__name__}: {error}") from error


def _positions(function: object, wrt: str | None) -> tuple[int, ...] | None:
    if wrt is None:
        return None
    from tapec.backend.program import resolve_wrt
    from tapec.cli.target_argument import sources
    from tapec.plain_functions import plain_function

    return resolve_wrt(plain_function(function), sources(wrt))[0]
