"""Records: arrays in which one store keeps elements of another array, each at a place of its own."""

from __future__ import annotations

import pytest

from tapec.optimise.buffers.element_copies import ElementCopies, name_of
from tapec.syntax.linear import Sum
from tests.optimise.reading import read

KEPT = """
def f(a, n, c, k, x):
    A_1 = {made}
    {before}
    for i in range({rows}):
        for j in range(i):
            {body}
    {after}
    return {result}
"""
PLAIN = {
    "made": "np.empty((n, n))",
    "before": "x1 = x",
    "rows": "n",
    "body": "t = a[j]\n            A_1[i, j] = t",
    "after": "y = A_1[0, 0]",
    "result": "y",
}


def records(**other: str) -> list[str]:
    return [one.buffer for one in ElementCopies(read(KEPT.format(**{**PLAIN, **other}))).found]


def test_a_record_tells_what_it_holds_where():
    (found,) = ElementCopies(read(KEPT.format(**PLAIN))).found
    assert (found.buffer, found.array, [loop.var for loop in found.loops]) == ("A_1", "a", ["i", "j"])
    assert (found.index, found.subs) == ((Sum((("i", 1),)), Sum((("j", 1),))), (Sum((("j", 1),)),))


@pytest.mark.parametrize(
    "other",
    [
        {"rows": "1, n", "body": "t = a[j]\n            i1 = i - 1\n            A_1[i1, j] = t"},
        {"body": "t = a[0]\n            A_1[j, i] = t"},
        {"before": "a_1 = a[1:]", "body": "t = a_1[j]\n            A_1[i, j] = t"},
        {"after": "a_1 = A_1[0]\n    y = a_1[0]"},
    ],
    ids=str,
)
def test_other_records(other):
    assert records(**other) == ["A_1"]


@pytest.mark.parametrize(
    "other",
    [
        # a later iteration overwrites what an earlier one has kept
        {"body": "t = a[j]\n            A_1[0, j] = t"},
        {"body": "t = a[j]\n            i1 = i + j\n            A_1[i1, 0] = t"},
        {"body": "t = a[j]\n            i1 = i % 2\n            A_1[i1, j] = t"},
        # -1 and the last one are one place
        {"body": "t = a[j]\n            i1 = i - 2\n            A_1[i1, j] = t"},
        {"body": "t = a[j]\n            i1 = i + k\n            A_1[i1, j] = t"},
        # something else is stored there
        {"before": "A_1[0, 0] = x"},
        {"body": "t = a[j]\n            A_1[i, j] += t"},
        {"body": "t = x * x\n            A_1[i, j] = t"},
        {"body": "t = A_1[0, j]\n            A_1[i, j] = t"},
        {"body": "t = x\n            if c:\n                t = a[j]\n            A_1[i, j] = t"},
        {"made": "np.zeros((n, n))"},
        {"before": "while True:\n        A_1 = np.empty((n, n))\n        break"},
        # nobody reads it, or somebody all of it, or under another name
        {"after": "y = x"},
        {"result": "A_1"},
        {"after": "y = np.sum(A_1)"},
        {"after": "A_2 = A_1.T\n    y = A_2[0, 0]"},
    ],
    ids=str,
)
def test_other_arrays(other):
    assert records(**other) == []


def test_a_loop_of_unknown_iterations_tells_no_place():
    looped = "while True:\n            t = a[0]\n            A_1[i, 0] = t\n            break"
    assert records(body="x2 = x", before="for i in range(n):\n        " + looped) == []


@pytest.mark.parametrize(
    ("sum_", "name"),
    [
        (Sum((("i", 1),), 3), "i"),
        (Sum((("i", 2),)), None),
        (Sum((("i*j", 1),)), None),
        (Sum((("i", 1), ("j", 1))), None),
        (Sum((), 3), None),
    ],
    ids=str,
)
def test_a_name_plus_a_number(sum_, name):
    assert name_of(sum_) == name
