"""Training: checkpoints, with pickle and npz.

Training is stopped, saved, and goes on from what was saved, as with `tf.train.Checkpoint`. Objects that hold variables
are pickled as they are; arrays alone go to an npz file, which other programs read, too. Both give the same numbers, to
rounding: a block runs as Python at first and as machine code later.
"""

import pickle
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from tapec import GradientTape, Variable


class Model:
    """A network with one hidden layer, and the velocities of its optimiser."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.w, self.b = Variable(rng.normal(size=(1, 32)) * 3.0), Variable(rng.normal(size=32))
        self.last = Variable(rng.normal(size=32) * 0.2)
        self.velocities = [np.zeros(v.shape) for v in self.variables]
        self.losses = []

    @property
    def variables(self):
        return [self.w, self.b, self.last]

    def __call__(self, x):
        return np.tanh(x[:, None] @ self.w + self.b) @ self.last

    def train(self, x, y, steps):
        for _ in range(steps):
            with GradientTape() as tape:
                loss = np.mean((self(x) - y) ** 2)
            self.losses.append(float(loss))
            for k, slope in enumerate(tape.gradient(loss, self.variables)):
                self.velocities[k] = 0.9 * self.velocities[k] - 0.02 * slope
                self.variables[k].assign_add(self.velocities[k])

    def save(self, file):
        arrays = {f"variable_{k}": v.numpy() for k, v in enumerate(self.variables)}
        np.savez(file, losses=self.losses, **arrays, **{f"velocity_{k}": v for k, v in enumerate(self.velocities)})

    def restore(self, file):
        with np.load(file) as saved:
            self.losses = saved["losses"].tolist()
            for k, variable in enumerate(self.variables):
                variable.assign(saved[f"variable_{k}"])
                self.velocities[k] = saved[f"velocity_{k}"]


x = np.linspace(-1.0, 1.0, 80)
y = np.sin(6.0 * x) * np.exp(-(x**2))

whole = Model(seed=0)
whole.train(x, y, 600)

with tempfile.TemporaryDirectory() as folder:
    stopped = Model(seed=0)
    stopped.train(x, y, 300)
    Path(folder, "model.pickle").write_bytes(pickle.dumps(stopped))
    stopped.save(Path(folder, "model.npz"))
    by_pickle = pickle.loads(Path(folder, "model.pickle").read_bytes())
    by_npz = Model(seed=1)
    by_npz.restore(Path(folder, "model.npz"))

for model in (by_pickle, by_npz):
    model.train(x, y, 300)
    np.testing.assert_allclose(model.losses, whole.losses, rtol=1e-9)
print(f"loss {whole.losses[0]:.2f} at first, {whole.losses[300]:.3f} when it was saved, {whole.losses[-1]:.4f} at last")

figure, (left, right) = plt.subplots(1, 2, figsize=(6, 2.4), layout="constrained")
left.semilogy(whole.losses)
left.axvline(300, color="gray", lw=0.7, ls="--")
left.set(xlabel="step", ylabel="loss")
right.plot(x, y, "k.", ms=3)
right.plot(x, by_npz(x))
figure.savefig("checkpoints.svg")
