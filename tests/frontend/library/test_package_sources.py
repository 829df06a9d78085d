"""Functions of SciPy and NumPy without a rule: an error in their source names the user's call first."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

import tapec
from tapec.errors import UnsupportedFunction
from tests.typed import interpreted

X = np.linspace(0.1, 1.0, 16)


def power(x):
    return np.sum(signal.welch(x, nperseg=8)[1])


def test_the_call_is_named_first():
    with pytest.raises(UnsupportedFunction, match="`scipy.signal.welch` is not supported") as caught:
        tapec.grad(power)(X)
    assert caught.value.span.function == "power" and "its source at " in caught.value.reason


def test_the_hint_works():
    whole = tapec.opaque(signal.welch, ("f8[:]", "f8[:]"))
    with interpreted():
        found = tapec.grad(lambda x: np.sum(whole(tapec.stop_gradient(x), nperseg=8)[1]) * x[0])(X)
    np.testing.assert_allclose(found, np.eye(16)[0] * power(X))
