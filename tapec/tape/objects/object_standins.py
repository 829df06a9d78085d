"""What stands for live objects whose methods lowered code may call."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import LoweringError, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Static, Sym, Tup, Value
from tapec.frontend.structures.dicts import key_of
from tapec_runtime.variables import Variable


class ForeignTape:
    """A tape that the region being lowered does not belong to: its calls leave no trace in it."""

    def __getattr__(self, name: str) -> Any:
        if name in ("watch", "reset", "__enter__", "__exit__"):
            return _NoEffect()
        if name == "stop_recording":
            return _Elsewhere
        if name in ("gradient", "jacobian", "batch_jacobian"):
            return _OfAnotherBlock(name)
        raise AttributeError(name)

    def __tapec_enter__(self, ev: Evaluator, node: Any) -> None:
        """Entered again inside this block: nothing that this block's tape would notice."""

    __tapec_exit__ = __tapec_enter__


class _Elsewhere:
    """The pause of a tape of another block."""

    @staticmethod
    def __tapec_lower__(ev: Evaluator, args: Any, kwargs: Any, node: Any) -> Value:
        return Static(ForeignTape())


class _OfAnotherBlock:
    """A derivative that a tape of another block is asked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __tapec_lower__(self, ev: Evaluator, args: Any, kwargs: Any, node: Any) -> Value:
        ev.fail(
            LoweringError,
            f"the `{self.name}` of a tape whose block is not part of this one",
            node,
            reason="its record is not part of this block's source",
            hint="ask for it before this block, where its answer is a constant, or enter that tape inside",
        )


class _NoEffect:
    def __tapec_lower__(self, ev: Evaluator, args: Any, kwargs: Any, node: Any) -> Value:
        return Static(None)


class DictMethod:
    """`items`, `keys`, `values` and `get` of a live dict."""

    def __init__(self, obj: dict[Any, Any], name: str) -> None:
        self.obj, self.name = obj, name

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        def item(key: Any) -> Value:
            return ev.wrap(self.obj[key], None, ("item", self.obj, key))

        if self.name == "get":
            key = key_of(ev, args[0], node)
            if key in self.obj:
                return item(key)
            return args[1] if len(args) > 1 else Static(None)
        keys = [ev.wrap(key) for key in self.obj]
        if self.name == "keys":
            return Tup(tuple(keys))
        values = [item(key) for key in self.obj]
        if self.name == "values":
            return Tup(tuple(values))
        return Tup(tuple(Tup(pair) for pair in zip(keys, values, strict=True)))


class Refusing:
    """Refuses values from outside, in code that is lowered apart from the block and would freeze them."""

    def __init__(self, ev: Evaluator, subject: str) -> None:
        self.ev, self.subject = ev, subject

    def extent(self, name: str, axis: int) -> None:
        """Nothing from outside is known here."""

    def variables(self, names: Any) -> list[str]:
        """There are none here."""
        return []

    def reach(self, obj: Any, origin: tuple[Any, ...]) -> Value | None:
        if origin[0] in ("default", "kwdefault") and not isinstance(obj, np.ndarray | Variable):
            return None  # part of the function
        library = str(getattr(origin[1], "__module__", "")).startswith(("tapec", "numpy", "math"))
        if isinstance(obj, float | complex | np.inexact | np.ndarray | Variable) and not library:
            self.ev.fail(
                UnsupportedSyntax,
                f"{self.subject} that reads `{origin[-1]}` from outside",
                hint="pass it as an argument",
            )
        return None

    def attribute(self, obj: Any, name: str, node: Any) -> Value | None:
        return None

    def symbol_attribute(self, owner: Any, name: str, node: Any) -> Value | None:
        return None

    def same(self, left: Value, right: Value) -> bool | None:
        return None

    def asked(self, obj: Any) -> None:
        """What is known here is known of the function itself."""

    def unshadowed(self, function: Any, ident: str) -> None:
        """As `asked`."""

    def call(self, function: Any, args: Any, kwargs: Any, node: Any) -> Value | None:
        return None

    def construct(self, cls: type, args: Any, kwargs: Any, node: Any) -> Value | None:
        return None

    def method(self, owner: Value, name: str, args: Any, kwargs: Any, node: Any) -> Value | None:
        return None

    def lowered_apart(self, ev: Evaluator) -> None:
        """Code of a function that is lowered apart already."""

    def operator(self, name: str, args: Any, node: Any) -> Value | None:
        return None

    def changed(self, owner: Any) -> None:
        """Dicts of the function itself."""

    def store_attribute(self, owner: Any, name: str, value: Any, node: Any) -> None:
        self.ev.fail(UnsupportedSyntax, f"{self.subject} that sets the attribute `{name}`", node)

    def instance_attribute(self, owner: Any, name: str, node: Any) -> Value:
        self.ev.fail(UnsupportedSyntax, f"{self.subject} that reads the attribute `{name}`", node)

    def store_outer(self, function: Any, ident: str, value: Any) -> None:
        self.ev.fail(UnsupportedSyntax, f"{self.subject} that assigns `{ident}` of another function")

    def evaluated(self, node: Any, handler: Any) -> Value:
        value: Value = handler(self.ev, node)
        return value

    def is_of_numpy(self, value: Sym) -> bool:
        return False

    def may_vary(self, name: str) -> bool:
        return True

    def new_number(self, value: Value, before: int) -> Value:
        return value

    def all_met(self) -> None:
        """As `met`."""

    def met(self, made: Sym, sources: tuple[Sym, ...]) -> Sym:
        return made
