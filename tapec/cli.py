"""The command line: `tapec grad` and `tapec show`.

    tapec grad model.py:loss --wrt theta --sig "f8[:],f8[:,:]" -o loss_gradient.py
    tapec show --stage core package.module:loss --wrt 0

Commands read their arguments, call `tapec.emit` or `tapec.api.show_stage`, and print.  Wrong
input ends in one message on stderr and exit code 2.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import click

STAGES = ("core", "typed", "adjoint", "optimised")


class WrongInput(click.ClickException):
    """Something the user can mend; printed as one message."""

    exit_code = 2


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--traceback`, and turn errors about the user's code into one message."""

    @click.option("--traceback", is_flag=True, help="Show the Python traceback of an error.")
    @functools.wraps(command)
    def run(*, traceback: bool, **options: Any) -> None:
        from tapec.errors import TapecError

        try:
            command(**options)
        except (TapecError, WrongInput) as error:
            if traceback:
                raise
            raise WrongInput(str(error)) from error

    return run


def target_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the arguments that name a function, its sources and its signature."""
    for option in (
        click.option("--sig", metavar="TYPES", help="Argument types in Numba's notation; default: the annotations."),
        click.option("--wrt", default="0", show_default=True, metavar="WRT", help="Names or positions, comma between."),
        click.argument("target", metavar="TARGET"),
    ):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tapec")
def main() -> None:
    """Derivatives of numerical Python, as readable Python.

    TARGET is FILE.py:FUNCTION or package.module:FUNCTION.
    """


@main.command()
@target_options
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, not stdout.")
@click.option(
    "-O",
    "opt_level",
    type=click.IntRange(0, 2),
    default=2,
    show_default=True,
    help="0: as differentiated; 1: cleaned up, in the order of TARGET; 2: made fast.",
)
@click.option(
    "--math",
    type=click.Choice(["fast", "libm"]),
    default="fast",
    show_default=True,
    help="Vectorised elementary functions in loops, or the C library's.",
)
@click.option(
    "--value/--gradient-only",
    default=True,
    help="Return (value, gradient), which is the default, or the gradient alone.",
)
@guarded
def grad(
    target: str, wrt: str, sig: str | None, output: Path | None, value: bool, opt_level: Any, math: Any
) -> None:
    """Print the source of the gradient of TARGET.

    The output is a module of its own that needs numpy, numba and, for vectorised and for special
    functions, tapec_runtime, as its import statements say.
    """
    function = load(target)
    signature = signature_of(function, sig)

    import tapec

    text = tapec.emit(
        function, wrt=sources(wrt), signature=signature, value=value, opt_level=opt_level, math=math
    )
    deliver(text, output)


@main.command(short_help="Print TARGET after a stage of the compiler.")
@target_options
@click.option("--stage", type=click.Choice(STAGES), default="core", show_default=True, help="What to print.")
@guarded
def show(target: str, wrt: str, sig: str | None, stage: str) -> None:
    """Print TARGET as it stands after a stage of the compiler; each stage is valid Python."""
    function = load(target)
    signature = signature_of(function, sig)

    from tapec import api

    deliver(api.show_stage(function, sources(wrt), signature, stage), None)


def deliver(text: str, output: Path | None) -> None:
    """Write generated source to a file, to a terminal in colour, or to a pipe as it is."""
    if output is not None:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise WrongInput(f"cannot write {output}: {error.strerror}") from error
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.syntax import Syntax

        # the terminal's own colours suit its background; with soft wrap it breaks long lines itself,
        # so that what is copied from it still runs
        highlighted = Syntax("", "python", theme="ansi_dark", background_color="default").highlight(text)
        Console().print(highlighted, soft_wrap=True, end="")
    else:
        click.echo(text, nl=not text.endswith("\n"))


def sources(wrt: str) -> int | str | tuple[int | str, ...]:
    """What `--wrt` names: `x`, `0`, or several with commas between.

    >>> sources("x"), sources("0"), sources("x, 2")
    ('x', 0, ('x', 2))
    """
    parts = [part.strip() for part in wrt.split(",")]
    if not all(parts):
        raise WrongInput(f"--wrt {wrt!r} has an empty name")
    found = tuple(int(part) if part.isdecimal() else part for part in parts)
    return found[0] if len(found) == 1 else found


def load(target: str) -> Callable[..., Any]:
    """The function that `FILE.py:FUNCTION` or `package.module:FUNCTION` names."""
    place, colon, name = target.rpartition(":")
    if not (place and colon and name):
        raise WrongInput(f"{target!r} names no function: write FILE.py:FUNCTION or package.module:FUNCTION")
    module = load_file(Path(place)) if place.endswith(".py") else load_module(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise WrongInput(f"{place} has no {name!r}{closest(part, found)}")
        found = getattr(found, part)
    if not callable(found):
        raise WrongInput(f"{target} is {type(found).__name__!r}, not a function")
    return found


def closest(name: str, owner: Any) -> str:
    """A hint at the public name nearest to a misspelt one; empty if none is near."""
    import difflib

    near = difflib.get_close_matches(name, [known for known in dir(owner) if not known.startswith("__")], n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def load_module(name: str) -> ModuleType:
    """Import a module by its dotted name, from the working folder too."""
    # a console script does not have the working folder on the path
    if "" not in sys.path:
        sys.path.insert(0, "")
    if not all(part.isidentifier() for part in name.split(".")):
        raise WrongInput(f"{name!r} is neither a .py file nor the name of a module")
    return execute(name, lambda: importlib.import_module(name))


def load_file(path: Path) -> ModuleType:
    """Run a file as a module; one that belongs to a package is imported as part of it."""
    if not path.is_file():
        raise WrongInput(f"no such file: {path}")
    path = path.resolve()
    root, name = path.parent, path.stem
    while (root / "__init__.py").is_file():
        root, name = root.parent, f"{root.name}.{name}"
    # helpers beside the file are found as when the file is run
    sys.path.insert(0, str(root))
    if "." in name:
        return execute(str(path), lambda: importlib.import_module(name))

    def run() -> ModuleType:
        # a file called like a module in use must not take that module's place
        spec = importlib.util.spec_from_file_location(name if name not in sys.modules else f"{name}_", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    return execute(str(path), run)


def execute(name: str, action: Callable[[], ModuleType]) -> ModuleType:
    """Run the user's module; what it raises becomes one message."""
    try:
        return action()
    except (Exception, SystemExit) as error:
        raise WrongInput(f"cannot import {name}: {type(error).__name__}: {error}") from error


def signature_of(function: Callable[..., Any], sig: str | None) -> tuple[Any, ...]:
    """The Numba types of the arguments, from `--sig` or else from the function's annotations."""
    from tapec import signatures

    if sig is not None:
        return signatures.parse(sig)
    return signatures.from_annotations(function)
