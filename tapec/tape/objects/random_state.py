"""Random numbers that a tape's block draws.

The block draws them itself when it runs.  For the program they are inputs, drawn at entry from
copies of the generators, whose state is then what the block will find.  A compiled function does not
draw: behind it the generators take over the states of their copies.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np

from tapec.errors import LoweringError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import NONE, Items, Lst, Static, Sym, Tup, Value, describe, is_none

GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_MAKERS = (np.random.default_rng, np.random.RandomState, random.Random)
_CHANGES = frozenset({"setstate", "set_state", "shuffle", "spawn", "choices", "sample"})


def twin(generator: Any) -> Any:
    """A generator in the same state."""
    if isinstance(generator, random.Random):
        made = random.Random()
        made.setstate(generator.getstate())
        return made
    if isinstance(generator, np.random.RandomState):
        legacy = np.random.RandomState()
        legacy.set_state(generator.get_state())
        return legacy
    return copy.deepcopy(generator)


def take_state(generator: Any, other: Any) -> None:
    """Bring a generator into the state of its copy."""
    if isinstance(generator, random.Random):
        generator.setstate(other.getstate())
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(other.get_state())
    else:
        generator.bit_generator.state = other.bit_generator.state


class Draws:
    """The draws of one lowering."""

    def __init__(self, ev: Evaluator, live: Any) -> None:
        self.ev, self.live = ev, live
        # by identity: the generators, and their copies with the names that those have in the guard
        self.originals: dict[int, Any] = {}
        self.twins: dict[int, tuple[Any, str]] = {}

    def call(self, function: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
        """A method of a generator; None for any other function."""
        owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
        if function is np.random.seed and self.live.overlays:
            # a function of its own, not a method of what draws
            owner = np.random.mtrand._rand
        if function in _MAKERS:
            return self._made(function, args, kwargs, node)
        if not isinstance(owner, GENERATORS):
            return None
        if not self.live.overlays and owner is np.random.mtrand._rand:
            # compiled code has a generator of its own behind NumPy's functions
            return None
        ev, guards = self.ev, self.live.guards
        if ev.block is not ev.root or name in _CHANGES:
            ev.fail(
                LoweringError,
                f"`{name}` of a random generator here",
                node,
                hint="draw the numbers before the tape",
            )
        given = [self._known(arg, node) for arg in args]
        named = {key: self._known(value, node) for key, value in kwargs.items()}
        if name == "seed" and not any(one is not None for one in (*given, *named.values())):
            ev.fail(LoweringError, "a random generator is seeded by the system", node, hint="give it a seed")
        if id(owner) not in self.twins:
            self.originals[id(owner)] = owner
            self.twins[id(owner)] = twin(owner), self._twin_name(owner)
        own, label = self.twins[id(owner)]
        if name == "seed":
            own.seed(*given, **named)
            guards.lines.append(f"{label}.seed(*{guards.constant(given)}, **{guards.constant(named)})")
            return NONE
        value = getattr(own, name)(*given, **named)
        slot = guards.new(value, f"{label}.{name}(*{guards.constant(given)}, **{guards.constant(named)})")
        made = self.live.input(value, f"{name}", slot)
        if made is None:
            ev.fail(LoweringError, f"`{name}` of a random generator gives {type(value).__name__}", node)
        return made

    def _made(self, maker: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        """A generator that the block makes from a known seed."""
        given = [self._known(arg, node) for arg in (*args, *kwargs.values())]
        if not given or None in given:
            self.ev.fail(
                LoweringError,
                "a random generator without a seed is made inside a tape's block",
                node,
                hint="make it before the tape",
            )
        guards = self.live.guards
        generator = maker(*given)
        guards.new(generator, f"{guards.constant(maker)}(*{guards.constant(given)})")
        return Static(generator)

    def drawn(self) -> list[tuple[Any, int | None, Any, int]]:
        """The generators that were drawn from: each with its place, its copy and the copy's place."""
        owners = self.live.guards.owners
        return [
            (self.originals[key], owners.get(key), own, self.live.guards.new(own, label))
            for key, (own, label) in self.twins.items()
        ]

    def _twin_name(self, owner: Any) -> str:
        guards = self.live.guards
        place = guards.owners.get(id(owner))
        if place is None and owner in (np.random.mtrand._rand, getattr(random, "_inst", None)):
            # the generators of the modules are the same ones in every run
            place = guards.new(owner, guards.constant(owner))
        if place is None:
            guards.complete = False
            place = guards.new(owner, "None")
        name = f"twin{len(self.twins)}"
        guards.namespace["twin"] = twin
        guards.lines.append(f"{name} = twin(v{place})")
        return name

    def _known(self, value: Value, node: Any) -> Any:
        """An argument as Python has it."""
        ev = self.ev
        value = ev.materialise(value)
        if is_none(value):
            return None
        if isinstance(value, Static):
            return value.obj
        if isinstance(value, Tup):
            return tuple(self._known(item, node) for item in value.items)
        if isinstance(value, Lst) and isinstance(contents := ev.heap[value], Items):
            return [self._known(item, node) for item in contents.values]
        if isinstance(value, Sym) and (value.constant is not None or not value.type.is_float):
            value = ev.decided(value, node) if value.constant is None else value
            if value.constant is not None:
                return value.constant
        ev.fail(
            LoweringError,
            f"a random draw that depends on {describe(value)}",
            node,
            hint="draw standard numbers, then shift and scale them",
        )
