"""`sparse_jacobian` and `sparse_hessian`: patterns from programs that are awkward, against dense derivatives."""

from __future__ import annotations

import pickle
from typing import NamedTuple

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import tapec
from tapec.errors import NotDifferentiable, TypeMismatch, UsageError
from tests.oracles import arr
from tests.sampling import sampled
from tests.sparsity import agree, check_sparse, dense
from tests.typed import interpreted, typed


@pytest.fixture(autouse=True)
def by_python(request):
    """Programs run as Python, after Numba has inferred their types, but for tests of machine code."""
    if request.node.get_closest_marker("compiled"):
        yield
        return
    with typed():
        yield


@pytest.fixture
def by_colours(monkeypatch):
    """Elements are computed by colours, also where they could be stored as the function runs."""
    monkeypatch.setattr("tapec.sparse._Programs.by_colours_alone", True)


class Pair(NamedTuple):
    left: np.ndarray
    right: float


def stencil(x):
    y = np.zeros(x.size)
    for i in range(1, x.size - 1):
        y[i] = x[i - 1] - 2.0 * x[i] ** 2 + x[i + 1]
    return y


def stencil_of_one(x, a):
    return x * a


def in_place(x):
    for i in range(1, x.size):
        x[i] += x[i - 1] * 0.5
    x[0] = 3.0
    return x


def through_views(x):
    left, right = x[: x.size // 2], x[::-1]
    left[0] = right[0] * right[1]
    y = x.copy()
    rows = y.reshape(2, x.size // 2)
    rows[1] *= rows[0]
    return y


def rotated_buffers(x):
    now, then = x.copy(), np.zeros(x.size)
    for _ in range(3):
        for i in range(x.size):
            then[i] = now[i] * now[i - 1]
        now, then = then, now
    return now


def scattered(x, places):
    y = np.zeros(5)
    for i in range(x.size):
        y[places[i]] += x[i] ** 2
    return y


def gathered_twice(x, places):
    return x[places] * np.roll(x[places], 1)


def running_sums(x):
    total = 0.0
    y = np.empty(x.size)
    for i in range(x.size):
        total += x[i]
        y[i] = total
    return y


def overwritten(x):
    y = x * 2.0
    y[1] = 7.0
    y[2] = y[1] * x[0]
    return y


def rounded(x):
    return np.floor(x) * x[::-1] + np.sign(x)


def chosen(x):
    return np.where(x > 0.8, x**2, x[::-1])


def branches(x):
    y = np.empty(x.size)
    for i in range(x.size):
        if x[i] > 0.8:
            y[i] = x[i - 1] * x[i]
        else:
            y[i] = x[(i + 1) % x.size]
    return y


def above(x, level, places):
    y = np.zeros(x.size)
    for i in range(x.size):
        k = places[i]
        if x[i] > level:
            if k > 1:
                y[i] += x[k] * x[i]
            else:
                y[k] = x[i - 5]
        elif x[i] < 0.5:
            y[i] = x[i] ** 2
    return y


def switched(x):
    """A number that a branch sets decides, and so do elements that it stores."""
    last = 0.0
    seen = np.zeros(x.size)
    y = np.empty(x.size)
    for i in range(x.size):
        if x[i] > 0.8:
            last = 1.0
            seen[i] = 1.0
        if last > 0.5:
            k = 0
        else:
            k = i
        y[i] = x[k]
        if seen[i] > 0.5:
            for j in range(i):
                y[i] += x[j]
    return y


def limited(x):
    y = x.copy()
    for i in range(1, x.size - 1):
        left, right = x[i] - x[i - 1], x[i + 1] - x[i]
        if left * right <= 0.0:
            slope = 0.0
        elif abs(left) < abs(right):
            slope = left
        else:
            slope = right * x[0] if x[0] > 0.8 else right
        y[i] += slope
    return y


def of_computed_place(x):
    y = np.zeros(x.size)
    for i in range(x.size):
        k = int(x[i] * 10.0) % x.size
        y[i] = x[k] ** 2
    return y


def ordered(x):
    return np.sort(x)[:3] * np.median(x)


def until_small(x, limit):
    y = x.copy()
    count = 0
    while y[0] > limit and count < 5:
        y[1:] = y[:-1] * y[1:]
        y[0] *= 0.5
        count += 1
    return y


def list_of_numbers(x):
    found = []
    for value in x:
        if value > 0.8:
            found.append(value * x[0])
    return np.array(found)


def masked(x):
    return x[x > 0.8] * x[0]


def of_blocks(a, b):
    return a @ b


def solved(a, b):
    return np.linalg.solve(a + 5.0 * np.eye(3), b)


def inverse_diagonal(x):
    return np.diag(np.linalg.inv(np.diag(x) + 0.1 * np.ones((x.size, x.size))))


def _product(x, n):
    if n == 0:
        return x[0] * 0.0 + 1.0
    return x[n] * _product(x, n - 1)


def _fill(y, x, k):
    if k < x.size:
        y[k] = x[k] * x[k - 1]
        _fill(y, x, k + 1)


def recursive(x):
    y = np.zeros(x.size + 1)
    _fill(y, x, 1)
    y[-1] = _product(x, x.size - 1)
    return y


def with_numbers(a, x, b):
    return a * x + b, np.sum(x) * a, b**2


def of_matrices(x, y):
    return x[:, 0] * y.T[0], x.T @ y


def of_pair(pair, scale):
    return pair.left[1:] * pair.right * scale


def of_dict(p):
    return p["slope"] * p["x"] ** 2 + p["offset"]


def long_row(x):
    y = x**2
    y[0] = np.sum(x * x[0])
    return y


def nothing(x):
    return np.zeros(3) + np.floor(x[0])


def constant_result(x):
    return x * 2.0, 1.0


def ties(x):
    return np.maximum(x, x[::-1]) * np.minimum(x, 1.0)


def extremes(x):
    return np.array([np.max(x), x[np.argmin(x)]])


def of_halves(x, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i // 2] * x[-1]
    return y


JACOBIANS = [
    (stencil, (arr(6),)),
    (in_place, (arr(5),)),
    (through_views, (arr(6),)),
    (rotated_buffers, (arr(5),)),
    (scattered, (arr(6), np.array([0, 3, 3, 4, 0, 1]))),
    (gathered_twice, (arr(6), np.array([5, 3, 3, -1]))),
    (running_sums, (arr(5),)),
    (overwritten, (arr(4),)),
    (rounded, (arr(4),)),
    (chosen, (arr(6),)),
    (branches, (arr(7),)),
    (above, (arr(6), 1, np.array([0, 2, 3, 1, 4, 5]))),
    (switched, (arr(6),)),
    (limited, (arr(8),)),
    (of_computed_place, (arr(6),)),
    (ordered, (arr(7),)),
    (until_small, (arr(5), 0.1)),
    (list_of_numbers, (arr(6),)),
    (masked, (arr(6),)),
    (of_blocks, (arr(2, 3), arr(3, 4))),
    (of_blocks, (arr(3), arr(3))),
    (solved, (arr(3, 3), arr(3))),
    (inverse_diagonal, (arr(3),)),
    (recursive, (arr(4),)),
    (with_numbers, (1.5, arr(3), 0.5)),
    (of_matrices, (arr(3, 2), np.asfortranarray(arr(3, 2)))),
    (of_matrices, (arr(6, 2)[::2], arr(3, 4)[:, ::-2])),
    (of_pair, (Pair(arr(4), 2.0), 3.0)),
    (long_row, (arr(12),)),
    (nothing, (arr(2),)),
    (constant_result, (arr(2),)),
    (ties, (arr(5),)),
    (extremes, (arr(5),)),
    (of_halves, (arr(4), 6)),
    # arrays of no axis, empty arrays, and single precision
    (stencil_of_one, (np.array(3.0), 2.0)),
    (stencil, (arr(0),)),
    (of_blocks, (arr(2, 0), arr(0, 3))),
    (running_sums, (arr(5).astype(np.float32),)),
    (of_blocks, (arr(2, 3).astype(np.float32), arr(3, 2))),
]


@pytest.mark.slow
@pytest.mark.parametrize(("f", "args"), JACOBIANS, ids=lambda case: getattr(case, "__name__", ""))
def test_a_sparse_jacobian_is_the_dense_one(f, args):
    check_sparse(f, args)


# of those whose elements are stored as they run, some
@pytest.mark.slow
@pytest.mark.parametrize("f", [stencil, chosen, branches, overwritten], ids=lambda case: case.__name__)
def test_a_sparse_jacobian_by_colours_is_the_dense_one(f, by_colours):
    check_sparse(f, (arr(6),))


@pytest.mark.slow
def test_passes_for_speed_do_not_change_patterns():
    for level in (0, 1):
        check_sparse(through_views, (arr(6),), opt_level=level)
        check_sparse(branches, (arr(6),), opt_level=level)


def separable(x):
    return np.sum(np.exp(x))


def chain(x):
    s = 0.0
    for i in range(x.size - 1):
        s += (x[i + 1] - x[i] ** 2) ** 2
    return s


def coupled(x):
    return np.log(np.sum(np.exp(x)))


def linear(x):
    return np.sum(x * 3.0)


def bilinear(x, y, a):
    return a * np.sum(x * y) + np.sum(x) * 2.0


def arrow(x):
    return np.sum(x[1:] ** 2 * x[0])


def quadratic(x, a):
    return x @ a @ x


def by_pieces(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] ** 2 * x[i - 1] if x[i] > 0.8 else x[i] * x[0]
    return s


def residuals_of_zero(x):
    return np.sum((x - x) ** 2 * x[0]) + (x[1] - x[1]) ** 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "args"),
    [
        (separable, (arr(4),)),
        (chain, (arr(6),)),
        (coupled, (arr(4),)),
        (linear, (arr(4),)),
        (bilinear, (arr(3), arr(3), 2.0)),
        (arrow, (arr(9),)),
        (quadratic, (arr(4), np.diag(arr(4)))),
        (by_pieces, (arr(6),)),
        (residuals_of_zero, (arr(3),)),
        (chain, (arr(0),)),
        (chain, (arr(5).astype(np.float32),)),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_a_sparse_hessian_is_the_dense_one(f, args):
    check_sparse(f, args, hessian=True)


def nonzeros(matrix):
    return list(zip(*matrix.tocoo().coords, strict=True))


def test_a_pattern_has_elements_that_happen_to_be_zero():
    found = tapec.sparse_jacobian(lambda x: np.array([x[0] * x[1], x[2] ** 2]))(np.zeros(3))
    assert found.nnz == 3 and found.dtype == np.float64


@pytest.mark.slow
def test_patterns_are_exact_where_the_program_says_so():
    matrix = tapec.sparse_jacobian(of_blocks, (0, 1))(arr(2, 3), arr(3, 4))
    assert np.diff(matrix.indptr).tolist() == [6] * 8
    assert tapec.sparse_jacobian(overwritten)(arr(4)).nnz == 3
    assert tapec.sparse_jacobian(rounded)(arr(4)).nnz == 4
    assert tapec.sparse_jacobian(chosen)(arr(6)).nnz == 12
    assert tapec.sparse_hessian(separable)(arr(9)).nnz == 9
    assert tapec.sparse_hessian(linear)(arr(9)).nnz == 0
    # quantities of many sources share the sets of theirs
    assert tapec.sparse_jacobian(lambda x: x / np.sum(x))(arr(50)).nnz == 2500


def banded(x):
    """Rows of twenty elements, which take two strips."""
    out = np.zeros(x.size)
    for i in range(x.size):
        for j in range(20):
            out[i] += (j + 1.0) * x[(i + j) % x.size] * x[i]
    return out


def both_used(x, z):
    """Of `x` elements are read; `z` is handed to a function of whole arrays."""
    t = np.cumsum(z[:3])
    return x[1:] * x[:-1] + t[0] * z[1:], t


@pytest.mark.slow
def test_a_long_row_is_computed_in_reverse_mode():
    derivative = tapec.sparse_jacobian(long_row)
    agree("long row", derivative(arr(60)), dense(long_row, (arr(60),), (0,), tapec.jacrev))
    assert "_columns" in derivative.source() and "_rows" in derivative.source()
    number = tapec.sparse_jacobian(separable)
    number(arr(60))
    assert "_columns" not in number.source()


def test_matrices_of_one_pattern_share_indices_that_are_read_only():
    derivative = tapec.sparse_jacobian(stencil)
    one, other = derivative(arr(6)), derivative(2.0 * arr(6))
    assert one.indices is other.indices and one.indptr is other.indptr and one.data is not other.data
    assert one.has_canonical_format
    with pytest.raises(ValueError, match="read-only"):
        one.eliminate_zeros()


@pytest.mark.slow
def test_values_are_written_into_a_matrix_that_is_there():
    derivative = tapec.sparse_jacobian(of_computed_place)
    x = np.array([0.12, 0.92, 0.22, 1.02])
    matrix = derivative(x)
    data = matrix.data
    assert derivative.fill(matrix, 1.01 * x) is matrix and matrix.data is data
    agree("filled", matrix, dense(of_computed_place, (1.01 * x,), (0,), tapec.jacrev))
    with pytest.raises(UsageError, match="not the pattern"):
        derivative.fill(matrix, x[::-1])
    with pytest.raises(UsageError, match="not the pattern"):
        derivative.fill(derivative(arr(5)), x)


@pytest.mark.slow
def test_values_that_the_function_reads_are_replaced_at_the_end():
    def mirrored(x):
        return x[::-1] * x

    derivative = tapec.sparse_jacobian(mirrored)
    matrix = derivative(arr(8))
    x = matrix.data[:8]
    kept = x.copy()
    agree("of its own values", derivative.fill(matrix, x), dense(mirrored, (kept,), (0,), tapec.jacrev))


def test_a_matrix_is_left_as_it_is_where_the_way_is_another_one():
    derivative = tapec.sparse_jacobian(of_computed_place)
    matrix = derivative(np.array([0.12, 0.92, 0.22, 1.02]))
    before = matrix.data.copy()
    with pytest.raises(UsageError, match="not the pattern"):
        derivative.fill(matrix, np.array([1.02, 0.22, 0.92, 0.12]))
    np.testing.assert_array_equal(matrix.data, before)


@pytest.mark.slow
def test_colours_of_several_strips_and_sources_of_which_more_than_elements_is_used(by_colours):
    for f, args in ((banded, (arr(45),)), (both_used, (arr(40), arr(40)))):
        derivative = tapec.sparse_jacobian(f, wrt=tuple(range(len(args))))
        agree(f.__name__, derivative(*args), dense(f, args, tuple(range(len(args))), tapec.jacrev))
        assert "== lane" in derivative.source()
    assert "unit[" in derivative.source()


@pytest.mark.slow
def test_another_way_through_the_program_has_its_own_pattern():
    derivative = tapec.sparse_jacobian(branches)
    assert {derivative(x).nnz for x in np.random.default_rng(0).uniform(0.0, 1.6, (6, 5))} == {15}
    assert {tapec.sparse_jacobian(limited)(x).nnz for x in np.random.default_rng(0).uniform(0.0, 1.6, (4, 6))} == {17}
    derivative = tapec.sparse_jacobian(of_computed_place)
    for x in np.random.default_rng(0).uniform(0.0, 1.6, (6, 5)):
        agree("places", derivative(x), dense(of_computed_place, (x,), (0,), tapec.jacrev))


def last_place(x):
    k = 0
    y = np.empty(x.size)
    for i in range(x.size):
        if x[i] > 0.8:
            k = i
        y[i] = x[k] * x[i]
    return y


def marked_places(x):
    marks = np.zeros(x.size, np.int64)
    y = np.zeros(x.size)
    for i in range(x.size):
        if x[i] > 0.8:
            marks[i] = 1
    for i in range(x.size):
        if marks[i] == 1:
            y[i] = x[i - 1]
        else:
            y[i] = x[i]
    return y


def counted(x):
    count = 0.0
    y = np.zeros(x.size)
    for i in range(x.size):
        count += 1.0 if x[i] > 0.8 else 0.0
    for i in range(int(count)):
        y[i] = x[i] ** 2
    return y


def next_summit(x):
    y = np.zeros(x.size)
    for i in range(x.size):
        j = i
        while j < x.size - 1 and x[j] < x[j + 1]:
            j += 1
        y[i] = x[j]
    return y


def one_of_two_columns(x):
    y = np.zeros((x.size, 2))
    for i in range(x.size):
        row = y[i]
        if x[i] > 0.8:
            row[0] = x[i]
        else:
            row[1] = x[i - 1]
    return y


def carried(x):
    last = 0.0
    y = np.empty(x.size)
    for i in range(x.size):
        if x[i] > 0.8:
            last = x[i]
        if x[i] > 1.1:
            last = last * x[0]
        y[i] = last
    return y


PLACED = [last_place, marked_places, counted, next_summit, one_of_two_columns, carried]


@pytest.mark.parametrize("f", sampled(PLACED, 6))
def test_no_way_through_a_program_has_the_pattern_of_another(f):
    derivative, by_rows = tapec.sparse_jacobian(f, opt_level=1), tapec.jacrev(f, opt_level=1)
    for x in np.random.default_rng(1).uniform(0.3, 1.5, (10, 6)):
        matrix = derivative(x)
        agree(f.__name__, matrix, by_rows(x).reshape(matrix.shape))


@pytest.mark.slow
def test_subscripts_among_the_arguments_belong_to_a_pattern():
    derivative = tapec.sparse_jacobian(scattered)
    for places in ([0, 0, 0], [4, 3, 2], [0, 0, 0], [-1, 1, 1]):
        args = arr(3), np.array(places)
        agree(str(places), derivative(*args), dense(scattered, args, (0,), tapec.jacrev))
    sizes = tapec.sparse_jacobian(of_halves)
    for n in (6, 2, 8, 0):
        agree(str(n), sizes(arr(4), n), dense(of_halves, (arr(4), n), (0,), tapec.jacrev))


@pytest.mark.slow
def test_results_of_another_size_have_another_pattern():
    derivative = tapec.sparse_jacobian(masked)
    for x in ([1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]):
        x = np.array(x)
        agree(str(x), derivative(x), dense(masked, (x,), (0,), tapec.jacrev))


@pytest.mark.slow
def test_numbers_that_are_no_sources_decide_as_well():
    def turned(x, angle):
        return x[::-1] * 2.0 if angle > 1.0 else x

    derivative = tapec.sparse_jacobian(turned)
    for angle in (0.0, 2.0, 0.0):
        agree(str(angle), derivative(arr(3), angle), dense(turned, (arr(3), angle), (0,), tapec.jacrev))


def test_arrays_that_the_function_writes_are_left_as_they_are():
    x = arr(5)
    tapec.sparse_jacobian(in_place)(x)
    assert (x == arr(5)).all()


@pytest.mark.slow
def test_what_a_function_prints_is_printed_once(capfd):
    def told(x):
        print("here")
        return x * x[::-1]

    tapec.sparse_jacobian(told)(arr(4))
    assert capfd.readouterr().out.split() == ["here"]


class Model:
    def __init__(self, factor):
        self.factor = factor

    def value(self, x, *, power=2):
        return self.factor * x**power


@pytest.mark.slow
def test_methods_closures_defaults_and_keywords():
    model = Model(2.0)
    derivative = tapec.sparse_jacobian(model.value)
    assert derivative(arr(3)).data.tolist() == pytest.approx(4.0 * arr(3))
    model.factor = 3.0
    assert derivative(arr(3), power=1).data.tolist() == [3.0] * 3
    for scale in (arr(3), 2.0 * arr(3)):
        held = tapec.sparse_jacobian(lambda x: x * scale)
        assert held(np.ones(3)).data.tolist() == scale.tolist()

    def defaults(x, a=2.0, b=None):
        return x * a if b is None else x * b[::-1]

    plain = tapec.sparse_jacobian(defaults, wrt="x")
    assert plain(np.ones(2)).data.tolist() == [2.0, 2.0]
    assert plain(np.ones(2), b=arr(2)).data.tolist() == arr(2)[::-1].tolist()
    check = tapec.sparse_jacobian(wrt="p")(of_dict)
    found = check({"x": arr(3), "slope": 2.0, "offset": 0.0})
    assert found.shape == (3, 5) and found.nnz == 9


@pytest.mark.slow
def test_an_array_that_is_passed_twice():
    x = arr(4)
    derivative = tapec.sparse_jacobian(of_blocks, (0, 1))
    np.testing.assert_allclose(derivative(x, x).toarray(), [[*x, *x]])


def added(x, y):
    x[1] = y[0] * 2.0
    return y[1] * x


@pytest.mark.slow
@pytest.mark.compiled
def test_a_pattern_belongs_to_what_is_passed_twice():
    derivative = tapec.sparse_jacobian(added, "x")
    for args in ((arr(3), 2.0 * arr(3)), (arr(3), arr(3))):
        agree("apart", derivative(*args), dense(added, args, (0,), tapec.jacrev))
    same = arr(3)
    np.testing.assert_allclose(derivative(same, same).toarray(), tapec.jacobian(added, "x")(same, same))


@pytest.mark.slow
def test_a_pattern_belongs_to_the_order_of_a_dict():
    def f(p):
        return p["a"] * p["b"][0]

    derivative = tapec.sparse_jacobian(f)
    for p in ({"a": arr(3), "b": 2.0 * arr(3)}, {"b": 2.0 * arr(3), "a": arr(3)}):
        wanted = {"a": np.diag(np.full(3, p["b"][0])), "b": np.outer(p["a"], [1.0, 0.0, 0.0])}
        np.testing.assert_allclose(derivative(p).toarray(), np.hstack([wanted[key] for key in p]))


@pytest.mark.slow
def test_a_complex_result_has_rows_for_its_parts():
    def complex_result(x):
        return np.exp(1j * x) * x[::-1]

    x = arr(3)
    found = tapec.sparse_jacobian(complex_result)(x).toarray()
    wanted = tapec.jacobian(complex_result)(x)
    np.testing.assert_allclose(found, np.concatenate((wanted.real, wanted.imag)), atol=1e-12)


@pytest.mark.slow
def test_derivatives_of_derivatives():
    matrix = tapec.sparse_jacobian(tapec.grad(chain))(arr(5))
    np.testing.assert_allclose(matrix.toarray(), tapec.hessian(chain)(arr(5)), atol=1e-12)


@tapec.custom_gradient
def clipped(x):
    return np.minimum(x, 1.0), lambda dy: dy * (x < 2.0)


@pytest.mark.slow
def test_a_custom_gradient_is_pulled_back():
    def f(x):
        return clipped(x) * x[0]

    agree("rows", tapec.sparse_jacobian(f)(arr(4)), dense(f, (arr(4),), (0,), tapec.jacrev))


def test_it_is_pickled_by_what_it_is_made_of():
    derivative = pickle.loads(pickle.dumps(tapec.sparse_jacobian(stencil)))
    assert repr(derivative) == "<tapec sparse_jacobian of stencil with respect to x>"
    assert derivative(arr(5)).nnz == 9


_calls = []


def changing():
    _calls.append(0)
    return len(_calls)


def test_what_decides_otherwise_at_each_run_is_an_error():
    count = tapec.opaque(changing, "i8")

    def f(x):
        y = x
        for _ in range(count()):
            y = y * x[0]
        return y

    with interpreted(), pytest.raises(UsageError, match="takes another way through its program at each run"):
        tapec.sparse_jacobian(f)(arr(3))


@pytest.mark.parametrize(
    ("make", "args", "error", "message"),
    [
        (lambda: tapec.sparse_jacobian(lambda x: np.random.rand() * x), (arr(2),), NotDifferentiable, "np.random.rand"),
        (lambda: tapec.sparse_jacobian(stencil), (np.arange(3),), NotDifferentiable, "has no derivative"),
        (lambda: tapec.sparse_jacobian(stencil), (arr(3) * 1j,), TypeMismatch, "complex128"),
        (lambda: tapec.sparse_jacobian(lambda x: x * x), (1j,), NotDifferentiable, "tapec.sparse_jacobian of"),
        (lambda: tapec.sparse_jacobian(lambda x: x.size), (arr(3),), NotDifferentiable, "returns int64"),
        (lambda: tapec.sparse_hessian(stencil), (arr(3),), NotDifferentiable, "must return one number"),
        (lambda: tapec.sparse_hessian(chain, memory="1MB"), (arr(3),), UsageError, "takes no limit of memory"),
        (lambda: tapec.sparse_jacobian(stencil, 2), (arr(3),), UsageError, "has no parameter 2"),
        (lambda: tapec.sparse_jacobian("stencil"), (arr(3),), UsageError, "is not a function"),
        (lambda: tapec.sparse_jacobian(stencil), (arr(3), 1.0), TypeError, "too many"),
        (lambda: tapec.sparse_jacobian(stencil), (), TypeError, "misses its argument"),
    ],
)
def test_what_has_no_sparse_derivative(make, args, error, message):
    with pytest.raises(error, match=message):
        make()(*args)


@pytest.mark.parametrize("place", sampled([3, 10**7, -4, -(10**7)], 2))
def test_subscripts_out_of_range_are_errors(place):
    places = np.array([0, place, 1])
    with pytest.raises(IndexError, match="out of bounds for axis 0"):
        tapec.sparse_jacobian(scattered)(arr(3), 2 * places)
    with pytest.raises(IndexError, match="out of bounds for axis 0"):
        tapec.sparse_jacobian(gathered_twice)(arr(3), places)


def unsafe(x, n):
    y = np.zeros(3)
    for i in range(3):
        if x[i] > -1.0:
            y[i] = x[i]
        else:
            y[i + n] = x[i - n]
    return y


@pytest.mark.slow
def test_the_way_not_taken_may_be_out_of_range():
    for n in (1, 10**7):
        assert (tapec.sparse_jacobian(unsafe)(arr(3), n).toarray() == np.eye(3)).all()


def heat(t, u, k):
    change = np.empty(u.size)
    for i in range(u.size):
        left = u[i - 1] if i > 0 else 0.0
        right = u[i + 1] if i < u.size - 1 else 0.0
        change[i] = k * (left - 2.0 * u[i] + right) - u[i] ** 3
    return change


@pytest.mark.slow
@pytest.mark.compiled
def test_scipy_takes_them_as_they_are():
    u = np.sin(np.linspace(0.0, 3.0, 40))
    jac = tapec.sparse_jacobian(heat, wrt="u")
    given, found = (
        scipy.integrate.solve_ivp(heat, (0.0, 1.0), u, method="BDF", args=(50.0,), jac=one, rtol=1e-6)
        for one in (tapec.jacobian(heat, wrt="u"), jac)
    )
    np.testing.assert_allclose(found.y[:, -1], given.y[:, -1], rtol=1e-5)

    def residual(x, wanted):
        return heat(0.0, x, 0.1) - wanted

    wanted = heat(0.0, u, 0.1)
    fit = scipy.optimize.least_squares(residual, 0.9 * u, jac=tapec.sparse_jacobian(residual), args=(wanted,))
    np.testing.assert_allclose(fit.x, u, atol=1e-6)
    hess = tapec.sparse_hessian(chain)
    least = scipy.optimize.minimize(
        lambda x: chain(x) + 0.0, np.full(8, 0.9), jac=tapec.grad(chain), hess=hess, method="trust-constr"
    )
    assert least.fun < 1e-8
    np.testing.assert_allclose(hess(arr(6)).toarray(), tapec.hessian(chain)(arr(6)), atol=1e-12)
