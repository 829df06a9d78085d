"""What functions that are handed lists ask of their callers."""

from __future__ import annotations

import pytest

from tapec.transforms.residual_requests import Asks, Unhandable


def test_they_ask_for_nothing_by_default_and_are_compared_by_what_they_ask():
    assert Asks() == Asks(frozenset(), False) != Asks(frozenset({1}))
    assert len({Asks(), Asks(frozenset()), Asks(shadows=True)}) == 2


def test_the_reason_is_what_the_exception_says():
    with pytest.raises(Unhandable, match="it returns a list"):
        raise Unhandable("it returns a list")
