"""The option that records golden files anew: `pytest tests/golden --record`."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="write the golden files instead of comparing them")
