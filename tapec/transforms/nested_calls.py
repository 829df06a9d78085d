"""Derivatives of every kind inside lowered code: what makes them, and what calls them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import NONE, Lst, Static, Sym, Tup, Value, number, plain_number, static_int
from tapec.frontend.structures.captured_values import Held
from tapec.options import WITH_AUX, Keywords, no_option
from tapec.transforms.jacobian import directed
from tapec.transforms.nested import (
    InnerCall,
    call_derivative,
    check_number,
    differentiated,
    parameter_names,
    splice,
    with_tangents,
)
from tapec.transforms.nested_products import lower_jvp, pair, seeds_of, writes_into_parameters
from tapec.transforms.reverse import reverse
from tapec.transforms.seed_shapes import with_checked_seeds


@dataclass(frozen=True)
class Derived(Held):
    """A derivative of a function that exists only while its caller is lowered."""

    callee: Value
    kind: str
    wrt: Any
    has_aux: bool = False
    order: int = 0

    @property
    def held(self) -> tuple[Value, ...]:
        return (self.callee,)

    def holding(self, ev: Evaluator, values: tuple[Value, ...]) -> Derived:
        return replace(self, callee=values[0])

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        asked = self.has_aux, self.order
        return called_derivative(ev, self.callee, self.kind, self.wrt, args, kwargs, node, *asked)


def lower_maker(kind: str) -> Any:
    """How `grad(f, wrt)` itself is lowered: to a `Derived`."""

    def make(ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        if not args and "f" not in kwargs:
            message, hint = f"`{kind}` without a function in differentiated code", "pass the function to it"
            ev.fail(UnsupportedSyntax, message, node, hint=hint)
        callee, *rest = (*args, *(kwargs[name] for name in ("f",) if name in kwargs))
        if "directions" in kwargs and kind in ("jvp", "vjp"):
            _refuse_directions(ev, node)
        own = {"f", "wrt", "mode"}
        order = 0
        if kind == "taylor":
            along = plain_number(kwargs.get("series", number(False)))
            if not isinstance(along, Sym) or along.constant is not False:
                _refuse_series(ev, node)
            order = known_order(ev, kwargs.get("order", NONE), node)
            own = {"f", "wrt", "order", "series"}
        if unknown := kwargs.keys() - Keywords.__annotations__.keys() - own:
            message, hint = no_option(unknown)
            ev.fail(UnsupportedSyntax, message, node, hint=hint)
        asked = plain_number(kwargs.get("has_aux", number(False)))
        has_aux = asked.constant if isinstance(asked, Sym) else None
        if has_aux is not False and (has_aux is not True or kind not in WITH_AUX):
            ev.fail(UnsupportedSyntax, f"`has_aux` of `{kind}` in differentiated code", node, hint="leave it out")
        wrt = kwargs.get("wrt", rest[0] if rest else None)
        return Static(Derived(callee, kind, 0 if wrt is None else known(ev, wrt, node), has_aux, order))

    return make


def known(ev: Evaluator, value: Value, node: Any) -> Any:
    """What `wrt` is, as a Python value."""
    position = static_int(value)
    if position is not None:
        return position
    if isinstance(value, Static):
        return value.obj
    if isinstance(value, Tup):
        return tuple(known(ev, item, node) for item in value.items)
    ev.fail(UnsupportedSyntax, "wrt must be known when the function is compiled", node)


def known_order(ev: Evaluator, value: Value, node: Any) -> int:
    """The order of an expansion."""
    order = static_int(value)
    if order is None or order < 1:
        ev.fail(UnsupportedSyntax, "the order of an expansion must be known when the function is compiled", node)
    return order


def lower_taylor(ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`taylor(f, x, v, order)`."""
    given = dict(zip(("f", "x", "v", "order"), args, strict=False)) | kwargs
    callee, x, v, order = (given.get(name, NONE) for name in ("f", "x", "v", "order"))
    x, v = ev.materialise(x), ev.materialise(v)
    if not isinstance(x, Tup):
        x, v = Tup((x,)), Tup((v,))
    if isinstance(v, Tup) and any(isinstance(one, Lst) for one in v.items):
        _refuse_series(ev, node)
    return lower_jvp(ev, [callee, x, v], {}, node, known_order(ev, order, node))


def called_derivative(
    ev: Evaluator,
    callee: Value,
    kind: str,
    wrt: Any,
    args: list[Value],
    kwargs: dict[str, Value],
    node: Any,
    has_aux: bool = False,
    order: int = 0,
) -> Value:
    """What a derivative of any kind returns, called with its arguments."""
    if kind in ("jvp", "taylor"):
        return _pushed(ev, callee, wrt, args, kwargs, node, order or None)
    if kind == "hvp":
        return _directed(ev, callee, wrt, args, kwargs, node, has_aux)
    if kind == "vjp":
        return _pulled(ev, callee, wrt, args, kwargs, node)
    if kind in ("jvp_directions", "vjp_directions"):
        _refuse_directions(ev, node)
    if kind == "taylor_series":
        _refuse_series(ev, node)
    return call_derivative(ev, callee, kind, wrt, args, kwargs, node, has_aux)


def _refuse_directions(ev: Evaluator, node: Any) -> NoReturn:
    ev.fail(
        UnsupportedSyntax,
        "a product in several directions at once, in differentiated code",
        node,
        hint="take `tapec.vmap` of the product in one direction",
    )


def _refuse_series(ev: Evaluator, node: Any) -> NoReturn:
    hint = "expand along a line: let the function compute the curve from its parameter"
    ev.fail(UnsupportedSyntax, "Taylor coefficients along a curve, in differentiated code", node, hint=hint)


def _pushed(
    ev: Evaluator,
    callee: Value,
    wrt: Any,
    args: list[Value],
    kwargs: dict[str, Value],
    node: Any,
    order: int | None = None,
) -> Value:
    """The value and the tangent, or all coefficients up to an order, for tangents behind the arguments."""
    wanted = wrt if isinstance(wrt, tuple) else (wrt,)
    first = max(len(args) - len(wanted), 0)
    own, tangents = args[:first], args[first:]
    names = parameter_names(callee)
    own += [kwargs[name] for name in names[len(own) :] if name in kwargs]
    if len(tangents) < len(wanted) or len(own) + len(tangents) != len(args) + len(kwargs):
        ev.fail(TypeMismatch, f"a call of a derivative takes {len(wanted)} tangents behind the arguments", node)
    places = [names.index(one) if isinstance(one, str) and one in names else one for one in wanted]
    if any(not isinstance(place, int) or not -len(own) <= place < len(own) for place in places):
        ev.fail(UnsupportedSyntax, f"there are no arguments {wrt} to differentiate by", node)
    moving = {place % len(own): one for place, one in zip(places, tangents, strict=True)}
    if len(moving) < len(wanted):
        ev.fail(UnsupportedSyntax, "wrt names an argument twice, which has one tangent", node)
    tangents = [moving.get(k, NONE) for k in range(len(own))]
    return lower_jvp(ev, [callee, Tup(tuple(own)), Tup(tuple(tangents))], {}, node, order)


def _directed(
    ev: Evaluator, callee: Value, wrt: Any, args: list[Value], kwargs: dict[str, Value], node: Any, has_aux: bool
) -> Value:
    """The product of the Hessian and the vector behind the arguments, and what the function returns beside."""
    if not args:
        ev.fail(UnsupportedSyntax, "a Hessian-vector product needs its vector as the last argument", node)
    *args, vector = (ev.materialise(arg) for arg in args)
    call = InnerCall.of(ev, callee, wrt, args, {key: ev.materialise(one) for key, one in kwargs.items()}, node)
    check_number(ev, differentiated(ev, call.result, has_aux, node), node)
    vectors: dict[str, str] = {}
    pair(ev, call.chosen[0] if call.single else Tup(tuple(call.chosen)), vector, vectors, node, "vector")
    made = directed(call.core, call.sources, call.constants, ev.prepare is not None)
    parts = splice(ev, with_tangents(ev, made, call.core, call.sources, vectors))
    product = call.by_sources(ev, dict(zip(call.sources, parts, strict=False)))
    if not has_aux:
        return product
    whole = call.structure([call.result, *parts[len(call.sources) :]])
    return Tup((product, whole.items[1]))


def _pulled(
    ev: Evaluator, callee: Value, wrt: Any, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value:
    """The value and the adjoints, for a cotangent behind the arguments."""
    if not args:
        ev.fail(TypeMismatch, "a pullback takes its cotangent as the last argument", node)
    *args, cotangent = (ev.materialise(arg) for arg in args)
    call = InnerCall.of(ev, callee, wrt, args, {key: ev.materialise(one) for key, one in kwargs.items()}, node)
    swept = with_checked_seeds(reverse(call.core, call.sources, call.constants))
    given = seeds_of(ev, call.result, cotangent, writes_into_parameters(call.core), node)
    whole = swept.function("inner", (*swept.values, *swept.adjoints))
    bound = with_tangents(ev, whole, call.core, swept.seeds, dict(zip(swept.seeds, given, strict=True)))
    return Tup(call.value_and_adjoints(ev, splice(ev, bound)))
