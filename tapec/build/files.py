"""Files of a build: each appears whole or not at all, and inside the output folder."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from tapec.errors import UsageError

_MODE = 0o644


def place(folder: Path, path: Path, data: bytes, mode: int = _MODE) -> Path:
    """Write a file of an output folder, in place of one that is there, or of a link; returns its path.

    raises  UsageError if a link on the way leads out of the folder
    """
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{path.parent} leads out of the output folder {folder}", hint="remove the link")
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, data, mode)
    return path


def replace(path: Path, data: bytes, mode: int = _MODE) -> None:
    """Write a file beside its place, then rename it.

    raises  OSError
    """
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.chmod(beside, mode & ~_umask())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found
