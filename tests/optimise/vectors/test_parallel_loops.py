"""`parallel=True`: what runs on threads, and that results do not depend on their number."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import tapec
from tapec.backend.jit import load
from tapec.backend.signature import arguments
from tapec.options import Options
from tapec.pipeline import build
from tapec.remarks import Remarks
from tests.oracles import interpreted
from tests.sampling import sampled

RANDOM = np.random.default_rng(5)
LONG = RANDOM.normal(size=9000)
GRID = RANDOM.random((40, 30))
BINS = RANDOM.integers(0, 5, LONG.size)


def weighted(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        s += np.sin(x[i]) * w[0] + np.exp(-x[i] * x[i]) * w[1]
    return s


def scattered(x, k):
    bins = np.zeros(5)
    for i in range(x.shape[0]):
        bins[k[i]] += x[i] * x[i]
    return np.log(1.0 + bins * bins).sum()


def diffusion(u):
    for _ in range(3):
        v = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = u[i, j] + 0.1 * u[i - 1, j] * u[i + 1, j] + 0.05 * u[i, j - 1] * u[i, j + 1]
        u = v
    return (u * u).sum()


def log_sums(a, v):
    out = np.zeros(a.shape[0])
    for i in numba.prange(a.shape[0]):
        top = -np.inf
        for j in range(a.shape[1]):
            t = a[i, j] * v[j]
            if t > top:
                top = t
        z = 0.0
        for j in range(a.shape[1]):
            z += np.exp(a[i, j] * v[j] - top)
        out[i] = top + np.log(z)
    return out.sum()


def stepped(u, n):
    for _ in tapec.checkpointed(range(n), slots=2):
        v = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(u.shape[1]):
                v[i, j] = np.sin(u[i, j]) + 0.1 * u[i - 1, j] * u[i + 1, j]
        u = v
    return (u * u).sum()


def before_the_first(x, k):
    y = np.zeros(x.shape[0])
    for i in range(-k, x.shape[0] - k):
        y[i] = np.sin(x[i]) * x[i]
    for i in range(-k, x.shape[0]):
        if i >= 0:
            y[i] *= x[i]
    return y.sum()


CASES: tuple[tuple[Any, tuple[Any, ...], Any], ...] = (
    (weighted, (LONG, np.array([0.3, 0.7])), (0, 1)),
    (scattered, (LONG, BINS), 0),
    (diffusion, (GRID,), 0),
    (log_sums, (GRID, RANDOM.normal(size=30)), (0, 1)),
    (stepped, (GRID, 5), 0),
    (before_the_first, (LONG, 700), 0),
)


def generated(f: Any, args: tuple[Any, ...], wrt: Any, remarks: Remarks | None = None, **options: Any) -> Any:
    labels = list(f.__code__.co_varnames[: f.__code__.co_argcount])
    types = arguments(tuple(numba.typeof(arg) for arg in args), labels)
    return build(f, types, "value_and_grad", wrt, Options(math="libm", **options), listener=remarks)


def threaded(text: str) -> list[str]:
    """The loops on threads, without lines that are quoted."""
    return [line for line in text.splitlines() if "numba.prange(" in line and not line.lstrip().startswith("#")]


def flat(result: tuple[Any, Any]) -> list[Any]:
    value, gradient = result
    return [value, *(gradient if isinstance(gradient, tuple) else (gradient,))]


@pytest.mark.slow
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize(("f", "args", "wrt"), CASES, ids=lambda one: getattr(one, "__name__", ""))
def test_chunks_add_up(f: Any, args: tuple[Any, ...], wrt: Any, level: int):
    # run as Python, chunk after chunk
    chunked = generated(f, args, wrt, level=level, parallel=True)
    assert threaded(chunked.text)
    plain = generated(f, args, wrt, level=level)
    assert not threaded(plain.text)
    copies = [[np.copy(a) if isinstance(a, np.ndarray) else a for a in args] for _ in range(2)]
    found, expected = flat(load(chunked)(*copies[0])), flat(load(plain)(*copies[1]))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


_COMPARE = """
import numba, numpy as np, tapec
from tests.optimise.vectors.test_parallel_loops import CASES, flat
for f, args, wrt in CASES[:2]:
    derivative = tapec.value_and_grad(f, wrt=wrt, parallel=True)
    results = []
    for threads in (1, 2, 2):
        numba.set_num_threads(threads)
        results.append(flat(derivative(*(np.copy(a) if isinstance(a, np.ndarray) else a for a in args))))
    sequential = flat(tapec.value_and_grad(f, wrt=wrt)(*args)) if f.__name__ == "weighted" else results[0]
    for one, *others, other in zip(*results, sequential):
        assert all(np.array_equal(one, again) for again in others), f.__name__
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
"""


@pytest.mark.slow
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="needs threads")
def test_the_same_bits_on_one_and_two_threads():
    root = Path(tapec.__file__).parent.parent
    environment = {**os.environ, "NUMBA_NUM_THREADS": "2", "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    subprocess.run([sys.executable, "-c", _COMPARE], cwd=root, env=environment, check=True, timeout=600)


def recurrence(x):
    s = x[0]
    for i in range(1, x.shape[0]):
        s = s * x[i] + np.sin(s)
    return s


def unproved(x, k):
    out = np.zeros(x.shape[0])
    for i in numba.prange(x.shape[0]):
        out[k[i]] = x[i] * x[i]
    return (out * out).sum()


def through_views(a):
    s = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        row = s[1:]
        for j in range(row.shape[0]):
            row[j] += a[i, j] * a[i, j]
    return (s * s).sum()


@pytest.mark.parametrize(
    ("f", "args"), [(recurrence, (LONG,)), (unproved, (LONG, BINS))], ids=["recurrence", "unproved"]
)
def test_what_is_not_proved_stays(f: Any, args: tuple[Any, ...]):
    remarks = Remarks()
    program = generated(f, args, 0, remarks, parallel=True)
    kept = [d for d in remarks.all if d.by == "parallel_loops" and d.what == "does not run on threads"]
    assert any("proved" in decision.why for decision in kept)
    # of the source's loop; sums over whole arrays may be on threads
    assert len(threaded(program.text)) < sum(line.lstrip().startswith("for ") for line in program.text.splitlines())
    copies = [np.copy(a) for a in args], [np.copy(a) for a in args]
    found, expected = load(program)(*copies[0]), load(generated(f, args, 0))(*copies[1])
    for one, other in zip(flat(found), flat(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_sums_through_views():
    found = load(generated(through_views, (GRID,), 0, parallel=True))(GRID.copy())
    expected = load(generated(through_views, (GRID,), 0))(GRID.copy())
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-11)


def test_strict_keeps_sums_in_order():
    assert not threaded(generated(weighted, CASES[0][1], 1, parallel=True, strict=True).text)
    program = generated(log_sums, CASES[3][1], 0, parallel=True, strict=True)
    assert threaded(program.text)
    assert "_parts" not in program.text


def test_the_flag():
    text = tapec.emit(weighted, signature="f8[::1], f8[::1]", parallel=True, opt_level=2)
    assert "parallel=True" in text
    assert "parallel=True" not in tapec.emit(weighted, signature="f8[::1], f8[::1]", parallel=True, opt_level=0)


def branching(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > y[i]:
            s += np.sqrt(x[i])
        else:
            s += np.log1p(y[i]) * x[i]
    return s


def test_no_name_is_that_of_a_second_value():
    """Numba calls the values of a variable `t` on threads `t`, `t_1`, `t_2`, and stops at one that is taken."""
    text = tapec.emit(branching, signature="f8[::1], f8[::1]", wrt=(0, 1), parallel=True, opt_level=2)
    names = {name for name in re.findall(r"\b[a-z_]\w*\b", text) if re.search(r"_\d+$", name)}
    assert names and all("_0" in name for name in names)


def shrink(v):
    for k in range(v.shape[0] - 1):
        v = v[1:] * v[:-1]
    return v[0]


def tree(q, v):
    for k in range(v.shape[0] - 1):
        v = q * v[1:] + (1.0 - q) * v[:-1]
    return v[0]


def hist(v):
    n = v.shape[0]
    h = np.zeros((n, n))
    for k in range(n - 1):
        w = v[1:] * v[:-1]
        for i in range(w.shape[0]):
            h[k, i] = w[i]
        v = w
    s = 0.0
    for k in range(n):
        for i in range(n):
            s += h[k, i] * (k + 1) * (i + 2)
    return s


def grow(v):
    n = v.shape[0]
    h = np.zeros((n, 2 * n))
    for k in range(n - 1):
        w = np.empty(v.shape[0] + 1)
        for i in range(v.shape[0]):
            w[i] = v[i] * 1.1
            h[k, i] = v[i]
        w[v.shape[0]] = v[0]
        v = w
    return (h * h).sum() + v.sum()


def cut(v, c):
    n = v.shape[0]
    h = np.zeros((3, n))
    z = v
    if c:
        z = z[1:]
        for i in range(z.shape[0]):
            h[0, i] = z[i] * z[i]
        for i in range(n):
            h[1, i] = v[i]
    for i in range(z.shape[0]):
        h[2, i] = z[i] * v[i]
    s = 0.0
    for i in range(3):
        for j in range(n):
            s += h[i, j] * (i + 1) * (j + 2)
    return s


def swapped(u, w, t):
    h = np.zeros((t, u.shape[0]))
    for k in range(t):
        for i in range(min(u.shape[0], h.shape[1])):
            h[k, i] = u[i] * u[i]
        u, w = w, u
    s = 0.0
    for i in range(t):
        for j in range(h.shape[1]):
            s += h[i, j] * (i + 1) * (j + 2)
    return s


def fewer(x):
    n = x.shape[0]
    m = n
    h = np.zeros((n, n))
    for k in range(n):
        w = np.empty(m)
        for i in range(m):
            w[i] = x[i] * x[k]
        for i in range(m):
            h[k, i] = w[i] * w[i]
        m = m - 1
    s = 0.0
    for i in range(n):
        for j in range(n):
            s += h[i, j] * (i + 1) * (j + 2)
    return s


def joined(v, k):
    h = np.zeros((k, 4 * v.shape[0] * 2**k))
    j = 0
    while j < k:
        for i in range(v.shape[0]):
            h[j, i] = v[i] * v[i]
        v = np.concatenate((v, v)) * 0.5
        j += 1
    return (h * h).sum() + v.sum()


FEW = np.linspace(0.5, 1.5, 4)
# bound to other extents in a loop or a branch; whether loops run on threads even so
REBOUND: tuple[tuple[Any, tuple[Any, ...], Any, bool], ...] = (
    (shrink, (FEW,), 0, False),
    (tree, (0.3, FEW), (0, 1), False),
    (hist, (FEW,), 0, False),
    (grow, (FEW,), 0, False),
    (swapped, (FEW, 2.0 * FEW[:3], 4), (0, 1), False),
    (joined, (FEW, 3), 0, False),
    (cut, (FEW, True), 0, True),
    (cut, (FEW, False), 0, True),
    (fewer, (FEW,), 0, True),
)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("f", "args", "wrt", "level"),
    # loops on threads take seconds to compile: of their programs one is, at both levels
    sampled([(*case[:3], level) for case in REBOUND for level in (2, 1) if level == 2 or case[0] is not cut], 16, 4),
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_arrays_that_change_their_extents(f: Any, args: tuple[Any, ...], wrt: Any, level: Any):
    copies = [[np.copy(a) if isinstance(a, np.ndarray) else a for a in args] for _ in range(2)]
    found = flat(tapec.value_and_grad(f, wrt=wrt, parallel=True, opt_level=level)(*copies[0]))
    with interpreted():
        expected = flat(load(generated(f, args, wrt, level=0))(*copies[1]))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)


@pytest.mark.parametrize(("f", "args", "wrt", "shared"), REBOUND, ids=lambda one: getattr(one, "__name__", ""))
def test_what_names_bound_to_other_extents_keep_from_threads(f: Any, args: tuple[Any, ...], wrt: Any, shared: bool):
    remarks = Remarks()
    program = generated(f, args, wrt, remarks, parallel=True)
    assert bool(threaded(program.text)) == program.options.threads == shared
    told = [d.why for d in remarks.all if d.by == "parallel_loops" and "several extents" in d.why]
    assert bool(told) != shared


def test_text_of_extents_that_change():
    # no flag, with which Numba would compare extents; a size that it cannot follow; no name set again in a branch
    assert "parallel=True" not in tapec.emit(shrink, signature="f8[::1]", parallel=True, opt_level=2)
    assert "tapec_runtime.opaque(" in tapec.emit(fewer, signature="f8[::1]", parallel=True, opt_level=1)
    assert "\n    else:\n        z = v\n" in tapec.emit(cut, signature="f8[::1], b1", parallel=True, opt_level=2)


def obstacles(u, links, obstacles):
    """Rows that a loop takes from an array, in iterations that are run again."""
    points = np.zeros((u.shape[1], 2))
    cost = 0.0
    for _ in range(u.shape[0]):
        y = 0.0
        for i in range(u.shape[1]):
            y += links[i]
            points[i, 1] = y
        for p in points:
            for ox, oy, radius in obstacles:
                d = np.hypot(p[0] - ox, p[1] - oy) - radius
                if d < 0.5:
                    cost += (0.5 - d) ** 2
    return cost


@pytest.mark.slow
def test_with_a_limit_of_memory():
    args = np.ones((2, 3)), np.array([0.4, 0.3, 0.6]), np.arange(12.0).reshape(4, 3) * 0.2
    with interpreted():
        found = flat(tapec.value_and_grad(obstacles, (1, 2), memory="200kB", parallel=True)(*args))
        expected = flat(tapec.value_and_grad(obstacles, (1, 2), opt_level=0)(*args))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def some(x, m, owner):
    """What a branch computes, its adjoint needs in another one."""
    s = 0.0
    for i in range(x.shape[0]):
        y = 0.1 * x[i]
        if owner[i] == i % 3:
            y = x[i] * x[i] / m[i]
        s += np.exp(y)
    return s


def some_of_some(a, w, owner):
    s = 0.0
    for i in range(a.shape[0]):
        u = w[i]
        if owner[i] == i % 3:
            for j in range(a.shape[1]):
                if a[i, j] > 0.3:
                    u = u * a[i, j] + 1.0 / (w[i] + owner[i])
        if u > 0.1:
            s += np.sqrt(u)
    return s


OWNERS = np.arange(40) % 3 * np.array([1, 1, 2, 1] * 10)
BRANCHED = (
    (some, (RANDOM.random(40), 0.5 + RANDOM.random(40), OWNERS)),
    (some_of_some, (GRID, 0.5 + RANDOM.random(40), OWNERS)),
)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(("f", "args"), BRANCHED, ids=lambda one: getattr(one, "__name__", ""))
def test_what_a_branch_alone_sets(f: Any, args: tuple[Any, ...]):
    # Numba computed before the loop what iterations compute of it
    found = flat(tapec.value_and_grad(f, (0, 1), parallel=True)(*args))
    with interpreted():
        expected = flat(tapec.value_and_grad(f, (0, 1), opt_level=0)(*args))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)


def test_what_a_branch_alone_sets_has_a_first_value():
    text = tapec.emit(some, (0, 1), signature="f8[::1], f8[::1], i8[::1]", parallel=True, opt_level=2)
    (name,) = re.findall(r"inverse = 1.0 / (\w+)", text)
    assert re.search(rf"in numba.prange\(chunks\):\n(        \w+ = 0.0\n)*        {name} = 0.0\n", text)
    assert f"{name} = 0.0" not in tapec.emit(some, (0, 1), signature="f8[::1], f8[::1], i8[::1]", opt_level=2)


def neighbours(x, k):
    s = 0.0
    for i in range(k):
        s += x[i] * x[i + 1]
    return s


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="Python checks bounds anyway")
def test_bounds_are_checked_without_threads():
    text = tapec.emit(neighbours, signature="f8[::1], i8", boundscheck=True, parallel=True, opt_level=2)
    assert "boundscheck=True" in text and "parallel=True" not in text and not threaded(text)
    with pytest.raises(IndexError):
        tapec.value_and_grad(neighbours, boundscheck=True, parallel=True)(np.ones(4), 4)


def complex_row(n, z, m):
    m[n % 3] = 0.5 * z / (z * z + 5.0)
    return np.sum(np.abs(m))


def test_versions_with_threads_have_statements_of_their_own():
    z, m = np.array([1.0 + 1.0j, 2.0, 3.0j]), np.full((3, 3), 1.0 + 1.0j)
    with interpreted():
        found, plain = (tapec.grad(complex_row, "z", parallel=threads)(1, z, m.copy()) for threads in (True, False))
    np.testing.assert_allclose(found, plain, rtol=1e-12)
