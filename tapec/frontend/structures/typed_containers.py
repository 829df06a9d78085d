"""`numba.typed.List` and `numba.typed.Dict` that the code makes: a list and a dict whose items have one type.

The type is given, or is that of the first item; what comes later is converted to it.
"""

from __future__ import annotations

from typing import Any

from numba import typed
from numba.core import types as nt

from tapec.errors import TypeMismatch, UnsupportedFunction
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Growing, Items, Lst, Static, Tup, TypedList, Value, describe
from tapec.frontend.structures import dicts, numba_conversions
from tapec.frontend.structures.lists import element_type

# what a dict may hold: Numba refuses to store what these would lose something of, so that nothing need be converted
_NUMBERS = (nt.float64, nt.complex128, nt.int64, nt.boolean)


def list_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`List()`, `List(items)`."""
    made = TypedList("list")
    ev.heap[made] = Items(())
    for item in ev.known_items(args[0], node) if args else ():
        ev.method(made, "append", [item], {}, node)
    return made


def empty_list(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`List.empty_list(type)`."""
    made = TypedList("list", _type(ev, [*args, *kwargs.values()][0], node))
    ev.heap[made] = Items(())
    return made


def item_of(ev: Evaluator, owner: Lst, item: Value, node: Any) -> Value:
    """What a list holds after an item is stored."""
    if not isinstance(owner, TypedList):
        return item
    kind = owner.item or _first(ev, owner)
    if kind is None:
        return item
    try:
        return numba_conversions.converted(ev, ev.materialise(item), kind, node)
    except numba_conversions.Unconvertible:
        ev.fail(TypeMismatch, f"a typed list of {kind} cannot hold {describe(item)}", node)


def _first(ev: Evaluator, owner: TypedList) -> nt.Type | None:
    """The type of the items that a list has."""
    contents = ev.heap[owner]
    if isinstance(contents, Items):
        return numba_conversions.type_of(ev, contents.values[0]) if contents.values else None
    assert isinstance(contents, Growing)
    return _numba_type(element_type(ev, contents))


def _numba_type(element: Any) -> nt.Type:
    if isinstance(element, Tup):
        return nt.BaseTuple.from_types([_numba_type(one) for one in element.items], element.cls or tuple)
    return numba_types.to_numba(element)


def empty_dict(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`Dict.empty(key_type, value_type)`."""
    *_, value = [*args, *(kwargs[name] for name in ("key_type", "value_type") if name in kwargs)]
    kind = _type(ev, value, node)
    if kind not in _NUMBERS and not isinstance(kind, nt.Array | nt.UnicodeType):
        hint = "use float64 or int64, or a dict of Python's: `{}`"
        ev.fail(UnsupportedFunction, f"a typed dict of {kind}", node, hint=hint)
    return dicts.new_dict(ev, {})


def dict_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`Dict()`, whose types are those of the first item."""
    hint = "say its types: `Dict.empty(types.unicode_type, types.float64)`, or use a dict of Python's: `{}`"
    ev.fail(UnsupportedFunction, "a typed dict whose types are not said", node, hint=hint)


def _type(ev: Evaluator, value: Value, node: Any) -> nt.Type:
    if not isinstance(value, Static) or not isinstance(value.obj, nt.Type):
        ev.fail(TypeMismatch, f"{describe(value)} is not a type of Numba's", node)
    return value.obj


SPECIAL: dict[Any, Any] = {
    typed.List: list_,
    typed.List.empty_list: empty_list,
    typed.Dict: dict_,
    typed.Dict.empty: empty_dict,
}
