"""What handlers of different subjects call in one another: the methods of the evaluator that stand in modules above it.

Handlers form no cycle of imports.  Where one needs another one that stands above it, as a comparison of arrays is an
elementwise expression whose elements are compared, it calls a method that is declared here.  `FullEvaluator`
(`full_evaluator.py`) has a table that says which function each of them is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tapec.frontend.evaluator.values import Contents, Growing, Lst, Sym, Value


class LoweringMethods:
    """Methods that `FullEvaluator` has; here they have their types."""

    # the handlers of each kind of node, and those of functions that have one of their own
    expression_handlers: ClassVar[Mapping[type, Callable[..., Value]]]
    statement_handlers: ClassVar[Mapping[type, Callable[..., None]]]
    special: Mapping[Any, Any]

    # expressions

    def binary(self, fn: str, left: Value, right: Value, node: Any = None) -> Value:
        """`left fn right`."""
        raise NotImplementedError

    def compare(self, fn: str, left: Value, right: Value, node: Any) -> Value:
        """`left fn right`, for the sign of a comparison."""
        raise NotImplementedError

    def truth(self, value: Value, node: Any = None) -> Sym:
        """Whether a value counts as true."""
        raise NotImplementedError

    def select(self, test: Sym, body: Callable[[], Value], orelse: Callable[[], Value], node: Any) -> Value:
        """One of two values, each computed only if it is chosen."""
        raise NotImplementedError

    def operator(self, name: str, args: list[Value], node: Any) -> Value | None:
        """What an operator, or a method such as `__len__`, gives that a class defines; None for others."""
        raise NotImplementedError

    def wrap(self, obj: Any, node: Any = None, origin: tuple[Any, ...] | None = None) -> Value:
        """The value of a Python object that was found at `origin`."""
        raise NotImplementedError

    def get_attribute(self, owner: Value, attr: str, node: Any) -> Value:
        """`owner.attr`."""
        raise NotImplementedError

    def load(self, owner: Value, index: Value, node: Any) -> Value:
        """`owner[index]`."""
        raise NotImplementedError

    def length(self, value: Value, node: Any) -> Sym:
        """`len(value)`."""
        raise NotImplementedError

    def known_items(self, value: Value, node: Any) -> tuple[Value, ...]:
        """The items of a value whose length is known."""
        raise NotImplementedError

    # arrays

    def materialise(self, value: Value, base: str = "t") -> Any:
        """An elementwise expression in memory; other values are returned as they are."""
        raise NotImplementedError

    def as_array(self, value: Value, node: Any, dtype: str | None = None) -> Any:
        """A fresh array from a tuple or list, nested to any depth."""
        raise NotImplementedError

    def matmul(self, left: Value, right: Value, node: Any) -> Value:
        """`left @ right`."""
        raise NotImplementedError

    def inert(self, name: str, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        """A call of a function whose result has no derivative."""
        raise NotImplementedError

    # lists

    def new_list(self, contents: Contents) -> Value:
        """A list with these contents."""
        raise NotImplementedError

    def grow(self, owner: Lst) -> Growing:
        """A list's contents as a buffer with a count."""
        raise NotImplementedError

    def extend_list(self, owner: Lst, value: Value, node: Any) -> None:
        """`owner.extend(value)`."""
        raise NotImplementedError

    def list_arithmetic(self, fn: str, left: Value, right: Value, node: Any) -> Value:
        """`left + right` of lists, or a list times a number."""
        raise NotImplementedError

    def list_from_array(self, array: Value) -> Growing:
        """A list of the elements of a 1-D array."""
        raise NotImplementedError

    # statements

    def branch(
        self, test: Sym, body: Callable[[], None], orelse: Callable[[], None], live: frozenset[str] | None = None
    ) -> None:
        """Both sides of an `if`, or one side if the test is known."""
        raise NotImplementedError

    def named(self, value: Value, ident: str) -> Value:
        """The temporary that was just computed, under the user's name."""
        raise NotImplementedError

    # calls

    def apply(self, func: Value, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        """`func(*args, **kwargs)`."""
        raise NotImplementedError

    def call_object(self, obj: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        """A call of a Python object that is known."""
        raise NotImplementedError

    def call_library(self, name: str, args: tuple[Value, ...]) -> Any:
        """A call of one of the library functions that syntax needs, by its name."""
        raise NotImplementedError

    def inline_library(
        self, function: Any, args: list[Value], kwargs: dict[str, Value], node: Any = None
    ) -> Any:
        """A call of a library function."""
        raise NotImplementedError

    def method(self, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
        """`owner.name(*args, **kwargs)` for methods with a handler; None for others."""
        raise NotImplementedError

    def decorated(self, decorator: Any, function: Value, node: Any) -> Value:
        """A function under one decorator."""
        raise NotImplementedError
