"""How pytest-xdist shares the suite among its workers: file by file, the slow ones first.

The tests of a file share what is expensive: libraries that are built for a module, and functions of Numba's that many
of them call, which a process compiles once.  By single tests every worker would make all of that.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling


class ByFile(LoadScopeScheduling):
    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        # the order of the collection: `slow_files_first`
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]


def slow_files_first(items: list[pytest.Item]) -> None:
    """Order tests so that no worker begins a slow file when the others have finished."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
