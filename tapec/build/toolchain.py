"""The C compiler: found, and asked to compile, link and archive."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tapec.errors import UsageError

_FLAGS = ("-std=c11", "-O3", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-Wall", "-Wextra")
# the same bytes on every run: no build id
_LINK_FLAGS = ("-shared", "-Wl,--build-id=none", "-Wl,--gc-sections", "-Wl,-s")


@dataclass(frozen=True)
class Toolchain:
    """The commands of a C compiler and of the archiver that goes with it."""

    compiler: tuple[str, ...]
    archiver: str

    def compile(self, source: Path, output: Path, includes: Sequence[Path], defines: Mapping[str, str]) -> None:
        """Compile one C file to a position-independent object; raises UsageError if the compiler refuses it."""
        names = [f"-D{name}={value}" for name, value in defines.items()]
        folders = [f"-I{folder}" for folder in includes]
        # file names are relative: absolute ones would become part of the object
        command = [*self.compiler, *_FLAGS, *names, *folders, "-c", source.name, "-o", str(output.resolve())]
        _run(command, source.parent)

    def link(self, objects: Sequence[Path], output: Path, flags: Sequence[str] = ()) -> None:
        """Link objects to a shared library; raises UsageError if that fails."""
        _run([*self.compiler, *_LINK_FLAGS, *map(str, objects), "-o", str(output), *flags])

    def archive(self, objects: Sequence[Path], output: Path) -> None:
        """Put objects into a static library, which replaces one that is there."""
        output.unlink(missing_ok=True)
        # D: without times and owners
        _run([self.archiver, "rcsD", str(output), *map(str, objects)])


def toolchain() -> Toolchain:
    """The C compiler that the environment variable CC names, or else the first of cc, gcc and clang.

    raises  UsageError if there is none
    """
    asked = shlex.split(os.environ.get("CC", ""))
    candidates = [asked] if asked else [["cc"], ["gcc"], ["clang"]]
    for command in candidates:
        if shutil.which(command[0]):
            archiver = os.environ.get("AR") or "ar"
            if not shutil.which(archiver):
                raise UsageError(f"the archiver {archiver!r} is not found", hint="install binutils, or set AR")
            return Toolchain(tuple(command), archiver)
    tried = asked[0] if asked else "cc, gcc, clang"
    raise UsageError(f"no C compiler is found (tried {tried})", hint="install one, such as gcc, or set CC")


def _run(command: Sequence[str], folder: Path | None = None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}"
        raise UsageError(f"`{shlex.join(command)}` failed", reason=said)
