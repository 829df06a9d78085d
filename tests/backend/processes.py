"""Run small programs in processes of their own, with a cache folder of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from tests import warm_process

ROOT = Path(__file__).resolve().parents[2]


class Project:
    """A folder with modules, and a cache that outlives the processes that run them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.cache = folder / "cache"

    def write(self, name: str, text: str) -> None:
        """Write a module; times of files are too coarse to tell quick edits apart, so ours differ in length."""
        (self.folder / name).write_text(textwrap.dedent(text).lstrip())

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text()
        assert old in text
        (self.folder / name).write_text(text.replace(old, new))

    def command(self, program: str, **environment: str) -> tuple[list[str], dict[str, str]]:
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "TAPEC_"))}
        variables |= {
            "PYTHONPATH": os.pathsep.join(map(str, (self.folder, ROOT, ROOT / "runtime"))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TAPEC_CACHE_DIR": str(self.cache),
            "NUMBA_CACHE_DIR": str(self.cache.parent / "numba"),
            **environment,
        }
        return [sys.executable, "-c", textwrap.dedent(program)], variables

    def run(self, program: str, **environment: str) -> str:
        """What a program prints, errors and warnings included."""
        command, variables = self.command(program, **environment)
        if not environment:
            code, said = warm_process.run(command[-1], self.folder, variables)
            assert code == 0, said
            return said.strip()
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout.strip()

    def entries(self, suffix: str) -> list[Path]:
        return sorted(self.cache.glob(f"*/*{suffix}"))


# prints whether the compiler was needed; to be run after the calls
COMPILED = "; import sys; print('compiled' if 'tapec.pipeline' in sys.modules else 'cached')"
