"""Statements that draw random numbers, by what they call."""

from __future__ import annotations

import pytest

from tapec.analyses.random_draws import drawn
from tapec.syntax.core import Assign, Call, Const, Name, Op, Store


@pytest.mark.parametrize(
    ("stmt", "name"),
    [
        (Assign("x", Op("np.random.rand", ())), "np.random.rand"),
        # the shape of a result is part of an operation's name
        (Assign("a", Op("np.random.normal;1", (Const(3),))), "np.random.normal"),
        (Call((), "np.random.shuffle", (Name("a"),), changes=(0,)), "np.random.shuffle"),
        (Assign("x", Op("np.sin", (Name("y"),))), None),
        (Assign("x", Name("y")), None),
        (Call(("x",), "np.linalg.eigh", (Name("A"),)), None),
        (Call(("x",), "random_step", ()), None),
        (Store("a", (Const(0),), Name("x")), None),
    ],
)
def test_what_is_drawn(stmt, name):
    assert drawn(stmt) == name
