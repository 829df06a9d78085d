"""Programs over whole arrays: what they compute, what they look like, and which loops stay."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import numpy as np
import pytest

from tapec.backend.array_text import whole_arrays
from tapec.syntax.core import Function
from tapec.tape.run.compiled_derivative import loaded
from tests.optimise.comparison import run
from tests.optimise.reading import read

HEAD = "def f(A, B, a, a2, n, x, c):\n    nr = A.shape[0]\n    nc = A.shape[1]\n"


def program(body: str) -> str:
    return HEAD + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")


def arguments(rows: int, columns: int) -> tuple:
    rng = np.random.default_rng(rows)
    shapes = (rows, columns), (columns, rows + 1), (rows,), (columns + 2,)
    return (*(rng.normal(size=shape) for shape in shapes), rows, 0.7, True)


# how many loops are left; and the program
PROGRAMS = {
    "a sum of products": (0, """
        y = 0.0
        for i in range(nr):
            for j in range(nc):
                u = A[i, j]
                v = u * x
                z = y + v
                y = z
        return y
        """),
    "sums of rows and columns": (0, """
        a3 = np.zeros(nr)
        a4 = np.zeros(nc)
        nl = nr - 1
        for i in range(nl, -1, -1):
            for j in range(nc):
                u = A[i, j]
                a3[i] += u
                a4[j] += u
        return a3, a4
        """),
    "a matrix product": (0, """
        C = np.zeros((nr, nr))
        for i in range(nr):
            for j in range(nr):
                y = 0.0
                for k in range(nc):
                    u = A[i, k]
                    v = B[k, j]
                    w = u * v
                    z = y + w
                    y = z
                C[i, j] = y
        return C
        """),
    "what does not depend on a loop is added once for each iteration": (0, """
        a3 = np.zeros(nr)
        y = 0.0
        for i in range(nr):
            u = a[i]
            for j in range(nc):
                a3[i] += u
                z = y + u
                y = z
        return a3, y
        """),
    "a number is taken before it is cleared": (0, """
        a3 = np.zeros(nr)
        nl = nr - 1
        for i in range(nl, -1, -1):
            u = a[i]
            a[i] = 0.0
            a3[i] += u
        return a, a3
        """),
    "branches": (0, """
        a3 = np.zeros(nr)
        for i in range(nr):
            u = a[i]
            c2 = u > 0.0
            if c2:
                v = u * x
            else:
                v = 0.0
            c3 = u > x
            if c3:
                a3[i] += v
            a3[i] += u
        return a3
        """),
    "a branch that all take": (0, """
        a3 = np.zeros(nr)
        for i in range(nr):
            u = a[i]
            if c:
                a3[i] += u
        return a3
        """),
    "shifted rows": (0, """
        a3 = np.empty(nc)
        for j in range(nc):
            i = j + 2
            u = a2[i]
            v = a2[j]
            w = u - v
            a3[j] = w
        return a3
        """),
    "an array of each iteration": (0, """
        a4 = np.zeros(nr)
        for i in range(nr):
            a3 = np.empty(nc)
            for j in range(nc):
                u = A[i, j]
                v = np.exp(u)
                a3[j] = v
            nl = nc - 1
            for k in range(nl, -1, -1):
                w = a3[k]
                a4[i] += w
        return a4
        """),
    "turned axes": (0, """
        C = np.empty((nc, nr))
        for i in range(nr):
            for j in range(nc):
                u = A[i, j]
                C[j, i] = u
        return C
        """),
    "a diagonal": (0, """
        y = 0.0
        for i in range(nr):
            u = B[i, i]
            z = y + u
            y = z
        return y
        """),
    "the largest": (0, """
        a3 = np.empty(nr)
        for i in range(nr):
            y = -1.0
            for j in range(nc):
                u = A[i, j]
                z = np.maximum(y, u)
                y = z
            a3[i] = y
        return a3
        """),
    "the position as a number": (0, """
        a3 = np.empty(nr)
        for i in range(nr):
            u = i * 0.5
            v = u * x
            a3[i] = v
        return a3
        """),
    "elements that are added to in any order": (0, """
        a3 = np.zeros(nr + nc)
        for i in range(nr):
            for j in range(nc):
                k = i + j
                u = A[i, j]
                a3[k] += u
        return a3
        """),
    "one after the other inside": (1, """
        a3 = np.empty(nr)
        for i in range(nr):
            y = a[i]
            for j in range(3):
                z = y * y
                y = z
            a3[i] = y
        return a3
        """),
    "one after the other outside": (1, """
        for k in range(3):
            for i in range(nr):
                u = a[i]
                v = u * x
                a[i] = v
        return a
        """),
    "a recurrence": (1, """
        for i in range(1, nr):
            k = i - 1
            u = a[k]
            v = u * x
            a[i] = v
        return a
        """),
    "one element for all": (1, """
        a3 = np.zeros(1)
        for i in range(nr):
            u = a[i]
            a3[0] = u
        return a3
        """),
    "what an iteration hands on is used": (1, """
        y = 0.0
        a3 = np.empty(nr)
        for i in range(nr):
            u = a[i]
            z = y + u
            y = z
            a3[i] = y
        return a3
        """),
    "the last element stands for the one before the first": (1, """
        nl = nr + 1
        for i in range(nl):
            k = i - 1
            u = a[k]
            v = u * x
            a[k] = v
        return a
        """),
    "elements in a branch": (0, """
        a3 = np.zeros(nr)
        for i in range(nr):
            for j in range(nc):
                u = A[i, j]
                c2 = u > 0.0
                if c2:
                    v = a[i]
                    w = B[j, 0]
                    w2 = v * w
                else:
                    w2 = a2[j]
                a3[i] += w2
        return a3
        """),
    "an element before the first in a branch": (1, """
        a3 = np.zeros(nr)
        for i in range(nr):
            c2 = i > 0
            if c2:
                k = i - 1
                u = a[k]
                a3[i] += u
        return a3
        """),
}  # fmt: skip

# of programs that do not take every size
SIZES = {"a diagonal": ((3, 5),), "the last element stands for the one before the first": ((4, 3), (1, 1))}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_those_of_the_loops(name):
    loops, body = PROGRAMS[name]
    core = read(program(body))
    made = whole_arrays(core)
    assert made.text.count("for ") == made.text.count("long loops") == loops, made.text
    over_arrays = loaded("f", made.text, {})
    for rows, columns in SIZES.get(name, ((4, 3), (1, 1), (0, 2))):
        wanted = run(core, arguments(rows, columns))
        found = over_arrays(*arguments(rows, columns))
        found = found if isinstance(found, tuple) else (found,)
        for one, other in zip(found, wanted, strict=False):
            assert np.shape(one) == np.shape(other), made.text
            np.testing.assert_allclose(one, other, rtol=1e-13, err_msg=made.text)


def test_a_nest_is_a_few_statements():
    core = read("""
    def f(A, a):
        n = A.shape[0]
        n2 = A.shape[1]
        B = np.empty((n, n2))
        for i in range(n):
            for j in range(n2):
                u = A[i, j]
                v = a[i]
                w = u * v
                B[i, j] = w
        return B
    """)
    wanted = """
    def f(A, a):
        n = A.shape[0]
        n2 = A.shape[1]
        B = np.empty((n, n2))
        u = A[:n, :n2]
        v = a[:n, None]
        w = u * v
        B[:n, :n2] = w
        del u, v, w
        return B
    """
    assert whole_arrays(core).text == textwrap.dedent(wanted).lstrip()


def test_an_array_that_the_program_does_not_have_may_not_be_large():
    _, body = PROGRAMS["a matrix product"]
    over_arrays = loaded("f", whole_arrays(read(program(body))).text, {})
    large = np.zeros((200, 200))
    with pytest.raises(MemoryError):
        over_arrays(large, large, large[0], large[0], 200, 0.0, True)


def test_an_error_in_a_loop_is_raised():
    _, body = 0, """
        for i in range(nr):
            u = a[i]
            c2 = u < 0.0
            if c2:
                raise ValueError("below zero")
        return x
        """
    made = whole_arrays(read(program(body)))
    assert not made.steps
    over_arrays = loaded("f", made.text, {})
    A = np.ones((2, 2))
    assert over_arrays(A, A, A[0], A[0], 2, 3.0, True) == 3.0
    with pytest.raises(ValueError):  # noqa: PT011  the text is none of core form
        over_arrays(A, A, -A[0], A[0], 2, 3.0, True)


def typed(text: str, **types: str) -> Function:
    """A program some of whose names have other types than their letters say."""
    core = read(text)
    changed = {name: replace(core.types[name], dtype=dtype) for name, dtype in types.items()}
    return replace(core, types={**core.types, **changed})


def test_a_literal_makes_single_precision_double():
    core = typed(
        """
        def f(a, a2):
            n = a.shape[0]
            y = 0.0
            for i in range(n):
                u = a[i]
                v = 0.1 * u
                w = u * u
                c = u > 0.1
                c2 = u > w
                a2[i] = w
                z = y + u
                y = z
            r = w0 * 0.1
            return y, r
        """,
        **dict.fromkeys(("a", "a2", "u", "w", "w0"), "float32"),
    )
    wanted = """
    def f(a, a2):
        n = a.shape[0]
        y = 0.0
        u = a[:n]
        v = 0.1 * (np.float64(u))
        w = u * u
        c = (np.float64(u)) > 0.1
        c2 = u > w
        a2[:n] = w
        z = np.float64(u)
        y_each = z
        y = y + np.sum(y_each)
        del u, v, w, c, c2, z, y_each
        r = np.float64(w0) * 0.1
        return y, r
    """
    assert whole_arrays(core).text == textwrap.dedent(wanted).lstrip()


def test_sums_of_single_precision_stay_single():
    core = typed(
        """
        def f(a, y, n):
            n2 = a.shape[0]
            for i in range(n2):
                u = a[i]
                z = y + u
                y = z
            for j in range(n):
                t = y + y0
                y = t
            return y
        """,
        **dict.fromkeys(("a", "u", "y", "z", "t", "y0"), "float32"),
    )
    run = loaded("f", whole_arrays(core).text, {"y0": np.float32(2)})
    found = run(np.arange(4, dtype=np.float32), np.float32(0), np.int64(3))
    assert found == 12
    assert found.dtype == np.float32


def test_short_integers_are_long_once_they_are_loaded():
    core = typed(
        """
        def f(a, a2, n):
            n2 = a.shape[0]
            k = 0
            for i in range(n2):
                i2 = a[i]
                j = i2 + n
                a2[i] = j
                k2 = k + j
                k = k2
            j2 = a[0]
            j3 = j2 + n
            return k, j3
        """,
        a="uint8",
        a2="uint8",
        i2="uint8",
        j2="uint8",
    )
    made = whole_arrays(core)
    assert not made.steps, made.text
    array = np.zeros(2, dtype=np.uint8)
    numbers, first = loaded("f", made.text, {})(np.array([250, 3], dtype=np.uint8), array, 10)
    assert (numbers, first) == (273, 260)
    np.testing.assert_array_equal(array, np.array([4, 13], dtype=np.uint8))


def test_booleans_are_counted():
    core = read("""
    def f(a, n):
        n2 = a.shape[0]
        k = n
        for i in range(n2):
            u = a[i]
            c = u > 0.0
            c2 = u > 1.0
            j = c + c2
            k2 = k + j
            k = k2
        return k
    """)
    assert loaded("f", whole_arrays(core).text, {})(np.array([0.5, 2.0, -1.0]), 1) == 4


def test_loops_that_stay_may_run_so_many_steps():
    _, body = PROGRAMS["a recurrence"]
    made = whole_arrays(read(program(body)))
    over_arrays = loaded("f", made.text, {})
    given = arguments(9, 2)
    over_arrays(*given)
    over_arrays(*given, **{made.steps: 32})
    with pytest.raises(TimeoutError):
        over_arrays(*given, **{made.steps: 31})


def test_parameters_that_are_written_are_known():
    _, body = PROGRAMS["a recurrence"]
    assert whole_arrays(read(program(body))).written == (2,)
    _, body = PROGRAMS["the largest"]
    assert whole_arrays(read(program(body))).written == ()


def test_elements_that_a_branch_does_not_ask_for_may_not_be_there():
    core = read("""
    def f(a, a2, a3):
        n = a.shape[0]
        for i in range(n):
            u = a[i]
            c = u > 0.0
            if c:
                v = a2[i]
                a3[i] += v
        return a3
    """)
    over_arrays = loaded("f", whole_arrays(core).text, {})
    given, some = np.array([1.0, 2.0, -1.0]), np.ones(2)
    np.testing.assert_array_equal(over_arrays(given, np.ones(3), np.zeros(3)), [1, 1, 0])
    for few in ((given, some, np.zeros(3)), (given, np.ones(3), some)):
        with pytest.raises(MemoryError):
            over_arrays(*few)
