"""Derivatives that run as the Python they are, and are still held to Numba's types.

Machine code of a derivative costs a second, most of which LLVM takes.  What a test of values and derivatives has to say
it says of the generated text: Python computes with it, and Numba infers its types, which is where Numba refuses a
program that it does not understand.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numba
from numba.core import dispatcher
from numba.core.compiler_machinery import FunctionPass, register_pass

from tapec.backend import jit, lean
from tapec.backend.program import Program


class _Inferred(Exception):
    """A function's types are known; no more is wanted."""


@register_pass(mutates_CFG=False, analysis_only=True)
class _Stop(FunctionPass):
    _name = "tests_stop"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        raise _Inferred


class _Frontend(lean.Compiler):
    """The product's compiler as far as the types."""

    def define_pipelines(self) -> list[Any]:
        [passes] = super().define_pipelines()
        kinds = [kind for kind, _ in passes.passes]
        passes.passes = [*passes.passes[: kinds.index(lean.Inference) + 1], (_Stop, "stop")]
        passes.finalize()
        return [passes]


@contextmanager
def interpreted() -> Iterator[None]:
    """A while in which derivatives that are made run as the Python they are."""
    # other conditions than `typed` stay
    load = _load if jit.load is _loaded else jit.load
    with _without_jit(load):
        yield


@contextmanager
def typed() -> Iterator[None]:
    """A while in which derivatives that are made run as Python, after Numba has inferred the types of each call.

    Without the JIT nothing is inferred.
    raises  Numba's error where a call has no types
    """
    load = jit.load if _WITHOUT_JIT else _loaded
    with _without_jit(load):
        yield


@contextmanager
def _without_jit(load: Any) -> Iterator[None]:
    """A while without the JIT for derivatives; functions that Numba knows, the runtime's, are compiled as ever."""

    def compiled(self: Any, *args: Any) -> Any:
        with mock.patch.object(numba.config, "DISABLE_JIT", False):
            return _compile(self, *args)

    with (
        mock.patch.object(numba.config, "DISABLE_JIT", True),
        mock.patch.object(_NUMBAS, "_compile_core", compiled),
        mock.patch.object(jit, "load", load),
    ):
        yield


_load = jit.load
# what a function of Numba's is compiled with
_NUMBAS: Any = dispatcher._FunctionCompiler  # type: ignore[attr-defined, unused-ignore]
_compile = _NUMBAS._compile_core
# by the environment; what was imported is not compiled then
_WITHOUT_JIT = bool(getattr(numba.config, "DISABLE_JIT", 0))


def _loaded(program: Program, module_name: str = "", path: str = "") -> Any:
    run = _load(program, module_name, path)
    known = set()

    @functools.wraps(run)
    def checked(*args: Any) -> Any:
        kinds = tuple(map(numba.typeof, args))
        if kinds not in known:
            known.add(kinds)
            _infer(program, kinds)
        return run(*args)

    return checked


def _infer(program: Program, kinds: tuple[Any, ...]) -> None:
    flags = {**program.options.flags, "parallel": False, "pipeline_class": _Frontend, "no_cfunc_wrapper": True}
    with mock.patch.object(numba.config, "DISABLE_JIT", False), jit.quiet(), contextlib.suppress(_Inferred):
        numba.njit(**flags)(_load(program)).compile(kinds)
