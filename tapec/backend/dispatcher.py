"""Derivatives as Numba dispatchers.

A derivative is a Numba dispatcher whose overloads come from the pipeline: calls from Python go
through Numba's own C entry, and calls from the user's jitted code resolve like any other function.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from numba.core import errors as numba_errors
from numba.core import sigutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher, OmittedArg
from numba.core.registry import cpu_target
from numba.core.types import unliteral

from tapec.backend.jit import compile_overload
from tapec.errors import TapecError, UnsupportedType
from tapec.pipeline import Program

Build = Callable[[tuple[Any, ...]], Program]


class Derivative(Dispatcher):  # type: ignore[misc]
    """A compiled derivative: specialises per argument types, as a jitted function does.

    Usable from Python and from jitted code; `source(*types)` shows the generated text.
    """

    targetdescr = cpu_target

    def __init__(self, signature_of: types.FunctionType, build: Build, recipe: tuple[Any, ...]) -> None:
        super().__init__(signature_of)
        self._build_program = build
        self._recipe = recipe
        # Numba withdraws the code of a dispatcher that is collected
        self._kernels: list[Any] = []
        self.programs: dict[tuple[Any, ...], Program] = {}
        self.__name__ = signature_of.__name__
        self.__qualname__ = signature_of.__qualname__
        self.__doc__ = signature_of.__doc__
        self.__module__ = signature_of.__module__

    @global_compiler_lock  # type: ignore[untyped-decorator]
    def compile(self, sig: Any) -> Any:
        """Compile for Numba argument types; returns the entry point."""
        argument_types, _ = sigutils.normalize_signature(sig)
        argument_types = tuple(unliteral(one) for one in argument_types)
        existing = self.overloads.get(argument_types)
        if existing is not None:
            return existing.entry_point
        if not self._can_compile:
            raise RuntimeError("compilation disabled")
        with self._compiling_counter:
            program = self._build_program(argument_types)
            result, kernel = compile_overload(program, argument_types)
            self._kernels.append(kernel)
            self.programs[argument_types] = program
            self.add_overload(result)
        return result.entry_point

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        self._compilation_chain_init_hook()
        argument_types = []
        for position, arg in enumerate(args):
            value = arg.value if isinstance(arg, OmittedArg) else arg
            try:
                found = self.typeof_pyval(arg)
            except (ValueError, TypeError, numba_errors.NumbaError):
                found = None
            if found is None:
                raise UnsupportedType(
                    f"argument {position} of `{self.__name__}` is {type(value).__name__}, which has no Numba type",
                    hint="pass numbers, NumPy arrays, or tuples of those",
                )
            argument_types.append(found)
        try:
            return self.compile(tuple(argument_types))
        finally:
            self._types_active_call.clear()

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Resolve a call from jitted code; errors of tapec pass through Numba with their text."""
        try:
            return super().get_call_template(args, kws)
        except TapecError as error:
            raise numba_errors.TypingError(str(error)) from error

    def source(self, *argument_types: Any) -> str:
        """The generated source for argument types, compiled before or not."""
        if argument_types and argument_types not in self.programs:
            return self._build_program(argument_types).source
        programs = [self.programs[argument_types]] if argument_types else list(self.programs.values())
        return "\n\n".join(program.source for program in programs)

    def __repr__(self) -> str:
        return f"<tapec derivative {self.__name__}>"

    def __reduce__(self) -> Any:
        return remake, self._recipe

    def _reduce_states(self) -> Any:
        return {"recipe": self._recipe}

    @classmethod
    def _rebuild(cls, recipe: tuple[Any, ...]) -> Any:
        return remake(*recipe)


def remake(maker: Callable[..., Any], *args: Any) -> Any:
    """Make a derivative again from what it was made of (pickling)."""
    return maker(*args)


def signature_function(function: types.FunctionType, name: str, doc: str) -> types.FunctionType:
    """A function with the signature of `function`, for Numba to fold keyword arguments by."""
    signature = inspect.signature(function)
    namespace: dict[str, Any] = {}
    parts: list[str] = []
    for param in signature.parameters.values():
        text = f"*{param.name}" if param.kind is inspect.Parameter.VAR_POSITIONAL else param.name
        if param.kind is inspect.Parameter.KEYWORD_ONLY:
            raise UnsupportedType(f"`{function.__name__}` has a keyword-only parameter `{param.name}`")
        if param.default is not inspect.Parameter.empty:
            namespace[f"default_{param.name}"] = param.default
            text += f"=default_{param.name}"
        parts.append(text)
    exec(f"def made({', '.join(parts)}): pass", namespace)
    made: types.FunctionType = namespace["made"]
    made.__name__ = made.__qualname__ = name
    made.__doc__ = doc
    made.__module__ = function.__module__
    return made
