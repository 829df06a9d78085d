"""Objectives of ADBench (Srajer, Kukelova & Fitzgibbon 2018): mixtures, bundle adjustment, LSTM, hand tracking."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tests.programs import Program


def gmm_loops(alphas, means, icf, x, gamma, m):
    """Log-posterior of a mixture of Gaussians under a Wishart prior, up to a constant; by loops.

    A row of `icf` is the inverse of a covariance's square root: logarithms of a diagonal, then the columns below it.
    """
    n, d = x.shape
    k = alphas.shape[0]
    scales = np.empty((k, d))
    volumes = np.empty(k)
    for j in range(k):
        volumes[j] = 0.0
        for c in range(d):
            scales[j, c] = math.exp(icf[j, c])
            volumes[j] += icf[j, c]
    terms = np.empty(k)
    diff = np.empty(d)
    image = np.empty(d)
    total = 0.0
    for i in range(n):
        for j in range(k):
            for c in range(d):
                diff[c] = x[i, c] - means[j, c]
                image[c] = scales[j, c] * diff[c]
            place = d
            for c in range(d):
                for r in range(c + 1, d):
                    image[r] += icf[j, place] * diff[c]
                    place += 1
            square = 0.0
            for c in range(d):
                square += image[c] * image[c]
            terms[j] = alphas[j] + volumes[j] - 0.5 * square
        total += _log_sum_exp(terms)
    prior = 0.0
    for j in range(k):
        square = 0.0
        for c in range(d):
            square += scales[j, c] * scales[j, c]
        for p in range(d, icf.shape[1]):
            square += icf[j, p] * icf[j, p]
        prior += 0.5 * gamma * gamma * square - m * volumes[j]
    return total - n * _log_sum_exp(alphas) + prior


def gmm_vectorised(alphas, means, icf, x, gamma, m):
    """The same log-posterior with array expressions and a product per component."""
    n, d = x.shape
    k = alphas.size
    scales = np.exp(icf[:, :d])
    volumes = icf[:, :d].sum(axis=1)
    terms = np.empty((n, k))
    for j in range(k):
        factor = np.diag(scales[j])
        place = d
        for c in range(d):
            factor[c + 1 :, c] = icf[j, place : place + d - c - 1]
            place += d - c - 1
        image = (x - means[j]) @ factor.T
        terms[:, j] = alphas[j] + volumes[j] - 0.5 * (image**2).sum(axis=1)
    top = np.empty(n)
    for i in range(n):
        top[i] = terms[i].max()
    total = (top + np.log(np.exp(terms - top.reshape((n, 1))).sum(axis=1))).sum()
    prior = 0.5 * gamma**2 * ((scales**2).sum() + (icf[:, d:] ** 2).sum()) - m * volumes.sum()
    return total - n * _log_sum_exp(alphas) + prior


@njit
def _log_sum_exp(v):
    top = v[0]
    for j in range(1, v.size):
        top = max(top, v[j])
    total = 0.0
    for j in range(v.size):
        total += math.exp(v[j] - top)
    return top + math.log(total)


@njit
def _turn(axis, p):
    """Rodrigues' rotation of `p` by the vector `axis`."""
    square = axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]
    if square == 0.0:
        return p + np.cross(axis, p)
    angle = math.sqrt(square)
    unit = axis / angle
    cosine, sine = math.cos(angle), math.sin(angle)
    return p * cosine + np.cross(unit, p) * sine + unit * (np.dot(unit, p) * (1.0 - cosine))


@njit
def _project(cam, point):
    """A point in a picture; a camera is rotation, centre, focal length, principal point, two of distortion."""
    local = _turn(cam[:3], point - cam[3:6])
    u, v = local[0] / local[2], local[1] / local[2]
    square = u * u + v * v
    scale = cam[6] * (1.0 + cam[9] * square + cam[10] * square * square)
    return cam[7] + scale * u, cam[8] + scale * v


def bundle_residual(cam, point, weight, feature):
    """A weighted error of reprojection."""
    u, v = _project(cam, point)
    return np.array([weight * (u - feature[0]), weight * (v - feature[1])])


def bundle_cost(cameras, points, weights, camera_of, point_of, features):
    """Half the squares of all weighted errors, and of what the weights are short of one."""
    total = 0.0
    for i in range(weights.size):
        u, v = _project(cameras[camera_of[i]], points[point_of[i]])
        first = weights[i] * (u - features[i, 0])
        second = weights[i] * (v - features[i, 1])
        short = 1.0 - weights[i] * weights[i]
        total += first * first + second * second + short * short
    return 0.5 * total


@njit
def _sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def lstm_loss(main, extra, state, sequence):
    """Negative log-likelihood of the next characters by layers of diagonal LSTM cells.

    main      (layers, 2, 4, width): weights and biases of the gates forget, input, output, change
    extra     (3, width): factor of the input, factor and bias of the output
    state     (layers, 2, width): hidden and cell at the start
    sequence  (characters, width): one row per character
    """
    layers, width = state.shape[0], sequence.shape[1]
    now = state.copy()
    signal = np.empty(width)
    output = np.empty(width)
    total = 0.0
    for t in range(sequence.shape[0] - 1):
        for b in range(width):
            signal[b] = sequence[t, b] * extra[0, b]
        for layer in range(layers):
            for b in range(width):
                hidden, cell = now[layer, 0, b], now[layer, 1, b]
                weight, bias = main[layer, 0], main[layer, 1]
                forget = _sigmoid(signal[b] * weight[0, b] + bias[0, b])
                ingate = _sigmoid(hidden * weight[1, b] + bias[1, b])
                outgate = _sigmoid(signal[b] * weight[2, b] + bias[2, b])
                change = math.tanh(hidden * weight[3, b] + bias[3, b])
                cell = cell * forget + ingate * change
                hidden = outgate * math.tanh(cell)
                now[layer, 0, b], now[layer, 1, b] = hidden, cell
                signal[b] = hidden
        norm = 2.0
        for b in range(width):
            output[b] = signal[b] * extra[1, b] + extra[2, b]
            norm += math.exp(output[b])
        for b in range(width):
            total += sequence[t + 1, b] * (output[b] - math.log(norm))
    return -total / ((sequence.shape[0] - 1) * width)


@njit
def _euler(angles):
    """The rotation by three angles, about z after y after x."""
    cx, sx = math.cos(angles[0]), math.sin(angles[0])
    cy, sy = math.cos(angles[1]), math.sin(angles[1])
    cz, sz = math.cos(angles[2]), math.sin(angles[2])
    return np.array(
        [
            [cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz],
            [cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz],
            [-sy, sx * cy, cx * cy],
        ]
    )


@njit
def _pose(theta, bones):
    """Angles of each bone: wrist, then four per finger, of which the first bends in two directions."""
    pose = np.zeros((bones, 3))
    place = 6
    for finger in range((bones - 2) // 4):
        for joint in range(3):
            bone = 2 + 4 * finger + joint
            pose[bone, 0] = theta[place]
            place += 1
            if joint == 0:
                pose[bone, 1] = theta[place]
                place += 1
    return pose


def hand_cost(theta, parents, relatives, inverses, vertices, weights, found, points):
    """Half the squared distances between measured points and the vertices of a posed hand.

    theta      (26,): rotation and position of the hand, then four angles per finger
    parents    bone -> bone; -1 for a root, which comes before its children
    relatives  (bones, 4, 4): a bone in its parent's frame, at rest
    inverses   (bones, 4, 4): the inverse of a bone's frame, at rest
    vertices   (n, 4): at rest, in homogeneous coordinates
    weights    (n, bones): how far a vertex follows each bone
    found      measured point -> vertex
    """
    bones = parents.size
    pose = _pose(theta, bones)
    frames = np.empty((bones, 4, 4))
    motion = np.empty((bones, 4, 4))
    local = np.eye(4)
    for b in range(bones):
        local[:3, :3] = _euler(pose[b])
        frames[b] = relatives[b] @ local
        if parents[b] >= 0:
            frames[b] = frames[parents[b]] @ frames[b]
        motion[b] = frames[b] @ inverses[b]
    turn = _euler(theta[:3])
    total = 0.0
    for i in range(found.size):
        v = found[i]
        place = np.zeros(3)
        for b in range(bones):
            for r in range(3):
                image = 0.0
                for c in range(4):
                    image += motion[b, r, c] * vertices[v, c]
                place[r] += weights[v, b] * image
        for r in range(3):
            error = theta[3 + r] - points[i, r]
            for c in range(3):
                error += turn[r, c] * place[c]
            total += error * error
    return 0.5 * total


def make_mixture(rng, n, d=2, k=3):
    """Points, and a mixture that fits them badly."""
    icf = 0.3 * rng.normal(size=(k, d * (d + 1) // 2))
    return rng.normal(size=k), rng.uniform(size=(k, d)), icf, rng.normal(size=(n, d)), 1.0, 0


def make_bundle(rng, n, cameras=2, points=3):
    """Observations of points by cameras that look at them from a distance."""
    cams = 0.1 * rng.normal(size=(cameras, 11))
    cams[:, 5] -= 5.0
    cams[:, 6] += 1.0
    which = rng.integers(0, cameras, n), rng.integers(0, points, n)
    return cams, rng.normal(size=(points, 3)), rng.uniform(0.5, 1.5, n), *which, rng.normal(size=(n, 2))


def _one_residual(rng, n):
    cams, points, weights, _, _, features = make_bundle(rng, 1)
    return cams[0], points[0], weights[0], features[0]


def make_lstm(rng, n, width=4, layers=2):
    """A random sequence of characters, and small random weights."""
    sequence = np.zeros((n, width))
    sequence[np.arange(n), rng.integers(0, width, n)] = 1.0
    return (
        0.5 * rng.normal(size=(layers, 2, 4, width)),
        0.5 * rng.normal(size=(3, width)),
        0.5 * rng.normal(size=(layers, 2, width)),
        sequence,
    )


def make_hand(rng, n, fingers=5, vertices=20):
    """A hand of chains of bones with random weights of the skin."""
    bones = 2 + 4 * fingers
    parents = np.array([-1, 0] + [1 if k % 4 == 0 else 1 + k for k in range(4 * fingers)])
    relatives = np.zeros((bones, 4, 4))
    inverses = np.empty((bones, 4, 4))
    frames = np.empty((bones, 4, 4))
    for b in range(bones):
        relatives[b] = np.eye(4)
        relatives[b, :3, 3] = 0.3 * rng.normal(size=3)
        frames[b] = relatives[b] if parents[b] < 0 else frames[parents[b]] @ relatives[b]
        inverses[b] = np.linalg.inv(frames[b])
    rest = np.ones((vertices, 4))
    rest[:, :3] = rng.normal(size=(vertices, 3))
    weights = rng.uniform(size=(vertices, bones))
    weights /= weights.sum(axis=1).reshape((vertices, 1))
    theta = 0.3 * rng.normal(size=6 + 4 * fingers)
    return theta, parents, relatives, inverses, rest, weights, rng.integers(0, vertices, n), rng.normal(size=(n, 3))


PROGRAMS = (
    Program(gmm_loops, make_mixture, (1, 4), (0, 1, 2)),
    Program(gmm_vectorised, make_mixture, (1, 4), (0, 1, 2)),
    Program(bundle_residual, _one_residual, (1,), (0, 1, 2)),
    Program(bundle_cost, make_bundle, (0, 4), (0, 1, 2)),
    Program(lstm_loss, make_lstm, (2, 5), (0, 1)),
    Program(hand_cost, make_hand, (0, 3), (0,)),
)
