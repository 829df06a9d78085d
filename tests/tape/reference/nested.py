"""Tapes inside tapes.

Each is given the tape's module and a NumPy for it, and returns values and gradients.
"""

from __future__ import annotations

from tests.tape.reference.collection import collector

CASES, case = collector()


@case
def inter_scalar(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            a = x * x
            c = a**3
        g = t1.gradient(c, a)
    return [g, t2.gradient(g, [a, x])]


@case
def inter_array(tf, np):
    x = tf.Variable([2.0, 3.0])
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            a = x * x
            c = a**3
        g = t1.gradient(c, a)
    return [g, t2.gradient(g, [a, x])]


@case
def inter_scalar_before(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape() as t2:
        a = x * x
        with tf.GradientTape() as t1:
            t1.watch(a)
            c = a**3
        g = t1.gradient(c, a)
    return [g, t2.gradient(g, [a, x])]


@case
def var_inside_scalar(tf, np):
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            x = tf.Variable(2.0)
            c = x**3
        g = t1.gradient(c, x)
    return [g, t2.gradient(g, x)]


@case
def var_inside_array(tf, np):
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            x = tf.Variable([2.0, 1.0])
            c = x**3
        g = t1.gradient(c, x)
    return [g, t2.gradient(g, x)]


@case
def var_inside_outer_only(tf, np):
    with tf.GradientTape() as t2:
        x = tf.Variable([2.0, 1.0])
        with tf.GradientTape() as t1:
            c = x**3
        g = t1.gradient(c, x)
    return [g, t2.gradient(g, x)]


@case
def const_inside(tf, np):
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            x = tf.constant([2.0, 1.0])
            t1.watch(x)
            t2.watch(x)
            c = x**3
        g = t1.gradient(c, x)
    return [g, t2.gradient(g, x)]


@case
def inter_jac(tf, np):
    x = tf.Variable([2.0, 3.0])
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            a = x * x
            c = a**3
        g = t1.gradient(c, a)
    return t2.jacobian(g, a)


@case
def inter_mixed(tf, np):
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as t2:
        with tf.GradientTape() as t1:
            a = x * y
            b = a * a * x
        ga, gx = t1.gradient(b, [a, x])
        s = ga * gx
    return [t2.gradient(s, [a, x, y]), t2.gradient(ga, [a, x, y]), t2.gradient(gx, [a, x, y])]


@case
def inter_of_inner_gradient(tf, np):
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as t3:
        with tf.GradientTape() as t2:
            with tf.GradientTape() as t1:
                a = x * x
                c = a**3 * x
            g = t1.gradient(c, a)
        h = t2.gradient(g, x)
    return [g, h, t3.gradient(h, [x, a, g])]


@case
def hs_list(tf, np):
    W = tf.Variable([[0.1, 0.2], [0.3, -0.1]])
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            h = tf.constant([[0.5, 0.2]])
            hs = []
            for i in range(3):
                h = np.tanh(np.dot(h, W))
                hs.append(h)
            l = np.sum(hs[-1] ** 2)
        g = t1.gradient(l, hs[0])
        s = np.sum(g * g)
    return [s, t2.gradient(s, [W, hs[0], hs[1]])]
