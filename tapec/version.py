"""The version of tapec; it has a module of its own because every layer may ask for it."""

__version__ = "0.1.0"
