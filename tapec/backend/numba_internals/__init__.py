"""What takes the place of Numba's own ways, and so stands on its insides.

Each module leaves to Numba what it does not know.  What is taken for granted of Numba, and which tests fail when a new
version breaks it: docs/design/0017-numba-internals.md.
"""
