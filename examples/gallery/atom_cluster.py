"""Chemistry: the shape of thirteen atoms.

Atoms that attract each other as Lennard and Jones assumed form clusters. Minima are found from random starts by L-BFGS
with the gradient of a loop over pairs. The lowest one is an icosahedron around a central atom, whose energy is known:
-44.326801 (Wales and Doye, 1997). The Hessian at the minimum has six eigenvalues of zero, for motion and rotation as a
whole.
"""

import matplotlib.pyplot as plt
import numpy as np
from numba import njit
from scipy.optimize import minimize

import tapec


@njit
def energy(x):
    """Energy of atoms at x[3 * i : 3 * i + 3], in units of the depth of the potential."""
    total = 0.0
    for i in range(x.shape[0] // 3):
        for j in range(i):
            squared = 0.0
            for k in range(3):
                squared += (x[3 * i + k] - x[3 * j + k]) ** 2
            s = 1.0 / squared**3
            total += 4.0 * (s * s - s)
    return total


rng = np.random.default_rng(2)
tapec.check_grads(energy, (rng.uniform(-2.0, 2.0, 39),), rtol=1e-4)
gradient = tapec.value_and_grad(energy)
found = []
for _ in range(60):
    start = rng.uniform(-1.6, 1.6, 39)
    fit = minimize(gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-8})
    found.append((fit.fun, tuple(fit.x)))
energies = np.array([value for value, _ in found])
lowest, best = min(found)
x = np.array(best)
values = np.linalg.eigvalsh(tapec.hessian(energy)(x))
print(f"lowest energy {lowest:.6f}, found {np.sum(energies < lowest + 1e-6)} times")
print(f"eigenvalues of the Hessian: {np.sum(np.abs(values) < 1e-3)} zeros, the others from {values[6]:.1f}")
assert abs(lowest + 44.326801) < 1e-6

figure = plt.figure(figsize=(8, 3.5), layout="constrained")
left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2, projection="3d")
left.hist(energies, bins=np.linspace(-45.0, -30.0, 46))
left.set_xlabel("energy of the minimum")
left.set_ylabel("starts")
right.scatter(*x.reshape(13, 3).T, s=300, c=np.linalg.norm(x.reshape(13, 3) - x.reshape(13, 3).mean(0), axis=1))
figure.savefig("atom_cluster.svg")
