"""Run where the wheel is installed; neither tapec nor Numba is needed."""

import inspect
import sys

import elastic
import numpy as np
import pytest
from elastic.model import energy

STIFFNESS = np.array([1.0, 2.0, 0.5, 3.0])
LOAD = np.array([0.3, -0.1, 0.7])


def test_neither_tapec_nor_numba_is_imported():
    assert not {"tapec", "tapec_runtime", "numba"} & set(sys.modules)


def test_value_and_gradient():
    u = np.array([0.1, -0.2, 0.4])
    value, gradient = elastic.energy_and_gradient(u, STIFFNESS, LOAD)
    assert value == pytest.approx(energy(u, STIFFNESS, LOAD), rel=1e-14)
    step = 1e-6
    for i, unit in enumerate(np.eye(3)):
        slope = (energy(u + step * unit, STIFFNESS, LOAD) - energy(u - step * unit, STIFFNESS, LOAD)) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-8)


def test_rest():
    u = elastic.rest(STIFFNESS, LOAD)
    assert np.linalg.norm(elastic.energy_and_gradient(u, STIFFNESS, LOAD)[1]) < 1e-10


def test_errors_and_signature():
    with pytest.raises(ValueError, match="n joints need n loads"):
        elastic.energy_and_gradient(np.zeros(3), STIFFNESS[1:], LOAD)
    with pytest.raises(TypeError, match="`u` must be an array of float64, not of float32"):
        elastic.energy_and_gradient(np.zeros(3, np.float32), STIFFNESS, LOAD)
    assert str(inspect.signature(elastic.energy_hvp)) == "(u, stiffness, load, v)"
