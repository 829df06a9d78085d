"""Sweeps that record the largest adjoint of each line; what is told of them, `tests/explanation` holds to."""

from __future__ import annotations

import numpy as np
from numba import types as nt

from tapec.backend.signature import arguments
from tapec.frontend.lower import lower
from tapec.optimise.simplify.recorded_adjoints import NOT_RUN, recorded
from tapec.syntax.core import Assign, Const, Name, Op, Store, walk
from tapec.transforms.reverse import reverse


def program(x):
    y = np.sin(x[0])
    y += 2.0 * x[1]
    return y


def test_each_addition_to_an_adjoint_is_recorded_but_the_seed():
    lowered = lower(program, arguments((nt.float64[::1],), ["x"]))
    swept = reverse(lowered.function, ("x",), unit_seed=True)
    made, largest, lines = recorded(swept)
    assert sorted({span.text.strip() for span in lines}) == ["y += 2.0 * x[1]", "y = np.sin(x[0])"]
    stores = [stmt for stmt in walk(made.backward) if isinstance(stmt, Store) and stmt.array == largest]
    (fill,) = [stmt for stmt in stores if stmt.value == Const(NOT_RUN)]
    additions = [
        stmt
        for stmt in walk(swept.backward)
        if (isinstance(stmt, Store) and stmt.accumulate)
        or (isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.args[:1] == (Name(stmt.target),))
    ]
    assert len(stores) - 1 == len(additions) - 1 and fill.array == largest
    assert {stmt.index[0].value for stmt in stores if stmt is not fill} == set(range(len(lines)))
