"""Fit a mixture of Gaussians with full covariances to the wine data of scikit-learn.

    python examples/fit.py [--output FOLDER]

The loss is written as the loops one would write for Numba, with no derivative in sight.  tapec
compiles its gradient; SciPy's L-BFGS does the rest.  The 178 wines come from three cultivars: the
fit does not see which, and finds them again.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numba import njit, types
from scipy.optimize import linear_sum_assignment, minimize
from sklearn.datasets import load_wine

import tapec

COMPONENTS = 3
STARTS = 6
PRIOR = 0.1


@njit
def unpack(theta, components, d, mean, white):
    """Fill `mean` and the whitening triangles `white` from the flat parameters."""
    at = components
    for c in range(components):
        for a in range(d):
            mean[c, a] = theta[at]
            at += 1
        for a in range(d):
            for b in range(a):
                white[c, a, b] = theta[at]
                at += 1
            white[c, a, a] = math.exp(theta[at])
            at += 1


@njit
def loss(theta, x, components, prior):
    """Negative log-posterior per row of `x` of a Gaussian mixture.

    theta  per component: a logit, then for each a mean (d) and a triangle W (d*(d+1)/2) with
           W'W the inverse covariance, its diagonal as logarithms
    prior  weight of the Wishart prior that keeps covariances from collapsing
    """
    n, d = x.shape
    mean = np.empty((components, d))
    white = np.zeros((components, d, d))
    unpack(theta, components, d, mean, white)

    total_weight = 0.0
    for c in range(components):
        total_weight += math.exp(theta[c])

    score = np.empty(components)
    value = 0.0
    for i in range(n):
        top = -np.inf
        for c in range(components):
            score[c] = theta[c]
            for a in range(d):
                z = 0.0
                for b in range(a + 1):
                    z += white[c, a, b] * (x[i, b] - mean[c, b])
                score[c] += math.log(white[c, a, a]) - 0.5 * z * z
            if score[c] > top:
                top = score[c]
        mass = 0.0
        for c in range(components):
            mass += math.exp(score[c] - top)
        value -= top + math.log(mass) - math.log(total_weight)

    for c in range(components):
        for a in range(d):
            for b in range(a + 1):
                value += 0.5 * prior * white[c, a, b] ** 2 * n / components
            value -= prior * math.log(white[c, a, a]) * n / components
    return value / n + 0.5 * d * math.log(2.0 * math.pi)


def start(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Parameters with means at random rows and unit covariances."""
    n, d = x.shape
    triangle = d * (d + 1) // 2
    rows = x[rng.choice(n, COMPONENTS, replace=False)]
    return np.concatenate([np.zeros(COMPONENTS), *(np.concatenate([row, np.zeros(triangle)]) for row in rows)])


def central_differences(theta: np.ndarray, *rest: object, step: float = 1e-5) -> np.ndarray:
    """The gradient of the loss, one parameter at a time."""
    out = np.empty_like(theta)
    for k in range(theta.size):
        up, down = theta.copy(), theta.copy()
        up[k] += step
        down[k] -= step
        out[k] = (loss(up, *rest) - loss(down, *rest)) / (2.0 * step)
    return out


def medians(repeats: int, *calls) -> list[float]:
    """Median seconds of each call, taken in turn so that all see the same machine."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for taken, call in zip(times, calls, strict=True):
            begin = time.perf_counter()
            call()
            taken.append(time.perf_counter() - begin)
    return [statistics.median(taken) for taken in times]


def components_of(theta: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, covariances, and the likeliest component of each row."""
    d = x.shape[1]
    mean, white = np.empty((COMPONENTS, d)), np.zeros((COMPONENTS, d, d))
    unpack(theta, COMPONENTS, d, mean, white)
    residual = np.einsum("cab,cib->cia", white, x - mean[:, None])
    log_det = np.log(np.diagonal(white, axis1=1, axis2=2)).sum(axis=1)
    score = theta[:COMPONENTS, None] + log_det[:, None] - 0.5 * (residual**2).sum(axis=2)
    return mean, np.linalg.inv(white.transpose(0, 2, 1) @ white), score.argmax(axis=0)


def matched(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Component numbers renamed after the cultivars with which they agree best."""
    table = np.array([[np.sum((found == c) & (true == t)) for t in range(COMPONENTS)] for c in range(COMPONENTS)])
    names = linear_sum_assignment(-table)[1]
    return names[found]


def draw(path: Path, x, wine, mean, covariance, found) -> None:
    """Two of the thirteen measurements, with the two-sigma ellipse of each component."""
    pair = [wine.feature_names.index(name) for name in ("flavanoids", "color_intensity")]
    colours = ["tab:blue", "tab:orange", "tab:green"]
    figure = Figure(figsize=(7, 5))
    axes = figure.subplots()
    for t, name in enumerate(wine.target_names):
        rows = wine.target == t
        axes.scatter(*x[rows][:, pair].T, s=16, color=colours[t], label=f"{name} (true)")
    wrong = found != wine.target
    axes.scatter(*x[wrong][:, pair].T, s=80, facecolors="none", edgecolors="k", label="assigned otherwise")
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = 2.0 * np.stack([np.cos(angle), np.sin(angle)])
    for c in range(COMPONENTS):
        root = np.linalg.cholesky(covariance[c][np.ix_(pair, pair)])
        axes.plot(*(mean[c, pair][:, None] + root @ circle), color="k", linewidth=1.2)
    axes.set_xlabel(f"{wine.feature_names[pair[0]]} (standardised)")
    axes.set_ylabel(f"{wine.feature_names[pair[1]]} (standardised)")
    axes.set_title("Gaussian mixture fitted to 13 measurements of 178 wines")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("fit_output"), help="folder for the source and the picture")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)

    wine = load_wine()
    x = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0)
    rng = np.random.default_rng(5)
    theta = start(x, rng)
    theta += 0.1 * rng.normal(size=theta.size)
    rest = (x, COMPONENTS, PRIOR)
    print(f"{x.shape[0]} wines, {x.shape[1]} measurements, {theta.size} parameters")

    source = folder / "loss_gradient.py"
    signature = (types.float64[::1], types.float64[:, ::1], types.int64, types.float64)
    text = tapec.emit(loss, wrt="theta", signature=signature)
    source.write_text(text, encoding="utf-8")
    print(f"generated gradient: {source} ({text.count(chr(10))} lines)")

    value_and_grad = tapec.value_and_grad(loss, wrt="theta")
    begin = time.perf_counter()
    value, gradient = value_and_grad(theta, *rest)
    print(f"first call, compilation included: {time.perf_counter() - begin:.2f} s")

    numeric = central_differences(theta, *rest)
    error = np.max(np.abs(gradient - numeric)) / np.max(np.abs(numeric))
    print(f"largest difference from central differences: {error:.1e} of the largest entry")
    if not (error < 1e-7 and math.isclose(value, loss(theta, *rest), rel_tol=1e-12)):
        print("the gradient is wrong")
        return 1

    primal, both = medians(101, lambda: loss(theta, *rest), lambda: value_and_grad(theta, *rest))
    print(f"loss {1e6 * primal:.0f} us, loss and gradient {1e6 * both:.0f} us: {both / primal:.2f} times")

    begin = time.perf_counter()
    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-13, "gtol": 1e-7}
    fits = [
        minimize(value_and_grad, start(x, rng), args=rest, jac=True, method="L-BFGS-B", options=options)
        for _ in range(STARTS)
    ]
    best = min(fits, key=lambda fit: fit.fun)
    calls = sum(fit.nfev for fit in fits)
    print(f"{STARTS} starts, {calls} gradients, {time.perf_counter() - begin:.2f} s")
    print(f"best: loss {best.fun:.6f}, largest gradient entry {np.max(np.abs(best.jac)):.1e}, {best.nit} iterations")

    mean, covariance, component = components_of(best.x, x)
    found = matched(component, wine.target)
    print(f"wines in the component of their cultivar: {np.sum(found == wine.target)} of {x.shape[0]}")
    picture = folder / "fit.png"
    draw(picture, x, wine, mean, covariance, found)
    print(f"picture: {picture}")
    return 0 if best.success else 1


if __name__ == "__main__":
    raise SystemExit(main())
