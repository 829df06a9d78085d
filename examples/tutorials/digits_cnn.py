"""Training: a convolution network, with batch norm, dropout and Adam.

Two convolutions with batch norm, ReLU and pooling, dropout, and a dense layer learn handwritten digits. Adam keeps its
slots in a dict that the first step fills, as TensorFlow's optimisers do.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from tapec import GradientTape, Variable

rng = np.random.default_rng(0)
data = load_digits()
images, labels = data.images[..., None] / 16.0, data.target
one_hot = np.eye(10)[labels]


def conv(x, kernel):
    """A convolution of 3 by 3: x is (n, h, w, c), kernel (9 c, d)."""
    n, h, w, c = x.shape
    padded = np.zeros((n, h + 2, w + 2, c))
    padded[:, 1:-1, 1:-1] = x
    columns = np.concatenate([padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3)], axis=3)
    return (columns.reshape(n * h * w, 9 * c) @ kernel).reshape(n, h, w, -1)


def norm(x, gamma, beta):
    centred = x - x.mean(axis=(0, 1, 2))
    return gamma * centred / np.sqrt((centred**2).mean(axis=(0, 1, 2)) + 1e-5) + beta


def pool(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


params = {}
for name, inner, outer in (("first", 1, 8), ("second", 8, 16)):
    params[name] = Variable(rng.normal(size=(9 * inner, outer)) * (9 * inner) ** -0.5)
    params[f"{name} scale"], params[f"{name} shift"] = Variable(np.ones(outer)), Variable(np.zeros(outer))
params["dense"], params["bias"] = Variable(rng.normal(size=(64, 10)) * 0.1), Variable(np.zeros(10))


def logits(x, kept=1.0):
    for name in ("first", "second"):
        x = conv(x, params[name])
        x = pool(np.maximum(norm(x, params[f"{name} scale"], params[f"{name} shift"]), 0.0))
    return (x.reshape(len(x), -1) * kept) @ params["dense"] + params["bias"]


slots = {}


def adam(gradients, step):
    for name, slope in gradients.items():
        mean, square = slots.setdefault(name, (np.zeros_like(slope), np.zeros_like(slope)))
        mean += 0.1 * (slope - mean)
        square += 0.001 * (slope**2 - square)
        scaled = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        params[name].assign_sub(0.005 * scaled)


losses, times = [], []
for step in range(1, 401):
    batch = rng.integers(0, 1500, 64)
    start = time.perf_counter()
    with GradientTape() as tape:
        scores = logits(images[batch], (rng.random((64, 64)) < 0.8) / 0.8)
        shifted = scores - scores.max(axis=1, keepdims=True)
        loss = np.mean(np.log(np.exp(shifted).sum(axis=1)) - np.sum(one_hot[batch] * shifted, axis=1))
    adam(tape.gradient(loss, params), step)
    times.append(time.perf_counter() - start)
    losses.append(loss)

right = np.argmax(logits(images[1500:]), axis=1) == labels[1500:]
print(f"loss {losses[0]:.2f} at first, {losses[-1]:.3f} at last; {right.mean():.1%} of {right.size} new images right")
print(f"the first step took {times[0]:.1f} s, later ones {1e3 * np.median(times):.1f} ms")
assert right.mean() > 0.93

figure, (left, *shown) = plt.subplots(1, 9, figsize=(9, 1.6), layout="constrained", width_ratios=[3] + [1] * 8)
left.semilogy(losses, lw=0.7)
left.set(xlabel="step", ylabel="loss")
for axes, kernel in zip(shown, params["first"].numpy().T, strict=True):
    axes.imshow(kernel.reshape(3, 3), cmap="RdBu")
    axes.set(xticks=[], yticks=[])
figure.savefig("digits_cnn.svg")
