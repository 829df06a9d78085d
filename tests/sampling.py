"""Which cases of a large family the suite takes, and which its quick subset (`-m "not slow"`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], every: int, default: int = 1) -> list[Any]:
    """Cases for `pytest.mark.parametrize`: all are slow but the first one of so many.

    A case is one argument, a tuple of arguments, or a `pytest.param`, whose marks stay.

    default  one of so many is run by default, the others where `--exhaustive` asks for them
    """
    return [_marked(case, number, every, default) for number, case in enumerate(cases)]


def _marked(case: Any, number: int, every: int, default: int) -> Any:
    marks = [pytest.mark.exhaustive] if number % default else []
    if number % every:
        marks.append(pytest.mark.slow)
    if not marks:
        return case
    if hasattr(case, "marks"):
        return pytest.param(*case.values, marks=(*case.marks, *marks), id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks)
