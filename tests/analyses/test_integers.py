"""What is proved of subscripts that are sums, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.analyses.inequalities import contradict
from tapec.analyses.iterations import Iterations
from tapec.syntax.core import For, Name, walk
from tapec.syntax.linear import Sum
from tests.optimise.reading import read
from tests.oracles import check
from tests.sampling import sampled


class Asked:
    """The answers about the loop over `i` of a function."""

    def __init__(self, text: str) -> None:
        function = read(text)
        self.integers = Iterations(function).dependence.integers
        self.loop = next(stmt for stmt in walk(function.body) if isinstance(stmt, For) and stmt.var == "i")
        (self.here,) = self.integers.scopes.body[self.loop.key]

    def disjoint(self, first: str, second: str, later: bool = False) -> bool:
        """In different iterations, and both not negative."""
        one, other = (self.integers.sum(Name(name)) for name in (first, second))
        counted = all(self.integers.never_negative(sum_, self.here) for sum_ in (one, other))
        return counted and self.integers.disjoint(one, other, self.loop, later)

    def different(self, first: str, second: str) -> bool:
        """In the same iteration."""
        one, other = (self.integers.sum(Name(name)) for name in (first, second))
        return self.integers.different(one, other, self.here)

    def counted(self, name: str) -> bool:
        return self.integers.never_negative(self.integers.sum(Name(name)), self.here)


PARTS = Asked("""
    def f(a, n, j):
        n2 = 2 * n
        for i in range(n):
            i1 = n + i
            i2 = n2 + i
            i3 = i - n
            i4 = j + i
            i5 = 2 * i
            i6 = i5 + n
    """)


def test_parts_of_an_array_that_are_as_long_as_the_loop_are_apart():
    for first, second in (("i", "i1"), ("i1", "i2"), ("i", "i2"), ("i1", "i1")):
        assert PARTS.disjoint(first, second)
        assert PARTS.disjoint(second, first, later=True)
    assert PARTS.different("i", "i1")
    assert not PARTS.different("i1", "i1")


def test_parts_that_may_overlap_are_not_apart():
    assert not PARTS.disjoint("i", "i4")
    assert not PARTS.different("i", "i4")
    assert not PARTS.disjoint("i5", "i1")
    assert not PARTS.disjoint("i5", "i6")
    # the same place counted from the end
    assert not PARTS.disjoint("i3", "i1")
    assert not PARTS.counted("i3")


def test_an_iteration_tells_that_a_number_of_iterations_is_positive():
    assert PARTS.counted("i1")
    assert PARTS.counted("n")
    assert not PARTS.counted("i4")
    # outside of the loop nobody knows
    assert not PARTS.integers.never_negative(Sum.of("n"))
    assert PARTS.integers.never_negative(Sum.of("n"), beside=Sum.of("i"))


STRIDES = Asked("""
    def f(a, n, j):
        n3 = 3 * n
        for i in range(n):
            i3 = 3 * i
            i31 = i3 + 1
            i33 = i3 + 3
            i3n = i3 + n
            for k in range(3):
                ik = i3 + k
            for k4 in range(4):
                ik4 = i3 + k4
    """)


def test_remainders_tell_strides_apart():
    assert STRIDES.disjoint("i3", "i31")
    assert STRIDES.different("i3", "i31")
    assert STRIDES.disjoint("i3", "i3")
    assert STRIDES.disjoint("ik", "ik")
    assert STRIDES.disjoint("ik", "i31")


def test_strides_that_meet_are_not_apart():
    assert not STRIDES.disjoint("i3", "i33")
    # what a later iteration comes to has been left behind in one direction alone
    assert STRIDES.disjoint("i3", "i33", later=True)
    assert not STRIDES.disjoint("i33", "i3", later=True)
    assert not STRIDES.disjoint("i3", "i3n")
    assert not STRIDES.disjoint("ik4", "ik4")
    assert not STRIDES.different("ik", "i31")


FLAT = Asked("""
    def f(a, n, k):
        for i in range(k):
            in_ = i * n
            for j in range(n):
                ij = in_ + j
            for j1 in range(k):
                ik = in_ + j1
    """)


def test_rows_of_a_flat_matrix_are_apart():
    assert FLAT.disjoint("ij", "ij")
    assert not FLAT.disjoint("ik", "ik")
    # nobody knows that n is positive where the loop over j makes no iteration
    assert not FLAT.counted("in_")


STEPS = Asked("""
    def f(a, n, j, k):
        n2 = 2 * j
        for i in range(0, n, n2):
            for k1 in range(j):
                i0 = i + k1
                i1 = i0 + j
            for k2 in range(k):
                i2 = i + k2
    """)


def test_steps_that_only_the_run_knows():
    assert STEPS.disjoint("i0", "i1")
    assert STEPS.disjoint("i0", "i0")
    assert STEPS.counted("i1")
    assert not STEPS.disjoint("i2", "i2")
    # the step may be negative
    assert not STEPS.counted("i")


DOUBLED = """
    def f(a, n):
        k = 1
        while True:
            c = k < n
            if c:
                for i in range(k):
                    i1 = i + k
                    x = a[i1]
                    a[i] = x
                k1 = 2 * k
                k = k1
            else:
                break
        return a
    """


def test_what_a_loop_carries_has_one_value_in_an_iteration():
    asked = Asked(DOUBLED)
    assert asked.disjoint("i", "i1")
    assert asked.counted("i1")


def test_what_the_loop_itself_carries_has_others_in_other_iterations():
    asked = Asked("""
        def f(a, n):
            k = 0
            for i in range(n):
                i1 = k + 1
                k2 = k + 2
                k = k2
        """)
    assert not asked.disjoint("i1", "i1")
    assert not asked.different("i1", "i1")


def test_a_name_set_in_the_middle_is_nothing_to_go_by():
    asked = Asked(DOUBLED.replace("x = a[i1]", "k = i1 + 1\n                    x = a[i1]"))
    assert not asked.disjoint("i", "i1")
    given = Asked(PARTS_SET_AGAIN)
    assert not given.disjoint("i", "i1")


PARTS_SET_AGAIN = """
    def f(a, n):
        for i in range(n):
            n = i * 1
            i1 = n + i
    """


def test_loops_that_run_backwards_and_bounds_that_are_chosen():
    asked = Asked("""
        def f(a, n, j):
            k = n - 1
            for i in range(k, -1, -1):
                i1 = i + n
                n1 = min(j, n)
                n2 = max(j, n)
                n3 = i % 4
                i4 = n3 + 4
                for k1 in range(n1):
                    i5 = n + k1
                for k2 in range(n2):
                    i6 = n + k2
        """)
    assert asked.disjoint("i", "i1")
    assert asked.disjoint("i", "i5")
    assert asked.disjoint("k2", "k2") is False
    assert asked.disjoint("i", "i6")
    assert not asked.disjoint("i1", "i6")
    assert asked.different("n3", "i4")
    assert asked.counted("n3")


def test_inequalities_that_are_too_many_are_not_known_to_contradict():
    names = [Sum.of(f"i{k}") for k in range(40)]
    chain = [later.plus(earlier, -1) for earlier, later in zip(names, names[1:], strict=False)]
    assert contradict([*chain, names[0].plus(names[-1], -1).plus(Sum(number=-1))])
    assert not contradict(chain)


# whole programs: right where iterations are apart, and where they are not


def two_fields(y, n):
    for i in range(n):
        q = y[i]
        p = y[n + i]
        y[i] = q * p
        y[n + i] = p - 0.1 * np.sin(q)
    for i in range(n):
        y[i] += y[n + i] * y[i]
    return np.sum(y * y * y)


def fields_that_meet(y, n):
    m = n // 2
    for i in range(n):
        y[m + i] = y[i] * y[m + i]
    return np.sum(y * y)


def fields_from_the_end(y, n):
    for i in range(n):
        y[n + i] = y[i - n] * y[i] + y[n + i]
    return np.sum(y * y)


def three_to_a_point(y, n):
    for i in range(n):
        x = y[3 * i]
        for k in range(3):
            y[3 * i + k] = y[3 * i + k] * np.cos(x)
        y[3 * i + 1] += y[3 * i + 2]
    return np.sum(y * y)


def strides_that_meet(y, n):
    for i in range(1, n):
        y[2 * i] = y[2 * i - 2] * y[2 * i]
    return np.sum(y * y)


def rows_of_a_flat_matrix(y, n):
    for i in range(2):
        for j in range(n):
            y[i * n + j] = y[i * n + j] * y[i * n]
    return np.sum(y * y)


def views_of_halves(y, n):
    q = y[:n]
    p = y[n:]
    for i in range(n):
        p[i] -= 0.1 * q[i] * q[i]
        q[i] += p[i] * q[i]
    return np.sum(y * y)


def views_that_meet(y, n):
    q = y[:n]
    p = y[n // 2 :]
    for i in range(n):
        p[i] -= 0.1 * q[i] * q[i]
    return np.sum(y * y)


@pytest.mark.parametrize("n", sampled([3, 0, 1, -1], 4))
@pytest.mark.parametrize(
    "program",
    [
        two_fields,
        fields_that_meet,
        fields_from_the_end,
        three_to_a_point,
        strides_that_meet,
        rows_of_a_flat_matrix,
        views_of_halves,
        views_that_meet,
    ],
    ids=lambda program: program.__name__,
)
def test_gradients_of_states_in_one_array(program, n):
    size = 2 * max(n, 1) if program is not three_to_a_point else 9
    check(program, (np.linspace(0.5, 1.4, size), n), (0,))


def steps(y, n):
    for _ in range(3):
        for i in range(n):
            q = y[i]
            y[i] += 0.1 * y[n + i]
            y[n + i] -= 0.1 * np.sin(q)
    return np.sum(y * y)


def steps_that_may_meet(y, n, m):
    for _ in range(3):
        for i in range(n):
            q = y[i]
            y[i] += 0.1 * y[m + i]
            y[m + i] -= 0.1 * np.sin(q)
    return np.sum(y * y)


def test_loops_run_upward_where_parts_are_apart():
    upward = tapec.emit(steps, 0, signature="f8[:], i8", opt_level=2).split("# reverse sweep")[1]
    assert "independent(range(n))" in upward
    downward = tapec.emit(steps_that_may_meet, 0, signature="f8[:], i8, i8", opt_level=2).split("# reverse sweep")[1]
    assert "for i in range(n - 1, -1, -1):" in downward


def moved_on(x, w, m):
    y = x.copy()
    for _ in range(m):
        z = np.empty(x.shape[0])
        for i in range(x.shape[0]):
            z[i] = y[i] * w[i] + np.sin(y[i])
        y = z
    return np.sum(y)


def test_names_for_arrays_as_they_were_made_are_one_array_or_two():
    # what is added to, and what is cleared, may be one array: at one element in an iteration then
    reverse = tapec.emit(moved_on, (0, 1), signature="f8[:], f8[:], i8", opt_level=2).split("# reverse sweep")[1]
    assert "range(n - 1, -1, -1)" not in reverse
    for m in (0, 1, 3):
        check(moved_on, (np.linspace(0.5, 1.4, 4), np.linspace(-0.5, 0.7, 4), m))


@pytest.mark.parametrize(
    ("second", "apart"), [("a_1", True), ("a_1[1:]", False), ("np.zeros(n)", True), ("np.dot(a_1, a_1)", False)]
)
def test_a_view_may_be_another_part_of_an_array(second, apart):
    asked = Iterations(read(f"""
        def f(a_1, n, c, s):
            a_2 = np.zeros(n)
            if c:
                a = a_1
                a = a_2
            else:
                a = {second}
            for i in range(n):
                a[i] += s
                t = a_1[i]
                a_1[i] = t
    """))
    loop = next(stmt for stmt in asked.dependence.loops.values() if stmt.var == "i")
    assert asked.is_parallel(loop) is apart
