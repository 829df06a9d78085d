"""Text that only the run knows, such as `f"{loss:.2f}"`: made of numbers, and asked for numbers.

Text has no derivative.  What is asked of it, as its length, the number that it says or whether it equals other text, is
a call of Python's own function, with the numbers that are written in the text as arguments (see `opaque_calls`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Raised
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Static, Sym, Template, Value, known_text, number, plain_number
from tapec.frontend.operations import elementwise
from tapec.frontend.operations.opaque_calls import opaque_call
from tapec.syntax.types import INT64, Scalar

# a number that stands in text for another one
_MARK = 70_000_001
# methods of text that give text
_TEXTS = frozenset({
    "capitalize", "casefold", "center", "expandtabs", "ljust", "lower", "lstrip", "removeprefix", "removesuffix",
    "replace", "rjust", "rstrip", "strip", "swapcase", "title", "upper", "zfill",
})  # fmt: skip
# methods that give a whole number, and those that tell yes from no
_COUNTS = frozenset({"count", "find", "index", "rfind", "rindex"})
_TESTS = frozenset({
    "endswith", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric",
    "isprintable", "isspace", "istitle", "isupper", "startswith",
})  # fmt: skip


def with_conversion(value: Any, conversion: int) -> Any:
    """What `!r`, `!s` or `!a` makes of a known value; without one, -1, the value itself."""
    change: dict[int, Callable[[Any], str]] = {ord("r"): repr, ord("s"): str, ord("a"): ascii}
    return change[conversion](value) if conversion in change else value


def of_value(ev: Evaluator, value: Value | None, shown: str, spec: str = "", conversion: int = -1) -> str:
    """The text of a number, or of text that only the run knows; `shown` stands for it in messages."""
    if (text := known_text(value)) is not None:
        return format(with_conversion(text, conversion), spec)
    if isinstance(value, Static) and isinstance(value.obj, Template):
        return _mapped(value.obj, lambda text: format(text, spec)) if conversion in (-1, ord("s")) else Template(shown)
    sym = ev.materialise(plain_number(value)) if value is not None else None
    if isinstance(sym, Sym) and isinstance(sym.constant, bool | int):
        return format(sym.constant if conversion == -1 else str(sym.constant), spec)
    # `repr` tells NumPy's numbers from Python's
    if not isinstance(sym, Sym) or not isinstance(sym.type, Scalar) or conversion not in (-1, ord("s")):
        return Template(shown)
    kind = np.dtype(str(sym.type)).type

    def make(given: Any) -> str:
        # compiled code hands numbers over as Python's
        plain = kind(given) if kind is np.float32 else given
        return format(str(plain) if conversion != -1 else plain, spec)

    return Template.of(shown, (sym,), make)


def str_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`str(value)`."""
    return Static(of_value(ev, args[0], "{...}", conversion=ord("s")) if args else "")


def repr_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`repr(value)`."""
    return Static(of_value(ev, args[0], "{...}", conversion=ord("r")))


def format_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`format(value, spec)`."""
    spec = known_text(args[1]) if len(args) > 1 else ""
    return Static(Template("{...}") if spec is None else of_value(ev, args[0], "{...}", spec))


def joined(pieces: Sequence[str]) -> str:
    """The text of several pieces."""
    shown = "".join(pieces)
    templates = [piece for piece in pieces if isinstance(piece, Template)]
    if not templates:
        return shown
    if any(piece.make is None for piece in templates):
        return Template(shown)

    def make(*given: Any) -> str:
        texts, first = [], 0
        for piece in pieces:
            count = len(piece.holes) if isinstance(piece, Template) else 0
            texts.append(_text(piece, given[first : first + count]))
            first += count
        return "".join(texts)

    return Template.of(shown, tuple(hole for piece in templates for hole in piece.holes), make)


def _text(piece: str, given: Sequence[Any]) -> str:
    """The text of a piece whose numbers are `given`."""
    return piece.make(*given) if isinstance(piece, Template) and piece.make is not None else piece


def _mapped(text: Template, change: Callable[[str], str]) -> Template:
    """What a function makes of text."""
    make = text.make
    return Template(text) if make is None else Template.of(text, text.holes, lambda *given: change(make(*given)))


def percent(ev: Evaluator, left: str, values: Sequence[Value]) -> Template:
    """`left % values`, of known text."""
    return _filled(ev, left, values, {}, lambda items, _: left % tuple(items))


def filled(ev: Evaluator, text: str, args: Sequence[Value], kwargs: dict[str, Value]) -> Template:
    """`text.format(...)`, of known text."""
    return _filled(ev, text, args, kwargs, lambda items, named: text.format(*items, **named))


def _filled(
    ev: Evaluator, text: str, args: Sequence[Value], kwargs: dict[str, Value], fill: Callable[..., str]
) -> Template:
    """Text of what is known and of numbers, by position and by name."""
    values = [plain_number(ev.materialise(value)) for value in (*args, *kwargs.values())]
    holes = [value for value in values if isinstance(value, Sym) and isinstance(value.type, Scalar)]
    known = [value.obj for value in values if isinstance(value, Static)]
    if isinstance(text, Template) or len(holes) + len(known) != len(values):
        return Template(text)
    if any(isinstance(obj, Template) or not isinstance(obj, str | int | float) for obj in known):
        return Template(text)
    kinds = [np.dtype(str(hole.type)).type for hole in holes]

    def make(*given: Any) -> str:
        numbers = iter(kind(one) if kind is np.float32 else one for kind, one in zip(kinds, given, strict=True))
        items = [value.obj if isinstance(value, Static) else next(numbers) for value in values]
        return fill(items[: len(args)], dict(zip(kwargs, items[len(args) :], strict=True)))

    return Template.of(text, tuple(holes), make)


def method(
    ev: Evaluator, text: Template, name: str, args: list[Any], kwargs: dict[str, Any], node: Any
) -> Value | None:
    """A method of text with known arguments; None for those that give neither text nor a number."""
    if name in _TEXTS:
        return Static(_mapped(text, lambda made: getattr(made, name)(*args, **kwargs)))
    if name in _COUNTS | _TESTS:
        kind = "i8" if name in _COUNTS else "b1"
        return asked(ev, text, lambda made: getattr(made, name)(*args, **kwargs), kind, node)
    return None


def asked(ev: Evaluator, text: Template, ask: Callable[[str], Any], kind: str, node: Any) -> Sym:
    """The number that a function gives for text; `kind` is its type in Numba's notation."""
    make = text.make
    if make is None:
        message = f"the text {str(text)!r} is what only the run knows"
        ev.fail(UnsupportedSyntax, message, node, hint="make it of numbers alone")
    if ev.deciding and ev.trying:
        try:
            return number(ask(settled(ev, text, node)))
        except ValueError as error:
            raise Raised(ValueError, str(error)) from None

    def of_text(*given: Any) -> Any:
        return ask(make(*given))

    holes = [elementwise.elementwise(ev, "stop_gradient", (hole,), node) for hole in text.holes]
    found = opaque_call(ev, of_text, holes, {}, node, kind)
    assert isinstance(found, Sym)
    return found


def settled(ev: Evaluator, text: Template, node: Any) -> str:
    """The text as the numbers are now, where a tape's block is lowered over the running program."""
    if text.make is None or not ev.deciding:
        message = f"the text {str(text)!r} is what only the run knows"
        ev.fail(UnsupportedSyntax, message, node, hint="use numbers in its place")
    return text.make(*(ev.decided(hole, node).constant for hole in text.holes))


def places(text: Template, keys: Iterable[Any]) -> dict[tuple[int, ...], str]:
    """The whole numbers for which text is one of `keys`, and that one; empty for text of other numbers."""
    make = text.make
    if make is None or not all(hole.type == INT64 for hole in text.holes):
        return {}
    marks = [_MARK + k for k in range(len(text.holes))]
    pattern = re.escape(make(*marks))
    for mark in marks:
        pattern = pattern.replace(str(mark), r"(-?\d+)", 1)
    # of numbers side by side nobody knows where one ends
    if pattern.count(r"(-?\d+)") != len(marks) or r")(" in pattern:
        return {}
    found: dict[tuple[int, ...], str] = {}
    for key in keys:
        match = re.fullmatch(pattern, key) if isinstance(key, str) else None
        numbers = tuple(map(int, match.groups())) if match else ()
        if match and make(*numbers) == key:
            found[numbers] = key
    return found
