"""A module that nothing loads but a block that is refused."""

FACTOR = 2.0
