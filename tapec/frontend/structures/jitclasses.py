"""Jitclasses: a plain class with the methods and properties of one, which objects of it are read by."""

from __future__ import annotations

import functools
from typing import Any

_MODULE = "numba.experimental.jitclass."


def is_object(value: Any) -> bool:
    """Whether a value is an object of a jitclass."""
    return type(value).__module__.startswith(_MODULE) and hasattr(type(value), "_numba_type_")


def attributes(value: Any) -> dict[str, Any]:
    """What an object of a jitclass holds."""
    return {name: getattr(value, name) for name in value._numba_type_.struct}


def class_of(value: Any) -> Any:
    """The plain class for an object of a jitclass."""
    return _plain_class(value._numba_type_.class_type)


def is_class(value: Any) -> bool:
    """Whether a value is a jitclass."""
    return isinstance(value, type) and type(value).__module__.startswith(_MODULE)


def plain_class(cls: Any) -> Any:
    """The plain class for a jitclass."""
    return _plain_class(cls.class_type)


def fields_of(cls: Any) -> dict[str, Any] | None:
    """Numba's types of what objects hold, of the plain class for a jitclass; None of other classes."""
    fields: dict[str, Any] | None = vars(cls).get("jitclass_fields")
    return fields


def class_asked_for(cls: Any) -> Any:
    """The class that `isinstance` means: of a jitclass the plain one."""
    return _plain_class(cls.class_type) if type(cls).__module__.startswith(_MODULE) else cls


@functools.lru_cache(maxsize=256)
def _plain_class(kind: Any) -> Any:
    found: dict[str, Any] = {name: getattr(one, "py_func", one) for name, one in kind.methods.items()}
    found |= {name: staticmethod(getattr(one, "py_func", one)) for name, one in kind.static_methods.items()}
    for name, parts in kind.jit_props.items():
        setter = parts.get("set")
        found[name] = property(parts["get"].py_func, None if setter is None else setter.py_func)
    found["jitclass_fields"] = dict(kind.struct)
    return type(kind.class_name, (), found)
