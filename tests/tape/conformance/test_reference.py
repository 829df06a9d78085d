"""The tape against answers that TensorFlow gave; `tests/tape/reference/record.py` writes them down."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tapec
from tests.sampling import sampled
from tests.tape.reference.record import ANSWERS, PROGRAMS, outcome

pytestmark = pytest.mark.usefixtures("mostly_plainly")

RECORD = json.loads(ANSWERS.read_text(encoding="utf-8"))["answers"]

# where TensorFlow departs from its documentation, or this tape from TensorFlow; see docs/coming_from_tensorflow.md
DIFFERENT = {
    "output_gradients_list": [5.0, 3.0],  # None among output gradients stands for ones
    "gradient_inside": {"raises": "RuntimeError"},
    "gradient_inside_then_after": {"raises": "RuntimeError"},
    "target_is_source": {"raises": "ValueError"},
    "control_flow": {"raises": "ValueError"},  # a variable as target
    "jac_list_target": {"raises": "TypeError"},
    "python_float_source": [2.0, None],
    "shape_mismatch_output_gradients": {"raises": "ValueError"},
    "stop_recording_inactive": {"raises": "RuntimeError"},
    "maximum_tie": [[1.0, 0.0], [1.0, 2.0]],  # ties share evenly
}


def kind(error: Exception) -> str:
    """The built-in exception that an error is one of."""
    builtin = (ValueError, TypeError, RuntimeError, AttributeError)
    return next((cls.__name__ for cls in builtin if isinstance(error, cls)), type(error).__name__)


def same(ours: Any, theirs: Any) -> bool:
    """Equal in structure, and in value to single precision."""
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    if theirs is None or isinstance(theirs, str):
        return bool(ours == theirs)
    return isinstance(ours, int | float) and bool(np.isclose(ours, theirs, rtol=1e-4, atol=1e-6))


@pytest.mark.parametrize("name", sampled(PROGRAMS, 20))
def test_answers_as_the_reference_does(name):
    answer = outcome(PROGRAMS[name], tapec, np, kind)
    assert same(answer, DIFFERENT.get(name, RECORD[name])), (answer, RECORD[name])
