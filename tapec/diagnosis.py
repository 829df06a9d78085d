"""What tapec finds on this machine: versions, processor, threads, cache, optional libraries; what is wrong or slow.

Nothing here is needed by a derivative.  A library that cannot be imported is a finding, so each one is imported where
it is looked at.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from tapec.version import RUNS_WITH, __version__

WRONG, SLOW = "wrong", "slow"
_OLDEST_PYTHON = (3, 11)
# distribution, and the oldest version that tests run with; as the extras of setup.cfg, which a test compares
OPTIONAL = (
    "torch>=2.4",
    "jax>=0.6",
    "pytensor>=2.38",
    "dask>=2024.8",
    "distributed>=2024.8",
    "pandas>=2.2",
    "xarray>=2024.7",
    "scikit-learn>=1.6",
    "ipython>=8",
)
# settings of Numba, the value with which code is fast, and what another one does
_SETTINGS = (
    ("OPT", 3, "LLVM optimises less"),
    ("LOOP_VECTORIZE", 1, "LLVM vectorises no loop"),
    ("BOUNDSCHECK", None, "Numba tests every subscript"),
    ("DEBUGINFO_DEFAULT", 0, "code is compiled for a debugger"),
)


@dataclass(frozen=True)
class Finding:
    """One line of the diagnosis.

    name     what was looked at
    value    what was found
    verdict  "wrong": derivatives fail, or what is said to be installed does not work; "slow": they are right, and
             slower than they could be; else empty
    reason   what is wrong or slow, a sentence
    hint     what to do about it
    """

    name: str
    value: str
    verdict: str = ""
    reason: str = ""
    hint: str = ""


Section = Callable[[], Iterator[Finding]]


def diagnosis() -> Iterator[tuple[str, list[Finding]]]:
    """The findings, section by section; each section is looked at when it is asked for."""
    sections: tuple[tuple[str, Section], ...] = (
        ("Versions", _versions),
        ("Processor", _processor),
        ("Threads", _threads),
        ("Linear algebra", _linear_algebra),
        ("Cache of compiled derivatives", _cache),
        ("Optional", _optional),
        ("A first gradient", _first_gradient),
    )
    for title, section in sections:
        yield title, list(_guarded(title, section))


def _guarded(title: str, section: Section) -> Iterator[Finding]:
    try:
        yield from section()
    except Exception as error:
        # the other sections still say what they find
        reason = f"{type(error).__name__}: {error}"
        hint = "correct what is wrong with the versions first; then pip install --force-reinstall tapec"
        yield Finding(title.lower(), "not known", WRONG, reason, hint)


def number(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with, for comparisons.

    >>> number("2.10.1"), number("0.61"), number("3.0.0rc1")
    ((2, 10, 1), (0, 61), (3, 0, 0))
    """
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def _library(requirement: str, module: str = "") -> Finding:
    """A library that must be there: its version, compared with the oldest that is known to work."""
    name, _, oldest = requirement.partition(">=")
    hint = f"pip install '{requirement}'"
    try:
        version = str(importlib.import_module(module or name).__version__)
    except Exception as error:
        reason = f"it cannot be imported: {type(error).__name__}: {error}"
        return Finding(name, "not usable", WRONG, reason, hint)
    if number(version) < number(oldest):
        return Finding(name, version, WRONG, f"tapec needs {name} {oldest} or newer", hint)
    return Finding(name, version)


def _versions() -> Iterator[Finding]:
    yield Finding("tapec", f"{__version__}, in {Path(__file__).parent}")
    yield _runtime()
    python = f"{platform.python_version()}, {platform.python_implementation()}, {sys.executable}"
    if sys.version_info[:2] < _OLDEST_PYTHON:
        yield Finding("Python", python, WRONG, "tapec needs Python 3.11 or newer", "use a newer Python")
    else:
        yield Finding("Python", python)
    for requirement in (*RUNS_WITH, "scipy>=1.11"):
        yield _library(requirement)
    yield _library("llvmlite>=0.44")


def _runtime() -> Finding:
    """`tapec_runtime`, which generated code calls."""
    name = "tapec_runtime"
    hint = f"pip install 'tapec-runtime=={__version__}'"
    try:
        folder = Path(str(importlib.import_module(name).__file__)).parent
    except Exception as error:
        return Finding(name, "not usable", WRONG, f"it cannot be imported: {type(error).__name__}: {error}", hint)
    try:
        installed = metadata.distribution("tapec-runtime")
    except metadata.PackageNotFoundError:
        return Finding(name, f"of the same distribution, in {folder}")
    found = installed.version
    if Path(str(installed.locate_file(name))).resolve() != folder.resolve():
        # a clone on sys.path hides it
        return Finding(name, f"in {folder}")
    if found != __version__:
        return Finding(name, f"{found}, in {folder}", WRONG, f"tapec {__version__} needs the same version of it", hint)
    return Finding(name, f"{found}, in {folder}")


def vector_bits(machine: str, features: str) -> int:
    """The width of the processor's vectors, from LLVM's list of its features.

    >>> vector_bits("x86_64", "+sse2,+avx2,-avx512f"), vector_bits("aarch64", "+neon")
    (256, 128)
    """
    known = set(features.split(","))
    for feature, bits in (("+avx512f", 512), ("+avx2", 256), ("+avx", 256)):
        if feature in known:
            return bits
    return 128 if machine.lower() in ("x86_64", "amd64", "aarch64", "arm64") else 64


def _settings_of_numba() -> Any:
    # a module whose names are not known before it runs
    return importlib.import_module("numba.core.config")


def _processor() -> Iterator[Finding]:
    from llvmlite import binding
    from numba.core.registry import cpu_target

    config = _settings_of_numba()
    machine = platform.machine()
    asked = getattr(config, "CPU_NAME", None)
    yield Finding("machine", f"{platform.system()} {machine}, {sys.byteorder}-endian")
    own = binding.get_host_cpu_name()
    if asked and asked != own:
        reason = f"NUMBA_CPU_NAME asks for code for {asked!r}; the processor is {own!r}"
        yield Finding("processor", asked, SLOW, reason, "unset NUMBA_CPU_NAME")
    else:
        yield Finding("processor", own)
    _, _, used = cpu_target.target_context.codegen().magic_tuple()
    bits = vector_bits(machine, used)
    has = vector_bits(machine, binding.get_host_cpu_features().flatten())
    text = f"{bits} bits, {bits // 64} float64"
    if bits < has:
        reason = f"the processor has vectors of {has} bits; settings of Numba leave them out"
        yield Finding("vectors", text, SLOW, reason, "unset NUMBA_CPU_NAME and NUMBA_CPU_FEATURES")
    else:
        yield Finding("vectors", text)
    svml = "used" if getattr(config, "USING_SVML", False) else "not used"
    yield Finding("SVML", f"{svml} by Numba; generated code has vector functions of its own")
    if config.DISABLE_JIT:
        reason = "NUMBA_DISABLE_JIT is set: derivatives run as Python, for a debugger"
        yield Finding("compiler", "off", SLOW, reason, "unset NUMBA_DISABLE_JIT")
    for name, fast, effect in _SETTINGS:
        value = getattr(config, name, fast)
        if value != fast and (value or fast):
            # the level of optimisation is a number that prints as an object
            shown = str(int(value)) if isinstance(value, int) else str(value)
            setting = f"NUMBA_{name.removesuffix('_DEFAULT')}"
            yield Finding(setting, shown, SLOW, effect, f"unset {setting}")


def _threads() -> Iterator[Finding]:
    config = _settings_of_numba()
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding("processors", f"{available} for this process, {os.cpu_count()} in the machine")
    threads = config.NUMBA_NUM_THREADS
    if threads > available:
        reason = "there are more threads than processors: they wait for one another"
        yield Finding("threads of Numba", str(threads), SLOW, reason, f"set NUMBA_NUM_THREADS={available}")
    else:
        yield Finding("threads of Numba", f"{threads}, for parallel=True")
    usable = list(_threading_layers())
    asked = str(config.THREADING_LAYER)
    value = f"{asked}; usable: {', '.join(usable) or 'none'}"
    if asked in ("tbb", "omp", "workqueue") and asked not in usable:
        reason = f"the threading layer {asked!r} cannot be loaded: parallel=True fails"
        yield Finding("threading layer", value, WRONG, reason, "unset NUMBA_THREADING_LAYER")
    elif not usable:
        hint = "pip install tbb, or leave parallel=True out"
        yield Finding("threading layer", value, WRONG, "no threading layer can be loaded: parallel=True fails", hint)
    else:
        yield Finding("threading layer", value)


def _threading_layers() -> Iterator[str]:
    for name in ("tbb", "omp", "workqueue"):
        try:
            importlib.import_module(f"numba.np.ufunc.{name}pool" if name != "workqueue" else "numba.np.ufunc.workqueue")
        except ImportError:
            continue
        yield name


def _linear_algebra() -> Iterator[Finding]:
    import numpy
    import scipy

    # products and factorisations in jitted code are SciPy's, those of tapes outside it NumPy's
    for library in (scipy, numpy):
        found: Any = library.show_config(mode="dicts")
        blas = found.get("Build Dependencies", {}).get("blas", {}) if isinstance(found, dict) else {}
        name, version = blas.get("name", "not known"), blas.get("version", "")
        name = f"BLAS of {library.__name__}", f"{name} {version}".strip()
        if blas.get("name") in ("blas", "netlib"):
            reason = "the reference BLAS is not optimised: matrix products are slow"
            yield Finding(*name, SLOW, reason, f"pip install --force-reinstall {library.__name__}")
        else:
            yield Finding(*name)
    limits = [f"{one}={os.environ[one]}" for one in _BLAS_THREADS if one in os.environ]
    yield Finding("threads of BLAS", ", ".join(limits) or "as BLAS chooses")


_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def _cache() -> Iterator[Finding]:
    from tapec.backend.cache import base_folder, open_folder
    from tapec.backend.private_folder import refusal
    from tapec.backend.stored import cached
    from tapec.errors import CacheError

    folder = base_folder()
    if folder is None:
        reason = "TAPEC_CACHE turns the cache off: each process compiles its derivatives anew"
        yield Finding("folder", "none", SLOW, reason, "unset TAPEC_CACHE")
        return
    elsewhere = "set TAPEC_CACHE_DIR to a folder of your own"
    try:
        opened = open_folder()
    except CacheError as error:
        yield Finding("folder", str(folder), WRONG, f"it cannot be used: {error.reason}", elsewhere)
        return
    if opened is None:
        reason = "no folder can be made there: each process compiles its derivatives anew"
        yield Finding("folder", str(folder), SLOW, reason, elsewhere)
        return
    yield Finding("folder", str(folder))
    yield Finding("permissions", *_permissions(folder, refusal(opened), elsewhere))
    groups = list(cached())
    used = sum(group.entries for group in groups if group.current)
    size = sum(group.bytes for group in groups)
    text = f"{used} derivatives of these versions, {size / 1e6:.1f} MB in all"
    old = sum(group.bytes for group in groups if not group.current)
    if old > 1e9:
        reason = f"{old / 1e9:.1f} GB belong to other versions"
        yield Finding("holds", f"{text}; {reason}: `tapec cache clear --old` deletes them")
    else:
        yield Finding("holds", text)


def _permissions(folder: Path, refused: str, hint: str) -> tuple[str, ...]:
    mode = f"{folder.stat().st_mode & 0o777:o}"
    if refused:
        return mode, WRONG, f"the folder is not used: {refused}", f"chmod go-w {folder}, or {hint}"
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return mode, SLOW, "nothing can be written there: each process compiles new derivatives anew", hint
    return (f"{mode}, no other user can write there",) if os.name == "posix" else (mode,)


def _optional() -> Iterator[Finding]:
    for requirement in OPTIONAL:
        name, _, oldest = requirement.partition(">=")
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Finding(name, "not installed")
            continue
        if number(version) < number(oldest):
            reason = f"tests run with {name} {oldest} and newer"
            yield Finding(name, version, WRONG, reason, f"pip install '{requirement}', or uninstall it")
        else:
            yield Finding(name, version)
    yield Finding("C compiler", *_compiler())


def _compiler() -> tuple[str, ...]:
    from tapec.build.toolchain import toolchain
    from tapec.errors import UsageError

    try:
        return (" ".join(toolchain().compiler),)
    except UsageError as error:
        text = "none; `tapec build --kind source` needs none"
        # whoever sets CC means it
        return (text, WRONG, str(error).partition("\n")[0], "correct CC and AR") if os.environ.get("CC") else (text,)


def _square(x):  # type: ignore[no-untyped-def]
    return x * x


def _first_gradient() -> Iterator[Finding]:
    """Compile a gradient and call it: whatever is wrong with compilation shows here."""
    from tapec.api import grad

    begin = time.perf_counter()
    try:
        slope = grad(_square, cache=False)(3.0)
    except Exception as error:
        reason = f"it raises {type(error).__name__}: {error}"
        yield Finding("x * x at 3", "fails", WRONG, reason, "see the other findings; without one, please report it")
        return
    seconds = time.perf_counter() - begin
    if slope != 6.0:
        yield Finding("x * x at 3", str(slope), WRONG, "the derivative is 6", "please report it")
    else:
        yield Finding("x * x at 3", f"6, after {seconds:.1f} s")
