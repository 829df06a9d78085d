"""Every whole program: its value, reverse against forward, forward against central differences, each stage."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
from numba import njit

import tapec
from tests.oracles import Compiled, check, clone, same
from tests.programs import (
    Program,
    dynamics,
    finance,
    geometry,
    grids,
    inference,
    iteration,
    kernels,
    matrices,
    networks,
    objectives,
    spectra,
)
from tests.stages import check_stages

MODULES = (iteration, dynamics, grids, matrices, inference, networks, geometry, finance, objectives, kernels, spectra)
PROGRAMS = tuple(program for module in MODULES for program in module.PROGRAMS)
# which are machine code themselves, and in forward mode, with all of LLVM's optimisations
FORWARD = tuple(module.PROGRAMS[0] for module in MODULES)
MARKED = [pytest.param(one, marks=[pytest.mark.optimised] if one in FORWARD else []) for one in PROGRAMS]


@pytest.mark.slow
@pytest.mark.parametrize("program", MARKED, ids=str)
def test_program(program: Program):
    """Machine code of every second one, of the others generated Python of which Numba infers the types."""
    modes: Compiled = "both" if program in FORWARD else "reverse" if PROGRAMS.index(program) % 2 else ""
    original = njit(program.f) if program in FORWARD else program.f
    # every size has the same types
    made = cache(tapec.value_and_grad)
    for size in program.sizes:
        args = program.arguments(size)
        same("njit", original(*clone(args)), program.f(*clone(args)))
        stages = partial(check_stages, program.f, args, compiled=bool(modes)) if size == program.sizes[0] else None
        check(program.f, args, program.wrt, original=original, compiled=modes, also=stages, gradient=made)


def test_every_program_is_deterministic():
    for program in PROGRAMS:
        first, second = program.arguments(program.sizes[-1]), program.arguments(program.sizes[-1])
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)
