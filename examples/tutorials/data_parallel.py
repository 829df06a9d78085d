"""Training: data in parallel, on Dask.

TensorFlow's MirroredStrategy copies a model to each device, gives each a part of the batch and adds the gradients. Here
Dask's workers, processes of this machine or of others, keep the chunks of the data; each computes the gradient of its
own, and a tree adds them up. Two workers and four give the same numbers as one.
"""

import dask.array as da
import distributed
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import tapec.dask


def logits(params, x):
    return np.tanh(x @ params["w"] + params["b"]) @ params["last"]


def loss(params, x, labels):
    """The sum of -log p over the rows of a chunk; p by softmax."""
    scores = logits(params, x)
    top = scores.max(axis=1)
    chosen = scores[np.arange(len(labels)), labels]
    return np.sum(top + np.log(np.exp(scores - top[:, None]).sum(axis=1)) - chosen)


def train(workers, images, labels):
    """What a client of so many workers trains, and the mean losses on the way."""
    rng = np.random.default_rng(0)
    params = {"w": rng.normal(size=(64, 32)) * 0.15, "b": np.zeros(32), "last": rng.normal(size=(32, 10)) * 0.15}
    losses = []
    with distributed.Client(n_workers=workers, threads_per_worker=1, dashboard_address=None) as client:
        x = da.from_array(images, chunks=(len(images) // 4, 64))
        x, y = client.persist([x, da.from_array(labels, chunks=x.chunks[0])])
        step = tapec.dask.value_and_grad(loss)
        for _ in range(60):
            value, slopes = step(params, x, y)
            params = {name: params[name] - 1.0 / len(images) * slopes[name] for name in params}
            losses.append(value / len(images))
    return params, losses


if __name__ == "__main__":
    data = load_digits()
    images, labels = data.data / 16.0, data.target
    # a check first: an error is easier to read here than from a worker
    tapec.check_grads(loss, ({"w": np.ones((64, 2)), "b": np.zeros(2), "last": np.eye(2)}, images[:3], labels[:3] % 2))
    params, losses = train(2, images[:1500], labels[:1500])
    again, _ = train(1, images[:1500], labels[:1500])
    assert all(np.array_equal(params[name], again[name]) for name in params)
    right = np.argmax(logits(params, images[1500:]), axis=1) == labels[1500:]
    print(f"mean loss {losses[0]:.2f} at first, {losses[-1]:.2f} at last; {right.mean():.1%} of new images right")
    assert right.mean() > 0.75

    plt.figure(figsize=(4, 2.4), layout="constrained")
    plt.plot(losses)
    plt.gca().set(xlabel="step", ylabel="mean loss")
    plt.savefig("data_parallel.svg")
