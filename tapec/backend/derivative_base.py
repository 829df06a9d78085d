"""What compiled and interpreted derivatives have in common: how they are built, called with structures, and pickled."""

from __future__ import annotations

import collections
import functools
import pickle
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numba.core import serialize
from numba.core import types as nt
from numba.core.dispatcher import OmittedArg

from tapec.backend import known_arguments, packing, same_named_classes, staleness, structured_arguments
from tapec.backend.argument_types import argument_types
from tapec.backend.description import KINDS, shown
from tapec.backend.fingerprint import Request
from tapec.backend.program import Program, resolve_wrt
from tapec.errors import TapecError, UnsupportedType
from tapec.frontend.source.numba_decorators import packed, unpacked
from tapec.frontend.source.pickled_functions import Files, files_of, give_back
from tapec.transforms.jacobian import JACOBIANS
from tapec_runtime.locking import compiling

# the kinds of derivatives called with arguments that are packed
PACKED = frozenset({"grad", "value_and_grad", "jvp", "hvp", *JACOBIANS})
# derivatives for arguments that are known while compiling, of one derivative
_MOST = 32

# makes the program for Numba argument types, or of several versions of it the one for given arguments
Build = Callable[[tuple[Any, ...], tuple[Any, ...] | None], Program]


class Remade:
    """A derivative that is pickled, and told from others by the cache, as a function and its arguments that make it."""

    _recipe: tuple[Any, ...]
    _request: Request | None
    __name__: str
    reads: staleness.Reads

    @functools.cached_property
    def sources(self) -> tuple[tuple[int, ...], bool]:
        """Where the arguments stand that it is taken by, and whether that is a single one."""
        assert self._request is not None
        return resolve_wrt(self._request.function, self._request.wrt)

    @property
    def kind(self) -> str:
        """The kind of derivative, as `kinds.KINDS`."""
        assert self._request is not None
        return self._request.kind

    @property
    def differentiated(self) -> Any:
        """The function that it is the derivative of; None for what a tape has made."""
        return self._request and self._request.function

    def uncompiled(self) -> Any:
        """The same derivative, with nothing compiled."""
        raise NotImplementedError

    @functools.cached_property
    def _not_packed(self) -> set[Any]:
        """The structures of arguments that a program needs as they are, though a list among them could be packed."""
        return set()

    @functools.cached_property
    def _unrolled(self) -> set[Any]:
        """The types of such arguments."""
        return set()

    @functools.cached_property
    def _for_known(self) -> collections.OrderedDict[Any, Any]:
        return collections.OrderedDict()

    @compiling
    def for_known(self, known: dict[int, Any]) -> Any:
        """The derivative for some arguments that are known while compiling, by position."""
        key = tuple((position, type(value), _hashable(value)) for position, value in known.items())
        found = self._for_known.get(key)
        if found is None or found[0].reads.changed:
            # the values are kept, and their ids with them
            found = self._for_known[key] = self.uncompiled(), known
        self._for_known.move_to_end(key)
        if len(self._for_known) > _MOST:
            self._for_known.popitem(last=False)
        return found[0]

    def _call_known(self, known: dict[int, Any], args: list[Any]) -> Any:
        return self.for_known(known)(*args)

    def __repr__(self) -> str:
        request = self._request
        if request is None or request.kind not in KINDS:
            return f"<tapec derivative {self.__name__}>"
        return shown(request.function, request.kind, request.wrt)

    def __tapec_key__(self) -> tuple[Any, ...]:
        """What tells this derivative from others, for the cache."""
        return self._recipe

    def __reduce__(self) -> Any:
        return reduced(self, self._recipe)


def _vectors_matched(derivative: Any, request: Request, given: list[Any]) -> list[Any]:
    """The arguments of a product with the dicts of its vector in the order of those of the sources."""
    positions, single = derivative.sources
    *own, vector = given
    if len(own) <= max(positions, default=0):
        return given
    sources = tuple(own[position] for position in positions)
    return [*own, structured_arguments.matched(vector, sources[0] if single else sources, "the vector")]


def _check_tangents(derivative: Any, given: list[Any]) -> None:
    """UsageError for a tangent that is a sparse matrix with elements in other places than the argument's."""
    positions, _ = derivative.sources
    for position, tangent in zip(positions, given[len(given) - len(positions) :], strict=True):
        structured_arguments.matched(tangent, given[position], f"the tangent of argument {position}")


def _hashable(value: Any) -> Any:
    return value if isinstance(value, np.dtype) else id(value)


def read_by(program: Program) -> list[staleness.Read]:
    """What lowering read outside the function, with the values it found."""
    lowered = program.lowered
    return [*((owner, name, value) for (owner, name), value in lowered.reads.items()), *lowered.seen]


def called(derivative: Any, known: dict[int, Any], args: list[Any]) -> Any:
    """Call a derivative with arguments of which some are known while compiling."""
    return derivative._call_known(known, args) if known else derivative(*args)


def compile_for(derivative: Any, known: dict[int, Any], args: list[Any]) -> Any:
    """Compile for such arguments, and call nothing."""
    found = argument_types(tuple(args))
    (derivative.for_known(known) if known else derivative)._overload(found, None)


def source_of(derivative: Any, known: dict[int, Any], args: list[Any]) -> str:
    """The source for such arguments."""
    text: str = (derivative.for_known(known) if known else derivative).source(*args)
    return text


def types_of_all(arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The Numba types of examples and of types themselves; None if one of them has none."""
    found = [(one,) if isinstance(one, nt.Type) else argument_types((one,)) for one in arguments]
    return tuple(one[0] for one in found if one is not None) if None not in found else None


def call_structured(
    derivative: Any,
    request: Request | None,
    names: list[str],
    args: tuple[Any, ...],
    then: Callable[[Any, dict[int, Any], list[Any]], Any] = called,
) -> Any:
    """Call a derivative with lists and dataclasses among the arguments; or what else is to be done with it."""
    given = [arg.value if isinstance(arg, OmittedArg) else arg for arg in args]
    known = {k: known_arguments.canonical(arg) for k, arg in enumerate(given) if known_arguments.is_known(arg)}
    if request is not None and request.kind in ("hvp", "gnvp"):
        given = _vectors_matched(derivative, request, given)
    if request is not None and request.kind == "jvp":
        _check_tangents(derivative, given)
    converted = [
        OmittedArg(known[k]) if k in known else structured_arguments.plain(arg, names[min(k, len(names) - 1)])
        for k, arg in enumerate(given)
    ]
    if request is None:
        raise _unsupported(derivative, names, converted)
    found = _packed_result(derivative, request, known, converted, then)
    if found is not None:
        (result,) = found
    else:
        types_ = argument_types(tuple(converted))
        if types_ is None:
            raise _unsupported(derivative, names, converted)
        derivative._unrolled.add(types_)
        result = then(derivative, known, converted)
    if then is not called:
        return result
    made = _result_like(derivative, request, result, given)
    if request.kind == "vjp":
        # where the elements of a sparse result stand is known now
        structured_arguments.matched(given[-1], made[0], "the cotangent")
    return made


def _result_like(derivative: Any, request: Request, result: Any, given: list[Any]) -> Any:
    """What a derivative returned, in the structures of the arguments that a call gave."""
    inner = derivative._recipe[1]
    back = functools.partial(
        structured_arguments.returned,
        given=given[: request.count],
        derivative=inner if isinstance(inner, Remade) else None,
    )
    kind, has_aux = request.kind, request.options.has_aux
    if kind == "primal":
        return back(result)
    if kind in ("jvp", "jvp_directions", "taylor", "taylor_series"):
        result = tuple(map(back, result))
    elif kind in ("vjp", "vjp_directions") or (kind == "value_and_grad" and has_aux):
        result = back(result[0]), result[1]
    positions, single = derivative.sources
    sources = [given[position] for position in positions]
    if has_aux and kind != "value_and_grad":
        return structured_arguments.result_like(kind, result[0], sources, single), back(result[1])
    return structured_arguments.result_like(kind, result, sources, single)


def _packed_result(
    derivative: Any, request: Request, known: dict[int, Any], converted: list[Any], then: Callable[..., Any]
) -> tuple[Any] | None:
    """What a program gives that loops over lists (`packing`); None for a function that asks for more."""
    if request.kind not in PACKED:
        return None
    count = {"hvp": len(converted) - 1, "jvp": request.count}.get(request.kind, len(converted))
    own, vectors = converted[:count], converted[count:]
    given = packed_arguments(own, known, derivative._not_packed)
    if given is None:
        return None
    if request.kind in JACOBIANS and not _gives_blocks(derivative, own, given):
        return None
    if vectors:
        positions, single = derivative.sources
        pairs = [(given[position], own[position]) for position in positions]
        if request.kind == "hvp" and not single:
            pairs = [(tuple(one for one, _ in pairs), tuple(other for _, other in pairs))]
        vectors = [packing.packed_as(*pair, vector) for pair, vector in zip(pairs, vectors, strict=True)]
        if any(vector is None for vector in vectors):
            return None
    try:
        return (then(derivative, known, [*given, *vectors]),)
    except TapecError:
        derivative._not_packed.add(forms_of(given))
        return None


def _gives_blocks(derivative: Any, plain: list[Any], given: list[Any]) -> bool:
    """Whether blocks by what is packed can be told: those by one list as a whole."""
    positions, single = derivative.sources
    changed = [position for position in positions if given[position] is not plain[position]]
    return not changed or (single and hasattr(type(given[positions[0]]), "packed"))


def packed_arguments(plain: Sequence[Any], known: Collection[int], refused: Collection[Any]) -> list[Any] | None:
    """Arguments with their lists packed; None where none is, or where a program was `refused` for such forms.

    known  the positions of those that are known while compiling
    """
    given = [arg if k in known else packing.packed(arg) for k, arg in enumerate(plain)]
    if all(new is old for new, old in zip(given, plain, strict=True)) or packing.shares(list(plain), given):
        return None
    return None if forms_of(given) in refused or argument_types(tuple(given)) is None else given


def forms_of(given: Sequence[Any]) -> tuple[Any, ...]:
    """What tells arguments that are packed from others for which another program is made."""
    return tuple(map(same_named_classes.structure, given))


def _unsupported(derivative: Any, names: list[str], args: list[Any]) -> UnsupportedType:
    position = next((k for k, arg in enumerate(args) if argument_types((arg,)) is None), 0)
    name, given = names[min(position, len(names) - 1)], args[position]
    is_ = "is"
    while isinstance(given, tuple) and argument_types((given,)) is None:
        inner = [item for item in given if argument_types((item,)) is None]
        if not inner:
            break
        given, is_ = inner[0], "holds"
    found = type(given).__name__
    if isinstance(given, np.ndarray):
        found += f" of dtype {given.dtype.str}"
    return UnsupportedType(
        f"argument `{name}` of `{derivative.__name__}` {is_} a {found}, which has no Numba type",
        hint="pass numbers, NumPy arrays, or tuples of those",
    )


def reduced(derivative: Any, recipe: tuple[Any, ...]) -> Any:
    """How to pickle a derivative: by its name if that leads to it, else by what it was made of."""
    found: Any = sys.modules.get(derivative.__module__)
    for part in derivative.__qualname__.split("."):
        found = getattr(found, part, None)
    made_of = (files_of(recipe), *packed(recipe))
    if found is not derivative:
        return remake, made_of
    # what `__main__` defines has another name where it is read; and the name of the function leads to the derivative
    if derivative.__module__ == "__main__":
        return _remake_of, (serialize.dumps(made_of),)
    return derivative.__qualname__


def _remake_of(data: bytes) -> Any:
    """Make again what is pickled by value, as Numba pickles its functions."""
    return remake(*pickle.loads(data))


def remake(files: Files, maker: Callable[..., Any], *args: Any) -> Any:
    """Make a derivative, or a compiled function, again from what it was made of (pickling)."""
    args = unpacked(args)
    give_back(args, files)
    return maker(*args)
