"""What a build asks of the process that compiles, and what that answers; see worker.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tapec.build.boundary_values import Form
from tapec.build.symbols import Refusal
from tapec.options import DEFAULT, Options


@dataclass(frozen=True)
class Job:
    """A generated function to compile.

    name       its name in `text`, and in the object
    text       its source
    arrays     the arrays that it reads from modules
    tuples     the named tuples that it makes: name -> (class name, fields)
    raised     the classes of exceptions that are not builtins: name -> (module, class name)
    arguments  Numba types
    options    what it is compiled with
    """

    name: str
    text: str
    arrays: dict[str, Any]
    tuples: dict[str, tuple[str, tuple[str, ...]]]
    raised: dict[str, tuple[str, str]]
    arguments: tuple[Any, ...]
    options: Options = DEFAULT


@dataclass(frozen=True)
class WorkerRequest:
    """What to compile: `prefix` begins the names of all symbols that stay in the library."""

    prefix: str
    jobs: tuple[Job, ...]
    cpu: str
    features: str


@dataclass(frozen=True)
class CompiledObject:
    """A compiled function.

    returned   the form of its result
    native     LLVM types of its arguments, after the two for result and exception
    code       a relocatable object that defines `PREFIX_NAME_native`
    undefined  the symbols that it wants from others
    """

    name: str
    returned: Form
    native: tuple[str, ...]
    code: bytes
    undefined: tuple[str, ...]


@dataclass(frozen=True)
class WorkerAnswer:
    """All compiled functions, with the exceptions that they raise: (module, class, message) for status 1, 2, ..."""

    functions: tuple[CompiledObject, ...] = ()
    failures: tuple[tuple[str, str, str], ...] = ()
    refusal: Refusal | None = None
