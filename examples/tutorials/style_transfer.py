"""Images: the content of one photograph in the style of another.

TensorFlow's style transfer (Gatys, Ecker and Bethge, 2015) moves an image until its features are those of one picture,
and their Gram matrices those of another. The features are those of three layers with random weights, which are enough
for textures (Ustyuzhaninov and others, 2016).
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from tapec import GradientTape, Variable

rng = np.random.default_rng(0)
weights = []
for inner, outer in ((3, 16), (16, 24), (24, 32)):
    weights.append(np.linalg.qr(rng.normal(size=(max(9 * inner, outer), outer)))[0][: 9 * inner] * 1.4)


def conv(x, kernel):
    """A convolution of 3 by 3 without a border: x is (h, w, c), kernel (9 c, d)."""
    h, w, c = x.shape[0] - 2, x.shape[1] - 2, x.shape[2]
    columns = np.concatenate([x[i : i + h, j : j + w] for i in range(3) for j in range(3)], axis=2)
    return (columns.reshape(h * w, 9 * c) @ kernel).reshape(h, w, -1)


def features(x):
    """What each layer finds; each sees half as many pixels as the one before."""
    found = []
    for kernel in weights:
        x = np.maximum(conv(x - 0.5, kernel), 0.0)
        found.append(x)
        h, w = x.shape[0] // 2 * 2, x.shape[1] // 2 * 2
        x = 0.25 * (x[:h:2, :w:2] + x[1:h:2, :w:2] + x[:h:2, 1:w:2] + x[1:h:2, 1:w:2])
    return found


def gram(x):
    """How often two features are found at the same place."""
    m = x.reshape(-1, x.shape[2])
    return m.T @ m / len(m)


content = load_sample_image("china.jpg")[60:380:4, 200:520:4] / 255.0
style = load_sample_image("flower.jpg")[100:420:4, 180:500:4] / 255.0
kept, wanted = features(content)[2], [gram(x) for x in features(style)]

image = Variable(content)
mean, square = np.zeros_like(content), np.zeros_like(content)
losses, times = [], []
for step in range(1, 201):
    start = time.perf_counter()
    with GradientTape() as tape:
        found = features(image)
        of_content = np.mean((found[2] - kept) ** 2)
        of_style = 0.0
        for x, target in zip(found, wanted, strict=True):
            of_style += np.sum((gram(x) - target) ** 2) / np.sum(target**2)
        loss = 2.0 * of_content + of_style
    slope = tape.gradient(loss, image)
    mean += 0.1 * (slope - mean)
    square += 0.01 * (slope**2 - square)
    image.assign_sub(0.02 * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8))
    image.assign(np.clip(image, 0.0, 1.0))
    times.append(time.perf_counter() - start)
    losses.append(float(of_style))
print(f"the distance of the Gram matrices fell from {losses[0]:.2f} to {losses[-1]:.3f}")
print(f"the first step took {times[0]:.1f} s, later ones {1e3 * np.median(times):.1f} ms")
assert losses[-1] < 0.1 * losses[0]

figure, places = plt.subplots(1, 3, figsize=(7, 2.4), layout="constrained")
pictures = {"content": content, "style": style, "both": image.numpy()}
for axes, title in zip(places, pictures, strict=True):
    axes.imshow(pictures[title])
    axes.set(title=title, xticks=[], yticks=[])
figure.savefig("style_transfer.svg")
