"""The processor that code is made for."""

from __future__ import annotations

import functools
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tapec.build.build_target import BASELINE, Target
from tapec.errors import UsageError

# one fused multiplication and addition: a call of the C library's function where there is no instruction;
# and a sum of vectors that is one instruction where vectors hold eight numbers
_PROBE = """
target triple = "{triple}"
declare double @llvm.fma.f64(double, double, double)
define <8 x double> @wide(<8 x double> %a, <8 x double> %b) "prefer-vector-width"="512" {{
  %r = fadd <8 x double> %a, %b
  ret <8 x double> %r
}}
define double @probe(double %a, double %b, double %c) {{
  %r = call double @llvm.fma.f64(double %a, double %b, double %c)
  ret double %r
}}
"""


@dataclass(frozen=True)
class Processor:
    """A processor in LLVM's words.

    features  what it has; those that its name implies may be left out
    fused     whether it multiplies and adds in one instruction
    """

    name: str
    features: str
    fused: bool


@functools.lru_cache
def processor(cpu: str) -> Processor:
    """The processor that `cpu` names: `baseline`, `native`, or a name that LLVM knows, such as `x86-64-v3`.

    raises  UsageError for a name that LLVM does not know
    """
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    triple = binding.get_process_triple()
    features = ""
    if cpu == BASELINE:
        name = "x86-64" if triple.startswith("x86_64") else "generic"
    elif cpu == "native":
        name, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    else:
        name = cpu
    # without this, LLVM aborts for a processor that it does not know
    probed = f"{features},+64bit".lstrip(",") if triple.startswith("x86_64") else features
    with _printed() as said:
        machine = binding.Target.from_triple(triple).create_target_machine(cpu=name, features=probed)
        assembly = machine.emit_assembly(binding.parse_assembly(_PROBE.format(triple=triple)))
    if any("not a recognized processor" in line for line in said):
        raise UsageError(
            f"there is no processor {cpu!r}", hint=f'write "{BASELINE}", "native", or a name of LLVM\'s: "x86-64-v3"'
        )
    fused = re.search(r"\bfma\b", assembly) is None
    if not features and triple.startswith("x86_64"):
        # the runtime's vectorised functions ask for these by name
        wide = "zmm" in assembly
        features = ",".join([*(["+fma"] if fused else []), *(["+avx512f"] if wide else [])])
    return Processor(name, features, fused)


def suited(target: Target, chosen: Processor) -> Target:
    """The target with the elementary functions that suit a processor.

    The vectorised ones are made of fused multiplications and additions; without an instruction for
    those, the C library's are faster.
    """
    return target if chosen.fused else replace(target, options=replace(target.options, math="libm"))


@contextmanager
def _printed() -> Iterator[list[str]]:
    """The lines that LLVM prints to stderr meanwhile."""
    lines: list[str] = []
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            lines += file.read().decode(errors="replace").splitlines()
