"""The sets that stand beside values, and unions of them."""

from __future__ import annotations

import pytest

from tapec.backend import printer
from tapec.errors import NotDifferentiable
from tapec.syntax.core import Const, Function, Name, Return
from tapec.syntax.types import FLOAT64, INT64, Array, Stack
from tapec.transforms.emitter import Emitter
from tapec.transforms.sets_of_values import SetsOfValues
from tests.optimise.reading import read


def sets_of(text: str = "def f(a, x, z):\n    y = x * z\n    return y, a") -> SetsOfValues:
    """The sets of a function's values, of which `a` and `x` are sources."""
    return SetsOfValues(read(text), ("a", "x"))


def written(sets: SetsOfValues, out: Emitter) -> list[str]:
    function = Function("f", (), (*out.out, Return((Const(0),))), sets.types)
    return [line.strip() for line in printer.function(function, quote=False).splitlines()[1:-1]]


def test_values_without_sources_have_no_set():
    sets = sets_of()
    assert sets.set_of(Name("y")) == Name("y_set") and sets.set_of(Name("a")) == Name("a_set")
    assert sets.set_of(Name("z")) is None and sets.set_of(Const(2.0)) is None
    assert sets.types["y_set"] == INT64 and sets.types["a_set"] == Array("int64", 1)


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (FLOAT64, INT64),
        (Array("float32", 2, "F"), Array("int64", 2, "F")),
        (Stack(FLOAT64), Stack(INT64)),
        (Stack(Array("float64", 1, "A")), Stack(Array("int64", 1, "A"))),
    ],
)
def test_sets_are_of_the_shape_of_their_values(type_, expected):
    sets = sets_of()
    sets.types["v"] = type_
    assert sets.types[sets.name_of("v")] == expected


def test_unions_are_of_what_differs():
    sets = sets_of()
    out = sets.emitter.child()
    assert sets.union([], out) == Const(0)
    assert sets.union(["p", "p"], out) == Name("p") and not out.out
    made = sets.union(["p", "q", "p"], out)
    assert written(sets, out) == [f"{made.id} = tapec_runtime.union(sets, p, q)"]  # type: ignore[union-attr]


def test_few_parts_are_joined_at_once_and_many_by_the_unions_that_there_are():
    sets = sets_of()
    sets.parts = {"p": ("r", "s"), "q": tuple(f"t_{k}" for k in range(11))}
    assert sets.apart(["p", "u"]) == ("r", "s", "u")
    assert len(sets.apart(["q", "u"])) == 12
    assert sets.apart(["p", "q"]) == ("p", "q") == sets.apart(["p", "q", "p"])


def test_the_elements_of_arrays_are_joined_first():
    sets = sets_of()
    out = sets.emitter.child()
    sets.union_of_all([Name("a"), Name("z"), Const(1.0), Name("y")], out)
    assert written(sets, out) == [
        "s = tapec_runtime.union_of(sets, a_set)",
        "s_1 = tapec_runtime.union(sets, s, y_set)",
    ]
    assert sets.union_of_all([Name("z")], out) == Const(0)


def test_a_list_among_operands_is_refused():
    sets = sets_of("def f(a, x):\n    s_stack = stack()\n    s_stack.append(x)\n    y = s_stack.pop()\n    return y")
    with pytest.raises(NotDifferentiable, match="list `s_stack`"):
        sets.union_of_all([Name("s_stack")], sets.emitter.child())


def test_empty_sets_lie_as_their_elements_do():
    sets = sets_of()
    sets.types["v"] = Array("float64", 2, "F")
    out = sets.emitter.child()
    made = sets.zeros_like("v_set", "v", out)
    assert sets.types[made] == Array("int64", 2, "F")
    assert written(sets, out)[-2:] == ["t = np.zeros((size_1, size), dtype=np.int64)", "v_set = t.T"]
