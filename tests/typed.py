"""Derivatives that run as the Python they are, and are still held to Numba's types.

Machine code of a derivative costs a second, most of which LLVM takes.  What a test of values and derivatives has to say
it says of the generated text: Python computes with it, and Numba infers its types, which is where Numba refuses a
program that it does not understand.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock
from weakref import WeakKeyDictionary

import numba
from numba.core import compiler, dispatcher, errors, typed_passes
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typing import templates

from tapec.backend import jit
from tapec.backend.numba_internals import lean_compiler, operator_types
from tapec.backend.program import Program
from tests import known_types


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
            found = known_types.digest(program, kinds)
            if not known_types.is_known(found):
                _infer(program, kinds)
                known_types.keep(found)
            known.add(kinds)
        return run(*args)

    return checked


def _infer(program: Program, kinds: tuple[Any, ...]) -> None:
    ours = {"parallel": False, "pipeline_class": lean_compiler.Compiler, "no_cfunc_wrapper": True}
    flags = {**program.options.flags, **ours}
    with mock.patch.object(numba.config, "DISABLE_JIT", False), jit.without_advice(), _types_alone():
        _signature(numba.njit(**flags)(_load(program)), kinds)


# Numba compiles what a function calls, its own implementations of NumPy above all, as soon as it asks for the types


@contextmanager
def _types_alone() -> Iterator[None]:
    """A while in which Numba infers the types of calls, and compiles nothing for them."""
    with (
        _replaced(_DISPATCHERS, get_call_template=_template, get_overload=_overload),
        _replaced(_NUMBAS, _compile_core=_compiled_after_all),
        _replaced(operator_types, _known=_TYPED),
    ):
        try:
            yield
        finally:
            # what is compiled from now on asks for the types of operators anew, and gets code with them
            _COMPILED.clear()


@contextmanager
def _replaced(owner: Any, **values: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for name, value in values.items():
            stack.enter_context(mock.patch.object(owner, name, value))
        yield


@register_pass(mutates_CFG=False, analysis_only=True)
class _Stop(FunctionPass):
    _name = "tests_stop"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        signature = templates.signature(state.return_type, *state.args)
        raise compiler._EarlyPipelineCompletion(SimpleNamespace(signature=signature, typing_error=None))


@functools.cache
def _as_far_as_types(pipeline: Any) -> Any:
    """One of Numba's compilers, or the product's, as far as the types."""

    class Frontend(pipeline):
        def define_pipelines(self) -> list[Any]:
            [passes] = super().define_pipelines()
            kinds = [issubclass(kind, typed_passes.NopythonTypeInference) for kind, _ in passes.passes]
            passes.passes = [*passes.passes[: kinds.index(True) + 1], (_Stop, "stop")]
            passes.finalize()
            return [passes]

    return Frontend


def _signature(function: Any, args: tuple[Any, ...]) -> Any:
    """The types of a function that Numba would compile.

    raises  what compiling raises where there are none
    """
    inner = function._compiler
    with (
        function._compiling_counter,
        mock.patch.object(inner, "pipeline_class", _as_far_as_types(inner.pipeline_class)),
    ):
        try:
            return _compile(inner, args, None).signature
        except errors.ForceLiteralArg as error:
            raise error.bind_fold_arguments(lambda args, kws: inner.fold_argument_types(args, kws)[1]) from None


def _template(self: Any, args: Any, kws: Any) -> Any:
    """What `get_call_template` gives."""
    if not self._can_compile or type(self).compile is not dispatcher.Dispatcher.compile:
        return _get_call_template(self, args, kws)
    python, folded = self._compiler.fold_argument_types(args, kws)
    known = _SIGNATURES.setdefault(self, {})
    if folded not in known:
        try:
            known[folded] = _signature(self, folded)
        except errors.TypingError as error:
            known[folded] = error
    found = known[folded]
    if isinstance(found, Exception):
        raise found
    return templates.make_concrete_template("Typed", key=self.py_func.__name__, signatures=[found]), python, folded, {}


def _overload(self: Any, sig: Any) -> Any:
    """What `get_overload` gives; where there is no code, something that nobody calls."""
    return _get_overload(self, sig) if tuple(sig) in self.overloads else object()


def _compiled_after_all(self: Any, *args: Any) -> Any:
    """Compile what has to be, a derivative inside a function for example, with all that it calls."""
    _COMPILED.clear()
    with (
        _replaced(_DISPATCHERS, get_call_template=_get_call_template, get_overload=_get_overload),
        _replaced(operator_types, _known=_COMPILED),
    ):
        return _compile(self, *args)


_DISPATCHERS: Any = dispatcher.Dispatcher
_get_call_template = _DISPATCHERS.get_call_template
_get_overload = _DISPATCHERS.get_overload
# types of operators, and such for which there is code as well
_TYPED: dict[Any, Any] = {}
_COMPILED = operator_types._known
# by function and types of arguments; errors, too
_SIGNATURES: WeakKeyDictionary[Any, dict[tuple[Any, ...], Any]] = WeakKeyDictionary()
