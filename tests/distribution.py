"""How pytest-xdist shares the suite among its workers: file by file, the slow ones first.

The tests of a file share what is expensive: libraries that are built for a module, and functions of Numba's that many
of them call, which a process compiles once.  By single tests every worker would make all of that.
"""

from __future__ import annotations

import importlib
from contextlib import suppress
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


def import_share(config: Any) -> None:
    """Import a worker's share of the modules with tests, before it imports the others in their order.

    Workers collect the same modules at the same time, and would all rewrite all assertions.
    """
    given = [config.invocation_params.dir / arg.partition("::")[0] for arg in config.args]
    files = sorted(file for path in given for file in (path.rglob("test_*.py") if path.is_dir() else [path]))
    every, first = config.workerinput["workercount"], int(config.workerinput["workerid"].removeprefix("gw"))
    for file in files[first::every]:
        # a module that cannot be imported, or skips itself, says so when it is collected
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(file.relative_to(config.rootpath).with_suffix("").parts))
