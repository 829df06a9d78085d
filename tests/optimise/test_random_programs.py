"""Passes keep results, on random programs and their derivatives: bit for bit, or for speed up to the order of sums."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tapec.errors import TapecError
from tapec.optimise import tidy
from tapec.optimise.passes import PASSES
from tapec.optimise.simplify.unset_names import initialise_unset
from tapec.options import Options
from tapec.pipeline import Program
from tapec.syntax.core import Function
from tests.optimise.comparison import check_passes, close, run, unoptimised
from tests.oracles import any_single
from tests.sampling import sampled
from tools.fuzz import examination
from tools.fuzz.grammars.programs import generate


def settled(function: Function, constants: frozenset[str]) -> Function:
    """The first passes as one: copies of names that may be unset have to go, or be given a value."""
    for change in PASSES[:SETTLED]:
        function = change(function, constants)
    return function


SETTLED = PASSES.index(initialise_unset) + 1


def derivatives(source: str, args: tuple[Any, ...], folder: Path) -> Iterator[Program]:
    """The unoptimised derivatives of a random program, of the kinds that it has."""
    program = examination.load(source, folder).program
    wrt = tuple(k for k, arg in enumerate(args) if np.asarray(arg).dtype.kind == "f")
    for kind in ("value_and_grad", "jvp", "primal"):
        try:
            derivative = unoptimised(program, args, kind, wrt)
        except TapecError:
            continue
        # recursive callees are functions of their own
        if not derivative.lowered.callees:
            yield derivative


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(25), 18, default=3))
def test_passes(seed: int, tmp_path: Path):
    program = generate(seed)
    args = program.arguments()
    floats = [a.copy() if isinstance(a, np.ndarray) else a for a in args if np.asarray(a).dtype.kind == "f"]
    for derivative in derivatives(program.source, args, tmp_path):
        core = derivative.core
        own = (*args, *floats)[: len(core.params)]
        constants = frozenset(derivative.lowered.constants)
        check_passes(core, (settled, *PASSES[SETTLED:]), own, derivative.namespace, constants)


@pytest.mark.parametrize("seed", sampled(range(100, 120), 18, default=2))
def test_passes_for_speed(seed: int, tmp_path: Path):
    """They change the order of sums: results agree to rounding."""
    program = generate(seed)
    args = program.arguments()
    floats = [a.copy() if isinstance(a, np.ndarray) else a for a in args if np.asarray(a).dtype.kind == "f"]
    for derivative in derivatives(program.source, args, tmp_path):
        own = (*args, *floats)[: len(derivative.core.params)]
        constants = frozenset(derivative.lowered.constants)
        plain, fast = (tidy(derivative.core, constants, Options(level=level)) for level in (1, 2))
        one, other = (run(core, own, derivative.namespace) for core in (plain, fast))
        assert close(one, other, 1e-3 if any_single(args) else 1e-8), derivative.text
