"""What programs are turned into before they are differentiated."""

from __future__ import annotations

from tests.optimise.reading import check


def same(change, text: str) -> None:
    """A pass leaves a function as it is."""
    check(change, text, text)


