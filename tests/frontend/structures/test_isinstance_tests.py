"""Of which class a value is: as in Python, or refused."""

from __future__ import annotations

import collections
import collections.abc
import numbers

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError
from tests import oracles

Pair = collections.namedtuple("Pair", "a b")

VALUES = {
    "float": 2.0,
    "int": 3,
    "bool": True,
    "float32": np.float32(2.0),
    "int32": np.int32(3),
    "complex": 1.0 + 2.0j,
    "array": np.ones(3),
    "array of no axis": np.array(1.0),
    "tuple": (1.0, 2.0),
    "list": [1.0, 2.0],
    "dict": {"a": 1.0},
    "named tuple": Pair(1.0, 2.0),
    "text": "text",
    "None": None,
}
QUESTIONS = {
    "object": lambda v: isinstance(v, object),
    "float": lambda v: isinstance(v, float),
    "int": lambda v: isinstance(v, int),
    "either": lambda v: isinstance(v, (int, np.integer, float, np.floating)),
    "nested": lambda v: isinstance(v, (bool, (list, (tuple,)))),
    "union": lambda v: isinstance(v, int | list | None),
    "number": lambda v: isinstance(v, np.number),
    "array": lambda v: isinstance(v, np.ndarray),
    "Number": lambda v: isinstance(v, numbers.Number),
    "Real": lambda v: isinstance(v, numbers.Real),
    "Sequence": lambda v: isinstance(v, collections.abc.Sequence),
    "Iterable": lambda v: isinstance(v, collections.abc.Iterable),
    "Mapping": lambda v: isinstance(v, collections.abc.Mapping),
    "list": lambda v: isinstance(v, list),
    "dict": lambda v: isinstance(v, dict),
    "type is float": lambda v: type(v) is float,
    "type in": lambda v: type(v) in (tuple, dict),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_as_in_python_or_refused(question):
    ask = QUESTIONS[question]

    def chosen(x, v):
        return x * x if ask(v) else 3.0 * x

    answered = 0
    with oracles.interpreted():
        slope = tapec.grad(chosen)
        for label, value in VALUES.items():
            try:
                found = slope(2.0, value)
            except TapecError:
                continue
            assert found == (4.0 if ask(value) else 3.0), label
            answered += 1
    assert answered >= len(VALUES) // 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:tapec has read")
def test_numbers_of_a_running_program_are_of_their_own_class():
    x = tapec.constant(2.0)
    with oracles.interpreted():
        for value in (2.0, np.float64(2.0), 3, np.int64(3), np.float32(2.0)):
            for ask in QUESTIONS.values():
                with tapec.GradientTape() as tape:
                    tape.watch(x)
                    y = x * x if ask(value) else 3.0 * x
                assert tape.gradient(y, x) == (4.0 if ask(value) else 3.0)
