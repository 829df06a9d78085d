"""Decisions that depend on floats are noted; runs with one digest have one pattern."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tapec.backend import printer
from tapec.syntax.core import Const, Return
from tapec.transforms.decision_digests import deciding_integers, digest_of, traced
from tapec.transforms.emitter import Emitter
from tapec.transforms.ssa import to_ssa
from tests.optimise.comparison import run
from tests.optimise.reading import read
from tests.oracles import interpreted
from tests.sparsity import check_sparse

PROGRAM = """
def f(a, x, n, k):
    a_y = np.zeros(n)
    {body}
    return a_y
"""


def noted(body: str) -> tuple[set[str], tuple[str, ...]]:
    """What a program notes, and the integers that decide."""
    made = traced(to_ssa(read(PROGRAM.format(body=body))))
    text = printer.function(made, False)
    kept = dict(re.findall(r"(\w+) = int\((c\w*)\)", text))
    found = re.findall(r"noted\([^,]*, (\w+)\)", text)
    return {kept.get(name, name) for name in found}, deciding_integers(made)


@pytest.mark.parametrize(
    ("body", "names", "integers"),
    [
        # loops and subscripts of integers are the same where these are
        ("for i in range(n):\n        a_y[i] = x", set(), {"n"}),
        ("a_y[k] = x", set(), {"n", "k"}),
        ("c = n > k\n    if c:\n        print(x)", set(), {"n", "k"}),
        # those of floats are noted: a subscript, a bound, a test that leads to something else, a step
        ("j = int(x)\n    a_y[j] = x", {"j"}, {"n"}),
        ("j = int(x)\n    y = a[j]\n    a_y[0] = y", {"j"}, {"n"}),
        ("j = int(x)\n    for i in range(j):\n        a_y[i] = x", {"j"}, {"n"}),
        ("c = x > 1.0\n    if c:\n        print(x)", {"c"}, {"n"}),
        ("while True:\n        c = x > 1.0\n        if c:\n            break\n        x = x + 1.0", {"c"}, {"n"}),
        ("j = int(x)\n    j_1 = j + k\n    a_v = a[j_1:]\n    y = a_v[0]\n    a_y[0] = y", {"j_1"}, {"n"}),
        ("j = int(x)\n    a_v = np.zeros(j)\n    a_y[0] = x", {"j"}, {"n"}),
        # by way of an element of another array
        ("a_v = np.zeros(2)\n    a_v[0] = x\n    y = a_v[1]\n    j = int(y)\n    a_y[j] = x", {"j"}, {"n"}),
        # an error ends the run
        ("c = x > 1.0\n    if c:\n        raise ValueError()\n    a_y[0] = x", set(), {"n"}),
        # both ways are in the pattern, and what they read from outside decides
        ("c = x > 1.0\n    if c:\n        y = a[k]\n    else:\n        y = x\n    a_y[0] = y", set(), {"n", "k"}),
        # a choice of one of two numbers
        ("c = x > 1.0\n    y = x if c else 2.0\n    a_y[0] = y", set(), {"n"}),
        ("c = x > 1.0\n    j = n if c else k\n    a_y[j] = x", {"j"}, {"n", "k"}),
    ],
)
def test_what_is_noted(body: str, names: set[str], integers: set[str]):
    found, deciding = noted(body)
    assert found == names
    # `k` may count where it is only added to what is noted
    assert integers <= set(deciding) <= integers | {"k"}


def test_before_and_after():
    text = printer.function(traced(read(PROGRAM.format(body="j = int(x); a_y[j] = x"))), False)
    assert [line.strip() for line in text.splitlines()[1:]] == [
        "a_y = np.zeros(n)",
        "j = int(x)",
        "trace = tapec_runtime.noted(0, j)",
        "a_y[j] = x",
        "return a_y, trace",
    ]


def test_digests_tell_runs_apart():
    core = traced(to_ssa(read(PROGRAM.format(body="j = int(x)\n    for i in range(j):\n        a_y[i] = x"))))
    digests = [run(core, (np.zeros(2), x, 3, 0))[1] for x in (0.2, 1.5, 1.9, 2.0)]
    assert digests[1] == digests[2]
    assert len({*digests}) == 3


def test_digest_of_integers():
    core = read("def f(x, n, k):\n    return x")
    out = Emitter(dict(core.types), set(core.types))
    made = digest_of(("n", "k"), out)
    core = replace(core, body=(*out.out, Return((made,))), types=out.types)
    digests = {run(core, (0.0, n, k))[0] for n, k in ((1, 2), (2, 1), (1, 1))}
    assert len(digests) == 3
    assert digest_of((), out) == Const(0)


def by_index(x):
    y = np.zeros(4)
    for i in range(4):
        y[int(4.0 * abs(x[i])) % 4] += x[i] * x[0]
    return y


def popped(x):
    kept = []
    for i in range(4):
        if x[i] > 0.5:
            kept.append(x[i])
    y = np.zeros(4)
    for j in range(len(kept)):
        y[j] = kept[j] * kept[0]
    return y


def through_a_view(x):
    u = x.copy()
    v = u[1:]
    for i in range(3):
        if u[i] > 0.5:
            v[i] = u[0] * u[i]
        else:
            u[i + 1] = u[i] + u[i + 1]
    return u


@pytest.mark.parametrize("f", [by_index, popped, through_a_view])
def test_another_way_has_another_pattern(f):
    with interpreted():
        check_sparse(f, (np.array([0.3, 0.9, 0.6, 0.4]),))
