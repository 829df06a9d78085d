"""Named tuples with methods, properties and attributes of their class.

To core a named tuple is a tuple whose items have names.  So what its class makes of operators, subscripts or the
constructor is refused, whatever is done with it: nobody would be asked.
"""

from __future__ import annotations

import collections
import functools
from typing import Any

from tapec.errors import TypeMismatch, UndefinedName, UnsupportedType
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Method, Tup, Value, describe
from tapec.frontend.structures import argument_objects
from tapec.frontend.structures.derived_classes import OPERATORS

# what `namedtuple` defines, on this Python
_GENERATED = frozenset(vars(collections.namedtuple("Example", "field")))
# methods of tuples and named tuples, and of the dicts that an argument holds
_OF_TUPLES = frozenset({*dir(tuple), "_replace", "_asdict", *dir(dict)})
# of named tuples also what makes them, and attributes that are none of their fields
_SPECIAL = tuple(sorted({*OPERATORS, "__init__", "__getattr__"} - {"__missing__"}))
_ABSENT = object()


def attribute(ev: Evaluator, owner: Tup, attr: str, node: Any) -> Value:
    """`owner.attr`: what the class of a named tuple defines itself, a field, or a method that all tuples have."""
    cls: Any = owner.cls
    if cls is not None:
        found = _defined(cls, attr)
        if found is not _ABSENT:
            return argument_objects.of_class(ev, owner, cls, found, attr, node)
        if attr == "_fields":
            return ev.wrap(cls._fields, node)
        if attr in cls._fields:
            return owner.items[cls._fields.index(attr)]
    if attr not in _OF_TUPLES:
        ev.fail(UndefinedName, f"{describe(owner)} has no attribute `{attr}`", node)
    return Method(owner, attr)


def check(ev: Evaluator, cls: Any, node: Any, made: bool = False) -> None:
    """Refuse a class of named tuples that do not behave, or where they are `made`, are not made as tuples are."""
    special = "__new__" if made and _defined(cls, "__new__") is not _ABSENT else _special(cls)
    if special is not None:
        ev.fail(
            UnsupportedType,
            f"the named tuple `{cls.__name__}` defines `{special}`",
            node,
            reason="named tuples are compiled as tuples, for which it has a meaning of its own",
            hint="give the method another name, and call it by that",
        )


def is_called(value: Tup) -> bool:
    """Whether the class of a named tuple has calls of its objects."""
    return value.cls is not None and _defined(value.cls, "__call__") is not _ABSENT


def made(ev: Evaluator, cls: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`cls(*args, **kwargs)`."""
    check(ev, cls, node, made=True)
    defaults = {name: ev.wrap(value, node) for name, value in cls._field_defaults.items()}
    given = dict(zip(cls._fields, args, strict=False)) | kwargs
    try:
        items = tuple(given.get(name, defaults.get(name)) for name in cls._fields)
    except KeyError:
        items = (None,)
    if any(item is None for item in items) or len(given) > len(cls._fields):
        ev.fail(TypeMismatch, f"wrong arguments for `{cls.__name__}`", node)
    return Tup(items, cls)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=512)
def _special(cls: Any) -> str | None:
    return next((name for name in _SPECIAL if _defined(cls, name) is not _ABSENT), None)


def _defined(cls: Any, attr: str) -> Any:
    """What a class, or one between it and `tuple`, defines under a name, other than its fields and what all have."""
    for one in cls.__mro__[: cls.__mro__.index(tuple)]:
        own = vars(one)
        # of all these classes, the one with fields of its own was made by `namedtuple`
        if attr in own and not ("_fields" in own and (attr in _GENERATED or attr in cls._fields)):
            return own[attr]
    return _ABSENT
