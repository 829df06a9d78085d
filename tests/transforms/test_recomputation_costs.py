"""What it costs to have a value again, and what gives the same when it is run again."""

from __future__ import annotations

import pytest

from tapec.syntax.core import Assign, Call, Const, For, Name, Op, Push, Stmt, Store
from tapec.transforms.recomputation_costs import EXPENSIVE, LOAD, STORE, STORE_OUTSIDE, allocates, repeatable
from tapec.transforms.reverse import Reversal
from tests.transforms.reversals import reversal

PROGRAM = """
def f(x, z, n, a, a_w):
    s = x
    for i in range(n):
        v = a[i]
        w = a_w[i]
        a_w[i] = s
        p = v * z
        q = p + v
        e = np.exp(q)
        d = np.sqrt(q)
        p_2 = q ** 2
        p_3 = q ** 3.5
        e_1 = e * 2.0
        for j in range(n):
            a_v = a[1:]
            t = s * e
            u = t * t
            r = u + w
            s_2 = r + d
        s_3 = s * p_2
        s_4 = s_3 * p_3
        s_5 = s_4 * e_1
        s = s_5
    return s
"""


@pytest.fixture(scope="module")
def worker() -> Reversal:
    return reversal(PROGRAM, ("x", "z", "a", "a_w"))


def made(worker: Reversal, name: str) -> Assign:
    (stmt,) = worker.scopes.defs[name]
    assert isinstance(stmt, Assign)
    return stmt


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("v", LOAD),
        ("p", 0.3),
        ("q", 0.3),
        ("e", EXPENSIVE),
        ("d", 2.0),
        ("p_2", 0.3),
        ("p_3", EXPENSIVE),
        ("a_v", 1.0),
        # what it loads is overwritten
        ("w", EXPENSIVE),
    ],
)
def test_costs_of_operations(worker: Reversal, name: str, expected: float):
    planner = worker.planner
    assert planner._own_cost(made(worker, name), worker.scopes.scope_of[name]) == expected
    assert planner.expensive(made(worker, name)) is (expected >= STORE)


def test_costs_of_operands_count():
    """Of a value that nothing has been decided of."""
    worker = reversal(PROGRAM, ("x", "z", "a", "a_w"))
    planner = worker.planner
    planner._done.clear()
    scope = worker.scopes.scope_of["q"]
    # a load, and a product and a sum of it
    assert planner._cost("q", scope) == pytest.approx(0.3 + (0.3 + LOAD) + LOAD)
    assert planner._cost("x", scope) == planner._cost("i", scope) == 0.0
    assert planner._cost("e", scope) >= EXPENSIVE
    # once for all iterations of the loop inside
    assert planner._cost("e", worker.scopes.scope_of["u"]) == STORE_OUTSIDE
    assert planner._cost("s", scope) == STORE and planner._cost("s", worker.scopes.scope_of["u"]) == STORE_OUTSIDE
    planner._done.add(("e", scope.key))
    assert planner._cost("e", scope) == 0.0


def test_loops_around_a_region(worker: Reversal):
    planner, scopes = worker.planner, worker.scopes
    inner, outer = scopes.scope_of["u"], scopes.scope_of["v"]
    assert planner.chain(inner) == (outer, inner) and planner.chain(outer) == (outer,)
    assert planner.chain(scopes.root) == ()
    assert planner.root(inner) is scopes.root
    planner.plan.replayed.add(outer.key)
    assert planner.chain(inner) == (inner,) and planner.root(inner) is outer
    planner.plan.replayed.clear()


def test_what_is_the_same_in_all_iterations(worker: Reversal):
    planner, scopes = worker.planner, worker.scopes
    inner, outer = scopes.scope_of["u"], scopes.scope_of["v"]
    # of the inner loop, what it reads from outside; of the outer one nothing that depends on its variable
    assert planner._same_in("v", inner) and planner._same_in("s", inner) and planner._same_in("z", outer)
    assert planner._same_in("u", inner)
    assert not any(planner._same_in(name, outer) for name in ("i", "v", "w", "s", "u", "q"))
    assert planner._same_in("j", outer) and not planner._same_in("j", inner)


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        (Assign("x", Op("np.sin", (Name("y"),))), True),
        (Assign("x", Op("pop", (Name("s_stack"),))), False),
        (Assign("x", Op("np.random.normal", ())), False),
        (Call((), "np.random.shuffle", (Name("a"),)), False),
        (Call(("x",), "recursive", (Name("y"),)), False),
        (Call(("x",), "np.linalg.qr", (Name("y"),)), True),
        (Store("a", (Const(0),), Name("x")), True),
        (Assign("x", Name("y")), True),
        (Push("s_stack", Name("x")), True),
    ],
)
def test_what_gives_the_same_when_it_is_run_again(stmt: Stmt, expected: bool):
    assert repeatable(stmt) is expected


def test_what_makes_memory():
    assert allocates(Assign("a", Op("zeros", (Const("float64"), Const(3)))))
    assert allocates(Assign("a", Op("empty", (Const("float64"), Const(3)))))
    assert not allocates(Assign("a", Name("b"))) and not allocates(Assign("a", Op("transpose", (Name("b"),))))
    assert not allocates(For("i", Const(0), Const(1), Const(1), ()))
