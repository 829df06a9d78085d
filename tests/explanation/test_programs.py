"""Every whole program, and every golden one, can be explained and shown on a page."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest

import tapec
from tapec.explanation.listing import gradient_listing
from tapec.explanation.page import page
from tapec.plain_functions import plain_function
from tests.golden.test_golden import CASES, HERE, load
from tests.programs.test_programs import PROGRAMS
from tests.sampling import sampled


def programs() -> Iterator[Any]:
    for program in PROGRAMS:
        yield pytest.param(program.f, program.arguments(program.sizes[0]), program.wrt, id=str(program))
    for case in CASES:
        source = load(HERE / case / "source.py")
        yield pytest.param(getattr(source, case), source.arguments(np.random.default_rng(7)), (0,), id=f"golden_{case}")


@pytest.mark.parametrize("function, arguments, wrt", sampled(programs(), 24, default=3))
def test_it_is_explained(function, arguments, wrt):
    function = plain_function(function)
    signature = tuple(map(numba.typeof, arguments))
    try:
        told = tapec.explain(function, wrt, signature)
    except tapec.errors.NotDifferentiable as error:
        assert "must return one number" in error.message
        return
    text = str(told)
    names = dict(zip(inspect.signature(function).parameters, arguments, strict=False))
    assert "{" not in text, "a place in a sentence was not filled"
    assert {variable.name for variable in told.variables} >= names.keys()
    # sizes that are not in terms of arguments are in terms of arrays of the generated function
    for note in told.stored:
        compile(note.formula, "formula", "eval")
    assert all(line.number >= 0 for line in gradient_listing(told.program).lines)
    assert page(function, told, names).endswith("</html>\n")
