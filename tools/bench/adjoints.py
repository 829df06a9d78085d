"""Adjoints written by hand, as an expert would: the yardstick for generated ones.

Each returns the value and the gradients with respect to the sources that `programs` names.
"""

from __future__ import annotations

import math

import numpy as np


def rosenbrock(x):
    """Independent terms: value and gradient in one sweep."""
    n = x.shape[0]
    x_bar = np.zeros(n)
    total = 0.0
    for i in range(n - 1):
        valley = x[i + 1] - x[i] * x[i]
        slope = 1.0 - x[i]
        total += 100.0 * valley * valley + slope * slope
        x_bar[i + 1] += 200.0 * valley
        x_bar[i] += -400.0 * valley * x[i] - 2.0 * slope
    return total, (x_bar,)


def logistic_loops(w, b, x, y, ridge):
    """One sweep over the rows; a row's residual is all that its gradient needs."""
    n, d = x.shape
    w_bar = np.zeros(d)
    b_bar = 0.0
    loss = 0.0
    for i in range(n):
        z = b
        for j in range(d):
            z += w[j] * x[i, j]
        sign = 1.0 if y[i] == 1 else -1.0
        m = sign * z
        if m > 0.0:
            e = math.exp(-m)
            loss += math.log1p(e)
            z_bar = -sign * e / (1.0 + e)
        else:
            e = math.exp(m)
            loss += math.log1p(e) - m
            z_bar = -sign / (1.0 + e)
        b_bar += z_bar
        for j in range(d):
            w_bar[j] += z_bar * x[i, j]
    penalty = 0.0
    for j in range(d):
        penalty += w[j] * w[j]
        w_bar[j] = w_bar[j] / n + ridge * w[j]
    return loss / n + 0.5 * ridge * penalty, (w_bar, b_bar / n)


def mixture_loops(x, logits, means, log_scales):
    """One sweep over the rows with the components' shares of each; the normaliser at the end."""
    n, d = x.shape
    k = means.shape[0]
    norm = 0.0
    precision = np.empty(k)
    for j in range(k):
        norm += math.exp(logits[j])
        precision[j] = math.exp(-2.0 * log_scales[j])
    terms = np.empty(k)
    dists = np.empty(k)
    logits_bar = np.zeros(k)
    means_bar = np.zeros((k, d))
    scales_bar = np.zeros(k)
    loss = 0.0
    for i in range(n):
        top = -np.inf
        for j in range(k):
            dist = 0.0
            for c in range(d):
                diff = x[i, c] - means[j, c]
                dist += diff * diff
            dists[j] = dist
            terms[j] = logits[j] - 0.5 * dist * precision[j] - d * log_scales[j]
            if terms[j] > top:
                top = terms[j]
        total = 0.0
        for j in range(k):
            terms[j] = math.exp(terms[j] - top)
            total += terms[j]
        loss -= top + math.log(total) - math.log(norm)
        for j in range(k):
            share = terms[j] / total
            logits_bar[j] -= share
            scales_bar[j] -= share * (dists[j] * precision[j] - d)
            weight = share * precision[j]
            for c in range(d):
                means_bar[j, c] -= weight * (x[i, c] - means[j, c])
    for j in range(k):
        logits_bar[j] += n * math.exp(logits[j]) / norm
    return loss, (logits_bar, means_bar, scales_bar)


def softmax_cross_entropy(logits, labels):
    """One sweep over the rows, the exponentials kept where the gradient will stand."""
    n, k = logits.shape
    logits_bar = np.empty((n, k))
    loss = 0.0
    for i in range(n):
        top = -np.inf
        for j in range(k):
            top = max(top, logits[i, j])
        total = 0.0
        for j in range(k):
            e = math.exp(logits[i, j] - top)
            logits_bar[i, j] = e
            total += e
        loss += math.log(total) + top - logits[i, labels[i]]
        factor = 1.0 / (total * n)
        for j in range(k):
            logits_bar[i, j] *= factor
        logits_bar[i, labels[i]] -= 1.0 / n
    return loss / n, (logits_bar,)


def heat_1d(u0, kappa, steps):
    """The states are kept, one row per step; the transposed stencil gathers, for at least three points.

    The first and last point only receive, so their adjoints are scalars and the array's ends stay zero.
    """
    n = u0.shape[0]
    states = np.empty((steps + 1, n))
    for i in range(n):
        states[0, i] = u0[i]
    for s in range(steps):
        u, new = states[s], states[s + 1]
        new[0] = u[0]
        new[n - 1] = u[n - 1]
        for i in range(1, n - 1):
            new[i] = u[i] + kappa * (u[i - 1] - 2.0 * u[i] + u[i + 1])
    u = states[steps]
    total = 0.0
    bar, other = np.zeros(n), np.zeros(n)
    for i in range(n):
        total += u[i] * u[i]
        bar[i] = 2.0 * u[i]
    first, last = bar[0], bar[n - 1]
    bar[0] = bar[n - 1] = 0.0
    kappa_bar = 0.0
    for s in range(steps - 1, -1, -1):
        u = states[s]
        first += kappa * bar[1]
        last += kappa * bar[n - 2]
        for i in range(1, n - 1):
            kappa_bar += bar[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
            other[i] = bar[i] + kappa * (bar[i - 1] - 2.0 * bar[i] + bar[i + 1])
        bar, other = other, bar
    bar[0], bar[n - 1] = first, last
    return total, (bar, kappa_bar)


def wave_equation(u0, speed, steps):
    """The differences of each state's points are kept; the transposed stencil gathers, for at least three points.

    What a step leaves for the adjoint of the state before the last one is the last one's, negated: `other` holds it
    with the sign that it had, but for the ends, which a step does not change.
    """
    n = u0.shape[0]
    now, old = u0.copy(), u0.copy()
    kept = np.empty((steps, n))
    squared = speed**2
    for s in range(steps):
        row = kept[s]
        for i in range(1, n - 1):
            row[i] = now[i + 1] - 2.0 * now[i] + now[i - 1]
            old[i] = 2.0 * now[i] - old[i] + squared[i] * row[i]
        now, old = old, now
    total = 0.0
    bar, other, weighed = np.empty(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        total += now[i] * now[i]
        bar[i] = 2.0 * now[i]
    speed_bar = np.zeros(speed.shape[0])
    for s in range(steps - 1, -1, -1):
        row = kept[s]
        for i in range(1, n - 1):
            weighed[i] = squared[i] * bar[i]
            speed_bar[i] += row[i] * bar[i]
        other[0] += weighed[1]
        other[n - 1] += weighed[n - 2]
        for i in range(1, n - 1):
            other[i] = weighed[i - 1] + weighed[i + 1] + 2.0 * (bar[i] - weighed[i]) - other[i]
        bar, other = other, bar
    for i in range(1, n - 1):
        bar[i] -= other[i]
        speed_bar[i] *= 2.0 * speed[i]
    bar[0] += other[0]
    bar[n - 1] += other[n - 1]
    return total, (bar, speed_bar)


def sir_epidemic(rates, recovery, infected, days):
    """The path is kept in two arrays; the sweep back starts at the day of the peak."""
    path_s = np.empty(days + 1)
    path_i = np.empty(days + 1)
    path_s[0], path_i[0] = 1.0 - infected, infected
    removed = 0.0
    peak = infected
    day_of_peak = 0
    for day in range(days):
        s, i = path_s[day], path_i[day]
        new = rates[day // 7] * s * i
        gone = recovery * i
        path_s[day + 1] = s - new
        path_i[day + 1] = i + new - gone
        removed += gone
        if path_i[day + 1] > peak:
            peak = path_i[day + 1]
            day_of_peak = day + 1
    rates_bar = np.zeros(rates.shape[0])
    recovery_bar = 0.0
    s_bar, i_bar = 0.0, 0.0
    for day in range(days - 1, -1, -1):
        if day + 1 == day_of_peak:
            i_bar += 1.0
        s, i, beta = path_s[day], path_i[day], rates[day // 7]
        new_bar = i_bar - s_bar
        gone_bar = 0.1 - i_bar
        rates_bar[day // 7] += new_bar * s * i
        recovery_bar += gone_bar * i
        s_bar += new_bar * beta * i
        i_bar += new_bar * beta * s + gone_bar * recovery
    if day_of_peak == 0:
        i_bar += 1.0
    return peak + 0.1 * removed, (rates_bar, recovery_bar, i_bar - s_bar)
