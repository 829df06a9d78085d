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

from tapec.syntax.core import Assign, Atom, Const, Function, Name, Op, Return, Store, walk
from tapec.syntax.custom_rule import Custom
from tapec.syntax.types import Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.reverse import Reversed
from tapec.transforms.split import Split


def is_linear(functions: Iterable[Function]) -> bool:
    """Whether the reverse sweeps of functions are linear in what they begin with."""
    return not any(
        isinstance(stmt, Assign) and isinstance(stmt.value, Op) and isinstance(stmt.value.fn, Custom)
        for function in functions
        for stmt in walk(function.body)
    )


def scaled(swept: Reversed, name: str) -> Split:
    """The gradient of a number, with the number's adjoint taken to be one, as an augmented primal; see the module."""
    kept = tuple(dict.fromkeys(adjoint.id for adjoint in swept.adjoints if isinstance(adjoint, Name)))
    augmented = swept.function(f"{name}_augmented", (*swept.values, *map(Name, kept)))
    types = {one: swept.types[one] for one in kept}
    out = Emitter(types, set(types))
    (value,) = swept.values
    value_type = swept.types[value.id] if isinstance(value, Name) else out.type_of(value)
    seed = out.fresh("seed", value_type)
    times = {one: _times(out, one, Name(seed)) for one in kept}
    # what the number does not depend on has no derivative, whatever the seed
    adjoints = tuple(
        times[one.id] if isinstance(one, Name) else one if one == Const(0.0) else out.atom(Op("*", (one, Name(seed))))
        for one in swept.adjoints
    )
    pullback = Function(f"{name}_pullback", (*kept, seed), (*out.out, Return(adjoints)), types)
    return Split(augmented, pullback, kept, ())


def _times(out: Emitter, adjoint: str, seed: Name) -> Atom:
    """A number or array times the seed, in its own type."""
    type_ = out.types[adjoint]
    if isinstance(type_, Scalar):
        return out.atom(Op("*", (Name(adjoint), seed)), type_)
    assert isinstance(type_, Array)
    made = out.zeros_like(adjoint, adjoint)

    def body(inner: Emitter, index: tuple[Atom, ...]) -> None:
        item = inner.let("t", Op("load", (Name(adjoint), *index)), type_.element)
        product = inner.atom(Op("*", (item, seed)), type_.element)
        inner.add(Store(made, index, product, False))

    out.each(adjoint, body)
    return Name(made)
