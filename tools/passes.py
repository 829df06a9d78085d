"""Which passes act on which programs, how long they take, and what one is worth.

    python -m tools.passes [--corpus NAME ...]                       every pass: what it does, how many programs it
                                                                     changes, seconds
    python -m tools.passes --program bench/rosenbrock [--show]       the passes that change one program, with what
                                                                     they change
    python -m tools.passes --without NAME [--without NAME] [--time]  the programs whose generated source is another
                                                                     one without some passes

The corpora are those of `tools.sources`.  A pass changes a program where the function that it leaves differs; a flag
of the function counts.
"""

from __future__ import annotations

import difflib
import inspect
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import click
import numba

import tapec
from tapec.backend import printer
from tapec.optimise import passes
from tapec.optimise.driver import Pass, Watcher, name_of, watched
from tapec.syntax.core import Function
from tools import sources

PHASES: dict[str, tuple[Pass, ...]] = {
    "objective": passes.PREPARE,
    "simplify": passes.GENERATED,
    "loops and contractions": (*passes.SPEED, *passes.ON_THREADS.values()),
    "layout and vectors": (*passes.SIDE_BY_SIDE, *passes.ALLOCATED, *passes.VECTORS, *passes.FILLED),
    "readable names": passes.READABLE,
}


def purpose(change: Pass) -> str:
    """What a pass does: the first line of its docstring, or of its module's, where that refers to it."""
    own = (inspect.getdoc(change) or "").partition("\n")[0]
    module = inspect.getmodule(change)
    text = inspect.getdoc(module) if module is not None and "see the module" in own else own
    return (text or "").partition("\n")[0].rstrip(".")


def declared() -> Iterator[tuple[str, Pass]]:
    """Every pass once, with the first phase that it stands in."""
    known = set[str]()
    for phase, changes in PHASES.items():
        for change in changes:
            if name_of(change) not in known:
                known.add(name_of(change))
                yield phase, change


class Counted(Watcher):
    """How often passes ran and changed something, in which programs, and how long they took."""

    def __init__(self) -> None:
        self.program = ""
        self.seconds = Counter[str]()
        self.runs = Counter[str]()
        self.programs = defaultdict[str, set[str]](set)

    def ran(self, name: str, before: Function, after: Function, constants: frozenset[str], seconds: float) -> None:
        self.seconds[name] += seconds  # type: ignore[assignment]
        self.runs[name] += 1
        if after is not before and _differs(before, after):
            self.programs[name].add(self.program)


class Shown(Watcher):
    """Prints each pass that changes something; with `differences`, what it changes."""

    def __init__(self, differences: bool) -> None:
        self.differences = differences

    def ran(self, name: str, before: Function, after: Function, constants: frozenset[str], seconds: float) -> None:
        if after is before or not _differs(before, after):
            return
        found = changes(*(printer.function(one, quote=False) for one in (before, after)))
        less, more = (sum(line.startswith(sign) for line in found) for sign in "-+")
        click.echo(f"{name:<28} {seconds * 1000:7.1f} ms   -{less} +{more} lines")
        if self.differences:
            click.echo("\n".join(f"    {line}" for line in found))


class Without(Watcher):
    """Leaves some passes out."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def skips(self, name: str) -> bool:
        return name in self.names


def changes(before: str, after: str) -> list[str]:
    """The lines in which two texts differ, with one line around them."""
    found = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return [line for line in found if line[:3] not in ("---", "+++")]


def _differs(before: Function, after: Function) -> bool:
    return before != after


def generate(case: sources.Case) -> str:
    """The generated text of a program, as `tools.sources` has it."""
    signature = tuple(numba.typeof(one) for one in case.arguments())
    try:
        return tapec.emit(case.f, case.wrt, signature, mode=case.mode, opt_level=2)
    except tapec.errors.NotDifferentiable:
        return tapec.emit(case.f, case.wrt, signature, mode="jvp", opt_level=2)


def chosen(corpora: tuple[str, ...], program: str | None = None) -> dict[str, sources.Case]:
    """The programs of some corpora; all, or the one of a name.

    raises  click.UsageError if there is none of that name
    """
    if program is not None:
        corpora = (program.partition("/")[0],)
        if corpora[0] not in sources.CORPORA:
            raise click.UsageError(f"a program is named CORPUS/NAME, with one of {', '.join(sources.CORPORA)}")
    found = {f"{corpus}/{case.name}": case for corpus in corpora for case in sources.cases(corpus)}
    if program is None:
        return found
    if program not in found:
        raise click.UsageError(f"there is no program {program}")
    return {program: found[program]}


def texts(
    cases: dict[str, sources.Case], watcher: Watcher, begin: Callable[[str], Any] | None = None
) -> dict[str, str]:
    """The generated text of some programs, with a watcher; `begin` is told each program's name before."""
    found = {}
    with watched(watcher):
        for name, case in cases.items():
            if begin is not None:
                begin(name)
            found[name] = generate(case)
    return found


@click.command()
@click.option("--corpus", "corpora", multiple=True, type=click.Choice(sources.CORPORA), help="Only these programs.")
@click.option("--program", metavar="CORPUS/NAME", help="The passes that change this program.")
@click.option("--show", is_flag=True, help="Print what they change.")
@click.option("--without", "left_out", multiple=True, metavar="NAME", help="What changes if this pass is left out.")
@click.option("--time", "time_them", is_flag=True, help="Compile and time the programs that change.")
def main(corpora: tuple[str, ...], program: str | None, show: bool, left_out: tuple[str, ...], time_them: bool) -> None:
    """List the passes, those that change a program, or the programs that a pass changes."""
    unknown = set(left_out) - {name_of(change) for _, change in declared()}
    if unknown:
        raise click.UsageError(f"there is no pass {', '.join(sorted(unknown))}")
    cases = chosen(corpora or sources.CORPORA, program)
    if left_out:
        without(cases, left_out, time_them)
    elif program is not None:
        texts(cases, Shown(show))
    else:
        table(cases)


def without(cases: dict[str, sources.Case], left_out: tuple[str, ...], time_them: bool) -> None:
    """Print the programs that change without some passes; with `time_them`, their time in times of what it is."""
    before, after = texts(cases, Watcher()), texts(cases, Without(left_out))
    changed = [name for name in cases if before[name] != after[name]]
    for name in changed:
        line = f"{name:<44} {len(before[name].splitlines()):>5} -> {len(after[name].splitlines()):>5} lines"
        if time_them:
            ratio = sources.timed(before[name], after[name], cases[name].arguments)
            line += "" if ratio is None else f"   time x {ratio:.2f}"
        click.echo(line)
    click.echo(f"{len(changed)} of {len(cases)} programs change")


def table(cases: dict[str, sources.Case]) -> None:
    """Print every pass with its phase, what it does, the programs that it changes, and its time."""
    counted = Counted()
    begin = time.perf_counter()
    texts(cases, counted, lambda name: setattr(counted, "program", name))
    whole = time.perf_counter() - begin
    phase = ""
    for found, change in declared():
        if found != phase:
            phase = found
            click.echo(f"\n{phase}")
        name = name_of(change)
        figures = f"{len(counted.programs[name]):>4} programs {counted.seconds[name]:7.2f} s"
        click.echo(f"  {name:<28} {figures}  {purpose(change)}")
    click.echo(f"\n{len(cases)} programs in {whole:.1f} s, {sum(counted.seconds.values()):.1f} s of it in passes")


if __name__ == "__main__":
    main()
