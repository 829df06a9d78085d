"""Batches: which examples are proved to be independent of one another, and what their Jacobians are then."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tapec import GradientTape, function
from tapec.tape.derivatives import block_derivative
from tests.sampling import sampled

B, N = 4, 2
_rng = np.random.default_rng(0)
X = _rng.normal(size=(B, N))
W, V, C = _rng.normal(size=(N, 3)), _rng.normal(size=(3, 3)), _rng.normal(size=3)
T = _rng.normal(size=(B, N))
S = W[:, :2] + 3.0 * np.eye(2)


def dense(x):
    return np.tanh(np.tanh(x @ W + C) @ V - C)


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def softmax_of_columns(x):
    e = np.exp(x.T - np.max(x.T, axis=0))
    return (e / np.sum(e, axis=0)).T


def stacked(x):
    return np.stack((x[:, 0] * x[:, 1], x[:, 1] ** 2), axis=1)


def row_by_row(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = x[i] * np.sum(x[i])
    return out


def rows_of_a_comprehension(x):
    return np.stack([np.sin(row) * np.sum(row) for row in x])


def numbers_of_a_comprehension(x):
    return np.array([[np.sum(row), row[0] * row[1]] for row in x])


def last_row_first(x):
    y = np.zeros_like(x)
    for i in range(x.shape[0] - 1, -1, -1):
        y[i] = x[i] ** 2
    return y


def layer_norm(x):
    return (x - np.mean(x, axis=1, keepdims=True)) / np.sqrt(np.var(x, axis=1, keepdims=True) + 1e-3)


def reshaped(x):
    return np.sin(x).reshape(x.shape[0], 2, 1)


def recurrent(x):
    h = np.zeros((x.shape[0], 3))
    for _ in range(4):
        h = np.tanh(x @ W + h @ V)
    return h


def iterated(x):
    y = np.ones((x.shape[0], 1))
    for i in range(x.shape[0]):
        z, r = x[i, 0] ** 2 + 1.0, 1.0
        while abs(r * r - z) > 1e-12:
            r = 0.5 * (r + z / r)
        y[i, 0] = r
    return y


def in_place(x):
    y = x.copy()
    y[:, 0] += y[:, 1]
    y *= 2.0
    return y


def solved(x):
    return np.linalg.solve(S, x.T).T


def sorted_rows(x):
    return np.sort(x, axis=1)


def products_of_rows(x):
    return x[:, :, None] * x[:, None, :]


def itself(x):
    return x


def branches(x):
    y = np.where(x > 0.0, x * 2.0, x * x)
    if np.sum(x) > 100.0:
        y = y + 1.0
    return y


def weighed_by_a_count(x):
    # a number of elements has no derivative
    return x * np.sum(x > 0.0)


def swapped_buffers(x):
    new, old = np.zeros_like(x), x.copy()
    for _ in range(3):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                new[i, j] = np.sin(old[i, j]) + old[i, 0]
        new, old = old, new
    return old * 1.0


def with_other_arrays(x):
    return np.where(T > x, x, np.sin(x)) + T


INDEPENDENT = [
    with_other_arrays, dense, softmax, softmax_of_columns, stacked, row_by_row, rows_of_a_comprehension,
    numbers_of_a_comprehension, last_row_first, layer_norm, reshaped, recurrent, iterated, in_place, solved,
    sorted_rows, products_of_rows, itself, branches, weighed_by_a_count, swapped_buffers,
]  # fmt: skip


def with_the_first(x):
    return np.stack((x[:, 0] * x[:, 1], x[:, 0] * x[0, 0]), axis=1)


def batch_norm(x):
    return (x - np.mean(x, axis=0)) / np.std(x, axis=0)


def recurrence(x):
    y = x.copy()
    for i in range(1, x.shape[0]):
        y[i] = x[i] * y[i - 1]
    return y


def flipped(x):
    return x[::-1] * 2.0 + x


def permuted(x):
    return x[np.array([1, 0, 2, 3])] * 2.0


def running_sum(x):
    y, s = np.zeros_like(x), 0.0
    for i in range(x.shape[0]):
        s = s + x[i, 0]
        y[i, 0] = s
    return y


def last_one_kept(x):
    y, kept = np.zeros_like(x), np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        y[i] = kept * x[i]
        kept = x[i] * 1.0
    return y


def left_in_a_buffer(x):
    y, kept = np.zeros_like(x), np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        y[i] = kept * x[i]
        kept[:] = x[i]
    return y


def left_in_a_view(x):
    y, kept = np.zeros_like(x), np.zeros((2, x.shape[1]))
    for i in range(x.shape[0]):
        row = kept[i % 2]
        y[i] = row * x[i]
        row[:] = x[i]
    return y


def some_rows(x):
    y = np.zeros_like(x)
    for i in range(x.shape[0] - 1):
        y[i + 1] = x[i]
    return y


def gram(x):
    return (x @ x.T) @ x


def rows_swapped(x):
    y = x.copy()
    y[0] += y[1]
    return y


def turned(x):
    return np.concatenate((x[1:], x[:1]), axis=0)


def summed_below(x):
    return np.cumsum(x, axis=0)


def from_the_end(x):
    y = np.zeros_like(x)
    for i in range(-1, x.shape[0] - 1):
        y[i] = x[i + 1]
    return y


def reshaped_across(x):
    return x.T.copy().reshape(x.shape[0], 2)


def one_row_repeated(x):
    return x[:1] + T


def chosen_by_a_branch(x):
    y = x
    if np.sum(x) < 100.0:
        y = x[::-1]
    return y * 2.0


def weighed_by_all(x):
    return x * np.sum(x)


def kept_after_its_loop(x):
    t = 0.0
    for i in range(x.shape[0]):
        t = x[i, 0] * 2.0
    return x * t


DEPENDENT = [
    with_the_first, batch_norm, recurrence, flipped, permuted, running_sum, last_one_kept, left_in_a_buffer,
    left_in_a_view, some_rows, gram, rows_swapped, turned, summed_below, from_the_end, reshaped_across,
    one_row_repeated, chosen_by_a_branch, weighed_by_all, kept_after_its_loop,
]  # fmt: skip


def jacobians(f, x, level=1):
    # the proof is about the program before the passes for speed
    with GradientTape(persistent=True, jit=False, opt_level=level) as tape:
        tape.watch(x)
        y = f(x)
    return tape.batch_jacobian(y, x), tape.jacobian(y, x)


def diagonal_blocks(full):
    """The blocks of each example, and whether all the others are zero."""
    rank = full.ndim - X.ndim
    places = [(k, *[slice(None)] * (rank - 1), k) for k in range(len(full))]
    rest = full.copy()
    for place in places:
        rest[place] = 0.0
    return np.stack([full[place] for place in places]), not rest.any()


@pytest.fixture
def proofs(monkeypatch):
    """What the analysis said, one after the other."""
    found, own = [], block_derivative.independent_examples

    def noted(*args):
        found.append(own(*args))
        return found[-1]

    monkeypatch.setattr(block_derivative, "independent_examples", noted)
    return found


@pytest.mark.parametrize("f", sampled(INDEPENDENT + DEPENDENT, 16), ids=lambda f: f.__name__)
def test_examples(f, proofs):
    found, full = jacobians(f, X.copy(), level=1 if (INDEPENDENT + DEPENDENT).index(f) % 8 else 2)
    wanted, apart = diagonal_blocks(full)
    # of the program over whole arrays, and of the fast one where that cannot be
    assert set(proofs) == {f in INDEPENDENT} == {apart}
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def in_a_compiled_function(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = softmax(x)
    return tape.batch_jacobian(y, x)


@pytest.mark.slow
def test_a_compiled_function(proofs):
    found = function(in_a_compiled_function)(X.copy())
    np.testing.assert_allclose(found, diagonal_blocks(jacobians(softmax, X.copy())[1])[0], rtol=1e-13)
    assert proofs[0]


@pytest.mark.slow
def test_rows_and_columns(proofs):
    # few results: by rows; few sources: by columns
    few_results, few_sources = lambda x: x @ V[:, :1] * x[:, :1], lambda x: np.sin(x @ V[:1])
    for f, x in ((few_results, _rng.normal(size=(B, 3))), (few_sources, X[:, :1])):
        found, full = jacobians(f, x.copy())
        np.testing.assert_allclose(found, diagonal_blocks(full)[0], rtol=1e-12)
    assert all(proofs)


# random programs: steps that keep the shape of a batch, some of which mix examples

STEPS = (
    "y = np.sin(y)", "y = y * x", "y = y @ S", "y = y + np.sum(y, axis=1, keepdims=True)", "y = y.T.copy().T",
    "y = y - np.mean(y, axis=0)", "y = y[::-1]", "z[:, 1] = y[:, 0]", "y = y + z", "y, z = z, y", "z[0] = y[1]",
    "for i in range(4):\n        z[i] = y[i] * np.sum(z[i])", "for i in range(3):\n        z[i + 1] += y[i]",
    "for j in range(2):\n        z[:, j] *= y[:, 1 - j]", "y = np.concatenate((y[:, 1:], z[:, :1]), axis=1)",
    "t = z[0] if s > 100.0 else y[1]\n    y = y + t", "s = s + y[0, 0]", "y = y * s",
    "for i in range(4):\n        t = y[i] * 2.0\n        z[i] = t\n        y = y + 0.0", "z = y.reshape(4, 2) * 1.0",
    "for i in range(4):\n        row = z[i]\n        row += y[i]", "y = np.where(z > y, y, z)", "z = y.copy()",
    "for i in range(4):\n        s = s * y[i, 0] + 1.0\n        z[i, 0] = s", "z = np.maximum(y, z)",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_random_steps(seed, proofs, tmp_path):
    rng = random.Random(seed)
    lines = [rng.choice(STEPS) for _ in range(rng.randint(2, 7))]
    body = "\n    ".join(["y, z, s = x * 1.0, np.zeros((4, 2)), 1.0", *lines, "return y * z + y"])
    source = f"def program(x):\n    {body}\n"
    path = tmp_path / "program.py"
    path.write_text(source)
    namespace = {"np": np, "S": S}
    exec(compile(source, str(path), "exec"), namespace)
    found, full = jacobians(namespace["program"], X.copy())
    wanted, apart = diagonal_blocks(full)
    assert apart or not proofs[0], source
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
