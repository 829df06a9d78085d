"""Which arrays may share memory, and which elements keep their value: compared with runs of the program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapec.analyses.aliases import aliases, as_large, memory, origins
from tapec.analyses.scopes import scopes
from tapec.syntax.core import Assign, Const, Name, Op, Store, walk
from tests.optimise.reading import read

SHARING = """
def f(A, a, n, c):
    a_1 = a[1:]
    a_2 = A[0]
    A_1 = A.T
    a_3 = A.reshape(n)
    a_4 = np.zeros(n)
    a_5 = a_4
    if c:
        a_6 = a
    else:
        a_6 = a_4
    a_7 = a_1 if c else a_1
    a_8 = np.zeros(n)
    B = np.zeros((n, n))
    B_stack = stack()
    B_stack.append(B)
    B_1 = B_stack.pop()
    C = np.zeros((n, n))
    x = a[0]
    C[0, 0] = x
    return x
"""


def test_names_that_share_memory_are_of_one_class():
    function = read(SHARING)
    found = aliases(function)
    classes = [
        {"a", "a_1", "a_4", "a_5", "a_6", "a_7"},
        {"A", "a_2", "A_1", "a_3"},
        {"a_8"},
        {"B", "B_stack", "B_1"},
        {"C"},
    ]
    for names in classes:
        assert len({found.find(name) for name in names}) == 1, names
    assert len({found.find(name) for names in classes for name in names}) == len(classes)


def test_parameters_share_memory_where_that_is_said():
    function = read("def f(a, a_1, a_2):\n    return a")
    assert len({aliases(function).find(name) for name in function.params}) == 3
    found = aliases(replace(function, shared=(frozenset({"a", "a_2"}),)))
    assert found.find("a") == found.find("a_2") != found.find("a_1")


def test_arrays_that_one_name_may_stand_for_are_not_one_memory():
    function = read(SHARING)
    found = origins(function.body, function.types)
    assert found["a_6"] == {"a", "a_4"} and found["a_5"] == {"a_4"} and found["a_1"] == {"a"}
    assert found["B_1"] == {"B", "B_stack"} and found["a_3"] == {"A"} and found["a_8"] == {"a_8"}


def test_origins_follow_what_a_loop_carries():
    text = "def f(a, a_1, n):\n    a_2 = a\n    for i in range(n):\n        a_3 = a_2\n        a_2 = a_1\n    return a"
    function = read(text)
    assert origins(function.body, function.types)["a_3"] == {"a", "a_1"}


@pytest.mark.parametrize(
    ("value", "array"),
    [
        (Op("copy", (Name("a"),)), "a"),
        (Op("np.linalg.solve", (Name("A"), Name("a"))), "a"),
        (Op("np.linalg.inv", (Name("A"),)), "A"),
        (Op("np.dot", (Name("A"), Name("a"))), None),
        (Op("copy", (Const(1.0),)), None),
        (Name("a"), None),
    ],
)
def test_what_a_result_is_as_large_as(value, array):
    assert as_large(value) == array


# `x` is loaded from `a`; what follows may store into it
LOADED = """
def f(a, a_o, n, k, c):
    {before}
    for i in range(n):
        i_1 = i + 1
        i_2 = i - 1
        {first}
        x = a[{place}]
        {last}
    {behind}
    return x
"""
CASES = [
    ({}, True),
    ({"behind": "a[k] = 0.0"}, False),
    ({"behind": "a_o[k] = 0.0"}, True),
    ({"before": "a_v = a[1:]", "behind": "a_v[k] = 0.0"}, False),
    ({"before": "a[k] = 0.0"}, True),
    ({"last": "a[i] = 0.0"}, False),
    ({"first": "a[i] = 0.0"}, True),
    ({"first": "a[i] += 1.0"}, True),
    ({"last": "a[i_1] = 0.0"}, True),
    ({"first": "a[i_1] = 0.0"}, True),
    ({"place": "i_1", "last": "a[i] = 0.0"}, False),
    # the last element, in the first iteration
    ({"place": "i_2", "last": "a[i] = 0.0"}, False),
    ({"last": "a[i_2] = 0.0"}, False),
    ({"last": "if c: a[k] = 0.0"}, False),
    ({"first": "if c: a[k] += 1.0"}, False),
    ({"place": "k", "last": "a[k] = 0.0"}, False),
]


def _changes(text: str, extent: int, k: int, c: bool) -> bool:
    """Whether an element is another one at the end than it was when it was loaded."""
    lines = text.splitlines()
    (load,) = (place for place, line in enumerate(lines) if line.startswith("        x = a["))
    lines.insert(load + 1, f"        seen.append((({lines[load].strip()[6:-1]}) % len(a), x))")
    scope: dict = {"np": np, "seen": []}
    exec("\n".join(lines), scope)
    a = np.arange(1.0, 1.0 + extent)
    try:
        scope["f"](a, np.ones(extent), 4, k, c)
    except IndexError:
        return False
    return any(a[place] != x for place, x in scope["seen"])


@pytest.mark.parametrize(("parts", "stable"), CASES)
def test_elements_that_no_store_follows(parts, stable):
    text = LOADED.format(**({"before": "", "first": "", "last": "", "behind": "", "place": "i"} | parts))
    function = read(text)
    load = next(stmt for stmt in walk(function.body) if isinstance(stmt, Assign) and stmt.target == "x")
    found = scopes(function)
    assert memory(function, found, aliases(function), frozenset()).stable(load, "a") == stable
    changes = any(_changes(text, extent, k, c) for extent in (4, 5) for k in range(-5, 5) for c in (False, True))
    assert changes != stable, "a run says otherwise"


INNER = """
def f(a, a_o, n, k):
    for j in range(n):
        j_1 = j + 1
        a_n = np.zeros(n)
        x = a[j]
        y = a[k]
        z = a_n[0]
        for i in range(n):
            {store} = 1.0
            v = a[j]
            w = a[i]
    return x
"""


@pytest.mark.parametrize(
    ("store", "constant", "before"),
    [
        ("a_o[0]", {"v", "w"}, {"v", "w"}),
        ("a[j]", set(), set()),
        ("a[j_1]", {"v"}, {"v"}),
        ("a[k]", set(), set()),
        ("a[i]", set(), set()),
        ("a_n[i]", {"v", "w"}, {"v", "w"}),
    ],
)
def test_elements_that_no_iteration_stores(store, constant, before):
    function = read(INNER.format(store=store))
    found = scopes(function)
    known = memory(function, found, aliases(function), frozenset())
    (inner,) = found.body[found.defs["i"][0].key]
    (outer,) = found.body[found.defs["j"][0].key]
    loads = {stmt.target: stmt for name in ("v", "w") for stmt in found.defs[name]}
    assert {name for name, load in loads.items() if known.constant_in(load, "a", inner)} == constant
    assert {name for name, load in loads.items() if known.as_before(load, "a", inner)} >= before
    assert known.whole_in("a", inner) == (not store.startswith("a["))
    assert known.local_to("a_n", outer) and not known.local_to("a_n", inner) and not known.local_to("a", outer)


def test_a_store_later_in_an_iteration_leaves_what_was_there_before_the_loop():
    function = read("def f(a, n):\n    for i in range(n):\n        x = a[i]\n        a[i] = 1.0\n    return x")
    found = scopes(function)
    known = memory(function, found, aliases(function), frozenset())
    (loop,) = found.body[found.defs["i"][0].key]
    load = found.defs["x"][0]
    assert known.as_before(load, "a", loop) and not known.constant_in(load, "a", loop)
    (store,) = (stmt for stmt in walk(function.body) if isinstance(stmt, Store))
    assert known.stable(store, "a")
