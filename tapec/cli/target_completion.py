"""What a shell may complete TARGET to."""

from __future__ import annotations

import ast
from pathlib import Path


def matching_targets(incomplete: str) -> list[str]:
    """The files and folders of a folder, or after a colon the functions of a file.

    The file is parsed, not run.
    """
    place, colon, name = incomplete.rpartition(":")
    if colon:
        try:
            tree = ast.parse(Path(place).read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError):
            return []
        functions = (stmt.name for stmt in tree.body if isinstance(stmt, ast.FunctionDef))
        return [f"{place}:{one}" for one in functions if one.startswith(name)]
    folder, _, start = incomplete.rpartition("/")
    head = f"{folder}/" if folder or incomplete.startswith("/") else ""
    found = []
    try:
        for path in sorted(Path(head or ".").iterdir()):
            if path.name.startswith(start) and (start or not path.name.startswith(".")):
                if path.is_dir():
                    found.append(f"{head}{path.name}/")
                elif path.suffix == ".py":
                    found.append(f"{head}{path.name}:")
    except OSError:
        return []
    return found
