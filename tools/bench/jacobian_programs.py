"""Programs whose Jacobians and Hessians are measured, and some of their derivatives by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from tests.programs import objectives

euler, pose_of = objectives._euler, objectives._pose


def hand_residuals(theta, parents, relatives, inverses, vertices, weights, found, points):
    """The distances of `hand_cost`, (points, 3), before they are squared."""
    bones = parents.size
    pose = pose_of(theta, bones)
    frames = np.empty((bones, 4, 4))
    motion = np.empty((bones, 4, 4))
    local = np.eye(4)
    for b in range(bones):
        local[:3, :3] = euler(pose[b])
        frames[b] = relatives[b] @ local
        if parents[b] >= 0:
            frames[b] = frames[parents[b]] @ frames[b]
        motion[b] = frames[b] @ inverses[b]
    turn = euler(theta[:3])
    out = np.empty((found.size, 3))
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
            out[i, r] = error
    return out


def burgers(u, ratio, steps):
    """An upwind scheme for Burgers' equation on a ring, which looks where the wind comes from."""
    n = u.shape[0]
    v = u.copy()
    w = np.empty(n)
    for _ in range(steps):
        for i in range(n):
            left, right = v[i - 1], v[(i + 1) % n]
            if v[i] > 0.0:
                w[i] = v[i] - ratio * v[i] * (v[i] - left)
            else:
                w[i] = v[i] - ratio * v[i] * (right - v[i])
        v[:] = w
    return v


def logistic_loss(p, x, y):
    """The negative log-likelihood of a logistic regression."""
    total = 0.0
    for i in range(x.shape[0]):
        score = 0.0
        for j in range(p.shape[0]):
            score += p[j] * x[i, j]
        total += np.log(1.0 + np.exp(score)) - y[i] * score
    return total


def truss(areas, stiffness, load):
    """Displacements of a structure whose members have areas: one linear system."""
    n = load.shape[0]
    k = np.zeros((n, n))
    for m in range(areas.shape[0]):
        for i in range(n):
            for j in range(n):
                k[i, j] += areas[m] * stiffness[m, i, j]
    return np.linalg.solve(k, load)


def oscillator(p, steps):
    """The end of a path of van der Pol's oscillator by Runge and Kutta's method: three parameters, two states."""
    x, v, dt = p[1], p[2], 0.01
    for _ in range(steps):
        a = p[0] * (1.0 - x * x) * v - x
        x1, v1 = x + 0.5 * dt * v, v + 0.5 * dt * a
        b = p[0] * (1.0 - x1 * x1) * v1 - x1
        x, v = x + dt * v1, v + dt * b
    return np.array([x, v])


def reaction(w, n, rate):
    """The Brusselator on a periodic grid of n by n cells, in five points: two species, 2 n n unknowns."""
    u, v = w[: n * n].reshape(n, n), w[n * n :].reshape(n, n)
    change = np.empty(2 * n * n)
    du, dv = change[: n * n].reshape(n, n), change[n * n :].reshape(n, n)
    for i in range(n):
        above, below = i - 1, (i + 1) % n
        for j in range(n):
            left, right = j - 1, (j + 1) % n
            made = u[i, j] ** 2 * v[i, j]
            spread = u[above, j] + u[below, j] + u[i, left] + u[i, right] - 4.0 * u[i, j]
            du[i, j] = 1.0 + made - 4.4 * u[i, j] + rate * spread
            spread = v[above, j] + v[below, j] + v[i, left] + v[i, right] - 4.0 * v[i, j]
            dv[i, j] = 3.4 * u[i, j] - made + rate * spread
    return change


def rates(x, counts, stiffness):
    """The negative log-likelihood of counts whose logarithms of rates are a random walk."""
    total = 0.0
    for i in range(x.size):
        total += np.exp(x[i]) - counts[i] * x[i]
        if i > 0:
            step = x[i] - x[i - 1]
            total += 0.5 * stiffness * step * step
    return total


# by hand


@njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def rates_by_hand(x, counts, stiffness):
    """Row by row, the elements of the three diagonals."""
    n = x.size
    values = np.empty(3 * n - 2)
    values[0] = np.exp(x[0]) + stiffness
    for i in range(1, n):
        values[3 * i - 2] = -stiffness
        values[3 * i - 1] = -stiffness
        values[3 * i] = np.exp(x[i]) + (stiffness if i == n - 1 else 2.0 * stiffness)
    return values


@njit
def bundle_by_hand(cameras, points, weights, camera_of, point_of, features, blocks):
    """Both rows of each observation: Rodrigues' formula transposed by its cross products, as in `bundle_cost`."""
    for i in range(weights.size):
        cam, point = cameras[camera_of[i]], points[point_of[i]]
        px, py, pz = point[0] - cam[3], point[1] - cam[4], point[2] - cam[5]
        angle = math.sqrt(cam[0] * cam[0] + cam[1] * cam[1] + cam[2] * cam[2])
        turned = angle > 0.0
        inverse = 1.0 / angle if turned else 0.0
        kx, ky, kz = cam[0] * inverse, cam[1] * inverse, cam[2] * inverse
        cosine, sine = math.cos(angle), math.sin(angle)
        tx, ty, tz = ky * pz - kz * py, kz * px - kx * pz, kx * py - ky * px
        along = kx * px + ky * py + kz * pz
        rest = (1.0 - cosine) * along
        ax = px * cosine + tx * sine + kx * rest
        ay = py * cosine + ty * sine + ky * rest
        az = pz * cosine + tz * sine + kz * rest
        if not turned:
            ax, ay, az = px, py, pz
        u, v = ax / az, ay / az
        square = u * u + v * v
        bend = 1.0 + cam[9] * square + cam[10] * square * square
        scale = cam[6] * bend
        w = weights[i]
        for row in range(2):
            out = blocks[i, row]
            u_bar, v_bar = (w, 0.0) if row == 0 else (0.0, w)
            scale_bar = u * u_bar + v * v_bar
            bend_bar = cam[6] * scale_bar
            square_bar = bend_bar * (cam[9] + 2.0 * cam[10] * square)
            out[6] = bend * scale_bar
            out[7] = u_bar
            out[8] = v_bar
            out[9] = bend_bar * square
            out[10] = bend_bar * square * square
            qx = (scale * u_bar + 2.0 * u * square_bar) / az
            qy = (scale * v_bar + 2.0 * v * square_bar) / az
            qz = -(u * qx + v * qy)
            back = kx * qx + ky * qy + kz * qz
            rest = (1.0 - cosine) * back
            px_bar = cosine * qx + sine * (qy * kz - qz * ky) + kx * rest
            py_bar = cosine * qy + sine * (qz * kx - qx * kz) + ky * rest
            pz_bar = cosine * qz + sine * (qx * ky - qy * kx) + kz * rest
            rx, ry, rz = py * qz - pz * qy, pz * qx - px * qz, px * qy - py * qx
            if turned:
                near = 1.0 - cosine
                rx = sine * rx + near * (along * qx + back * px)
                ry = sine * ry + near * (along * qy + back * py)
                rz = sine * rz + near * (along * qz + back * pz)
                angle_bar = cosine * (tx * qx + ty * qy + tz * qz) - sine * (px * qx + py * qy + pz * qz - along * back)
                angle_bar -= (kx * rx + ky * ry + kz * rz) * inverse
                rx, ry, rz = rx * inverse + kx * angle_bar, ry * inverse + ky * angle_bar, rz * inverse + kz * angle_bar
            out[0], out[1], out[2] = rx, ry, rz
            out[3], out[4], out[5] = -px_bar, -py_bar, -pz_bar
            out[11], out[12], out[13] = px_bar, py_bar, pz_bar
            out[14] = (u if row == 0 else v) * scale + cam[7 + row] - features[i, row]
    return blocks


@njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def burgers_by_hand(u, ratio, steps):
    """All columns beside the scheme, in a matrix."""
    n = u.shape[0]
    v, w = u.copy(), np.empty(n)
    v_dot, w_dot = np.eye(n), np.empty((n, n))
    for _ in range(steps):
        for i in range(n):
            centre = v[i]
            if centre > 0.0:
                other = i - 1 if i > 0 else n - 1
                slope, own = ratio * centre, 1.0 - ratio * (2.0 * centre - v[other])
                w[i] = centre - slope * (centre - v[other])
            else:
                other = i + 1 if i < n - 1 else 0
                slope, own = -ratio * centre, 1.0 - ratio * (v[other] - 2.0 * centre)
                w[i] = centre + slope * (v[other] - centre)
            for j in range(n):
                w_dot[i, j] = own * v_dot[i, j] + slope * v_dot[other, j]
        v, w = w, v
        v_dot, w_dot = w_dot, v_dot
    return v_dot


@njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def logistic_by_hand(p, x, y):
    """The product of the data with itself, weighted."""
    n, k = x.shape
    weighted = np.empty((n, k))
    for i in range(n):
        score = 0.0
        for j in range(k):
            score += p[j] * x[i, j]
        share = 1.0 / (1.0 + np.exp(-score))
        for j in range(k):
            weighted[i, j] = share * (1.0 - share) * x[i, j]
    return np.dot(x.T, weighted)


def make_truss(rng: Any, members: int = 40, n: int = 30) -> Any:
    """Members between random nodes, on supports."""
    stiffness = np.zeros((members, n, n))
    for m in range(members):
        direction = np.zeros(n)
        direction[rng.choice(n, 4, replace=False)] = rng.normal(size=4)
        stiffness[m] = np.outer(direction, direction) + 0.1 * np.eye(n)
    return rng.uniform(1.0, 2.0, members), stiffness, rng.normal(size=n)
