"""Which names carry derivatives from a source to a target."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapec.analyses.activity import Activity, call_operands, edges, is_callee, outputs, reach, refuse_outside
from tapec.analyses.aliases import aliases
from tapec.syntax.core import Assign, Call, Const, Name, Op, Push, Store
from tapec.syntax.custom_rule import Custom, Opaque
from tests.optimise.reading import read


def activity(text: str, source: str = "x", target: str = "r", shared: tuple[str, ...] = ()) -> Activity:
    function = read(text)
    function = replace(function, shared=(frozenset(shared),) if shared else ())
    return Activity(function, aliases(function), {source}, {target})


CASES = [
    ("y = np.sin(x)\n    r = y * z", "x y r"),
    ("y = x * 2.0\n    r = z", "r"),
    ("y = z * 2.0\n    r = x + y", "x r"),
    # an integer has no derivative, and hands none on
    ("i = int(x)\n    y = float(i)\n    r = y + z", "r"),
    ("c = x > 0.0\n    r = z if c else y", "r"),
    ("c = x > 0.0\n    r = x if c else z", "x r"),
    ("y = np.floor(x)\n    r = y + z", "r"),
    # an operand without a derivative
    ("y = np.copysign(z, x)\n    r = y + z", "r"),
    ("y = np.copysign(x, z)\n    r = y + z", "x y r"),
    ("y = stop_gradient(x)\n    r = y + z", "r"),
    # through elements, views and lists
    ("a[0] = x\n    r = a[1]", "x a r"),
    ("a_1 = a[1:]\n    a_1[0] = x\n    r = a[1]", "x a a_1 r"),
    ("a[0] = x\n    r = a_o[1]", "r"),
    ("a[0] += x\n    r = a[1]", "x a r"),
    ("r_stack = stack()\n    r_stack.append(x)\n    r = r_stack.pop()", "x r_stack r"),
    # a subscript has none
    ("i = int(x)\n    r = a[i]", "r"),
    # on one way, and what a loop carries
    ("y = z\n    if c:\n        y = x\n    r = y", "x y r"),
    ("y = z\n    u = x\n    for i in range(n):\n        r = y\n        y = u\n        u = z", "x u y r"),
    ("while True:\n        r = y\n        y = x\n        break", "x y r"),
    # later stores count, too: memory is one
    ("r = a[0]\n    a[0] = x", "x a r"),
]


@pytest.mark.parametrize(("body", "names"), CASES)
def test_what_is_active(body, names):
    text = f"def f(x, y, z, a, a_o, n, c):\n    {body}\n    return r"
    found = activity(text)
    active = {name for name in read(text).types if name in found}
    # the target is useful, whether or not it varies
    assert active == set(names.split()) - ({"r"} if not found.varies("r") else set())


def test_what_varies_and_what_matters():
    found = activity("def f(x, z):\n    y = x * z\n    w = x + y\n    r = y * z\n    return r")
    assert found.varies("w") and not found.matters("w") and "w" not in found
    assert found.matters("z") and not found.varies("z") and "z" not in found


def test_parameters_that_share_memory_are_active_together():
    text = "def f(x, a, a_o):\n    a[0] = x\n    r = a_o[0]\n    return r"
    assert "x" not in activity(text)
    assert "x" in activity(text, shared=("a", "a_o"))


class Rule:
    """A rule of one result and one operand; one more argument must have no derivative."""

    results, operands, outside, read = 1, 1, 1, frozenset()

    def refuse(self, name: str) -> Exception:
        return LookupError(name)


def test_operations_with_a_rule_of_their_own_depend_on_its_operands_and_on_what_it_does_not_know():
    value = Op(Custom("own", Rule()), (Name("v"), Name("x"), Name("z"), Name("w")))
    assert list(edges(Assign("y", value))) == [("x", "y"), ("z", "y")]
    call = Call(("y",), Custom("own", Rule()), value.args)
    assert list(call_operands(call)) == ["x", "z"]


def test_what_a_rule_does_not_know_is_refused_where_it_has_a_derivative():
    rule, found = Rule(), activity("def f(x, z):\n    r = x * 2.0\n    return r")
    refuse_outside(rule, (Name("x"), Name("z")), found)
    refuse_outside(rule, (Name("x"), Const(1.0)), found)
    with pytest.raises(LookupError, match="x"):
        refuse_outside(rule, (Name("z"), Name("x")), found)


@pytest.mark.parametrize(
    ("stmt", "found"),
    [
        (Call(("y",), "callee", (Name("x"), Name("a")), changes=(1,)), {"x y", "x a", "a y", "a a"}),
        (Call(("y",), Opaque("f__1", None, None), (Name("x"),)), {"x y"}),
        (Call(("y",), "np.no_primitive", (Name("x"),)), set()),
        (Assign("y", Op(Opaque("f__1", None, None), (Name("x"),))), {"x y"}),
        (Assign("y", Op("np.dot", (Name("a"), Name("b")))), {"a y", "b y"}),
        (Assign("y", Op("nobody.knows", (Name("x"),))), {"x y"}),
        (Assign("y", Const(1.0)), set()),
        (Store("a", (Name("i"),), Name("x")), {"x a"}),
        (Store("a", (Name("i"),), Const(1.0)), set()),
        (Push("s", Name("x")), {"x s"}),
    ],
)
def test_edges(stmt, found):
    assert {" ".join(edge) for edge in edges(stmt)} == found


def test_calls():
    assert is_callee("step") and not is_callee("np.linalg.eigh") and not is_callee(Opaque("f__1", None, None))
    assert outputs(Call(("y",), "step", (Name("a"), Name("b")), changes=(1,))) == ("y", "b")


def test_reach_ends_where_edges_go_round():
    assert reach({"a"}, {"a": ["b"], "b": ["a", "c"], "d": ["e"]}) == {"a", "b", "c"}
