"""Loops whose iterations can run in any order: compared with runs in other orders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapec.analyses.dependence import Affine
from tapec.analyses.iterations import Iterations
from tapec.syntax.core import Const, For, Name, Op, walk
from tests.optimise.reading import read

LOOP = """
def f(a, a_o, A, x, n, k, c, r_stack):
    s = 0.0
    a_1 = a
    a_2 = a[1:]
    a_n = np.zeros(6)
    j_0 = 0
    for i in order(range({bounds})):
        i_1 = i + 1
        i_2 = i - 1
        i_3 = 2 * i
        k_1 = int(a_o[i])
        {body}
    return s, a_n{result}
"""
# whether the order is free; whether no two iterations add to one element, either
CASES = [
    ("a[i] = x", True, True),
    ("v = a[i]; a[i] = v + x", True, True),
    ("v = a_o[i_1]; a[i] = v", True, True),
    ("a[i] += x; a[i_1] += x", True, False),
    ("a[k_1] += x", True, False),
    ("a[0] += x", True, False),
    ("v = a_o[i]; s_1 = s + v; s = s_1", True, True),
    ("v = a_o[i]; s_1 = s - v; s_2 = s_1 + x; s = s_2", True, True),
    ("v = a_o[i]\n        if c: s = s + v", True, True),
    ("for j in range(3): A[i, j] = x", True, True),
    ("A[i_3, 0] = x; v = A[i_3, 1]; A[i_3, 2] = v", True, True),
    ("a_t = np.zeros(3); a_t[0] = x; v = a_t[0]; a[i] = v", True, True),
    # iterations meet
    ("a[0] = x", False, False),
    ("v = a[i_1]; a[i] = v", False, False),
    ("v = a[i_2]; a[i] = v", False, False),
    ("a[k_1] = x", False, False),
    ("a[i] = x; v = a_1[i_1]; a_o[i] = v", False, False),
    ("a[i] = x; v = a_2[i]; a_n[i] = v", False, False),
    ("a[i] = x; a[i_1] += x", False, False),
    ("a[k_1] += x; v = a[i]; a_n[i] = v", False, False),
    ("v = a[i_2]; a[i_3] = v", False, False),
    ("for j in range(3): A[j, i] = x\n        v = A[i, 0]; a[i] = v", False, False),
    ("a_n[0] = x; v = a_n[0]; a_n[i] = v", False, False),
    # a variable is more than added to, or read on the way
    ("v = a_o[i]; s_1 = v - s; s = s_1", False, False),
    ("v = a_o[i]; s_1 = s * v; s = s_1", False, False),
    ("v = a_o[i]; s_1 = s + v; a[i] = s_1; s = s_1", False, False),
    ("v = a_o[i]; s_1 = s + s; s_2 = s_1 + v; s = s_2", False, False),
    ("v = a_o[i]; s = v", False, False),
    ("j_0 = i", False, False),
    # an array is handed on
    ("a[i] = x; a_1 = a_o", False, False),
    # effects
    ("print(x)", False, False),
    ("v = r_stack.pop(); a[i] = v", False, False),
    ("r_stack.append(x)", False, False),
    ("if c: break\n        a[i] = x", False, False),
    ("v = np.random.rand(); a[i] = v", False, False),
    ("if x > 2.0: raise ValueError()", False, False),
]


def _results(text: str, order: object) -> list[np.ndarray]:
    scope: dict = {"np": np, "order": order, "print": lambda x: None}
    exec(text, scope)
    numbers = np.random.default_rng(3)
    arrays = numbers.normal(size=7), np.array([1.0, 0.0, 4.0, 1.0, 2.0, 5.0, 3.0]), numbers.normal(size=(7, 7))
    stack = [1.0, 2.0, 3.0, 4.0]
    results = scope["f"](*arrays, 0.7, 4, 1, True, stack)
    return [*map(np.asarray, results), *arrays, np.array(stack)]


@pytest.mark.parametrize(("body", "parallel", "alone"), CASES)
def test_any_order(body, parallel, alone):
    result = ", j_0" if "j_0 =" in body else ""
    text = LOOP.format(bounds="n", body=body, result=result)
    function = read(text.replace("order(range(n))", "range(n)"))
    iterations = Iterations(function)
    (loop,) = (stmt for stmt in walk(function.body) if isinstance(stmt, For) and stmt.var == "i")
    assert iterations.is_parallel(loop) == parallel
    assert iterations.is_independent(loop) == alone
    if parallel:
        first, last = _results(text, list), _results(text, lambda counts: reversed(list(counts)))
        assert all(np.allclose(one, other, rtol=1e-12) for one, other in zip(first, last, strict=True))


@pytest.mark.parametrize("bounds", ["1, n", "3, -1, -1", "0, 4, 2", "n, 0, -1"])
def test_other_steps(bounds):
    for body, parallel in (("a[i] = x", True), ("v = a[i_1]; a[i] = v", False)):
        function = read(LOOP.format(bounds=bounds, body=body, result="").replace("order(range", "(range"))
        (loop,) = (stmt for stmt in walk(function.body) if isinstance(stmt, For) and stmt.var == "i")
        step_of_two = bounds.endswith("2") and not bounds.endswith("-2")
        assert Iterations(function).is_parallel(loop) == (parallel or step_of_two)


@pytest.mark.parametrize("bounds", ["-2, 2", "-1, -4, -1"])
def test_the_same_element_from_the_front_and_from_the_end(bounds):
    function = read(LOOP.format(bounds=bounds, body="a[i] = x", result="").replace("order(range", "(range"))
    (loop,) = (stmt for stmt in walk(function.body) if isinstance(stmt, For) and stmt.var == "i")
    assert not Iterations(function).is_parallel(loop)


ASKED = read("""
    def f(a, A, n, k):
        a_1 = a[1:]
        a_2 = a_1[2:]
        a_3 = np.zeros(n)
        k_1 = n + 2
        k_2 = k_1 - 5
        n_1 = A.shape[0]
        n_2 = min(n_1, n)
        n_3 = max(n_1, 0)
        k_c = k
        for i in range(n):
            i_1 = i + 1
            x = a[i]
            a_4 = np.zeros(n)
            a[i_1] = x
            s = a_4[0]
            k_c = i
        return x
    """)


def test_accesses_in_groups():
    iterations = Iterations(ASKED)
    (loop,) = (stmt for stmt in ASKED.body if isinstance(stmt, For))
    groups = [[(one.array, one.kind) for one in group] for group in iterations.groups(loop.body)]
    assert groups == [[("a", "load"), ("a", "store")], [("a_4", "load")]]
    found = iterations.conflict(loop)
    assert found is not None and (found.array, found.kind, found.index) == ("a", "store", (Name("i_1"),))
    assert iterations.own("a_4", loop.body) and not iterations.own("a", loop.body)
    assert iterations.carried_variable(loop) == "x"
    assert iterations.left_over(loop, {"x"}) and iterations.left_over(loop, {"k_c"})
    assert not iterations.left_over(loop, {"i_1", "s"})


def test_arrays_that_may_share_memory():
    iterations = Iterations(ASKED)
    assert iterations.may_share("a", "a_2") and not iterations.may_share("a", "a_3")
    assert iterations.may_share("a_3", "a_3")


def test_subscripts():
    iterations = Iterations(ASKED)
    assert iterations.subscript(Name("k_2")) == Affine("n", -3)
    assert iterations.subscript(Op("+", (Name("n"), Const(1)))) is None
    assert iterations.different((Name("i"),), (Name("i_1"),))
    assert iterations.different((Const(0),), (Const(1),))
    # -1 may be the same as any
    assert not iterations.different((Const(-1),), (Const(1),))
    assert not iterations.different((Name("k"),), (Name("i"),))
    assert not iterations.different((Name("i"),), (Name("i_1"), Const(0)))
    load = next(stmt for stmt in walk(ASKED.body) if getattr(stmt, "target", "") == "x")
    assert iterations.never_negative(Name("i"), load) and not iterations.never_negative(Name("k"), load)
    assert iterations.fixed(Name("k_1")) and iterations.fixed(Const(1)) and not iterations.fixed(Name("k_c"))


def test_numbers_of_few_elements():
    few = Iterations(replace(ASKED, few=(Op("dim", (Name("A"), Const(0))),)))
    assert all(few.is_few(Name(name)) for name in ("n_1", "n_2", "n_3"))
    assert not few.is_few(Name("n")) and not Iterations(ASKED).is_few(Name("n_1"))


def test_subscripts_before_they_lost_their_sign():
    function = read("def f(a, n):\n    i = uint64(n)\n    x = a[i]\n    return x")
    (made, *rest) = function.body
    function = replace(function, body=(replace(made, value=Op("cast.uint64", (Name("n"),))), *rest))
    iterations = Iterations(function)
    assert iterations.signed(Name("i")) == Name("n") and iterations.signed(Name("n")) == Name("n")
