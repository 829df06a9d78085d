"""Which cases of a large family the quick subset of the suite (`-m "not slow"`) takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], every: int) -> list[Any]:
    """Cases for `pytest.mark.parametrize`: all are slow but the first one of so many.

    A case is one argument, a tuple of arguments, or a `pytest.param`, whose marks stay.
    """
    return [_slow(case) if number % every else case for number, case in enumerate(cases)]


def _slow(case: Any) -> Any:
    if hasattr(case, "marks"):
        return pytest.param(*case.values, marks=(*case.marks, pytest.mark.slow), id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
