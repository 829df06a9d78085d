"""Programs of the tape contract with complex values, as users of TensorFlow write them."""

from __future__ import annotations

from tests.tape.reference.collection import collector

CASES, case = collector()


@case
def complex_square(tf, np):
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape() as g:
        g.watch(z)
        y = z * z
    return g.gradient(y, z)


@case
def complex_functions(tf, np):
    z = tf.constant(0.3 + 0.4j)
    found = []
    for f in (np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh, np.sinh, np.cosh, np.conj, lambda z: 1.0 / z):
        with tf.GradientTape() as g:
            g.watch(z)
            y = f(z)
        found.append(g.gradient(y, z))
    return found


@case
def real_functions_of_complex(tf, np):
    z = tf.constant(0.3 + 0.4j)
    found = []
    for f in (np.abs, np.real, np.imag, np.angle):
        with tf.GradientTape() as g:
            g.watch(z)
            y = f(z)
        found.append(g.gradient(y, z))
    return found


@case
def complex_arithmetic(tf, np):
    a, b = tf.constant(1.0 + 2.0j), tf.constant(-0.5 + 0.25j)
    with tf.GradientTape(persistent=True) as g:
        g.watch([a, b])
        y = a * b - b / a + a**3 - 2.0 * b
    return g.gradient(y, [a, b])


@case
def complex_weights(tf, np):
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape(persistent=True) as g:
        g.watch(z)
        y = z * z * z
    return [g.gradient(y, z, output_gradients=w) for w in (tf.constant(1.0j), tf.constant(2.0 - 1.0j))]


@case
def complex_weighted_array(tf, np):
    z = tf.constant([1.0 + 2.0j, 3.0 - 1.0j])
    with tf.GradientTape(persistent=True) as g:
        g.watch(z)
        y = z * z
    return g.gradient(y, z, output_gradients=tf.constant([1.0j, 2.0 + 1.0j]))


@case
def complex_unconnected(tf, np):
    z, w = tf.constant(1.0 + 2.0j), tf.constant([1.0j, 2.0])
    with tf.GradientTape(persistent=True) as g:
        g.watch([z, w])
        y = z * z
    return [g.gradient(y, w), g.gradient(y, w, unconnected_gradients="zero"), g.gradient(y, {"z": z, "w": w})]


@case
def complex_comparison(tf, np):
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape() as g:
        g.watch(z)
        y = z * z if np.abs(z) > 1.0 else z
    return g.gradient(y, z)


@case
def complex_zero_factor(tf, np):
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape(persistent=True) as g:
        g.watch(z)
        y = z * 0.0
        d = z - z
    return [g.gradient(y, z), g.gradient(d, z)]


@case
def complex_intermediate(tf, np):
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape(persistent=True) as g:
        g.watch(z)
        h = z - 1.0
        y = h * z
    return [g.gradient(y, h), g.gradient(y, z), g.gradient(h, z), g.gradient(y, y)]


@case
def complex_watched_later(tf, np):
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape(persistent=True) as g:
        h = z * z
        g.watch(h)
        y = h * h + z
    return g.gradient(y, [h, z])


@case
def real_part_as_source(tf, np):
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape(persistent=True) as g:
        g.watch(z)
        r = np.real(z)
        y = r * np.abs(z)
    return [g.gradient(y, r), g.gradient(y, z)]


@case
def conjugate_as_source(tf, np):
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape(persistent=True) as g:
        g.watch(z)
        c = np.conj(z)
        y = c * z * z
    return [g.gradient(y, c), g.gradient(y, z)]


@case
def complex_variable(tf, np):
    v = tf.Variable(1.0 + 2.0j)
    with tf.GradientTape(persistent=True) as g:
        y = v * v
        v.assign(3.0 - 1.0j)
        u = v * v
        v.assign_add(1.0j)
        w = v * v
    return [g.gradient(y, v), g.gradient(u, v), g.gradient(w, v), v.numpy(), len(g.watched_variables())]


@case
def complex_variable_array(tf, np):
    v = tf.Variable([[1.0 + 1.0j, 2.0j], [3.0 + 0.0j, 1.0 - 1.0j]])
    x = tf.constant([1.0 + 0.0j, 1.0j])
    with tf.GradientTape() as g:
        y = np.sum(np.abs(np.matmul(v, x)) ** 2)
    return g.gradient(y, v)


@case
def complex_untrainable(tf, np):
    v = tf.Variable(1.0 + 2.0j, trainable=False)
    with tf.GradientTape() as g:
        y = v * v
    return g.gradient(y, v)


@case
def complex_second_order(tf, np):
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape() as outer:
        outer.watch(z)
        with tf.GradientTape() as inner:
            inner.watch(z)
            y = z**3
        slope = inner.gradient(y, z)
    return [slope, outer.gradient(slope, z)]


@case
def complex_third_order(tf, np):
    z = tf.constant(0.5 - 0.5j)
    with tf.GradientTape() as a:
        a.watch(z)
        with tf.GradientTape() as b:
            b.watch(z)
            with tf.GradientTape() as c:
                c.watch(z)
                y = np.exp(z) * z
            first = c.gradient(y, z)
        second = b.gradient(first, z)
    return [first, second, a.gradient(second, z)]


@case
def complex_penalty(tf, np):
    z = tf.constant([1.0 + 2.0j, 0.5 - 1.0j])
    with tf.GradientTape() as outer:
        outer.watch(z)
        with tf.GradientTape() as inner:
            inner.watch(z)
            y = np.sum(z * z * z)
        slope = inner.gradient(y, z)
        penalty = np.sum(np.abs(slope) ** 2)
    return outer.gradient(penalty, z)


@case
def complex_jacobian(tf, np):
    z = tf.constant([1.0 + 2.0j, 3.0 - 1.0j])
    with tf.GradientTape(persistent=True) as g:
        g.watch(z)
        y = z * z * np.sum(z)
        r = np.abs(z)
    return [g.jacobian(y, z), g.jacobian(r, z)]


@case
def complex_batch_jacobian(tf, np):
    z = tf.constant([[1.0 + 2.0j, 3.0 - 1.0j], [1.0j, 2.0 + 0.0j]])
    with tf.GradientTape(persistent=True) as g:
        g.watch(z)
        y = z * z * z
    return g.batch_jacobian(y, z)


@case
def complex_sum_of_targets(tf, np):
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape(persistent=True) as g:
        g.watch(z)
        y, r = z * z, np.abs(z)
    return [g.gradient([y, r], z), g.gradient({"a": y, "b": [r, y]}, z)]


@case
def complex_stopped(tf, np):
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape(persistent=True) as g:
        g.watch(z)
        y = tf.stop_gradient(z) * z
        with g.stop_recording():
            k = z * z
        w = k * z
        g.reset()
        after = w * z
    return [g.gradient(after, z), g.gradient(w, z)]


@case
def complex_custom(tf, np):
    @tf.custom_gradient
    def f(z):
        def grad(dy):
            return dy * np.conj(3.0 * z)

        return z * z, grad

    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape(persistent=True) as g:
        g.watch(z)
        y = f(z) * z
    return [g.gradient(y, z), g.gradient(y, z, output_gradients=tf.constant(1.0j))]


@case
def complex_rows(tf, np):
    v = tf.Variable([[1.0 + 1.0j, 2.0j], [3.0 + 0.0j, 1.0 - 1.0j], [0.5j, 1.0 + 0.0j]])
    with tf.GradientTape() as g:
        y = np.sum(np.take(v, [2, 0, 2], axis=0) ** 2)
    return g.gradient(y, v)


@case
def complex_loop(tf, np):
    z = tf.constant(0.5 + 0.5j)
    with tf.GradientTape() as g:
        g.watch(z)
        y = z
        for _ in range(3):
            y = y * y + z
    return g.gradient(y, z)


@case
def complex_reentered(tf, np):
    z = tf.constant(1.0 + 2.0j)
    t = tf.GradientTape(persistent=True)
    with t:
        t.watch(z)
        y = z * z
    with t:
        w = y * z
    return [t.gradient(w, z), t.gradient(w, y)]


@case
def complex_containers(tf, np):
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape(persistent=True) as g:
        g.watch({"z": [z]})
        values = [z**k for k in range(1, 4)]
        pair = (values[0], {"last": values[2]})
    return [g.gradient(values, z), g.gradient(pair, {"z": z, "list": [values[0]]})]


@case
def complex_tape_in_helper(tf, np):
    def run(z, f):
        with tf.GradientTape() as g:
            g.watch(z)
            y = f(z)
        return g.gradient(y, z)

    first = run(tf.constant(1.0 + 2.0j), lambda z: np.exp(z) * np.conj(z))
    return [first, run(tf.constant(2.0j), lambda z: z / (z + 1.0))]


@case
def complex_in_function(tf, np):
    v = tf.Variable(0.5 + 0.5j)

    @tf.function
    def step(z):
        with tf.GradientTape() as g:
            y = v * z * z
        d = g.gradient(y, v)
        v.assign_sub(0.1 * d)
        return y, d

    first = step(tf.constant(1.0 + 2.0j))
    second = step(tf.constant(1.0 - 1.0j))
    return [list(first), list(second), v.numpy()]


@case
def single_precision_complex(tf, np):
    z = tf.constant([1.0 + 2.0j, 3.0 - 1.0j], dtype=tf.complex64)
    with tf.GradientTape() as g:
        g.watch(z)
        y = np.sum(z * z)
    d = g.gradient(y, z)
    return [d, str(d.numpy().dtype if hasattr(d, "numpy") else d.dtype)]
