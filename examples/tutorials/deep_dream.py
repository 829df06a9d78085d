"""Images: what a bank of filters dreams of.

TensorFlow's DeepDream climbs the gradient of what a layer answers, by the image, at several sizes of it. A photograph
and two layers of fixed filters for edges take the place of a network that has learnt from a million pictures.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from tapec import GradientTape


def conv(x, kernels):
    """A convolution without a border: x is (h, w, c), kernels (k, k, c, d)."""
    k, _, c, d = kernels.shape
    h, w = x.shape[0] - k + 1, x.shape[1] - k + 1
    columns = np.concatenate([x[i : i + h, j : j + w] for i in range(k) for j in range(k)], axis=2)
    return (columns.reshape(h * w, k * k * c) @ kernels.reshape(k * k * c, d)).reshape(h, w, d)


def edges(size, directions, wave):
    """Filters for edges in so many directions (Gabor, 1946), with mean zero and norm one: (size, size, directions)."""
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    angles = np.pi * np.arange(directions) / directions
    along = x[..., None] * np.cos(angles) + y[..., None] * np.sin(angles)
    filters = np.cos(2 * np.pi * along / wave) * np.exp(-(x**2 + y**2)[..., None] / (0.2 * size**2))
    filters -= filters.mean(axis=(0, 1))
    return filters / np.sqrt((filters**2).sum(axis=(0, 1)))


first = np.repeat(edges(5, 8, 4.0)[:, :, None], 3, axis=2) / 3
# corners and crosses: edges of what the first layer answers, for each pair of directions
second = np.random.default_rng(4).normal(size=(1, 1, 8, 12)) * edges(5, 12, 4.0)[:, :, None]


def activity(image):
    found = np.maximum(conv(image, first), 0.0)
    return np.mean(np.maximum(conv(found, second), 0.0) ** 2)


photograph = load_sample_image("china.jpg")[60:380:2, 200:520:2] / 255.0
image = photograph
answers = []
for octave in (0.5, 0.7, 1.0):
    rows = (np.arange(int(160 * octave)) / octave).astype(int)
    small = photograph[rows][:, rows]
    places = (np.arange(len(small)) * len(image) / len(small)).astype(int)
    # what was dreamt at the last size, made larger, and the details of the photograph that it had lost
    image = small if octave == 0.5 else 0.5 * image[places][:, places] + 0.5 * small
    for _ in range(20):
        with GradientTape() as tape:
            tape.watch(image)
            answer = activity(image)
        slope = tape.gradient(answer, image)
        image = np.clip(image + 0.01 * slope / (np.std(slope) + 1e-8), 0.0, 1.0)
        answers.append(answer)
print(f"the filters answer {answers[-1] / activity(photograph):.0f} times as much as to the photograph")
assert answers[-1] > 4 * activity(photograph)

figure, (left, right) = plt.subplots(1, 2, figsize=(6, 3), layout="constrained")
for axes, picture in ((left, photograph), (right, image)):
    axes.imshow(picture, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
figure.savefig("deep_dream.svg")
