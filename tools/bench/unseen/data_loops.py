"""Data, statistics and networks by loops, as people write them for `@njit`."""

from __future__ import annotations

import math

import numpy as np


def local_alignment(similarity, gap, temperature):
    """Smith and Waterman's score of two sequences, with soft maxima."""
    n, m = similarity.shape
    score = np.zeros((n + 1, m + 1))
    total = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a = score[i - 1, j - 1] + similarity[i - 1, j - 1]
            b = score[i - 1, j] - gap
            c = score[i, j - 1] - gap
            top = max(0.0, a, b, c)
            rest = math.exp(-top / temperature) + math.exp((a - top) / temperature)
            rest += math.exp((b - top) / temperature) + math.exp((c - top) / temperature)
            score[i, j] = top + temperature * math.log(rest)
            total += math.exp(score[i, j] / (4.0 * temperature * n))
    return math.log(total)


def sparse_conjugate_gradients(starts, columns, entries, rhs, steps):
    """The energy that a sparse system's solution has after some steps of conjugate gradients."""
    n = rhs.shape[0]
    x = np.zeros(n)
    r = rhs.copy()
    p = rhs.copy()
    square = 0.0
    for i in range(n):
        square += r[i] * r[i]
    for _ in range(steps):
        q = np.zeros(n)
        curvature = 0.0
        for i in range(n):
            for k in range(starts[i], starts[i + 1]):
                q[i] += entries[k] * p[columns[k]]
            curvature += p[i] * q[i]
        alpha = square / curvature
        new = 0.0
        for i in range(n):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
            new += r[i] * r[i]
        beta = new / square
        square = new
        for i in range(n):
            p[i] = r[i] + beta * p[i]
    energy = 0.0
    for i in range(n):
        energy += rhs[i] * x[i]
    return energy


def warped_image(image, wanted, affine):
    """Squared difference between a picture and another one that is turned and shifted, by bilinear interpolation."""
    rows, columns = wanted.shape
    total = 0.0
    for i in range(rows):
        for j in range(columns):
            y = affine[0, 0] * i + affine[0, 1] * j + affine[0, 2]
            x = affine[1, 0] * i + affine[1, 1] * j + affine[1, 2]
            y = min(max(y, 0.0), image.shape[0] - 1.001)
            x = min(max(x, 0.0), image.shape[1] - 1.001)
            top = int(y)
            left = int(x)
            v = y - top
            u = x - left
            upper = (1.0 - u) * image[top, left] + u * image[top, left + 1]
            lower = (1.0 - u) * image[top + 1, left] + u * image[top + 1, left + 1]
            total += ((1.0 - v) * upper + v * lower - wanted[i, j]) ** 2
    return total


def closed_spline(control, at, seen):
    """Squared distance between points on a closed cubic spline of control points and data."""
    n = control.shape[0]
    total = 0.0
    for k in range(at.shape[0]):
        left = int(math.floor(at[k]))
        t = at[k] - left
        weights = np.empty(4)
        weights[0] = (1.0 - t) ** 3 / 6.0
        weights[1] = (3.0 * t**3 - 6.0 * t**2 + 4.0) / 6.0
        weights[2] = (-3.0 * t**3 + 3.0 * t**2 + 3.0 * t + 1.0) / 6.0
        weights[3] = t**3 / 6.0
        for d in range(2):
            place = 0.0
            for j in range(4):
                place += weights[j] * control[(left + j) % n, d]
            total += (place - seen[k, d]) ** 2
    return total


def garch_likelihood(returns, omega, alpha, beta, mean):
    """Minus the logarithm of the likelihood of returns whose variance follows a GARCH process."""
    variance = 0.0
    for i in range(returns.shape[0]):
        variance += (returns[i] - mean) ** 2
    variance /= returns.shape[0]
    total = 0.0
    for i in range(returns.shape[0]):
        error = returns[i] - mean
        total += 0.5 * (math.log(2.0 * math.pi * variance) + error * error / variance)
        variance = omega + alpha * error * error + beta * variance
    return total


def arma_likelihood(series, ar, ma, scale):
    """Minus the logarithm of the likelihood of an ARMA process, given its first values."""
    n = series.shape[0]
    errors = np.zeros(n)
    total = 0.0
    for t in range(len(ar), n):
        forecast = 0.0
        for k in range(len(ar)):
            forecast += ar[k] * series[t - 1 - k]
        for k in range(len(ma)):
            if t - 1 - k >= 0:
                forecast += ma[k] * errors[t - 1 - k]
        errors[t] = series[t] - forecast
        total += 0.5 * (errors[t] / scale) ** 2 + math.log(scale)
    return total


def cox_likelihood(features, happened, beta):
    """Minus the logarithm of Cox's partial likelihood; rows are in order of time, the latest first."""
    at_risk = 0.0
    total = 0.0
    for i in range(features.shape[0]):
        score = 0.0
        for j in range(beta.shape[0]):
            score += features[i, j] * beta[j]
        at_risk += math.exp(score)
        if happened[i]:
            total -= score - math.log(at_risk)
    return total


def bearings_filter(bearings, start, spread, drift, noise, dt):
    """An extended Kalman filter that follows a ship by bearings from two lighthouses."""
    state = start.copy()
    cov = np.diag(spread)
    move = np.eye(4)
    move[0, 2] = dt
    move[1, 3] = dt
    disturbance = drift * np.eye(4)
    loss = 0.0
    for t in range(bearings.shape[0]):
        state = move @ state
        cov = move @ cov @ move.T + disturbance
        for tower in range(2):
            dx = state[0] - 10.0 * tower
            dy = state[1] + 5.0
            square = dx * dx + dy * dy
            slope = np.array([-dy / square, dx / square, 0.0, 0.0])
            gain = cov @ slope
            variance = slope @ gain + noise
            error = bearings[t, tower] - math.atan2(dy, dx)
            state = state + gain * (error / variance)
            cov = cov - np.outer(gain, gain) / variance
            loss += 0.5 * (error * error / variance + math.log(variance))
    return loss


def convolution_layer(images, filters, bias, wanted):
    """A layer of filters with stride two over images of several channels, rectified, and the mean of each result."""
    count, channels, rows, columns = images.shape
    outputs, _, size, _ = filters.shape
    loss = 0.0
    for n in range(count):
        for o in range(outputs):
            mean = 0.0
            for i in range(0, rows - size + 1, 2):
                for j in range(0, columns - size + 1, 2):
                    z = bias[o]
                    for c in range(channels):
                        for a in range(size):
                            for b in range(size):
                                z += images[n, c, i + a, j + b] * filters[o, c, a, b]
                    if z > 0.0:
                        mean += z
            loss += (mean / (rows * columns) - wanted[n, o]) ** 2
    return loss
