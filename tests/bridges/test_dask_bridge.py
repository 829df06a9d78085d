"""`tapec.dask`: sums over chunks on threads, and on clusters of processes that lose workers."""

from __future__ import annotations

import doctest
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

import cloudpickle  # noqa: E402  Dask needs it
import dask.array as da  # noqa: E402  after the library is known to be there

import tapec.dask  # noqa: E402
from tapec.errors import UnsupportedFunction, UsageError  # noqa: E402

pytestmark = pytest.mark.slow


def loss(w, x, y):
    total = 0.0
    for i in range(x.shape[0]):
        r = -y[i]
        for j in range(x.shape[1]):
            r += np.sin(x[i, j] * w[j])
        total += r * r
    return total


def slow_loss(w, x):
    return np.sum((pause(x) * w) ** 2)


def _pause(x):
    time.sleep(0.3)
    return x * 1.0


pause = tapec.custom_gradient(lambda x: (paused(x), lambda dy: dy))
paused = tapec.opaque(_pause, "f8[:]")


@pytest.fixture
def data(rng):
    return rng.normal(size=3), rng.normal(size=(100, 3)), rng.normal(size=100)


def chunked(x, y, rows=13):
    return da.from_array(x, chunks=(rows, -1)), da.from_array(y, chunks=rows)


@pytest.fixture(scope="module")
def four_workers():
    with distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster


def test_a_sum_over_chunks(data):
    w, x, y = data
    value, gradient = tapec.dask.value_and_grad(loss)(w, *chunked(x, y))
    plain = tapec.value_and_grad(loss)(w, x, y)
    np.testing.assert_allclose(value, plain[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, plain[1], rtol=1e-12)


# workers optimise
@pytest.mark.optimised
def test_one_two_and_four_workers_give_the_same_bits(data, four_workers):
    w, x, y = data
    f = tapec.dask.value_and_grad(loss)
    found = [f(w, *chunked(x, y))]
    with distributed.Client(four_workers):
        found.append(f(w, *chunked(x, y)))
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        found.append(f(w, *chunked(x, y)))
    for value, gradient in found[1:]:
        assert value == found[0][0]
        np.testing.assert_array_equal(gradient, found[0][1])


def test_dicts_lists_and_several_sources(data):
    w, x, y = data

    def model(p, scale, x, y):
        return np.sum((scale * (x @ p["w"][0]) + p["b"] - y) ** 2)

    p = {"w": [w], "b": 0.5, "mode": None}
    f = tapec.dask.value_and_grad(model, wrt=("p", "scale"))
    value, (p_bar, scale_bar) = f(p, 2.0, *chunked(x, y))
    plain, (p_plain, scale_plain) = tapec.value_and_grad(model, wrt=("p", "scale"))(p, 2.0, x, y)
    np.testing.assert_allclose([value, p_bar["b"], scale_bar], [plain, p_plain["b"], scale_plain], rtol=1e-12)
    np.testing.assert_allclose(p_bar["w"][0], p_plain["w"][0], rtol=1e-12)
    assert isinstance(p_bar["w"], list) and p_bar["mode"] is None


def test_arguments_by_name_and_extents_that_are_not_known(data):
    w, x, y = data
    xs, ys = chunked(x, y)
    value, _ = tapec.dask.value_and_grad(loss, wrt="w")(x=xs[ys > 0], y=ys[ys > 0], w=w)
    np.testing.assert_allclose(value, tapec.value_and_grad(loss)(w, x[y > 0], y[y > 0])[0], rtol=1e-12)


def test_an_array_that_every_chunk_needs_whole(data):
    w, x, y = data
    whole = tapec.dask.value_and_grad(lambda w, x, y: np.sum(x @ w) * np.sum(y))(w, chunked(x, y)[0], dask.delayed(y))
    np.testing.assert_allclose(whole[0], np.sum(x @ w) * np.sum(y), rtol=1e-12)


def test_a_process_keeps_what_it_has_unpickled(data):
    w, x, y = data
    f = tapec.dask.value_and_grad(lambda p, x, y: np.sum((x @ p["w"] - y) ** 2))
    sent = [cloudpickle.dumps(tapec.dask._Kept(f.derivative)) for _ in range(2)]
    one, other = map(cloudpickle.loads, sent)
    assert one.derivative is other.derivative
    np.testing.assert_allclose(one({"w": w}, x, y)[0], np.sum((x @ w - y) ** 2), rtol=1e-12)


def test_single_precision(data):
    w, x, y = (one.astype("f4") for one in data)
    _, gradient = tapec.dask.value_and_grad(loss)(w, *chunked(x, y))
    assert gradient.dtype == np.float32


def test_what_is_refused(data):
    w, x, y = data
    f = tapec.dask.value_and_grad(loss)
    xs, ys = chunked(x, y)
    with pytest.raises(ValueError, match="x and y have different chunks"):
        f(w, xs, ys.rechunk(20))
    with pytest.raises(ValueError, match=r"y has as many rows as x, .*`da.from_array\(y, chunks=x.chunks\[0\]\)`"):
        f(w, xs, y)
    with pytest.raises(ValueError, match="along other axes"):
        f(w, xs.rechunk((13, 1)), ys)
    with pytest.raises(UsageError, match="no argument is a Dask array"):
        f(w, x, y)
    with pytest.raises(UsageError, match="by x: it is a Dask array"):
        tapec.dask.value_and_grad(loss, wrt="x")(w, xs, ys)


def test_errors_of_workers_are_not_hidden(data, four_workers):
    w, x, y = data

    def fails(w, x, y):
        if x.shape[0] < 13:
            raise ValueError("a small chunk")
        return np.sum(x @ w)

    with distributed.Client(four_workers):
        with pytest.raises(UnsupportedFunction, match="busday_count"):
            tapec.dask.value_and_grad(lambda w, x, y: np.sum(np.busday_count(w, x)))(w, *chunked(x, y))
        with pytest.raises(ValueError, match="a small chunk"):
            tapec.dask.value_and_grad(fails)(w, *chunked(x, y))


def test_a_worker_is_killed(four_workers):
    x = np.arange(24.0)
    with distributed.Client(four_workers) as client:
        victim = next(iter(client.run(os.getpid).values()))
        killing = threading.Timer(0.8, os.kill, (victim, signal.SIGKILL))
        killing.start()
        value, gradient = tapec.dask.value_and_grad(slow_loss)(2.0, da.from_array(x, chunks=1))
        killing.join()
        client.wait_for_workers(4)
        assert victim not in client.run(os.getpid).values()
    assert value == 4 * np.sum(x**2) and gradient == 4 * np.sum(x**2)


SCRIPT = """
import numpy as np
import dask.array as da
import distributed
import tapec.dask

SCALE = 3.0

def square(x):
    return SCALE * x * x

def loss(w, x):
    return np.sum(square(x) * w)

if __name__ == "__main__":
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        print(tapec.dask.value_and_grad(loss)(2.0, da.ones(10, chunks=3)))
"""


def test_functions_of_a_script(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == "(60.0, 30.0)"


def test_pickles(data):
    w, x, y = data
    f = pickle.loads(pickle.dumps(tapec.dask.value_and_grad(loss, strict=True)))
    assert f.options == {"strict": True}
    assert f(w, *chunked(x, y))[0] == tapec.dask.value_and_grad(loss, strict=True)(w, *chunked(x, y))[0]


def test_the_examples_of_the_module():
    assert doctest.testmod(tapec.dask).failed == 0
