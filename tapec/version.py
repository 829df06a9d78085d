"""The version of tapec, and those that it runs with; of its own because every layer may ask for it."""

__version__ = "0.2.0"
# as in setup.cfg; a test compares them
RUNS_WITH = ("numba>=0.61", "numpy>=1.26")
