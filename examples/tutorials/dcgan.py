"""Training: a generator and a discriminator, with two tapes.

The step of TensorFlow's DCGAN: one forward pass under two tapes, a loss for each of the two networks, and each tape
gives the gradient of its own. The images are handwritten threes.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from tapec import GradientTape, Variable

rng = np.random.default_rng(1)
data = load_digits()
images = data.images[data.target == 3][..., None] / 8.0 - 1.0


def conv(x, kernel, bias):
    """A convolution of 3 by 3: x is (n, h, w, c), kernel (9 c, d)."""
    n, h, w, c = x.shape
    padded = np.zeros((n, h + 2, w + 2, c))
    padded[:, 1:-1, 1:-1] = x
    columns = np.concatenate([padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3)], axis=3)
    return (columns.reshape(n * h * w, 9 * c) @ kernel + bias).reshape(n, h, w, -1)


def layer(inner, outer):
    return Variable(rng.normal(size=(inner, outer)) * (2.0 / inner) ** 0.5), Variable(np.zeros(outer))


generates = [*layer(8, 4 * 4 * 16), *layer(9 * 16, 16), *layer(9 * 16, 1)]
judges = [*layer(9, 8), *layer(9 * 8, 16), *layer(2 * 2 * 16, 1)]


def generator(z):
    dense, shift, first, a, second, b = generates
    x = np.maximum(z @ dense + shift, 0.0).reshape(len(z), 4, 4, 16)
    x = np.repeat(np.repeat(x, 2, axis=1), 2, axis=2)
    return np.tanh(conv(np.maximum(conv(x, first, a), 0.0), second, b))


def discriminator(x):
    first, a, second, b, dense, c = judges
    for kernel, bias in ((first, a), (second, b)):
        x = conv(x, kernel, bias)
        x = np.where(x > 0.0, x, 0.2 * x)
        x = 0.25 * (x[:, ::2, ::2] + x[:, 1::2, ::2] + x[:, ::2, 1::2] + x[:, 1::2, 1::2])
    return x.reshape(len(x), -1) @ dense + c


def cross_entropy(scores):
    """The mean of -log p of what the discriminator should call real; with the sign turned, of what it should not."""
    return np.mean(np.logaddexp(0.0, -scores))


moments = {}


def adam(name, variables, slopes, step):
    for k, (variable, slope) in enumerate(zip(variables, slopes, strict=True)):
        mean, square = moments.setdefault((name, k), [np.zeros_like(slope), np.zeros_like(slope)])
        mean += 0.5 * (slope - mean)
        square += 0.001 * (slope**2 - square)
        variable.assign_sub(0.002 * mean / (1 - 0.5**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8))


losses, times = [], []
for step in range(1, 401):
    real, z = images[rng.integers(0, len(images), 32)], rng.normal(size=(32, 8))
    start = time.perf_counter()
    with GradientTape() as of_generator, GradientTape() as of_discriminator:
        on_real, on_made = discriminator(real), discriminator(generator(z))
        made = cross_entropy(on_made)
        judged = cross_entropy(on_real) + cross_entropy(-on_made)
    adam("generator", generates, of_generator.gradient(made, generates), step)
    adam("discriminator", judges, of_discriminator.gradient(judged, judges), step)
    times.append(time.perf_counter() - start)
    losses.append((made, judged))

drawn = generator(rng.normal(size=(200, 8)))
distance = np.abs(drawn.mean(axis=0) - images.mean(axis=0)).mean()
print(f"the mean of what is drawn differs by {distance:.2f} from the mean of the images, whose values are -1 to 1")
print(f"the first step took {times[0]:.1f} s, later ones {1e3 * np.median(times):.1f} ms")
assert distance < 0.3

figure, axes = plt.subplots(2, 8, figsize=(6, 1.6), layout="constrained")
for row, pictures in zip(axes, (images[:8], drawn[:8]), strict=True):
    for place, picture in zip(row, pictures, strict=True):
        place.imshow(picture[..., 0], cmap="gray_r", vmin=-1, vmax=1)
        place.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("data")
axes[1, 0].set_ylabel("made")
figure.savefig("dcgan.svg")
