"""What the whole suite shares."""

from __future__ import annotations

import compileall
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

ROOT = Path(__file__).resolve().parents[1]

# many tests start processes, which would compile every module anew where Python may not write what it compiles
if sys.dont_write_bytecode and "PYTEST_XDIST_WORKER" not in os.environ:
    for folder in ("tapec", "runtime", "tools"):
        compileall.compile_dir(ROOT / folder, quiet=2, workers=0)

# processes that tests start find both import packages where these tests do
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [*map(str, (ROOT, ROOT / "runtime")), os.environ.get("PYTHONPATH", "")])
)

# compilers make trees without end, and the whole heap of a long run would be walked again and again
gc.set_threshold(100_000, 50, 100)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="write golden files instead of comparing them")
    parser.addoption("--exhaustive", action="store_true", help="run whole families of cases, not samples of them")


def pytest_configure(config: pytest.Config) -> None:
    """Load the fixtures, and with them the compiler, but where other processes, which wait for this one, run tests."""
    shares_out = config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")
    if not shares_out or config.option.collectonly:
        config.pluginmanager.import_plugin("tests.fixtures")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """What pytest makes of the assertions is written, for other workers and other runs."""
    with mock.patch.object(sys, "dont_write_bytecode", False):
        if hasattr(session.config, "workerinput"):
            from tests.distribution import import_share

            import_share(session.config)
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.distribution import ByFile

    return ByFile(config, log) if config.getvalue("dist") == "load" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _leave_out_exhaustive(config, items)
    if hasattr(config, "workerinput"):
        from tests.distribution import slow_files_first

        slow_files_first(items)


def _leave_out_exhaustive(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of tests that are marked `exhaustive`, none are run but those that are asked for, all or by name."""
    if config.getoption("exhaustive") or "exhaustive" in config.option.markexpr:
        return
    kept, left_out = [], []
    for item in items:
        asked = not item.get_closest_marker("exhaustive") or _is_named(config, item)
        (kept if asked else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def _is_named(config: pytest.Config, item: pytest.Item) -> bool:
    return any("::" in arg and item.nodeid.endswith(arg.rpartition("/")[2]) for arg in config.args)
