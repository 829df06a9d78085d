"""Every pass keeps results bit for bit, on random programs and their derivatives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tapec.errors import TapecError
from tapec.optimise import PASSES
from tests.optimise.comparison import check_pass, unoptimised
from tools import fuzz
from tools.fuzz_programs import generate


def derivatives(source: str, args: tuple, folder: Path):
    """The unoptimised derivatives of a random program, of the kinds that it has."""
    program = fuzz.load(source, folder).program
    wrt = tuple(k for k, arg in enumerate(args) if np.asarray(arg).dtype.kind == "f")
    for kind in ("value_and_grad", "jvp", "primal"):
        try:
            yield unoptimised(program, args, kind, wrt)
        except TapecError:
            continue


def seeds(core, count: int) -> tuple:
    rng = np.random.default_rng(count)
    made = []
    for name in core.params[count:]:
        type_ = core.types[name]
        made.append(rng.normal() if not hasattr(type_, "ndim") else None)
    return tuple(made)


@pytest.mark.parametrize("seed", range(20))
def test_passes(seed: int, tmp_path: Path):
    program = generate(seed)
    args = program.arguments()
    for derivative in derivatives(program.source, args, tmp_path):
        core = derivative.core
        own = (*args, *(np.copy(a) for a in args if np.asarray(a).dtype.kind == "f"))[: len(core.params)]
        constants = frozenset(derivative.lowered.constants)
        for change in PASSES:
            core = check_pass(core, lambda f, change=change: change(f, constants), own, derivative.namespace)
