"""Random programs whose loops are checkpointed: the same gradient, or a refusal."""

from __future__ import annotations

import ast
import inspect
import random
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from tapec.backend import jit
from tapec.backend.signature import arguments
from tapec.errors import NotDifferentiable
from tapec.options import Options
from tapec.pipeline import build
from tests.oracles import clone, float_vector
from tests.oracles import interpreted as without_compiling
from tests.sampling import sampled
from tools.fuzz.examination import interpreted, load, run_bounded
from tools.fuzz.grammars.programs import generate


class Checkpointing(ast.NodeTransformer):
    """Checkpoints most loops over a range that run to their end."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        ranges = isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", "") == "range"
        if ranges and not leaves(node.body, inner=False) and self.random.random() < 0.7:
            call = ast.parse(f"tapec.checkpointed(None, slots={self.random.randint(1, 3)})", mode="eval").body
            assert isinstance(call, ast.Call)
            call.args = [node.iter]
            node.iter = call
            self.count += 1
        return node


def leaves(body: list[Any], inner: bool) -> bool:
    """Whether statements may leave the loop that they stand in."""
    for stmt in body:
        if isinstance(stmt, ast.Return) or (isinstance(stmt, ast.Break) and not inner):
            return True
        loop = isinstance(stmt, ast.For | ast.While)
        if leaves(getattr(stmt, "body", []), inner or loop) or leaves(getattr(stmt, "orelse", []), inner):
            return True
    return False


def gradient(f: Any, args: tuple[Any, ...], options: Options) -> np.ndarray:
    types = arguments(tuple(map(numba.typeof, args)), list(inspect.signature(f).parameters))
    floats = tuple(k for k, arg in enumerate(args) if np.asarray(arg).dtype.kind == "f")
    program = build(f, types, "value_and_grad", floats, options)
    with without_compiling(), np.errstate(all="ignore"):
        return float_vector(jit.load(program)(*clone(args)))


@pytest.mark.slow
@pytest.mark.parametrize("first", sampled(range(0, 60, 20), 1, default=3))
def test_random_programs(first: int, tmp_path: Path):
    compared = 0
    for seed in range(first, first + 20):
        program = generate(seed)
        args, change = program.arguments(), Checkpointing(seed)
        text = ast.unparse(ast.fix_missing_locations(change.visit(ast.parse(program.source))))
        single = any(getattr(arg, "dtype", None) == np.float32 for arg in args)
        module = load(program.source, tmp_path)
        if not change.count or single or float_vector(run_bounded(interpreted(module), clone(args))).size != 1:
            continue
        expected = gradient(module.program, args, Options(level=1, math="libm"))
        options = Options(level=seed % 3, math="libm", parallel=seed % 2 == 0)
        try:
            found = gradient(load(f"import tapec\n{text}\n", tmp_path).program, args, options)
        except NotDifferentiable:
            continue  # arrays that are written and replaced
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9, err_msg=f"seed {seed}")
        compared += 1
    assert compared
