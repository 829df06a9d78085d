"""Functions that are compiled for some of their arguments only."""

from __future__ import annotations


class OtherVersion(Exception):
    """A function was called with arguments for which another form of it is made."""
