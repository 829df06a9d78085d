"""`tapec report`: the source of a function beside its gradient, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from tapec.cli.shared_options import compiler_options, guarded, progress, target_options, write
from tapec.cli.target_argument import arguments_of, signature_of, sources

if TYPE_CHECKING:
    from tapec.options import Keywords


@click.command(
    short_help="Write a page: TARGET beside its gradient.",
    epilog="""\b
    Examples:
      tapec report chain.py:energy --sig "f8[::1], f8[::1]" -o report.html
      tapec report chain.py:energy --args "np.linspace(0.0, 1.0, 6), np.full(5, 3.0)" -o report.html
    """
)
@target_options
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The page's file."
)
@compiler_options
@guarded
def report(
    target: str, wrt: str, sig: str | None, args: str | None, output: Path, options: dict[str, Any]
) -> None:
    """Write a page that shows TARGET beside its gradient, line by line.

    Lines that belong together are linked; marks and badges tell what carries a derivative, what is stored or
    computed again, and which loops are fast.  With --args sizes are told in bytes, and both functions are timed.
    """
    from tapec.explanation import explain
    from tapec.explanation.page import page
    from tapec.explanation.timing import named, timed
    from tapec.loading import load
    from tapec.plain_functions import plain_function

    function = load(target)
    values = None if args is None else arguments_of(function, args)
    signature = signature_of(function, sig, args)
    plain = plain_function(function)
    with progress(f"compiling {target}") as listener:
        told = explain(function, sources(wrt), signature, **options)
        if values is None:
            text = page(plain, told)
        else:
            if listener is not None:
                listener.stage("timing")
            times = timed(function, sources(wrt), values, cast("Keywords", options))
            text = page(plain, told, named(plain, values), times)
    write(output, text)
