"""Methods, partial functions and objects that are called, as functions to differentiate.

What such a callable is bound to becomes arguments of the function behind it.  So a derivative of a method meets the
object as it is at each call, not as it was when the derivative was made.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tapec.backend.carrier import of_count, written
from tapec.backend.description import docstring, shown
from tapec.backend.program import directions
from tapec.errors import UsageError
from tapec.frontend.source.function_source import own_signature

Names = Mapping[str, inspect.Parameter]

_NOTHING: Mapping[str, Any] = types.MappingProxyType({})


@dataclass(frozen=True)
class Bound:
    """A function, its first arguments, and arguments by name."""

    function: Any
    first: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_free(self) -> bool:
        return not self.first and not self.named

    def free(self, names: Iterable[str]) -> list[str]:
        """The parameters, of those called `names`, that still want an argument."""
        return [name for k, name in enumerate(names) if k >= len(self.first) and name not in self.named]

    def left(self, names: Names) -> inspect.Signature:
        """The signature of the callable."""
        free = [names[name] for name in self.free(names)]
        return inspect.Signature(sorted(free, key=lambda one: (one.kind, one.default is not one.empty)))

    def wrt(self, wrt: Any, names: Names) -> Any:
        """`wrt` of the callable as that of the function: positions count the parameters that are free."""
        if isinstance(wrt, tuple | list):
            return tuple(self.wrt(one, names) for one in wrt)
        free = self.free(names)
        if isinstance(wrt, str) and wrt in names and wrt not in free:
            raise UsageError(f"the parameter `{wrt}` of `{self.function.__name__}` has its argument already")
        if isinstance(wrt, int) and not isinstance(wrt, bool):
            if not -len(free) <= wrt < len(free):
                message = f"`{self.function.__name__}` has no parameter {wrt} that is free"
                raise UsageError(message, hint=f"free are: {', '.join(free) or 'none'}")
            name = free[wrt]
            if names[name].kind is inspect.Parameter.VAR_POSITIONAL:
                # extra arguments have no names of their own
                return wrt if wrt < 0 else list(names).index(name)
            return name
        return wrt

    def positions(self, names: Names, count: int) -> list[int]:
        """Where `count` arguments of a call of the callable stand among all arguments."""
        wanted = frozenset(self.free(names))
        free = [k for k, name in enumerate(names) if name in wanted]
        return [*free, *range(len(names), len(names) + count)][:count]

    def arguments(
        self, names: Names, given: tuple[Any, ...], extra: Mapping[str, Any] = _NOTHING
    ) -> tuple[Any, ...]:
        """All arguments by position, where a call gives `given` and, by name, `extra`.

        raises  TypeError  as a call would: for an argument too many, given twice or missing
        """
        named = {**self.named, **extra}
        bound = inspect.Signature(list(names.values())).bind_partial(*self.first, **named)
        free = iter(given)
        reached = [name for name, one in names.items() if one.kind in _BY_POSITION][len(self.first) :]
        if twice := next((name for name in reached[: len(given)] if name in named), None):
            raise TypeError(f"{self.function.__name__}() got multiple values for argument {twice!r}")
        for name, parameter in names.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                bound.arguments[name] = (*bound.arguments.get(name, ()), *free)
            elif name not in bound.arguments:
                try:
                    bound.arguments[name] = next(free)
                except StopIteration:
                    continue
        if left := len(list(free)):
            raise TypeError(f"{self.function.__name__}() got {left} arguments too many")
        all_: list[Any] = []
        for name, parameter in names.items():
            if name in bound.arguments:
                value = bound.arguments[name]
            elif parameter.default is not parameter.empty:
                value = parameter.default
            elif parameter.kind is parameter.VAR_POSITIONAL:
                value = ()
            else:
                raise TypeError(f"{self.function.__name__}() misses its argument {name!r}")
            all_ += value if parameter.kind is parameter.VAR_POSITIONAL else [value]
        return tuple(all_)


@dataclass(frozen=True)
class Gathered(Bound):
    """One whose function takes `**kw`, or arguments by name alone behind `*args`, which no compiled function does.

    `function` calls it: its parameters are those by position, those by name alone, `kw` as a dict, and `*args`.
    """

    signature: inspect.Signature = field(default_factory=inspect.Signature)

    @property
    def is_free(self) -> bool:
        return False

    @property
    def first_extra(self) -> int:
        """The position of the first of `*args` among the parameters of `function`."""
        return sum(one.kind is not one.VAR_POSITIONAL for one in self.signature.parameters.values())

    def place(self, position: int) -> int | None:
        """Where an argument of the callable stands among those of `function`; None if there is none there."""
        own = sum(one.kind in _BY_POSITION for one in self.signature.parameters.values())
        place = position + len(self.first)
        if position >= 0 and place < own:
            return place
        extra = any(one.kind is one.VAR_POSITIONAL for one in self.signature.parameters.values())
        return place - own + self.first_extra if position >= 0 and extra else None

    def wrt(self, wrt: Any, names: Names) -> Any:
        if isinstance(wrt, tuple | list):
            return tuple(self.wrt(one, names) for one in wrt)
        if isinstance(wrt, int) and not isinstance(wrt, bool):
            if (place := self.place(wrt)) is None:
                raise UsageError(f"`{self.function.__name__}` has no parameter {wrt} that is free")
            return place
        if isinstance(wrt, str) and wrt in self.named:
            raise UsageError(f"the parameter `{wrt}` of `{self.function.__name__}` has its argument already")
        return wrt

    def positions(self, names: Names, count: int) -> list[int]:
        return [place for k in range(count) if (place := self.place(k)) is not None]

    def arguments(
        self, names: Names, given: tuple[Any, ...], extra: Mapping[str, Any] = _NOTHING
    ) -> tuple[Any, ...]:
        bound = self.signature.bind(*self.first, *given, **{**self.named, **extra})
        bound.apply_defaults()
        found, rest = [], ()
        for name, parameter in _in_order(self.signature):
            if parameter.kind is parameter.VAR_POSITIONAL:
                rest = bound.arguments[name]
            else:
                found.append(bound.arguments[name])
        return (*found, *rest)

    def left(self, names: Names) -> inspect.Signature:
        return inspect.signature(functools.partial(_Signed(self.signature), *self.first, **self.named))


def takes_all_by_position(function: types.FunctionType) -> bool:
    """Whether a call gives all arguments of a function, and by position."""
    code = function.__code__
    return not (code.co_flags & inspect.CO_VARARGS or code.co_kwonlyargcount or function.__defaults__)


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class _Signed:
    """Something to call, of a signature."""

    def __init__(self, signature: inspect.Signature) -> None:
        self.__signature__ = signature

    def __call__(self) -> None:
        """Nobody calls it."""


def _in_order(signature: inspect.Signature) -> list[tuple[str, inspect.Parameter]]:
    """The parameters with `*args` last."""
    return sorted(signature.parameters.items(), key=lambda pair: pair[1].kind is pair[1].VAR_POSITIONAL)


def _gathers(signature: inspect.Signature) -> bool:
    """Whether no compiled function takes arguments as this signature does."""
    kinds = [one.kind for one in signature.parameters.values()]
    named = inspect.Parameter.KEYWORD_ONLY in kinds
    return inspect.Parameter.VAR_KEYWORD in kinds or (named and inspect.Parameter.VAR_POSITIONAL in kinds)


_KINDS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _gathering(f: Any) -> tuple[Any, inspect.Signature] | None:
    """A function that calls `f`, as `Gathered` has it, and the signature of `f`; None if `f` can be called as it is."""
    plain = f if isinstance(f, types.FunctionType) else getattr(f, "py_func", None)
    if not isinstance(plain, types.FunctionType) or not plain.__code__.co_flags & _KINDS:
        return None
    own = own_signature(plain)
    return (_calling(f, plain, own), own) if _gathers(own) else None


@functools.lru_cache(maxsize=512)
def _calling(f: Any, plain: types.FunctionType, signature: inspect.Signature) -> Any:
    """A function with source that calls `f`."""
    heads, passed, named = [], [], []
    for name, parameter in _in_order(signature):
        match parameter.kind:
            case inspect.Parameter.VAR_POSITIONAL:
                heads.append(f"*{name}")
                passed.append(f"*{name}")
            case inspect.Parameter.VAR_KEYWORD:
                heads.append(name)
                named.append(f"**{name}")
            case inspect.Parameter.KEYWORD_ONLY:
                heads.append(name)
                named.append(f"{name}={name}")
            case _:
                heads.append(name)
                passed.append(name)
    return written(f, plain, heads, passed, named)


def unbound(f: Any) -> Bound:
    """The function behind a method, a partial function or an object that is called; of others, they themselves."""
    first: tuple[Any, ...] = ()
    named: dict[str, Any] = {}
    while True:
        if isinstance(f, BoundDerivative):
            first, named = (*f.bound.first, *first), {**f.bound.named, **named}
            f = f.derivative
        elif isinstance(f, functools.partial):
            first, named = (*f.args, *first), {**f.keywords, **named}
            f = f.func
        elif isinstance(f, types.MethodType) and not isinstance(f.__self__, type):
            first = (f.__self__, *first)
            f = f.__func__
        elif _is_called(f):
            f = types.MethodType(type(f).__call__, f)
        else:
            gathering = _gathering(f)
            return Bound(f, first, named) if gathering is None else Gathered(gathering[0], first, named, gathering[1])


def _is_called(f: Any) -> bool:
    """Whether `f` is an object of a class whose `__call__` has source."""
    if isinstance(f, types.FunctionType | type):
        return False
    # objects with a `__getattr__` of their own may say that they have whatever they are asked for
    if any(inspect.getattr_static(f, name, None) is not None for name in ("py_func", "__tapec_lower__")):
        return False
    if type(f).__module__.partition(".")[0] == "numba":  # such as functions under @vectorize
        return False
    return isinstance(inspect.getattr_static(type(f), "__call__", None), types.FunctionType)


def directions_of(derivative: Any) -> tuple[str, ...]:
    """The names of what a derivative takes after the arguments of the function."""
    if isinstance(derivative, DirectionsLast):
        return derivative.directions
    request = getattr(derivative, "_request", None)
    return () if request is None else directions(request.function, request.kind, request.wrt)


def with_directions(
    product: Any, names: Iterable[str], wanted: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The arguments by position of a call without its directions, the last ones, and those; any may be given by name.

    wanted  the names of the directions
    """
    by_name = {name: kwargs.pop(name) for name in wanted if name in kwargs and name not in names}
    own = len(args) - len(wanted) + len(by_name)
    if own < 0:
        what = "vector" if wanted[-1] == "v" else f"`{wanted[-1]}`"
        raise TypeError(f"the {product.kind} of {product.__name__}() misses its {what}, the last argument")
    last = iter(args[own:])
    return args[:own], tuple(by_name[name] if name in by_name else next(last) for name in wanted)


class DirectionsLast:
    """A product with a derivative of a function some of whose arguments may be left out, or stand behind the others.

    The directions (vector, tangents or cotangent) are the last arguments by position.  What takes all arguments by
    position is a derivative of its own: that of the function, or, of one that takes any number, that for each number.
    """

    def __init__(self, function: types.FunctionType, make: Callable[[Any], Any], recipe: tuple[Any, ...]) -> None:
        self.function, self._make, self._recipe = function, make, recipe
        self._wrt, self.kind = recipe[2], recipe[3]
        self.directions = directions(function, self.kind, self._wrt)
        self._any_number = bool(function.__code__.co_flags & inspect.CO_VARARGS)
        self._made: dict[int, Any] = {}
        self._signature = own_signature(function)
        self._count = len(self._signature.parameters)
        self.__name__, self.__doc__ = function.__name__, docstring(function, self.kind, self._wrt)
        self.__qualname__, self.__module__ = function.__qualname__, function.__module__
        if not self._any_number:
            self._of(self._count)

    def _of(self, count: int) -> Any:
        """The derivative for so many arguments."""
        if count not in self._made:
            fixed = of_count(self.function, self.function, count) if self._any_number else self.function
            self._made[count] = self._make(fixed)
        return self._made[count]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == self._count + len(self.directions) and not kwargs and not self._any_number:
            return self._made[self._count](*args)
        derivative, given = self._bound(args, kwargs)
        return derivative(*given)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        """The derivative that takes the arguments by position, and those with all defaults and the directions."""
        args, last = with_directions(self, self._signature.parameters, self.directions, args, kwargs)
        bound = self._signature.bind(*args, **kwargs)
        said = set(bound.arguments)
        bound.apply_defaults()
        from numba.core.dispatcher import OmittedArg

        # text that is left out is known while compiling, text that is passed is not
        for name, value in bound.arguments.items():
            if name not in said and isinstance(value, str):
                bound.arguments[name] = OmittedArg(value)
        given = (*bound.args, *bound.kwargs.values())
        return self._of(len(given)), (*given, *last)

    def compile(self, *arguments: Any) -> None:
        """Compile ahead of the first call, for types or examples of the arguments and of the directions."""
        derivative, given = self._bound(arguments, {})
        derivative.compile(*given)

    @property
    def reads(self) -> DirectionsLast:
        """What compiled code has read: that of all derivatives."""
        return self

    @property
    def changed(self) -> bool:
        """Whether what one of them has read is another value now."""
        return any(made.reads.changed for made in self._made.values())

    def __getattr__(self, name: str) -> Any:
        # jitted code, and what differentiates this, meet the derivative that takes all arguments
        if name.startswith("_made") or self._any_number:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._made[self._count], name)

    def source(self, *arguments: Any) -> str:
        """The generated source for types of arguments or examples, directions included; for none, all there is."""
        if arguments:
            derivative, given = self._bound(arguments, {})
            text: str = derivative.source(*given)
            return text
        return "\n\n".join(filter(None, (made.source() for made in self._made.values())))

    def __reduce__(self) -> Any:
        from tapec.backend.derivative_base import reduced

        return reduced(self, self._recipe)

    def __repr__(self) -> str:
        return shown(self.function, self.kind, self._wrt)


class BoundDerivative:
    """A derivative of a method, or of another callable that has some of its arguments.

    It is called from Python.  Jitted code calls a derivative of the plain function instead.
    """

    def __init__(self, derivative: Any, bound: Bound, recipe: tuple[Any, ...]) -> None:
        self.derivative, self.bound, self._recipe = derivative, bound, recipe
        if isinstance(derivative, DirectionsLast):
            carrier = derivative.function
        else:
            carrier = getattr(derivative, "py_func", None) or derivative.carrier
        self._parameters = inspect.signature(carrier).parameters
        self._directions = directions_of(derivative)
        names = list(self._parameters)
        if not isinstance(derivative, DirectionsLast):
            names = names[: len(names) - len(self._directions)]
        self._own = {name: self._parameters[name] for name in names}
        self.__signature__ = bound.left(self._parameters)
        self.__name__, self.__doc__ = derivative.__name__, derivative.__doc__
        self.__qualname__, self.__module__ = derivative.__qualname__, derivative.__module__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self._own
        args, last = with_directions(self.derivative, own, self._directions, args, kwargs)
        return self.derivative(*self.bound.arguments(own, args, kwargs), *last)

    def compile(self, *arguments: Any) -> None:
        """Compile ahead of the first call, for examples of the arguments that are left."""
        self.derivative.compile(*self._with_bound(arguments))

    def _with_bound(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of the plain function."""
        count = max(len(arguments) - len(self._directions), 0)
        return (*self.bound.arguments(self._own, arguments[:count], {}), *arguments[count:])

    def source(self, *arguments: Any) -> str:
        """The generated source for types of the arguments that are left, or examples; for none, all there is."""
        text: str = self.derivative.source(*(self._with_bound(arguments) if arguments else ()))
        return text

    def __tapec_lower__(self, ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        made = functools.partial(self.derivative, *self.bound.first, **self.bound.named)
        return ev.apply(ev.wrap(made, node), args, kwargs, node)

    def __reduce__(self) -> Any:
        from tapec.backend.derivative_base import reduced

        return reduced(self, self._recipe)

    def __repr__(self) -> str:
        return repr(self.derivative)
