"""What the public functions return, for type checkers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
# what a derivative is taken by: position or name of a parameter, or several of those
Sources = int | str | Sequence[int | str]


class DerivativeFunction(Protocol[P, R_co]):
    """A derivative: it has the parameters of the function, and can be called from jitted code."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, owner: None, cls: Any = None) -> DerivativeFunction[P, R_co]: ...
    @overload
    def __get__(self, owner: object, cls: Any = None) -> Callable[..., R_co]: ...

    def compile(self, *arguments: Any) -> Any:
        """Compile ahead of the first call, for types or examples of the arguments."""

    def source(self, *types_: Any) -> str:
        """The generated source for argument types; for no types, all there is."""


class TapeFunction(Protocol[P, R_co]):
    """A function with tapes in its body, compiled as a whole."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, owner: None, cls: Any = None) -> TapeFunction[P, R_co]: ...
    @overload
    def __get__(self, owner: object, cls: Any = None) -> Callable[..., R_co]: ...

    def source(self) -> str:
        """The generated source of every specialisation so far."""


class CustomFunction(Protocol[P, R_co]):
    """A function with a derivative of its own."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, owner: None, cls: Any = None) -> CustomFunction[P, R_co]: ...
    @overload
    def __get__(self, owner: object, cls: Any = None) -> Callable[..., R_co]: ...

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Say the tangents: `jvp(primals, tangents)`, two tuples, returns the value and its tangent."""
