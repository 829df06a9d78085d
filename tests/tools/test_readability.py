"""How files read may only become better: the golden ones, and those of the programs of the benchmarks."""

from __future__ import annotations

import ast

import pytest

from tools.readability import Readability, golden_files, program_files, read, readability

# what they are today
MOST = {
    "reverse": Readability(median=3.0, worst=16.9, says_nothing=0.022, numbered=0.092, quoted_twice=0.053),
    "forward": Readability(median=2.61, worst=24.7, says_nothing=0.0225, numbered=0.059, quoted_twice=0.0),
    "fastest": Readability(median=4.75, worst=20.5, says_nothing=0.018, numbered=0.133, quoted_twice=0.146),
}
# the names that say nothing are fewer than when they were 0.024 of all: of the others more have gone
MOST_OF_PROGRAMS = Readability(median=4.5, worst=47.8, says_nothing=0.025, numbered=0.219, quoted_twice=0.217)


@pytest.mark.parametrize("kind", MOST)
def test_no_number_rises(kind: str):
    hold(readability(golden_files(kind)), MOST[kind])


@pytest.mark.slow
def test_no_number_of_programs_rises():
    hold(readability(program_files()), MOST_OF_PROGRAMS)


def hold(found: Readability, most: Readability) -> None:
    assert found.median <= most.median
    assert found.worst <= most.worst
    assert found.says_nothing <= most.says_nothing
    assert found.numbered <= most.numbered
    assert found.quoted_twice <= most.quoted_twice


GENERATED = '''
def f_value_and_grad(x):
    """The value of `f`."""
    # forward sweep
    # y = x * x
    y = x * x
    t_1 = y
    # y = x * x
    z = t_1

    # reverse sweep
    # y = x * x
    x_bar = x + x
    return z, x_bar


def f_value_and_grad_general(x):
    return x
'''


def test_what_is_counted():
    source = ast.parse("def f(x):\n    y = x * x\n    return y\n").body
    found = read("f", GENERATED, [one for one in source if isinstance(one, ast.FunctionDef)])
    assert (found.lines, found.source_lines) == (6, 3)
    assert found.names == ("t_1", "z", "x_bar")
    # the reverse sweep quotes the line again: that is another place
    assert (found.quoted, found.quoted_twice) == (3, 1)
