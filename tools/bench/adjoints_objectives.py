"""Adjoints of the ADBench objectives (`tests/programs/objectives.py`), written by hand as in `adjoints.py`."""

from __future__ import annotations

import math

import numpy as np


def gmm_loops(alphas, means, icf, x, gamma, m):
    """One sweep over the points with the components' shares of each.

    What a linear map takes back to a mean is added up over the points first; the map is applied once.
    """
    n, d = x.shape
    k = alphas.shape[0]
    scales = np.empty((k, d))
    volumes = np.zeros(k)
    for j in range(k):
        for c in range(d):
            scales[j, c] = math.exp(icf[j, c])
            volumes[j] += icf[j, c]
    terms = np.empty(k)
    diff, image_bar = np.empty(d), np.empty(d)
    images = np.empty((k, d))
    sums, alphas_bar = np.zeros((k, d)), np.zeros(k)
    scales_bar, icf_bar, means_bar = np.zeros((k, d)), np.zeros(icf.shape), np.zeros((k, d))
    total = 0.0
    for i in range(n):
        top = -np.inf
        for j in range(k):
            image, row = images[j], icf[j]
            for c in range(d):
                diff[c] = x[i, c] - means[j, c]
                image[c] = scales[j, c] * diff[c]
            place = d
            for c in range(d):
                for r in range(c + 1, d):
                    image[r] += row[place] * diff[c]
                    place += 1
            square = 0.0
            for c in range(d):
                square += image[c] * image[c]
            terms[j] = alphas[j] + volumes[j] - 0.5 * square
            top = max(top, terms[j])
        norm = 0.0
        for j in range(k):
            terms[j] = math.exp(terms[j] - top)
            norm += terms[j]
        total += top + math.log(norm)
        for j in range(k):
            share = terms[j] / norm
            alphas_bar[j] += share
            row_bar = icf_bar[j]
            for c in range(d):
                image_bar[c] = -share * images[j, c]
                sums[j, c] += image_bar[c]
            place = d
            for c in range(d):
                factor = x[i, c] - means[j, c]
                scales_bar[j, c] += factor * image_bar[c]
                for r in range(c + 1, d):
                    row_bar[place] += factor * image_bar[r]
                    place += 1
    top = alphas.max()
    norm = 0.0
    for j in range(k):
        norm += math.exp(alphas[j] - top)
    total -= n * (top + math.log(norm))
    for j in range(k):
        volume_bar = alphas_bar[j] - m
        alphas_bar[j] -= n * math.exp(alphas[j] - top) / norm
        square = 0.0
        place = d
        for c in range(d):
            square += scales[j, c] * scales[j, c]
            icf_bar[j, c] = volume_bar + scales[j, c] * (scales_bar[j, c] + gamma * gamma * scales[j, c])
            means_bar[j, c] = -scales[j, c] * sums[j, c]
            for r in range(c + 1, d):
                square += icf[j, place] * icf[j, place]
                means_bar[j, c] -= icf[j, place] * sums[j, r]
                icf_bar[j, place] += gamma * gamma * icf[j, place]
                place += 1
        total += 0.5 * gamma * gamma * square - m * volumes[j]
    return total, (alphas_bar, means_bar, icf_bar)


def bundle_cost(cameras, points, weights, camera_of, point_of, features):
    """One sweep over the observations, in numbers; Rodrigues' formula is transposed by its cross products."""
    cameras_bar, points_bar = np.zeros(cameras.shape), np.zeros(points.shape)
    weights_bar = np.empty(weights.size)
    total = 0.0
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
        u, v = ax / az, ay / az
        square = u * u + v * v
        bend = 1.0 + cam[9] * square + cam[10] * square * square
        scale = cam[6] * bend
        w = weights[i]
        du, dv = cam[7] + scale * u - features[i, 0], cam[8] + scale * v - features[i, 1]
        short = 1.0 - w * w
        total += w * w * (du * du + dv * dv) + short * short

        weights_bar[i] = w * (du * du + dv * dv) - 2.0 * w * short
        u_bar, v_bar = w * w * du, w * w * dv
        scale_bar = u * u_bar + v * v_bar
        bend_bar = cam[6] * scale_bar
        square_bar = bend_bar * (cam[9] + 2.0 * cam[10] * square)
        cam_bar = cameras_bar[camera_of[i]]
        cam_bar[6] += bend * scale_bar
        cam_bar[7] += u_bar
        cam_bar[8] += v_bar
        cam_bar[9] += bend_bar * square
        cam_bar[10] += bend_bar * square * square
        qx = (scale * u_bar + 2.0 * u * square_bar) / az
        qy = (scale * v_bar + 2.0 * v * square_bar) / az
        qz = -(u * qx + v * qy)
        back = kx * qx + ky * qy + kz * qz
        rest = (1.0 - cosine) * back
        px_bar = cosine * qx + sine * (qy * kz - qz * ky) + kx * rest
        py_bar = cosine * qy + sine * (qz * kx - qx * kz) + ky * rest
        pz_bar = cosine * qz + sine * (qx * ky - qy * kx) + kz * rest
        # of the axis: p x q, which is all that is left where nothing turns
        rx, ry, rz = py * qz - pz * qy, pz * qx - px * qz, px * qy - py * qx
        if turned:
            near = 1.0 - cosine
            rx = sine * rx + near * (along * qx + back * px)
            ry = sine * ry + near * (along * qy + back * py)
            rz = sine * rz + near * (along * qz + back * pz)
            angle_bar = cosine * (tx * qx + ty * qy + tz * qz) - sine * (px * qx + py * qy + pz * qz - along * back)
            angle_bar -= (kx * rx + ky * ry + kz * rz) * inverse
            rx, ry, rz = rx * inverse + kx * angle_bar, ry * inverse + ky * angle_bar, rz * inverse + kz * angle_bar
        cam_bar[0] += rx
        cam_bar[1] += ry
        cam_bar[2] += rz
        cam_bar[3] -= px_bar
        cam_bar[4] -= py_bar
        cam_bar[5] -= pz_bar
        point_bar = points_bar[point_of[i]]
        point_bar[0] += px_bar
        point_bar[1] += py_bar
        point_bar[2] += pz_bar
    return 0.5 * total, (cameras_bar, points_bar, weights_bar)


def lstm_loss(main, extra, state, sequence):
    """The gates are kept with what they were computed from, one row per character and layer."""
    layers, width = state.shape[0], sequence.shape[1]
    steps = sequence.shape[0] - 1
    hiddens, cells = np.empty((steps + 1, layers, width)), np.empty((steps + 1, layers, width))
    gates = np.empty((steps, layers, 5, width))
    outputs = np.empty((steps, width))
    hiddens[0], cells[0] = state[:, 0], state[:, 1]
    norms = np.empty(steps)
    signal = np.empty(width)
    total = 0.0
    for t in range(steps):
        for b in range(width):
            signal[b] = sequence[t, b] * extra[0, b]
        for layer in range(layers):
            weight, bias, gate = main[layer, 0], main[layer, 1], gates[t, layer]
            before, cell = hiddens[t, layer], cells[t, layer]
            for b in range(width):
                gate[0, b] = 1.0 / (1.0 + math.exp(-(signal[b] * weight[0, b] + bias[0, b])))
                gate[1, b] = 1.0 / (1.0 + math.exp(-(before[b] * weight[1, b] + bias[1, b])))
                gate[2, b] = 1.0 / (1.0 + math.exp(-(signal[b] * weight[2, b] + bias[2, b])))
                gate[3, b] = math.tanh(before[b] * weight[3, b] + bias[3, b])
                cells[t + 1, layer, b] = cell[b] * gate[0, b] + gate[1, b] * gate[3, b]
                gate[4, b] = math.tanh(cells[t + 1, layer, b])
                signal[b] = gate[2, b] * gate[4, b]
                hiddens[t + 1, layer, b] = signal[b]
        norm = 2.0
        for b in range(width):
            output = signal[b] * extra[1, b] + extra[2, b]
            outputs[t, b] = math.exp(output)
            norm += outputs[t, b]
            total += sequence[t + 1, b] * output
        norms[t] = norm
        for b in range(width):
            total -= sequence[t + 1, b] * math.log(norm)
    seed = -1.0 / (steps * width)
    main_bar, extra_bar = np.zeros(main.shape), np.zeros(extra.shape)
    hidden_bar, cell_bar, signal_bar = np.zeros((layers, width)), np.zeros((layers, width)), np.empty(width)
    for t in range(steps - 1, -1, -1):
        mass = 0.0
        for b in range(width):
            mass += sequence[t + 1, b]
        for b in range(width):
            output_bar = seed * (sequence[t + 1, b] - mass * outputs[t, b] / norms[t])
            extra_bar[1, b] += output_bar * hiddens[t + 1, layers - 1, b]
            extra_bar[2, b] += output_bar
            signal_bar[b] = output_bar * extra[1, b]
        for layer in range(layers - 1, -1, -1):
            weight, gate = main[layer, 0], gates[t, layer]
            weight_bar, bias_bar = main_bar[layer, 0], main_bar[layer, 1]
            before, cell = hiddens[t, layer], cells[t, layer]
            for b in range(width):
                forget, ingate, outgate, change, bent = gate[0, b], gate[1, b], gate[2, b], gate[3, b], gate[4, b]
                signal = hiddens[t + 1, layer - 1, b] if layer > 0 else sequence[t, b] * extra[0, b]
                out_bar = signal_bar[b] + hidden_bar[layer, b]
                inner = cell_bar[layer, b] + out_bar * outgate * (1.0 - bent * bent)
                of_forget = inner * cell[b] * forget * (1.0 - forget)
                of_in = inner * change * ingate * (1.0 - ingate)
                of_out = out_bar * bent * outgate * (1.0 - outgate)
                of_change = inner * ingate * (1.0 - change * change)
                bias_bar[0, b] += of_forget
                bias_bar[1, b] += of_in
                bias_bar[2, b] += of_out
                bias_bar[3, b] += of_change
                weight_bar[0, b] += of_forget * signal
                weight_bar[1, b] += of_in * before[b]
                weight_bar[2, b] += of_out * signal
                weight_bar[3, b] += of_change * before[b]
                signal_bar[b] = of_forget * weight[0, b] + of_out * weight[2, b]
                hidden_bar[layer, b] = of_in * weight[1, b] + of_change * weight[3, b]
                cell_bar[layer, b] = inner * forget
        for b in range(width):
            extra_bar[0, b] += signal_bar[b] * sequence[t, b]
    return total * seed, (main_bar, extra_bar)
