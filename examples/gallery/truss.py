"""Engineering: a cantilever of bars, as stiff as its weight allows.

The stiffness of a bar grows with its cross-section. The compliance, the work of the load, needs the solution of a
linear system, and the gradient goes back through that. Updates by the gradient move material to where it works. Two
laws check the result: each slope is minus a bar's strain energy, and in the best truss all bars in use have one strain.
"""

import matplotlib.pyplot as plt
import numpy as np

import tapec

COLUMNS, ROWS = 7, 4
points = np.array([(x, y) for x in range(COLUMNS) for y in range(ROWS)], dtype=float)
bars = np.array([(i, j) for i in range(len(points)) for j in range(i) if np.abs(points[i] - points[j]).max() < 1.5])
lengths = np.linalg.norm(points[bars[:, 0]] - points[bars[:, 1]], axis=1)
# how much longer a bar becomes for each movement of a point; the first column of points does not move
stretch = np.zeros((len(bars), len(points), 2))
for bar, (i, j) in enumerate(bars):
    stretch[bar, i] = (points[i] - points[j]) / lengths[bar]
    stretch[bar, j] = -stretch[bar, i]
stretch = stretch.reshape(len(bars), -1)[:, 2 * ROWS :].copy()
load = np.zeros(stretch.shape[1])
load[-2 * ROWS + 1] = -1.0


def compliance(areas, lengths, stretch, load):
    springs = areas / lengths
    stiffness = (stretch.T * springs) @ stretch
    return load @ np.linalg.solve(stiffness, load)


work_and_slope = tapec.value_and_grad(compliance)
areas = np.ones(len(bars))
first, slope = work_and_slope(areas, lengths, stretch, load)
movement = np.linalg.solve((stretch.T * (areas / lengths)) @ stretch, load)
assert np.allclose(slope, -((stretch @ movement) ** 2) / lengths)

for _ in range(300):
    work, slope = work_and_slope(areas, lengths, stretch, load)
    areas = np.maximum(areas * np.sqrt(-slope / lengths), 1e-6)
    areas *= lengths.sum() / (areas @ lengths)
work, slope = work_and_slope(areas, lengths, stretch, load)
strains = np.sqrt(-slope / lengths)[areas > 0.2]
print(f"compliance {first:.2f} with equal bars, {work:.2f} with the same weight in {strains.size} of {len(bars)} bars")
assert work < 0.5 * first and np.ptp(strains) < 0.05 * strains.max()

plt.figure(figsize=(7, 3.2), layout="constrained")
for bar, area in zip(bars, areas, strict=True):
    plt.plot(*points[bar].T, "C0", lw=1.2 * np.sqrt(area), solid_capstyle="round")
plt.annotate("load", points[-ROWS] + (0.1, 0.1))
plt.axis("equal")
plt.savefig("truss.svg")
