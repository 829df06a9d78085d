"""What the cache folder holds, for whoever looks after it; see cache.py for what the files are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tapec.backend.cache import base_folder, open_folder

# nothing but what the cache itself made is ever deleted
_FOLDER = re.compile(r"v[\w.+-]+-[0-9a-f]{16}")
_FILE = re.compile(r"\w+-[0-9a-f]{32}\.(json|py|bin)|\.writing-[\w-]+")


@dataclass(frozen=True)
class CacheGroup:
    """The derivatives compiled by one set of versions; `current` is the one that this process uses."""

    folder: Path
    current: bool
    entries: int
    bytes: int


def cached() -> Iterator[CacheGroup]:
    """What the cache holds, by versions."""
    base, current = base_folder(), open_folder()
    for folder in _folders(base):
        files = list(_files(folder))
        compiled = sum(path.suffix == ".bin" for path, _ in files)
        yield CacheGroup(folder, folder == current, compiled, sum(size for _, size in files))


def clear_cache(only_old: bool = False) -> tuple[int, int]:
    """Delete what the cache holds, or what other versions left; the number of files, and of bytes."""
    base, current = base_folder(), open_folder()
    count = freed = 0
    for folder in _folders(base):
        if only_old and folder == current:
            continue
        for path, size in _files(folder):
            path.unlink(missing_ok=True)
            count, freed = count + 1, freed + size
        if folder != current and not any(folder.iterdir()):
            folder.rmdir()
    return count, freed


def _folders(base: Path | None) -> list[Path]:
    if base is None or not base.is_dir():
        return []
    return sorted(path for path in base.iterdir() if _FOLDER.fullmatch(path.name) and _is_folder(path))


def _is_folder(path: Path) -> bool:
    """Whether there is a folder itself: what a link points to is somebody else's."""
    return path.is_dir() and not path.is_symlink()


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """The files of a folder that are the cache's, with their sizes; other processes may delete them meanwhile."""
    with os.scandir(folder) as found:
        for entry in found:
            if not _FILE.fullmatch(entry.name) or not entry.is_file():
                continue
            try:
                size = entry.stat().st_size
            except FileNotFoundError:
                continue
            yield Path(entry.path), size
