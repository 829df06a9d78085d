"""Compare the generated source of all corpora with what the compiler of another commit generates.

    python -m tools.sources [--against REV] [--corpus NAME ...] [--show] [--time]

A change of the compiler that leaves every text as it was needs no benchmark.  Programs whose text changed are
listed with their numbers of lines before and after; `--show` prints the differences, and `--time` runs both
texts in turn.  The programs are those of this tree for both compilers, so that only the compiler differs.

The corpora: `bench` and `unseen` are the programs of the two benchmarks, `golden` those of tests/golden in reverse
and forward mode, `programs` the whole programs of tests/programs.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import click
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CORPORA = ("bench", "unseen", "golden", "programs")
# an interpreter that generates the texts of some corpora and writes them as JSON
GENERATE = "import json, sys; from tools.sources import texts; json.dump(texts(sys.argv[1:]), sys.stdout)"
# how long each text runs, in all, where both are timed
SECONDS = 0.3


@dataclass(frozen=True)
class Case:
    """A program of a corpus, and which derivative of it is compared."""

    name: str
    f: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    wrt: tuple[int, ...] = (0,)
    mode: Literal["grad", "jvp"] = "grad"


def cases(corpus: str) -> Iterator[Case]:
    """The programs of a corpus."""
    if corpus in ("bench", "unseen"):
        module = importlib.import_module("tools.bench.programs" if corpus == "bench" else "tools.bench.unseen.problems")
        for problem in module.PROBLEMS:
            yield Case(problem.name, problem.f, problem.arguments, problem.wrt)
    elif corpus == "golden":
        for path in sorted((ROOT / "tests" / "golden").glob("*/source.py")):
            source, name = _loaded(path), path.parent.name
            modes: tuple[tuple[str, Literal["grad", "jvp"]], ...] = (("reverse", "grad"), ("forward", "jvp"))
            for direction, mode in modes:
                yield Case(f"{name}.{direction}", getattr(source, name), _golden(source), mode=mode)
    else:
        package = importlib.import_module("tests.programs")
        for found in pkgutil.iter_modules(package.__path__, "tests.programs."):
            if found.name.rpartition(".")[2].startswith("test_"):
                continue
            for program in getattr(importlib.import_module(found.name), "PROGRAMS", ()):
                yield Case(str(program), program.f, _sized(program), program.wrt)


def _loaded(path: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location(f"golden_{path.parent.name}", path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def _golden(source: ModuleType) -> Callable[[], tuple[Any, ...]]:
    return lambda: source.arguments(np.random.default_rng(7))


def _sized(program: Any) -> Callable[[], tuple[Any, ...]]:
    return lambda: program.arguments(program.sizes[-1])


def texts(corpora: list[str]) -> dict[str, str]:
    """The generated text of every program of some corpora: of a result that is no number, its forward mode."""
    import numba

    import tapec

    found: dict[str, str] = {}
    for corpus in corpora:
        for case in cases(corpus):
            signature = tuple(numba.typeof(one) for one in case.arguments())
            try:
                text = tapec.emit(case.f, case.wrt, signature, mode=case.mode, opt_level=2)
            except tapec.errors.NotDifferentiable:  # its result is not one number
                text = tapec.emit(case.f, case.wrt, signature, mode="jvp", opt_level=2)
            found[f"{corpus}/{case.name}"] = text
    return found


@contextlib.contextmanager
def compiler_of(revision: str | None) -> Iterator[str]:
    """A search path for modules with the compiler of a revision, None for this tree, and the programs of this tree."""
    if revision is None:
        yield os.pathsep.join((str(ROOT), str(ROOT / "runtime")))
        return
    with tempfile.TemporaryDirectory() as folder:
        tree, joined = Path(folder, "tree"), Path(folder, "joined")
        tree.mkdir()
        joined.mkdir()
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", revision, "tapec", "runtime"], check=True, capture_output=True
        )
        subprocess.run(["tar", "--extract", "--directory", str(tree)], input=archive.stdout, check=True)
        (joined / "tapec").symlink_to(tree / "tapec")
        (joined / "tapec_runtime").symlink_to(tree / "runtime" / "tapec_runtime")
        for ours in ("tests", "tools"):
            (joined / ours).symlink_to(ROOT / ours)
        yield str(joined)


def generated(path: str, corpora: tuple[str, ...]) -> dict[str, str]:
    """The texts that the compiler on a search path generates, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": path, "TAPEC_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", GENERATE, *corpora], env=environment, check=True, stdout=subprocess.PIPE
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def timed(before: str, after: str, arguments: Callable[[], tuple[Any, ...]]) -> float | None:
    """How long the second text takes on some arguments, in times of the first: the least of many turns.

    None in forward mode, which takes tangents, too.
    """
    functions = [_function(text) for text in (before, after)]
    if functions[0].__name__.endswith("_jvp"):
        return None
    for function in functions:
        function(*arguments())  # compile
    least = [float("inf"), float("inf")]
    end = time.perf_counter() + 2 * SECONDS
    while time.perf_counter() < end:
        for k, function in enumerate(functions):
            given = arguments()
            begin = time.perf_counter()
            function(*given)
            least[k] = min(least[k], time.perf_counter() - begin)
    return least[1] / least[0]


def _function(text: str) -> Callable[..., Any]:
    """The derivative that a generated module defines, its last function."""
    namespace: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, "<generated>", "exec"), namespace)
    made: Callable[..., Any] = [one for one in namespace.values() if hasattr(one, "py_func")][-1]
    return made


@click.command()
@click.option("--against", default="HEAD", show_default=True, metavar="REV", help="The commit to compare with.")
@click.option("--corpus", "corpora", multiple=True, type=click.Choice(CORPORA), help="Only these; by default all.")
@click.option("--show", is_flag=True, help="Print the differences, too.")
@click.option("--time", "time_them", is_flag=True, help="Compile and time the programs whose text changed.")
def main(against: str, corpora: tuple[str, ...], show: bool, time_them: bool) -> None:
    """List the programs for which another compiler generates another text."""
    chosen = corpora or CORPORA
    with compiler_of(against) as theirs, compiler_of(None) as ours, ThreadPoolExecutor(2) as pool:
        before, after = pool.map(lambda path: generated(path, chosen), (theirs, ours))
    makers = {f"{corpus}/{case.name}": case.arguments for corpus in chosen for case in cases(corpus)}
    changed = [name for name in after if before.get(name) != after[name]]
    for name in changed:
        old, new = before.get(name, "").splitlines(), after[name].splitlines()
        line = f"{name:<44} {len(old):>5} -> {len(new):>5} lines"
        if time_them and name in before and (ratio := timed(before[name], after[name], makers[name])) is not None:
            line += f"   time x {ratio:.2f}"
        click.echo(line)
        if show:
            click.echo("\n".join(difflib.unified_diff(old, new, "before", "after", lineterm="", n=2)))
    click.echo(f"{len(changed)} of {len(after)} texts changed")


if __name__ == "__main__":
    main()
