"""Every whole program: its value, reverse against forward, forward against central differences, each stage."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from typing import Any

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
# of each module one is machine code, with all of LLVM's optimisations
FIRST = tuple(module.PROGRAMS[0] for module in MODULES)


def marked(programs: Iterable[Program]) -> list[Any]:
    return [pytest.param(one, marks=[pytest.mark.optimised] if one in FIRST else []) for one in programs]


@pytest.mark.slow
@pytest.mark.parametrize("program", marked(PROGRAMS), ids=str)
def test_program(program: Program):
    """Reverse mode of each program, forward mode and stages of every third."""
    check_program(program, "reverse" if program in FIRST else "", in_full=PROGRAMS.index(program) % 3 == 0)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("program", marked(PROGRAMS), ids=str)
def test_program_in_full(program: Program):
    """Machine code of every second program, which itself is machine code if it is the first one of its module."""
    modes: Compiled = "both" if program in FIRST else "reverse" if PROGRAMS.index(program) % 2 else ""
    original = njit(program.f) if program in FIRST else program.f
    for size in program.sizes:
        args = program.arguments(size)
        same("njit", original(*clone(args)), program.f(*clone(args)))
    check_program(program, modes, in_full=True)


def check_program(program: Program, compiled: Compiled, in_full: bool) -> None:
    # every size has the same types
    made = cache(tapec.value_and_grad)
    for size in program.sizes:
        args = program.arguments(size)
        full = in_full and size == program.sizes[0]
        stages = partial(check_stages, program.f, args, compiled=bool(compiled)) if full else None
        check(program.f, args, program.wrt, compiled=compiled, also=stages, gradient=made, forward=full)


def test_every_program_is_deterministic():
    for program in PROGRAMS:
        first, second = program.arguments(program.sizes[-1]), program.arguments(program.sizes[-1])
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)
