"""Arrays in place: overwrites, views, swaps, aliases, arguments that are written to."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import tapec
from tests.oracles import Case, Cases, arr, check
from tests.sampling import sampled

cases = Cases()


@cases((arr(5), 3))
def in_place_old_values_needed(a, n):
    for _ in range(n):
        for i in range(a.size):
            a[i] = np.sin(a[i]) * a[i]
    return a.sum()


@cases((arr(5), 0.7))
def in_place_old_values_not_needed(a, c):
    for i in range(a.size):
        a[i] = 2.0 * a[i] + c
    a *= 3.0
    a -= c
    return a[1] + 2.0 * a[4]


@cases((arr(5), arr(4), 0.7))
def items_of_containers(a, b, x):
    """What `d["w"] *= x` and `l[0] *= x` change is the array, under all its names."""
    both = {"w": a, "l": [b, a[1:3]], "x": x}
    for key in ("w", "x"):
        both[key] *= x
    both["l"][0] += a[:4]
    both["l"][1] -= both["x"]
    nested = [[a[3:], x], both]
    nested[0] += [x * x]
    nested[0][0] **= 2
    nested[1]["w"] += nested[0][2]
    return (a * a).sum() + b.sum() * len(nested[0])


@cases((arr(3, 3), arr(3), 0.7))
def product_in_place(m, v, x):
    """NumPy leaves the product in the first factor's memory."""
    turn, row, held = m[::-1] * x, v, [m]
    row @= turn
    held[0] @= turn
    return (m * v).sum()


@cases((np.array(0.7), 0.3))
def no_axes(c, x):
    held, other = [c], c
    other += x
    held[0] *= x
    for _ in range(2):
        c -= 0.5 * x
    return c * other + held[0]


@cases((arr(6), 1.2))
def view_written_through(a, c):
    v = a[1:5:2]
    v[0] = c * a[0]
    v *= c
    v[1] += v[0]
    return (a * a).sum()


@cases((arr(6),))
def overlapping_views(a):
    left = a[:-1]
    right = a[1:]
    for i in range(left.size):
        right[i] = left[i] * right[i]
    left[0] = right[3] ** 2
    return a.copy()


@cases((arr(6),), compiled="both")
def overlapping_slice_store(a):
    a[1:] = a[:-1]
    a[:3] += a[3:] * a[:3]
    a[::-1] = a * a[0]
    return a.copy()


@cases((arr(5), 0, 3), (arr(5), 2, 2), compiled="reverse")
def element_copied_to_element(a, i, j):
    a[i] = a[j]
    a[j] = a[i] * a[i]
    a[i] = a[i]
    return a.copy()


@cases((arr(4), 3), (arr(4), 0), (arr(4), 4), compiled="reverse")
def swapped_arrays(x, n):
    a = x.copy()
    b = np.ones(x.size)
    for _ in range(n):
        for i in range(1, 4):
            b[i] = a[i - 1] * b[i] + a[i]
        a, b = b, a
    return a, b


@cases((arr(3), arr(2)))
def argument_returned_unchanged(a, b):
    return a, b * 2.0, a


@cases((arr(3), 2.0))
def written_argument_returned(a, c):
    a[1] = c * a[0]
    return a


@cases((arr(3),))
def array_stored_in_a_tuple(a):
    b = a * 2.0
    pair = (a, b)
    pair[1][0] = pair[0][2] ** 2
    a[2] = 5.0 * a[1]
    left, right = pair
    return left[2] * right[0] + right[1]


@njit
def scaled_sum(a, c):
    s = 0.0
    for i in range(a.size):
        s += a[i] * a[i] * c
        a[i] = s
    return s


@cases((arr(3), 1.3), compiled="reverse")
def called_twice_with_argument_overwritten(a, c):
    first = scaled_sum(a, c)
    a[1] = first * c
    second = scaled_sum(a, c)
    return first * second


@cases((arr(5), np.array([3, 0, 3, -1])))
def index_from_data(a, where):
    s = 1.0
    for k in where:
        a[k] = a[k] * s
        s += a[k] ** 2
    return s


@cases((arr(6),))
def index_from_active_data(a):
    out = np.zeros(4)
    for i in range(6):
        k = int(2.0 * a[i])
        out[k] += a[i] ** 2
    return out


@cases((arr(4), 2, True), (arr(4), 2, False), compiled="reverse")
def array_chosen_by_branch(a, n, flag):
    b = np.full(4, 0.5)
    if flag:
        c = a
    else:
        c = b
    for i in range(n):
        c[i] = c[i] * a[i + 1] + 1.0
    return (a * a).sum() + (b * c).sum()


@cases((arr(3), 3), (arr(3), 0))
def fresh_array_each_iteration(a, n):
    x = a
    for k in range(n):
        y = np.empty(3)
        for i in range(3):
            y[i] = x[i] * x[(i + 1) % 3] + k
        x = np.sqrt(y)
    return x


@cases((arr(2, 3), 4), (arr(2, 3), 0), compiled="reverse")
def array_rebound_to_other_sizes(m, n):
    x = m[0]
    for _ in range(n):
        x = np.append(x, x[-1] * x[0])
    return x


@cases((arr(3, 3),), compiled="reverse")
def row_views_in_a_loop(m):
    for i in range(1, 3):
        row = m[i]
        above = m[i - 1]
        row += above * row[0]
        row[0] = above[2]
    return m.copy()


@cases((arr(3, 4),))
def view_of_a_view(m):
    t = m.T[1:]
    d = t[::-1, 1]
    d[:] = d * 2.0 + m[0, :3]
    return (m * m).sum() + d[0]


@cases((arr(2, 3),))
def reshaped_and_raveled_views(m):
    flat = m.reshape(6)
    flat[4] = flat[1] * flat[4]
    r = m.ravel()
    r[0] *= r[5]
    f = m.flatten()
    f[2] = 0.0
    return (m**2).sum() + f[1] * f[4]


@cases((arr(4),))
def saved_copy_and_later_overwrite(a):
    old = a.copy()
    a[:] = 0.0
    for i in range(4):
        a[3 - i] = old[i] ** 2
    old[0] = a[0]
    return (a * old).sum()


@cases((arr(4), arr(4)), wrt=(0,))
def output_argument(a, out):
    for i in range(4):
        out[i] = a[i] * out[i - 1]
    return (out * a).sum()


@njit
def fill(a, out):
    for i in range(out.size):
        out[i] = a[i] ** 2


@njit
def normalise(v):
    s = 0.0
    for i in range(v.size):
        s += v[i]
    v /= s
    return v


@cases((arr(4), arr(3)))
def callee_writes_its_arguments(a, b):
    buffer = np.empty(4)
    fill(a, buffer)
    alias = normalise(buffer[1:])
    alias[0] *= b[1]
    fill(b, buffer[:3])
    return buffer.sum() * alias[1]


@cases((arr(5),))
def swapped_elements(a):
    a[0], a[3] = a[3], a[0] * a[1]
    a[1:3], a[3:] = a[3:] * 2.0, a[1:3].copy()
    return a.copy()


@cases((arr(3, 2),), compiled="reverse")
def accumulate_at_repeated_place(m):
    acc = np.zeros(2)
    for i in range(3):
        acc += m[i]
        acc[0] += acc[1] * m[i, 0]
    return acc


@cases((arr(3), 2.0))
def zeros_then_partly_filled(a, c):
    out = np.zeros((2, 3))
    out[1] = a
    out[0, 1:] = c
    out[:, 0] = a[1] * c
    return out * out


@cases((arr(4),))
def overwritten_by_a_constant(a):
    s = a[0] * a[1]
    a[1] = 3.0
    s *= a[1] * a[2]
    a[:] = 1.0
    return s + a[0]


@cases((arr(3), arr(3), 3), (arr(3), arr(3), 2))
def arguments_swapped_in_a_loop(a, b, n):
    for _ in range(n):
        for i in range(3):
            b[i] = a[i] * b[i]
        a, b = b, a
    return (a * a).sum() + b[0]


@cases((arr(4), arr(4), 3), (arr(4), arr(4), 1), compiled="reverse")
def buffers_change_places_beside_a_view(x, y, n):
    a, b = x.copy(), y.copy()
    w = b[::-1]
    s = 0.0
    for _ in range(n):
        a, b = b, a
        b[:] = w * 1.5
        s += np.sum(a * a * a)
    return s + np.sum(a * b)


@cases((arr(4), arr(4), arr(4), 4))
def three_buffers_change_places_beside_a_view(x, y, z, n):
    a, b, c = x.copy(), y.copy(), z.copy()
    w = c[::-1]
    k = 0
    while k < n:
        a, b, c = b, c, a
        a[:] = np.sin(w) * b
        k += 1
    return a * b + c


@cases((arr(5), 3))
def view_carried_to_the_next_iteration(x, n):
    a = x.copy()
    v = x[::-1].copy()
    for _ in range(n):
        v[:] = a * 0.5 + v
        v = a[::-1]
    return a * v


@cases((arr(5), 3))
def two_views_of_what_an_iteration_allocates(x, n):
    a, b = x.copy(), x[::-1].copy()
    for _ in range(n):
        a[1:] = b[:-1] * a[1:]
        t = a * b
        a, b = t[::-1], t
    return a + b[0] * b


@cases((arr(5), arr(5), 2, 2))
def a_view_met_in_a_loop_inside_a_loop(x, y, n, m):
    a, b = x.copy(), y.copy()
    w = b[::-1]
    for _ in range(n):
        for _ in range(m):
            b[:] = w * a[0]
        a, b = b, a
    return a * b


@cases((arr(5), arr(5), 3))
def buffers_of_a_list_change_places_beside_a_view(x, y, n):
    buffers = [x.copy(), y.copy()]
    w = buffers[1][::-1]
    for _ in range(n):
        buffers[0], buffers[1] = buffers[1], buffers[0]
        buffers[1][:] = w * 1.5
    return buffers[0] * buffers[1]


@cases((arr(4), np.array([2, 0, 3, 1])), compiled="reverse")
def an_array_stored_into_itself_where_another_one_tells(x, places):
    a = x * 2.0
    a[places] = a
    np.add.at(a, places, a)
    a[places] += a
    return a * x


@cases((arr(5), 3), compiled="reverse")
def a_view_of_a_buffer_that_changes_places(x, n):
    a, b = 0.5 * x, np.zeros(x.size)
    first = a
    for _ in range(n):
        w = b[1 : len(b)]
        # downwards: each iteration reads what the one before has written
        for i in range(3, -1, -1):
            b[i] = w[i]
        a, b = b, a
    return first


@cases((arr(5), arr(5), 4))
def a_function_reads_the_view(x, y, n):
    a, b = x.copy(), y.copy()
    w = b[::-1]
    for k in range(n):
        if k % 2 == 0:
            a, b = b, a
            continue
        b += w
        b[1:] -= w[:-1]
    return a * b


def two_buffers(u, n):
    v = u.copy()
    for _ in range(n):
        v[1:-1] = u[:-2] + u[2:]
        u, v = v, u
    return u.sum()


def two_buffers_and_a_view(u, n):
    v = u.copy()
    w = v[:-2]
    for _ in range(n):
        v[1:-1] = w + u[2:]
        u, v = v, u
    return u.sum()


def test_buffers_that_only_change_places_are_not_copied():
    allocated = {
        f.__name__: tapec.emit(f, signature="f8[::1], i8", opt_level=0, mode="jvp").count("np.empty(")
        for f in (two_buffers, two_buffers_and_a_view)
    }
    # what the view is read into before the first store
    assert allocated["two_buffers_and_a_view"] == allocated["two_buffers"] + 1


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(cases, 9), ids=str)
def test_aliasing(case: Case):
    case.check()


def product_of_both(a, b):
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i] * b[i]
    return s


def test_same_array_passed_twice_is_two_arguments_when_read():
    a = arr(4)
    check(product_of_both, (a, a))


def written_through_first(a, b):
    a[0] = 2.0 * a[1]
    return a[0] * b[0] + b[2]


def test_same_array_passed_twice_and_written():
    a = arr(3)
    value, gradient = tapec.value_and_grad(written_through_first)(a.copy(), a.copy())
    assert value == pytest.approx(2 * a[1] * a[0] + a[2])
    np.testing.assert_allclose(gradient, [0.0, 2 * a[0], 0.0])
    shared = a.copy()
    try:
        value, gradient = tapec.value_and_grad(written_through_first)(shared, shared)
    except tapec.errors.TapecError:
        return
    assert value == pytest.approx(4 * a[1] ** 2 + a[2])
    np.testing.assert_allclose(gradient, [0.0, 8 * a[1], 1.0])


def test_partly_overlapping_written_arguments_are_right_or_refused():
    base = arr(4)
    first, second = base[:3], base[1:]
    before = base.copy()
    try:
        value, gradient = tapec.value_and_grad(written_through_first)(first, second)
    except tapec.errors.TapecError:
        return
    assert value == pytest.approx(2 * before[1] * before[1] + before[3])
    np.testing.assert_allclose(gradient, [0.0, 4 * before[1], 0.0])


def windows_scaled(x):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] *= 1.5
    return (x * x).sum()


def multiplied_in_place(x):
    x[0] = x[0] * x[1]
    return abs(x[1]) ** 2


def repeated(value):
    return np.lib.stride_tricks.as_strided(np.array([value]), (2,), (0,))


def sharing_parts(values):
    """Complex numbers, each with its imaginary part where the next one has its real part."""
    return np.lib.stride_tricks.as_strided(np.array(values).view(complex), (len(values) - 1,), (8,))


OVERLAPPING = [
    (windows_scaled, np.lib.stride_tricks.sliding_window_view(np.arange(1.0, 7.0), 3, writeable=True)),
    (multiplied_in_place, repeated(3.0)),
    (multiplied_in_place, repeated(3.0 + 1j)),
    (multiplied_in_place, sharing_parts([1.0, 2.0, 3.0, 4.0])),
]


@pytest.mark.parametrize(("f", "x"), sampled(OVERLAPPING, 4))
def test_an_argument_that_overlaps_itself_is_refused_where_it_is_written(f, x):
    before = x.copy()
    with pytest.raises(tapec.errors.ArgumentOverlap, match="`x` overlaps itself"):
        tapec.grad(f)(x)
    np.testing.assert_array_equal(x, before)


@pytest.mark.generated
@pytest.mark.parametrize("derivative", [tapec.jacobian, tapec.hessian, lambda f: lambda x: tapec.vjp(f, x)])
def test_every_derivative_refuses_an_argument_that_overlaps_itself(derivative):
    with pytest.raises(ValueError, match="`x` overlaps itself"):
        derivative(multiplied_in_place)(repeated(3.0))


@pytest.mark.slow
def test_an_array_that_overlaps_itself_is_refused_also_if_it_is_passed_twice():
    shared = repeated(3.0)
    with pytest.raises(tapec.errors.ArgumentOverlap, match="`a` overlaps itself"):
        tapec.grad(written_through_first)(shared, shared)


@pytest.mark.slow
def test_compiled_code_does_not_pass_an_array_that_overlaps_itself():
    gradient = tapec.grad(multiplied_in_place)

    @njit
    def caller(x):
        return gradient(x)

    with pytest.raises(ValueError, match="`x` overlaps itself"):
        caller(repeated(3.0))


APART = [
    arr(6)[::2],
    arr(6)[::-1],
    arr(3)[1:1],
    arr(6).reshape(2, 3)[::-1].T,
    arr(24).reshape(2, 3, 4)[:, ::-2, 1:3].transpose(2, 0, 1),
    # axes of one element, and no elements, whatever the strides
    np.lib.stride_tricks.as_strided(arr(6), (3, 1, 2), (16, 0, 8)),
    np.lib.stride_tricks.as_strided(arr(6), (0, 3), (0, 0)),
]


def doubled(x):
    x *= 2.0
    return (x * x).sum()


@pytest.mark.generated
@pytest.mark.parametrize("x", APART, ids=range(len(APART)))
def test_elements_in_any_order_are_apart(x):
    before = x.copy()
    np.testing.assert_allclose(tapec.grad(doubled)(x), 8.0 * before)


@pytest.mark.slow
@pytest.mark.generated
def test_an_argument_that_overlaps_itself_may_be_read():
    def read(x, y):
        y[0] = x[0] * x[1]
        return y[0] * x[1]

    for shared in (np.broadcast_to(np.array(3.0), (2,)), repeated(3.0)):
        np.testing.assert_allclose(tapec.grad(read)(shared, arr(2)), [9.0, 18.0])


@pytest.mark.generated
def test_contiguous_arguments_are_not_asked_whether_they_overlap_themselves():
    gradient = tapec.grad(multiplied_in_place)
    for x in (arr(3), arr(3) + 0j):
        gradient(x)
    assert "overlaps_itself" not in gradient.source()
    gradient(arr(6)[::2])
    assert gradient.source().count("overlaps_itself") == 1
