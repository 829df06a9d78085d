"""Functions of Numba's that have no machine code of their own: callers, ours and others, do not miss it."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.core import event

from tapec.backend.numba_internals import lean_compiler
from tapec.backend.numba_internals.linked_functions import LinkedLibrary, is_part_of_numba
from tapec.options import DEFAULT


def factors(a):
    q = np.linalg.inv(a)
    parts = np.sort(q.ravel())
    if parts[0] > 1e6:
        raise ValueError("too large", parts[0])
    return parts


@pytest.mark.slow
def test_they_are_linked_into_callers_of_either_kind():
    met = []

    class Listener(event.Listener):
        def on_start(self, started):
            met.append(started.data["dispatcher"])

        def on_end(self, ended):
            pass

    listener = Listener()
    ours = numba.njit(**lean_compiler.flags(DEFAULT))(factors)
    with event.install_listener("numba:compile", listener):
        found = ours(2.0 * np.eye(3))
    inner = [(one.py_func.__qualname__, made.library) for one in met for made in one.overloads.values()]
    linked = [name for name, library in inner if type(library) is LinkedLibrary]
    assert any(name.startswith("inv_impl") for name in linked) and any("quicksort" in name for name in linked)
    assert found.tolist() == [0.0] * 6 + [0.5] * 3
    # Numba's own compiler takes them as they are, with what they raise
    others = numba.njit(factors)
    assert others(2.0 * np.eye(3)).tolist() == found.tolist()
    for one in (ours, others):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            one(np.zeros((3, 3)))
        with pytest.raises(ValueError, match="too large"):
            one(1e-9 * np.eye(3) - 1e-12)


def test_what_python_calls_is_not_linked_alone():
    assert not is_part_of_numba(numba.typed.typedlist._append.py_func)
    assert is_part_of_numba(np.linalg.inv) is is_part_of_numba(factors) is False
    assert is_part_of_numba(numba.np.linalg._check_finite_matrix)
