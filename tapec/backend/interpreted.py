"""Derivatives that run as Python."""

from __future__ import annotations

import inspect
import types
from typing import Any

import numpy as np
from numba.core.dispatcher import OmittedArg

from tapec.backend import jit, staleness
from tapec.backend.argument_types import argument_types
from tapec.backend.derivative_base import Build, Remade, call_structured, read_by, source_of, types_of_all
from tapec.backend.fingerprint import Request
from tapec_runtime.locking import compiling


class Interpreted(Remade):
    """A derivative that runs its generated Python: what `NUMBA_DISABLE_JIT=1` asks for."""

    def __init__(
        self, signature_of: types.FunctionType, build: Build, recipe: tuple[Any, ...], request: Request | None = None
    ) -> None:
        self._build_program = build
        self._recipe = recipe
        self._request = request
        self._signature = inspect.signature(signature_of)
        self.carrier = signature_of
        self._functions: dict[tuple[Any, ...], Any] = {}
        self._texts: dict[tuple[Any, ...], str] = {}
        self.reads = staleness.Reads()
        self.__name__ = signature_of.__name__
        self.__qualname__ = signature_of.__qualname__
        self.__doc__ = signature_of.__doc__
        self.__module__ = signature_of.__module__

    def uncompiled(self) -> Interpreted:
        return Interpreted(self.carrier, self._build_program, self._recipe, self._request)

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        """A derivative in a class is a method, as a function is."""
        return self if owner is None else types.MethodType(self, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        given = []
        for name, param in self._signature.parameters.items():
            if param.kind is inspect.Parameter.VAR_POSITIONAL:
                given += bound.arguments.get(name, ())
            elif name in bound.arguments:
                given.append(bound.arguments[name])
            else:
                given.append(OmittedArg(param.default))
        found = argument_types(tuple(given))
        if found is None:
            return call_structured(self, self._request, list(self._signature.parameters), tuple(given))
        function = self._functions.get(found) or self._made(found)
        # NumPy's numbers divide by zero as Numba's do, with inf and nan; Python's raise
        values = [_converted(arg.value if isinstance(arg, OmittedArg) else arg, _NUMPY) for arg in given]
        with np.errstate(all="ignore"):
            return _converted(function(*values), _PYTHON)

    def compile(self, *arguments: Any) -> None:
        """Nothing: where Numba's compiler is turned off, the source is made at the first call."""

    @compiling
    def _made(self, types_: tuple[Any, ...]) -> Any:
        """The function for argument types, made by the first who asks."""
        if types_ not in self._functions:
            with jit.without_advice():
                program = self._build_program(types_, None)
            self.reads.note(read_by(program), program.lowered.functions)
            self._texts[types_] = program.text
            self._functions[types_] = jit.load(program)
        return self._functions[types_]

    @compiling
    def source(self, *arguments: Any) -> str:
        """The generated source for types of arguments or examples; for none, all that was made."""
        if not arguments:
            return "\n\n".join(self._texts.values())
        types_ = types_of_all(arguments)
        if types_ is None:
            names = list(self._signature.parameters)
            text: str = call_structured(self, self._request, names, arguments, source_of)
            return text
        return self._texts.get(types_) or self._build_program(types_, None).text


_NUMPY: dict[type, type] = {float: np.float64, complex: np.complex128}
_PYTHON: dict[type, type] = {numpy: python for python, numpy in _NUMPY.items()}


def _converted(value: Any, types_: dict[type, type]) -> Any:
    """`value` with its numbers of some types, also those in tuples, made others."""
    if type(value) in types_:
        return types_[type(value)](value)
    if isinstance(value, tuple):
        items = [_converted(item, types_) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value
