"""How the generated source reads, in numbers: those of the golden files.

    python -m tools.readability [FOLDER]

Lines are counted without comments, docstrings and blank ones, and without the functions that stand below for arguments
of other shapes.  `tests/tools/test_readability.py` holds the numbers
below what they are today: they may only fall.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
# a name that says nothing of what it stands for
_SAYS_NOTHING = re.compile(r"(?:t|tmp|size)(?:_\d+)?")
_NUMBERED = re.compile(r"\w+_\d+")


@dataclass(frozen=True)
class Readability:
    """Of some files: generated lines per line of the source, and what is assigned.

    median, worst   lines of a generated file per line of its source
    says_nothing    part of the assigned names that the source has not which are a letter, or a letter and a number
    numbered        part of them that end in a number
    """

    median: float
    worst: float
    says_nothing: float
    numbered: float


def readability(folder: Path = GOLDEN, kind: str = "reverse") -> Readability:
    """That of the golden files of a kind."""
    ratios, names = [], []
    for generated in sorted(folder.glob(f"*/{kind}.py")):
        tree = ast.parse(generated.read_text(encoding="utf-8"))
        source = ast.parse((generated.parent / "source.py").read_text(encoding="utf-8"))
        functions = [node for node in source.body if isinstance(node, ast.FunctionDef) and node.name != "arguments"]
        read = [node for node in tree.body if not _is_for_others(node)]
        ratios.append(_lines(read) / _lines(functions))
        users = {node.id for node in ast.walk(source) if isinstance(node, ast.Name)}
        found = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        names += [node.id for node in found if node.id not in users]
    count = len(names)
    return Readability(
        statistics.median(ratios),
        max(ratios),
        sum(_SAYS_NOTHING.fullmatch(name) is not None for name in names) / count,
        sum(_NUMBERED.fullmatch(name) is not None for name in names) / count,
    )


def _is_for_others(node: ast.stmt) -> bool:
    """Whether a function takes what another one hands on."""
    return isinstance(node, ast.FunctionDef) and node.name.endswith(("_general", "_larger"))


def _lines(nodes: list[ast.stmt] | list[ast.FunctionDef]) -> int:
    """The lines of code of some functions and statements."""
    statements = [node for one in nodes for node in ast.walk(one) if isinstance(node, ast.stmt)]
    return len({node.lineno for node in statements if not _is_docstring(node)})


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


if __name__ == "__main__":
    for asked in ("reverse", "forward"):
        print(f"{asked:8}", readability(Path(sys.argv[1]) if sys.argv[1:] else GOLDEN, asked))
