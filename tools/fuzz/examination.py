"""One random program, held to what `tests.oracles.check` asks.

That is Numba's value, reverse against forward to 1e-10, forward against central differences.  Further checks cost more
than they find, so each is for seeds of its own: what stands after each stage of the pipeline is run (`tests.stages`),
other levels of optimisation and other options give what level 2 gives, second derivatives agree with differences of
the first (`tests.levels`), sparse derivatives with dense ones (`tests.sparsity`).
An error of the compiler that points at the user's line is a refusal, and so is that of arrays that overlap, or that a
checkpointed loop hands on with another shape: it is counted, and no failure.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import config, njit

from tapec.errors import CompilationError, TapecError
from tapec.optimise.driver import watched
from tapec.transforms.checkpointed_sweeps import CHANGED
from tapec_runtime.aliasing import AliasedArguments
from tapec_runtime.non_finite import NonFiniteValue
from tests.levels import check_jacobians, check_options, check_second
from tests.oracles import Args, Derivative, Mismatch, any_single, check, clone, float_vector, same
from tests.sparsity import check_sparse
from tests.stages import check_file, check_stages
from tests.typed import interpreted as without_jit
from tests.verified import Verified
from tools.fuzz.conditions import harsh
from tools.fuzz.grammars import (
    aliases,
    complex_numbers,
    functions,
    loops,
    pairs,
    programs,
    recursion,
    repeats,
    stacks,
    systems,
    vectors,
)
from tools.fuzz.grammars.programs import FuzzProgram

GRAMMARS: dict[str, Callable[[int], FuzzProgram]] = {
    "programs": programs.generate,
    "vectors": vectors.generate,
    "loops": loops.generate,
    "aliases": aliases.generate,
    "repeats": repeats.generate,
    "systems": systems.generate,
    "complex": complex_numbers.generate,
    "functions": functions.generate,
    "pairs": pairs.generate,
    "stacks": stacks.generate,
    "recursion": recursion.generate,
}
# what gives the same derivatives, apart from levels 0 and 1
OPTIONS: tuple[dict[str, Any], ...] = (
    {"parallel": True},
    {"strict": True},
    {"memory": "400B"},
    {"memory": "900B"},
    {"parallel": True, "strict": True},
    {"boundscheck": True},
    {"debug": "nan"},
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
            if seed % 4 == 2:
                check_file(program, args, derivative)
        else:
            options = OPTIONS[seed // 4 % len(OPTIONS)]
            try:
                check_options(program, args, derivative, **options)
            except NonFiniteValue:
                # a finite result may come by way of infinity
                pass
            except (TapecError, MemoryError):
                # not every loop can be kept within a limit
                if "memory" not in options:
                    raise
        if seed % 10 == 0:
            check_second(program, args, derivative)
        if seed % 6 == 4:
            with without_jit():
                check_sparse(program, args, derivative.wrt, hessian=not derivative.split and seed % 12 == 4)
        if seed % 10 == 5:
            check_jacobians(program, args, derivative)

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


@contextmanager
def conditions(seed: int) -> Iterator[None]:
    """What each pass leaves is verified; without the JIT, loops run as threads would run them."""
    threads = harsh(side_by_side=seed % 2 == 0) if getattr(config, "DISABLE_JIT", 0) else nullcontext()
    with watched(Verified()), threads:
        yield


def run_seed(seed: int, folder: Path, grammar: str = "programs") -> Outcome:
    """Generate and check the program of a seed."""
    program = GRAMMARS[grammar](seed)
    with warnings.catch_warnings(), conditions(seed):
        warnings.simplefilter("ignore")
        return examine(program.source, program.arguments(), folder, seed)
