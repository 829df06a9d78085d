"""A pullback of one number: the gradient, times the number's adjoint.

    value, gradient = f and its gradient at x        once, loops fused
    x_bar[i] = seed * gradient[i]                    for each pull

A reverse sweep is linear in the adjoint that it begins with.  So the two sweeps need not be kept apart where the
result is a single number; nothing but the gradient is stored between them.  The derivative of a custom gradient is
whatever its author wrote, which may not be linear.

Griewank & Walther, Evaluating Derivatives, 2nd ed., section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable

from tapec.syntax.core import Atom, Const, Expr, Function, Name, Op, Return, Store, walk
from tapec.syntax.custom_rule import custom_of
from tapec.syntax.types import Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.reverse import Reversed
from tapec.transforms.split import Split
from tapec.transforms.strong_zeros import zero_kept


def is_linear(functions: Iterable[Function]) -> bool:
    """Whether the reverse sweeps of functions are linear in what they begin with."""
    return all(custom_of(stmt) is None for function in functions for stmt in walk(function.body))


def scaled(swept: Reversed, name: str, strong_zero: bool) -> Split:
    """The gradient of a number, with the number's adjoint taken to be one, as an augmented primal; see the module.

    strong_zero  whether an adjoint of zero gives zeros, also where the gradient is infinite
    """
    kept = tuple(dict.fromkeys(adjoint.id for adjoint in swept.adjoints if isinstance(adjoint, Name)))
    augmented = swept.function(f"{name}_augmented", (*swept.values, *map(Name, kept)))
    types = {one: swept.types[one] for one in kept}
    out = Emitter(types, set(types))
    (value,) = swept.values
    value_type = swept.types[value.id] if isinstance(value, Name) else out.type_of(value)
    seed = out.fresh("seed", value_type)
    times = {one: _times(out, one, seed, strong_zero) for one in kept}
    # what the number does not depend on has no derivative, whatever the seed
    adjoints = tuple(
        times[one.id] if isinstance(one, Name) else one if one == Const(0.0) else out.atom(Op("*", (one, Name(seed))))
        for one in swept.adjoints
    )
    pullback = Function(f"{name}_pullback", (*kept, seed), (*out.out, Return(adjoints)), types)
    return Split(augmented, pullback, kept, ())


def _times(out: Emitter, adjoint: str, seed: str, strong_zero: bool) -> Atom:
    """A number or array times the seed, in its own type."""
    type_ = out.types[adjoint]
    if isinstance(type_, Scalar):
        return _product(out, Name(adjoint), seed, type_, strong_zero)
    assert isinstance(type_, Array)
    made, element = out.zeros_like(adjoint, adjoint), type_.element

    def body(inner: Emitter, index: tuple[Atom, ...]) -> None:
        item = inner.let("t", Op("load", (Name(adjoint), *index)), element)
        inner.add(Store(made, index, _product(inner, item, seed, element, strong_zero), False))

    out.each(adjoint, body)
    return Name(made)


def _product(out: Emitter, number: Name, seed: str, type_: Scalar, strong_zero: bool) -> Atom:
    product: Expr = Op("*", (number, Name(seed)))
    if strong_zero:
        kinds = out.types[seed], out.type_of(product)
        assert isinstance(kinds[0], Scalar) and isinstance(kinds[1], Scalar)
        product = zero_kept(product, seed, (kinds[0], kinds[1]), again=False)
    return out.atom(product, type_)
