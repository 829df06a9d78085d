"""How the generated source reads, in numbers: of the golden files, and of files for all programs of the benchmarks.

    python -m tools.readability                     the numbers
    python -m tools.readability --each              lines of each program's file, the longest last
    python -m tools.readability --write FOLDER      the files of the programs, to be read

Lines are counted without comments, docstrings and blank ones, and without the functions that stand below for arguments
of other shapes.  Lines of functions that a program calls are lines of the source.  `tests/tools/test_readability.py`
holds the numbers below what they are today: they may only fall.
"""

from __future__ import annotations

import ast
import inspect
import re
import statistics
import textwrap
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import click

from tools.sources import cases

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
# a name that says nothing of what it stands for
_SAYS_NOTHING = re.compile(r"(?:t|tmp|size)(?:_\d+)?")
_NUMBERED = re.compile(r"\w+_\d+")
_SWEEP = re.compile(r"    # (?:forward|reverse) sweep")


@dataclass(frozen=True)
class Readability:
    """Of some files: generated lines per line of the source, what is assigned, and what is quoted.

    median, worst   lines of a generated file per line of its source
    says_nothing    part of the assigned names that the source has not which are a letter, or a letter and a number
    numbered        names that end in a number and that the source has not, per generated line
    quoted_twice    part of the quoted lines that the same sweep has quoted before
    """

    median: float
    worst: float
    says_nothing: float
    numbered: float
    quoted_twice: float


@dataclass(frozen=True)
class Read:
    """What is counted in a file: its lines and those of its source, names that it assigns, and lines that it quotes."""

    name: str
    lines: int
    source_lines: int
    names: tuple[str, ...]
    quoted: int
    quoted_twice: int


def readability(files: Iterable[Read]) -> Readability:
    """That of some files."""
    every = list(files)
    ratios = [one.lines / one.source_lines for one in every]
    names = [name for one in every for name in one.names]
    numbered = sum(len({name for name in one.names if _NUMBERED.fullmatch(name)}) for one in every)
    return Readability(
        statistics.median(ratios),
        max(ratios),
        sum(_SAYS_NOTHING.fullmatch(name) is not None for name in names) / len(names),
        numbered / sum(one.lines for one in every),
        sum(one.quoted_twice for one in every) / max(1, sum(one.quoted for one in every)),
    )


def golden_files(kind: str = "reverse", folder: Path = GOLDEN) -> Iterator[Read]:
    """The golden files of a kind."""
    for generated in sorted(folder.glob(f"*/{kind}.py")):
        source = ast.parse((generated.parent / "source.py").read_text(encoding="utf-8"))
        functions = [node for node in source.body if isinstance(node, ast.FunctionDef) and node.name != "arguments"]
        yield read(generated.parent.name, generated.read_text(encoding="utf-8"), functions)


def program_files(level: Any = None, write: Path | None = None) -> Iterator[Read]:
    """Files of all programs of the benchmarks, of the default level or another one; `write` is where they go, too."""
    import numba

    import tapec

    options = {} if level is None else {"opt_level": level}
    for corpus in ("bench", "unseen"):
        for case in cases(corpus):
            signature = tuple(numba.typeof(one) for one in case.arguments())
            try:
                text = tapec.emit(case.f, case.wrt, signature, **options)
            except tapec.errors.NotDifferentiable:  # its result is not one number
                text = tapec.emit(case.f, case.wrt, signature, mode="jvp", **options)
            if write is not None:
                (write / f"{case.name}.py").write_text(text, encoding="utf-8")
            yield read(case.name, text, _with_callees(case.f))


def read(name: str, text: str, functions: list[ast.FunctionDef]) -> Read:
    """What is counted in a generated file of some functions of the source."""
    tree = ast.parse(text)
    kept = [node for node in tree.body if not _is_for_others(node)]
    users = {node.id for one in functions for node in ast.walk(one) if isinstance(node, ast.Name)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    names = tuple(node.id for node in found if node.id not in users)
    quoted = [line for node in kept if isinstance(node, ast.FunctionDef) for line in _quoted(text, node)]
    twice = len(quoted) - len(set(quoted))
    return Read(name, _lines(kept), _lines(functions), names, len(quoted), twice)


def _quoted(text: str, function: ast.FunctionDef) -> Iterator[tuple[int, str]]:
    """The lines of the source that a function quotes, each with the number of the sweep that does."""
    sweep = 0
    for line in text.splitlines()[function.lineno : function.end_lineno]:
        if _SWEEP.fullmatch(line):
            sweep += 1
        elif line.lstrip().startswith("# "):
            yield sweep, line.strip()


def _with_callees(function: Any) -> list[ast.FunctionDef]:
    """A function, and those of this repository that it calls, and so on."""
    found: dict[types.FunctionType, ast.FunctionDef] = {}
    waiting = [function]
    while waiting:
        one = waiting.pop()
        plain = getattr(one, "py_func", one)
        if not isinstance(plain, types.FunctionType) or plain in found:
            continue
        if plain.__module__.partition(".")[0] not in ("tools", "tests"):
            continue
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(plain))).body
        # a lambda counts where it stands
        if isinstance(node, ast.FunctionDef):
            found[plain] = node
        waiting += [plain.__globals__.get(name) for name in plain.__code__.co_names]
        if plain.__closure__:
            waiting += [cell.cell_contents for cell in plain.__closure__]
    return list(found.values())


def _is_for_others(node: ast.stmt) -> bool:
    """Whether a function takes what another one hands on."""
    return isinstance(node, ast.FunctionDef) and node.name.endswith(("_general", "_larger"))


def _lines(nodes: list[ast.stmt] | list[ast.FunctionDef]) -> int:
    """The lines of code of some functions and statements."""
    return len({(one, node.lineno) for one in nodes for node in ast.walk(one) if _is_code(node)})


def _is_code(node: ast.AST) -> TypeGuard[ast.stmt]:
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.stmt) and not is_docstring


@click.command()
@click.option("--each", is_flag=True, help="Lines of each program's file, the longest last.")
@click.option("--level", type=click.IntRange(0, 2), help="Of the programs' files; that of files by default.")
@click.option("--write", type=click.Path(file_okay=False, path_type=Path), help="Write the programs' files here.")
def main(each: bool, level: int | None, write: Path | None) -> None:
    """Print how the generated source reads."""
    for kind in ("reverse", "forward", "fastest"):
        click.echo(f"{kind:8} {readability(golden_files(kind))}")
    if write is not None:
        write.mkdir(parents=True, exist_ok=True)
    programs = list(program_files(level, write))
    click.echo(f"programs {readability(programs)}")
    if each:
        for one in sorted(programs, key=lambda one: one.lines / one.source_lines):
            click.echo(f"{one.lines / one.source_lines:5.1f} {one.lines:5} {one.source_lines:4} {one.name}")


if __name__ == "__main__":
    main()
