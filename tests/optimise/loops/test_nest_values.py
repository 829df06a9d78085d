"""What stands for the numbers of a nest's iterations, as the pass that asks for it shows it."""

from __future__ import annotations

from tapec.backend import printer
from tapec.optimise.loops.array_statements import array_statements
from tests.optimise.reading import read


def test_a_part_of_an_array_is_a_view_with_the_bounds_of_the_loop():
    function = read(
        """
        def f(a, x):
            n = a.shape[0]
            a_1 = np.empty(n)
            for i in range(n):
                t = a[i]
                s = x * t
                a_1[i] = s
            return a_1
        """
    )
    text = printer.function(array_statements(function), quote=False)
    assert "s_1 = x * a\n" in text


def test_what_differs_on_the_first_axis_alone_gets_the_second_one():
    function = read(
        """
        def f(M, a):
            n = M.shape[0]
            n_1 = M.shape[1]
            for i in range(n):
                t = a[i]
                for j in range(n_1):
                    M[i, j] += t
            return M
        """
    )
    text = printer.function(array_statements(function), quote=False)
    assert "M += t_1[:, None]\n" in text
