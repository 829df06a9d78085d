"""Images: a U-net that fills outlines.

The generator of TensorFlow's Pix2Pix: convolutions that halve the image, others that double it, and skips between those
of the same size. It learns to draw a digit from its outline, by the mean absolute difference.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from tapec import GradientTape, Variable

rng = np.random.default_rng(0)
small = load_digits().images[:600] / 16.0
images = np.repeat(np.repeat(small, 2, axis=1), 2, axis=2)[..., None]
inside = np.pad(images[..., 0] > 0.4, ((0, 0), (1, 1), (1, 1)))
filled = inside[:, :-2, 1:-1] & inside[:, 2:, 1:-1] & inside[:, 1:-1, :-2] & inside[:, 1:-1, 2:]
outlines = (inside[:, 1:-1, 1:-1] & ~filled)[..., None].astype(float)


def conv(x, layer):
    """A convolution of 3 by 3: x is (n, h, w, c), the kernel (9 c, d)."""
    kernel, bias = layer
    n, h, w, c = x.shape
    padded = np.zeros((n, h + 2, w + 2, c))
    padded[:, 1:-1, 1:-1] = x
    columns = np.concatenate([padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3)], axis=3)
    return (columns.reshape(n * h * w, 9 * c) @ kernel + bias).reshape(n, h, w, -1)


def relu(x):
    return np.maximum(x, 0.0)


def half(x):
    return 0.25 * (x[:, ::2, ::2] + x[:, 1::2, ::2] + x[:, ::2, 1::2] + x[:, 1::2, 1::2])


def double(x):
    return np.repeat(np.repeat(x, 2, axis=1), 2, axis=2)


sizes = {"down1": (1, 8), "down2": (8, 16), "middle": (16, 16), "up2": (32, 16), "up1": (24, 8), "last": (8, 1)}
layers = {
    name: (Variable(rng.normal(size=(9 * inner, outer)) * (2 / (9 * inner)) ** 0.5), Variable(np.zeros(outer)))
    for name, (inner, outer) in sizes.items()
}


def unet(x):
    first = relu(conv(x, layers["down1"]))
    second = relu(conv(half(first), layers["down2"]))
    x = relu(conv(half(second), layers["middle"]))
    x = relu(conv(np.concatenate([double(x), second], axis=3), layers["up2"]))
    x = relu(conv(np.concatenate([double(x), first], axis=3), layers["up1"]))
    return conv(x, layers["last"])


variables = [variable for layer in layers.values() for variable in layer]
means, squares = [np.zeros(v.shape) for v in variables], [np.zeros(v.shape) for v in variables]
losses, times = [], []
for step in range(1, 151):
    batch = rng.integers(0, 550, 16)
    start = time.perf_counter()
    with GradientTape() as tape:
        loss = np.mean(np.abs(unet(outlines[batch]) - images[batch]))
    for k, slope in enumerate(tape.gradient(loss, variables)):
        means[k] += 0.1 * (slope - means[k])
        squares[k] += 0.001 * (slope**2 - squares[k])
        scaled = means[k] / (1 - 0.9**step) / (np.sqrt(squares[k] / (1 - 0.999**step)) + 1e-8)
        variables[k].assign_sub(0.003 * scaled)
    times.append(time.perf_counter() - start)
    losses.append(loss)
drawn = unet(outlines[550:])
difference = np.abs(drawn - images[550:]).mean()
print(f"mean difference {losses[0]:.2f} at first, {difference:.3f} for images that were not seen")
print(f"the first step took {times[0]:.1f} s, later ones {1e3 * np.median(times):.1f} ms")
assert difference < 0.4 * losses[0]

figure, axes = plt.subplots(3, 8, figsize=(6, 2.4), layout="constrained")
for row, pictures in zip(axes, (outlines[550:558], drawn[:8], images[550:558]), strict=True):
    for place, picture in zip(row, pictures, strict=True):
        place.imshow(picture[..., 0], cmap="gray_r", vmin=0, vmax=1)
        place.set(xticks=[], yticks=[])
figure.savefig("unet.svg")
