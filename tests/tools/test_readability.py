"""How files read may only become better: the golden ones, and those of the programs of the benchmarks."""

from __future__ import annotations

import ast

import pytest

from tools.readability import Readability, golden_files, program_files, read, readability

# what they are today
MOST = {
    "reverse": Readability(median=3.34, worst=20.4, says_nothing=0.022, numbered=0.119, quoted_twice=0.061),
    "forward": Readability(median=3.0, worst=25.4, says_nothing=0.024, numbered=0.087, quoted_twice=0.079),
    "fastest": Readability(median=4.75, worst=20.5, says_nothing=0.018, numbered=0.133, quoted_twice=0.171),
}
MOST_OF_PROGRAMS = Readability(median=5.41, worst=62.2, says_nothing=0.024, numbered=0.264, quoted_twice=0.233)


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
