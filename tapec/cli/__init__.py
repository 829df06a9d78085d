"""The command line: `tapec COMMAND`, also `python -m tapec`.

    tapec grad model.py:loss --wrt theta --sig "f8[:],f8[:,:]" -o loss_gradient.py
    tapec explain package.module:loss --sig "f8[:]"

| command | module |
|---|---|
| `grad`, `jvp` and the like: a derivative's source | `derivative_commands.py` |
| `show`, `explain` | `show_commands.py` |
| `report`, `check`, `build` | `report_command.py`, `check_command.py`, `build_command.py` |
| `doctor`, `cache`, `completion` | `doctor_command.py`, `cache_command.py`, `completion_command.py` |
| TARGET: what it may be, and how a shell completes it | `target_argument.py`, `target_completion.py` |
| options that several commands have | `shared_options.py` |
| `%%tapec` in notebooks | `cell_magic.py` |

Commands read their arguments, call what
`tapec` offers to Python, and print; they import the compiler when they run, so that `--help` is quick.
Wrong input ends in one message on stderr and exit code 2, a check that fails in exit code 1.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from tapec.cli.build_command import build
from tapec.cli.cache_command import cache
from tapec.cli.check_command import check
from tapec.cli.completion_command import completion
from tapec.cli.derivative_commands import further, grad, taylor, vmap
from tapec.cli.doctor_command import doctor
from tapec.cli.report_command import report
from tapec.cli.shared_options import WrongInput
from tapec.cli.show_commands import explain, show
from tapec.loading import stdout_to_stderr

_COMMANDS = (grad, *further, taylor, vmap, show, explain, report, check, build, doctor, cache, completion)

# what has no source of its own, and what has
_NO_COMMANDS = {
    "jvp-fun": "`tapec jvp` prints what it compiles",
    "vjp-fun": "`tapec vjp` prints what it compiles",
}


class _Commands(click.Group):
    """The commands; as a program, what they write alone goes to a file or pipe that stdout is."""

    def main(self, *args: Any, **extra: Any) -> Any:
        alone = extra.get("standalone_mode", True) and sys.stdout is sys.__stdout__ and sys.stdout is not None
        with _own_stdout() if alone and not sys.stdout.isatty() else contextlib.nullcontext():
            return super().main(*args, **extra)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        told = _NO_COMMANDS.get(args[0].replace("_", "-")) if args else None
        if told is not None:
            raise WrongInput(f"There is no command '{args[0]}': {told}")
        return super().resolve_command(ctx, args)


@contextlib.contextmanager
def _own_stdout() -> Iterator[None]:
    """From here to the end of the program, all but the command writes to stderr: libraries, threads, what is left."""
    shared = sys.stdout
    shared.flush()
    own = stdout_to_stderr()
    if own is None:
        yield
        return
    sys.stdout = os.fdopen(own, "w", encoding=shared.encoding, errors=shared.errors)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.close()
        # functions that run at exit may print
        sys.stdout = sys.stderr


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
    Example:
      tapec grad chain.py:energy --wrt u,stiffness --sig "f8[::1], f8[::1]" -o energy_gradient.py
    """,
)
@click.version_option(package_name="tapec")
def main() -> None:
    """Derivatives of numerical Python, as readable Python.

    TARGET is FILE.py:FUNCTION or package.module:FUNCTION.
    """


for _command in _COMMANDS:
    main.add_command(_command)
