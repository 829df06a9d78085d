"""What iterations leave for the next ones, if LLVM can shift vectors of it."""

from __future__ import annotations

import pytest

from tapec.analyses.first_order_recurrences import shifted
from tests.optimise.reading import read

CASES = [
    # what the iteration before computed, and the one before that
    ("here = a[i]; d = here - left; a_o[i] = d; left = here", {"left": "here"}),
    ("here = a[i]; d = here - last; a_o[i] = d; last = left; left = here", {"last": "left", "left": "here"}),
    ("here = a[i]; d = here * left; s_1 = s + d; left = here; s = s_1", {"left": "here"}),
    ("here = a[i]; d = here * left; e = s - d; s_1 = e + d; left = here; s = s_1", {"left": "here"}),
    # nothing is left, or a number of which there is no vector
    ("here = a[i]; a_o[i] = here", {}),
    ("left = 1.0; here = left + r", {}),
    ("here = left * r; left = r", {}),
    # read after it was set: the value of this iteration
    ("here = a[i]; same = here; a_o[i] = same", {}),
    # an iteration waits for the one before
    ("here = a[i]; t = here * left; a_o[i] = t; left = t", {}),
    ("here = a[i]; d = here - left; e = last * d; left = here; last = e", {}),
    ("t = u + v; u = v; v = t", {}),
    # ... and not by a sum
    ("here = a[i]; d = here * left; s_1 = s - d; s_2 = s_1 * 2.0; left = here; s = s_2", {}),
    ("here = a[i]; d = here * left; s_1 = d - s; left = here; s = s_1", {}),
    ("here = a[i]; t = s * r; u = t + here; s_1 = s + u; left = here; s = s_1; v = left", {}),
    ("here = a[i]; d = here * left; s_1 = s + d; s_2 = s_1 + s; left = here; s = s_2", {}),
    # ways, and lists, which are in order
    ("here = a[i]\n    if c: d = left\n    left = here", {}),
    ("here = r_stack.pop(); d = here - left; a_o[i] = d; left = here", {}),
    ("", {}),
]


@pytest.mark.parametrize(("body", "left"), CASES)
def test_what_is_shifted(body, left):
    assert shifted(read(f"def f(a, a_o, r, left, last, s, u, v, c, i):\n    {body or 'pass'}").body) == left
