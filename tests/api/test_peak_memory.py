"""A gradient takes no more memory than the primal and the arrays that `tapec.explain` names."""

from __future__ import annotations

import ctypes
import inspect
import json
import os
import subprocess
import sys

import numba
import numpy as np
import pytest

import tapec
from tests.programs import dynamics, grids, kernels
from tools.bench.child import peak

# arguments large enough for what is kept to stand out from pages that come and go
PROGRAMS = {
    "heat_1d": (grids.heat_1d, lambda: (np.linspace(0.0, 1.0, 20_000), 0.2, 100), (0, 1)),
    "sparse_smoothing": (
        kernels.sparse_smoothing,
        lambda: (*kernels.make_sparse(np.random.default_rng(1), 50_000), 20),
        (0, 3),
    ),
    "recursive_filter": (
        kernels.recursive_filter,
        lambda: kernels.make_filter(np.random.default_rng(1), 1_000_000),
        (0, 1, 2),
    ),
    "sir_epidemic": (dynamics.sir_epidemic, lambda: (np.full(150_000, 0.3), 0.11, 1e-4, 1_000_000), (0, 1, 2)),
}
# of what lists keep, the explanation tells the bytes of an iteration: how many iterations there are, and what its
# variables are
LISTS = {"sparse_smoothing": (20, {"x": np.empty(50_000)})}
SLACK = 2 * 2**20


def measured(name: str) -> dict[str, int | None]:
    """The bytes that calls of a program and of its gradient take at most, once they are compiled."""
    f, make, wrt = PROGRAMS[name]
    found = {}
    for kind, function in (("primal", numba.njit(f)), ("gradient", tapec.value_and_grad(f, wrt=wrt))):
        args = make()
        function(*args)
        # the least: the system counts what a process holds only roughly, and by the hundred pages
        found[kind] = min((peak(function, args) for _ in range(3)), key=lambda size: size or 0)
    return found


def promised(name: str) -> int:
    """The bytes of all arrays that the gradient makes, as its explanation says."""
    f, make, wrt = PROGRAMS[name]
    args = make()
    explanation = tapec.explain(f, wrt, tuple(map(numba.typeof, args)))
    values = dict(zip(inspect.signature(f).parameters, args, strict=True)) | {"min": min, "max": max}
    iterations, variables = LISTS.get(name, (0, {}))
    made = sum(eval(one.formula, {}, values) for one in explanation.memory)
    listed = sum(eval(note.formula, {}, values | variables) for note in explanation.stored if note.per_iteration)
    return made + iterations * listed


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_peak(name):
    # in a process of its own, whose arrays go back to the system: what others have freed would be taken first
    command = [sys.executable, "-m", "tests.api.test_peak_memory", name]
    settings = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    found = json.loads(subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout)
    if found["gradient"] is None:
        pytest.skip("the system does not tell how much memory a process takes")
    bound = found["primal"] + promised(name)
    assert found["gradient"] <= bound + SLACK, (found, bound)


if __name__ == "__main__":
    # some systems give every process large pages, of which half may lie idle
    ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE
    print(json.dumps(measured(sys.argv[1])))
