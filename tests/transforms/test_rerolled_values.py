"""What stands in one place in all iterations of a loop, as one value of the loop."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tapec.backend import printer
from tapec.syntax.core import Assign, Atom, Const, Function, Name, Op, Return
from tapec.transforms.rerolled_values import Body, NotOneLoop, Values
from tests.optimise.reading import read

PROGRAM = """
def f(x, w, w_1, w_2, w_3, a, a_1, a_2, A, A_1, A_2, A_3, a_w):
    n = a.shape[0]
    n_1 = a_1.shape[0]
    k_A = A.shape[0]
    k_B = A.shape[1]
    a_w[0] = x
    {more}
    t = x * 2.0
    return t
"""


class Place:
    """A place in a loop of three iterations."""

    def __init__(self, more: str = "pass", whole: bool = False) -> None:
        function = read(PROGRAM.format(more=more))
        self.values = Values(function, set(function.params), (), (), frozenset() if whole else None)
        self.values.counts[3] = "count"
        # an iteration reads `s` and `y`, under names of its own
        own = [{f"y_{k}": "y_0", f"s_{k}": "s_0"} for k in range(3)]
        self.body = Body([()] * 3, "k", {name: k for k, names in enumerate(own) for name in names}, own)
        self.values.types |= {name: self.values.types["x"] for names in own for name in names}
        self.head = self.values.emitter.child()

    def of(self, *found: str | int | float) -> tuple[Atom, list[str]]:
        """One value for all iterations, and the statements that make it at their head."""
        atoms: Sequence[Atom] = [Name(one) if isinstance(one, str) else Const(one) for one in found]
        value = self.values.atom(tuple(atoms), self.body, self.head)
        function = Function("f", (), (*self.head.out, Return((Const(0),))), self.values.types)
        return value, [line.strip() for line in printer.function(function, quote=False).splitlines()[1:-1]]


def test_what_is_alike_stays_or_is_an_iterations_own_or_is_carried():
    place = Place()
    assert place.of("x", "x", "x") == (Name("x"), []) and place.of(2.0, 2.0, 2.0) == (Const(2.0), [])
    assert place.of("y_0", "y_1", "y_2") == (Name("y_0"), [])
    carried, _ = place.of("x", "y_0", "y_1")
    assert place.body.carried == {("y_0", Name("x")): carried.id} and carried != Name("y_0")  # type: ignore[union-attr]
    # the same again is the same name, with another start it is another one
    assert place.of("x", "y_0", "y_1")[0] == carried != place.of("w", "y_0", "y_1")[0]


@pytest.mark.parametrize(
    "found",
    [
        ("y_0", "y_1", "s_2"),
        ("x", "y_1", "y_0"),
        ("y_2", "y_0", "y_1"),
        ("x", "x", "y_1"),
        ("x", "y_0", "s_1"),
        # an integer is no start for numbers
        (1, "y_0", "y_1"),
        # what is written into is no input
        ("a", "a_1", "a_w"),
        # an input that is asked for twice, or in no order
        ("w", "w_1", "w"),
        ("x", "t", "w"),
        (True, False, True),
    ],
)
def test_what_is_no_one_value(found: tuple[str | int | float, ...]):
    place = Place()
    with pytest.raises(NotOneLoop):
        place.of(*found)


def test_integers_are_counted_and_others_stand_in_a_table():
    place = Place()
    assert place.of(0, 1, 2) == (Name("k"), [])
    assert place.of(7, 5, 3)[1] == ["t_1 = k * -2", "t_2 = t_1 + 7"]
    place = Place()
    assert place.of(0, 1, 3)[1] == ["size = numbers[k]"]
    place.of(0.0, -0.0, 0.0)
    place.of(0.0, 0.0, -0.0)
    place.of(0.0, -0.0, 0.0)
    assert [list(map(repr, entries)) for entries, _ in place.values.tables.values()] == [
        ["0", "1", "3"],
        ["0.0", "-0.0", "0.0"],
        ["0.0", "0.0", "-0.0"],
    ]


def test_inputs_of_one_type_are_packed_with_starts_and_extents():
    place = Place()
    place.of("w", "w_1", "w_2")
    place.of("a", "a_1", "a_2")
    place.of("A", "A_1", "A_2")
    assert [(column.names, bool(column.starts), len(column.extents)) for column in place.values.columns] == [
        (("w", "w_1", "w_2"), False, 0),
        (("a", "a_1", "a_2"), True, 0),
        (("A", "A_1", "A_2"), True, 2),
    ]
    # the same inputs from the last one to the first are in the same column, others are not
    value, head = place.of("w_2", "w_1", "w")
    assert head[-3:] == ["t_8 = k * -1", "t_9 = t_8 + 2", f"{value.id} = items[t_9]"]  # type: ignore[union-attr]
    with pytest.raises(NotOneLoop):
        place.of("w_1", "w_2", "w_3")


def test_extents_of_packed_inputs_follow_from_the_items():
    place = Place("n_2 = a_2.shape[0]")
    _, head = place.of("n", "n_1", "n_2")
    assert head[-1].endswith(".shape[0]") and len(place.values.columns) == 1
    # those of other axes stand in a table
    assert Place().of("n", "n_1", "k_B")[1] == ["size = numbers[k]"]


def test_numbers_that_the_program_computes_are_gathered_where_results_are_packed():
    with pytest.raises(NotOneLoop):
        Place().of("t", "x", "w")
    place = Place(whole=True)
    _, head = place.of("t", "x", "w")
    assert head == ["t_1 = numbers[k]"]
    assert [type(stmt).__name__ for stmt in place.body.before] == ["Assign", "Store", "Store", "Store"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Op("dim", (Name("a"), Const(0))), True),
        (Op("dim", (Name("t"), Const(0))), False),
        (Op("load", (Name("a"), Const(0))), False),
        (Op("+", (Name("x"), Const(1))), False),
        (Name("x"), False),
    ],
)
def test_what_is_known_wherever_it_is_asked_for(value: Op, expected: bool):
    assert Place().values._is_known(value) is expected
    assert Assign("n", value) not in Place().values.body or not expected
