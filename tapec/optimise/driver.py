"""Runs passes one after another, and shows each run to whoever watches.

A pass takes a function and the names that it reads but does not set, and gives a function; what it does is in its
remarks (`tapec.remarks`).  A `Watcher` is for tools and tests: `tools.passes` counts and times, `tools.bisect`
leaves passes out, tests verify what each pass leaves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from tapec.syntax.core import Block, Function, distinct

Pass = Callable[[Function, frozenset[str]], Function]


class Watcher:
    """Sees each run of a pass; a base for those that look at some of it."""

    def skips(self, name: str) -> bool:
        """Whether a pass is left out here; asked once before each run."""
        return False

    def ran(self, name: str, before: Function, after: Function, constants: frozenset[str], seconds: float) -> None:
        """A pass has run; `after` is `before` itself where it found nothing to do."""


_watcher: Watcher | None = None


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """A while in which a watcher sees the passes of this process."""
    global _watcher
    before, _watcher = _watcher, watcher
    try:
        yield
    finally:
        _watcher = before


def name_of(change: Callable[..., Any]) -> str:
    """The name of a pass, also of one that has been given some arguments."""
    while isinstance(change, partial):
        change = change.func
    return change.__name__


def run(
    passes: tuple[Pass, ...],
    function: Function,
    constants: frozenset[str],
    clean: tuple[Pass, ...] = (),
) -> Function:
    """The function after some passes.

    No pass looks again at a body in which it found nothing to do, and those of `clean` not where nothing was changed
    since they looked.
    """
    cleaned: Block | None = None
    nothing_to_do: dict[Pass, Block] = {}
    function = replace(function, body=distinct(function.body))
    for change in passes:
        if change in clean and function.body == cleaned:
            continue
        if nothing_to_do.get(change) is function.body:
            continue
        before = function.body
        function = step(change, function, constants)
        if function.body is before:
            nothing_to_do[change] = before
        if clean and change is clean[-1]:
            cleaned = function.body
    return function


def step(change: Pass, function: Function, constants: frozenset[str]) -> Function:
    """The function after one pass; its statements have keys of their own."""
    if _watcher is not None and _watcher.skips(name_of(change)):
        return function
    begin = time.perf_counter()
    made = change(function, constants)
    # the object stays while the program does: analyses know it again
    body = function.body if made.body == function.body else distinct(made.body)
    made = made if made.body is body else replace(made, body=body)
    if _watcher is not None:
        _watcher.ran(name_of(change), function, made, constants, time.perf_counter() - begin)
    return made
