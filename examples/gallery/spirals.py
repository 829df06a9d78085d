"""Learning: two spirals, by a gradient tape.

A network with two hidden layers learns which spiral a point belongs to. The loop is written as with TensorFlow's tape.
tapec compiles the gradient of the block once. Adam moves the variables. At the end all points are classified right.
"""

import matplotlib.pyplot as plt
import numpy as np

import tapec
from tapec import GradientTape, Variable


def scores(points, w1, b1, w2, b2, w3):
    return np.tanh(np.tanh(points @ w1 + b1) @ w2 + b2) @ w3


def loss(points, labels, w1, b1, w2, b2, w3):
    """The mean logistic loss; labels are -1 and 1."""
    return np.mean(np.log1p(np.exp(-labels * scores(points, w1, b1, w2, b2, w3))))


rng = np.random.default_rng(0)
turn = np.sqrt(rng.uniform(0.05, 1.0, 200)) * 1.5 * 2 * np.pi
arm = np.stack([turn * np.cos(turn), turn * np.sin(turn)], axis=1) / 9.5
points = np.concatenate([arm, -arm]) + 0.01 * rng.normal(size=(400, 2))
labels = np.repeat([-1.0, 1.0], 200)

shapes = (2, 24), (24,), (24, 24), (24,), (24,)
variables = [Variable(rng.normal(size=shape) * (2.0 if shape[0] == 2 else 0.3)) for shape in shapes]
w1, b1, w2, b2, w3 = variables
tapec.check_grads(loss, (points, labels, *(v.numpy() for v in variables)), wrt=(2, 4, 6))

means, squares = [np.zeros(s) for s in shapes], [np.zeros(s) for s in shapes]
losses = []
for step in range(1, 1501):
    with GradientTape() as tape:
        value = loss(points, labels, w1.value(), b1.value(), w2.value(), b2.value(), w3.value())
    losses.append(value)
    for k, slope in enumerate(tape.gradient(value, variables)):
        means[k] = 0.9 * means[k] + 0.1 * slope
        squares[k] = 0.999 * squares[k] + 0.001 * slope**2
        size = 0.01 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        variables[k].assign_sub(size * means[k] / (np.sqrt(squares[k]) + 1e-8))
values = [v.numpy() for v in variables]
right = np.mean(np.sign(scores(points, *values)) == labels)
print(f"loss {losses[0]:.3f} at first, {losses[-1]:.4f} at last; {right:.1%} right")
assert right == 1.0

x, y = np.meshgrid(np.linspace(-1.1, 1.1, 200), np.linspace(-1.1, 1.1, 200))
plt.figure(figsize=(4.4, 4), layout="constrained")
decided = scores(np.stack([x.ravel(), y.ravel()], axis=1), *values).reshape(x.shape) > 0
plt.contourf(x, y, decided, cmap="RdBu", alpha=0.4)
plt.scatter(*points.T, c=labels, cmap="RdBu", s=8, edgecolors="k", linewidths=0.3)
plt.gca().set(aspect="equal", xticks=[], yticks=[])
plt.savefig("spirals.svg")
