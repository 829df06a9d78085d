"""Whether iterations side by side are worth it."""

from __future__ import annotations

import pytest

from tapec.analyses.iterations import Iterations
from tapec.analyses.lane_variance import Lanes
from tapec.optimise import costs
from tapec.optimise.name_origins import Fresh
from tapec.optimise.vectors.lane_gain import copied_stops, few, gains, short_loops
from tapec.optimise.vectors.lane_packing import Packed
from tapec.syntax.core import Const, For, Name, Op
from tests.optimise.reading import read


def asked(body: str, count: str = "n", few_extents: bool = False) -> tuple[For, Iterations]:
    """The loop with a body, and what is known of it."""
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    core = read(
        f"def f(A, a, a_1, n, k, k_1, x, c):\n    n_1 = a.shape[0]\n    for i in range({count}):\n{lines}    return x\n"
    )
    if few_extents:
        core = type(core)(**{**vars(core), "few": (Op("dim", (Name("a"), Const(0))),)})
    return next(stmt for stmt in core.body if isinstance(stmt, For)), Iterations(core)


def lanes_of(body: str) -> Lanes:
    loop, iterations = asked(body)
    lanes = Lanes(loop, iterations)
    assert iterations.is_parallel(loop) and lanes.separate()
    return lanes


PRODUCT = "s = x\nfor j in range({0}):\n    t = A[{1}]\n    s_1 = s * t\n    s = s_1\na[i] = s"
NESTED = "for j in range(k):\n    for j_1 in range({0}):\n        A[{1}] {2}"
TWO = "s = x\nfor j in range(k):\n    t = A[i, j]\n    s_1 = s * t\n    s = s_1\n" + (
    "for j_1 in range(k_1):\n    t_1 = A[i, j_1]\n    s_2 = s * t_1\n    s = s_2\na[i] = s"
)


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        # iterations of the inner loop wait for one another, and lanes read neighbours
        (PRODUCT.format("k", "j, i"), True),
        (PRODUCT.format("k", "i, j"), False),  # elements of lanes lie apart
        (PRODUCT.format("k", "j, 0"), True),  # one for all
        (PRODUCT.format("k", "0, n_1"), True),
        # elements that are read again and again are copied
        (
            "for j_2 in range(k_1):\n    "
            + PRODUCT.format("k", "i, j").replace("\n", "\n    ").replace("a[i] =", "a[i] +="),
            True,
        ),
        # what the inner loop takes lies apart, or it is short, or takes other numbers of iterations
        (NESTED.format("100", "j_1, i", "= x"), True),
        (NESTED.format("4", "j_1, i", "= x"), True),
        (NESTED.format("j", "j_1, i", "+= x"), True),
        # it runs on vectors by itself
        ("for j in range(k):\n    for j_1 in range(100):\n        a_1[j_1] += x", False),
        ("for j in range(k):\n    a_1[j] += x", False),
        # how long it is differs from lane to lane
        (NESTED.format("i", "j_1, i", "+= x"), False),
        # long, over memory of the iteration
        ("t = a[i]\na_2 = np.empty(k)\nfor j_2 in range(2):\n    for j in range(k):\n        a_2[j] = t", False),
        ("a_2 = np.empty(k)\nfor j in range(k):\n    t = a[i]\n    a_2[j] = t", False),
    ],
)
def test_what_an_iteration_does_decides(body: str, answer: bool):
    lanes = lanes_of(body)
    assert gains(lanes, Packed(lanes, Fresh(lanes.iterations.types))) is answer


def test_copies_for_one_loop_alone_are_worth_it_where_two_loops_wait():
    for body, stops in (
        (TWO, {"k", "k_1"}),
        (PRODUCT.format("k", "i, j"), set()),
        (TWO.replace("range(k)", "range(3)"), {"k_1"}),
    ):
        lanes = lanes_of(body)
        packed = Packed(lanes, Fresh(lanes.iterations.types), once=True)
        assert copied_stops(lanes, packed) == stops
        assert not gains(lanes, Packed(lanes, Fresh(lanes.iterations.types)))


CALLS = """a_2 = np.empty(k)
for j in range({0}):
    t = A[i, j]
    u = {1}
    a_2[j] = u
s = x
for j_1 in range(k):
    t_1 = a_2[j_1]
    s_1 = s + t_1
    s = s_1
a[i] = s"""


@pytest.mark.parametrize(
    ("body", "stops"),
    [
        (CALLS.format("k", "np.exp(t)"), {"k"}),
        (CALLS.format("k_1", "np.exp(t)"), {"k", "k_1"}),
        (CALLS.format("k", "t * t"), set()),  # nothing is called
        (CALLS.format("1, k", "np.exp(t)"), set()),
        (CALLS.format("5", "np.exp(t)"), set()),
        (CALLS.format("n", "np.exp(t)"), set()),  # as few lanes as are short
        (
            CALLS.format("k", "np.exp(t)").replace("s + t_1\n    s = s_1", "t_1 * x\n    a_2[j_1] = s_1"),
            set(),
        ),  # or handed on
        (
            CALLS.format("k", "np.exp(t)").replace(
                "u = ", "".join(f"x_{k} = A[i, j]\n    " for k in range(3)) + "u = "
            ),
            set(),
        ),
    ],
)
def test_loops_that_call_functions_have_to_be_short(body: str, stops: set[str]):
    assert short_loops(lanes_of(body)) == stops


@pytest.mark.parametrize(
    ("body", "count", "answer"),
    [
        ("for j in range(k):\n    A[j, i] = x", "n", False),
        ("for j in range(k):\n    A[j, i] = x", str(costs.LANES), False),
        ("for j in range(k):\n    A[j, i] = x", str(costs.LANES - 1), True),
        ("for j in range(k):\n    A[j, i] = x", "n_1", True),
        ("a[i] = x", "n", True),
    ],
)
def test_few_iterations_or_no_loop_inside(body: str, count: str, answer: bool):
    assert few(*asked(body, count, few_extents=True)) is answer
