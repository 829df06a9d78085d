"""What the commands share: their options, how errors are told, and how long work is shown."""

from __future__ import annotations

import contextlib
import difflib
import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tapec.cli.target_completion import matching_targets

if TYPE_CHECKING:
    from tapec.remarks import Listener

Command = Callable[..., None]


class WrongInput(click.ClickException):
    """Something the user can mend; printed as one message."""

    exit_code = 2


class Defect(click.ClickException):
    """An error of tapec's own."""

    exit_code = 70


def guarded(command: Command) -> Command:
    """Give a command `--traceback`, and turn errors into one message."""

    @click.option("--traceback", is_flag=True, help="Show the Python traceback of an error.")
    @functools.wraps(command)
    def run(*, traceback: bool, **options: Any) -> None:
        from tapec.errors import TapecError

        try:
            command(**options)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except TapecError as error:
            if traceback:
                raise
            raise WrongInput(str(error)) from error
        except Exception as error:
            if traceback:
                raise
            raise Defect(
                f"{type(error).__name__}: {error}\n  reason: this is a defect of tapec\n"
                "  hint: please report it, with what --traceback shows"
            ) from error

    return run


def in_order(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Options for a command, shown by `--help` in the order in which they are listed."""

    def give(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return give


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return matching_targets(incomplete)


target_argument = click.argument("target", metavar="TARGET", shell_complete=_complete)
wrt_option = click.option(
    "--wrt", default="0", show_default=True, metavar="WRT", help="Names or positions, comma between."
)
signature_option = click.option(
    "--sig", metavar="TYPES", help="Argument types in Numba's notation; default: the annotations."
)
arguments_option = click.option(
    "--args", metavar="EXPR", help="Argument values, written as in a call, in place of --sig."
)
target_options = in_order(target_argument, wrt_option, signature_option, arguments_option)

_COMPILING = in_order(
    click.option(
        "--math",
        type=click.Choice(["fast", "libm"]),
        default="fast",
        show_default=True,
        help="Vectorised elementary functions in loops, or the C library's.",
    ),
    click.option("--strict", is_flag=True, help="Every operation in the order of TARGET, to the last bit; slower."),
    click.option(
        "--memory", metavar="SIZE", help='Keep less than this for the reverse sweep, such as "500MB"; run loops again.'
    ),
    click.option("--parallel", is_flag=True, help="Run loops on threads where their iterations can run in any order."),
    click.option("--boundscheck", is_flag=True, help="Raise IndexError for an index out of range; slower."),
    click.option(
        "--strong-zero/--no-strong-zero",
        default=True,
        help="Whether an adjoint of zero contributes zero where a derivative is infinite.",
    ),
    click.option("--debug", type=click.Choice(["nan"]), help="Raise where the first nan or infinite value appears."),
)


def _level_option(default: int | None, told: str) -> Callable[[Command], Command]:
    shown = "0: as differentiated; 1: to be read and kept, in the order of TARGET; 2: made fast."
    return click.option(
        "-O", "opt_level", type=click.IntRange(0, 2), default=default, show_default=told, help=shown
    )


def compiler_options(command: Command) -> Command:
    """Give a command the compiler's options; it takes them as one dictionary, `options`."""
    return _level_option(2, "2")(_COMPILING(_with_options(command)))


def source_options(command: Command) -> Command:
    """The same for a command that prints source: it is to be read, unless the user asks for the fastest."""
    return _level_option(1, "1")(_COMPILING(_with_options(command)))


def either_options(command: Command) -> Command:
    """The same for what prints source or, with --explain, speaks of what runs: each has its own default."""
    return _level_option(None, "1; with --explain 2")(_COMPILING(_with_options(command)))


def _with_options(command: Command) -> Command:
    @functools.wraps(command)
    def run(**given: Any) -> None:
        from tapec.options import Keywords

        options = {name: given.pop(name) for name in Keywords.__annotations__ if name in given}
        command(**given, options=options)

    return run


def compiler_flags(options: dict[str, Any], level: int | None = None) -> list[tuple[str, Any, Any]]:
    """The compiler's options as flags, each with its value and its default; `level` is that of -O."""
    flags = {"opt_level": "-O"}
    found = {name: (value, default_options(name)) for name, value in options.items()}
    if level is not None:
        found["opt_level"] = options["opt_level"], level
    # a flag turns it off
    strong, by_default = found.pop("strong_zero", (True, True))
    told = [(flags.get(name, f"--{name}"), *pair) for name, pair in found.items()]
    return [*told, ("--no-strong-zero", not strong, not by_default)]


def default_options(name: str) -> Any:
    """The default of a compiler's option, by its keyword."""
    from tapec.options import Options

    return getattr(Options, "level" if name == "opt_level" else name)


def spoken_command(name: str, target: str, options: list[tuple[str, Any, Any]]) -> str:
    """The command line that asks for the same again; `options` holds flag, value and default.

    >>> spoken_command("grad", "model.py:f", [("--wrt", "x", "0"), ("-O", 1, 2), ("--strict", True, False)])
    'tapec grad model.py:f --wrt x -O1 --strict'
    """
    import shlex

    words = ["tapec", name, shlex.quote(target)]
    for flag, value, default in options:
        if value == default:
            continue
        if flag == "-O":
            words.append(f"-O{value}")
        else:
            words += [flag] if value is True else [flag, shlex.quote(str(value))]
    return " ".join(words)


def portable(target: str) -> str:
    """A target without folders that other machines do not have.

    >>> portable("package.module:f")
    'package.module:f'
    """
    place, _, name = target.rpartition(":")
    path = Path(place)
    if not place.endswith(".py"):
        return target
    if path.is_absolute():
        path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else Path(path.name)
    return f"{path.as_posix()}:{name}"


@contextlib.contextmanager
def progress(what: str) -> Iterator[Listener | None]:
    """Show on a terminal's stderr what is done, stage by stage; nothing in a pipe.

    Yields who is to be told of the stages.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    from tapec.remarks import Listener

    class Shown(Listener):
        def stage(self, name: str) -> None:
            status.update(f"{what}: {name}")

    with Console(stderr=True).status(what) as status:
        yield Shown()


def deliver(text: str, output: Path | None) -> None:
    """Write generated source to a file, to a terminal in colour, or to a pipe as it is."""
    if output is not None:
        write(output, text)
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.syntax import Syntax

        # the terminal's own colours suit its background; with soft wrap it breaks long lines itself,
        # so that what is copied from it still runs
        highlighted = Syntax("", "python", theme="ansi_dark", background_color="default").highlight(text)
        Console().print(highlighted, soft_wrap=True, end="")
    else:
        click.echo(text, nl=not text.endswith("\n"))


def is_current(output: Path, text: str) -> bool:
    """Whether a generated file is up to date; the lines in which it is not are shown."""
    from tapec.backend.file_header import without_header

    try:
        found = output.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise WrongInput(f"cannot read {output}: {reason}") from error
    if without_header(found) == without_header(text):
        return True
    lines = difflib.unified_diff(found.splitlines(True), text.splitlines(True), str(output), "what tapec generates now")
    click.echo("".join(line if line.endswith("\n") else f"{line}\n\\ no end of line\n" for line in lines), nl=False)
    click.echo(f"{output} is out of date", err=True)
    return False


def write(output: Path, text: str) -> None:
    """Write a file, whole or not at all; the same bytes on every system."""
    from tapec.build.files import replace

    try:
        if output.exists() and not output.is_file():
            output.write_bytes(text.encode())  # a device, say
        else:
            replace(output.resolve(), text.encode())
    except OSError as error:
        raise WrongInput(f"cannot write {output}: {error.strerror}") from error
