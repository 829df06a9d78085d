"""Methods of text, which are called while compiling."""

from __future__ import annotations

from typing import Any

from tapec.errors import UnsupportedFunction
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Dct, Items, Iteration, Lst, Static, Stream, Sym, Template, Tup, Value
from tapec.frontend.expressions.outside_objects import wrap
from tapec.frontend.iteration.generators import Generator
from tapec.frontend.operations import runtime_text


def text_method(
    ev: Evaluator, text: str, method: Any, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value | None:
    """A method of known text: called now, if its arguments are known too."""
    if not isinstance(text, Template):
        try:
            given = [_plain(ev, value, node) for value in args]
            named = {key: _plain(ev, value, node) for key, value in kwargs.items()}
        except _Unknown:
            pass
        else:
            return _structured(ev, getattr(text, method.__name__)(*given, **named))
    if method.__name__ == "format":
        return Static(runtime_text.filled(ev, text, args, kwargs))
    if isinstance(text, Template):
        try:
            given = [_plain(ev, value, node) for value in args]
            named = {key: _plain(ev, value, node) for key, value in kwargs.items()}
        except _Unknown:
            given, named = [], {}
        else:
            found = runtime_text.method(ev, text, method.__name__, given, named, node)
            if found is not None:
                return found
            if text.make is not None and ev.deciding:
                return _structured(ev, getattr(runtime_text.settled(ev, text, node), method.__name__)(*given, **named))
        ev.fail(UnsupportedFunction, f"cannot call `{method.__name__}` of text that only the run knows", node)
    return None


class _Unknown(Exception):
    """A value that only the run knows."""


def _plain(ev: Evaluator, value: Value, node: Any) -> Any:
    """What is known, as Python has it; raises `_Unknown`."""
    if isinstance(value, Lst | Iteration | Dct | Generator | Stream):
        value = Tup(ev.known_items(value, node))
    if isinstance(value, Tup):
        return tuple(_plain(ev, item, node) for item in value.items)
    if isinstance(value, Static) and not isinstance(value.obj, Template):
        return value.obj
    if isinstance(value, Sym) and value.constant is not None:
        return value.constant
    raise _Unknown


def _structured(ev: Evaluator, obj: Any) -> Value:
    """What text gives: numbers, texts, and lists and tuples of them."""
    if isinstance(obj, list):
        return ev.new_list(Items(tuple(_structured(ev, item) for item in obj)))
    return wrap(ev, obj)
