"""A digest of everything that a generated program was made of.

Lowering depends on the source of the functions it reaches, on the values of the names that these
read from modules, classes and closures, and on the argument types.  `Walk` visits all of that from
the differentiated function on and hashes it.  It needs to know which names are read: the first
compilation tells, a table keeps it.  A later process walks the live objects by the table alone, with
no parsing and no inference; equal digests mean equal programs.
"""

from __future__ import annotations

import builtins
import enum
import functools
import hashlib
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba.core import types as nt
from numba.core.dispatcher import Dispatcher

from tapec.frontend.calls.numba_vectorize import function_of
from tapec.frontend.operations.registered_derivatives import registered
from tapec.frontend.source.function_source import undecorated
from tapec.frontend.source.numba_decorators import Jitted, callback_function, of_callback, of_ufunc
from tapec.options import Options

# Numba does not cache code with larger constants either
LARGEST_ARRAY = 10**6

# what these hold is told by their versions, which are part of every key
TRUSTED = frozenset({"builtins", "cmath", "math", "numba", "numpy", "operator", "tapec", "tapec_runtime"})

# versions that a program has at most
_VERSIONS = 3

Table = list[list[str]]


class Uncacheable(Exception):
    """A value that cannot be told from others like it in another process."""


@dataclass(frozen=True)
class Request:
    """What is compiled, up to the argument types.

    function  the differentiated function
    kind      the kind of derivative, as `kinds.KINDS`
    wrt       what it is taken by
    count     how many of the arguments are the function's own; None for all
    options   the options of the compilation
    primal    of a pullback: the types of the arguments that it belongs to
    version      which of several versions of the program, by its position; None for all in one
    """

    function: types.FunctionType
    kind: str
    wrt: Any
    count: int | None = None
    options: Options = Options()
    primal: tuple[Any, ...] = ()
    version: int | None = None

    def key(self, argument_types: tuple[Any, ...]) -> str:
        """The key under which the table of names is kept."""
        types_ = [str(stand_in(one)) for one in (*self.primal, *argument_types)]
        told = (self.function.__module__, self.function.__qualname__, self._rest(), types_)
        return hashlib.sha256(repr(told).encode()).hexdigest()[:32]

    def digest(self, argument_types: tuple[Any, ...], walk: Walk) -> str:
        """The digest of all that `walk` finds; raises Uncacheable."""
        walk.feed("request", self._rest())
        walk.value(self.function)
        for numba_type in (*self.primal, *argument_types):
            walk.type(numba_type)
        return walk.digest()

    def alone(self) -> list[Request]:
        """What asks for one version of the program alone, for each of those that there may be."""
        several = self.kind in ("grad", "value_and_grad")
        return [replace(self, version=position) for position in range(_VERSIONS)] if several else []

    def _rest(self) -> tuple[Any, ...]:
        return self.kind, self.wrt, self.count, self.options, self.version


def stand_in(numba_type: Any) -> Any:
    """The type itself, or one without identity for a function or a default, which the digest tells."""
    return nt.none if isinstance(numba_type, nt.Dispatcher | nt.Function | nt.Omitted) else numba_type


def by_table(table: Table) -> Walk:
    """A walk that reads the names a table lists, object by object in the order of visits."""
    return Walk(lambda position, _: table[position] if position < len(table) else [])


def record(
    request: Request, argument_types: tuple[Any, ...], reads: Mapping[tuple[Any, str], Any], functions: Iterable[Any]
) -> tuple[str, Table]:
    """The digest of a compilation that read `reads` and reached `functions`, and its table.

    raises  Uncacheable
    """
    names: dict[int, set[str]] = {}
    owners: dict[int, Any] = {}
    for (owner, name), value in reads.items():
        if trusted(owner) and not isinstance(owner, types.ModuleType):
            continue
        if read(owner, name) is not value:
            raise Uncacheable(f"`{name}` changed while its reader was compiled")
        names.setdefault(id(owner), set()).add(name)
        owners[id(owner)] = owner
    walk = Walk(lambda _, owner: sorted(names.get(id(owner), ())))
    digest = request.digest(argument_types, walk)
    for reached in [*owners.values(), *functions]:
        if not trusted(reached) and not walk.visited(reached):
            raise Uncacheable(f"{reached!r} was reached in a way that cannot be followed")
    return digest, walk.table


def trusted(obj: Any) -> bool:
    """Whether the versions of packages say what `obj` is: by where it lives, not by what it says of itself.

    A function's code is in a file of a package, and all that it holds is trusted; a class is what the name of its
    module says; a module is imported.  What a module holds may have been set by others: its reads are noted.
    """
    package = _package(obj)
    if package not in TRUSTED:
        return False
    if isinstance(obj, types.FunctionType):
        return _is_librarys(obj) and all(map(_harmless, obj.__closure__ or ()))
    if isinstance(obj, types.ModuleType):
        return sys.modules.get(obj.__name__) is obj
    if isinstance(obj, type):
        return _found(obj.__module__, obj.__qualname__) is obj
    return True


def _is_librarys(function: types.FunctionType) -> bool:
    return _package(function) in TRUSTED and _in_package(function.__code__.co_filename, _package(function))


@functools.cache
def _in_package(file: str, package: str) -> bool:
    """Whether a file is one of a package's, or the one that a module is."""
    home = getattr(sys.modules.get(package), "__file__", None)
    if home is None:
        return False
    return file == home or (os.path.basename(home) == "__init__.py" and file.startswith(os.path.dirname(home) + os.sep))


def _harmless(cell: Any) -> bool:
    """Whether what a function of a package holds is the package's, too."""
    try:
        held = cell.cell_contents
    except ValueError:
        return True
    if isinstance(held, tuple | list | set | frozenset):
        return all(_plain(item) or _identified_by_name(item) for item in held)
    return _plain(held) or _identified_by_name(held)


def _found(module: str, qualname: str) -> Any:
    """What a name of a module leads to."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def _package(obj: Any) -> str:
    """The top-level package that `obj` says it is from."""
    module = obj.__name__ if isinstance(obj, types.ModuleType) else getattr(obj, "__module__", None)
    return module.partition(".")[0] if isinstance(module, str) else ""


def _identified_by_name(obj: Any) -> bool:
    """Whether `obj` is a function or class of a trusted package, and not made of the user's."""
    if isinstance(obj, types.FunctionType | type):
        return trusted(obj)
    if isinstance(obj, np.ufunc):
        return any(getattr(sys.modules.get(name), obj.__name__, None) is obj for name in ("numpy", "scipy.special"))
    # functions of NumPy and Numba are objects of many kinds
    if isinstance(obj, types.ModuleType):
        return False
    return _package(type(obj)) in ("builtins", "numba", "numpy") and trusted(obj) and hasattr(obj, "__name__")


_ABSENT = object()


def read(owner: Any, name: str) -> Any:
    """What `owner` reads as `name`: a function from its closure or module, others as an attribute."""
    if not isinstance(owner, types.FunctionType):
        return getattr(owner, name, _ABSENT)
    code = owner.__code__
    if name in code.co_freevars:
        try:
            return (owner.__closure__ or ())[code.co_freevars.index(name)].cell_contents
        except ValueError:  # a cell that nothing was bound to yet
            return _ABSENT
    return owner.__globals__.get(name, _ABSENT)


class Walk:
    """A visit of all objects that a compilation depends on; hashes them on its way.

    `names(position, owner)` gives the names that the owner, the position-th object met, reads.
    """

    def __init__(self, names: Callable[[int, Any], Iterable[str]]) -> None:
        self.table: Table = []
        self._names = names
        self._hash = hashlib.sha256()
        self._positions: dict[int, int] = {}
        # keeps every id taken
        self._objects: list[Any] = []

    def digest(self) -> str:
        return self._hash.hexdigest()[:32]

    def reads(self) -> list[tuple[Any, str, Any]]:
        """What was read: owner, name and value."""
        pairs = [(obj, name) for obj, names in zip(self._objects, self.table, strict=True) for name in names]
        return [(obj, name, read(obj, name)) for obj, name in pairs]

    def functions(self) -> list[types.FunctionType]:
        return [obj for obj in self._objects if isinstance(obj, types.FunctionType)]

    def visited(self, obj: Any) -> bool:
        return id(obj) in self._positions

    def feed(self, *parts: Any) -> None:
        self._hash.update(repr(parts).encode())

    # argument types

    def type(self, numba_type: Any) -> None:
        """An argument's Numba type; some hold values."""
        structure: Any = numba_type
        if isinstance(numba_type, nt.Omitted):
            self.feed("omitted")
            self.value(numba_type.value)
        elif isinstance(numba_type, nt.BaseTuple):
            self.feed(type(numba_type).__name__, len(numba_type))
            if isinstance(numba_type, nt.BaseNamedTuple):
                self.value(structure.instance_class)
            for item in structure.types:
                self.type(item)
        elif isinstance(numba_type, nt.Dispatcher):
            self.value(numba_type.dispatcher)
        elif isinstance(numba_type, nt.Function):
            self.value(numba_type.typing_key)
        else:
            self.feed(type(numba_type).__name__, str(numba_type))

    # values

    def value(self, obj: Any) -> None:
        """Any value; raises Uncacheable for what cannot be followed."""
        match obj:
            case None | bool() | int() | float() | complex() | str() | bytes() if _plain(obj):
                self.feed(type(obj).__name__, obj)
            case np.generic() | np.ndarray():
                self._array(obj)
            case enum.Enum():
                self.feed("member", type(obj).__qualname__, obj.name)
                self.value(obj.value)
            case tuple() | list():
                self.feed(type(obj).__name__, len(obj))
                if hasattr(obj, "_fields"):
                    self.value(type(obj))
                for item in obj:
                    self.value(item)
            case dict():
                self.feed("dict", len(obj))
                for key, item in obj.items():
                    self.value(key)
                    self.value(item)
            case set() | frozenset() if all(_plain(item) for item in obj):
                self.feed(type(obj).__name__, sorted(map(repr, obj)))
            case slice() | range():
                self.feed(type(obj).__name__, obj)
            case np.dtype() | nt.Type() | types.EllipsisType():
                self.feed(type(obj).__name__, str(obj))
            case functools.partial():
                self.feed("partial")
                self.value((obj.func, obj.args, obj.keywords))
            case types.SimpleNamespace():
                self.feed("namespace")
                self.value(vars(obj))
            case types.CodeType():
                self._code(obj)
            case _:
                self._named(obj)

    def _array(self, obj: Any) -> None:
        if obj.nbytes > LARGEST_ARRAY or obj.dtype.hasobject:
            raise Uncacheable(f"an array of {obj.nbytes} bytes is read")
        layout = (obj.flags.c_contiguous, obj.flags.f_contiguous)
        self.feed(type(obj).__name__, obj.dtype.str, obj.dtype.descr, obj.shape, layout)
        self._hash.update(obj.tobytes())

    def _named(self, obj: Any) -> None:
        """A function, class, module, or something made of those."""
        own = getattr(type(obj), "__tapec_key__", None)
        if registered(obj) is not None:
            raise Uncacheable(f"{obj!r} has been given a derivative")
        if own is not None:
            self.feed("keyed", type(obj).__qualname__)
            self.value(own(obj))
        elif isinstance(obj, types.FunctionType) and obj.__closure__ and _is_librarys(obj) and not trusted(obj):
            raise Uncacheable(f"{obj.__qualname__} may hold functions of the user's")
        elif (callback := callback_function(obj)) is not None:
            # which says that its module is Numba's
            self.feed("callback", of_callback(obj).__tapec_key__())
            self.value(callback)
        elif _identified_by_name(obj):
            self.feed("trusted", getattr(obj, "__module__", ""), getattr(obj, "__qualname__", obj.__name__))
        elif isinstance(obj, Dispatcher):
            self.feed("jitted")
            self.value(undecorated(obj))
        elif (vectorised := function_of(obj)) is not None:
            self.feed("vectorised", tuple(obj.types) if obj._frozen else (), of_ufunc(obj._dispatcher).__tapec_key__())
            self.value(vectorised)
        elif isinstance(obj, types.FunctionType):
            self._node(obj)
        elif isinstance(obj, types.MethodType):
            self.feed("method")
            self.value((obj.__func__, obj.__self__))
        elif isinstance(obj, types.ModuleType | type):
            self._node(obj)
        else:
            raise Uncacheable(f"a {type(obj).__qualname__} is read")

    def _node(self, obj: Any) -> None:
        known = self._positions.get(id(obj))
        if known is not None:
            self.feed("again", known)
            return
        position = len(self._objects)
        self._positions[id(obj)] = position
        self._objects.append(obj)
        names = list(self._names(position, obj))
        self.table.append(names)
        self._identity(obj)
        for name in names:
            self.feed("name", name)
            found = read(obj, name)
            if found is _ABSENT:
                self.feed("absent")
            else:
                self.value(found)

    def _identity(self, obj: Any) -> None:
        if isinstance(obj, types.ModuleType):
            self.feed("module", obj.__name__)
        elif isinstance(obj, type):
            self.feed("class", obj.__module__, obj.__qualname__, getattr(obj, "_fields", None))
            self.value(getattr(obj, "_field_defaults", None))
        else:
            self.feed("function", obj.__module__, obj.__qualname__, _segment(obj))
            self._code(obj.__code__)
            self.value(obj.__defaults__)
            self.value(obj.__kwdefaults__)
            for name, attribute in sorted(vars(obj).items()):
                self.feed(name, attribute if _plain(attribute) else type(attribute).__qualname__)
                if isinstance(attribute, Jitted):
                    self.value(attribute)
            # a name of the language that the module has come to define
            self.feed(sorted(name for name in builtin_names(obj.__code__) if name in obj.__globals__))

    def _code(self, code: types.CodeType) -> None:
        self.feed("code", code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags)
        for constant in code.co_consts:
            self.value(constant)


_BUILTIN = frozenset(dir(builtins))


def _plain(obj: Any) -> bool:
    """Whether `repr` tells all about a value."""
    return type(obj) in (type(None), bool, int, float, complex, str, bytes)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def builtin_names(code: types.CodeType) -> set[str]:
    """The names of the language that code mentions."""
    return {name for inner in _nested(code) for name in inner.co_names if name in _BUILTIN}


def _segment(function: types.FunctionType) -> str:
    """The lines of a function in its file, found without parsing."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    last = max((end or 0 for inner in _nested(code) for _, end, _, _ in inner.co_positions()), default=0)
    return "".join(lines[code.co_firstlineno - 1 : max(last, code.co_firstlineno)])
