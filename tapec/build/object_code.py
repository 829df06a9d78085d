"""Generated functions to relocatable objects with C entries.

    program ─Numba, in a process for the chosen processor→ LLVM ─isolated→ object
    interface ─printed→ C ─compiler→ object with the entries

What a library and an extension module have in common; see docs/design/0006-ahead-of-time.md.
"""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tapec.build.boundary_values import form_of, plain
from tapec.build.build_target import DerivedTarget
from tapec.build.c_header import HeaderEntry, HeaderError, error_source, header_text
from tapec.build.entry import EntryParts, entries_source
from tapec.build.interface import Interface, c_name, gradient_sources, interface_of
from tapec.build.native_types import llvm_types
from tapec.build.outputs import WrittenOutputs, with_outputs
from tapec.build.processor import Processor
from tapec.build.request import Job, WorkerAnswer, WorkerRequest
from tapec.build.symbols import LIBC, LINEAR
from tapec.build.toolchain import Toolchain, toolchain
from tapec.errors import CompilationError, UnsupportedFunction, UsageError
from tapec.frontend.evaluator.numba_types import to_numba
from tapec.frontend.source.function_source import definition
from tapec.syntax.types import Array

SUPPORT = Path(__file__).parent / "support"


@dataclass(frozen=True)
class Native:
    """Compiled functions and their entries, ready to link.

    prefix      begins the names of the library's symbols
    interfaces  one per function
    objects     (file name, bytes) of each relocatable, position-independent object
    header      C declarations: entries, statuses, `PREFIX_error`
    errors      the exceptions that entries report by a positive status
    libraries   what to link with, as after -l: "m", and "lapack" and "blas" where they are used
    """

    prefix: str
    interfaces: tuple[Interface, ...]
    objects: tuple[tuple[str, bytes], ...]
    header: str
    errors: tuple[HeaderError, ...]
    libraries: tuple[str, ...]


def compile_native(
    library: str, functions: Sequence[DerivedTarget], chosen: Processor, exported: bool = True, own_linear: bool = False
) -> Native:
    """Compile generated functions for a processor.

    library     name of the result; symbols and the header's name derive from it
    exported    whether entries are visible outside a shared library
    own_linear  whether linear algebra comes along, instead of BLAS and LAPACK
    raises      UsageError without a C compiler, and for names that clash; UnsupportedType or
                UnsupportedFunction for what has no form in C; CompilationError if Numba refuses
    """
    if sys.platform != "linux":
        raise UsageError(
            "libraries and extension modules can be built on Linux only", hint='kind "source" is for any platform'
        )
    tools = toolchain()
    prefix = c_name(library.replace("-", "_").replace(".", "_"))
    _check_names(prefix, functions)
    written = [with_outputs(one.program, gradient_sources(one)) for one in functions]
    jobs = tuple(_job(one, made) for one, made in zip(functions, written, strict=True))
    answer = _compiled(WorkerRequest(prefix, jobs, chosen.name, chosen.features))
    if answer.refusal is not None:
        refused = next(one for one in functions if one.program.name == answer.refusal.name)
        raise UnsupportedFunction(
            f"`{refused.function.__name__}` cannot be built ahead of time",
            definition(refused.function),
            reason=answer.refusal.reason,
        )
    interfaces = tuple(interface_of(one, made.returned) for one, made in zip(functions, answer.functions, strict=True))
    errors = tuple(HeaderError(k, *failure) for k, failure in enumerate(answer.failures, 1))
    summaries = [_summary(one) for one in functions]
    header = header_text(prefix, [HeaderEntry(i, s) for i, s in zip(interfaces, summaries, strict=True)], errors)
    wanted = frozenset(name for made in answer.functions for name in made.undefined)
    linear = any(f"{prefix}_{name}" in wanted for name in LINEAR)
    objects = [(f"{made.name}.o", made.code) for made in answer.functions]
    entries = [
        EntryParts(interface, tuple(form_of(kind) for kind in one.arguments), made.returned, outputs.leaves)
        for interface, one, made, outputs in zip(interfaces, functions, answer.functions, written, strict=True)
    ]
    for parts, made in zip(entries, answer.functions, strict=True):
        assert llvm_types(parts.native) == made.native, (made.name, made.native)
    support = ["memory", "arrays", *(["linear"] if linear else []), *(["dense"] if linear and own_linear else [])]
    defines = {"PREFIX": prefix, **({"EXPORTED": "1"} if exported else {})}
    defines |= {"OWN_ROUTINES": "1"} if own_linear else {}
    texts = {
        f"{prefix}.h": header,
        "entries.c": entries_source(prefix, f"{prefix}.h", entries),
        "error.c": error_source(prefix, f"{prefix}.h", errors),
    }
    objects += _supporting(tools, texts, support, defines)
    libraries = ("lapack", "blas", "m") if linear and not own_linear else ("m",)
    return Native(prefix, interfaces, tuple(objects), header, errors, libraries)


def _check_names(prefix: str, functions: Sequence[DerivedTarget]) -> None:
    """Entries are symbols of one library."""
    seen = {f"{prefix}_error"}
    for one in functions:
        name = one.program.name
        if name != c_name(name) or name in LIBC:
            why = "a function of C's library" if name in LIBC else "not a name in C"
            raise UsageError(f"{name!r} is {why}", hint="give the target another `name`")
        if name in seen:
            raise UsageError(f"two functions would be called {name!r}", hint="give one of the targets another `name`")
        seen.add(name)


def _job(derived: DerivedTarget, written: WrittenOutputs) -> Job:
    program = written.program
    arrays, tuples, raised = {}, {}, {}
    for name, value in program.bindings.items():
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif issubclass(value, Exception):
            raised[name] = (value.__module__, value.__qualname__)
        else:
            tuples[name] = (value.__name__, tuple(value._fields))
    outputs = [to_numba(Array(source.dtype, source.rank)) for source in written.sources]
    arguments = (*(plain(kind) for kind in derived.arguments), *outputs)
    return Job(program.name, program.text, arrays, tuples, raised, arguments, program.options)


def _summary(derived: DerivedTarget) -> str:
    """What the generated function's docstring says, which is one sentence."""
    return derived.program.core.doc


def _compiled(request: WorkerRequest) -> WorkerAnswer:
    """Compile in a process whose Numba makes code for the request's processor."""
    # other settings of Numba's in the environment would change what is built
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {
        "NUMBA_CPU_NAME": request.cpu,
        "NUMBA_CPU_FEATURES": request.features,
        "NUMBA_DISABLE_INTEL_SVML": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tapec.build.worker"], input=pickle.dumps(request), capture_output=True, env=environment
    )
    if done.returncode != 0:
        said = [line for line in done.stderr.decode(errors="replace").splitlines() if re.match(r"[\w.]+: ", line)]
        raise CompilationError("the generated source could not be compiled", reason=said[-1] if said else "")
    answer: WorkerAnswer = pickle.loads(done.stdout)
    return answer


def _supporting(
    tools: Toolchain, texts: Mapping[str, str], support: Sequence[str], defines: Mapping[str, str]
) -> list[tuple[str, bytes]]:
    """The objects of the C files among `texts`, and of parts of the support code."""
    made = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        for path in (*SUPPORT.glob("*.h"), *(SUPPORT / f"{part}.c" for part in support)):
            shutil.copyfile(path, folder / path.name)
        for source in [*(file for file in texts if file.endswith(".c")), *(f"{part}.c" for part in support)]:
            output = (folder / source).with_suffix(".o")
            tools.compile(folder / source, output, [], defines)
            made.append((output.name, output.read_bytes()))
    return made
