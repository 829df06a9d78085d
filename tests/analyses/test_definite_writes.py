"""Blocks that write the rows of an array before they read them: compared with what runs read and write."""

from __future__ import annotations

import itertools

import pytest

from tapec.analyses.definite_writes import DefiniteWrites
from tapec.analyses.facts import facts
from tapec.syntax.core import Assign, For, Op, walk
from tests.optimise.reading import read

VECTOR = """
def f(r, n, k_0, k_1, c):
    n_1 = n - 1
    n_2 = n - 2
    a = np.empty(n)
    for k in range(k_0, k_1):
        {}
    return r
"""
BODIES = {
    "all, then all": "for i in range(n): a[i] = r\n        for j in range(n): x = a[j]",
    "the one before": "a[0] = r\n        for i in range(1, n):\n            i_1 = i - 1\n            x = a[i_1]\n"
    "            a[i] = x",
    "back": "for i in range(n_1, -1, -1): a[i] = r\n        for j in range(n): x = a[j]",
    "back, the one behind": "a[n_1] = r\n        for i in range(n_2, -1, -1):\n            i_1 = i + 1\n"
    "            x = a[i_1]\n            a[i] = x",
    "two parts": "for i in range(n_1): a[i] = r\n        for j in range(n_1, n): a[j] = r\n"
    "        for i_1 in range(n): x = a[i_1]",
    "a sum": "for i in range(n): a[i] = r\n        for j in range(n): a[j] += r",
    "its extent": "n_3 = a.shape[0]\n        for i in range(n_3): a[i] = r",
    "nothing": "x = r",
    # and what reads something else
    "a sum first": "for i in range(n): a[i] += r",
    "all but one": "for i in range(n_1): a[i] = r\n        for j in range(n): x = a[j]",
    "all but the first": "for i in range(1, n): a[i] = r\n        for j in range(n): x = a[j]",
    "the one that follows": "a[0] = r\n        for i in range(n_1):\n            i_1 = i + 1\n            x = a[i_1]\n"
    "            a[i] = x",
    "from the end": "a[0] = r\n        for i in range(n_1):\n            i_1 = i - 1\n            x = a[i_1]\n"
    "            a[i] = x",
    "every other": "for i in range(0, n, 2): a[i] = r\n        for j in range(n): x = a[j]",
    "in a branch": "for i in range(n):\n            if c: a[i] = r\n        for j in range(n): x = a[j]",
    "in one way": "if c:\n            a[0] = r\n        x = a[0]",
    "until a way out": "for i in range(n):\n            a[i] = r\n            if c: break\n"
    "        for j in range(n): x = a[j]",
    "no iteration, perhaps": "for i in range(k_0): a[0] = r\n        x = a[0]",
    "a gap": "for i in range(k_0): a[i] = r\n        for j in range(k_1, n): a[j] = r\n        x = a[k]",
    "a view": "a_1 = a[1:]\n        for i in range(n): a[i] = r",
    "another number each time": "n_3 = k_0\n        for i in range(k_1):\n            a[n_3] = r\n            n_3 = i\n"
    "        x = a[k_0]",
    "at a place that may count from the end": "a[k_0] = r\n        x = a[k_0]",
    "in a loop without end": "while True:\n            x = a[0]\n            a[0] = r\n            break",
}
PROVED = 8


class Watched(list):
    """A vector, or a matrix of elements by their subscripts, of which each iteration reads what it has written."""

    stale = False

    def __init__(self, shape):
        self.shape = shape if isinstance(shape, tuple) else (shape,)
        self.written = set()

    def __getitem__(self, place):
        if isinstance(place, slice):
            return self
        self.stale |= self.place(place) not in self.written
        return 1.0

    def __setitem__(self, place, value):
        self.written.add(self.place(place))

    def place(self, place):
        place = place if isinstance(place, tuple) else (place,)
        if any(not -n <= one < n for one, n in zip(place, self.shape, strict=True)):
            raise IndexError
        return tuple(one % n for one, n in zip(place, self.shape, strict=True))


def _stale(text: str, *args: object) -> bool:
    """Whether an iteration reads what it has not written."""
    lines = []
    for line in text.splitlines():
        lines.append(line.replace("np.empty", "Watched"))
        if line.startswith("    for k in"):
            lines.append("        buffers[0].written.clear()")
        if "Watched" in lines[-1]:
            lines.append(f"    buffers.append({line.split()[0]})")
    scope: dict = {"Watched": Watched, "buffers": []}
    exec("\n".join(lines), scope)
    try:
        scope["f"](*args)
    except IndexError:
        return False
    return scope["buffers"][0].stale


def _proved(text: str, name: str, nearly_all: bool = False) -> bool:
    function = read(text)
    (made,) = (one for one in walk(function.body) if isinstance(one, Assign) and one.target == name)
    (loop,) = (one for one in walk(function.body) if isinstance(one, For) and one.var == "k")
    assert isinstance(made.value, Op)
    known = DefiniteWrites(name, facts(function).dependence.integers, made.value.args[1:])
    return known.before_reading(loop.body, nearly_all)


@pytest.mark.parametrize("name", BODIES)
def test_rows_of_a_vector(name):
    text = VECTOR.format(BODIES[name])
    proved = _proved(text, "a")
    assert proved == (list(BODIES).index(name) < PROVED)
    runs = itertools.product((0, 1, 2, 5), (-1, 0, 2), (0, 3), (False, True))
    assert not (proved and any(_stale(text, 1.0, *run) for run in runs))


MATRIX = """
def f(r, n, n_c, k_1, c):
    n_m = n_c
    A = np.empty((n, n_c))
    for k in range(k_1):
        for i in range(n):
            {}
        for i_1 in range(n):
            for j in range({read}):
                x = A[i_1, j]
    return r
"""
WHOLE = "for j_1 in range(n_c): A[i, j_1] = r"


@pytest.mark.parametrize(
    ("body", "proved"),
    [
        (WHOLE, True),
        (f"x = r\n            {WHOLE}", True),
        ("for j_1 in range(1, n_c): A[i, j_1] = r", False),
        ("for j_1 in range(n): A[i, j_1] = r", False),
        ("for j_1 in range(n_c): A[0, j_1] = r", False),
        ("for j_1 in range(n_c): A[i, i] = r", False),
        ("for j_1 in range(n_c):\n                if c: A[i, j_1] = r", False),
        ("A[i, 0] = r", False),
        # an extent that changes after the matrix is made
        (f"{WHOLE}\n        n_c = n_c - 1", False),
    ],
)
def test_rows_of_a_matrix(body, proved):
    text = MATRIX.format(body, read="n_m" if "n_c - 1" in body else "n_c")
    assert _proved(text, "A") == proved
    runs = itertools.product((0, 1, 3), (0, 1, 3), (0, 1, 2), (False, True))
    assert any(_stale(text, 1.0, *run) for run in runs) != proved


@pytest.mark.parametrize(
    ("body", "most"),
    [
        ("for i in range(n): a[i] = r", True),
        ("for i in range(2, n_2): a[i] = r", True),
        ("for i in range(5, n): a[i] = r", False),
        ("for i in range(k_0): a[i] = r", False),
        ("x = r", False),
    ],
)
def test_whether_nearly_all_is_written(body, most):
    text = VECTOR.format(body)
    assert _proved(text, "a") and _proved(text, "a", nearly_all=True) == most
