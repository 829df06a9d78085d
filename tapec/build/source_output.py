"""Kind "source": one module of generated functions, which needs NumPy, Numba and at times the runtime.

Its text is what `tapec grad` prints, with several functions in one file; the same targets give the
same bytes on every machine.
"""

from __future__ import annotations

from pathlib import Path

from tapec.backend.file_header import header
from tapec.backend.module import joined_text
from tapec.build.build_target import Output, derive
from tapec.build.files import place


def source_text(output: Output) -> str:
    """The module's text; raises TapecError where a target has no derivative."""
    derived = derive(output.targets, output.root, apart=True)
    names = ", ".join(dict.fromkeys(f"`{one.function.__qualname__}`" for one in derived))
    programs = tuple(one.program for one in derived)
    return header(output.command, *(one.lowered for one in programs)) + joined_text(programs, f"Derivatives of {names}")


def source_path(output: Output, folder: Path) -> Path:
    """The module's file below `folder`, at the place that its dotted name says."""
    return folder.joinpath(*output.name.split(".")).with_suffix(".py")


def build_source(output: Output, folder: Path) -> list[Path]:
    """Write the module below `folder`; returns the file."""
    return [place(folder, source_path(output, folder), source_text(output).encode())]
