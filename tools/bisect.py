"""Find the pass that makes a gradient wrong.

    python -m tools.bisect FILE.py FUNCTION

The file defines the function, and `arguments()`, which returns its arguments; `CORPUS/NAME` in place of both is a
program of `tools.sources`.  The gradient at level 0 is the measure.  Runs of passes are left out from the last one on,
by halves, until the first run is found with which the generated Python, run without the JIT, gives something else.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal

import click
import numba
import numpy as np

import tapec
from tapec.backend import printer
from tapec.optimise.driver import Watcher, watched
from tapec.syntax.core import Function
from tests.oracles import Mismatch, clone, same
from tests.stages import execute
from tools import sources
from tools.passes import changes, chosen

# without these the text is no program that runs
NEEDED = frozenset({"to_ssa", "strip_marks", "move_breaks_last", "initialise_unset"})
TOLERANCE = 1e-9
Level = Literal[0, 1, 2]


class First(Watcher):
    """Runs the first passes, and leaves out those that follow; keeps what the last one that ran has changed."""

    def __init__(self, limit: float = float("inf")) -> None:
        self.limit = limit
        self.count = 0
        self.last = ""
        self.texts = "", ""

    def skips(self, name: str) -> bool:
        if name in NEEDED:
            return False
        self.count += 1
        return self.count > self.limit

    def ran(self, name: str, before: Function, after: Function, constants: frozenset[str], seconds: float) -> None:
        if self.count <= self.limit and name not in NEEDED:
            self.last = name
            self.texts = printer.function(before, quote=False), printer.function(after, quote=False)


def wrong(case: sources.Case, watcher: Watcher | None, right: Any = None, level: Level = 2) -> tuple[str, Any]:
    """How the gradient of a program with a watcher differs from the right one, empty if it does not; and what it is."""
    signature = tuple(numba.typeof(one) for one in case.arguments())
    watching: AbstractContextManager[None] = nullcontext() if watcher is None else watched(watcher)
    try:
        with watching:
            text = tapec.emit(case.f, case.wrt, signature, mode=case.mode, opt_level=level)
        with np.errstate(all="ignore"):
            found = execute(text)(*clone(case.arguments()))
        if right is not None:
            same("gradient", found, right, TOLERANCE)
    except Mismatch as error:
        return str(error), None
    except Exception as error:
        return f"{type(error).__name__}: {error}", None
    return "", found


def first_wrong(case: sources.Case) -> tuple[int, First, str] | None:
    """The first run of a pass with which the gradient is wrong: its number, what it changed, and how it is wrong."""
    how, right = wrong(case, None, level=0)
    if how:
        raise click.ClickException(f"level 0 fails: {how}")
    whole = First()
    if not wrong(case, whole, right)[0]:
        return None
    good, bad = 0, whole.count
    if wrong(case, First(0), right)[0]:
        return 0, First(0), wrong(case, First(0), right)[0]
    while bad - good > 1:
        middle = (good + bad) // 2
        if wrong(case, First(middle), right)[0]:
            bad = middle
        else:
            good = middle
    found = First(bad)
    return bad, found, wrong(case, found, right)[0]


def loaded(file: Path, name: str) -> sources.Case:
    """A function of a file as a program, with the file's `arguments`."""
    specification = importlib.util.spec_from_file_location(file.stem, file)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    f: Callable[..., Any] = getattr(module, name)
    return sources.Case(name, f, module.arguments)


@click.command()
@click.argument("where", metavar="FILE.py|CORPUS/NAME")
@click.argument("function", required=False)
def main(where: str, function: str | None) -> None:
    """Print the pass with which a gradient becomes wrong, and what it changed."""
    case = loaded(Path(where), function) if function is not None else chosen((), where)[where]
    found = first_wrong(case)
    if found is None:
        click.echo("the gradient is that of level 0")
        return
    number, run, how = found
    if number == 0:
        click.echo(f"wrong without any pass: {how}")
        return
    click.echo(f"{run.last}, run {number}: {how}")
    click.echo("\n".join(changes(*run.texts)))


if __name__ == "__main__":
    main()
