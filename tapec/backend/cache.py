"""Generated modules and their machine code on disk.

    <cache folder>/<versions>/
        NAME-KEY.json     which names each function reads, so that a digest needs no parsing
        NAME-DIGEST.py    the generated module
        NAME-DIGEST.bin   Numba's compilation result, after the checksums of both files and their name

The digest covers all that the program was made of (`fingerprint.py`); the folder's name covers the
versions of everything that made it, the processor included.  Numba's own index is not used: its key
has the text of one file only, and it trusts what it reads.

`TAPEC_CACHE_DIR` moves the folder, `TAPEC_CACHE=0` does without.  Processes may share the folder
(`private_folder.py`); a file that cannot be read is written anew.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import os
import pickle
import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config, serialize
from numba.core import types as nt
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.typing.templates import signature

import tapec_runtime
from tapec.backend import fingerprint, private_folder
from tapec.backend.fingerprint import Request, Table, Uncacheable, Walk
from tapec.backend.program import Program
from tapec.errors import CacheError
from tapec.syntax.custom_rule import opaque_functions
from tapec.version import __version__

# ways to read one function's names that differ, by flags known at compile time for instance
_MOST_TABLES = 8
_CHECKSUM = 32


@dataclass(frozen=True)
class Entry:
    """A place in the cache, for one program.

    folder  where its files are
    name    the function's name
    digest  of all that it was made of
    key     under which its table of names is found
    table   that table
    """

    folder: Path
    name: str
    digest: str
    key: str
    table: Table

    @property
    def module_name(self) -> str:
        """The name of the generated module; unique, as symbols of machine code derive from it."""
        return f"tapec_generated_{self.digest}"

    @property
    def source_path(self) -> Path:
        return self.folder / f"{self.name}-{self.digest}.py"

    @property
    def code_path(self) -> Path:
        return self.folder / f"{self.name}-{self.digest}.bin"


def find(request: Request, argument_types: tuple[Any, ...]) -> tuple[Entry, str, bytes, Walk] | None:
    """An intact entry for a request: the place, the source, the serialised compilation result, what was visited."""
    folder = open_folder() if request.options.cache else None
    if folder is None:
        return None
    key = request.key(argument_types)
    name = _file_name(request)
    for table in _read_tables(folder / f"{name}-{key}.json"):
        walk = fingerprint.by_table(table)
        try:
            digest = request.digest(argument_types, walk)
        except (Uncacheable, RecursionError):
            continue
        entry = Entry(folder, name, digest, key, table)
        found = read(entry.source_path, entry.code_path)
        if found is not None:
            return entry, *found, walk
    return None


def read(source_path: Path, code_path: Path) -> tuple[str, bytes] | None:
    """A generated module and its serialised compilation result; None unless both are there, and intact."""
    source, code = private_folder.read(source_path), private_folder.read(code_path)
    if source is None or code is None:
        return None
    body = code[2 * _CHECKSUM :]
    return (source.decode(), body) if code[: 2 * _CHECKSUM] == _seal(code_path, source, body) else None


def plan(request: Request, argument_types: tuple[Any, ...], program: Program) -> Entry | None:
    """The place for a program that was just made; None if it cannot be kept."""
    folder = open_folder() if request.options.cache else None
    if folder is None:
        return None
    # what they do is not known, nor when it changes
    if opaque_functions(program.core.body):
        return None
    if not all(map(_importable, [*program.bindings.values(), *_classes(argument_types)])):
        return None
    # the text of a type that mentions an object, inside a tuple for instance, differs in every process
    if any(" at 0x" in str(one) for one in map(fingerprint.stand_in, argument_types)):
        return None
    lowered = program.lowered
    try:
        digest, table = fingerprint.record(request, argument_types, lowered.reads, lowered.functions)
    except (Uncacheable, RecursionError):
        return None
    return Entry(folder, _file_name(request), digest, request.key(argument_types), table)


def _classes(numba_types: Iterable[Any]) -> Iterator[Any]:
    """The named tuples that types mention."""
    for numba_type in numba_types:
        structure: Any = numba_type
        if isinstance(numba_type, nt.BaseNamedTuple):
            yield structure.instance_class
        if isinstance(numba_type, nt.BaseTuple):
            yield from _classes(structure.types)


def _importable(value: Any) -> bool:
    """Whether a compilation result that mentions `value` can be read by another process."""
    if isinstance(value, np.ndarray):
        return value.nbytes <= fingerprint.LARGEST_ARRAY
    found: Any = sys.modules.get(getattr(value, "__module__", ""))
    for part in getattr(value, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is value


def has_source(path: Path, text: str) -> bool:
    """Whether a file holds a generated module."""
    return private_folder.read(path) == text.encode()


def write_source(path: Path, text: str) -> bool:
    """Write the generated module; whether that worked."""
    return private_folder.write(path, text.encode())


def write_code(path: Path, text: str, result: Any) -> bool:
    """Write a compilation result; whether it was kept, which one that holds addresses of this process is not."""
    if result.library.has_dynamic_globals or result.lifted:
        return False
    described = copy.copy(result.fndesc)
    described.argtypes = tuple(map(fingerprint.stand_in, described.argtypes))
    # the annotation is the whole program once more, for a report that nobody asks of generated code
    body = serialize.dumps(result._replace(type_annotation="", fndesc=described, signature=None)._reduce())
    return private_folder.write(path, _seal(path, text.encode(), body) + body)


def store(entry: Entry, text: str, result: Any) -> None:
    """Keep a compilation result, and the table by which it is found."""
    if not write_code(entry.code_path, text, result):
        return
    key_path = entry.folder / f"{entry.name}-{entry.key}.json"
    tables = [entry.table, *(table for table in _read_tables(key_path) if table != entry.table)]
    private_folder.write(key_path, json.dumps({"tables": tables[:_MOST_TABLES]}).encode())


def restore(body: bytes, argument_types: tuple[Any, ...]) -> Any:
    """The compilation result that was written, linked into this process for calls; None if it does not fit."""
    result = rebuilt(body, argument_types)
    if result is not None:
        cpu_target.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
    return result


def rebuilt(body: bytes, argument_types: tuple[Any, ...]) -> Any:
    """The compilation result that was written, loaded into this process; None if it does not fit."""
    context = cpu_target.target_context
    context.refresh()
    try:
        result: Any = CompileResult._rebuild(context, *pickle.loads(body))
    except Exception:
        # the checksum holds, so a module it mentions has changed; it is compiled anew
        return None
    described = result.fndesc
    if described.argtypes != tuple(map(fingerprint.stand_in, argument_types)):
        return None  # a class of that name exists, but it is another one
    described.argtypes = argument_types
    return result._replace(signature=signature(described.restype, *argument_types))


def open_folder() -> Path | None:
    """The folder for this version of everything, made if it does not exist; None without a cache.

    raises  CacheError if a folder the user named cannot be used
    """
    if base_folder() is None:
        return None
    return _open(os.environ.get("TAPEC_CACHE_DIR") or None, _settings())


def base_folder() -> Path | None:
    """The folder of all versions, whether it exists or not; None without a cache."""
    if os.environ.get("TAPEC_CACHE", "").strip().lower() in ("0", "no", "off", "false"):
        return None
    return _base(os.environ.get("TAPEC_CACHE_DIR") or None)


def _base(chosen: str | None) -> Path:
    """The folder above those for each set of versions."""
    if chosen is not None:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("tapec", appauthor=False))


@functools.lru_cache(maxsize=8)
def _open(chosen: str | None, settings: tuple[Any, ...]) -> Path | None:
    base = _base(chosen)
    folder = base / f"v{__version__}-{_versions(settings)}"
    try:
        private_folder.make(folder)
        reason = private_folder.refusal(folder)
    except OSError as error:
        reason = str(error)
    if not reason:
        private_folder.tidy(folder)
        return folder
    if chosen is None:
        return None
    raise CacheError(
        f"the cache folder {base} cannot be used",
        reason=reason,
        hint="set TAPEC_CACHE_DIR to another folder, or TAPEC_CACHE=0",
    )


def _settings() -> tuple[Any, ...]:
    """Settings of Numba that change the code it makes."""
    names = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "CPU_NAME", "CPU_FEATURES", "DEBUGINFO_DEFAULT")
    return tuple(str(getattr(config, name, None)) for name in names)


def _versions(settings: tuple[Any, ...]) -> str:
    """A digest of what makes and runs the code."""
    told = (
        [__version__, numba.__version__, llvmlite.__version__, np.__version__],
        [platform.python_implementation(), sys.version_info[:3], getattr(sys, "abiflags", "")],
        cpu_target.target_context.codegen().magic_tuple(),
        settings,
        _files(Path(__file__).parent.parent) + _files(Path(tapec_runtime.__file__).parent),
    )
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


def _files(root: Path) -> list[tuple[str, int, int]]:
    """The files of an import package with size and time: its version does not tell of edits."""
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(".py"):
                about = os.stat(os.path.join(folder, name))
                found.append((os.path.relpath(os.path.join(folder, name), root), about.st_size, about.st_mtime_ns))
    return sorted(found)


def _file_name(request: Request) -> str:
    return f"{file_name(request.function.__name__)}_{request.kind}"


def file_name(name: str) -> str:
    """What a function's files are called after its name."""
    # names outside ASCII are legal in Python, not in every file system
    return name[:40] if name.isidentifier() and name.isascii() else "function"


def _read_tables(path: Path) -> list[Table]:
    """The tables of names in a file; none if it is missing or damaged."""
    try:
        match json.loads(private_folder.read(path) or b""):
            case {"tables": list(tables)} if all(map(_is_table, tables)):
                return tables
    except (ValueError, RecursionError):
        pass
    return []


def _is_table(found: Any) -> bool:
    return isinstance(found, list) and all(
        isinstance(names, list) and all(isinstance(name, str) for name in names) for names in found
    )


def _seal(path: Path, source: bytes, body: bytes) -> bytes:
    """What a file of machine code begins with: under another name it is that of another program."""
    named = f"{path.name}\n".encode() + source
    return b"".join(hashlib.sha256(one).digest() for one in (named, body))
