"""Branches of which a pattern has what both ways give: of numbers and elements alone, and known subscripts."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.syntax.core import If, walk
from tapec.transforms.joined_branches import Branches, is_joined, marked, outside, unmarked
from tests.optimise.reading import read
from tests.oracles import interpreted
from tests.sparsity import check_sparse

BRANCH = """
def f(a, x, n, k):
    a_y = np.zeros(3)
    w_stack = stack()
    y = 0.0
    c = x > 1.0
    if c:
        {body}
    else:
        {orelse}
    {after}
    return y
"""


def branch(body: str, orelse: str, after: str) -> tuple[Branches, list[If]]:
    core = read(BRANCH.format(body=body, orelse=orelse, after=after))
    return Branches(core), [stmt for stmt in walk(core.body) if isinstance(stmt, If)]


@pytest.mark.parametrize(
    ("body", "orelse", "after", "fits"),
    [
        ("z = a[k]", "z = x", "y = z", True),
        ("z = sin(x)", "z = x * y", "y = z", True),
        ("a_y[k] = x", "pass", "pass", True),
        ("j = k - 1; z = a[j]", "z = x", "y = z", True),
        ("j = a.shape[0]; z = a[j]", "z = x", "y = z", True),
        ("z = x\n        c_1 = x > 2.0\n        if c_1:\n            z = y", "z = 0.0", "y = z", True),
        # a number that one way does not set, and that is read later
        ("z = a[k]", "pass", "y = z", False),
        ("z = a[k]", "pass", "pass", True),
        ("c_1 = x > 2.0\n        if c_1:\n            z = y", "z = 0.0", "y = z", False),
        # an integer that is read later, is set twice, or is no sum of known ones
        ("j = k - 1", "j = k", "y = a[j]", False),
        ("j = k - 1; z = a[j]", "j = k + 1; z = a[j]", "y = z", False),
        ("j = int(x); z = a[j]", "z = x", "y = z", False),
        ("j = n ** k; z = a[j]", "z = x", "y = z", False),
        # what does more than numbers and elements
        ("a_z = a[1:]; z = a_z[0]", "z = x", "y = z", False),
        ("w_stack.append(x)", "pass", "pass", False),
        ("print(x)", "pass", "pass", False),
        ("raise ValueError()", "pass", "pass", False),
        ("for i in range(n):\n            a_y[i] = x", "pass", "pass", False),
        ("while True:\n            break", "pass", "pass", False),
    ],
)
def test_which_branches_fit(body: str, orelse: str, after: str, fits: bool):
    branches, (first, *_) = branch(body, orelse, after)
    assert branches.fits(first) == fits


def test_marks():
    """A branch and those inside it are marked, and nothing else; marks that go leave what was there."""
    core = read(BRANCH.format(body="if x > 2.0:\n            y = x", orelse="y = 2.0", after="if c:\n        y = 1.0"))
    first, inner, last = (stmt for stmt in walk(core.body) if isinstance(stmt, If))
    for one, joined in ((first, [True, True, False]), (inner, [False, True, False]), (last, [False, False, True])):
        made = marked(core.body, {one.key})
        assert [is_joined(stmt) for stmt in walk(made) if isinstance(stmt, If)] == joined
        assert unmarked(made) == core.body
    assert marked(core.body, set()) == core.body


def test_what_a_branch_reads_from_outside():
    _, (first, *_) = branch("j = k - 1; z = a[j]", "z = x", "y = z")
    assert outside(first) == {"k", "a", "x"}


def chosen(x, k):
    y = np.zeros(3)
    for i in range(3):
        if x[i] > 0.5:
            y[i] = x[i - 1] * x[0] if x[i] > 0.8 else x[i]
        else:
            y[(i + k) % 3] = x[i] * x[i]
    return y


def out_of_range(x, k):
    """What the way not taken would ask for is not there."""
    y = np.zeros(3)
    for i in range(3):
        if x[i] > 0.5 and k < 3:
            y[i] = x[k]
        elif k < 3:
            y[i] = x[k // 2]
        else:
            y[i] = x[k % 3]
    return y


@pytest.mark.parametrize("f", [chosen, out_of_range])
@pytest.mark.parametrize("k", [0, 1, 4])
def test_no_element_is_missing(f, k):
    with interpreted():
        check_sparse(f, (np.array([0.3, 0.9, 0.6]), k), wrt=(0,))
