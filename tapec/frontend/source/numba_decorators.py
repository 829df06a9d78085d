"""What Numba's decorators say of the functions under them.

A dispatcher stands for the plain function beneath it, its `py_func`, and for what its decorator says: which types the
function takes and gives, which its variables have, what a division by zero does.  `function_of` makes a function of
the same code that carries this, as `Jitted`; a `py_func` by itself carries nothing, and is Python.

Options that say how fast the code is, or how it is stored, are permissions, and are not looked at.
"""

from __future__ import annotations

import types
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from numba.core import sigutils
from numba.core import types as nt
from numba.core.ccallback import CFunc
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.typing.templates import Signature

PYTHON, NUMPY = "python", "numpy"

# options that change no result, or are read below; `debug` does not turn on checks of bounds
_KNOWN = frozenset(
    {"nopython", "forceobj", "looplift", "debug", "boundscheck", "nogil", "writable_args", "no_rewrites", "parallel"}
    | {"no_cpython_wrapper", "no_cfunc_wrapper", "fastmath", "error_model", "inline", "forceinline"}
    | {"_nrt", "_dbg_extend_lifetimes", "_dbg_optnone", "cache"}
)
# what their stubs for type checkers tell is not all
_DISPATCHER: Any = Dispatcher
_CALLBACK: Any = CFunc
_CARRIED, _MADE = "__tapec_jitted__", "__tapec_function__"


@dataclass(frozen=True)
class CompilerFlags:
    """What code is compiled with that changes its meaning.

    error_model  "python": a division of numbers by zero raises; "numpy": it gives infinity, nan or 0
    boundscheck  an index out of range raises
    parallel     loops over `prange` run on threads, where error_model is "numpy"
    """

    error_model: str = PYTHON
    boundscheck: bool = False
    parallel: bool = False

    @property
    def in_parallel(self) -> CompilerFlags:
        """Those of the body of a loop over `prange`."""
        return replace(self, error_model=NUMPY) if self.parallel else self


@dataclass(frozen=True)
class Jitted:
    """What a decorator says of a function.

    signatures   the only ones that the function has; () if it is compiled for the types that it is called with
    variables    names of variables and parameters, with the types that they have
    error_model  as in `CompilerFlags`; None if it is the caller's, which for Python is "python"
    inline       "never", "always" or "asked", of a function that decides it for each call
    objects      whether the code runs as Python does
    refused      why a derivative is refused; empty if it is not
    source       the dispatcher that says so, if there is one
    """

    signatures: tuple[Signature, ...] = ()
    variables: tuple[tuple[str, nt.Type], ...] = ()
    error_model: str | None = None
    boundscheck: bool = False
    parallel: bool = False
    inline: str = "never"
    objects: bool = False
    refused: str = ""
    source: Any = field(default=None, compare=False, repr=False)

    def flags(self, caller: CompilerFlags | None) -> CompilerFlags | None:
        """The flags of the code; `caller` has those of the calling code, None if that is Python."""
        if self.objects:
            return None
        if caller is not None and self.inline == "always":
            return caller
        # a function with signatures is compiled where it stands
        inherited = PYTHON if caller is None or self.signatures else caller.error_model
        return CompilerFlags(self.error_model or inherited, self.boundscheck, self.parallel)

    def without(self, names: Container[str]) -> Jitted:
        """What is said where some names are those of other variables."""
        return replace(self, variables=tuple(pair for pair in self.variables if pair[0] not in names))

    @property
    def asks(self) -> bool:
        """Whether it matters that a function is compiled by itself, and not inlined by Numba into its caller."""
        return bool(self.signatures or self.variables or self.error_model or self.boundscheck)

    def __tapec_key__(self) -> tuple[Any, ...]:
        """What tells it from others, for the cache."""
        variables = tuple((name, str(kind)) for name, kind in self.variables)
        flags = (self.error_model, self.boundscheck, self.parallel, self.inline, self.objects, self.refused)
        return (tuple(map(str, self.signatures)), variables, *flags)


def of_ufunc(dispatcher: Any) -> Jitted:
    """What `@vectorize` says of the function that it calls for each element; its signatures are the ufunc's."""
    return _read(dispatcher.targetoptions, (), {}, None, error_model=NUMPY)


def of_kernel() -> Jitted:
    """What `@stencil` says of the function that it calls for each element, which is compiled without options."""
    return _read({}, (), {}, None)


def of_callback(callback: Any) -> Jitted:
    """What `@cfunc` says of its function, where compiled code calls it; from Python it is the plain function."""
    compiler = callback._compiler
    return _read(compiler.targetoptions, (callback._sig,), compiler.locals, compiler.pipeline_class)


def callback_function(obj: Any) -> types.FunctionType | None:
    """The plain function under `@cfunc`; None of other objects."""
    found: types.FunctionType | None = obj._pyfunc if isinstance(obj, _CALLBACK) else None
    return found


def signatures_of(obj: Any) -> tuple[Signature, ...]:
    """The only signatures that a compiled function has; () of others."""
    if isinstance(obj, _CALLBACK):
        return (obj._sig,)
    if not isinstance(obj, _DISPATCHER) or obj._can_compile:
        return ()
    return tuple(result.signature for result in obj.overloads.values())


def of_overload(options: Mapping[str, Any], inline: Any) -> Jitted:
    """What `@overload` and `@register_jitable` say of a function that compiled code calls in place of another one."""
    return _read({**options, "inline": inline}, (), {}, None)


def of_options(signatures: list[Any], options: Mapping[str, Any]) -> Jitted:
    """What `njit(...)` says that is called inside a function; ValueError or TypeError for what Numba would not take."""
    taken = dict(options)
    variables, pipeline = taken.pop("locals", {}), taken.pop("pipeline_class", None)
    made = []
    for one in signatures:
        arguments, returned = sigutils.normalize_signature(one)
        made.append(Signature(returned, arguments, None))
    return _read(taken, tuple(made), variables, pipeline)


def declaration_of(function: Any) -> Jitted | None:
    """What was said of a function that `function_of` has made; None of others."""
    found: Jitted | None = vars(function).get(_CARRIED)
    return found


def function_of(dispatcher: Any) -> types.FunctionType | None:
    """A function of a dispatcher's code that carries what is said of it, the same one every time; None of others."""
    if not isinstance(dispatcher, _DISPATCHER):
        return None
    fixed = not dispatcher._can_compile
    state = len(dispatcher.overloads) if fixed else None
    known = vars(dispatcher).get(_MADE)
    # `functools.wraps` and Numba copy what is set on a dispatcher to functions around it, and to their dispatchers
    if known is not None and known[0] == state and vars(known[1])[_CARRIED].source is dispatcher:
        found: types.FunctionType = known[1]
        return found
    inner = dispatcher._compiler.py_func
    made = types.FunctionType(
        inner.__code__, inner.__globals__, inner.__name__, inner.__defaults__, inner.__closure__
    )
    made.__kwdefaults__, made.__doc__ = inner.__kwdefaults__, inner.__doc__
    made.__qualname__, made.__module__ = inner.__qualname__, inner.__module__
    vars(made).update(vars(inner))
    vars(made)[_CARRIED] = _of_dispatcher(dispatcher)
    vars(dispatcher)[_MADE] = state, made
    return made


def packed(objects: Sequence[Any]) -> tuple[Any, ...]:
    """Objects for pickling: the dispatchers in place of functions that `function_of` has made."""
    carriers = [declaration_of(one) if isinstance(one, types.FunctionType) else None for one in objects]
    return tuple(one if said is None else said.source for one, said in zip(objects, carriers, strict=True))


def unpacked(objects: Sequence[Any]) -> tuple[Any, ...]:
    """What `packed` was given."""
    own = [None if hasattr(type(one), "__tapec_key__") else function_of(one) for one in objects]
    return tuple(one if made is None else made for one, made in zip(objects, own, strict=True))


def _of_dispatcher(dispatcher: Any) -> Jitted:
    if dispatcher.targetdescr is not cpu_target:
        return Jitted(refused=f"it is compiled for another target, by {type(dispatcher).__name__}", source=dispatcher)
    compiler = dispatcher._compiler
    said = dispatcher.targetoptions, signatures_of(dispatcher), compiler.locals or {}, compiler.pipeline_class
    return _read(*said, source=dispatcher)


def _read(
    options: Mapping[str, Any],
    signatures: tuple[Signature, ...],
    variables: Mapping[str, Any],
    pipeline: Any,
    error_model: str | None = None,
    source: Any = None,
) -> Jitted:
    refused = ""
    model = options.get("error_model", error_model)
    inline = options.get("inline", "never")
    if unknown := sorted(options.keys() - _KNOWN):
        refused = f"Numba has no option `{unknown[0]}`"
    elif model not in (None, PYTHON, NUMPY):
        refused = f"Numba has no error model {model!r}"
    elif pipeline not in (None, Compiler):
        refused = f"the pipeline {pipeline.__name__} may change what its code does"
    objects = bool(options.get("forceobj"))
    return Jitted(
        () if objects else signatures,
        () if objects else tuple(sorted(variables.items())),
        model,
        bool(options.get("boundscheck")),
        bool(options.get("parallel")),
        inline if inline in ("never", "always") else "asked",
        objects,
        refused,
        source,
    )
