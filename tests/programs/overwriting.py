"""Programs that overwrite what they have read: fields on a grid, rays, and a tree of partial results."""

from __future__ import annotations

import math

import numpy as np

from tests.programs import Program


def shallow_water(height0, flow_x0, flow_y0, dt, steps):
    """The equations of shallow water in two dimensions, three fields with two buffers each; edges are mirrored."""
    n, m = height0.shape
    h, u, v = height0.copy(), flow_x0.copy(), flow_y0.copy()
    h_new, u_new, v_new = np.zeros_like(h), np.zeros_like(u), np.zeros_like(v)
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                rise_x = 0.5 * (h[i + 1, j] - h[i - 1, j])
                rise_y = 0.5 * (h[i, j + 1] - h[i, j - 1])
                along = 0.5 * (u[i, j] * (u[i + 1, j] - u[i - 1, j]) + v[i, j] * (u[i, j + 1] - u[i, j - 1]))
                across = 0.5 * (u[i, j] * (v[i + 1, j] - v[i - 1, j]) + v[i, j] * (v[i, j + 1] - v[i, j - 1]))
                outflow = u[i + 1, j] * h[i + 1, j] - u[i - 1, j] * h[i - 1, j]
                outflow += v[i, j + 1] * h[i, j + 1] - v[i, j - 1] * h[i, j - 1]
                u_new[i, j] = u[i, j] - dt * (9.81 * rise_x + along)
                v_new[i, j] = v[i, j] - dt * (9.81 * rise_y + across)
                h_new[i, j] = h[i, j] - dt * 0.5 * outflow
        for i in range(n):
            h_new[i, 0] = h_new[i, 1]
            h_new[i, m - 1] = h_new[i, m - 2]
        for j in range(m):
            h_new[0, j] = h_new[1, j]
            h_new[n - 1, j] = h_new[n - 2, j]
        h, h_new = h_new, h
        u, u_new = u_new, u
        v, v_new = v_new, v
    energy = 0.0
    for i in range(n):
        for j in range(m):
            energy += h[i, j] * (u[i, j] ** 2 + v[i, j] ** 2) + 9.81 * h[i, j] ** 2
    return energy


def tomography(image, angles, offsets, data):
    """The squared error of the integrals of an image along rays, which march on until they have left it."""
    n = image.shape[0]
    cost = 0.0
    for a in range(angles.shape[0]):
        step_x, step_y = 0.5 * math.cos(angles[a]), 0.5 * math.sin(angles[a])
        for r in range(offsets.shape[0]):
            x = 0.5 * n - 2.0 * offsets[r] * step_y - 1.4 * n * step_x
            y = 0.5 * n + 2.0 * offsets[r] * step_x - 1.4 * n * step_y
            total, way = 0.0, 0.0
            while way < 1.4 * n:
                i, j = int(math.floor(x)), int(math.floor(y))
                if i >= 0 and j >= 0 and i < n - 1 and j < n - 1:
                    right, down = x - i, y - j
                    upper = (1.0 - down) * image[i, j] + down * image[i, j + 1]
                    lower = (1.0 - down) * image[i + 1, j] + down * image[i + 1, j + 1]
                    total += 0.5 * ((1.0 - right) * upper + right * lower)
                x += step_x
                y += step_y
                way += 0.5
            cost += (total - data[a, r]) ** 2
    return cost


def tree_likelihood(lengths, rates, lefts, rights, tips):
    """The likelihood of an evolutionary tree by Felsenstein's pruning, with the model of Jukes and Cantor."""
    leaves, sites = tips.shape
    partial = np.zeros((leaves + lefts.shape[0], 4))
    result = 0.0
    for s in range(sites):
        for t in range(leaves):
            for k in range(4):
                partial[t, k] = 0.0
            partial[t, tips[t, s]] = 1.0
        for m in range(lefts.shape[0]):
            left, right = lefts[m], rights[m]
            stay_left = math.exp(-4.0 * lengths[left] * rates[s] / 3.0)
            stay_right = math.exp(-4.0 * lengths[right] * rates[s] / 3.0)
            for a in range(4):
                x, y = 0.0, 0.0
                for b in range(4):
                    same = 1.0 if a == b else 0.0
                    x += (0.25 + (same - 0.25) * stay_left) * partial[left, b]
                    y += (0.25 + (same - 0.25) * stay_right) * partial[right, b]
                partial[leaves + m, a] = x * y
        likelihood = 0.0
        for a in range(4):
            likelihood += 0.25 * partial[leaves + lefts.shape[0] - 1, a]
        result -= math.log(likelihood)
    return result


def make_water(rng, n):
    """Still water with waves."""
    return 1.0 + 0.1 * rng.random((n, n + 1)), 0.1 * rng.random((n, n + 1)), 0.1 * rng.random((n, n + 1)), 0.01, 10


def make_rays(rng, n, angles=3, rays=4):
    """An image, and what rays from some directions met."""
    offsets = np.linspace(-0.3 * n, 0.3 * n, rays)
    return rng.random((n, n)), np.linspace(0.1, 3.0, angles), offsets, rng.random((angles, rays))


def make_tree(rng, leaves, sites=3):
    """A balanced tree: the nodes 2 m and 2 m + 1 join in the m-th that is no leaf."""
    inner = np.arange(leaves - 1)
    tips = rng.integers(0, 4, (leaves, sites))
    return 0.1 + rng.random(2 * leaves - 1), 0.5 + rng.random(sites), 2 * inner, 2 * inner + 1, tips


PROGRAMS = (
    Program(shallow_water, make_water, (5,), (0, 1, 2, 3)),
    Program(tomography, make_rays, (6,), (0, 3)),
    Program(tree_likelihood, make_tree, (2, 5), (0, 1)),
)
