"""The fixtures that the whole suite shares: what tests run, machine code or Python, and what watches them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

# before anything is compiled
from tests.unoptimised import unoptimised  # isort: skip

import tests.oracles  # noqa: F401  loads the whole runtime before a test turns the JIT off
from tapec.optimise.driver import watched
from tests.levels import plainly
from tests.typed import typed
from tests.verified import Verified

ROOT = Path(__file__).resolve().parents[1]

# folders whose tests are about what is generated, not about machine code of it: unless they are marked `compiled`,
# Python runs what they make, and Numba infers its types; so it is with tests elsewhere that are marked `generated`
GENERATED_IN = {"analyses", "frontend", "optimise", "tape", "transforms"}
# folders whose tests are about what LLVM makes of a program; so it is with tests elsewhere that are marked `optimised`
OPTIMISED_IN = {"build", "optimise"}


@pytest.fixture(autouse=True)
def by_python(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests of generated programs run them as Python."""
    marked, folders = _marks_and_folders(request)
    generated = "generated" in marked or not GENERATED_IN.isdisjoint(folders)
    with typed() if generated and "compiled" not in marked else nullcontext():
        yield


@pytest.fixture(autouse=True)
def without_optimisation(request: pytest.FixtureRequest) -> Iterator[None]:
    """Machine code of programs is as LLVM's first pass leaves it, but where a test is about what the others do."""
    marked, folders = _marks_and_folders(request)
    with nullcontext() if "optimised" in marked or not OPTIMISED_IN.isdisjoint(folders) else unoptimised():
        yield


@pytest.fixture
def mostly_plainly(request: pytest.FixtureRequest) -> Iterator[None]:
    """Three of four tests make derivatives as they are differentiated: passes take most of the time that one needs.

    For modules of many tests whose claims are about what comes before the passes: rules, or how programs are read.
    Which tests have them is the same in each run; with `--exhaustive` all do.
    """
    whole = request.config.getoption("exhaustive") or zlib.crc32(request.node.nodeid.encode()) % 4 == 0
    with nullcontext() if whole else plainly():
        yield


def _marks_and_folders(request: pytest.FixtureRequest) -> tuple[set[str], tuple[str, ...]]:
    """The names of a test's marks, and where in the folder of the tests it stands."""
    return {mark.name for mark in request.node.iter_markers()}, request.path.relative_to(ROOT / "tests").parts


@pytest.fixture(autouse=True, scope="session")
def verified() -> Iterator[None]:
    """What each pass leaves is verified."""
    with watched(Verified()):
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    """A random generator with a fixed seed."""
    return np.random.default_rng(20)
