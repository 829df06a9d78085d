"""The process that compiles generated functions for another processor.

    python -m tapec.build.worker < request > answer

Numba chooses a processor once, when it is imported, so each build compiles in a process of its own,
whose environment names the processor.  Request and answer are pickles of `WorkerRequest`
and `WorkerAnswer` (request.py).
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections import namedtuple
from typing import Any

from tapec.build.boundary_values import form_of
from tapec.build.llvm_text import Item, argument_types, is_failure, isolated, reached, take_apart
from tapec.build.request import CompiledObject, Job, WorkerAnswer, WorkerRequest
from tapec.build.statuses import Failures
from tapec.build.symbols import Refusal, refusal, support_names


def compile_job(job: Job, request: WorkerRequest, failures: Failures) -> CompiledObject | Refusal:
    """Compile one function to an object, or say why that is not possible."""
    from tapec.backend.jit import without_advice
    from tapec.backend.numba_internals.linked_functions import is_part_of_numba, linked

    dispatcher = dispatcher_of(job)
    # what is built does not run here; other functions may go to Numba's own cache
    with without_advice(), linked(lambda one: one is dispatcher.py_func or is_part_of_numba(one)):
        dispatcher.compile(job.arguments)
    overload = dispatcher.overloads[job.arguments]
    if overload.library.has_dynamic_globals:
        return Refusal(job.name, "it reads data at an address of this process, such as a module-level array over 1 MB")
    text = overload.library.get_llvm_str()
    parts = take_apart(text)
    native = overload.fndesc.llvm_func_name
    items = reached(parts, native)
    refused = refusal(job.name, items)
    if refused is not None:
        return refused
    names = support_names(request.prefix, [item for item in items if not item.defined])
    names[native] = f"{request.prefix}_{job.name}_native"
    numbers = {item.name: failures.number(_pickle(item)) for item in items if is_failure(item)}
    made = isolated(text, native, names, numbers.__getitem__)
    # the first two point to the result and to the exception
    arguments = argument_types(parts.items[native])[2:]
    undefined = tuple(sorted({names.get(item.name, item.name) for item in items if not item.defined}))
    returned = form_of(overload.signature.return_type)
    return CompiledObject(job.name, returned, tuple(arguments), emit(made, request), undefined)


def dispatcher_of(job: Job) -> Any:
    """The function of a job, from its source."""
    import math

    import numba
    import numpy as np

    import tapec_runtime
    from tapec.backend.jit import register

    module = register(f"tapec_built_{job.name}")
    made = {name: namedtuple(cls, fields) for name, (cls, fields) in job.tuples.items()}
    # stand-ins: the modules of the classes need what is being built, perhaps
    raised = {name: type(cls, (Exception,), {"__module__": owner}) for name, (owner, cls) in job.raised.items()}
    module.__dict__.update(np=np, math=math, numba=numba, tapec_runtime=tapec_runtime, **job.arrays, **made, **raised)
    exec(compile(job.text, f"<{job.name}>", "exec"), module.__dict__)
    return numba.njit(**job.options.flags)(module.__dict__[job.name])


def _pickle(item: Item) -> bytes:
    """The bytes of a constant."""
    text = item.text
    quoted = text[text.index('c"') + 2 : text.rindex('"')]
    # two hexadecimal digits after a backslash, or another backslash
    return re.sub(rb"\\(\\|[0-9A-Fa-f]{2})", _unescaped, quoted.encode("latin-1"))


def _unescaped(found: re.Match[bytes]) -> bytes:
    return b"\\" if found[1] == b"\\" else bytes.fromhex(found[1].decode())


def emit(text: str, request: WorkerRequest) -> bytes:
    """Position-independent machine code of a module that has been optimised."""
    from llvmlite import binding

    binding.initialize_native_asmprinter()
    module = binding.parse_assembly(text)
    module.verify()
    target = binding.Target.from_triple(module.triple)
    machine = target.create_target_machine(
        cpu=request.cpu, features=request.features, opt=3, reloc="pic", codemodel="default"
    )
    code: bytes = machine.emit_object(module)
    return code


def answer(request: WorkerRequest) -> WorkerAnswer:
    """Compile all functions of a request."""
    failures = Failures()
    made = []
    for job in request.jobs:
        compiled = compile_job(job, request, failures)
        if isinstance(compiled, Refusal):
            return WorkerAnswer(refusal=compiled)
        made.append(compiled)
    return WorkerAnswer(tuple(made), tuple(failures.known))


def main() -> None:
    """Read a request, write an answer; what compilers print goes to stderr."""
    request = pickle.load(sys.stdin.buffer)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    pickle.dump(answer(request), out)
    out.close()


if __name__ == "__main__":
    main()
