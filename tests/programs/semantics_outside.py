"""Lists, dicts, ranges and partial functions that a module holds: constants."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

import numpy as np

from tests.programs.semantics import collector

CASES, case = collector()


@dataclass
class Link:
    axis: str
    offset: np.ndarray

    def moved(self, x):
        return x + self.offset[0] if self.axis == "x" else x * self.offset[1]


A = np.array([0.3, -0.7, 1.2])
WEIGHTS = [0.5, -1.0, 2.0]
GRID = [[1.0, 2.0], [3.0, 4.0]]
TABLE = [0.1 * k * k for k in range(40)]
PLACES = [(k * 7) % 5 for k in range(12)]
EDGES = [(0, 1, 0.5), (1, 2, 1.5), (2, 0, -0.3)]
PIECES = [np.array([1.0, 2.0]), np.array([0.5, -0.5, 3.0])]
ARM = [Link("x", np.array([0.3, 2.0])), Link("y", np.array([0.1, 1.5]))]
SCALES = {"low": 0.5, "high": 2.0}
BY_NUMBER = {0: 1.5, 2: -0.5}
STAGES = [np.sin, lambda x: x * x, np.tanh]
EVERY_OTHER = range(0, 3, 2)
scaled = functools.partial(lambda factor, x, shift=0.0: factor * x * x + shift, 3.0, shift=WEIGHTS[0])


@case(A)
def loops_over_lists(a):
    total = 0.0
    for weight, x in zip(WEIGHTS, a):
        total += weight * x * x
    for i, j, weight in EDGES:
        total += weight * a[i] * a[j]
    for row in GRID:
        for k, value in enumerate(row):
            total += value * a[k] ** 3
    return total


@case(A, 2)
def subscripts_that_only_the_run_knows(a, n):
    total = 0.0
    for i in range(n):
        total += WEIGHTS[i] * a[i] + GRID[i][1 - i] * a[1 - i] ** 2
    return total


@case(A)
def long_lists_of_numbers(a):
    total = TABLE[-1] * a[0] + len(TABLE)
    for i in range(len(PLACES)):
        total += TABLE[PLACES[i]] * a[i % 3]
    for value in TABLE:
        total += np.sin(value * a[1])
    joined = TABLE + [a[2]]
    if 2 in PLACES and PLACES.count(2) == 3:
        total += a[0] * PLACES.index(2) * joined[-1]
    return total + sum(TABLE) * a[2] + max(TABLE)


@case(A)
def arrays_of_lists(a):
    return np.dot(WEIGHTS, a) + (np.array(GRID) @ a[:2]).sum() + np.interp(a[0], WEIGHTS[::2], GRID[0])


@case(A)
def arrays_and_objects_in_lists(a):
    total = sum([np.sum(a[0] * piece) for piece in PIECES])
    for link in ARM:
        total += link.moved(a[1]) * link.offset[0]
    return total


@case(A)
def operators_and_built_in_functions(a):
    total = sum(WEIGHTS + [a[0]]) + sum(sorted(WEIGHTS)[1:]) * a[1]
    first, *rest = WEIGHTS
    if 2.0 in WEIGHTS and "low" in SCALES:
        total += first * a[2] + rest[-1] * functools.reduce(operator.mul, WEIGHTS, a[1])
    return total + sum(map(lambda w: w * a[0], reversed(WEIGHTS)))


@case(A)
def copies_may_change(a):
    kept = list(WEIGHTS)
    kept.append(a[0])
    kept[0] = a[1] * a[1]
    scales = dict(SCALES)
    scales["high"] = a[2]
    return sum(kept) * scales["high"] + sum(WEIGHTS) + SCALES["high"] * a[1]


@case(A)
def dicts_of_constants(a):
    total = sum([SCALES[key] * a[0] for key in SCALES]) + SCALES.get("none", 3.0) * a[1]
    for key, value in BY_NUMBER.items():
        total += a[key] * value
    for value in SCALES.values():
        total += value * a[1] ** 2
    return total * len(SCALES)


@case(A, 1)
@case(A, 5)
def met_first_in_a_branch_or_loop(a, n):
    total = 0.0
    if n > 2:
        total += WEIGHTS[n - 5] * a[0] + TABLE[n] * a[1]
    else:
        total -= SCALES["low"] * a[0]
    for i in range(n):
        total += WEIGHTS[i % 3] * a[i % 3] + TABLE[i]
    return total + WEIGHTS[0] * a[2] ** 2


@case(A)
def functions_in_lists(a):
    x = a[0]
    for stage in STAGES:
        x = stage(x)
    return x + STAGES[-1](a[1])


@case(A)
def ranges_of_a_module(a):
    total = 0.0
    for i in EVERY_OTHER:
        total += a[i] ** 2
    return total


@case(A)
def partial_functions(a):
    power = functools.partial(pow, 1.0 + a[1] ** 2)
    shifted = functools.partial(scaled.func, a[0], shift=a[1])
    total = 0.0
    for i in range(3):
        total += shifted(a[i], shift=float(i)) * shifted(a[i]) * power(i)
    return scaled(a[0]) + scaled(a[1], shift=a[2]) + total


@case(A)
@case(A[:2])
@case(A[:0])
def functions_beside_an_array(a):
    total, last = 0.0, 0.0
    for stage, x in zip(STAGES, a):
        total = total * 0.5 + stage(x)
    for k, (name, x) in enumerate(zip(("low", "high", "low"), a[1:])):
        if x < 0:
            continue
        last = SCALES[name] * x * (k + 1)
        total += last
    return total + last + sum([stage(x) for stage, x in zip(STAGES, a)])


@case(A)
def objects_beside_an_array(a):
    x = a[2]
    for link, angle in zip(ARM, a):
        x = link.moved(x) * np.sin(angle)
    return x


class Ladder:
    def __init__(self, rungs):
        self.rungs = rungs

    def __getitem__(self, k):
        return 2.0 if k is None else self.rungs[k] + 3.0

    def __len__(self):
        return len(self.rungs)


LADDER, MIDDLE, ODD = Ladder(np.array([1.0, 2.5])), np.s_[1:3], slice(1, None, 2)


@case(np.array([1.5, -0.4, 0.3, 0.9]))
def subscripts_of_objects_outside(x):
    rest = slice(2, len(x))
    x[rest] *= LADDER[0]
    return x[0] * LADDER[int(x[0])] + len(LADDER) * x[MIDDLE].sum() + x[ODD].prod() + x[np.s_[::2]][0]


TREE = ("+", ("*", "x0", "x1"), ("/", "x2", 3.0))


@case(np.array([1.5, -0.4, 0.3]))
def known_text(x, axes="xyz"):
    def value(tree):
        if isinstance(tree, str):
            return x[int(tree[1:])]
        if not isinstance(tree, tuple):
            return tree
        first, second = value(tree[1]), value(tree[2])
        return first + second if tree[0] == "+" else first * second if tree[0] == "*" else first / second

    total = value(TREE)
    for k, axis in enumerate(axes[::-1]):
        total += x[k] * (ord(axis) - ord("w")) if axis in axes[:2] else x[k]
    return total * len(axes[1:])
