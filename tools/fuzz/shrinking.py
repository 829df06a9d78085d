"""A failing program with as few statements and operations as fail in the same way, written to a file."""

from __future__ import annotations

import ast
import time
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tests.oracles import Args
from tools.fuzz.examination import FAILED, GRAMMARS, Outcome, conditions, examine


def reductions(source: str) -> Iterator[str]:
    """Slightly smaller programs: first with a statement less, then with simpler expressions."""
    yield from _fewer_statements(source)
    yield from _simpler_expressions(source)


def _fewer_statements(source: str) -> Iterator[str]:
    """Programs with one statement less, or with a compound statement replaced by its body."""
    count = sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(source)))
    for position in range(count):
        for unwrap in (False, True):
            tree = ast.parse(source)
            node = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)][position]
            body = list(getattr(node, "body", [])) if unwrap else []
            if unwrap and (not body or isinstance(node, ast.FunctionDef)):
                continue
            if not isinstance(node, (ast.Import, ast.ImportFrom)) and _replace(tree, node, body):
                yield ast.unparse(tree) + "\n"


def _simpler_expressions(source: str) -> Iterator[str]:
    """Programs with an operation replaced by one of its operands."""
    reducible = (ast.BinOp, ast.Call, ast.IfExp, ast.UnaryOp, ast.BoolOp)
    for position, outer in enumerate(ast.walk(ast.parse(source))):
        if not isinstance(outer, reducible):
            continue
        operands = sum(isinstance(child, ast.expr) for child in ast.iter_child_nodes(outer))
        for k in range(operands):
            tree = ast.parse(source)
            node = list(ast.walk(tree))[position]
            children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
            swap = _Swap(node, children[k])
            yield ast.unparse(swap.visit(tree)) + "\n"


class _Swap(ast.NodeTransformer):
    """Put one expression in the place of another."""

    def __init__(self, old: ast.AST, new: ast.expr):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else super().visit(node)


def _replace(tree: ast.AST, old: ast.stmt, new: list[ast.stmt]) -> bool:
    """Put statements in the place of one, if that leaves no empty body that must not be empty."""
    for parent in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and old in block:
                k = block.index(old)
                block[k : k + 1] = new
                if not block and name == "body":
                    block.append(ast.Pass())
                    return not isinstance(old, ast.Pass)
                return True
    return False


def shrink(source: str, args: Args, folder: Path, kind: str, seconds: float, seed: int = 0) -> str:
    """The smallest program found within the time that fails in the same way."""
    deadline = time.monotonic() + seconds
    rejected = 0
    while True:
        start = rejected
        for candidate in islice(reductions(source), rejected, None):
            if time.monotonic() > deadline:
                return source
            outcome = examine(candidate, args, folder, seed)
            if outcome.status == FAILED and outcome.kind == kind:
                source = candidate
                break
            rejected += 1
        else:
            if start == 0:
                return source
            rejected = 0


def report_failure(
    seed: int, outcome: Outcome, folder: Path, target: Path, seconds: float, grammar: str = "programs"
) -> Path:
    """Shrink the program of a failing seed and write it, with the reason, to a file."""
    program = GRAMMARS[grammar](seed)
    with warnings.catch_warnings(), conditions(seed):
        warnings.simplefilter("ignore")
        source = shrink(program.source, program.arguments(), folder, outcome.kind, seconds, seed)
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"seed_{seed}.py"
    reason = "\n".join(f"# {line}" for line in outcome.detail.splitlines())
    path.write_text(f"# seed {seed}, parameters {program.parameters}\n{reason}\n{source}", encoding="utf-8")
    return path
