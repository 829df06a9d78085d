"""The statements of an iteration that its reversed statements need."""

from __future__ import annotations

import textwrap

from tapec.backend import printer
from tapec.syntax.core import Function, Return, distinct
from tapec.transforms.replayed_statements import needed_of
from tests.optimise.reading import read


def kept(again: str, reversed_: str) -> str:
    """The text of what is kept of some statements, for others that are reversed."""
    text = "def f(a, x, n):\n" + textwrap.indent(textwrap.dedent(again) + textwrap.dedent(reversed_), "    ")
    function = read(text + "    return x\n")
    body = distinct(function.body)
    count = len(read("def f(a, x, n):\n" + textwrap.indent(textwrap.dedent(again), "    ") + "    return x\n").body) - 1
    found = needed_of(body[:count], body[count:-1], function.types)
    shown = printer.function(Function("f", (), (*found, Return(())), function.types), quote=False)
    return textwrap.dedent("\n".join(shown.splitlines()[1:-1])) + "\n"


def test_what_nobody_needs_is_not_run():
    again = "t = x * 2.0\nu = t * t\nv = x * 3.0\n"
    assert kept(again, "s = v * x\n") == "v = x * 3.0\n"
    assert kept(again, "s = u * x\n") == "t = x * 2.0\nu = t * t\n"
    assert kept(again, "s = u * v\n") == again


def test_an_array_is_needed_under_all_its_names():
    again = "a_v = a[1:]\na_v[0] = x\nt = x * 2.0\n"
    assert kept(again, "s = a[1]\n") == "a_v = a[1:]\na_v[0] = x\n"


def test_branches_and_loops_around_what_is_needed():
    again = "c = x > 1.0\nif c:\n    t = x * 2.0\n    u = x * 3.0\nelse:\n    t = x\n    u = x\n"
    assert kept(again, "s = t * x\n") == "c = x > 1.0\nif c:\n    t = x * 2.0\nelse:\n    t = x\n"


def test_what_ends_a_loop_is_run():
    again = textwrap.dedent(
        """\
        k = 0
        t = x
        while True:
            c = k < n
            if c:
                t *= x
                u = t * 3.0
                k += 1
            else:
                break
        """
    )
    assert kept(again, "s = t * x\n") == again.replace("        u = t * 3.0\n", "")


def test_a_loop_that_counts_for_itself_alone_is_not_run():
    again = "k = 0\nfor i in range(n):\n    k = k + 1\nt = x * 2.0\n"
    assert kept(again, "s = t * x\n") == "t = x * 2.0\n"
