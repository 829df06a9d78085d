"""Check random programs: `python -m tools.fuzz --minutes N [--seed S] [--grammar vectors]`.

Each seed gives a program (see `fuzz_programs`, `fuzz_vectors` for whole arrays, `fuzz_loops`, `fuzz_aliases`,
`fuzz_repeats`, `fuzz_systems` for linear algebra, `fuzz_complex`, `fuzz_pairs` for points, `fuzz_stacks`,
`fuzz_recursion`) that is held to what `tests.oracles.check` asks: Numba's value, reverse against forward to 1e-10,
forward against central differences.
Further checks cost more than they find, so each is for seeds of its own: what stands after each stage of the
pipeline is run (`tests.stages`), other levels of optimisation and other options give what level 2 gives, second
derivatives agree with differences of the first (`tests.levels`), sparse derivatives with dense ones
(`tests.sparsity`).  A failing program is shrunk by removing statements while it fails in the same way, and written to
a file.
An error of the compiler that points at the user's line is a refusal, and so is that of arrays that overlap, or that a
checkpointed loop hands on with another shape: it is counted, and no failure.

With `NUMBA_DISABLE_JIT=1`, which sees ten times as many programs, generated code runs under `fuzz_conditions`.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import click
import numpy as np
from numba import config, njit

from tapec.errors import CompilationError, TapecError
from tapec.optimise.driver import watched
from tapec.transforms.checkpoint_schedule import CHANGED
from tapec_runtime.aliasing import AliasedArguments
from tests.levels import check_options, check_second
from tests.oracles import Args, Derivative, Mismatch, any_single, check, clone, float_vector, same
from tests.sparsity import check_sparse
from tests.stages import check_stages
from tests.typed import interpreted as without_jit
from tests.verified import Verified
from tools import (
    fuzz_aliases,
    fuzz_complex,
    fuzz_functions,
    fuzz_loops,
    fuzz_pairs,
    fuzz_programs,
    fuzz_recursion,
    fuzz_repeats,
    fuzz_stacks,
    fuzz_systems,
    fuzz_vectors,
)
from tools.fuzz_conditions import harsh
from tools.fuzz_programs import FuzzProgram

GRAMMARS: dict[str, Callable[[int], FuzzProgram]] = {
    "programs": fuzz_programs.generate,
    "vectors": fuzz_vectors.generate,
    "loops": fuzz_loops.generate,
    "aliases": fuzz_aliases.generate,
    "repeats": fuzz_repeats.generate,
    "systems": fuzz_systems.generate,
    "complex": fuzz_complex.generate,
    "functions": fuzz_functions.generate,
    "pairs": fuzz_pairs.generate,
    "stacks": fuzz_stacks.generate,
    "recursion": fuzz_recursion.generate,
}
# what gives the same derivatives, apart from levels 0 and 1
OPTIONS: tuple[dict[str, Any], ...] = (
    {"parallel": True},
    {"strict": True},
    {"memory": "400B"},
    {"memory": "900B"},
    {"parallel": True, "strict": True},
    {"boundscheck": True},
)
PASSED, SKIPPED, REFUSED, FAILED = "passed", "skipped", "refused", "failed"
LINE_LIMIT = 200_000


@dataclass(frozen=True)
class Outcome:
    """How a program fared; `kind` tells failures apart, `detail` is for people."""

    status: str
    kind: str = ""
    detail: str = ""


class TooLong(Exception):
    """The program did not end within the limit of lines."""


def load(source: str, folder: Path) -> ModuleType:
    """Import source text from a file of its own, so that its functions have source."""
    path = Path(tempfile.mkstemp(suffix=".py", prefix="fuzz_", dir=folder)[1])
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # Numba links a recursive function by its module
    spec.loader.exec_module(module)
    return module


def run_bounded(f: Callable[..., Any], args: Args) -> Any:
    """Call `f` in the interpreter; `TooLong` if it runs more lines than any generated program."""
    count = 0
    file = f.__code__.co_filename

    def trace(frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename != file:
            return None
        count += event == "line"
        if count > LINE_LIMIT:
            raise TooLong
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        return f(*args)
    finally:
        sys.settrace(previous)


def interpreted(module: ModuleType) -> Callable[..., Any]:
    """`program` with its compiled helpers replaced by their Python functions."""
    plain = dict(vars(module))
    for name, value in vars(module).items():
        if name == "program" or name.startswith("helper_"):
            function = getattr(value, "py_func", value)
            plain[name] = FunctionType(function.__code__, plain, name, function.__defaults__)
            plain[name].__kwdefaults__ = function.__kwdefaults__
    return plain["program"]


def examine(source: str, args: Args, folder: Path, seed: int = 0) -> Outcome:
    """Run the checks on one program; the seed says which of the costly ones."""
    try:
        module = load(source, folder)
        program = module.program
        value = run_bounded(interpreted(module), clone(args))
    except Exception as error:
        return Outcome(SKIPPED, "invalid", f"{type(error).__name__}: {error}")
    numbers = float_vector(value)
    if numbers.size == 0 or not np.all(np.isfinite(numbers)):
        return Outcome(SKIPPED, "no finite result")
    compiled = njit(program)
    try:
        # Numba and NumPy promote single precision differently: there Numba's value is the measure
        tolerance = np.inf if any_single(args) else 1e-9
        same("njit", compiled(*clone(args)), value, tolerance)
    except Exception as error:
        return Outcome(SKIPPED, "Numba and Python differ", str(error))

    def also(derivative: Derivative) -> None:
        if seed % 4 == 0:
            check_stages(program, args, derivative)
        elif seed % 4 < 3:
            check_options(program, args, derivative, opt_level=seed % 4 - 1, math="libm")
        else:
            options = OPTIONS[seed // 4 % len(OPTIONS)]
            try:
                check_options(program, args, derivative, **options)
            except (TapecError, MemoryError):
                # not every loop can be kept within a limit
                if "memory" not in options:
                    raise
        if seed % 10 == 0:
            check_second(program, args, derivative)
        if seed % 6 == 4:
            with without_jit():
                check_sparse(program, args, derivative.wrt, hessian=not derivative.split and seed % 12 == 4)

    try:
        compared = check(program, args, original=compiled, skip_kinks=True, compiled="reverse", also=also)
    except Mismatch as error:
        return Outcome(FAILED, str(error).partition(":")[0], str(error))
    except CompilationError as error:
        return Outcome(FAILED, f"CompilationError: {error.message}", str(error))
    except (TapecError, AliasedArguments) as error:
        return Outcome(REFUSED, f"{type(error).__name__}: {getattr(error, 'message', error)}", str(error))
    except Exception as error:
        status = REFUSED if str(error) == CHANGED else FAILED
        return Outcome(status, type(error).__name__, f"{type(error).__name__}: {error}")
    return Outcome(PASSED, "" if compared else "near a kink")


def reductions(source: str) -> Iterator[str]:
    """Slightly smaller programs: first with a statement less, then with simpler expressions."""
    yield from _fewer_statements(source)
    yield from _simpler_expressions(source)


def _fewer_statements(source: str) -> Iterator[str]:
    """Programs with one statement less, or with a compound statement replaced by its body."""
    count = sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(source)))
    for position in range(count):
        for unwrap in (False, True):
            tree = ast.parse(source)
            node = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)][position]
            body = list(getattr(node, "body", [])) if unwrap else []
            if unwrap and (not body or isinstance(node, ast.FunctionDef)):
                continue
            if not isinstance(node, (ast.Import, ast.ImportFrom)) and _replace(tree, node, body):
                yield ast.unparse(tree) + "\n"


def _simpler_expressions(source: str) -> Iterator[str]:
    """Programs with an operation replaced by one of its operands."""
    reducible = (ast.BinOp, ast.Call, ast.IfExp, ast.UnaryOp, ast.BoolOp)
    for position, outer in enumerate(ast.walk(ast.parse(source))):
        if not isinstance(outer, reducible):
            continue
        operands = sum(isinstance(child, ast.expr) for child in ast.iter_child_nodes(outer))
        for k in range(operands):
            tree = ast.parse(source)
            node = list(ast.walk(tree))[position]
            children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
            swap = _Swap(node, children[k])
            yield ast.unparse(swap.visit(tree)) + "\n"


class _Swap(ast.NodeTransformer):
    """Put one expression in the place of another."""

    def __init__(self, old: ast.AST, new: ast.expr):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else super().visit(node)


def _replace(tree: ast.AST, old: ast.stmt, new: list[ast.stmt]) -> bool:
    """Put statements in the place of one, if that leaves no empty body that must not be empty."""
    for parent in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and old in block:
                k = block.index(old)
                block[k : k + 1] = new
                if not block and name == "body":
                    block.append(ast.Pass())
                    return not isinstance(old, ast.Pass)
                return True
    return False


def shrink(source: str, args: Args, folder: Path, kind: str, seconds: float, seed: int = 0) -> str:
    """The smallest program found within the time that fails in the same way."""
    deadline = time.monotonic() + seconds
    rejected = 0
    while True:
        start = rejected
        for candidate in islice(reductions(source), rejected, None):
            if time.monotonic() > deadline:
                return source
            outcome = examine(candidate, args, folder, seed)
            if outcome.status == FAILED and outcome.kind == kind:
                source = candidate
                break
            rejected += 1
        else:
            if start == 0:
                return source
            rejected = 0


@contextmanager
def _conditions(seed: int) -> Iterator[None]:
    """What each pass leaves is verified; without the JIT, loops run as threads would run them."""
    threads = harsh(side_by_side=seed % 2 == 0) if getattr(config, "DISABLE_JIT", 0) else nullcontext()
    with watched(Verified()), threads:
        yield


def run_seed(seed: int, folder: Path, grammar: str = "programs") -> Outcome:
    """Generate and check the program of a seed."""
    program = GRAMMARS[grammar](seed)
    with warnings.catch_warnings(), _conditions(seed):
        warnings.simplefilter("ignore")
        return examine(program.source, program.arguments(), folder, seed)


def report_failure(
    seed: int, outcome: Outcome, folder: Path, target: Path, seconds: float, grammar: str = "programs"
) -> Path:
    """Shrink the program of a failing seed and write it, with the reason, to a file."""
    program = GRAMMARS[grammar](seed)
    with warnings.catch_warnings(), _conditions(seed):
        warnings.simplefilter("ignore")
        source = shrink(program.source, program.arguments(), folder, outcome.kind, seconds, seed)
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"seed_{seed}.py"
    reason = "\n".join(f"# {line}" for line in outcome.detail.splitlines())
    path.write_text(f"# seed {seed}, parameters {program.parameters}\n{reason}\n{source}", encoding="utf-8")
    return path


@click.command()
@click.option("--minutes", type=float, default=1.0, show_default=True, help="How long to run.")
@click.option("--seed", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--count", type=int, default=None, help="Stop after this many seeds.")
@click.option("--failures", type=click.Path(path_type=Path), default=Path("fuzz-failures"), show_default=True)
@click.option("--shrink-seconds", type=float, default=120.0, show_default=True, help="Longest time to shrink one.")
@click.option("--keep-going", is_flag=True, help="Go on after a failure.")
@click.option("--grammar", type=click.Choice([*GRAMMARS]), default="programs", show_default=True)
def main(
    minutes: float,
    seed: int,
    count: int | None,
    failures: Path,
    shrink_seconds: float,
    keep_going: bool,
    grammar: str,
) -> None:
    """Check the programs of consecutive seeds until the time is over."""
    deadline = time.monotonic() + 60.0 * minutes
    totals: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while time.monotonic() < deadline and (count is None or totals.total() < count):
            outcome = run_seed(seed, folder, grammar)
            totals[outcome.status] += 1
            if outcome.status == REFUSED:
                refused[outcome.kind] += 1
            if outcome.status == FAILED:
                click.echo(f"seed {seed}: {outcome.detail}")
                path = report_failure(seed, outcome, folder, failures, shrink_seconds, grammar)
                click.echo(f"seed {seed}: written to {path}")
                if not keep_going:
                    break
            seed += 1
    click.echo(", ".join(f"{number} {status}" for status, number in sorted(totals.items())) + f"; next seed {seed}")
    for message, number in refused.most_common():
        click.echo(f"refused {number} times: {message}")
    sys.exit(1 if totals[FAILED] else 0)


if __name__ == "__main__":
    main()
