"""Functions of the API that jitted code may call, though they take functions and make derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from tapec.callables import P, R


class CalledInJittedCode:
    """A function, and what stands for a call of it in jitted code.

    implementation  takes the Numba types of a call's arguments and returns a function of the arguments, as
                    `numba.extending.overload` asks for
    """

    __qualname__: str

    def __init__(self, function: Callable[..., Any], implementation: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._implementation = function, implementation

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        # Numba asks for it where jitted code mentions the function, and not before
        from numba.core.typing.templates import builtin_registry
        from numba.extending import overload

        overload(self)(self._implementation)
        return next(type_ for function, type_ in builtin_registry.globals if function is self)

    def __tapec_key__(self) -> tuple[Any, ...]:
        return self.__module__, self.__qualname__

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<function {self.__module__}.{self.__qualname__}>"


def called_in_jitted_code(implementation: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator for what jitted code calls by an implementation of its own."""
    return lambda function: CalledInJittedCode(function, implementation)


def directional(f: Any, primals: Any, tangents: Any) -> Any:
    """`jvp(f, primals, tangents)`, by Numba types."""
    from numba.core import types as nt
    from numba.core.errors import TypingError

    from tapec.api import derivative
    from tapec.backend.carrier import from_text

    if not isinstance(f, nt.Dispatcher):
        raise TypingError("tapec.jvp in jitted code takes a function under @njit, or a derivative")
    if not (isinstance(primals, nt.BaseTuple) and isinstance(tangents, nt.BaseTuple)) or len(primals) != len(tangents):
        raise TypingError("tapec.jvp takes a tuple of arguments and one of as many tangents")
    moving = tuple(k for k, one in enumerate(tuple(cast(Any, tangents))) if not isinstance(one, nt.NoneType))
    given = [*(f"primals[{k}]" for k in range(len(primals))), *(f"tangents[{k}]" for k in moving)]
    text = f"def jvp(f, primals, tangents):\n    return made({', '.join(given)})\n"
    dispatcher: Any = f
    made = from_text("jvp", text, {"made": derivative(dispatcher.dispatcher, moving, "jvp"), "__name__": __name__})
    # Numba compares the signatures
    made.__annotations__ = directional.__annotations__
    return made


def refuse_vjp(f: Any, *primals: Any) -> Any:
    """`vjp(f, *primals)`, whose second result is a Python function."""
    from numba.core.errors import TypingError

    raise TypingError("tapec.vjp returns a function of Python: make `pull = tapec.vjp_fun(f)` outside, and call that")
