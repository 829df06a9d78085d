"""Complex values on tapes: a gradient is dL/dRe + i dL/dIm, L the real part of the target's sum."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant, function
from tapec.errors import LoweringError

BOTH = pytest.mark.parametrize("compiled", [False, True], ids=["ordinary", "compiled"])
Z, A = 1.0 + 2.0j, np.array([1.0 + 2.0j, 3.0 - 1.0j])


def made(f, compiled):
    return function(f) if compiled else f


# values


@pytest.mark.parametrize("z", [Z, np.complex128(Z), np.complex64(Z), constant(Z), constant(Z, dtype=tapec.complex64)])
def test_numbers_of_every_kind(z):
    with GradientTape() as tape:
        tape.watch(z)
        y = z * z
    found = tape.gradient(y, z)
    assert found == np.conj(2.0 * Z)
    assert type(found) is (type(z) if isinstance(z, np.generic) else np.complex128)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed", "transposed"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_arrays_of_every_layout(order, dtype):
    values = (np.arange(6.0) + 1j * np.arange(6.0)[::-1]).reshape(2, 3).astype(dtype)
    z = {
        "C": values,
        "F": np.asfortranarray(values),
        "strided": np.repeat(values, 2, axis=1)[:, ::2],
        "reversed": values[::-1, ::-1].copy()[::-1, ::-1],
        "transposed": values.T.copy().T,
    }[order]
    for _ in range(2):
        with GradientTape(persistent=True) as tape:
            tape.watch(z)
            y = np.sum(z * z)
            w = z.reshape(3, 2) if order == "C" else z.T
            u = w * w
        found = tape.gradient(y, z)
        assert found.dtype == dtype and found.shape == (2, 3)
        np.testing.assert_allclose(found, np.conj(2.0 * values), rtol=1e-6)
        np.testing.assert_allclose(tape.gradient(u, z), np.conj(2.0 * values), rtol=1e-6)


def mixed(z, x):
    with GradientTape(persistent=True) as tape:
        tape.watch([z, x])
        y = np.exp(z) * x
        size = np.abs(z) * x
        turned = 1j * x
        count = np.abs(z) > x
    return (
        tape.gradient(y, [z, x]),
        tape.gradient(size, {"z": z, "x": x}),
        tape.gradient(turned, x),
        tape.gradient(turned, z),
        tape.gradient(turned, z, unconnected_gradients="zero"),
        tape.gradient(count, z),
        tape.gradient(y, z, output_gradients=2.0 - 1.0j),
        tape.gradient([y, size], z, output_gradients=[None, 3.0]),
    )


@BOTH
def test_real_and_complex_values_together(compiled):
    found = made(mixed, compiled)(constant(Z), constant(3.0))
    by_y, by_size, by_turned, none, zero, of_comparison, weighed, summed = found
    e = np.exp(Z)
    np.testing.assert_allclose(by_y[0], np.conj(3.0 * e), rtol=1e-12)
    np.testing.assert_allclose(by_y[1], e.real, rtol=1e-12)
    assert not np.iscomplexobj(by_y[1])
    np.testing.assert_allclose(by_size["z"], 3.0 * Z / abs(Z), rtol=1e-12)
    np.testing.assert_allclose(by_size["x"], abs(Z), rtol=1e-12)
    # the real part does not move, but the target depends on it
    assert by_turned == 0.0 and not np.iscomplexobj(by_turned)
    assert none is None and of_comparison is None
    assert zero == 0.0 and np.iscomplexobj(zero)
    np.testing.assert_allclose(weighed, (2.0 - 1.0j) * np.conj(3.0 * e), rtol=1e-12)
    np.testing.assert_allclose(summed, np.conj(3.0 * e) + 9.0 * Z / abs(Z), rtol=1e-12)


@BOTH
@pytest.mark.parametrize("x", [constant(2.0), np.array([2.0, 3.0])], ids=["number", "array"])
def test_a_source_of_which_the_tape_follows_one_part(x, compiled):
    def slope(x):
        with GradientTape() as tape:
            tape.watch(x)
            z = x + 1j
            y = np.sum(np.abs(z * z))
        return tape.gradient(y, z)

    def watched(x):
        with GradientTape() as tape:
            tape.watch(x)
            z = x + 1j
            tape.watch(z)
            y = np.sum(np.abs(z * z))
        return tape.gradient(y, z)

    with pytest.raises(LoweringError, match="imaginary part is not computed from what the tape watches"):
        made(slope, compiled)(x)
    np.testing.assert_allclose(made(watched, compiled)(x), 2.0 * (x + 1j), rtol=1e-12)


def test_a_source_of_which_the_tape_follows_another_part_on_each_way():
    def slope(x):
        with GradientTape() as tape:
            tape.watch(x)
            z = complex(x, 1.0) if x > 0.0 else complex(1.0, x)
            y = abs(z * z)
        return tape.gradient(y, z)

    with pytest.raises(LoweringError, match="part is not computed from what the tape watches"):
        slope(constant(2.0))
    # one program for both ways, where both parts are followed
    np.testing.assert_allclose(function(slope)(2.0), 4.0 + 2.0j, rtol=1e-12)


@BOTH
def test_a_complex_weight_for_a_real_target(compiled):
    def real_target(z):
        with GradientTape() as tape:
            tape.watch(z)
            y = np.abs(z)
        return tape.gradient(y, z, output_gradients=1j)

    with pytest.raises(ValueError, match="real target"):
        made(real_target, compiled)(constant(Z))


def jacobians(z, m):
    with GradientTape(persistent=True) as tape:
        tape.watch([z, m])
        y = z * np.sum(z)
        size = np.abs(z)
        cubes = m * m * m
        turned = 1j * size
    return (
        tape.jacobian(y, z),
        tape.jacobian(size, z),
        tape.batch_jacobian(cubes, m),
        tape.jacobian(turned, z),
        tape.jacobian(y, m),
    )


@pytest.mark.slow
@BOTH
def test_jacobians(compiled):
    m = np.array([[1.0 + 1.0j, 2.0], [3.0, 4.0j]])
    of_y, of_size, of_cubes, of_turned, none = made(jacobians, compiled)(A.copy(), m.copy())
    # the rows are gradients: the conjugate of the matrix of derivatives
    np.testing.assert_allclose(of_y, np.conj(np.sum(A) * np.eye(2) + A[:, None]), rtol=1e-12)
    np.testing.assert_allclose(of_size, np.diag(A / np.abs(A)), rtol=1e-12)
    np.testing.assert_allclose(of_cubes, np.conj(3.0 * m**2)[:, :, None] * np.eye(2), rtol=1e-12, atol=1e-12)
    # only the imaginary part of the target depends on z
    np.testing.assert_array_equal(of_turned, np.zeros((2, 2)))
    assert none is None


# identity


def test_parts_are_values_of_their_own():
    z, x = constant(Z), constant(0.5)
    with GradientTape(persistent=True) as tape:
        tape.watch([z, x])
        re, conj = z.real, np.conj(z)
        whole = complex(re, x)
        moved = z - 1.0
        turned = x + 1j * x
        y = re * np.abs(z) + moved * z * whole + turned * turned + conj
    h = (np.abs(Z), np.conj((Z - 1.0) * Z))
    np.testing.assert_allclose(tape.gradient(y, whole), h[1], rtol=1e-12)
    np.testing.assert_allclose(tape.gradient(y, re), h[0] + h[1].real, rtol=1e-12)
    np.testing.assert_allclose(tape.gradient(y, moved), np.conj(Z * (1.0 + 0.5j)), rtol=1e-12)
    np.testing.assert_allclose(tape.gradient(y, turned), np.conj(2.0 * (0.5 + 0.5j)), rtol=1e-12)
    assert tape.gradient(y, conj) == 1.0
    assert tape.gradient(x, whole) is None


def test_views_of_parts():
    z = A.copy()
    with GradientTape(persistent=True) as tape:
        tape.watch(z)
        re, im = z.real, z.imag
        y = np.sum(re * re + im) + np.sum(np.abs(z) ** 2)
    np.testing.assert_allclose(tape.gradient(y, re), 2.0 * A.real, rtol=1e-12)
    np.testing.assert_allclose(tape.gradient(y, im), np.ones(2), rtol=1e-12)
    np.testing.assert_allclose(tape.gradient(y, z), 4.0 * A.real + 1j * (1.0 + 2.0 * A.imag), rtol=1e-12)


def test_operations_in_place_and_variables_parts():
    z, v = constant(Z), Variable(Z)
    with GradientTape(persistent=True) as tape:
        tape.watch(z)
        w = z
        z -= 1.0
        y = z * w * w
        v.assign(2.0 + 2.0j)
        re, held = v.real, v.value()
        q = re * np.abs(v) + held.imag
    assert tape.gradient(y, z) == np.conj(Z * Z)
    assert tape.gradient(y, w) == np.conj(Z * Z + 2.0 * (Z - 1.0) * Z)
    np.testing.assert_allclose(tape.gradient(q, re), abs(2.0 + 2.0j))
    np.testing.assert_allclose(tape.gradient(q, v), abs(2.0 + 2.0j) + (2.0 + 2.0j) / 2.0**0.5 + 1j)


def test_names_and_containers():
    z = constant(Z)
    held = {"a": [z], "b": (z, z)}
    with GradientTape(persistent=True) as tape:
        tape.watch(held)
        same = held["a"][0]
        held["c"] = same * same
        y, z = held["c"] * z, constant(Z)
    assert tape.gradient(y, same) == np.conj(3.0 * Z**2)
    assert tape.gradient(y, held["c"]) == np.conj(Z)
    assert tape.gradient(y, z) is None


def test_watching_a_value_late():
    z = constant(Z)
    with GradientTape(persistent=True) as tape:
        h = z * z
        tape.watch(h)
        y = h * h + z
    assert tape.gradient(y, h) == np.conj(2.0 * Z**2)
    assert tape.gradient(y, z) is None


def test_a_value_that_is_real_on_one_way():
    found = []
    for z in (constant(Z), constant(-Z)):
        with GradientTape() as tape:
            tape.watch(z)
            y = z * z if z.real > 0.0 else z.real * 3.0
        found.append(tape.gradient(y, z))
    assert found == [np.conj(2.0 * Z), 3.0]


def test_equal_literals():
    a, b = 1.0 + 2.0j, 1.0 + 2.0j
    with GradientTape() as tape:
        tape.watch([a, b])
        y = a * b * b
    try:
        found = tape.gradient(y, [a, b])
    except LoweringError as error:
        # one object under two names, unless the text tells them apart
        assert "several values" in str(error)
    else:
        np.testing.assert_allclose(found, [np.conj(Z * Z), np.conj(2.0 * Z * Z)])


def test_blocks_that_are_met_again():
    for k in range(5):
        z, x = constant(complex(k, 1.0)), np.array([complex(1.0, k), 2.0])
        with GradientTape() as tape:
            tape.watch([z, x])
            y = np.sum(x * x) * z
        by_z, by_x = tape.gradient(y, [z, x])
        np.testing.assert_allclose(by_z, np.conj(np.sum(x * x)), rtol=1e-12)
        np.testing.assert_allclose(by_x, np.conj(2.0 * x * z), rtol=1e-12)


def test_arrays_that_the_block_writes():
    z = A.copy()
    with GradientTape() as tape:
        tape.watch(z)
        y = np.zeros(2, np.complex128)
        y[0] = z[1] * z[1]
        y.imag[1] = z[0].real
        y *= 2.0
        total = np.sum(y * y)
    expected = np.conj([0.0, 16.0 * A[1] ** 3]) + np.array([-8.0 * A[0].real, 0.0])
    np.testing.assert_allclose(tape.gradient(total, z), expected, rtol=1e-12)


# variables


@pytest.mark.slow
def test_variables():
    v, w = Variable(Z), Variable(A)
    with GradientTape(persistent=True) as tape:
        y = v * v * np.sum(w)
        v.assign(3.0)
        u = v * np.sum(w * w)
        v.assign_add(1j)
        w.assign_sub([1.0, 1j])
        s = np.sum(w) * v
    assert tape.watched_variables() == (v, w)
    np.testing.assert_allclose(tape.gradient(y, v), np.conj(2.0 * Z * np.sum(A)))
    np.testing.assert_allclose(tape.gradient(y, w), np.full(2, np.conj(Z * Z)))
    np.testing.assert_allclose(tape.gradient(u, w), np.conj(6.0 * A))
    np.testing.assert_allclose(tape.gradient(s, v), np.conj(np.sum(A) - 1.0 - 1j))
    assert v.numpy() == 3.0 + 1j and tape.gradient(s, v).dtype == np.complex128
    with pytest.raises(TypeError):
        Variable(1.0).assign(1j)


def test_rows_of_a_table():
    table, indices = Variable(np.arange(8.0).reshape(4, 2) * (1.0 + 1.0j)), np.array([1, 3, 1])
    with GradientTape() as tape:
        y = np.sum(table[indices] ** 2)
    rows = tape.gradient(y, table, indexed_slices=True)
    assert rows.indices.tolist() == [1, 3, 1] and rows.values.dtype == np.complex128
    np.testing.assert_allclose(rows.values, np.conj(2.0 * table.numpy()[indices]))
    before = table.numpy()
    table.scatter_sub(0.5 * rows)
    np.testing.assert_allclose(table.numpy()[1], before[1] - 2.0 * np.conj(before[1]))


@pytest.mark.slow
def test_compiled_functions_with_variables_and_arrays():
    v, w = Variable(0.5 + 0.5j), Variable(A)

    @function
    def step(z, rows):
        with GradientTape() as tape:
            y = np.sum(v * z * w)
        d = tape.gradient(y, [v, w])
        v.assign_sub(0.1 * d[0])
        w.assign(w * 1j)
        rows[0] = y
        rows.imag[1] += 1.0
        return y, d, rows, {"same": z}

    held, now = w.numpy(), v.numpy()
    for z in (A.copy(), 2.0 * A):
        rows = np.zeros(2, np.complex128)
        y, d, same, out = step(z, rows)
        np.testing.assert_allclose(y, np.sum(now * z * held))
        np.testing.assert_allclose(d[0], np.conj(np.sum(z * held)))
        np.testing.assert_allclose(d[1], np.conj(now * z))
        now, held = now - 0.1 * d[0], held * 1j
        assert same is rows and out["same"] is z
        np.testing.assert_allclose(rows, [y, 1j])
        np.testing.assert_allclose(v.numpy(), now)
        np.testing.assert_allclose(w.numpy(), held)


def test_a_variable_under_another_name():
    v = Variable(Z)

    @function
    def assigned(z):
        same = v
        v.assign(z * 2.0)
        return same, same * 1.0

    for z in (constant(1j), constant(3.0 + 0j)):
        same, value = assigned(z)
        assert same is v and value == v.numpy() == 2.0 * z


# nested tapes, and derivatives of one's own


def second(z):
    with GradientTape() as outer:
        outer.watch(z)
        with GradientTape() as inner:
            inner.watch(z)
            y = np.sum(z**3)
        slope = inner.gradient(y, z)
        penalty = np.sum(np.abs(slope) ** 2)
    return slope, outer.gradient(penalty, z)


@pytest.mark.slow
@BOTH
def test_second_order(compiled):
    slope, by_z = made(second, compiled)(A.copy())
    np.testing.assert_allclose(slope, np.conj(3.0 * A**2), rtol=1e-12)
    # of 9 |z|^4: 36 |z|^2 z
    np.testing.assert_allclose(by_z, 36.0 * np.abs(A) ** 2 * A, rtol=1e-12)


def maybe_connected(z, n):
    with GradientTape() as tape:
        tape.watch(z)
        y = constant(2.0) + 0j
        for _ in range(n):
            y = y * z
    return tape.gradient(y, z)


@BOTH
def test_none_where_no_iteration_connects(compiled):
    f = made(maybe_connected, compiled)
    assert f(constant(Z), 0) is None
    np.testing.assert_allclose(f(constant(Z), 2), np.conj(4.0 * Z), rtol=1e-12)


@tapec.custom_gradient
def clipped(z, x):
    def gradient(dy):
        # not linear in the adjoint: it is given as a whole
        return dy / np.abs(dy), np.abs(dy)

    return z * x, gradient


def with_custom(z, x):
    with GradientTape(persistent=True) as tape:
        tape.watch([z, x])
        y = clipped(z, x)
    return tape.gradient(y, [z, x], output_gradients=3.0 + 4.0j)


@BOTH
def test_custom_gradients(compiled):
    by_z, by_x = made(with_custom, compiled)(constant(Z), constant(2.0))
    np.testing.assert_allclose(by_z, 0.6 + 0.8j, rtol=1e-12)
    np.testing.assert_allclose(by_x, 5.0, rtol=1e-12)


def stopped(z):
    with GradientTape(persistent=True) as tape:
        tape.watch(z)
        y = tapec.stop_gradient(z) * z
        with tape.stop_recording():
            k = z * z
        w = k * z
    return tape.gradient(y, z), tape.gradient(w, z)


@BOTH
def test_stopped_values(compiled):
    found = made(stopped, compiled)(constant(Z))
    np.testing.assert_allclose(found, [np.conj(Z), np.conj(Z * Z)])


def test_explain():
    z, x = constant(Z), constant(1.0)
    with GradientTape(persistent=True) as tape:
        tape.watch([z, x])
        y = np.abs(z) * 2.0
        n = z * int(np.abs(z))
    assert tape.explain(y, z).startswith("connected") and tape.explain(n, z).startswith("connected")
    assert "not computed from the source" in tape.explain(y, x)
