"""Nests of three loops that add products: what their terms are, and which nests are none."""

from __future__ import annotations

import pytest

from tapec.analyses.iterations import Iterations
from tapec.optimise.contractions.loop_nests import Nest, Refused
from tapec.syntax.core import For
from tests.optimise.reading import read

NEST = """
def f(A, B, C, a, c, n, m, k, s):
    {outside}
    for i in range(n):
        {head}
        for j in range(m):
            {before}
            for k1 in range({inner}):
                {body}
            {after}
    return {result}
"""
PLAIN = {
    "outside": "s1 = s",
    "head": "h = 1.0",
    "before": "b = 1.0",
    "inner": "k",
    "body": "u = A[i, j]; v = B[j, k1]; p = u * v; C[i, k1] += p",
    "after": "",
    "result": "s",
}
SUM = {"before": "t = 0.0", "body": "u = A[i, k1]; v = B[j, k1]; p = u * v; t1 = t + p; t = t1", "after": "C[i, j] = t"}


def nest(**parts: str) -> Nest:
    lines = NEST.format(**{**PLAIN, **parts}).splitlines()
    function = read("\n".join(line for line in lines if line.strip()))
    (loop,) = (stmt for stmt in function.body if isinstance(stmt, For))
    return Nest(loop, Iterations(function))


def terms(**parts: str) -> list[tuple[str, str, str]]:
    return [(term.first, term.second, term.over) for term in nest(**parts).terms]


TWO = "u = A[i, k1]; v = B[j, k1]; p = u * v; t1 = t + p; t = t1; w = A[i, j]; q = w * v; C[i, k1] += q"


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({}, [("u", "v", "j")]),
        (SUM, [("u", "v", "k1")]),
        ({**SUM, "body": SUM["body"].replace("t + p", "t - p")}, [("u", "v", "k1")]),
        ({**SUM, "body": TWO, "after": "s2 = t"}, [("u", "v", "k1"), ("w", "v", "j")]),
        ({"body": "u = A[i, j]; v = B[i, k1]; p = u * v; C[j, k1] += p"}, [("u", "v", "i")]),
        # multiples by what the loop that is summed over leaves alone
        ({"body": f"{PLAIN['body'].replace('C[i', 'p1 = p * s; p2 = p1 / h; p3 = -p2; C[i').replace('+= p', '+= p3')}"},
         [("u", "v", "j")]),
        # a triangle, and factors that are computed
        ({"inner": "j"}, [("u", "v", "j")]),
        ({"before": "j1 = j + 1", "inner": "j1"}, [("u", "v", "j")]),
        ({"head": "h = a[i]", "before": "y = a[j]; b = h * y", "body": "v = B[j, k1]; p = b * v; C[i, k1] += p"},
         [("b", "v", "j")]),
    ],
)  # fmt: skip
def test_the_terms_of_a_nest(parts, found):
    assert terms(**parts) == found


def test_which_loops_tell_values_apart():
    found = nest(head="h = a[i]", before="b = a[j]")
    assert [found.counted[name] for name in ("h", "b", "u", "v")] == [{"i"}, {"j"}, {"i", "j"}, {"j", "k1"}]
    assert nest(**SUM).sums == {"t": ("t1", "+")} and not nest(**SUM).triangular and nest(inner="j").triangular


BODY = PLAIN["body"]


@pytest.mark.parametrize(
    "parts",
    [
        # loops that count in another way, or to what changes
        {"inner": "1, k"},
        {"inner": "k, 0, -1"},
        {"inner": "0, k, 2"},
        {"inner": "j, j"},
        {"before": "j1 = j - 1", "inner": "j1, k"},
        {"before": "k2 = A.shape[0]; k3 = k2 * j", "inner": "k3"},
        # not every iteration adds
        {"body": f"if c:\n                    break\n                {BODY}"},
        {"body": "u = A[i, j]; v = B[j, k1]; p = u * v\n                if c:\n                    C[i, k1] += p"},
        {"before": "if c:\n                raise ValueError()"},
        # factors that three loops tell apart, that share no loop, or one alone
        {"body": "u = A[i, j]; v = B[j, k1]; w = u + v; x = A[i, k1]; p = w * x; C[i, k1] += p"},
        {"body": "u = A[i, j]; v = B[i, j]; p = u * v; C[i, k1] += p"},
        {"body": "u = a[i]; v = B[j, k1]; p = u * v; C[i, k1] += p"},
        {"body": "u = A[i, j]; v = A[i, j]; p = u + v; C[i, k1] += p"},
        # something else is done with the term
        {"body": BODY.replace("+=", "=")},
        {"body": BODY.replace("C[i, k1]", "C[j, k1]")},
        {"body": BODY.replace("C[i", "q = p * p; C[i").replace("+= p", "+= q")},
        {"body": BODY.replace("C[i", "q = p * u; C[i").replace("+= p", "+= q")},
        {"body": BODY.replace("C[i", "q = s / p; C[i").replace("+= p", "+= q")},
        {"body": BODY.replace("C[i", "q = p + s; C[i").replace("+= p", "+= q")},
        {**SUM, "after": "C[i, j] = p"},
        {**SUM, "body": SUM["body"].replace("t + p", "p - t")},
        {**SUM, "body": SUM["body"].replace("t1 = t + p", "x = t * s; t1 = x + p")},
        {**SUM, "before": "b = 1.0", "outside": "t = 0.0"},
        {"result": "p"},
        # memory that is changed is read, or stored into by others
        {"body": BODY.replace("B[j, k1]", "C[j, k1]")},
        {"outside": "B = C.T"},
        {"before": "C[i, 0] = s"},
        {"after": "a[j] = s", "before": "b = a[j]"},
        {"head": "a[i] = s"},
        {"outside": "a_1 = a", "before": "a_1 = A[0]"},
    ],
    ids=str,
)  # fmt: skip
def test_other_nests_are_refused(parts):
    with pytest.raises(Refused):
        nest(**parts)


def test_loops_that_do_not_end_with_a_loop_are_none():
    text = "def f(a, n):\n    for i in range(n):\n        for j in range(n):\n            a[i] = 1.0\n    return n\n"
    function = read(text)
    with pytest.raises(Refused):
        Nest(function.body[0], Iterations(function))  # type: ignore[arg-type]
