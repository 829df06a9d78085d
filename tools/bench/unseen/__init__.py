"""Programs that the compiler was not written for: kinds that neither `tools.bench.programs` nor the tests have.

`python -m tools.bench.unseen` measures them as `python -m tools.bench` does its own.
"""
