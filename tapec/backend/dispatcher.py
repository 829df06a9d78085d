"""Derivatives as Numba dispatchers.

A derivative is a Numba dispatcher whose overloads come from the cache or the pipeline: calls from
Python go through Numba's own C entry, and calls from the user's jitted code resolve like any other
function.  A call of another kind, with lists or dataclasses or without the JIT, takes a slower way.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from numba.core import errors as numba_errors
from numba.core import sigutils
from numba.core import types as nt
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.typing.templates import Signature

import tapec_runtime
from tapec.backend import cache, jit, repeated_arguments, same_named_classes, staleness
from tapec.backend.argument_types import Unkept, argument_types
from tapec.backend.carrier import of_count
from tapec.backend.derivative_base import (
    PACKED,
    Build,
    Remade,
    call_structured,
    compile_for,
    read_by,
    remake,
    source_of,
    types_of_all,
)
from tapec.backend.fingerprint import Request
from tapec.backend.interpreted import Interpreted
from tapec.backend.numba_internals import lean_compiler
from tapec.backend.numba_internals.uncached_callers import mark
from tapec.backend.packing import may_pack
from tapec.backend.program import Program
from tapec.backend.progress import told
from tapec.errors import ArgumentOverlap, TapecError
from tapec.frontend.source.numba_decorators import packed
from tapec.frontend.source.pickled_functions import Files, files_of
from tapec.frontend.structures.derived_classes import redefines
from tapec_runtime.locking import compiling, jit_is_off


class Derivative(Remade, Dispatcher):
    """A compiled derivative: specialises per argument types, as a jitted function does.

    Usable from Python and from jitted code; `source(*types)` shows the generated text.
    """

    targetdescr = cpu_target
    # of Numba's dispatcher
    _can_compile: bool
    _compiler: Any
    _reset_overloads: Callable[[], None]
    _compilation_chain_init_hook: Callable[[], None]
    _types_active_call: set[Any]

    def __init__(
        self,
        signature_of: Callable[..., Any],
        build: Build,
        recipe: tuple[Any, ...],
        request: Request | None = None,
    ) -> None:
        """
        signature_of  a function with the parameters of the derivative
        build         makes the program for argument types
        recipe        a function and its arguments that make this derivative again
        request       what to ask the cache for; None for one that is not kept
        """
        # Numba names the type of a dispatcher by its `repr`
        self._recipe = recipe
        self._request = request
        super().__init__(signature_of)
        self._build_program = build
        # Numba withdraws the code of a dispatcher that is collected
        self._kernels: list[Any] = []
        self._texts: dict[tuple[Any, ...], str] = {}
        self._pointed: dict[tuple[Any, ...], Any] = {}
        self._marked: set[int] = set()
        # the types for which one version of a program is compiled alone, and whether no more are to be
        self._alone: set[tuple[Any, ...]] = set()
        self._whole = False
        # by their names, the only classes of named tuples that this derivative is compiled for; () if there are others
        self._classes: dict[tuple[str, ...], same_named_classes.Classes] = {}
        # what is looked at in an argument, its type, or where tuples stand in tuples its structure; what was found fine
        self._kind: Callable[[Any], Any] = type
        self._known: set[tuple[Any, ...]] = set()
        self._variants: dict[Any, Derivative] = {}
        self.reads = staleness.Reads()
        self.__name__ = signature_of.__name__
        self.__qualname__ = signature_of.__qualname__
        self.__doc__ = signature_of.__doc__
        self.__module__ = signature_of.__module__

    def uncompiled(self) -> Derivative:
        return Derivative(self.py_func, self._build_program, self._recipe, self._request)

    @compiling
    def compile(self, *arguments: Any) -> Any:
        """Compile ahead of the first call.

        arguments  what a call takes: for each argument its Numba type, or an example of its kind, whose values do not
                   matter; or all types as Numba's dispatchers take them, in one tuple, text or signature

            gradient = tapec.grad(f)
            gradient.compile(np.zeros(3), 1.0)        # or gradient.compile("f8[::1], f8")

        raises  what the first call would raise, before it runs; UnsupportedType for what has no type
        """
        if len(arguments) == 1 and _is_signature(arguments[0]):
            given, _ = sigutils.normalize_signature(arguments[0])
            return self._overload(self._folded(tuple(nt.unliteral(one) for one in given)), None)
        found = types_of_all(arguments)
        if found is None or self._may_pack(found):
            return call_structured(self, self._request, self._names, arguments, compile_for)
        folded = self._folded(found)
        whole = self._whole or any(isinstance(one, nt.Type) for one in arguments)
        return self._overload(folded, None if whole or folded != found else arguments)

    def _folded(self, types_: tuple[Any, ...]) -> tuple[Any, ...]:
        """The types of arguments as Numba asks for them: with defaults, and extra arguments in one tuple."""
        packed = self._variadic and types_ and isinstance(types_[-1], nt.BaseTuple)
        if len(types_) == len(self._names) and (packed or not self._variadic):
            return types_
        self._compiler.pysig.bind(*types_)  # a TypeError for too few or too many
        _, folded = self._compiler.fold_argument_types(types_, {})
        if not self._variadic:
            return tuple(folded)
        return *folded[:-1], nt.BaseTuple.from_types(tuple(folded[-1].types))

    @compiling
    def _overload(self, types_: tuple[Any, ...], given: tuple[Any, ...] | None) -> Any:
        """Compile for argument types; of several versions of a program that for the arguments `given`, if any."""
        existing: Any = self.overloads.get(types_)
        if existing is not None:
            return existing.entry_point
        if not self._can_compile:
            raise RuntimeError("compilation disabled")
        request = self._request
        what = f"compiling `{self.kind}` of `{self.__name__}`" if request else f"compiling `{self.__name__}`"
        shown = told(what, request is None or request.options.progress)
        with self._compiling_counter, lean_compiler.uncollected(), shown:
            result: Any = self._cached(types_, given is not None) or self._compiled(types_, given)
            self.add_overload(result)
        text = self._texts.get(types_, "")
        if "tapec_runtime.OtherVersion" in text:
            self._alone.add(types_)
        # only such functions pay for a Python frame around the call
        if type(self) is Derivative and any(f"tapec_runtime.{refused}" in text for refused in _REFUSALS):
            self.__class__ = Retrying
        found = same_named_classes.of_types(types_)
        if found:
            self.__class__ = ClassAware
            if len(found) > sum(isinstance(one, nt.BaseNamedTuple) for one in types_):
                self._kind = same_named_classes.structure
            self._known = set()
            own = self._classes.setdefault(same_named_classes.names(found), found)
            if own != found:
                self._classes[same_named_classes.names(found)] = ()
        return result.entry_point

    def _cached(self, types_: tuple[Any, ...], alone: bool) -> Any:
        """The compilation result that another process, or this one, has left on disk; `alone`: one version will do."""
        if self._request is None:
            return None
        requests = (self._request, *(self._request.alone() if alone else ()))
        found = next(filter(None, (cache.find(request, types_) for request in requests)), None)
        if found is None:
            return None
        entry, text, body, walk = found
        jit.register(entry.module_name, str(entry.source_path))
        result = cache.restore(body, types_)
        if result is not None:
            self._texts[types_] = text
            self.reads.note(walk.reads(), walk.functions())
        return result

    def _compiled(self, types_: tuple[Any, ...], given: tuple[Any, ...] | None) -> Any:
        program = self.program(types_, given)
        request = self._request and replace(self._request, version=program.version)
        entry = cache.plan(request, types_, program) if request is not None else None
        if entry is not None and cache.write_source(entry.source_path, program.text):
            result, kernel = jit.compile_overload(program, types_, entry.module_name, str(entry.source_path))
            cache.store(entry, program.text, result)
        else:
            result, kernel = jit.compile_overload(program, types_)
        self._kernels.append(kernel)
        self._texts[types_] = program.text
        self.reads.note(read_by(program), program.lowered.functions)
        return result

    @compiling
    def program(self, types_: tuple[Any, ...], given: tuple[Any, ...] | None = None) -> Program:
        """Run the pipeline for Numba argument types; `given` as for `_overload`."""
        with jit.without_advice():
            # Numba hands extra arguments over as one tuple
            if not self._variadic:
                return self._build_program(types_, given)
            # an error inside would keep hold of the arguments that the tuple held
            program = self._build_program((*types_[:-1], *types_[-1].types), None)
        return jit.packed(program, list(inspect.signature(self.py_func).parameters), len(types_[-1]))

    def typeof_pyval(self, value: Any) -> Any:
        """The type of an argument that Numba's C code does not know, and that it is to ask for again if none fits."""
        refused = argument_types((value,)) is None if isinstance(value, tuple) else redefines(value) is not None
        return Unkept if refused else super().typeof_pyval(value)

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """What to call for arguments without an overload; Numba's C code calls it with them."""
        self._compilation_chain_init_hook()
        kind = type(self)
        try:
            found = argument_types(args)
            existing: Any = None if found is None else self.overloads.get(found)
            if existing is not None:
                # Numba's C code asks again at every call that leaves arguments out
                return existing.entry_point
            if found is None or (not kws and self._may_pack(found)):
                entry = self._structured
            else:
                entry = self._overload(found, None if self._whole else args)
        finally:
            self._types_active_call.clear()
        # this call began before the class changed
        return self._again if type(self) is not kind else entry

    def _may_pack(self, types_: tuple[Any, ...]) -> bool:
        """Whether arguments that Numba has types for are packed, since a loop over a tuple is a loop then."""
        may = self._request is not None and self.kind in PACKED
        rest: Any = types_[-1] if self._variadic and types_ else None
        if isinstance(rest, nt.BaseTuple):
            # the tuple of extra arguments is none of them
            types_ = *types_[:-1], *rest.types  # type: ignore[attr-defined]
        return may and types_ not in self._unrolled and any(map(may_pack, types_))

    def _again(self, *args: Any) -> Any:
        return self(*self._spread(args))

    def _structured(self, *args: Any) -> Any:
        """Call with arguments among the given ones that Numba has no type for."""
        return call_structured(self, self._request, self._names, self._spread(args))

    def _call_known(self, known: dict[int, Any], args: list[Any]) -> Any:
        if self._variadic and max(known) >= len(self._names) - 1:
            # Numba takes extra arguments as one tuple, in which nothing can be left out
            return self._of_count(len(args))._call_known(known, args)
        return super()._call_known(known, args)

    @functools.cached_property
    def _of_counts(self) -> dict[int, Derivative]:
        return {}

    def _of_count(self, count: int) -> Derivative:
        """The derivative for so many arguments, of a function that takes any number."""
        if count not in self._of_counts:
            maker, called, wrt, kind, options = self._recipe
            positions, single = self.sources
            fixed = of_count(called, self.py_func, count)
            self._of_counts[count] = maker(fixed, positions[0] if single else positions, kind, options)
        return self._of_counts[count]

    def _spread(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments as a call gives them: Numba hands extra ones over as one tuple."""
        return (*args[:-1], *args[-1]) if self._variadic else args

    @property
    def _variadic(self) -> bool:
        return bool(self.py_func.__code__.co_flags & inspect.CO_VARARGS)

    @functools.cached_property
    def _names(self) -> list[str]:
        return list(inspect.signature(self.py_func).parameters)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Resolve a call from jitted code; errors of tapec pass through Numba with their text."""
        self._compile_whole()
        try:
            template = super().get_call_template(args, kws)
        except TapecError as error:
            raise numba_errors.TypingError(str(error)) from error
        for result in self.overloads.values():
            if id(result) not in self._marked:
                mark(result)
                self._marked.add(id(result))
        return template

    def get_compile_result(self, sig: Any) -> Any:
        """What Numba asks for where a derivative becomes a pointer to a function."""
        self._compile_whole()
        types_ = tuple(sig.args)
        if types_ not in self._pointed:
            self._pointed[types_] = lean_compiler.with_c_entry(super().get_compile_result(sig))
        return self._pointed[types_]

    @compiling
    def _compile_whole(self) -> None:
        """Compile programs in all their versions from now on, also those of which there is one version only."""
        self._whole = True
        if not self._alone:
            return
        results = dict(self.overloads)
        self._reset_overloads()
        for types_, result in results.items():
            if types_ in self._alone:
                # a caller may run it
                self._kernels.append(result)
                del self._texts[types_]
            else:
                self.add_overload(result)
        self._alone.clear()

    def source(self, *arguments: Any) -> str:
        """The generated source, compiled before or not, for types of arguments or examples; for none, all there is."""
        if not arguments:
            return "\n\n".join(self._texts.values())
        found = types_of_all(arguments)
        if found is None or self._may_pack(self._folded(found)):
            text: str = call_structured(self, self._request, self._names, arguments, source_of)
            return text
        types_ = self._folded(found)
        return self._texts.get(types_) or self.program(types_).text

    def _reduce_states(self) -> Any:
        return {"files": files_of(self._recipe), "recipe": packed(self._recipe)}

    @classmethod
    def _rebuild(cls, files: Files, recipe: tuple[Any, ...]) -> Any:
        return remake(files, *recipe)


def _is_signature(given: Any) -> bool:
    """Whether this is how Numba's dispatchers are told the types of all arguments."""
    if isinstance(given, str | Signature):
        return True
    return isinstance(given, tuple) and all(isinstance(one, nt.Type) for one in given)


# what programs refuse arguments with
_REFUSALS = ("OtherVersion", "AliasedArguments", "AliasedElements", "AliasedInside")

# Numba's own way of a call; by `super()` it takes a quarter of a microsecond longer
_call = Dispatcher.__call__


class Retrying(Derivative):
    """A derivative whose programs refuse some arguments, before they write, that others are made for.

    Those of a function that writes into its arguments take them to be separate.  An array that was passed twice then
    gets a program in which it is one array.  One version of a program, which is compiled alone for the arguments of the
    first call, refuses those of other versions.  Then all are compiled.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return _call(self, *args, **kwargs) if kwargs else _call(self, *args)
        except (tapec_runtime.AliasedArguments, tapec_runtime.OtherVersion) as error:
            refused = error
        return self._retried(refused, args, kwargs)

    def _retried(self, refused: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the program for arguments that one refused."""
        if isinstance(refused, tapec_runtime.AliasedElements):
            raise ArgumentOverlap(str(refused), hint="pass a copy of it")
        if isinstance(refused, tapec_runtime.AliasedInside):
            # the program may have written, and one in which arguments are one would pass the same
            raise ArgumentOverlap(str(refused), hint="pass a copy of one of them")
        if isinstance(refused, tapec_runtime.AliasedArguments):
            return self._as_one(str(refused), args, kwargs)
        self._compile_whole()
        return self(*args, **kwargs)

    def _as_one(self, message: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the program in which an array that was passed twice is one; raise if others share memory."""
        given = self._given(args, kwargs, defaults=True)
        same = repeated_arguments.identical(given)
        if not same or repeated_arguments.others_overlap(given, same):
            raise ArgumentOverlap(message, hint="pass a copy of one of them") from None
        build = self._build_program

        def build_variant(types_: tuple[Any, ...], values: tuple[Any, ...] | None) -> Program:
            return build(
                tuple(repeated_arguments.Same(same[k]) if k in same else t for k, t in enumerate(types_)), values
            )

        return self._variant(tuple(sorted(same.items())), build_variant, None)(*given)

    def _variant(self, key: Any, build: Build, request: Request | None) -> Derivative:
        if key not in self._variants:
            self._variants[key] = Derivative(self.py_func, build, self._recipe, request)
        return self._variants[key]

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any], defaults: bool = False) -> list[Any]:
        """All arguments in the order of the parameters."""
        signature = inspect.signature(self.py_func)
        bound = signature.bind(*args, **kwargs)
        if defaults:
            bound.apply_defaults()
        given: list[Any] = []
        for name, value in bound.arguments.items():
            extra = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            given += value if extra else (value,)
        return given


class ClassAware(Retrying):
    """A derivative of a function that takes named tuples: see same_named_classes.py."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kinds = tuple(map(self._kind, args))
        if kwargs:
            kinds = (*kinds, *kwargs, *map(self._kind, kwargs.values()))
        if kinds in self._known:
            try:
                # what is not there need not be handed on
                return _call(self, *args, **kwargs) if kwargs else _call(self, *args)
            except (tapec_runtime.AliasedArguments, tapec_runtime.OtherVersion) as error:
                refused = error
            return self._retried(refused, args, kwargs)
        found = same_named_classes.of_values(self._given(args, kwargs) if kwargs else args)
        if self._classes.setdefault(same_named_classes.names(found), found) == found:
            self._known.add(kinds)
            return super().__call__(*args, **kwargs)
        return self._variant(found, self._build_program, self._request)(*args, **kwargs)


def make_derivative(
    signature_of: types.FunctionType, build: Build, recipe: tuple[Any, ...], request: Request | None = None
) -> Any:
    """A derivative with the parameters of `signature_of`.

    build    makes the program for Numba argument types
    recipe   a function and its arguments that make this derivative again
    request  what to ask the cache for; None for one that is not kept
    """
    # decided when the function is made, as `numba.njit` does
    return (Interpreted if jit_is_off() else Derivative)(signature_of, build, recipe, request)
