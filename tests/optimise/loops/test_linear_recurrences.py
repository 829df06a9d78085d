"""Iterations of a recurrence as a weight and a rest, compared with what the iteration computes."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tapec.backend import printer
from tapec.optimise.loops.linear_recurrences import LinearForm, WeightedPart, Weights
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Assign, Const, Name, mentions, reads
from tests.optimise.reading import read


def form(body: str) -> tuple[LinearForm | None, WeightedPart, dict[str, Any]]:
    """What the last statement of an iteration computes of `z`, the part that runs before, and numbers for its names."""
    core = read("def f(x, y, c, z, k):\n" + "".join(f"    {line}\n" for line in body.split("; ")) + "    return x\n")
    stmts = [stmt for stmt in core.body if isinstance(stmt, Assign)]
    depends = {"z"}
    for stmt in stmts:
        if not depends.isdisjoint(reads(stmt)):
            depends.add(stmt.target)
    part = WeightedPart(stmts, {}, Fresh(core.types))
    return Weights(part, "z", depends.__contains__).of(stmts[-1]), part, {"x": 3.0, "y": -0.25, "k": 4}


def values(text: str, names: dict[str, Any]) -> dict[str, Any]:
    scope = {"math": math, **names}
    exec(text, scope)
    return scope


LINES = [
    "t = z * x",
    "t = x * z; u = t / y; v = u + x",
    "t = x - z; u = t - z; v = u + t",
    "t = -z; u = t * y; v = y - u",
    "t = z; u = 0.5 * t; v = u * 4.0; w = v + z",
    "t = z if c else 0.0; u = t + x",
    "t = x * z; u = t if c else z; v = u * y",
    "t = x * y; u = math.exp(y); v = t * z; w = v + u",
    "t = z * k",
    "t = z if c else x; u = y if c else z; v = t + u",
    "t = z - z",
    "t = x + y; u = t * 2.0; v = z if c else u; w = v - z",
]


@pytest.mark.parametrize("body", LINES)
def test_weight_and_rest_make_the_value(body: str):
    line, part, names = form(body)
    assert line is not None
    assert not any(mentions(stmt.value, {"z"}) for stmt in part.stmts if isinstance(stmt, Assign))
    last = body.split("; ")[-1].split(" = ")[0]
    before = "\n".join(printer.statements(tuple(part.stmts), 0, quote=False))
    for c in (True, False):
        for z in (0.0, 1.5, -7.0, math.inf):
            wanted = values(body, {**names, "c": c, "z": z})[last]
            scope = values(before, {**names, "c": c})
            weight, rest = (
                0.0 if atom is None else eval(printer.expression(atom), scope) for atom in (line.weight, line.rest)
            )
            got = rest if weight == 0.0 and (line.chosen or line.weight is None) else weight * z + rest
            assert got == pytest.approx(wanted, rel=1e-15) or math.isnan(wanted), (c, z)


def test_a_choice_that_leaves_the_value_out_is_told():
    for body, chosen in [
        ("t = z if c else 0.0", True),
        ("t = z if c else x; u = t * y; v = u - 1.0", True),
        ("t = z * x; u = t if c else z", False),
        ("t = z if c else 0.0; u = t + z", False),
        ("t = x * z", False),
    ]:
        line, _, _ = form(body)
        assert line is not None and line.chosen == chosen, body


@pytest.mark.parametrize(
    "body",
    [
        "t = 0.0 * z",
        "t = z * z",
        "t = x / z",
        "t = z / x; u = t * z",
        "t = math.exp(z)",
        "c = z > x; t = x if c else z",  # the value decides
        "t = max(z, x)",
        "t = z + 1.0; u = t if c else t; v = u * t",
        "k = int(z)",
        "t = z ** 2.0",
    ],
)
def test_other_values_are_no_lines(body: str):
    assert form(body)[0] is None


def test_no_more_is_computed_than_is_needed():
    line, part, _ = form("t = x * y; u = t * t; v = u * z; w = v + x")
    assert line == LinearForm(Name("u_1"), Name("x"))
    assert printer.statements(tuple(part.stmts), 0, quote=False) == ["t_1 = x * y", "u_1 = t_1 * t_1"]
    assert form("t = z + 0.0")[0] == LinearForm(Const(1.0), None)


def test_what_costs_a_load_at_most_is_cheap():
    _, part, _ = form("t = a[k]; k_1 = k + 1; u = a[k_1]; v = -u; w = v * t; x_1 = w * z")
    known = {name: part.value(Name(name)) for name in "tuvw"}
    assert [part.is_cheap(known[name]) for name in "tuvw"] == [True, True, True, False]
    assert part.is_cheap(Const(2.0)) and part.is_cheap(Name("x"))
    assert part.value(Const(2.0)) == Const(2.0)


def test_names_of_the_part_stand_for_those_of_the_loop():
    core = read("def f(a, i, x):\n    t = a[i]\n    u = t * x\n    return u")
    part = WeightedPart(core.body, {"i": Name("i_1")}, Fresh(core.types))
    assert part.value(Name("u")) == part.value(Name("u")) == Name("u_1")
    assert printer.statements(tuple(part.stmts), 0, quote=False) == ["t_1 = a[i_1]", "u_1 = t_1 * x"]
