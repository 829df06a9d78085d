"""Kind "source": one module of generated functions, which needs NumPy, Numba and at times the runtime.

Its text is what `tapec grad` prints, with several functions in one file; the same targets give the
same bytes on every machine.
"""

from __future__ import annotations

from pathlib import Path

from tapec.backend.module import joined_text
from tapec.build.target import Output, derive


def source_text(output: Output) -> str:
    """The module's text; raises TapecError where a target has no derivative."""
    derived = [derive(target, output.root) for target in output.targets]
    names = ", ".join(dict.fromkeys(f"`{one.function.__qualname__}`" for one in derived))
    return joined_text(tuple(one.program for one in derived), f"Derivatives of {names}")


def build_source(output: Output, folder: Path) -> list[Path]:
    """Write the module below `folder`, at the place that its dotted name says; returns the file."""
    path = folder.joinpath(*output.name.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source_text(output), encoding="utf-8")
    return [path]
