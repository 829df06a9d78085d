"""A second version of a loop, in lanes, for short loops inside; what shapes say of that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapec.analyses.iterations import Iterations
from tapec.backend import printer
from tapec.optimise.name_origins import Fresh
from tapec.optimise.shapes.versions import GuardResult
from tapec.optimise.vectors.short_lanes import LaneLengths, Uses, where_short
from tapec.syntax.core import Const, For, Function, Name, Op
from tests.optimise.reading import read

TEXT = """
def f(A, a, k, x, c):
    n = A.shape[0]
    n_1 = A.shape[1]
    n_2 = n_1 - 1
    n_3 = max(n_2, k)
    if c:
        n_4 = n
    else:
        n_4 = n_1
    r = x
    for i in range(n):
        y = x * x
        a_1 = np.empty(2)
        for j in range(n_1):
            a_1[0] = y
        u = a_1[0]
        a[i] = u
        r = y
    z = r
    return z
"""


def lengths(core: Function, shapes: dict[str, tuple[int, ...]] | None) -> LaneLengths:
    return LaneLengths(Iterations(core), shapes)


def the_loop(core: Function) -> For:
    return next(stmt for stmt in core.body if isinstance(stmt, For))


def test_names_that_nothing_outside_of_a_loop_uses():
    core = read(TEXT)
    assert sorted(Uses(core).only_in(the_loop(core))) == ["a_1", "i", "j", "u", "y"]


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("n", "A.shape[0]"),
        ("n_2", "A.shape[1] - 1"),
        ("n_3", None),  # of a number that no shape says
        ("n_4", None),  # two values
        ("k", None),
        ("i", None),
    ],
)
def test_formulas_of_extents(name: str, formula: str | None):
    found = lengths(read(TEXT), {"A": (3, 4), "a": (3,)}).formula(Name(name))
    assert (found and printer.expression(found)) == formula


def test_arrays_that_are_no_parameters_have_no_extents_beforehand():
    asked = lengths(read(TEXT), {"a": (3,)})
    assert asked.formula(Name("n")) is None and asked.formula(Const(2)) == Const(2)


def test_what_follows_from_the_shapes_is_answered_and_noted():
    short, many = Op("<=", (Name("n_1"), Const(4))), Op(">=", (Name("n"), Const(3)))
    formulas = (
        Op("<=", (Op("dim", (Name("A"), Const(1))), Const(4))),
        Op(">=", (Op("dim", (Name("A"), Const(0))), Const(3))),
    )
    for shape, answer in (((3, 4), True), ((3, 5), False), ((2, 4), False)):
        asked = lengths(read(TEXT), {"A": shape, "a": (3,)})
        assert asked.hold((short, many)) is answer
        assert asked.answers == [GuardResult(formulas, answer)]
    for shapes, question in ((None, short), ({"A": (3, 4)}, Op("<=", (Name("n_4"), Const(4))))):
        asked = lengths(read(TEXT), shapes)
        assert asked.hold((question,)) is None and not asked.answers


def version(shapes: dict[str, tuple[int, ...]] | None, stops: set[str]) -> str:
    """What takes the place of the loop; the version in lanes is one statement."""
    core = read(TEXT)
    loop, fresh = the_loop(core), Fresh(core.types)
    in_lanes = replace(loop.body[0], span=None)  # `y = x * x`
    found = where_short(
        loop, (in_lanes,), loop, stops, 24, {"y": fresh("y", core.types["y"])}, fresh, lengths(core, shapes)
    )
    lines = printer.statements(tuple(found), 0, quote=False)
    return "\n".join(line for line in lines if not line.startswith("        "))


def test_the_run_decides_where_shapes_do_not():
    text = version(None, {"n_1", "n_2"})
    assert text.startswith(
        "size = n - 0\n"
        "t = n_1 <= 24\n"
        "t_1 = n_2 <= 24\n"
        "t_2 = t and t_1\n"
        "t_3 = size >= 16\n"
        "t_4 = t_2 and t_3\n"
        "if t_4:\n"
        "    y_1 = x * x\n"
        "else:\n"
        "    for i in range(n):"
    )


def test_shapes_decide_while_compiling():
    assert version({"A": (16, 24), "a": (16,)}, {"n_1"}) == "y_1 = x * x"
    for shape in ((15, 24), (16, 25)):
        assert version({"A": shape, "a": (16,)}, {"n_1"}).startswith("for i in range(n):\n    y = x * x\n")
