"""Single assignments and live variables are those of Numba."""

from __future__ import annotations

from numba.core import analysis, compiler, ssa

from tapec.backend.numba_internals import single_assignments


def merged(n, x):
    total = limit = 0.0
    for i in range(n):
        for j in range(i):
            if x[j] > total:
                total, limit = total + x[j], limit * total
                continue
            while limit > x[i]:
                limit = limit - 1.0
                if limit < 0.0:
                    break
            else:
                total = limit
        last = total
    if n > 3:
        return total + last
    total = x[0]
    return total * limit


def unset(n, x):
    while n > 0:
        if n == 3:
            found = x[n]
        n -= 1
        if n == 1:
            found = found + 1.0
    return found


def lines(blocks):
    return [(label, [str(stmt) for stmt in block.body]) for label, block in blocks.items()]


def test_names_are_those_of_numba():
    for function in (merged, unset):
        ours, numbas = (compiler.run_frontend(function).blocks for _ in range(2))
        assert lines(single_assignments._single(ours)) == lines(ssa._run_ssa(numbas))


def test_names_live_as_long():
    for function in (merged, unset):
        blocks = compiler.run_frontend(function).blocks
        graph, known = analysis.compute_cfg_from_blocks(blocks), analysis.compute_use_defs(blocks)
        asked = graph, blocks, known.usemap, known.defmap
        expected = analysis.compute_live_map(*asked)
        with single_assignments.known_lives():
            assert analysis.compute_live_map is single_assignments._live_map
            assert analysis.compute_live_map(*asked) == expected
        assert analysis.compute_live_map is not single_assignments._live_map
