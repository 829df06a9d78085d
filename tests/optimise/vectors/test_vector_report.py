"""Which innermost loops can run on vectors, and what keeps the others from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapec.analyses.iterations import Iterations
from tapec.optimise.vectors.vector_report import innermost, obstacle, remark_vectors
from tapec.remarks import Named, Remarks, heard_by
from tapec.syntax.core import For, Function, If, Note
from tests.optimise.reading import read


def program(body: str, loop: str = "for i in range(n)") -> Function:
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    return read(f"def f(a, a_1, A, n, k, x, c, x_stack):\n    s = x\n    {loop}:\n{lines}    return s\n")


PARALLEL = [
    "a[i] = x",
    "t = a[i]\na[i] = t * x",
    "t = a[i]\ns_1 = s + t\ns = s_1",  # a sum
    "t = a[i]\na_1[k] += t",
    "if c:\n    a[i] += x",
    "t = A[k, i]\nj = i + 1\na_1[j] += t\na[j] = t",
]
TOUCHES = "it is not proved that {0} touches no element of `{1}` that another iteration touches"
NEEDS = "each iteration needs `{0}` of the one before"
ORDER = "{0} keeps an order: a list, a call or a print"
ORDERED = [
    ("j = i - 1\nt = a[j]\na[i] = t", TOUCHES),
    ("a[k] = x", TOUCHES),
    ("a[i] = x\nt = a[k]", TOUCHES),
    ("a_2 = a[1:]\na_2[i] = x\na[i] = x", TOUCHES),
    ("s_1 = s * x\ns = s_1", NEEDS),
    ("s_1 = s + x\na[i] = s_1\ns = s_1", NEEDS),
    ("t = a[i]\ns = t", NEEDS),
    ("if c:\n    break", "{0} may end it"),
    ("raise ValueError()", "{0} may end it"),
    ("x_stack.append(x)", ORDER),
    ("t = x_stack.pop()", ORDER),
    ("if c:\n    print(x)", ORDER),
    ("t = np.random.normal(x)\na[i] = t", "{0} draws random numbers, one after another"),
]


@pytest.mark.parametrize(("body", "why"), [*((body, None) for body in PARALLEL), *ORDERED])
def test_what_keeps_a_loop_from_running_on_vectors(body: str, why: str | None):
    core = program(body)
    loop, iterations = core.body[1], Iterations(core)
    assert isinstance(loop, For)
    found = obstacle(loop, iterations)
    assert (found and found[0]) == why
    # a loop that can run on vectors can run in any order
    assert iterations.is_parallel(loop) == (why is None)


def test_a_loop_that_ends_itself_does_not_count():
    core = program("if c:\n    break", loop="while True")
    assert obstacle(core.body[1], Iterations(core)) == (  # type: ignore[arg-type]
        "how many iterations it makes is not known before they have run",
    )


def test_what_it_is_about():
    core = program("j = i - 1\nt = a[j]\na[i] = t")
    why = obstacle(core.body[1], Iterations(core))  # type: ignore[arg-type]
    assert why is not None and why[2] == Named("a", None)
    core = program("s_1 = s * x\ns = s_1")
    assert obstacle(core.body[1], Iterations(core)) == (  # type: ignore[arg-type]
        NEEDS,
        Named("s", core.body[0].span),
    )


def test_only_innermost_loops_are_told_of_with_the_sweep_that_they_stand_in():
    core = program("for j in range(k):\n    A[i, j] = x\nif c:\n    while True:\n        break")
    assert [(type(loop).__name__, sweep) for loop, sweep in innermost(core.body)] == [("For", ""), ("Loop", "")]
    (loop,) = (stmt for stmt in core.body if isinstance(stmt, For))
    inner, branch = loop.body
    assert isinstance(inner, For) and isinstance(branch, If)
    body = (Note("forward sweep"), replace(loop, body=(inner,)), Note("reverse sweep"), *branch.body, core.body[-1])
    told = Remarks()
    with heard_by(told):
        remark_vectors(replace(core, body=body))
    assert [(one.by, one.what) for one in told.all] == [
        ("vector_report", "forward sweep: can run on vectors"),
        ("vector_report", "reverse sweep: may not run on vectors"),
    ]
