"""Loops on threads: whether there are any, and a program without."""

from __future__ import annotations

from dataclasses import replace

from tapec.optimise.thread_flags import has_threads, sequential
from tapec.syntax.core import Block, For, Function, map_blocks, walk
from tests.optimise.reading import read

PLAIN = read("""
    def f(a, n, c):
        if c:
            for i in range(n):
                for j in range(n):
                    a[j] = 1.0
        while True:
            for k in range(n):
                a[k] = 2.0
            break
        return a
    """)


def on_threads(function: Function, *names: str) -> Function:
    def block(stmts: Block) -> Block:
        made = (map_blocks(stmt, block) for stmt in stmts)
        return tuple(replace(one, parallel=one.var in names) if isinstance(one, For) else one for one in made)

    return replace(function, body=block(function.body))


def test_loops_on_threads_are_found_wherever_they_stand():
    assert not has_threads(PLAIN)
    assert all(has_threads(on_threads(PLAIN, name)) for name in "ijk")


def test_no_loop_stays_on_threads():
    for names in ("i", "j", "k", "ijk"):
        changed = sequential(on_threads(PLAIN, *names))
        assert not has_threads(changed) and changed.body == PLAIN.body


def test_a_loop_keeps_its_key_and_a_program_without_threads_stays():
    parallel = on_threads(PLAIN, "j")
    loops = [[stmt.key for stmt in walk(one.body) if isinstance(stmt, For)] for one in (parallel, sequential(parallel))]
    assert loops[0] == loops[1]
    assert sequential(PLAIN) is PLAIN
