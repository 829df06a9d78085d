"""Machine code without LLVM's optimisations, which take a third of a compilation.

What a program computes does not depend on them; what they make of our hints, tests ask in the folders that
`conftest.py` names, and those that are marked `optimised`.  `NUMBA_OPT=3` in the environment has all tests optimise.
How LLVM chooses instructions is decided once for all tests, when this module is imported: before anything is compiled.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from numba.core import config
from numba.core.registry import cpu_target

_ASKED = "NUMBA_OPT" in os.environ
_NONE = config._process_opt_level("0")  # type: ignore[attr-defined, unused-ignore]


@contextmanager
def unoptimised() -> Iterator[None]:
    """A while in which LLVM optimises nothing, unless the environment says how much."""
    with mock.patch.object(config, "OPT", config.OPT if _ASKED else _NONE):
        yield


if not _ASKED:
    # Numba does not tell code by how it was optimised: users of this tree shall find none of ours
    config.CACHE_DIR = str(Path(config.CACHE_DIR or Path(__file__).parents[1] / ".pytest_cache") / "unoptimised")
with unoptimised():
    cpu_target.target_context.codegen()
