"""Chains of springs; needs NumPy alone where it runs."""

from elastic._derivatives import energy_and_gradient, energy_hvp
from elastic.solver import rest

__all__ = ["energy_and_gradient", "energy_hvp", "rest"]
