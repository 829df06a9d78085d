"""`tapec build`: derivatives ahead of time, as source, C libraries or extension modules."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tapec.cli.shared_options import (
    WrongInput,
    compiler_flags,
    compiler_options,
    default_options,
    guarded,
    is_current,
    portable,
    signature_option,
    spoken_command,
    wrt_option,
)
from tapec.cli.target_argument import sources

if TYPE_CHECKING:
    from tapec.build.build_target import Output

_KINDS = ("source", "library", "extension")
_PROJECT = "pyproject.toml"


def _cmake_folder(context: click.Context, _: click.Parameter, asked: bool) -> None:
    """Print where tapecConfig.cmake is."""
    if asked:
        click.echo(files("tapec.build").joinpath("cmake"))
        context.exit()


@click.command(
    epilog="""\b
    Examples:
      tapec build
      tapec build chain.py:energy --kind extension --name chain_gradient --sig "f8[:], f8[:]"
      tapec build chain.py:energy --kind library --name chain --sig "f8[::1], f8[::1]" --cpu x86-64-v3 -o lib
    """
)
@click.argument("target", metavar="[TARGET]", required=False)
@click.option("--kind", type=click.Choice(_KINDS), help="What to make of TARGET.")
@click.option("--name", help="Dotted name of the module, or name of the library; default: FUNCTION_MODE.")
@wrt_option
@signature_option
@click.option("--mode", default="value_and_grad", show_default=True, help="Which derivative of TARGET, or primal.")
@click.option("--as", "alias", default="", metavar="NAME", help="The function's name in the result.")
@click.option("--cpu", metavar="CPU", help="baseline (the default), native, or a processor such as x86-64-v3.")
@click.option("--contiguous", is_flag=True, help="Library: arrays in C order alone, without strides.")
@click.option(
    "--project",
    type=click.Path(path_type=Path),
    help=f"The {_PROJECT} to read, or its folder; default: the working folder's.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the result; default: the project's source folder, or the working folder.",
)
@click.option("--check", is_flag=True, help="Write nothing; show which generated source is out of date, and fail then.")
@click.option(
    "--cmake-dir",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_cmake_folder,
    help="Print the folder for CMake's tapec_DIR, in which find_package(tapec) looks, and exit.",
)
@compiler_options
@guarded
def build(target: str | None, project: Path | None, output: Path | None, check: bool, **asked: Any) -> None:
    """Build what [tool.tapec] of pyproject.toml lists, or TARGET; prints the files that were written.

    Kind "source" is a module of generated functions, "library" a C library with header, "extension" a Python
    module that needs NumPy alone.
    """
    from tapec.build.outputs_to_folder import build as run

    made = _listed(project, asked) if target is None else (_asked(target, project, asked),)
    folder = output or (_source_folder(made[0].root) if target is None else Path())

    if check:
        _check(made, folder)
        return

    def tell(one: Output) -> None:
        if sys.stderr.isatty():
            click.echo(f"building {one.kind} {one.name}", err=True)

    try:
        written = run(made, folder, tell)
    except OSError as error:
        raise WrongInput(f"cannot write {error.filename}: {error.strerror}") from error
    for path in written:
        click.echo(path)


def _check(outputs: tuple[Output, ...], folder: Path) -> None:
    """Compare the modules of generated source with their files."""
    from tapec.build.outputs_to_folder import importable
    from tapec.build.source_output import source_path, source_text

    modules = [one for one in outputs if one.kind == "source"]
    if not modules:
        raise WrongInput('--check compares generated source; nothing of kind "source" is built')
    texts = []
    for one in modules:
        with importable(one, outputs):
            texts.append((source_path(one, folder), source_text(one)))
    # all of them are compared
    if not all([is_current(path, text) for path, text in texts]):
        raise click.exceptions.Exit(1)


def _listed(project: Path | None, asked: dict[str, Any]) -> tuple[Any, ...]:
    """The outputs of a project."""
    from tapec.build.config import read

    context = click.get_current_context()
    given = [
        parameter
        for parameter in context.params
        if parameter not in ("project", "output", "traceback", "target", "check")
        and context.get_parameter_source(parameter) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise WrongInput("options that describe a target need a TARGET; those of a project are in its pyproject.toml")
    path = project or Path(_PROJECT)
    path = path / _PROJECT if path.is_dir() else path
    outputs = read(path)
    if not outputs:
        raise WrongInput(f"{path} has no [[tool.tapec.build]], so that there is nothing to build")
    return outputs


def _asked(target: str, project: Path | None, asked: dict[str, Any]) -> Any:
    """The output that the command line describes, checked as one of a project is."""
    from tapec.build.config import output

    if project is not None:
        raise WrongInput("--project lists targets of its own; leave out either it or TARGET")
    if asked["kind"] is None:
        raise WrongInput(f"say what to make of {target}: --kind source, library or extension")
    function = target.rpartition(":")[2].rpartition(".")[2]
    mode = asked["mode"]
    one: dict[str, Any] = {"function": target, "mode": mode, "name": asked["alias"]}
    one |= {name: value for name, value in asked["options"].items() if value != default_options(name)}
    if mode != "primal":
        wrt = sources(asked["wrt"])
        one["wrt"] = list(wrt) if isinstance(wrt, tuple) else wrt
    if asked["sig"] is not None:
        one["signature"] = asked["sig"]
    table: dict[str, Any] = {"kind": asked["kind"], "name": asked["name"] or f"{function}_{mode}", "targets": [one]}
    if asked["cpu"] is not None:
        table["cpu"] = asked["cpu"]
    if asked["contiguous"]:
        table["contiguous"] = True
    given = [("--kind", asked["kind"], None), ("--name", asked["name"], None), ("--wrt", asked["wrt"], "0")]
    given += [("--sig", asked["sig"], None), ("--mode", mode, "value_and_grad"), ("--as", asked["alias"], "")]
    command = spoken_command("build", portable(target), [*given, *compiler_flags(asked["options"])])
    return replace(output(table, Path(), "tapec build"), command=command)


def _source_folder(root: Path) -> Path:
    """Where a project keeps its packages: in `src`, if there is one."""
    return root / "src" if (root / "src").is_dir() else root
