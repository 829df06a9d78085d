"""Build outputs into a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tapec.build.build_target import Output
from tapec.build.placeholders import placeholders


def build(outputs: Sequence[Output], folder: Path, progress: Callable[[Output], None] | None = None) -> list[Path]:
    """Build every output; returns the files, which modules' dotted names place below `folder`.

    progress  called with an output before it is built
    raises    TapecError (see tapec.errors) for what cannot be built
    """
    files: list[Path] = []
    for output in outputs:
        if progress is not None:
            progress(output)
        files += build_one(output, outputs, folder)
    return files


def build_one(output: Output, outputs: Sequence[Output], folder: Path) -> list[Path]:
    """Build one output of a project; its functions are imported as if none of `outputs` were built."""
    with importable(output, outputs):
        return _BUILDERS[output.kind](output, folder)


@contextmanager
def importable(output: Output, outputs: Sequence[Output]) -> Iterator[None]:
    """Let the functions of an output be imported from its project, where nothing is built yet."""
    names = [one.name for one in outputs if one.kind != "library"]
    root = output.root.resolve()
    # the two layouts that setuptools finds by itself
    with placeholders(names, [str(path) for path in (root / "src", root) if path.is_dir()]):
        yield


def _source(output: Output, folder: Path) -> list[Path]:
    from tapec.build.source_output import build_source

    return build_source(output, folder)


def _library(output: Output, folder: Path) -> list[Path]:
    from tapec.build.c_library import build_library

    return build_library(output, folder)


def _extension(output: Output, folder: Path) -> list[Path]:
    from tapec.build.extension import build_extension

    return build_extension(output, folder)


# each imports what it needs, and nothing that others need
_BUILDERS = {"source": _source, "library": _library, "extension": _extension}
