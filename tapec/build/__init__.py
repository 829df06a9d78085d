"""Derivatives ahead of time: as source, as C libraries and as extension modules."""
