"""Which generated programs Numba has found types for, in this run and in earlier ones.

Inference takes a third of a test of values and derivatives.  Its answer depends on the text, on the types of the
arguments and of what the text reads, and on the code that infers; a program that was accepted is not asked about again.
One that was refused is.  The folder is `.pytest_cache`; whoever deletes it has all programs inferred anew.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np

from tapec.backend.program import Program

ROOT = Path(__file__).resolve().parents[1]
# whose functions generated programs call, and what has part in the inference
_CODE = ("runtime/tapec_runtime", "tapec/backend")
_PLAIN = (bool, int, float, complex, str, np.generic, np.ndarray)


def digest(program: Program, kinds: tuple[Any, ...]) -> str | None:
    """What a program and the types of its arguments are known by; None if they mention objects of this process."""
    bindings = program.bindings
    if not all(isinstance(value, _PLAIN) for value in bindings.values()):
        return None
    read = sorted((name, str(numba.typeof(value))) for name, value in bindings.items())
    text = "\n".join((program.text, str(kinds), str(read), str(sorted(program.options.flags.items()))))
    return None if " at 0x" in text else hashlib.sha256(text.encode()).hexdigest()


def is_known(found: str | None) -> bool:
    """Whether a program was accepted, by what `digest` gave for it."""
    return found in _known()


def keep(found: str | None) -> None:
    """Note that a program was accepted."""
    if found is None:
        return
    _known().add(found)
    path = _path()
    path.parent.mkdir(parents=True, exist_ok=True)
    # other workers write to the same file, each a line at once
    with path.open("a") as file:
        file.write(f"{found}\n")


@functools.cache
def _known() -> set[str]:
    path = _path()
    # a run that was killed may have left half a line, which is no digest
    return set(path.read_text().splitlines()) if path.exists() else set()


@functools.cache
def _path() -> Path:
    made = hashlib.sha256(repr((sys.version, np.__version__, numba.__version__, llvmlite.__version__)).encode())
    for file in _code():
        made.update(file.read_bytes())
    return ROOT / ".pytest_cache" / "types" / made.hexdigest()


def _code() -> Iterator[Path]:
    for folder in _CODE:
        yield from sorted((ROOT / folder).rglob("*.py"))
    yield from (ROOT / "tests/typed.py", Path(__file__))
