"""The elements that iterations hand on: what is claimed of subscripts is compared with the elements that are met."""

from __future__ import annotations

from itertools import product

import pytest

from tapec.analyses.iterations import Access, Iterations
from tapec.backend import printer
from tapec.optimise.loops.carried_elements import Elements
from tapec.syntax.core import For
from tests.optimise.reading import read

LOOPS = ["range(1, n)", "range(n, 0, -1)"]
SUBSCRIPTS = ["i", "j", "j1", "k", "2"]


def elements(text: str) -> tuple[Elements, list[Access]]:
    """The first loop of a program, and its accesses to elements."""
    core = read(text)
    loop = next(stmt for stmt in core.body if isinstance(stmt, For))
    iterations = Iterations(core)
    return Elements(iterations, loop), list(iterations.accesses(loop.body))


def stored_before_loaded(loop: str, load: str, store: str, load_first: bool) -> bool:
    """Whether a loop comes to load an element that it has stored before, for some iteration counts."""
    for n in range(7):
        stored: set[tuple[int, int]] = set()
        for i in eval(loop, {"n": n}):
            names = {"i": i, "j": i - 1, "j1": i + 1, "k": n + 1}
            here, there = (eval(f"({subs})", dict(names)) for subs in (load, store))
            if here in stored or (not load_first and here == there):
                return True
            stored.add(there)
    return False


@pytest.mark.parametrize("loop", LOOPS)
def test_a_load_before_the_stores_of_its_element(loop: str):
    claims = 0
    pairs = [f"{row}, {column}" for row, column in product(("0", "i"), SUBSCRIPTS)]
    for load, store, load_first in product(pairs, pairs, (True, False)):
        stmts = [f"        t = A[{load}]", f"        A[{store}] = x"]
        text = f"""
def f(A, n, x):
    for i in {loop}:
        j = i - 1
        j1 = i + 1
        k = n + 1
{chr(10).join(stmts if load_first else reversed(stmts))}
    return x
"""
        found, accesses = elements(text)
        read_, written = sorted(accesses, key=lambda access: access.kind)
        if found.before_store(read_, written, load_first):
            claims += 1
            assert not stored_before_loaded(loop, load, store, load_first), text
    assert claims > 30


def pair(loop: str, body: str, array: str = "a") -> tuple[str, str, bool] | None:
    """The load, the addition and whether the element is cleared, of the accesses to an array."""
    text = f"""
def f(a, a_1, A, n, s):
    k = n + 1
    for i in {loop}:
        j = i - 1
        j1 = i + 1
        {body.replace("; ", chr(10) + "        ")}
    return s
"""
    found, accesses = elements(text)
    made = found.pair([one for one in accesses if found.iterations.may_share(one.array, array)])
    if made is None:
        return None
    load, add, cleared = made
    return *printer.statements((load, add), 0, quote=False), cleared  # type: ignore[return-value]


def test_an_element_that_one_iteration_adds_to_and_the_next_one_reads():
    assert pair("range(n, 0, -1)", "t = a[i]; u = t * s; a[j] += u") == ("t = a[i]", "a[j] += u", False)
    assert pair("range(n, 0, -1)", "t = a[i]; a[i] = 0.0; a[j] += t") == ("t = a[i]", "a[j] += t", True)
    assert pair("range(n)", "t = a[i]; a[i] = 0.0; a[j1] += 1.0") == ("t = a[i]", "a[j1] += 1.0", True)
    assert pair("range(1, n)", "t = a[j]; u = t * s; a[i] += u") == ("t = a[j]", "a[i] += u", False)
    assert pair("range(n)", "t = A[2, i]; A[2, j1] += t; x = A[3, i]", "A") == ("t = A[2, i]", "A[2, j1] += t", False)


@pytest.mark.parametrize(
    ("loop", "body"),
    [
        ("range(n)", "t = a[i]; a[j] += t"),  # of the iteration before, too late; and perhaps the last element
        ("range(1, n)", "t = a[i]; a[j] += t"),
        ("range(n, 0, -1)", "t = a[i]; a[i] += t"),
        ("range(n, 0, -1)", "t = a[i]; a[j] = t"),
        ("range(n, 0, -1)", "a[i] = 0.0; t = a[i]; a[j] += t"),  # cleared before it is read
        ("range(n, 0, -1)", "t = a[i]; a[j] = 0.0; a[j] += t"),
        ("range(n, 0, -1)", "t = a[i]; u = a[j]; a[j] += t"),  # read by somebody else
        ("range(n, 0, -1)", "t = a[i]; a[j] += t; a[2] += t"),
        ("range(n, 0, -1)", "t = a[i]; a[j] += t; a[k] = 0.0"),
        ("range(n, 0, -1)", "a_2 = a; t = a_2[i]; a[j] += t"),
        ("range(n, -1, -1)", "t = a[i]; a[j] += t"),  # j may be -1
        ("range(n, 0, -1)", "t = a[i]; a[j] += 1; a = a_1"),
    ],
)
def test_other_elements_are_not_handed_on(loop: str, body: str):
    assert pair(loop, body) is None


@pytest.mark.parametrize(
    ("subs", "along"), [("2, i", True), ("k, i", True), ("k, 2", True), ("i, 2", False), ("j, i", False)]
)
def test_rows(subs: str, along: bool):
    found, (access,) = elements(f"""
def f(A, n, k, s):
    for i in range(1, n):
        j = i - 1
        t = A[{subs}]
    return s
""")
    # k may count from the end
    assert found.along_row(access) == (along and "k" not in subs)


def test_an_access_of_another_array_is_no_proof():
    found, (load, store) = elements("""
    def f(a, a_1, n, s):
        for i in range(n):
            t = a[i]
            a_1[i] = s
        return s
    """)
    assert not found.before_store(load, store, True)
