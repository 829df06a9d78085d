"""One run of a function in the middle of another one."""

from __future__ import annotations

import pytest

import tapec
from tapec.backend import printer
from tapec.syntax.core import Const, Function, Name, Return
from tapec.transforms.emitter import Emitter
from tapec.transforms.splice import quiet, spliced
from tests.optimise.comparison import run
from tests.optimise.reading import read

LOOPED = read("""
def g(x, n, y):
    s = y
    for i in range(n):
        t = s * x
        s = t
    print(s)
    return s, n
""")


def twice() -> Function:
    """A function that runs another one two times."""
    outer = read("def f(x, y, n):\n    s = x * 2.0\n    return s")
    out = Emitter(dict(outer.types), set(outer.types))
    out.extend(outer.body[:-1])
    first, _ = spliced(out, LOOPED, {"x": Name("s")}, frozenset())
    second, count = spliced(out, LOOPED, {"x": first, "n": Const(2)}, frozenset(), prints=True)
    return Function("f", outer.params, (*out.out, Return((second, count, Name("s")))), out.types)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_parameters_are_bound_or_stand_for_the_same_name(n: int, capsys):
    made = twice()
    result = run(made, (0.5, 3.0, n))
    assert result[:3] == (3.0 * 3.0 * 3.0, 2, 1.0)
    # the first run is quiet
    assert capsys.readouterr().out == "27.0\n"


def test_names_of_each_run_are_its_own():
    text = printer.function(twice(), quote=False)
    made = {line.split(" = ")[0].strip() for line in text.splitlines() if " = " in line}
    # the caller's `s`, and what two runs call so, are three
    assert {"s", "s_1", "s_2"} <= made <= twice().types.keys()


def test_what_runs_once_more_neither_prints_nor_raises():
    function = read("""
    def f(x, n, c):
        if c:
            raise ValueError()
        for i in range(n):
            print(x)
            if c:
                print(x)
            if c:
                y = x
                raise ValueError()
            else:
                y = x
        while True:
            print(n)
            if c:
                break
            else:
                print(x)
        return x
    """)
    text = printer.function(Function("f", function.params, quiet(function.body), function.types), quote=False)
    # a branch with another way stays whole
    assert text.strip().splitlines()[1:] == [
        "    for i in range(n):",
        "        if c:",
        "            y = x",
        "            raise ValueError()",
        "        else:",
        "            y = x",
        "    while not c:",
        "        pass",
        "    return x",
    ]


def printed(x, n):
    s = 1.0
    for i in range(n):
        s = s * x
        print(i, s)
    return s


@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize("derivative", [tapec.hessian, tapec.jacrev, tapec.jacfwd])
def test_what_is_printed_is_what_the_function_prints(derivative, opt_level: int, capsys):
    printed(2.0, 2)
    expected = capsys.readouterr().out
    derivative(printed, opt_level=opt_level)(2.0, 2)
    assert capsys.readouterr().out == expected
