"""Facts are kept for the program that was asked about last, and for no other."""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.facts import facts
from tapec.syntax.core import Assign, For, distinct, map_blocks, substitute, walk
from tapec.syntax.types import Array
from tests.optimise.reading import read

TEXT = """
def f(a, x, n):
    a_1 = a
    for i in range(n):
        t = a[i]
        a_1[i] = t * x
    return x
"""


def test_facts_are_found_once_for_one_body():
    function = read(TEXT)
    assert facts(function) is facts(replace(function, doc="The same.", types=dict(function.types)))


def test_facts_of_another_program_are_its_own():
    function = read(TEXT)
    known = facts(function)
    assert known.aliases.find("a") == known.aliases.find("a_1")
    without = facts(replace(function, body=function.body[1:]))
    assert without.aliases.find("a") != without.aliases.find("a_1")
    # an equal body of other objects: facts are kept by statement
    assert facts(replace(function, body=tuple(list(function.body)))) is not known
    typed = replace(function, types={**function.types, "b": Array("float64", 1)})
    assert facts(typed).members.keys() != known.members.keys()


def test_what_stays_the_same_stays_the_same_object():
    function = read(TEXT)
    assert distinct(function.body) is function.body
    (loop,) = (stmt for stmt in function.body if isinstance(stmt, For))
    assert map_blocks(loop, lambda block: tuple(list(block))) is loop
    (load,) = (stmt.value for stmt in walk(loop.body) if isinstance(stmt, Assign))
    assert substitute(load, {}) is load


def test_statements_that_stand_twice_become_two():
    loop = read(TEXT).body[1]
    body = distinct((loop, loop))
    assert body[0] == body[1]
    assert len({stmt.key for stmt in walk(body)}) == 2 * len(tuple(walk((loop,))))
