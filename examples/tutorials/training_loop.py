"""Training: a loop of one's own.

The loop of TensorFlow's "Writing a training loop from scratch": batches, a step, a metric, a set of images that the
network has not seen. `tapec.function` compiles the step, its gradient and the update of the variables together.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import tapec
from tapec import GradientTape, Variable

rng = np.random.default_rng(0)
data = load_digits()
order = rng.permutation(len(data.target))
images, labels = data.data[order] / 16.0, data.target[order]
one_hot = np.eye(10)[labels]
train, test = slice(0, 1500), slice(1500, None)

hidden = Variable(rng.normal(size=(64, 48)) * 0.15), Variable(np.zeros(48))
last = Variable(rng.normal(size=(48, 10)) * 0.15), Variable(np.zeros(10))
variables = [*hidden, *last]


def logits(x):
    w, b = hidden
    x = np.maximum(x @ w + b, 0.0)
    w, b = last
    return x @ w + b


def cross_entropy(scores, wanted):
    """The mean of -log p over a batch; p by softmax."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(shifted).sum(axis=1)) - np.sum(wanted * shifted, axis=1))


@tapec.function
def step(x, wanted):
    with GradientTape() as tape:
        loss = cross_entropy(logits(x), wanted)
    for variable, slope in zip(variables, tape.gradient(loss, variables), strict=True):
        variable.assign_sub(0.2 * slope)
    return loss


losses, times = [], []
for _ in range(40):
    shuffled = rng.permutation(1500)
    for batch in shuffled.reshape(-1, 50):
        start = time.perf_counter()
        losses.append(step(images[train][batch], one_hot[train][batch]))
        times.append(time.perf_counter() - start)

right = np.argmax(logits(images[test]), axis=1) == labels[test]
print(f"loss {losses[0]:.2f} at first, {losses[-1]:.3f} at last; {right.mean():.1%} of {right.size} new images right")
print(f"the first step took {times[0]:.1f} s, later ones {1e6 * np.median(times):.0f} microseconds")
assert right.mean() > 0.93

figure, (left, *shown) = plt.subplots(1, 7, figsize=(8, 1.8), layout="constrained", width_ratios=[3] + [1] * 6)
left.semilogy(losses, lw=0.5)
left.set(xlabel="step", ylabel="loss")
for axes, image, label in zip(shown, images[1500:1506], np.argmax(logits(images[1500:1506]), axis=1), strict=True):
    axes.imshow(image.reshape(8, 8), cmap="gray_r")
    axes.set(title=f"{label}", xticks=[], yticks=[])
figure.savefig("training_loop.svg")
