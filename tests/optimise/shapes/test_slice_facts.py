"""What is known of slices and extents at each statement: compared with the arrays of runs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tapec.analyses.dependence import Affine
from tapec.optimise.shapes.slice_facts import SliceFact, SliceFacts, SlicePart
from tapec.syntax.core import Assign, Const, Name, Stmt
from tests.optimise.reading import read
from tests.oracles import check


class Noted(SliceFacts):
    """Notes what is known where a name `here...` is set."""

    def __init__(self, text: str) -> None:
        function = read(text)
        super().__init__(function)
        self.here: dict[str, dict[str, SliceFact]] = {}
        self.extents_here: dict[str, tuple] = {}
        self.block(function.body)

    def statement(self, stmt: Stmt):
        if isinstance(stmt, Assign) and stmt.target.startswith("here"):
            self.here[stmt.target] = self.slices
            self.extents_here[stmt.target] = (self.asked, self.made, self.fitting, self.agreed)
        return super().statement(stmt)


SLICES = """
def f(a, A, n, k, c):
    n_a = a.shape[0]
    n_b = n_a - 1
    a_1 = a[1:]
    a_2 = a[:-2]
    a_3 = a[1:-1]
    a_4 = a[1:n_b]
    n_c = n_a - 3
    a_9 = a[:n_c]
    a_5 = a_1[1:]
    a_6 = a_3[:-1]
    a_7 = a[1:3]
    A_1 = A[1:, :-1]
    A_2 = A[:, 1:]
    a_8 = A[1:, k]
    A_3 = a_1[:, None]
    A_4 = A[1:]
    here = 1.0
    return n
"""
KNOWN = Noted(SLICES)
SEEN = KNOWN.here["here"]


@pytest.mark.parametrize(
    ("name", "array", "axes"),
    [
        ("a_1", "a", [(1, 0)]),
        ("a_2", "a", [(0, 2)]),
        ("a_3", "a", [(1, 1)]),
        ("a_4", "a", [(1, 1)]),
        # of a short vector, the bound counts from the end
        ("a_9", "a", [(0, None)]),
        ("a_5", "a", [(2, 0)]),
        ("a_6", "a", [(1, 2)]),
        ("a_7", "a", [(1, None)]),
        ("A_1", "A", [(1, 0), (0, 1)]),
        ("A_2", "A", [(0, 0), (1, 0)]),
        ("a_8", "A", [(1, 0), Name("k")]),
        ("A_3", "a", [(1, 0)]),
        ("A_4", "A", [(1, 0), (0, 0)]),
    ],
)
def test_slices(name, array, axes):
    found = SEEN[name]
    assert found.array == array
    assert [(one.first, one.last) if isinstance(one, SlicePart) else one for one in found.axes] == axes
    assert found.new == ((1,) if name == "A_3" else ())


def test_they_are_what_runs_take():
    """Long enough arrays, of which `a[1:3]` is the only slice whose end is not known."""
    scope: dict = {"np": np}
    exec(SLICES.replace("return n", "return locals()"), scope)
    for extent, k in itertools.product((3, 4, 6), (0, 1)):
        a, matrix = np.arange(float(extent)), np.arange(5.0 * extent).reshape(extent, 5)
        made = scope["f"](a, matrix, 2, k, True)
        for name, fact in SEEN.items():
            parts = [
                slice(one.first, None if one.last is None else made[fact.array].shape[axis] - one.last)
                if isinstance(one, SlicePart)
                else made.get(getattr(one, "id", ""), 0)
                for axis, one in enumerate(fact.axes)
            ]
            whole = made[fact.array][tuple(parts)]
            assert fact.axes[0].last is None or np.array_equal(made[name].reshape(whole.shape), whole), name
            for place, (_, part) in zip(fact.old, fact.parts, strict=True):
                if part.rest is not None and part.rest.base is not None:
                    base, _, axis = part.rest.base.partition(".")
                    number = made[base].shape[int(axis)] if axis else made[base]
                    assert made[name].shape[place] == max(number + part.rest.offset, 0), name


@pytest.mark.parametrize(
    "slice_",
    ["a[::2]", "a[::-1]", "a[k:]", "a[-2:]", "a[:]", "A[0]", "A[k]", "A[0:]", "a[None, :]"],
)
def test_others_are_not_known(slice_):
    target = "A_1" if "None" in slice_ else "a_1"
    known = Noted(f"def f(a, A, n, k):\n    {target} = {slice_}\n    here = 1.0\n    return n")
    fact = known.here["here"].get(target)
    assert fact is None or ("None" in slice_ and fact.new == (0,))


@pytest.mark.parametrize(
    ("setting", "stays"),
    [
        ("x = 1.0", True),
        ("a[0] = 1.0", True),
        ("a = a_o", False),
        ("a_1 = a_o", False),
        ("if c: a = a_o", False),
        ("for i in range(n): a_1 = a_o", False),
    ],
)
def test_a_slice_keeps_its_meaning_until_a_name_is_set_again(setting, stays):
    known = Noted(f"def f(a, a_o, n, k, c):\n    a_1 = a[1:]\n    {setting}\n    here = 1.0\n    return n")
    assert ("a_1" in known.here["here"]) == (stays and "a_1 =" not in setting)


def test_what_a_block_knows_ends_with_it():
    known = Noted("""
    def f(a, n, c):
        if c:
            a_1 = a[1:]
            n_1 = a.shape[0]
            here = 1.0
        here_1 = 2.0
        return n
    """)
    assert "a_1" in known.here["here"] and not known.here["here_1"]
    assert "n_1" in known.extents_here["here"][0] and not known.extents_here["here_1"][0]


def test_numbers_of_a_slice_that_a_check_has_found_equal():
    known = Noted("""
    def f(a, a_o, n):
        n_1 = a.shape[0]
        n_2 = a_o.shape[0]
        c_1 = n_1 != n_2
        c_2 = n_1 != 1
        c = c_1 and c_2
        if c:
            raise ValueError()
        here = 1.0
        c_3 = n != n_1
        if c_3:
            raise ValueError()
        a_1 = np.zeros(n)
        here_1 = 2.0
        return n
    """)
    _, _, fitting, agreed = known.extents_here["here"]
    assert fitting == {(Name("n_1"), Name("n_2"))} and not agreed
    _, made, _, agreed = known.extents_here["here_1"]
    assert [dict(one.terms) for one in agreed] == [{"n": 1, "n_1": -1}] and made == {Affine("n", 0)}


def test_extents_and_sizes():
    known = Noted("""
    def f(a, A, n):
        n_1 = n + 2
        a_1 = np.zeros(n_1)
        a_2 = A[0]
        A_1 = A.T
        here = 1.0
        return n
    """)
    assert known.extent("a_1", 0) == Affine("n", 2)
    assert known.extent("a_2", 0) == Affine("A.1", 0) and known.extent("a", 0) == Affine("a.0", 0)
    assert known.size(Const(3)) == Affine(None, 3) and known.size(Name("n_1")) == Affine("n", 2)
    assert known.size(Const(1.5)) is None


def test_parts_between_bounds_that_are_proved_to_be_on_the_axis():
    text = "def f(A, n):\n    n_1 = A.shape[1]\n    for {}:\n        a_1 = A[0, i:]\n        here = 1.0\n    return n"
    (_, part) = Noted(text.format("i in range(n_1)")).here["here"]["a_1"].axes
    assert part.low == Name("i") and part.high is None and part.between is not None and not part.is_all
    assert not Noted(text.format("i in range(n)")).here["here"]
    assert not Noted(text.format("i in range(-1, n_1)")).here["here"]


@pytest.mark.parametrize(
    ("bounds", "below"),
    [
        ("n", True),
        ("1, n", True),
        ("n_1", False),
        ("n_2", True),
        ("n_2, -1, -1", True),
        ("n, -1, -1", False),
        ("-1, n", False),
    ],
)
def test_subscripts_that_are_smaller_than_a_number(bounds, below):
    text = "def f(a, n):\n    n_1 = n + 1\n    n_2 = n - 1\n    for i in range({}):\n        x = a[i]\n    return n"
    assert Noted(text.format(bounds)).is_below(Name("i"), Affine("n", 0)) == below


ASKED = """
def f(A, n, k):
    k_c = k
    {before}
    while True:
        k_1 = max(k_c, 0)
        {inside}
        a_1 = A[0, :k_1]
        here = 1.0
        k_2 = k_c - 1
        c = k_2 < 0
        if c:
            break
        else:
            k_c = k_2
    {behind}
    return n
"""


@pytest.mark.parametrize(
    ("parts", "known"),
    [
        ({"inside": "x = A[0, k_1]"}, True),
        # in the last iteration there is such an element
        ({"behind": "x = A[0, k_1]"}, False),
        ({"before": "x = A[0, k_c]"}, False),
        ({"inside": "x = A[k_1, 0]"}, False),
    ],
)
def test_elements_that_are_asked_for_tell_of_their_own_iteration(parts, known):
    text = ASKED.format(**({"before": "pass", "inside": "pass", "behind": "pass"} | parts))
    (_, part) = Noted(text).here["here"]["a_1"].axes
    assert (part.between is not None) == known


def test_numbers_that_a_check_has_found_equal_may_change_in_a_loop():
    known = Noted("""
    def f(a, n, k):
        k_c = k
        c = k_c != n
        if c:
            raise ValueError()
        here = 1.0
        for i in range(n):
            here_1 = 1.0
            k_c = i
        return n
    """)
    assert known.extents_here["here"][3] and not known.extents_here["here_1"][3]


def shrinking(A, k):
    """Slices that end behind the matrix, until the last one."""
    s = 0.0
    while True:
        m = max(k, 0)
        s += np.sum(A[0, :m])
        k -= 50
        if k < 0:
            break
    return s * A[0, m]


@pytest.mark.slow
def test_slices_that_end_behind_an_axis():
    check(shrinking, (np.arange(1.0, 11.0).reshape(2, 5), 100), (0,), forward_level=0)
