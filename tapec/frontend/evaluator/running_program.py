"""What a tape's body, lowered while the program runs, asks of that program: its objects and its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from tapec.frontend.evaluator.values import Sym, Value


class Live(Protocol):
    """What the objects of a running program stand for, while code is lowered over them."""

    def reach(self, obj: Any, origin: tuple[Any, ...]) -> Value | None:
        """The value of an object found at `origin` (its owner and the step from there); None for the default."""

    def attribute(self, obj: Any, name: str, node: Any) -> Value | None:
        """An attribute that must not be fetched by getattr; None for the default."""

    def evaluated(self, node: Any, handler: Callable[[Any, Any], Value]) -> Value:
        """The value of an expression, which `handler` gives."""

    def new_number(self, value: Value, before: int) -> Value:
        """What an operation gives: an object of its own.  `before` is how many names there were before it."""

    def variables(self, names: Iterable[str]) -> list[str]:
        """Those of the names that variables from outside have."""

    def extent(self, name: str, axis: int) -> tuple[str, int] | int | None:
        """The input and axis whose extent that of an input is, or 1: the program then holds only where it is so."""

    def all_met(self) -> None:
        """All values have met at a point where ways meet."""

    def met(self, made: Sym, sources: tuple[Sym, ...]) -> Sym:
        """A merge name for one of several values, of which one may be a variable."""

    def same(self, left: Value, right: Value) -> bool | None:
        """Whether two values are one object of the running program, if that is known."""

    def asked(self, obj: Any) -> None:
        """The program depends on an object being this one: a dict's key, an element of a set."""

    def unshadowed(self, function: Any, ident: str) -> None:
        """A name is Python's own, for a function of the program or, for None, in what is lowered first."""

    def changed(self, owner: Any) -> None:
        """A dict or object was written."""

    def symbol_attribute(self, owner: Sym, name: str, node: Any) -> Value | None:
        """What a number or array of the running program has beyond others, such as a variable's name."""

    def store_attribute(self, owner: Value, name: str, value: Value, node: Any) -> None:
        """`owner.name = value`."""

    def instance_attribute(self, owner: Any, name: str, node: Any) -> Value:
        """`owner.name` of an object that lowered code has made."""

    def store_outer(self, function: Any, ident: str, value: Value) -> None:
        """Assign a variable that a live function shares with what is around it."""

    def call(self, function: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
        """A call that only the running program knows the answer of; None for the default."""

    def construct(self, cls: type, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
        """An object of a class; None for the default."""

    def is_of_numpy(self, value: Sym) -> bool:
        """Whether a number is one of NumPy's, or a variable, so that a list beside it is an array."""

    def may_vary(self, name: str) -> bool:
        """Whether a name that the program has may carry a derivative."""

    def method(self, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
        """A method that only the running program's values have, such as a variable's; None for the default."""

    def lowered_apart(self, ev: Any) -> None:
        """A recursive function is lowered by itself, by another evaluator."""

    def operator(self, name: str, args: list[Value], node: Any) -> Value | None:
        """An operator that a class defines; None if it does not."""


class Decider(Protocol):
    """What knows the numbers of a running program."""

    def attempt(self, handler: Callable[[Any, Any], None], stmt: Any) -> None:
        """Lower a statement inside `try`; raises `Raised` if the program raises there."""

    def number(self, sym: Sym) -> Any:
        """The number that `sym` stands for in this run, Python's or NumPy's; None for an array."""

    def decide(self, sym: Sym, node: Any) -> Any:
        """The number that `sym` stands for in this run; the program then holds only where it is the same."""
