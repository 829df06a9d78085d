"""Expressions: names, literals, operators, conditions, containers, attributes."""

from __future__ import annotations

import builtins
import enum
import types
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from tapec.errors import TypeMismatch, UndefinedName, UnsupportedSyntax, UnsupportedType
from tapec.frontend import elementwise, indexing, numba_types
from tapec.frontend.evaluator import DeadCode, Evaluator, Frame, OpenIf
from tapec.frontend.merge import note_roots
from tapec.frontend.values import (
    NONE,
    Func,
    Items,
    Iteration,
    Lazy,
    Lst,
    Maybe,
    Method,
    Poison,
    Slice,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_none,
    is_scalar,
    number,
    static_int,
)
from tapec.rules import function_name
from tapec.syntax.core import Assign, Const, Name, Op
from tapec.syntax.types import BOOL, INT64, Array, Scalar, Text

SIGNS: dict[type, str] = {
    gast.Add: "+",
    gast.Sub: "-",
    gast.Mult: "*",
    gast.Div: "/",
    gast.FloorDiv: "//",
    gast.Mod: "%",
    gast.Pow: "**",
    gast.LShift: "<<",
    gast.RShift: ">>",
    gast.BitAnd: "&",
    gast.BitOr: "|",
    gast.BitXor: "^",
    gast.Lt: "<",
    gast.LtE: "<=",
    gast.Gt: ">",
    gast.GtE: ">=",
    gast.Eq: "==",
    gast.NotEq: "!=",
    gast.USub: "neg",
    gast.UAdd: "pos",
    gast.Invert: "~",
    gast.Not: "not",
}


def constant(ev: Evaluator, node: gast.Constant) -> Value:
    value = node.value
    if isinstance(value, bool | int | float):
        if isinstance(value, int) and abs(value) >= 2**63:
            ev.fail(UnsupportedType, "an integer beyond 64 bits", node)
        return number(value)
    if isinstance(value, complex):
        ev.fail(UnsupportedType, "complex numbers are not supported yet", node)
    return Static(value)


def name(ev: Evaluator, node: gast.Name) -> Value:
    value = lookup(ev, node.id, node)
    if isinstance(value, Maybe):
        unset = ev.op("not", Sym(value.flag, BOOL))
        side: list[Any] = []
        outer, ev.block = ev.block, side
        ev.raise_("UnboundLocalError", f"variable '{node.id}' is used before it is set")
        ev.block = outer
        ev.emit(OpenIf(unset.atom, side, [], ev.span))
        ev.frame.env[node.id] = value.value
        return value.value
    if isinstance(value, Poison):
        ev.fail(TypeMismatch, f"`{node.id}` cannot be used here", node, reason=value.reason)
    return value


def lookup(ev: Evaluator, ident: str, node: Any) -> Value:
    frame: Frame | None = ev.frame
    while frame is not None:
        if ident in frame.env:
            return frame.env[ident]
        if ident in frame.local_names and frame is ev.frame:
            ev.raise_("UnboundLocalError", f"variable '{ident}' is used before it is set")
            raise DeadCode
        if frame.parent is None:
            found = frame.names(ident)
            if found is not None:
                return found
        frame = frame.parent
    if hasattr(builtins, ident):
        return Static(getattr(builtins, ident))
    ev.fail(UndefinedName, f"name `{ident}` is not defined", node)


def wrap(ev: Evaluator, obj: Any, node: Any = None, origin: tuple[Any, ...] | None = None) -> Value:
    """A Python object found in a closure, a module or a container; `origin` tells where."""
    if ev.live is not None and origin is not None:
        reached = ev.live.reach(obj, origin)
        if reached is not None:
            return reached
    if isinstance(obj, bool | int | float) and not isinstance(obj, enum.Enum):
        if isinstance(obj, int) and abs(obj) >= 2**63:
            ev.fail(UnsupportedType, "an integer beyond 64 bits", node)
        return number(obj if type(obj) in (bool, int, float) else float(obj) if isinstance(obj, float) else int(obj))
    if isinstance(obj, np.generic):
        return _numpy_scalar(ev, obj, node)
    if isinstance(obj, np.ndarray):
        return global_array(ev, obj, node)
    if isinstance(obj, tuple):
        cls = type(obj) if hasattr(obj, "_fields") else None
        return Tup(tuple(wrap(ev, item, node, ("item", obj, k)) for k, item in enumerate(obj)), cls)
    if isinstance(obj, complex):
        ev.fail(UnsupportedType, "complex numbers are not supported yet", node)
    return Static(obj)


def _numpy_scalar(ev: Evaluator, obj: Any, node: Any) -> Value:
    dtype = str(obj.dtype)
    if dtype == "bool":
        return number(bool(obj))
    if dtype == "int64":
        return number(int(obj))
    if dtype == "float64":
        return number(float(obj))
    if obj.dtype.kind in "iuf":
        plain = number(float(obj) if obj.dtype.kind == "f" else int(obj))
        return ev.assign(Op(f"cast.{dtype}", (plain.atom,)), Scalar(dtype))
    ev.fail(UnsupportedType, f"a value of dtype {dtype} is not supported", node)


def global_array(ev: Evaluator, obj: Any, node: Any) -> Value:
    """An array of a module or closure: a constant, as in Numba."""
    try:
        type_ = numba_types.from_numba(numba_types.type_of_value(obj))
    except ValueError:
        type_ = None
    if not isinstance(type_, Array):
        ev.fail(UnsupportedType, f"an array of dtype {obj.dtype} is not supported", node)
    for known, array in ev.constants.items():
        if array is obj:
            return Sym(Name(known), ev.types[known])
    base = node.id if isinstance(node, gast.Name) else "table"
    # Numba freezes such arrays: contiguous and read-only
    layout = "F" if type_.layout == "F" else "C"
    ident = ev.define(base, Array(type_.dtype, type_.ndim, layout, readonly=True))
    ev.fixed.add(ident)
    ev.constants[ident] = obj
    ev.roots[ident] = frozenset({ident})
    for axis, extent in enumerate(obj.shape):
        ev.dim_keys[ident, axis] = (("constant", extent), 0)
    return Sym(Name(ident), ev.types[ident])


def truth(ev: Evaluator, value: Value, node: Any = None) -> Sym:
    """Whether a value counts as true: a literal if that is known."""
    match value:
        case Sym(type=Scalar(dtype="bool")):
            return value
        case Sym(type=Scalar()):
            return ev.op("!=", value, number(0))
        case Sym(type=Array(ndim=0)):
            return truth(ev, ev.scalar(value), node)
        case Tup(items=items):
            return number(bool(items))
        case Static(obj=obj):
            return number(bool(obj))
        case Lst():
            return ev.op("!=", ev.length(value, node), number(0))
        case Func():
            return number(True)
    ev.fail(TypeMismatch, f"the truth of {describe(value)} is ambiguous", node)


def binop(ev: Evaluator, node: gast.BinOp) -> Value:
    left = before_calls(ev, ev.expr(node.left), node.right)
    right = ev.expr(node.right)
    return binary(ev, SIGNS.get(type(node.op), "@"), left, right, node)


def before_calls(ev: Evaluator, value: Value, following: Any) -> Value:
    """Write a lazy operand to memory if a call that follows might change what it reads."""
    if isinstance(value, Lazy) and any(
        isinstance(n, gast.Call) and not _is_pure(ev, n.func) for n in gast.walk(following)
    ):
        return ev.materialise(value)
    return value


def _is_pure(ev: Evaluator, func: Any) -> bool:
    """Whether a called name is that of a NumPy or math function, which writes nothing."""
    if ev.frame.library:
        return True
    path: list[str] = []
    while isinstance(func, gast.Attribute):
        path.insert(0, func.attr)
        func = func.value
    if not isinstance(func, gast.Name) or func.id in ev.frame.env:
        return False
    found = ev.frame.names(func.id)
    obj = found.obj if isinstance(found, Static) else getattr(builtins, func.id, None)
    for part in path:
        obj = getattr(obj, part, None)
    return function_name(obj) is not None


def binary(ev: Evaluator, fn: str, left: Value, right: Value, node: Any = None) -> Value:
    if isinstance(left, Tup) and isinstance(right, Tup) and fn == "+":
        return Tup(left.items + right.items)
    repeated, count = (left, right) if isinstance(left, Tup | Lst) else (right, left)
    if fn == "*" and isinstance(repeated, Tup) and not is_array(count):
        times = static_int(count)
        if times is None:
            ev.fail(TypeMismatch, "a tuple can be repeated a constant number of times only", node)
        return Tup(repeated.items * times)
    if isinstance(left, Lst) or isinstance(right, Lst):
        return ev.list_arithmetic(fn, left, right, node)
    if isinstance(left, Static) and isinstance(right, Static) and isinstance(left.obj, str):
        try:
            return Static(numba_types.OPERATORS[fn](left.obj, right.obj))
        except (TypeError, KeyError):
            ev.fail(TypeMismatch, f"`{fn}` of {describe(left)} and {describe(right)}", node)
    if fn == "@":
        return ev.matmul(left, right, node)
    if isinstance(left, Static) or isinstance(right, Static):
        if isinstance(left, Static) and isinstance(left.obj, str):
            return Static(f"{left.obj}{{}}")
        ev.fail(TypeMismatch, f"`{fn}` of {describe(left)} and {describe(right)}", node)
    return elementwise.elementwise(ev, fn, (left, right), node)


def unaryop(ev: Evaluator, node: gast.UnaryOp) -> Value:
    value = ev.expr(node.operand)
    fn = SIGNS[type(node.op)]
    if fn == "not":
        return ev.op("not", truth(ev, value, node))
    if fn == "pos" and is_scalar(value):
        return value
    return elementwise.elementwise(ev, fn, (value,), node)


def compare(ev: Evaluator, node: gast.Compare) -> Value:
    left = ev.expr(node.left)

    def rest(left: Value, position: int) -> Value:
        op = node.ops[position]
        right = ev.expr(node.comparators[position])
        first = comparison(ev, op, left, right, node)
        if position + 1 == len(node.ops):
            return first
        return junction(ev, True, first, lambda: rest(right, position + 1), node)

    return rest(left, 0)


def comparison(ev: Evaluator, op: Any, left: Value, right: Value, node: Any) -> Value:
    if isinstance(op, gast.Is | gast.IsNot):
        same = _identical(ev, left, right, node)
        return number(same if isinstance(op, gast.Is) else not same)
    if isinstance(op, gast.In | gast.NotIn):
        found = _contains(ev, right, left, node)
        return found if isinstance(op, gast.In) else ev.op("not", found)
    fn = SIGNS[type(op)]
    if _is_text(left) and _is_text(right) and fn in ("==", "!=") and not (
        isinstance(left, Static) and isinstance(right, Static)
    ):
        atoms = [side.atom if isinstance(side, Sym) else Const(side.obj) for side in (left, right)]  # type: ignore[attr-defined]
        return ev.assign(Op(fn, tuple(atoms)), BOOL)
    if isinstance(left, Static | Func) or isinstance(right, Static | Func):
        if fn not in ("==", "!="):
            ev.fail(TypeMismatch, f"`{fn}` of {describe(left)} and {describe(right)}", node)
        equal = isinstance(left, Static) and isinstance(right, Static) and bool(left.obj == right.obj)
        return number(equal if fn == "==" else not equal)
    if isinstance(left, Tup) and isinstance(right, Tup) and fn in ("==", "!="):
        return _tuples_equal(ev, fn, left, right, node)
    return elementwise.elementwise(ev, fn, (left, right), node)


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


def _identical(ev: Evaluator, left: Value, right: Value, node: Any) -> bool:
    """`is`: known for None and other known objects."""
    if is_none(left) or is_none(right):
        return is_none(left) and is_none(right)
    if isinstance(left, Static) and isinstance(right, Static):
        return left.obj is right.obj
    for one, other in ((left, right), (right, left)):
        if is_scalar(one) and isinstance(one, Sym) and isinstance(one.constant, bool) and is_scalar(other):
            assert isinstance(other, Sym)
            if isinstance(other.constant, bool):
                return one.constant is other.constant
            if other.type != BOOL:
                return False
    ev.fail(UnsupportedSyntax, "`is` between values that only the run knows", node, hint="compare with `==`")


def _contains(ev: Evaluator, container: Value, item: Value, node: Any) -> Sym:
    if isinstance(container, Static) and isinstance(item, Static):
        return number(item.obj in container.obj)
    items = container.items if isinstance(container, Tup) else None
    if isinstance(container, Lst) and isinstance(contents := ev.heap[container], Items):
        items = contents.values
    if items is None:
        ev.fail(UnsupportedSyntax, f"`in` {describe(container)}", node)
    found = number(False)
    for one in items:
        found = ev.op("or", found, truth(ev, comparison(ev, gast.Eq(), one, item, node)))
    return found


def boolop(ev: Evaluator, node: gast.BoolOp) -> Value:
    conjunction = isinstance(node.op, gast.And)

    def chain(position: int) -> Value:
        value = ev.expr(node.values[position])
        if position + 1 == len(node.values):
            return value
        return junction(ev, conjunction, value, lambda: chain(position + 1), node)

    return chain(0)


# safe to evaluate early: no error, no memory access, next to no cost
_HARMLESS = frozenset({"<", "<=", ">", ">=", "==", "!=", "and", "or", "not", "+", "-", "neg", "dim"})


def junction(ev: Evaluator, conjunction: bool, left: Value, right: Callable[[], Value], node: Any) -> Value:
    """`left and right` or `left or right`; the right side is evaluated only where Python would."""
    test = truth(ev, left, node)
    if isinstance(test.atom, Const):
        return right() if bool(test.atom.value) == conjunction else left
    outer, entry = ev.block, ev.snapshot()
    block: list[Any] = []
    ev.block = block
    value = right()
    simple = ev.block is block and all(
        isinstance(s, Assign) and (not isinstance(s.value, Op) or s.value.fn in _HARMLESS) for s in block
    )
    if simple and isinstance(value, Sym) and value.type == BOOL and test is left:
        outer.extend(block)
        ev.block = outer
        return ev.op("and" if conjunction else "or", test, value)
    ev.block = outer
    ev.restore(entry)
    if conjunction:
        return select(ev, test, right, lambda: left, node)
    return select(ev, test, lambda: left, right, node)


def ifexp(ev: Evaluator, node: gast.IfExp) -> Value:
    test = truth(ev, ev.expr(node.test), node.test)
    if isinstance(test.atom, Const):
        return ev.expr(node.body if test.atom.value else node.orelse)
    return select(ev, test, lambda: ev.expr(node.body), lambda: ev.expr(node.orelse), node)


def select(
    ev: Evaluator, test: Sym, body: Callable[[], Value], orelse: Callable[[], Value], node: Any
) -> Value:
    """One of two values, each computed only if it is chosen."""
    slot = ev.fresh("$value")
    key = f"$select_{slot}"

    def side(make: Callable[[], Value]) -> Callable[[], None]:
        def run() -> None:
            try:
                ev.frame.env[key] = ev.materialise(make())
            except DeadCode:
                ev.dead = True

        return run

    ev.branch(test, side(body), side(orelse), None)
    if ev.dead:
        raise DeadCode
    value = ev.frame.env.pop(key)
    if isinstance(value, Poison | Maybe):
        ev.fail(TypeMismatch, "the two values of this expression have different types", node)
    return value


def namedexpr(ev: Evaluator, node: gast.NamedExpr) -> Value:
    value = ev.named(ev.materialise(ev.expr(node.value)), node.target.id)
    ev.frame.env[node.target.id] = value
    return value


def tuple_(ev: Evaluator, node: gast.Tuple) -> Value:
    return Tup(tuple(_starred(ev, node.elts)))


def list_(ev: Evaluator, node: gast.List) -> Value:
    return ev.new_list(Items(tuple(_starred(ev, node.elts))))


def _starred(ev: Evaluator, elts: list[Any]) -> list[Value]:
    out: list[Value] = []
    for elt in elts:
        if isinstance(elt, gast.Starred):
            value = ev.expr(elt.value)
            if not isinstance(value, Tup):
                ev.fail(UnsupportedSyntax, "only a tuple can be unpacked here", elt)
            out += value.items
        else:
            out.append(ev.materialise(ev.expr(elt)))
    return out


def subscript(ev: Evaluator, node: gast.Subscript) -> Value:
    owner = ev.expr(node.value)
    return indexing.load(ev, owner, index(ev, node.slice), node)


def index(ev: Evaluator, node: Any) -> Value:
    if isinstance(node, gast.Slice):
        return slice_(ev, node)
    if isinstance(node, gast.Tuple):
        return Tup(tuple(index(ev, elt) for elt in node.elts))
    return ev.expr(node)


def slice_(ev: Evaluator, node: gast.Slice) -> Slice:
    parts: list[Sym | None] = []
    for part in (node.lower, node.upper, node.step):
        value = NONE if part is None else ev.expr(part)
        parts.append(None if is_none(value) else ev.scalar(value, part))
    return Slice(*parts)


def lambda_(ev: Evaluator, node: gast.Lambda) -> Value:
    return closure(ev, node)


def closure(ev: Evaluator, node: Any) -> Func:
    defaults = tuple(ev.expr(d) for d in node.args.defaults)
    kw_defaults = tuple(None if d is None else ev.expr(d) for d in node.args.kw_defaults)
    return Func(node, ev.frame, defaults, kw_defaults)


def joined_string(ev: Evaluator, node: Any) -> Value:
    """A message: the text that is known, with what the run would fill in as it was written."""
    parts: list[str] = []
    for part in node.values:
        if isinstance(part, gast.Constant):
            parts.append(str(part.value))
            continue
        span = ev.where(part.value)
        inside = getattr(part.value, "id", None) or (span.text[span.column : span.end_column] if span else "...")
        parts.append("{" + inside + "}")
    return Static("".join(parts))


def attribute(ev: Evaluator, node: gast.Attribute) -> Value:
    return get_attribute(ev, ev.expr(node.value), node.attr, node)


def get_attribute(ev: Evaluator, owner: Value, attr: str, node: Any) -> Value:
    if isinstance(owner, Static):
        return _static_attribute(ev, owner.obj, attr, node)
    if isinstance(owner, Tup):
        fields = getattr(owner.cls, "_fields", ())
        if attr in fields:
            return owner.items[fields.index(attr)]
        return Method(owner, attr)
    if isinstance(owner, Lazy) and attr in ("ndim", "dtype"):
        return number(owner.type.ndim) if attr == "ndim" else Static(np.dtype(owner.type.dtype))
    if isinstance(owner, Lazy) and attr in ("shape", "size"):
        extents = ev.broadcast_of(owner).extents
        return Tup(extents) if attr == "shape" else _product(ev, extents)
    if isinstance(owner, Lazy):
        if attr in ev.lazy_methods:
            return Method(owner, attr)
        owner = ev.materialise(owner)
    if isinstance(owner, Sym) and isinstance(owner.type, Array):
        return _array_attribute(ev, owner, attr, node)
    if isinstance(owner, Sym):
        if attr in ("real", "T"):
            return owner
        if attr == "imag":
            return ev.cast(number(0.0), owner.type) if isinstance(owner.type, Scalar) else owner
        if attr == "dtype" and isinstance(owner.type, Scalar):
            return Static(np.dtype(owner.type.dtype))
        if attr in ("ndim", "size"):
            return number(0 if attr == "ndim" else 1)
        if attr == "shape":
            return Tup(())
    return Method(owner, attr)


def _static_attribute(ev: Evaluator, obj: Any, attr: str, node: Any) -> Value:
    if ev.live is not None:
        own = ev.live.attribute(obj, attr, node)
        if own is not None:
            return own
    try:
        found = getattr(obj, attr)
    except AttributeError:
        ev.fail(UndefinedName, f"{describe(Static(obj))} has no attribute `{attr}`", node)
    if isinstance(obj, types.ModuleType | type):
        ev.reads[obj, attr] = found
    return wrap(ev, found, node, ("attribute", obj, attr))


def _product(ev: Evaluator, extents: tuple[Sym, ...]) -> Sym:
    result = number(1)
    for extent in extents:
        result = extent if result.constant == 1 else ev.op("*", result, extent)
    return result


def _array_attribute(ev: Evaluator, owner: Sym, attr: str, node: Any) -> Value:
    type_ = owner.type
    assert isinstance(type_, Array) and isinstance(owner.atom, Name)
    match attr:
        case "shape":
            return Tup(tuple(elementwise.dim(ev, owner, axis) for axis in range(type_.ndim)))
        case "ndim":
            return number(type_.ndim)
        case "size":
            return _product(ev, tuple(elementwise.dim(ev, owner, axis) for axis in range(type_.ndim)))
        case "dtype":
            return Static(np.dtype(type_.dtype))
        case "T":
            return transpose(ev, owner)
        case "real":
            return owner
        case "flat":
            return Iteration("flat", (owner,))
        case "flags":
            flags = types.SimpleNamespace(
                c_contiguous=type_.layout == "C", f_contiguous=type_.layout == "F", contiguous=type_.layout in "CF"
            )
            return Static(flags)
        case "itemsize":
            return number(np.dtype(type_.dtype).itemsize)
        case "nbytes":
            size = _array_attribute(ev, owner, "size", node)
            return ev.op("*", size, number(np.dtype(type_.dtype).itemsize))
        case "strides":
            strides = [ev.assign(Op("stride", (owner.atom, Const(k))), INT64) for k in range(type_.ndim)]
            return Tup(tuple(strides))
    return Method(owner, attr)


def transpose(ev: Evaluator, owner: Sym) -> Sym:
    """The reversed axes, as a view."""
    type_ = owner.type
    assert isinstance(type_, Array) and isinstance(owner.atom, Name)
    if type_.ndim < 2:
        return owner
    layout = {"C": "F", "F": "C"}.get(type_.layout, "A")
    result = ev.assign(Op("transpose", (owner.atom,)), Array(type_.dtype, type_.ndim, layout, type_.readonly))
    assert isinstance(result.atom, Name)
    note_roots(ev, result.atom.id, owner)
    for axis in range(type_.ndim):
        ev.dims[result.atom.id, axis] = elementwise.dim(ev, owner, type_.ndim - 1 - axis).atom
        ev.dim_keys[result.atom.id, axis] = elementwise.dim_key(ev, owner, type_.ndim - 1 - axis)
    return result


HANDLERS: dict[type, Any] = {
    gast.Constant: constant,
    gast.Name: name,
    gast.BinOp: binop,
    gast.UnaryOp: unaryop,
    gast.Compare: compare,
    gast.BoolOp: boolop,
    gast.IfExp: ifexp,
    gast.NamedExpr: namedexpr,
    gast.Tuple: tuple_,
    gast.List: list_,
    gast.Subscript: subscript,
    gast.Attribute: attribute,
    gast.Lambda: lambda_,
    gast.JoinedStr: joined_string,
}
