"""Where names live, and where they have a value: compared with runs of the program."""

from __future__ import annotations

import contextlib
import itertools
import re

import pytest

from tapec.analyses.scopes import branches, common, scopes
from tapec.syntax.core import Assign, For, If, Loop, walk
from tests.optimise.reading import read

PROGRAM = """
def f(x, n, c, c_2):
    i_0 = 0
    if c:
        x_1 = 1.0
        x_2 = 2.0
    else:
        x_1 = 3.0
        if c_2:
            x_2 = 4.0
        else:
            raise ValueError()
    for i in range(n):
        x_3 = 5.0
        if c:
            x_4 = 6.0
    while True:
        x_5 = 7.0
        if c_2:
            x_6 = 8.0
            break
        else:
            x_6 = 9.0
        break
    if c:
        x_7 = 1.0
        x_8 = 2.0
    else:
        x_8 = 1.0
        x_7 = 3.0
    return i_0
"""
FUNCTION = read(PROGRAM)
SCOPES = scopes(FUNCTION)
NAMES = sorted(SCOPES.scope_of)


def test_a_name_lives_in_the_innermost_block_around_its_assignments():
    at = {name: SCOPES.scope_of[name] for name in NAMES}
    assert all(at[name] is SCOPES.root for name in ("x", "n", "i_0", "x_1", "x_2", "x_7"))
    (loop,) = SCOPES.body[SCOPES.defs["i"][0].key]
    assert at["i"] is loop and at["x_3"] is loop and at["x_4"].parent is loop
    assert common(at["x_4"], at["x_3"]) is loop and common(at["x_4"], at["x_5"]) is SCOPES.root
    assert at["x_4"].inside(loop) and not loop.inside(at["x_4"]) and loop.inside(SCOPES.root)
    assert [one.owner_key for one in at["x_4"].loops()] == [SCOPES.defs["i"][0].key]
    assert SCOPES.merged("x_1") and not SCOPES.merged("x_3") and not SCOPES.merged("n")
    with pytest.raises(ValueError, match="different functions"):
        common(loop, scopes(read(PROGRAM)).root)


def test_each_statement_has_a_place_in_program_order():
    stmts = list(walk(FUNCTION.body))
    assert [SCOPES.place[stmt.key] for stmt in stmts] == list(range(len(stmts)))
    for stmt in stmts:
        if isinstance(stmt, If):
            body, orelse = branches(stmt, SCOPES)
            assert body.block is stmt.body and orelse.block is stmt.orelse
        if isinstance(stmt, For | Loop):
            assert all(SCOPES.of[one.key] is SCOPES.body[stmt.key][0] for one in stmt.body)


def test_a_name_that_has_a_value_before_a_statement_is_set_in_every_run():
    """Each assignment of a number notes what is set before it; `is_set_before` claims no more."""
    note = r"\1seen.append(('\2', \3, set(locals())))\n\1\2 = \3"
    marked = re.sub(r"^( *)(\w+) = (\d.*)$", note, PROGRAM, flags=re.M)
    scope: dict = {}
    exec(marked.replace("(x, n, c, c_2)", "(x, n, c, c_2, seen)"), scope)
    seen: list = []
    for n, c, c_2 in itertools.product((0, 1, 2), (False, True), (False, True)):
        with contextlib.suppress(ValueError):
            scope["f"](1.0, n, c, c_2, seen)
    claims = 0
    for stmt in walk(FUNCTION.body):
        if isinstance(stmt, Assign):
            runs = [names for target, value, names in seen if (target, value) == (stmt.target, stmt.value.value)]
            claimed = {name for name in NAMES if SCOPES.is_set_before(name, stmt)}
            claims += len(claimed)
            assert runs and all(claimed <= names for names in runs), stmt
    assert claims > 80


def test_what_comes_from_outside_has_a_value():
    function = read("def f(x):\n    y = z\n    return y")
    assert scopes(function).is_set_before("z", function.body[0])


@pytest.mark.parametrize(
    ("body", "owner"),
    [
        ("for i in range(n):\n        x_1 = x + x_c\n        x_c = x_1", "i"),
        ("for i in range(n):\n        for j in range(n):\n            x_1 = x + x_c\n            x_c = x_1", "i"),
        ("for i in range(n):\n        x_1 = x + 1.0", None),
        ("if c:\n        x_c = 2.0", None),
    ],
)
def test_the_loop_that_carries_a_name(body, owner):
    found = scopes(read(f"def f(x, n, c):\n    x_c = x\n    {body}\n    return x"))
    loop = found.loop_of("x_c")
    assert (loop and loop.owner.var) == owner
    assert found.loop_of("x") is None
    assert found.line_of("x") is None and found.line_of("x_c").line == 1
