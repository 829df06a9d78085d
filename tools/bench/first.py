"""How long the first gradient takes: `python -m tools.bench.first [--case NAME]`.

Each case is a program of its own, in a process of its own with an empty cache.  Times are of the processor, in seconds:
the import of tapec, the first three steps; and the first call of the same function under `@njit`, where Numba compiles
it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import click

HEAD = """
import json, sys, time
import numpy as np
t0 = time.process_time()
import tapec
imported = time.process_time() - t0
rng = np.random.default_rng(0)
def timed(f, *args):
    start = time.process_time()
    f(*args)
    return round(time.process_time() - start, 4)
"""
TAIL = """
found = {"import": round(imported, 2), "first": timed(first), "second": timed(second), "third": timed(second)}
try:
    import numba
    found["njit"] = timed(numba.njit(plain), *plain_args) if "plain" in dir() else None
except Exception:
    found["njit"] = None
print(json.dumps(found))
"""
LAYERS = """
params = [(rng.normal(size=({0}, {1})) * 0.1, np.zeros({1})) for k in range({n})]
x0 = rng.normal(size=(8, {0}))
def loss(params, x):
    for w, b in params:
        x = np.tanh(x @ w + b)
    return np.sum(x * x)
"""
SAME = LAYERS.replace("{0}", "16").replace("{1}", "16")
OTHER = LAYERS.replace("{0}", "(16 + 3 * (k % 2))", 1).replace("{0}", "16").replace("{1}", "(16 + 3 * ((k + 1) % 2))")
GRADIENT = """
made = tapec.grad(loss)
first = second = lambda: made(params, x0)
"""
OBJECTS = """
class Layer:
    def __init__(self, w, b): self.w, self.b = w, b
    def __call__(self, x): return np.tanh(x @ self.w + self.b)
params = [Layer(w, b) for w, b in params]
def loss(params, x):
    for layer in params:
        x = layer(x)
    return np.sum(x * x)
"""
TAPE = """
params = [(tapec.Variable(w), tapec.Variable(b)) for w, b in params]
def first():
    x = x0
    with tapec.GradientTape() as tape:
        for w, b in params:
            x = np.tanh(x @ w + b)
        total = np.sum(x * x)
    return tape.gradient(total, [one for pair in params for one in pair])
second = first
"""
TAPE_OF_OBJECTS = """
class Layer:
    def __init__(self, w, b): self.w, self.b = tapec.Variable(w), tapec.Variable(b)
    def __call__(self, x): return np.tanh(x @ self.w + self.b)
layers = {f"layer_{k}": Layer(w, b) for k, (w, b) in enumerate(params)}
def first():
    x = x0
    with tapec.GradientTape() as tape:
        for layer in layers.values():
            x = layer(x)
        total = np.sum(x * x)
    return tape.gradient(total, [(one.w, one.b) for one in layers.values()])
second = first
"""
FUNCTION = """
params = [(tapec.Variable(w), tapec.Variable(b)) for w, b in params]
@tapec.function
def first():
    x = x0
    with tapec.GradientTape() as tape:
        for w, b in params:
            x = np.tanh(x @ w + b)
        total = np.sum(x * x)
    for (w, b), (gw, gb) in zip(params, tape.gradient(total, params)):
        w.assign_sub(0.1 * gw)
        b.assign_sub(0.1 * gb)
    return total
second = first
"""
ADAM = """
params = [(tapec.Variable(w), tapec.Variable(b)) for w, b in params]
flat = [one for pair in params for one in pair]
slots = [(tapec.Variable(np.zeros(p.shape)), tapec.Variable(np.zeros(p.shape))) for p in flat]
@tapec.function
def first():
    x = x0
    with tapec.GradientTape() as tape:
        for w, b in params:
            x = np.tanh(x @ w + b)
        total = np.sum(x * x)
    for p, (m, v), g in zip(flat, slots, tape.gradient(total, flat)):
        m.assign(0.9 * m + 0.1 * g)
        v.assign(0.99 * v + 0.01 * g * g)
        p.assign_sub(0.01 * m / (np.sqrt(v) + 1e-8))
    return total
second = first
"""
JVP = "first = second = lambda: tapec.jvp(loss, (params, x0), (params, x0))"
VJP = "first = second = lambda: tapec.vjp(loss, params, x0)[1](1.0)"
JACOBIAN = """
made = tapec.jacobian(lambda p, x: np.array([loss(p, x), np.sum(p[0][1])]))
first = second = lambda: made(params, x0)
"""
HVP = "made = tapec.hvp(loss)\nfirst = second = lambda: made(params, x0, params)"
CLOSURES = """
def loss(q, batch):
    x, y = batch
    return np.sum((x @ q - y) ** 2)
def gradient():
    batch = rng.normal(size=(8, 3)), rng.normal(size=8)
    return tapec.grad(lambda q: loss(q, batch))(np.ones(3))
def first():
    gradient()
    gradient()
second = gradient
"""
CONVOLUTION = """
V = tapec.Variable
def conv(x, kernel, bias):
    n, h, w, c = x.shape
    padded = np.zeros((n, h + 2, w + 2, c))
    padded[:, 1:-1, 1:-1] = x
    columns = np.concatenate([padded[:, i:i + h, j:j + w] for i in range(3) for j in range(3)], axis=3)
    return (columns.reshape(n * h * w, 9 * c) @ kernel + bias).reshape(n, h, w, -1)
def relu(x): return np.maximum(x, 0.0)
def layer(inner, outer): return V(rng.normal(size=(9 * inner, outer)) * 0.2), V(np.zeros(outer))
def half(x): return 0.25 * (x[:, ::2, ::2] + x[:, 1::2, ::2] + x[:, ::2, 1::2] + x[:, 1::2, 1::2])
def double(x): return np.repeat(np.repeat(x, 2, axis=1), 2, axis=2)
def update(params, gradients):
    for pair, slopes in zip(params, gradients):
        for p, g in zip(pair, slopes):
            p.assign_sub(0.01 * g)
"""
DIGITS = CONVOLUTION + """
images, labels = rng.normal(size=(64, 8, 8, 1)), np.eye(10)[rng.integers(0, 10, 64)]
params = {"conv1": layer(1, 8), "conv2": layer(8, 16), "dense": (V(rng.normal(size=(64, 10)) * 0.1), V(np.zeros(10))),
          "norm1": (V(np.ones(8)), V(np.zeros(8))), "norm2": (V(np.ones(16)), V(np.zeros(16)))}
def norm(x, gamma, beta):
    mean = x.mean(axis=(0, 1, 2))
    var = ((x - mean) ** 2).mean(axis=(0, 1, 2))
    return gamma * (x - mean) / np.sqrt(var + 1e-5) + beta
def pool(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))
def loss(x, mask):
    for k in "12":
        x = pool(relu(norm(conv(x, *params["conv" + k]), *params["norm" + k])))
    w, b = params["dense"]
    logits = (x.reshape(x.shape[0], -1) * mask) @ w + b
    shifted = logits - logits.max(axis=1, keepdims=True)
    logp = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -np.mean(np.sum(labels * logp, axis=1))
slots, count = {}, V(0.0)
def adam(gradients):
    count.assign_add(1.0)
    for name, slopes in gradients.items():
        if name not in slots:
            slots[name] = [(V(np.zeros(g.shape)), V(np.zeros(g.shape))) for g in slopes]
        for p, g, (m, v) in zip(params[name], slopes, slots[name]):
            m.assign(0.9 * m + 0.1 * g)
            v.assign(0.999 * v + 0.001 * g * g)
            p.assign_sub(0.001 * (m / (1 - 0.9 ** count)) / (np.sqrt(v / (1 - 0.999 ** count)) + 1e-8))
def step(mask):
    with tapec.GradientTape() as tape:
        value = loss(images, mask)
    adam(tape.gradient(value, params))
    return value
"""
DIGITS_TAPE = DIGITS + "first = second = lambda: step((rng.random((64, 64)) < 0.8) / 0.8)"
DIGITS_FUNCTION = DIGITS + """
compiled = tapec.function(step)
first = second = lambda: compiled((rng.random((64, 64)) < 0.8) / 0.8)
"""
DCGAN = CONVOLUTION + """
makes, judges = [layer(4, 8), layer(8, 1)], [layer(1, 8), layer(8, 8)]
dense, last = V(rng.normal(size=(6, 64)) * 0.3), V(rng.normal(size=(32, 1)) * 0.3)
real = rng.random((16, 8, 8, 1))
def generator(z):
    x = relu(z @ dense).reshape(-1, 4, 4, 4)
    return np.tanh(conv(relu(conv(double(x), *makes[0])), *makes[1]))
def discriminator(x):
    for pair in judges:
        x = conv(x, *pair)
        x = half(np.where(x > 0.0, x, 0.2 * x))
    return x.reshape(x.shape[0], -1) @ last
def softplus(x): return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0.0)
def first():
    z = rng.normal(size=(16, 6))
    with tapec.GradientTape() as one, tapec.GradientTape() as other:
        on_fake, on_real = discriminator(generator(z)), discriminator(real)
        made = np.mean(softplus(-on_fake))
        judged = np.mean(softplus(-on_real)) + np.mean(softplus(on_fake))
    update(makes, one.gradient(made, makes))
    update(judges, other.gradient(judged, judges))
second = first
"""
UNET = CONVOLUTION + """
params = {"down1": layer(1, 4), "down2": layer(4, 8), "middle": layer(8, 8), "up2": layer(16, 4), "up1": layer(8, 4)}
last = layer(4, 1)
x0, y0 = rng.random((8, 16, 16, 1)), rng.random((8, 16, 16, 1))
def first():
    with tapec.GradientTape() as tape:
        a = relu(conv(x0, *params["down1"]))
        b = relu(conv(half(a), *params["down2"]))
        x = relu(conv(half(b), *params["middle"]))
        x = relu(conv(np.concatenate([double(x), b], axis=3), *params["up2"]))
        x = relu(conv(np.concatenate([double(x), a], axis=3), *params["up1"]))
        loss = np.mean((conv(x, *last) - y0) ** 2)
    update(params.values(), tape.gradient(loss, params).values())
second = first
"""
FEATURES = CONVOLUTION + """
fixed = [tuple(np.asarray(one) for one in layer(*size)) for size in ((3, 8), (8, 8), (8, 16))]
def features(x):
    found = []
    for pair in fixed:
        x = relu(conv(x, *pair))
        found.append(x)
        x = half(x)
    return found
def gram(x):
    n, h, w, c = x.shape
    m = x.reshape(n * h * w, c)
    return m.T @ m / (h * w)
content = rng.random((1, 16, 16, 3))
image = V(content.copy())
"""
STYLE = FEATURES + """
wanted, kept = [gram(one) for one in features(rng.random((1, 16, 16, 3)))], features(content)[-1]
def first():
    with tapec.GradientTape() as tape:
        found = features(image)
        loss = np.mean((found[-1] - kept) ** 2)
        for one, target in zip(found, wanted):
            loss = loss + 0.01 * np.mean((gram(one) - target) ** 2)
    image.assign_sub(0.01 * tape.gradient(loss, image))
second = first
"""
DREAM = FEATURES + """
def first():
    with tapec.GradientTape() as tape:
        loss = 0.0
        for one in features(image)[1:]:
            loss = loss - np.mean(one ** 2)
    slope = tape.gradient(loss, image)
    image.assign_sub(0.01 * slope / (np.std(slope) + 1e-8))
second = first
"""
KINDS = (
    "x = np.sin(x) * a + b", "y = x * y + np.tanh(a)", "x = x - 0.1 * y", "z = np.exp(-x * x) + y",
    "y = np.maximum(z, x) * 0.5", "b = b + 0.01 * x", "x = x + z * 0.1",
)  # fmt: skip


def statements(count: int) -> str:
    """A tape's block of array statements."""
    lines = "\n".join(f"        {KINDS[(3 * k + k // 7) % len(KINDS)]}" for k in range(count))
    return f"""
a0, b0, x0, y0, z0 = (np.linspace(0.1, 1.0, 1000) * k / 5.0 for k in range(1, 6))
def first():
    a, b, x, y, z = a0, b0, x0, y0, z0
    with tapec.GradientTape() as tape:
        tape.watch(x0)
{lines}
        total = np.sum(x * y)
    return tape.gradient(total, x0)
second = first
"""


def scalars(count: int) -> str:
    """A function of numbers alone, without loops."""
    lines = "\n".join(f"    v{k + 1} = v{k} * x + np.sin(v{max(k - 3, 0)})" for k in range(count))
    return f"""
def plain(x):
    v0 = x
{lines}
    return v{count}
plain_args = (0.3,)
made = tapec.grad(plain)
first = second = lambda: made(0.3)
"""


def nest(depth: int) -> str:
    """Loops inside each other."""
    heads = "\n".join("    " * (k + 1) + f"for i{k} in range({2 if k < 3 else 1}):" for k in range(depth))
    return f"""
def plain(x):
    s = 0.0
{heads}
{"    " * (depth + 1)}s += x[i0] * x[i1]
    return s
plain_args = (np.ones(3),)
made = tapec.grad(plain)
first = second = lambda: made(np.ones(3))
"""


CASES = {
    "layers_4": SAME.replace("{n}", "4") + GRADIENT,
    "layers_16": SAME.replace("{n}", "16") + GRADIENT,
    "layers_64": SAME.replace("{n}", "64") + GRADIENT,
    "layers_of_other_shapes_16": OTHER.replace("{n}", "16") + GRADIENT,
    "layers_as_objects_16": SAME.replace("{n}", "16") + OBJECTS + GRADIENT,
    **{f"layers_in_a_tape_{n}": SAME.replace("{n}", str(n)) + TAPE for n in (4, 16, 64)},
    "layers_of_other_shapes_in_a_tape_64": OTHER.replace("{n}", "64") + TAPE,
    "layers_as_objects_in_a_tape_64": SAME.replace("{n}", "64") + TAPE_OF_OBJECTS,
    **{f"layers_in_a_function_{n}": SAME.replace("{n}", str(n)) + FUNCTION for n in (4, 16, 64)},
    "adam_in_a_function_16": SAME.replace("{n}", "16") + ADAM,
    "layers_jvp_64": SAME.replace("{n}", "64") + JVP,
    "layers_vjp_64": SAME.replace("{n}", "64") + VJP,
    "layers_jacobian_64": SAME.replace("{n}", "64") + JACOBIAN,
    "layers_hvp_64": SAME.replace("{n}", "64") + HVP,
    "tape_of_30_statements": statements(30),
    "tape_of_90_statements": statements(90),
    "tape_of_270_statements": statements(270),
    "scalar_code_2000": scalars(2000),
    "nest_of_18_loops": nest(18),
    "a_new_closure": CLOSURES,
    "digits_in_a_tape": DIGITS_TAPE,
    "digits_in_a_function": DIGITS_FUNCTION,
    "dcgan": DCGAN,
    "unet": UNET,
    "style_transfer": STYLE,
    "deep_dream": DREAM,
}


def measured(name: str) -> dict[str, float | None]:
    """The times of a case."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(HEAD + CASES[name] + TAIL)
        # as an installed package has them: modules that are compiled already
        environment = {**os.environ, "TAPEC_CACHE_DIR": folder, "PYTHONDONTWRITEBYTECODE": ""}
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, str(program)], env=environment, capture_output=True, text=True, check=True
        )
    found: dict[str, float | None] = json.loads(done.stdout.splitlines()[-1])
    return found


@click.command()
@click.option("--case", "wanted", type=click.Choice(list(CASES)), multiple=True, help="Only this case.")
def main(wanted: tuple[str, ...]) -> None:
    """Print the table."""
    click.echo("| case | import | first | second | third | njit, first |\n| --- | --- | --- | --- | --- | --- |")
    for name in wanted or CASES:
        found = measured(name)
        njit = "" if found["njit"] is None else f"{found['njit']:.2f}"
        times = f"{found['import']:.2f} | {found['first']:.2f} | {found['second']:.4f} | {found['third']:.4f}"
        click.echo(f"| {name} | {times} | {njit} |")


if __name__ == "__main__":
    main()
