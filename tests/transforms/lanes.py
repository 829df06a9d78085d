"""Tangents in several directions against those in one direction after the other, of programs in core form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tapec.backend import printer
from tapec.syntax.core import Function
from tapec.syntax.types import Array
from tapec.transforms.forward import forward
from tapec.transforms.lane_loops import by_columns
from tapec.transforms.ssa import to_ssa
from tapec.transforms.vector_forward import Directions, vector_forward
from tests.optimise.reading import read
from tests.rules.evaluation import NAMESPACE

WIDTH = 3


def program(text: str) -> Function:
    """A program in which matrices whose names begin with F are in the order of columns, and those with S in none."""
    core = read(text)
    kinds = {name: Array("float64", 2, "A" if name[0] == "S" else name[0]) for name in core.types if name[0] in "FS"}
    return to_ssa(replace(core, types={**core.types, **kinds}))


def text_of(core: Function, sources: tuple[str, ...], width: int = WIDTH) -> str:
    return printer.function(vector_forward(core, sources, width).function, False)


def compare(core: Function, sources: tuple[str, ...], args: tuple[Any, ...]) -> Directions:
    """Raise unless all lanes are what one direction gives."""
    rng = np.random.default_rng(5)
    several = vector_forward(core, sources, WIDTH)
    given = [arg for param, arg in zip(core.params, args, strict=True) if param in sources]
    dots = [rng.normal(size=(*np.shape(arg), WIDTH)) for arg in given]
    turned = [by_columns(core.types[param]) for param in core.params if param in sources]
    lanes = [dot.transpose(1, 0, 2).copy() if turn else dot for dot, turn in zip(dots, turned, strict=True)]
    found = _run(several.function, args, lanes)
    for lane in range(WIDTH):
        own = [np.asfortranarray(d[..., lane]) if t else d[..., lane] for d, t in zip(dots, turned, strict=True)]
        single = _run(forward(core, sources), args, own)
        for one, wanted in zip(found, single[1::2], strict=True):
            np.testing.assert_allclose(one[..., lane], wanted, rtol=1e-12, atol=1e-14)
    return several


def _run(core: Function, args: tuple[Any, ...], dots: list[Any]) -> list[Any]:
    scope = dict(NAMESPACE)
    exec(printer.function(core), scope)
    mine = [arg.copy("K") if isinstance(arg, np.ndarray) else arg for arg in args]
    found = scope[core.name](*mine, *(np.copy(dot, "K") for dot in dots))
    return list(found) if isinstance(found, tuple) else [found]
