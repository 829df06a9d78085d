"""Numba's single assignments and live variables, in time that grows with what a function says.

For each variable that is set more than once, Numba walks over all statements of a function, twice; and it keeps sets of
all names for each block, several times.  In a function of a thousand lines that is a quarter of its time.  Here a
variable takes the blocks that mention it, and sets of names are the bits of numbers.  The results are Numba's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import analysis, ir, ir_utils, postproc, ssa, untyped_passes
from numba.core.compiler_machinery import register_pass

_PARTS = ("_iterated_domfronts", "_find_defs_violators", "_compute_phi_locations", "_fresh_vars", "_run_block_rewrite")


@register_pass(mutates_CFG=True, analysis_only=False)
class SingleAssignments(untyped_passes.ReconstructSSA):
    """Numba's pass, variable by variable where they are mentioned."""

    _name = "tapec_single_assignments"

    def run_pass(self, state: Any) -> bool:
        if not all(hasattr(ssa, part) for part in _PARTS):
            return bool(super().run_pass(state))
        state.func_ir.blocks = _single(state.func_ir.blocks)
        self._patch_locals(state)
        state.func_ir._definitions = ir_utils.build_definitions(state.func_ir.blocks)
        postproc.PostProcessor(state.func_ir).run(emit_dels=False)
        return True


def _single(blocks: dict[int, Any]) -> dict[int, Any]:
    """Blocks in which each name is set once; merges say which ones meet."""
    graph = analysis.compute_cfg_from_blocks(blocks)
    fronts = ssa._iterated_domfronts(graph)
    repeated = ssa._find_defs_violators(blocks, graph)
    listed = ssa._CacheListVars()
    blocks = dict(blocks)
    for name, labels in _mentions(blocks, repeated).items():
        near, defined = ssa._fresh_vars({label: blocks[label] for label in labels}, name)
        merges: dict[int, list[Any]] = defaultdict(list)
        states = {
            "scope": ssa._get_scope(blocks),
            "varname": name,
            "defmap": defined,
            "phimap": merges,
            "cfg": graph,
            "phi_locations": ssa._compute_phi_locations(fronts, defined),
        }
        blocks.update(ssa._run_block_rewrite(near, states, ssa._FixSSAVars(listed)))
        for label, made in merges.items():
            if made:
                old = blocks[label]
                blocks[label] = ir.Block(scope=old.scope, loc=old.loc)
                blocks[label].body = made + old.body
    return blocks


def _mentions(blocks: dict[int, Any], names: Iterable[str]) -> dict[str, list[int]]:
    """The blocks that set or read each of the names, in the order of both."""
    found: dict[str, list[int]] = {name: [] for name in names}
    for label, block in blocks.items():
        for name in {var.name for stmt in block.body for var in stmt.list_vars()} & found.keys():
            found[name].append(label)
    return found


@contextmanager
def known_lives() -> Iterator[None]:
    """Have Numba find the variables that live where a block begins by `_live_map`."""
    own = analysis.compute_live_map
    analysis.compute_live_map = _live_map
    try:
        yield
    finally:
        analysis.compute_live_map = own


def _live_map(
    graph: Any, blocks: dict[int, Any], used: dict[int, set[str]], defined: dict[int, set[str]]
) -> dict[int, set[str]]:
    """The names that blocks read before they set them, or pass on to such a block, where they may have been set."""
    bits: dict[str, int] = {}
    for names in (*used.values(), *defined.values()):
        for name in names:
            bits.setdefault(name, 1 << len(bits))
    uses = {label: _number(names, bits) for label, names in used.items()}
    sets = {label: _number(names, bits) for label, names in defined.items()}
    order = list(graph.topo_order())
    met = dict.fromkeys(order, 0)
    before = None
    while before != met:
        before = dict(met)
        for label in order:
            met[label] |= uses[label] | sets[label]
            for target, _ in graph.successors(label):
                met[target] |= met[label]
    live = {label: uses[label] for label in blocks}
    before = None
    while before != live:
        before = dict(live)
        for label in reversed(order):
            for source, _ in graph.predecessors(label):
                live[source] |= live[label] & met[source] & ~sets[source]
    every = list(bits)
    return {label: set(_names(number, every)) for label, number in live.items()}


def _number(names: Iterable[str], bits: dict[str, int]) -> int:
    number = 0
    for name in names:
        number |= bits[name]
    return number


def _names(number: int, names: list[str]) -> Iterator[str]:
    while number:
        last = number & -number
        yield names[last.bit_length() - 1]
        number ^= last
