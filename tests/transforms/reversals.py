"""Both sweeps of core functions that are given as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.backend import printer
from tapec.syntax.core import Block, Function, Name, Return, distinct
from tapec.transforms.forward import forward
from tapec.transforms.grown_shadows import GrownShadow
from tapec.transforms.reverse import Reversal, Reversed, reverse
from tests.optimise.comparison import run
from tests.optimise.reading import read


def reversal(text: str, sources: tuple[str, ...] = ("x",), fuse: bool = False) -> Reversal:
    """The worker that has reversed a function, with its plan."""
    function = read(text)
    function = Function(function.name, function.params, distinct(function.body), function.types)
    worker = Reversal(GrownShadow(function), sources, frozenset(), False, False, fuse)
    worker.run()
    return worker


def swept(text: str, sources: tuple[str, ...] = ("x",), **options: Any) -> Reversed:
    return reverse(read(text), sources, **options)


def lines(swept: Reversed, block: Block) -> list[str]:
    """The text of some statements, a line each, with the nesting that they have."""
    function = Function("f", swept.params, (*block, Return((swept.values[0],))), swept.types)
    return [line[4:] for line in printer.function(function, quote=False).splitlines()[1:-1]]


def check(text: str, sources: tuple[str, ...], *args: Any, fuse: bool = False) -> None:
    """Reverse mode is the transpose of forward mode, and both return what the function returns, on its arguments."""
    function = read(text)
    plain = run(function, args)
    back = reverse(function, sources, fuse=fuse)
    pushed = forward(function, sources)
    rng = np.random.default_rng(1)
    count = len(function.results)
    values = plain[:count]
    draw = lambda one: rng.normal(size=np.shape(one)) if np.shape(one) else float(rng.normal())  # noqa: E731
    tangents = [draw(args[function.params.index(source)]) for source in sources]
    seeds = [draw(value) for value in values if np.asarray(value).dtype.kind == "f"]
    whole = back.function("reversed", (*back.values, *back.adjoints))
    found = run(whole, (*args, *seeds))
    moved = run(pushed, (*args, *tangents))
    assert all(np.array_equal(one, other, equal_nan=True) for one, other in zip(found, values, strict=False)), text
    dots, place = [], 0
    for value in values:
        if np.asarray(value).dtype.kind == "f":
            dots.append(moved[place + 1])
            place += 1
        place += 1
    adjoints = found[count : count + len(sources)]
    left = sum(float(np.sum(np.multiply(a, b))) for a, b in zip(seeds, dots, strict=True))
    right = sum(float(np.sum(np.multiply(a, b))) for a, b in zip(adjoints, tangents, strict=True))
    assert abs(left - right) <= 1e-12 * (1.0 + abs(left) + abs(right)), (text, left, right)


def ways(worker: Reversal) -> dict[str, str]:
    """How each value gets to the reverse sweep, by the plan: those that are still in their variables are left out."""
    plan, owners = worker.plan, {}
    for inner in worker.scopes.body.values():
        owners.update({region.key: region.owner for region in inner})
    found = {name: "buffer" if slot.dense else "stack" for name, slot in plan.stored.items()}
    for slots in plan.starts.values():
        found.update({name: "begin: buffer" if slot.dense else "begin: stack" for name, slot in slots.items()})
    for names in plan.recomputed.values():
        for name in names:
            again = plan.reloaded.get(name)
            found[name] = f"as {again.value.id}" if again is not None and isinstance(again.value, Name) else "again"
    found.update({name: f"element of {array}" for name, array in plan.elements.items()})
    found.update({one.name: "counted" for several in plan.counting.values() for one in several})
    found.update({one.array: "copied" for several in plan.snapshots.values() for one in several})
    found.update({getattr(owners[key], "var", "while"): "run again" for key in plan.replayed})
    return found
