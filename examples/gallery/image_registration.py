"""Medicine: two scans laid over each other.

Between two scans the patient has moved, by a rotation, a scale and a shift. The moved image is read between its
pixels, so the residuals have derivatives by these four numbers. Gauss-Newton steps with `tapec.jacobian` find them.
"""

import matplotlib.pyplot as plt
import numpy as np

import tapec


def residuals(motion, moved, still):
    """The differences of the pixels. motion: an angle, a scale, and a shift by rows and columns."""
    angle, scale, down, right = motion
    rows, columns = still.shape
    c, s = scale * np.cos(angle), scale * np.sin(angle)
    out = np.zeros(rows * columns)
    for i in range(rows):
        for j in range(columns):
            y, x = i - rows / 2, j - columns / 2
            row = c * y - s * x + down + rows / 2
            column = s * y + c * x + right + columns / 2
            a, b = int(np.floor(row)), int(np.floor(column))
            if 0 <= a < rows - 1 and 0 <= b < columns - 1:
                u, v = row - a, column - b
                upper = (1 - v) * moved[a, b] + v * moved[a, b + 1]
                lower = (1 - v) * moved[a + 1, b] + v * moved[a + 1, b + 1]
                out[i * columns + j] = (1 - u) * upper + u * lower - still[i, j]
    return out


def scan(motion, size=64):
    """Ellipses as in a slice of a head, with smooth edges, moved."""
    angle, scale, down, right = motion
    y, x = np.mgrid[:size, :size] - size / 2 - np.array([down, right])[:, None, None]
    y, x = (np.cos(angle) * y + np.sin(angle) * x) / scale, (np.cos(angle) * x - np.sin(angle) * y) / scale
    image = np.zeros((size, size))
    for cy, cx, ry, rx, value in ((0, 0, 24, 18, 1.0), (-6, 7, 8, 4, -0.6), (-4, -7, 9, 4, -0.6), (10, 1, 4, 5, 0.8)):
        inside = 1 - np.sqrt(((y - cy) / ry) ** 2 + ((x - cx) / rx) ** 2)
        image += value / (1 + np.exp(-12 * inside))
    return image


truth, motion = np.array([0.15, 1.05, 2.0, -3.0]), np.array([0.0, 1.0, 0.0, 0.0])
still, moved, pictures = scan(motion), scan(truth), {}
pictures["before"] = residuals(motion, moved, still)
for _ in range(12):
    slopes = tapec.jacobian(residuals)(motion, moved, still)
    motion = motion - np.linalg.lstsq(slopes, residuals(motion, moved, still), rcond=None)[0]
print("found", np.round(motion, 3), "true", truth)
assert np.allclose(motion, truth, atol=0.02)

pictures["after"] = residuals(motion, moved, still)
figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
for place, (title, difference) in zip(axes, pictures.items(), strict=True):
    place.imshow(difference.reshape(still.shape), cmap="RdBu", vmin=-1, vmax=1)
    place.set_title(f"difference {title}")
figure.savefig("image_registration.svg")
