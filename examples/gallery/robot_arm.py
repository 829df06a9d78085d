"""Robotics: angles that bring a robot's hand to where it should be.

An arm has six joints, alternately about a vertical and a horizontal axis. The position of its hand is a loop over the
joints. Damped Gauss-Newton steps with the Jacobian of that loop follow a circle in space, from one point to the next,
to a billionth of the arm's length.
"""

import matplotlib.pyplot as plt
import numpy as np
from numba import njit

import tapec


@njit
def joints(angles, lengths):
    """The positions of all joints, the hand last, in space."""
    n = angles.shape[0]
    turn = np.eye(3)
    position = np.zeros((n + 1, 3))
    for k in range(n):
        c, s = np.cos(angles[k]), np.sin(angles[k])
        if k % 2 == 0:
            turn = turn @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        else:
            turn = turn @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        position[k + 1] = position[k] + lengths[k] * turn[:, 0]
    return position


@njit
def hand(angles, lengths):
    return joints(angles, lengths)[-1]


lengths = np.array([0.4, 0.8, 0.7, 0.6, 0.4, 0.2])
angles = np.array([0.1, -0.6, 0.3, 0.8, -0.2, 0.4])
slope = tapec.jacobian(hand)
numbers = np.array([(hand(angles + d, lengths) - hand(angles - d, lengths)) / 2e-6 for d in 1e-6 * np.eye(6)])
assert np.allclose(slope(angles, lengths), numbers.T, atol=1e-8)

turns = np.linspace(0.0, 2 * np.pi, 40)
circle = np.stack([1.2 + 0 * turns, 0.8 * np.cos(turns), 0.6 + 0.8 * np.sin(turns)], axis=1)
poses, steps = [], 0
for target in circle:
    while np.linalg.norm(missing := target - hand(angles, lengths)) > 1e-9:
        j = slope(angles, lengths)
        angles = angles + j.T @ np.linalg.solve(j @ j.T + 1e-9 * np.eye(3), missing)
        steps += 1
    poses.append(joints(angles, lengths))
print(f"{len(circle)} points of the circle, {steps / len(circle):.1f} steps a point")

axes = plt.figure(figsize=(6, 4.5), layout="constrained").add_subplot(projection="3d")
axes.plot(*circle.T, "k", lw=1)
for pose in poses[::5]:
    axes.plot(*pose.T, marker="o", ms=3)
plt.savefig("robot_arm.svg")
