"""Newton's method with conjugate gradients, over compiled derivatives."""

import numpy as np

from elastic._derivatives import energy_and_gradient, energy_hvp


def rest(stiffness, load, tolerance=1e-10):
    """Displacements (n,) at which the energy is least."""
    u = np.zeros_like(load)
    while True:
        _, gradient = energy_and_gradient(u, stiffness, load)
        if np.linalg.norm(gradient) <= tolerance:
            return u
        u = u - _solve(lambda v, u=u: energy_hvp(u, stiffness, load, v), gradient)


def _solve(product, b):
    """Conjugate gradients for a positive definite matrix that is given by its product with a vector."""
    x, r = np.zeros_like(b), b.copy()
    p, rr = r.copy(), r @ r
    for _ in range(b.size):
        q = product(p)
        step = rr / (p @ q)
        x += step * p
        r -= step * q
        if r @ r <= 1e-24 * (b @ b):
            break
        p, rr = r + (r @ r) / rr * p, r @ r
    return x
