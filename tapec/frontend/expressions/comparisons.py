"""Comparisons: by value, by identity, and whether a container has an element."""

from __future__ import annotations

import enum
import operator
import types
from typing import Any

import gast
import numpy as np

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Caught,
    Complex,
    Dct,
    Func,
    Growing,
    Instance,
    Iteration,
    Lazy,
    Lst,
    MaybeNone,
    Method,
    Partial,
    Record,
    Slice,
    Static,
    Sym,
    Template,
    Tup,
    Unseen,
    Value,
    describe,
    is_array,
    is_complex,
    is_none,
    is_scalar,
    known_text,
    mapping,
    number,
    plain_number,
    range_bounds,
    with_keys,
)
from tapec.frontend.expressions.object_equality import compares_itself, objects_compared
from tapec.frontend.expressions.operators import SIGNS, before_calls
from tapec.frontend.operations import elementwise, runtime_text
from tapec.frontend.operations.conditions import junction, truth
from tapec.frontend.structures import dicts
from tapec.frontend.structures.constant_containers import spelled
from tapec.frontend.structures.isinstance_tests import may_be_same
from tapec.rules import internal
from tapec.syntax.core import Const, Op
from tapec.syntax.types import BOOL, Text

_COMPARED: dict[type, Any] = {
    gast.Eq: operator.eq,
    gast.NotEq: operator.ne,
    gast.Lt: operator.lt,
    gast.LtE: operator.le,
    gast.Gt: operator.gt,
    gast.GtE: operator.ge,
    gast.In: lambda item, container: item in container,
    gast.NotIn: lambda item, container: item not in container,
}


def compare(ev: Evaluator, node: gast.Compare) -> Value:
    left = ev.expr(node.left)

    def rest(left: Value, position: int) -> Value:
        op = node.ops[position]
        left = before_calls(ev, left, node.comparators[position])
        right = ev.expr(node.comparators[position])
        first = comparison(ev, op, left, right, node)
        if position + 1 == len(node.ops):
            return first
        return junction(ev, True, first, lambda: rest(right, position + 1), node)

    return rest(left, 0)


def compare_values(ev: Evaluator, fn: str, left: Value, right: Value, node: Any) -> Value:
    """`left fn right`, for an operator's sign."""
    op = next(cls for cls, sign in SIGNS.items() if sign == fn)
    return comparison(ev, op(), left, right, node)


def comparison(ev: Evaluator, op: Any, left: Value, right: Value, node: Any) -> Value:
    for side in (left, right):
        # what only the run knows may be None, or equal to anything
        if isinstance(side, Unseen) and not isinstance(side, Caught):
            return side
    if may_be_same(left, right):
        ev.fail(TypeMismatch, "whether a number is Python's or NumPy's is not known here", node, hint="use isinstance")
    unknown = any(isinstance(side, Static) and isinstance(side.obj, Template) for side in (left, right))
    # no text is None, whatever it says
    if unknown and not (isinstance(op, gast.Is | gast.IsNot) and (is_none(left) or is_none(right))):
        return _texts_compared(ev, op, left, right, node)
    if isinstance(op, gast.Is | gast.IsNot) and isinstance(left, MaybeNone) and is_none(right):
        there = ev.decided(Sym(left.present, BOOL), node)
        return there if isinstance(op, gast.IsNot) else ev.op("not", there)
    if isinstance(op, gast.Is | gast.IsNot):
        same = _identical(ev, left, right, node)
        return number(same if isinstance(op, gast.Is) else not same)
    if isinstance(op, gast.In | gast.NotIn):
        found = _contains(ev, right, left, node)
        return found if isinstance(op, gast.In) else ev.op("not", found)
    fn = SIGNS[type(op)]
    left, right = plain_number(left), plain_number(right)
    if isinstance(left, Instance | Static) or isinstance(right, Instance | Static):
        own = ev.operator(fn, [left, right], node)
        if own is not None:
            return own
    if _is_text(left) and _is_text(right) and fn in ("==", "!=") and not (
        isinstance(left, Static) and isinstance(right, Static)
    ):
        atoms = [side.atom if isinstance(side, Sym) else Const(side.obj) for side in (left, right)]  # type: ignore[attr-defined]
        return ev.assign(Op(fn, tuple(atoms)), BOOL)
    if isinstance(left, Static | Func) or isinstance(right, Static | Func):
        if fn not in ("==", "!="):
            ev.fail(TypeMismatch, f"cannot compute `{fn}` of {describe(left)} and {describe(right)}", node)
        if (own := objects_compared(ev, fn, left, right, node)) is not None:
            return own
        for side, other in ((left, right), (right, left)):
            # an object of a class may say that it equals a number; these do not
            if isinstance(side, Static) and not isinstance(other, Static) and (
                not isinstance(side.obj, _UNEQUAL) or not _is_plain(other)
            ):
                ev.fail(TypeMismatch, f"cannot compute `{fn}` of {describe(left)} and {describe(right)}", node)
        equal = isinstance(left, Static) and isinstance(right, Static) and bool(left.obj == right.obj)
        if ev.live is not None and isinstance(left, Static) and isinstance(right, Static):
            ev.live.same(left, right)
        return number(equal if fn == "==" else not equal)
    if isinstance(left, Tup) and isinstance(right, Tup) and fn in ("==", "!="):
        return _tuples_equal(ev, fn, left, right, node)
    if isinstance(left, Tup) and isinstance(right, Tup) and fn in ("<", "<=", ">", ">=") and _alike(left, right):
        return _tuples_in_order(ev, fn, left.items, right.items, node)
    if isinstance(left, Tup | Lst | Dct) and isinstance(right, Tup | Lst | Dct) and fn in ("==", "!="):
        return _containers_equal(ev, fn, left, right, node)
    return elementwise.elementwise(ev, fn, (left, right), node)


_UNEQUAL = (type(None), str, bytes, type, enum.Enum, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)


_PLAIN = (Sym, Complex, Lazy, MaybeNone, Tup, Lst, Dct, Instance, Func, Partial, Slice, Iteration)


def _is_plain(value: Value) -> bool:
    """Whether a value says of itself that it equals no text, class or function: a class may define `__eq__`."""
    if isinstance(value, Record):
        own = getattr(value.cls, "__eq__", None)
        # that of a dataclass knows objects of its own class only
        return own is object.__eq__ or (isinstance(own, types.FunctionType) and own.__code__.co_filename == "<string>")
    return isinstance(value, _PLAIN)


def _is_text(value: Value) -> bool:
    if isinstance(value, Static):
        return isinstance(value.obj, str)
    return isinstance(value, Sym) and isinstance(value.type, Text)


def _tuples_equal(ev: Evaluator, fn: str, left: Tup, right: Tup, node: Any) -> Value:
    result: Value = number(len(left.items) == len(right.items))
    if truth(ev, result).constant:
        for a, b in zip(left.items, right.items, strict=True):
            result = ev.op("and", result, truth(ev, comparison(ev, gast.Eq(), a, b, node)))
    return result if fn == "==" else ev.op("not", result)


def _alike(left: Tup, right: Tup) -> bool:
    """Whether two tuples have an order: a dict has none, nor has a list that is an argument beside a tuple."""
    return left.is_argument == right.is_argument and mapping(left) is None and mapping(right) is None


def _tuples_in_order(
    ev: Evaluator, fn: str, left: tuple[Value, ...], right: tuple[Value, ...], node: Any
) -> Sym:
    """`left < right` of tuples of numbers: that of the first items that differ, or of the lengths."""
    if not left or not right:
        return ev.op(fn, number(len(left)), number(len(right)))
    first, second = left[0], right[0]
    if not (is_scalar(first) and is_scalar(second)):
        hint = "compare their items one by one"
        ev.fail(TypeMismatch, f"cannot compute `{fn}` of tuples with {describe(first)}", node, hint=hint)
    same = ev.op("==", first, second)
    rest = _tuples_in_order(ev, fn, left[1:], right[1:], node)
    return ev.op("or", ev.op("and", ev.op("not", same), ev.op(fn, first, second)), ev.op("and", same, rest))


def _containers_equal(ev: Evaluator, fn: str, left: Value, right: Value, node: Any) -> Value:
    """Lists, dicts and tuples: those of different kinds are not equal, whatever is in them."""
    if {type(left), type(right)} == {Lst}:
        first, second = spelled(ev, left), spelled(ev, right)
        if first is not None and second is not None:
            return _tuples_equal(ev, fn, Tup(first), Tup(second), node)
    elif type(left) is Dct and type(right) is Dct and left.cls is right.cls is dict:
        keys, others = (dicts.keys_of(ev, one, node) for one in (left, right))
        if set(keys) != set(others):
            return number(fn == "!=")
        mine, theirs = (Tup(tuple(dicts.get(ev, one, key, node) for key in keys)) for one in (left, right))
        return _tuples_equal(ev, fn, mine, theirs, node)
    elif _kind(left) is not _kind(right) and None not in (_kind(left), _kind(right)):
        return number(fn == "!=")
    ev.fail(TypeMismatch, f"cannot compute `{fn}` of {describe(left)} and {describe(right)}", node)


def _kind(container: Value) -> type | None:
    """What a container is to Python; None for one of a class of its own."""
    if isinstance(container, Tup):
        # what an argument holds may be a list or a dict
        if container.is_argument or mapping(container) is not None:
            return None
        own: Any = tuple if container.cls is None else container.cls
        return tuple if own.__eq__ is tuple.__eq__ else None
    if type(container) is Lst:
        return list
    return dict if type(container) is Dct and container.cls is dict else None


def _identical(ev: Evaluator, left: Value, right: Value, node: Any) -> bool:
    """`is`: known for None and other known objects."""
    for side in (left, right):
        # Python makes such an object whenever it is asked for, or finds something else under that name
        if isinstance(side, Method):
            ev.fail(TypeMismatch, f"cannot tell what {describe(side)} is", node)
    if is_none(left) or is_none(right):
        return is_none(left) and is_none(right)
    if isinstance(left, Static) and isinstance(right, Static):
        known = ev.live.same(left, right) if ev.live is not None else None
        return left.obj is right.obj if known is None else known
    objects = (Static, Lst, Dct, Instance, Func)
    if isinstance(left, objects) and isinstance(right, objects):
        return left is right
    if ev.live is not None and (same := ev.live.same(left, right)) is not None:
        return same
    for one, other in ((left, right), (right, left)):
        if is_scalar(one) and isinstance(one, Sym) and isinstance(one.constant, bool) and is_scalar(other):
            assert isinstance(other, Sym)
            if isinstance(other.constant, bool):
                return one.constant is other.constant
            if other.type != BOOL:
                return False
    ev.fail(UnsupportedSyntax, "`is` between values that only the run knows", node, hint="compare with `==`")


# what the objects of a running program are held to, element by element
_CONTAINERS = (str, bytes, tuple, set, frozenset, dict, range, types.MappingProxyType)


def _texts_compared(ev: Evaluator, op: Any, left: Value, right: Value, node: Any) -> Sym:
    """A comparison of texts, of which only the run knows one at least."""
    compared = _COMPARED.get(type(op))
    one, other = (side.obj if isinstance(side, Static) else None for side in (left, right))
    if isinstance(right, Tup) and isinstance(op, gast.In | gast.NotIn):
        other = tuple(map(known_text, right.items))
    known = isinstance(other, str) or (isinstance(other, tuple) and None not in other)
    if compared is None or not isinstance(one, str) or not known:
        ev.fail(UnsupportedSyntax, "cannot compare text that only the run knows", node, hint="compare with text")
    if not isinstance(other, Template):
        assert isinstance(one, Template)
        return runtime_text.asked(ev, one, lambda text: compared(text, other), "b1", node)
    if not isinstance(one, Template):
        return runtime_text.asked(ev, other, lambda text: compared(one, text), "b1", node)
    count = len(one.holes)
    first, second = one.make, other.make
    if first is None or second is None:
        return runtime_text.asked(ev, one if first is None else other, bool, "b1", node)
    both = Template.of(one, (*one.holes, *other.holes), lambda *given: (first(*given[:count]), second(*given[count:])))
    return runtime_text.asked(ev, both, lambda pair: compared(*pair), "b1", node)


def _contains(ev: Evaluator, container: Value, item: Value, node: Any) -> Sym:
    own = ev.operator("__contains__", [container, item], node)
    if own is not None:
        return truth(ev, own, node)
    if isinstance(container, Static) and isinstance(container.obj, tuple) and any(map(compares_itself, container.obj)):
        container = Tup(tuple(ev.wrap(one, node, ("item", container.obj, k)) for k, one in enumerate(container.obj)))
    if isinstance(container, Static) and isinstance(item, Static) and isinstance(container.obj, _CONTAINERS):
        if ev.live is not None:
            ev.live.asked(item.obj)
        return number(item.obj in container.obj)
    if isinstance(container, Static) and isinstance(container.obj, set | frozenset) and all(
        type(one) in (bool, int, float) for one in container.obj
    ):
        container = Tup(tuple(map(number, container.obj)))
    if isinstance(container, Dct):
        return number(dicts.key_of(ev, item, node) in dicts.keys_of(ev, container, node))
    if isinstance(container, Iteration) and container.kind.startswith("dict."):
        container = Tup(ev.known_items(container, node))
    if (bounds := range_bounds(container)) is not None and is_scalar(item):
        held: Sym = ev.inline_library(internal.range_holds, [*bounds, item], {}, node)
        return held
    container = with_keys(container)
    items = container.items if isinstance(container, Tup) else None
    if isinstance(container, Lst):
        items = spelled(ev, container)
    elements = _elements(ev, container, node) if is_scalar(item) or is_complex(item) else None
    if items is None and elements is not None:
        same = comparison(ev, gast.Eq(), elements, item, node)
        return truth(ev, ev.call_object(np.any, [same], {}, node), node)
    if items is None:
        message = f"cannot test what is `in` {describe(container)}"
        ev.fail(UnsupportedSyntax, message, node, hint="write a loop over its elements")
    found = number(False)
    for one in items:
        # a tape notes what it was that was compared
        if ev.live is None and isinstance(one, Static) and isinstance(item, Static) and one.obj is item.obj:
            return number(True)
        found = ev.op("or", found, truth(ev, comparison(ev, gast.Eq(), one, item, node)))
    return found


def _elements(ev: Evaluator, container: Value, node: Any) -> Value | None:
    """An array, or that of the numbers that a list holds; None of others."""
    if isinstance(container, Lst):
        contents = ev.heap[container]
        numbers = isinstance(contents, Growing) and not isinstance(contents.buffer, Tup)
        return ev.as_array(container, node) if numbers else None
    return container if is_array(container) else None


HANDLERS: dict[type, Any] = {gast.Compare: compare}
