"""Compilations that take long say so on a terminal or in a notebook: what is compiled, and for how long.

`TAPEC_PROGRESS=0` turns that off, and `TAPEC_PROGRESS=1` shows it elsewhere, too; the option `progress=False` turns it
off for one derivative.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# what takes less is not mentioned
SECONDS = 2.0


def is_wanted() -> bool:
    """Whether somebody looks at what is written to stderr."""
    asked = os.environ.get("TAPEC_PROGRESS", "").strip()
    if asked:
        return asked != "0"
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        # a program without a console has none, or has closed it
        return False


class _Display:
    """A line that counts the seconds, once they are many."""

    def __init__(self, what: str) -> None:
        self.what, self.begun = what, time.monotonic()
        self.shown: Any = None
        self.ended = False
        # the line is begun by one thread and ended by another
        self.lock = threading.Lock()
        self.timer = threading.Timer(SECONDS, self.show)
        self.timer.daemon = True
        self.timer.start()

    def show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self.lock:
            if self.ended:
                return
            columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
            console = Console(stderr=True)
            self.shown = Progress(
                *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self.shown.add_task(self.what, total=None)
            self.shown.tasks[0].start_time = self.begun
            self.shown.start()

    def end(self) -> None:
        self.timer.cancel()
        with self.lock:
            self.ended = True
            if self.shown is not None:
                self.shown.stop()


# the outermost compilation is the one that a user waits for; one thread compiles at a time
_showing = False


@contextmanager
def told(what: str, progress: bool = True) -> Iterator[None]:
    """Show what is compiled while it takes long, if somebody looks."""
    global _showing
    if _showing or not progress or not is_wanted():
        yield
        return
    _showing, display = True, _Display(what)
    try:
        yield
    finally:
        _showing = False
        display.end()
