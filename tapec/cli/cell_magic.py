"""The cell magic `%%tapec`, which `%load_ext tapec` brings: the gradients of a cell's functions, shown below it.

It takes the options of `tapec grad` and `tapec explain`.  IPython is imported when the extension is loaded.
"""

from __future__ import annotations

import ast
import shlex
from collections.abc import Callable, Iterator
from html import escape
from typing import Any, cast

import click

from tapec.cli.shared_options import WrongInput, arguments_option, either_options, signature_option, wrt_option
from tapec.cli.target_argument import signature_of, sources


class Shown:
    """A text that a notebook shows with syntax colours, and a terminal as it is."""

    def __init__(self, text: str, is_python: bool) -> None:
        self.text = text.rstrip("\n")
        self.is_python = is_python

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from tapec.explanation.highlighting import highlighted, style_sheet

        if not self.is_python:
            return f"<pre>{escape(self.text)}</pre>"
        body = "\n".join(highlighted(self.text.split("\n")))
        # the paper is given with the colours: a dark notebook may stand in a light browser, and the reverse
        return f'<style>{style_sheet()}{_PAPER}</style><pre class="tapec">{body}</pre>'


_PAPER = """pre.tapec { padding: .5em; color: #1b1f24; background: #f6f8fa; }
@media screen and (prefers-color-scheme: dark) { pre.tapec { color: #e6edf3; background: #161b22; } }
"""


@click.command("%%tapec", add_help_option=False)
@click.argument("functions", nargs=-1, metavar="[FUNCTION]...")
@wrt_option
@signature_option
@arguments_option
@click.option("--explain", "explaining", is_flag=True, help="Say what the compiler does, and why, not the source.")
@either_options
def _arguments(**given: Any) -> None:
    # what a command returns is lost in the wrapper of its options
    click.get_current_context().obj.update(given)


def shown(line: str, cell: str, run: Callable[[str], bool], variables: dict[str, Any]) -> Iterator[Shown]:
    """Run a cell, and make of its functions what is to be shown.

    line       what follows `%%tapec`: names of functions, and options
    cell       the cell's text
    run        runs a text as a cell, and says whether that went well
    variables  of the notebook
    returns    for each function the source of its value and gradient, or with --explain what the compiler does;
               nothing if the cell fails
    raises     click.ClickException for a line that is not understood, and TapecError
    """
    given: dict[str, Any] = {}
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise WrongInput(f"%%tapec {line}: {error}") from error
    _arguments.main(words, standalone_mode=False, obj=given)
    if not run(cell):
        return
    has_types = given["sig"] is not None or given["args"] is not None
    for name in _named(cell, given["functions"], has_types, variables):
        yield _shown(_primal(variables[name]), **given)


def _primal(found: Any) -> Any:
    """The function of a derivative, as `@tapec.grad` makes one; any other function itself."""
    from tapec.backend.derivative_base import Remade

    return isinstance(found, Remade) and found.differentiated or found


def _shown(
    function: Any, wrt: str, sig: str | None, args: str | None, explaining: bool, options: dict[str, Any], **_: Any
) -> Shown:
    from tapec import emit, explain
    from tapec.options import Keywords

    signature = signature_of(function, sig, args)
    keywords = cast("Keywords", {name: one for name, one in options.items() if one is not None})
    if explaining:
        return Shown(str(explain(function, sources(wrt), signature, **keywords)), is_python=False)
    return Shown(emit(function, sources(wrt), signature, **keywords), is_python=True)


def _named(cell: str, asked: tuple[str, ...], has_types: bool, variables: dict[str, Any]) -> list[str]:
    """The functions to show: those asked for; else the last one or, without types, all with annotations."""
    for name in asked:
        if not callable(variables.get(name)):
            raise WrongInput(f"there is no function `{name}`\n  hint: name one of this cell or an earlier one")
    if asked:
        return list(asked)
    defined = [name for name in _defined(cell) if callable(variables.get(name))]
    if not defined:
        raise WrongInput("this cell defines no function\n  hint: define one, or name one: %%tapec loss")
    if has_types:
        return defined[-1:]
    annotated = [name for name in defined if _is_annotated(variables[name])]
    if not annotated:
        raise WrongInput(
            f"the types of the arguments of `{defined[-1]}` are not known\n"
            '  hint: give values or types: %%tapec --args "x, 2.0", or --sig "f8[::1], f8"'
        )
    return annotated


def _defined(cell: str) -> list[str]:
    """The names of the functions that a cell defines, in order; lines of IPython's own are not Python.

    >>> _defined("%time\\ndef f(x):\\n    return x\\n\\ndef g(x):\\n    return x\\n")
    ['f', 'g']
    """
    lines = ["" if line.lstrip().startswith(("%", "!", "?")) else line for line in cell.splitlines()]
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:
        return []
    return list(dict.fromkeys(one.name for one in tree.body if isinstance(one, ast.FunctionDef)))


def _is_annotated(function: Any) -> bool:
    from tapec.errors import TapecError
    from tapec.frontend.source.function_source import parameters
    from tapec.plain_functions import plain_function

    try:
        plain = plain_function(_primal(function))
    except TapecError:
        return False
    # of `def f(): ...` there is nothing to differentiate
    found = parameters(plain).values()
    return bool(found) and all(one.annotation is not one.empty for one in found)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext tapec` calls: register `%%tapec`."""
    from IPython.core.error import UsageError
    from IPython.display import display

    from tapec.errors import TapecError

    def run(text: str) -> bool:
        # as a cell of its own, so that its text is found
        return bool(shell.run_cell(text, store_history=False).success)

    def tapec(line: str, cell: str) -> None:
        try:
            for one in shown(line, cell, run, shell.user_ns):
                display(one)
        except click.ClickException as error:
            raise UsageError(f"%%tapec: {error.format_message()}") from error
        except TapecError as error:
            # the message has the line; the traceback is the compiler's
            raise UsageError(f"{type(error).__name__}: {error}") from error

    tapec.__doc__ = _help()
    shell.register_magic_function(tapec, magic_kind="cell", magic_name="tapec")


def _help() -> str:
    """What `%%tapec?` shows."""
    context = click.Context(_arguments, info_name="%%tapec")
    return f"Run the cell, and show the gradients of its functions.\n\n{_arguments.get_help(context)}"
