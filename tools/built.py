"""Build the benchmark's programs, and those of the tests, as C libraries; compare with compiled Python.

    python -m tools.built [--cpu native] [--only NAME] [--tests] [--time]

Every program's value and gradient must agree with `tapec.value_and_grad` to rounding.  With --time,
the CPU time of a call is compared, too, which is fair where the library is built for `native`.
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numba import typeof

import tapec
from tapec.build.build_target import Target, derive_function
from tapec.build.c_library import linked
from tapec.build.object_code import compile_native
from tapec.build.processor import Processor, processor, suited
from tapec.errors import TapecError
from tapec.plain_functions import plain_function
from tests.build.blas import OPENBLAS, load_blas
from tests.build.calling import Entry
from tests.oracles import clone
from tests.programs import dynamics, finance, geometry, grids, inference, iteration, matrices, networks, objectives

# one process compiles this many programs
CHUNK = 8
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Case:
    """A function, its arguments, and the positions of those to differentiate by."""

    f: Callable[..., Any]
    arguments: tuple[Any, ...]
    wrt: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.f.__name__


def cases(tests: bool) -> list[Case]:
    """All programs of the benchmark, or those of the tests whose result is one number."""
    from tools.bench.programs import PROBLEMS

    if not tests:
        return [Case(problem.f, problem.arguments(), problem.wrt) for problem in PROBLEMS if problem.derivative is None]
    modules = (iteration, dynamics, grids, matrices, inference, networks, geometry, finance, objectives)
    return [
        Case(program.f, program.arguments(program.sizes[-1]), program.wrt)
        for program in (one for module in modules for one in module.PROGRAMS)
        if isinstance(plain_function(program.f)(*clone(program.arguments(program.sizes[-1]))), float)
    ]


def built(chosen: Sequence[Case], target: Processor, folder: Path) -> Iterator[tuple[Case, Entry]]:
    """The entry of every case, with its arguments."""
    functions = []
    for k, case in enumerate(chosen):
        asked = suited(Target("", wrt=case.wrt, name=f"f{k}_{case.name}"), target)
        signature = tuple(typeof(argument) for argument in case.arguments)
        functions.append(derive_function(asked, plain_function(case.f), signature))
    native = compile_native("programs", functions, target)
    shared, _ = linked(native, "programs", folder)
    library = ctypes.CDLL(str(shared))
    for case, interface in zip(chosen, native.interfaces, strict=True):
        yield case, Entry(library, interface, *clone(case.arguments))


def compare(case: Case, entry: Entry, timed: bool) -> str:
    """A line on one program; raises AssertionError if the results differ."""
    jit = tapec.value_and_grad(case.f, wrt=case.wrt)
    arguments = clone(case.arguments)
    expected = jit(*arguments)
    status = entry.call()
    assert status == 0, f"status {status}"
    same(entry.found(), expected)
    if not timed:
        return "the same"
    repeat = max(1, int(0.002 / max(cpu_time(entry.call, 1), 1e-7)))
    # by turns, and the least of each: what else runs on the machine makes times longer, never shorter
    pairs = [(cpu_time(entry.call, repeat), cpu_time(lambda: jit(*arguments), repeat)) for _ in range(40)]
    ahead, now = (min(times) for times in zip(*pairs, strict=True))
    return f"{ahead / now:.3f}"


def same(found: Any, expected: Any) -> None:
    """Equality to rounding, leaf by leaf."""
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    scale = max(float(np.max(np.abs(expected), initial=0.0)), 1e-300)
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE * scale)


def cpu_time(call: Callable[[], Any], repeat: int) -> float:
    """Seconds of this process for one call."""
    begin = time.process_time()
    for _ in range(repeat):
        call()
    return (time.process_time() - begin) / repeat


@click.command()
@click.option("--cpu", default="native", show_default=True, help="The processor to build for.")
@click.option("--only", multiple=True, metavar="NAME", help="Only programs whose name contains this.")
@click.option("--tests", is_flag=True, help="The programs of the tests, not those of the benchmark.")
@click.option("--time", "timed", is_flag=True, help="Compare CPU times of calls, too.")
def main(cpu: str, only: tuple[str, ...], tests: bool, timed: bool) -> None:
    """Build programs as C libraries and compare them with compiled Python."""
    chosen = [case for case in cases(tests) if not only or any(part in case.name for part in only)]
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        if OPENBLAS:
            load_blas(Path(name))
        for k in range(0, len(chosen), CHUNK):
            folder = Path(name) / str(k)
            folder.mkdir()
            try:
                pairs = list(built(chosen[k : k + CHUNK], processor(cpu), folder))
            except TapecError as error:
                click.echo(f"{', '.join(case.name for case in chosen[k : k + CHUNK])}: {error}")
                wrong += 1
                continue
            for case, entry in pairs:
                try:
                    click.echo(f"{case.name:<32}{compare(case, entry, timed)}")
                except AssertionError as error:
                    click.echo(f"{case.name:<32}differs: {error}")
                    wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
