"""How long the first gradient takes: `python -m tools.bench.first [--case NAME]`.

Each case is a program of its own, in a process of its own with an empty cache.  Times are of the processor, in seconds:
the import of tapec, the first gradient, the second one; and the first call of the same function under `@njit`, where
Numba compiles it.
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
found = {"import": round(imported, 2), "first": timed(first), "second": timed(second)}
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
}


def measured(name: str) -> dict[str, float | None]:
    """The times of a case."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(HEAD + CASES[name] + TAIL)
        environment = {**os.environ, "TAPEC_CACHE_DIR": folder, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, str(program)], env=environment, capture_output=True, text=True, check=True
        )
    found: dict[str, float | None] = json.loads(done.stdout.splitlines()[-1])
    return found


@click.command()
@click.option("--case", "wanted", type=click.Choice(list(CASES)), multiple=True, help="Only this case.")
def main(wanted: tuple[str, ...]) -> None:
    """Print the table."""
    click.echo("| case | import | first | second | njit, first |\n| --- | --- | --- | --- | --- |")
    for name in wanted or CASES:
        found = measured(name)
        njit = "" if found["njit"] is None else f"{found['njit']:.2f}"
        click.echo(f"| {name} | {found['import']:.2f} | {found['first']:.2f} | {found['second']:.4f} | {njit} |")


if __name__ == "__main__":
    main()
