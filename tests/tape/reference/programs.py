"""Small programs of the tape contract, as users of TensorFlow write them.

Each is given the tape's module and a NumPy for it, and returns values and gradients.
"""

from __future__ import annotations

from tests.tape.reference.collection import collector

CASES, case = collector()


@case
def basic(tf, np):
    x = tf.constant(3.0)
    with tf.GradientTape() as g:
        g.watch(x)
        y = x * x
    return g.gradient(y, x)


@case
def higher(tf, np):
    x = tf.constant(5.0)
    with tf.GradientTape() as g:
        g.watch(x)
        with tf.GradientTape() as gg:
            gg.watch(x)
            y = x * x
        dy = gg.gradient(y, x)
    return [dy, g.gradient(dy, x)]


@case
def unwatched_const(tf, np):
    x = tf.constant(3.0)
    with tf.GradientTape() as g:
        y = x * x
    return g.gradient(y, x)


@case
def unwatched_inner_not_connected(tf, np):
    x = tf.constant(5.0)
    with tf.GradientTape() as g:
        g.watch(x)
        with tf.GradientTape() as gg:
            y = x * x
        d = gg.gradient(y, x)
    return [d, g.gradient(y, x)]


@case
def persistent(tf, np):
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as g:
        g.watch(x)
        y = x * x
        z = y * y
    return [g.gradient(z, x), g.gradient(y, x), g.gradient(z, y), g.gradient(z, [x, y])]


@case
def twice_nonpersistent(tf, np):
    x = tf.Variable(3.0)
    with tf.GradientTape() as g:
        y = x * x
    g.gradient(y, x)
    return g.gradient(y, x)


@case
def multi_targets(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape() as g:
        y = x * x
        z = x * 3.0
    return g.gradient([y, z], x)


@case
def dict_targets(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape() as g:
        y = x**2
        z = 1 / x
    return g.gradient({"y": y, "z": z}, x)


@case
def dict_sources(tf, np):
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    b = tf.Variable([0.5, 0.5])
    with tf.GradientTape() as g:
        y = np.sum((np.array([[1.0, 2.0]], np.float32) @ w + b) ** 2) if False else np.sum((w * b) ** 2)
    d = {"w": w, "b": b, "n": [w, (b,)]}
    r = g.gradient(y, d)
    return [r["w"], r["b"], r["n"][0], r["n"][1][0]]


@case
def none_source(tf, np):
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape() as g:
        z = y * y
    return g.gradient(z, x)


@case
def zero_unconnected(tf, np):
    x = tf.Variable([2.0, 2.0])
    y = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y**2
    return tape.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)


@case
def output_gradients(tf, np):
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as g:
        y = x * x
    return g.gradient(y, x, output_gradients=tf.constant([1.0, 0.0, 2.0]))


@case
def output_gradients_list(tf, np):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as g:
        y = x * x
        z = x * 3.0
    return g.gradient([y, z], x, output_gradients=[tf.constant([1.0, 0.0]), None])


@case
def nonscalar_sum(tf, np):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as g:
        y = x**3
    return g.gradient(y, x)


@case
def assigned_inside(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape() as g:
        y = x * x
        x.assign(5.0)
        z = y * x
    return [g.gradient(z, x), x.numpy()]


@case
def assign_add_cut(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as g:
        x.assign_add(x * 1.5)
        y = x**2
    return g.gradient(y, x)


@case
def replaced_variable(tf, np):
    x = tf.Variable(2.0)
    out = []
    for epoch in range(2):
        with tf.GradientTape() as tape:
            y = x + 1
        out.append(tape.gradient(y, x))
        x = x + 1
    return out


@case
def watch_after(tf, np):
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as g:
        y = x * x
        g.watch(x)
        z = x * 3.0
        w = y * z
    return [g.gradient(y, x), g.gradient(z, x), g.gradient(w, x)]


@case
def watch_intermediate(tf, np):
    x = tf.constant(2.0)
    with tf.GradientTape() as g:
        y = x * x
        g.watch(y)
        z = y * y
    return g.gradient(z, [x, y])


@case
def no_auto(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape(watch_accessed_variables=False) as g:
        y = x * x
    return [g.gradient(y, x), len(g.watched_variables())]


@case
def no_auto_watch(tf, np):
    x = tf.Variable(2.0)
    z = tf.Variable(3.0)
    with tf.GradientTape(watch_accessed_variables=False) as g:
        g.watch(x)
        y = x * x * z
    return [g.gradient(y, [x, z]), len(g.watched_variables())]


@case
def nontrainable(tf, np):
    x = tf.Variable(2.0, trainable=False)
    with tf.GradientTape() as g:
        y = x * x
    return g.gradient(y, x)


@case
def nontrainable_watched(tf, np):
    x = tf.Variable(2.0, trainable=False)
    with tf.GradientTape() as g:
        g.watch(x)
        y = x * x
    return g.gradient(y, x)


@case
def integer_const(tf, np):
    x = tf.constant(3)
    with tf.GradientTape() as g:
        g.watch(x)
        y = x * x
    return g.gradient(y, x)


@case
def stop_recording(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as t:
        x_sq = x * x
        with t.stop_recording():
            y_sq = x * 3.0
        z = x_sq + y_sq
    return [t.gradient(z, x), t.gradient(y_sq, x)]


@case
def stop_gradient(tf, np):
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape() as t:
        z = x**2 + tf.stop_gradient(y**2)
    return t.gradient(z, {"x": x, "y": y})


@case
def reset(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape() as t:
        y = x * x
        if y > 3.0:
            t.reset()
        z = x * 3.0
    return t.gradient(z, x)


@case
def reset_old_target(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape() as t:
        y = x * x
        t.reset()
        z = y * x
    return t.gradient(z, x)


@case
def gradient_inside(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape() as t:
        y = x * x
        d = t.gradient(y, x)
    return d


@case
def gradient_inside_then_after(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as t:
        y = x * x
        d = t.gradient(y, x)
        z = d * x
    return [d, t.gradient(z, x)]


@case
def target_is_source(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape() as t:
        y = x * x
    return t.gradient(x, x)


@case
def target_is_watched_const(tf, np):
    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
    return t.gradient(x, x)


@case
def jac(tf, np):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as g:
        g.watch(x)
        y = x * x
    return g.jacobian(y, x)


@case
def jac_multi(tf, np):
    x = tf.Variable([1.0, 2.0])
    w = tf.Variable(3.0)
    with tf.GradientTape() as g:
        y = x * x * w
    return g.jacobian(y, [x, w])


@case
def jac_unconnected(tf, np):
    x = tf.Variable([1.0, 2.0])
    w = tf.Variable(3.0)
    with tf.GradientTape() as g:
        y = x * x
    return g.jacobian(y, [x, w])


@case
def batch_jac(tf, np):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as g:
        g.watch(x)
        y = x * x
    return g.batch_jacobian(y, x)


@case
def batch_jac_bad_rank(tf, np):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as g:
        g.watch(x)
        y = x * x
    return g.batch_jacobian(y, x)


@case
def jac_list_target(tf, np):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as g:
        g.watch(x)
        y = x * x
    return g.jacobian([y], x)


@case
def reenter(tf, np):
    x = tf.Variable(2.0)
    t = tf.GradientTape(persistent=True)
    with t:
        y = x * x
    with t:
        z = y * x
    return [t.gradient(z, x), t.gradient(y, x)]


@case
def reenter_active(tf, np):
    x = tf.Variable(2.0)
    t = tf.GradientTape()
    with t:
        with t:
            y = x * x
    return t.gradient(y, x)


@case
def after_context_op(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape() as t:
        y = x * x
    z = y * 2.0
    return t.gradient(z, x)


@case
def source_recomputed(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape() as t:
        y = x * x
    y2 = x * x
    return t.gradient(y2, x)


@case
def control_flow(tf, np):
    x = tf.constant(1.0)
    v0 = tf.Variable(2.0)
    v1 = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        if x > 0.0:
            result = v0
        else:
            result = v1**2
    return [tape.gradient(result, v0), tape.gradient(result, v1), tape.gradient(result, x)]


@case
def loop_grad(tf, np):
    x = tf.Variable(1.1)
    with tf.GradientTape() as tape:
        y = x
        for i in range(4):
            y = y * x
    return tape.gradient(y, x)


@case
def watched_vars(tf, np):
    a = tf.Variable(1.0)
    b = tf.Variable(2.0)
    with tf.GradientTape() as t:
        y = a * 2.0
        n1 = len(t.watched_variables())
        z = b + y
    return [n1, len(t.watched_variables()), t.gradient(z, t.watched_variables())]


@case
def same_var_twice_in_sources(tf, np):
    a = tf.Variable(3.0)
    with tf.GradientTape() as t:
        y = a * a
    return t.gradient(y, [a, a, (a,)])


@case
def alias_name(tf, np):
    a = tf.Variable(3.0)
    b = a
    with tf.GradientTape() as t:
        y = a * b
    return t.gradient(y, [a, b])


@case
def intermediate_grad_connected(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape() as t:
        a = x * x
        b = a + x
        c = a * b
    return t.gradient(c, [a, b, x])


@case
def hessian_via_jac(tf, np):
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            y = np.sum(x**3) * x[0]
        g = t1.gradient(y, x)
    return t2.jacobian(g, x)


@case
def input_regularisation(tf, np):
    x = tf.constant([[0.3, -0.2], [0.5, 0.7]])
    w = tf.Variable([[0.1], [0.2]])
    with tf.GradientTape() as t2:
        with tf.GradientTape(watch_accessed_variables=False) as t1:
            t1.watch(x)
            y = np.tanh(np.dot(x, w))
            out = np.sum(y * y)
        g1 = t1.gradient(out, x)
        norm = np.sqrt(np.sum(g1 * g1))
    return [norm, t2.gradient(norm, w)]


@case
def custom(tf, np):
    @tf.custom_gradient
    def f(x):
        e = np.exp(x)

        def grad(up):
            return up * (1 - 1 / (1 + e)) * 10.0

        return np.log(1 + e), grad

    x = tf.Variable(0.5)
    with tf.GradientTape() as t:
        y = f(x) * 2.0
    return t.gradient(y, x)


@case
def bad_target_type(tf, np):
    x = tf.Variable(0.5)
    with tf.GradientTape() as t:
        y = x * 2.0
    return t.gradient(None, x)


@case
def bad_source_type(tf, np):
    x = tf.Variable(0.5)
    with tf.GradientTape() as t:
        y = x * 2.0
    return t.gradient(y, "x")


@case
def watch_bad(tf, np):
    with tf.GradientTape() as t:
        t.watch("x")
    return 1


@case
def python_float_source(tf, np):
    x = tf.Variable(0.5)
    with tf.GradientTape() as t:
        y = x * 2.0
    return t.gradient(y, [x, 2.0])


@case
def shape_mismatch_output_gradients(tf, np):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as t:
        y = x * 2.0
    return t.gradient(y, x, output_gradients=tf.constant([1.0, 2.0, 3.0]))


@case
def exc_in_block(tf, np):
    x = tf.Variable(2.0)
    t = tf.GradientTape()
    try:
        with t:
            y = x * x
            raise KeyError("z")
    except KeyError:
        pass
    return t.gradient(y, x)


@case
def stop_recording_inactive(tf, np):
    x = tf.Variable(2.0)
    t = tf.GradientTape(persistent=True)
    with t:
        y = x * x
    with t.stop_recording():
        z = y * x
    return t.gradient(y, x)


@case
def sum_axis_broadcast(tf, np):
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    b = tf.Variable([1.0, -1.0])
    with tf.GradientTape() as t:
        y = np.sum((x + b) * np.sum(x, axis=0), axis=1)
    return t.gradient(y, [x, b])


@case
def getitem(tf, np):
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as t:
        y = x[0, 1] * x[1, 0] + np.sum(x[:, 0] ** 2)
    return t.gradient(y, x)


@case
def maximum_tie(tf, np):
    a = tf.Variable([1.0, 2.0])
    b = tf.Variable([1.0, 3.0])
    with tf.GradientTape() as t:
        y = np.sum(np.maximum(a, b) * 2.0)
    return t.gradient(y, [a, b])


@case
def reduce_max_tie(tf, np):
    a = tf.Variable([2.0, 2.0, 1.0])
    with tf.GradientTape() as t:
        y = np.max(a)
    return t.gradient(y, a)


@case
def abs_zero(tf, np):
    a = tf.Variable([0.0, -2.0, 1.0])
    with tf.GradientTape() as t:
        y = np.sum(np.abs(a))
    return t.gradient(y, a)


@case
def argmax_cut(tf, np):
    a = tf.Variable([0.0, -2.0, 1.0])
    with tf.GradientTape() as t:
        y = np.argmax(a)
    return t.gradient(y, a)


@case
def floor_zero(tf, np):
    a = tf.Variable([0.5, -2.2])
    with tf.GradientTape() as t:
        y = np.floor(a)
    return t.gradient(y, a)


@case
def sign_zero(tf, np):
    a = tf.Variable([0.5, -2.2])
    with tf.GradientTape() as t:
        y = np.sign(a) * a
    return t.gradient(y, a)


@case
def none_in_list_unconnected(tf, np):
    a = tf.Variable(1.0)
    b = tf.Variable(2.0)
    c = tf.constant(3.0)
    with tf.GradientTape() as t:
        y = a * c
    return t.gradient(y, [a, b, c])


@case
def zero_like_dtype(tf, np):
    a = tf.Variable([1.0, 2.0], dtype=tf.float32)
    b = tf.Variable([[1.0], [2.0]], dtype=tf.float64)
    with tf.GradientTape() as t:
        y = np.sum(a)
    r = t.gradient(y, [a, b], unconnected_gradients="zero")
    return [r, str(r[1].dtype).replace("<dtype: '", "").replace("'>", "")]


@case
def unconnected_none_string(tf, np):
    a = tf.Variable(1.0)
    b = tf.Variable(2.0)
    with tf.GradientTape() as t:
        y = a * 1.0
    return t.gradient(y, [a, b], unconnected_gradients="none")


@case
def unconnected_bad_string(tf, np):
    a = tf.Variable(1.0)
    with tf.GradientTape() as t:
        y = a * 1.0
    return t.gradient(y, a, unconnected_gradients="nul")


@case
def empty_sources(tf, np):
    a = tf.Variable(1.0)
    with tf.GradientTape() as t:
        y = a * 1.0
    return t.gradient(y, [])


@case
def target_list_with_none(tf, np):
    a = tf.Variable(1.0)
    with tf.GradientTape() as t:
        y = a * 1.0
    return t.gradient([y, None], a)


@case
def int_target(tf, np):
    a = tf.Variable(1.0)
    with tf.GradientTape() as t:
        y = a * 1.0
        n = tf.constant(3)
    return t.gradient([y, n], a)


@case
def del_and_rebind(tf, np):
    a = tf.Variable(2.0)
    with tf.GradientTape() as t:
        y = a * a
        keep = y
        y = y * a
        del a
        z = y + keep
    return [t.gradient(z, keep)]


@case
def shared_subexpr_source_intermediate(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as t:
        a = x * 1.0
        b = a
        y = a * b
    return [t.gradient(y, a), t.gradient(y, b), t.gradient(y, x)]


@case
def inner_tape_persist_outer(tf, np):
    x = tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape(persistent=True) as inner:
            y = x**3
        dy = inner.gradient(y, x)
        dy2 = inner.gradient(y, x) * 2.0
    return [outer.gradient(dy, x), outer.gradient(dy2, x), outer.gradient(y, x)]


@case
def inner_gradient_outside_outer(tf, np):
    x = tf.Variable(1.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**3
    dy = inner.gradient(y, x)
    return [dy, outer.gradient(dy, x)]


@case
def third(tf, np):
    x = tf.Variable(1.5)
    with tf.GradientTape() as t3:
        with tf.GradientTape() as t2:
            with tf.GradientTape() as t1:
                y = x**4
            d1 = t1.gradient(y, x)
        d2 = t2.gradient(d1, x)
    return t3.gradient(d2, x)


@case
def jac_nonpersistent_twice(tf, np):
    x = tf.Variable([1.5, 1.0])
    with tf.GradientTape() as t:
        y = x**4
    t.jacobian(y, x)
    return t.gradient(y, x)


@case
def watch_list_nested(tf, np):
    a = tf.constant(1.0)
    b = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch([a, {"k": b}])
        y = a * b
    return t.gradient(y, [a, b])


@case
def module_like(tf, np):
    class Dense:
        def __init__(self, n):
            self.n = n
            self.w = None

        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable([[0.1 * i for i in range(self.n)]])
            return np.tanh(x * self.w)

    layers = [Dense(3), Dense(3)]
    x = tf.constant([[1.0, 2.0, 3.0]])
    with tf.GradientTape() as t:
        h = x
        for layer in layers:
            h = layer(h)
        loss = np.sum(h * h)
    return t.gradient(loss, [l.w for l in layers])
